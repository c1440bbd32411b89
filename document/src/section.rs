//! The blocks of which reports consist: sections with their tables and figures, findings about single points, pairs of name and
//! value, and lists.

use crate::flame::FlameGraph;
use crate::order::grouped_by;
use crate::svg::{Bars, Plot, Strips};
use crate::table::{Column, Row, Table, row};
use std::fmt::{self, Display, Formatter};

/// A drawing.
#[derive(Clone, Debug)]
pub enum Drawing {
    /// Series over two axes.
    Plot(Plot),
    /// Horizontal bars.
    Bars(Bars),
    /// Rows over a common time.
    Strips(Strips),
    /// A flame graph.
    Flame(FlameGraph),
}

impl Drawing {
    /// Renders an `<svg>` element.
    pub fn svg(&self) -> String {
        match self {
            Drawing::Plot(plot) => plot.render(),
            Drawing::Bars(bars) => bars.render(),
            Drawing::Strips(strips) => strips.render(),
            Drawing::Flame(flame) => flame.render(),
        }
    }
}

/// A figure with its caption.
#[derive(Clone, Debug)]
pub struct Figure {
    /// What the figure shows, and how to read it.
    pub caption: String,
    /// The drawing.
    pub drawing: Drawing,
    /// Whether it needs the whole width of the page.
    pub wide: bool,
}

/// What was found at one point, as a sentence: `Bottleneck of nat44, 1 core: the tester limits the throughput.`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Subject of the finding.
    pub subject: &'static str,
    /// The point in words.
    pub of: String,
    /// What was found, with its stop.
    pub found: String,
}

impl Finding {
    /// Sentences about findings; points with the same finding share one.
    pub fn merged(findings: &[Finding]) -> Vec<String> {
        let merged = |(_, same): (_, Vec<&Finding>)| {
            let of = same.iter().map(|finding| finding.of.as_str()).collect::<Vec<_>>().join("; of ");
            Finding { of, ..same[0].clone() }.to_string()
        };
        grouped_by(findings, |finding| &finding.found).into_iter().map(merged).collect()
    }
}

impl Display for Finding {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}: {}", self.subject, self.of, self.found)
    }
}

/// The part of a report that belongs to one procedure.
#[derive(Clone, Debug, Default)]
pub struct Section {
    /// Heading of the section.
    pub title: String,
    /// How to read it, in one or two sentences.
    pub about: String,
    /// What was found at single points.
    pub findings: Vec<Finding>,
    /// Tables, if the medians do not say all.
    pub tables: Vec<Table>,
    /// Figures.
    pub figures: Vec<Figure>,
    /// Whether the scenario asks for it by name, so that a short report has it, too.
    pub is_asked: bool,
}

impl Section {
    /// How to read it, and what was found, in one paragraph.
    pub fn paragraph(&self) -> String {
        let found = self.findings.iter().map(Finding::to_string);
        [self.about.clone()].into_iter().chain(found).collect::<Vec<_>>().join(" ")
    }
}

/// Names with values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pairs {
    /// Heading.
    pub title: String,
    /// What the names and the values are, as heads of a table.
    pub heads: [&'static str; 2],
    /// The pairs.
    pub pairs: Vec<(String, String)>,
}

impl Pairs {
    /// Returns pairs under a title.
    pub fn new<N: Into<String>, V: Into<String>>(
        title: impl Into<String>,
        heads: [&'static str; 2],
        pairs: impl IntoIterator<Item = (N, V)>,
    ) -> Pairs {
        let pairs = pairs.into_iter().map(|(name, value)| (name.into(), value.into())).collect();
        Pairs { title: title.into(), heads, pairs }
    }

    /// Returns items with their numbers.
    pub fn numbered(title: &str, head: &'static str, items: &[String]) -> Pairs {
        Pairs::new(
            title,
            ["no.", head],
            items.iter().enumerate().map(|(at, item)| ((at + 1).to_string(), item.clone())),
        )
    }

    /// Returns a table; none without pairs.
    pub fn table(&self) -> Option<Table> {
        let [axis, value] = self.heads;
        let rows: Vec<Row> = self.pairs.iter().map(|(name, value)| row(name, [value.as_str()])).collect();
        (!rows.is_empty()).then(|| Table::new(&self.title, axis, [Column::of_words(value)]).with_parameters(rows))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_with_the_same_finding_share_a_sentence() {
        let finding =
            |of: &str, found: &str| Finding { subject: "Bottleneck", of: of.to_owned(), found: found.to_owned() };
        let all = [finding("a", "the tester."), finding("b", "the device."), finding("c", "the tester.")];
        assert_eq!(Finding::merged(&all), ["Bottleneck of a; of c: the tester.", "Bottleneck of b: the device."]);
    }
}
