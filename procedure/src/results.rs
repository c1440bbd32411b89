//! The results of a run, as sections see them: one metric or part at one point each, with what its
//! repetitions observed.

use crate::{Keys, Metric};
use document::{Cell, Finding, Row, Section, row};
use method::search::{Evidence, SearchStep};
use method::trial::Observed;
use method::{Count, StepVerdict};

/// One metric at one point.
pub struct MetricResult<'a> {
    /// Key of the metric.
    pub metric: &'a str,
    /// Metric and point in words.
    pub name: String,
    /// Device and point in words.
    pub place: String,
    /// Number of the series: results whose device and point differ in connections only.
    pub series: usize,
    /// Device and point in words, without the connections.
    pub series_name: String,
    /// Number of the point in the sweep.
    pub point: usize,
    /// Connections; 0 when stateless.
    pub connections: Count,
    /// Median of the repetitions.
    pub median: Option<f64>,
    /// Value as tables print it.
    pub cell: Cell,
    /// The repetitions in order.
    pub repetitions: Vec<Repetition<'a>>,
}

/// What a repetition shows beside the value.
#[derive(Clone, Copy)]
pub struct Repetition<'a> {
    /// Observations of the deciding trial.
    pub observed: &'a Observed,
    /// What the search did beside steps.
    pub evidence: &'a Evidence,
    /// Steps of the search.
    pub trace: &'a [SearchStep],
}

impl<'a> MetricResult<'a> {
    /// The steps of all repetitions.
    pub fn steps(&self) -> impl Iterator<Item = &'a SearchStep> {
        self.repetitions.iter().flat_map(|repetition| repetition.trace)
    }

    /// The steps of all repetitions at rates that were decided.
    pub fn decided(&self) -> impl Iterator<Item = &'a SearchStep> {
        self.steps().filter(|step| matches!(step.verdict, StepVerdict::Pass | StepVerdict::Fail))
    }

    /// Observations of the repetitions, if there are any.
    pub fn observed<T: 'a>(&self, of: impl Fn(&'a Observed) -> Option<T>) -> impl DoubleEndedIterator<Item = T> {
        self.repetitions.iter().filter_map(move |repetition| of(repetition.observed))
    }
}

/// The results of a run.
pub struct Results<'a> {
    /// All results, in the order of reports.
    pub all: Vec<MetricResult<'a>>,
    /// The keys of all procedures.
    pub keys: &'a Keys,
    /// Tester's part of a delay, in words.
    pub floor: Option<String>,
    /// Limits of the throughput at points with idle times or a profile.
    pub bottlenecks: Vec<Finding>,
}

impl<'a> Results<'a> {
    /// The results of these metrics that have repetitions.
    pub fn of(&self, metrics: &[&str]) -> Vec<&MetricResult<'a>> {
        self.all.iter().filter(|found| metrics.contains(&found.metric) && !found.repetitions.is_empty()).collect()
    }

    /// The median of another metric at the point of a result.
    pub fn beside(&self, found: &MetricResult<'_>, metric: &Metric) -> Cell {
        let is_beside = |other: &&MetricResult| other.point == found.point && other.metric == metric.key;
        self.all.iter().find(is_beside).map_or(Cell::Nothing, |other| other.cell.clone())
    }
}

/// Returns a section with a title and a description; `None` if `all` is empty.
pub(crate) fn section_of<T>(
    all: &[T],
    title: &str,
    about: impl Into<String>,
    show: impl FnOnce(Section) -> Section,
) -> Option<Section> {
    let named = Section { title: title.to_owned(), about: about.into(), ..Section::default() };
    (!all.is_empty()).then(|| show(named))
}

/// The names of columns, one for each result.
pub fn names(results: &[&MetricResult<'_>]) -> Vec<String> {
    results.iter().map(|result| result.name.clone()).collect()
}

/// A row with a cell for each result.
pub fn line<'a, 'b, C: Into<Cell>>(
    label: &str,
    results: &[&'b MetricResult<'a>],
    of: impl Fn(&'b MetricResult<'a>) -> C,
) -> Row {
    row(label, results.iter().map(|result| of(result)))
}
