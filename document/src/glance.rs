//! What a reader sees first: what was measured, on what, the answer, and how sure it is.

/// The first screen of a report.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Glance {
    /// Technologies and devices.
    pub measured: Vec<String>,
    /// Where they are: test bed, machine, label.
    pub on: Vec<String>,
    /// Self-test, measurements, time.
    pub done: Vec<String>,
    /// The answers, one a metric.
    pub answers: Vec<Answer>,
    /// Further sentences: what comparisons show, and why values are missing.
    pub remarks: Vec<String>,
    /// `HIGH`, `MEDIUM` or `LOW`.
    pub word: &'static str,
    /// Why it is no higher word, as sentences.
    pub reasons: Vec<String>,
    /// Doubts about the results.
    pub doubts: Vec<String>,
}

/// The values of one metric.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// Metric and unit.
    pub title: String,
    /// What the figures of a row are.
    pub figures: String,
    /// One a point, in the order of the points.
    pub rows: Vec<AnswerRow>,
}

/// The value at one point.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AnswerRow {
    /// The point.
    pub point: String,
    /// Value as a share of the largest one, in thousandths; `None` without a bar.
    pub permille: Option<u16>,
    /// The value with its ends and its bound.
    pub value: String,
}
