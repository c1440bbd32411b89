//! Published tables beside the run, as `compare` of the scenario names them, and imported results of other testers: each place of
//! the table that the run measured, too, or that only one of both has; and the form of both series, as shares of their first values.

use super::shape::{Shape, place_in_words, shape};
use crate::import::Series as Imported;
use crate::published::{self, PublishedFigure};
use crate::report::published::{differences, is_median, is_of_queries, median};
use crate::report::result::PointResult;
use crate::report::table::titled;
use crate::report::{Report, number, value};
use document::scale::Axis;
use document::svg::{Plot, Point, Series, highest, in_words};
use document::{Drawing, Figure, Form, Group, Quantity, Section, Table, distinct, row};
use procedure::metric::{self, Gives};
use scenario::{Dut, Plays};
use std::collections::BTreeSet;

/// The section of all tables that the scenario names, and of imported results.
pub(in crate::report) fn section(report: &Report) -> Option<Section> {
    let all: Vec<Reference> = named(report).chain(report.imported.iter().map(Reference::of_import)).collect();
    let beside: Vec<Comparison> = all.iter().flat_map(|reference| compared(report, reference)).collect();
    if beside.is_empty() {
        return None;
    }
    let title = if report.imported.is_empty() { "Beside published tables" } else { "Beside other results" };
    Some(Section {
        title: title.to_owned(),
        about: "Medians. Rates in frames per second are per direction: natmeter halves the published totals of both directions. \
                Normalized values are divided by the first value of their series, unless that is a bound."
            .to_owned(),
        tables: beside.iter().map(Comparison::table).collect(),
        figures: beside.iter().enumerate().filter_map(|(at, beside)| beside.figure(at)).collect(),
        is_asked: true,
        ..Section::default()
    })
}

/// The shapes of all series beside the tables that the scenario names.
pub(in crate::report) fn shapes(report: &Report) -> Vec<Shape> {
    let of = |reference: Reference| -> Vec<Shape> {
        compared(report, &reference).flat_map(|beside| beside.pairs).filter_map(|pair| pair.shape).collect()
    };
    named(report).flat_map(of).collect()
}

fn named(report: &Report) -> impl Iterator<Item = Reference<'_>> {
    report.header.scenario.compare.iter().filter_map(|name| published::table(name)).map(Reference::of_table)
}

fn compared<'a>(report: &'a Report, reference: &'a Reference<'a>) -> impl Iterator<Item = Comparison<'a>> {
    let devices: BTreeSet<usize> = report.results.iter().map(|result| result.dut).collect();
    let beside = devices.into_iter().map(move |dut| Comparison::of(report, reference, dut));
    beside.filter(|beside| !beside.pairs.is_empty())
}

const PUBLISHED: &str = "published";
const IMPORTED: &str = "imported";

/// A series beside which the run is printed: a published table, or imported results.
struct Reference<'a> {
    word: &'static str,
    /// Its short number; of imported results, that of the tester.
    number: &'a str,
    /// Document and table, or tester and files.
    source: String,
    cite: &'a str,
    title: &'a str,
    values: Vec<&'a PublishedFigure>,
    notes: Vec<&'a str>,
}

impl<'a> Reference<'a> {
    fn of_table(table: &'static published::PublishedTable) -> Reference<'a> {
        let label = table.values().next().map_or("", |value| value.under.label.as_str());
        Reference {
            word: PUBLISHED,
            number: &table.number,
            source: format!("{}, {label}", table.document().cite),
            cite: &table.document().cite,
            title: &table.title,
            values: table.values().collect(),
            notes: table.errata().filter_map(|erratum| erratum.note.as_deref()).collect(),
        }
    }

    fn of_import(series: &'a Imported) -> Reference<'a> {
        Reference {
            word: IMPORTED,
            number: &series.cite,
            source: format!("{}, {}", series.cite, series.files.join(", ")),
            cite: &series.cite,
            title: &series.title,
            values: series.values.iter().collect(),
            notes: series.notes.iter().map(String::as_str).collect(),
        }
    }

    fn x_name(&self) -> &'a str {
        self.values.first().map_or("", |value| value.x_name.as_str())
    }

    /// The metrics that natmeter has and that suit a device, in order. What a table calls forwarding throughput is the throughput of a
    /// device that forwards and translates nothing. DNS queries through a pair of edges suit such a pair only. Imported results suit
    /// every device: their files do not state what the device did.
    fn metrics(&self, device: Option<&Dut>) -> Vec<&'a str> {
        let is_forwarding = device.is_some_and(|dut| dut.is_router());
        let plays = device.and_then(|dut| dut.technology()).map(|(plays, _)| plays);
        let is_pair = |of: &str| plays == Some(Plays::Dual) && device.and_then(|dut| dut.published()) == Some(of);
        let suits = |value: &&&PublishedFigure| {
            let is_of_forwarding =
                value.metric == metric::forwarding() || value.under.technology.ends_with("forwarding");
            let is_comparable = !is_of_queries(&value.metric) || is_pair(&value.under.technology);
            self.word == IMPORTED || is_of_forwarding == is_forwarding && is_comparable
        };
        let medians = self.values.iter().filter(|value| is_median(value)).filter(suits);
        distinct(medians.map(|value| value.metric.as_str()).filter(|key| metric::by_key(own(key)).is_some()))
    }
}

struct Comparison<'a> {
    reference: &'a Reference<'a>,
    dut_name: &'a str,
    pairs: Vec<Pair>,
    notes: Vec<String>,
}

type Values = Vec<(f64, Quantity)>;

struct Pair {
    metric: String,
    title: String,
    published: Values,
    measured: Values,
    /// Whether they have the same shape, where both have two places.
    shape: Option<Shape>,
}

impl Pair {
    fn at(series: &Values, place: f64) -> Option<Quantity> {
        series.iter().find(|(x, _)| *x == place).map(|(_, value)| *value)
    }

    /// Each value as a share of the first; nothing if the first is a bound.
    fn form(series: &Values) -> Values {
        let Some((_, first)) = series.first() else { return Values::new() };
        let share = |(x, value): &(f64, Quantity)| Some((*x, value.ratio_to(*first, Form::Decimals(3, ""))?));
        series.iter().filter_map(share).collect()
    }

    fn of<'a>(metric: &str, report: &Report, reference: &Reference, results: &[&'a PointResult]) -> Pair {
        let x_name = reference.x_name();
        let medians = || reference.values.iter().filter(|value| is_median(value) && value.metric == metric);
        let exact =
            |value: &&&PublishedFigure| Some((place_of(value)?, Quantity::new(median(value).value, Form::default())));
        let is_comparable =
            |result: &&PointResult| !is_total(metric) || medians().any(|value| median(value).compares_with(result));
        let of_metric = results.iter().copied().filter(|result| is_same(&result.metric, own(metric)));
        let results: Vec<&PointResult> = of_metric.filter(is_comparable).collect();
        let placed = |result: &&'a PointResult| Some((place(report, result, x_name)?, *result));
        let mut placed: Vec<(f64, &PointResult)> = results.iter().filter_map(placed).collect();
        placed.sort_by(|a, b| a.0.total_cmp(&b.0));
        let measured = |(x, result): &(f64, &PointResult)| Some((*x, value::quantity(result)?));
        let mut measured: Values = placed.iter().filter_map(measured).collect();
        // A reference without places has one value: that of one measured point.
        if is_of_all(x_name) && measured.len() > 1 {
            measured.clear();
        }
        let mut published: Values = medians().filter_map(|value| exact(&value)).collect();
        published.sort_by(|a, b| a.0.total_cmp(&b.0));
        let metric = own(metric).to_owned();
        let values: Vec<(f64, f64)> = published.iter().map(|(x, value)| (*x, value.value)).collect();
        let shape = shape(&values, &placed, &report.header.scenario, reference.word);
        let shape = shape.map(|(as_published, falls, why)| Shape {
            dut: results[0].dut_name.clone(),
            metric: metric.clone(),
            table: reference.number.to_owned(),
            as_published,
            falls,
            why,
        });
        Pair { title: titled(&metric, &results), published, measured, metric, shape }
    }
}

/// The key of natmeter for a metric of the published record, which has the capacity as one quantity of its search.
fn own(published: &str) -> &str {
    if published == "capacity_search.C" { metric::giving(Gives::TableSize) } else { published }
}

/// Whether a measured metric is that of a reference. Both names of a forwarding throughput are the same.
fn is_same(measured: &str, published: &str) -> bool {
    measured == published || [measured, published].iter().all(|key| metric::gives(key, Gives::Throughput))
}

impl<'a> Comparison<'a> {
    fn of(report: &'a Report, reference: &'a Reference<'a>, dut: usize) -> Comparison<'a> {
        let results: Vec<&PointResult> = report.results.iter().filter(|result| result.dut == dut).collect();
        let metrics = reference.metrics(report.header.scenario.duts.get(dut));
        let of_device = |value: &&&PublishedFigure| metrics.contains(&value.metric.as_str());
        let first = reference.values.iter().filter(of_device).find(|value| is_median(value)).map(|value| median(value));
        let mut notes: Vec<String> = first
            .iter()
            .map(|first| format!("{}: {}.", number::capitalised(reference.word), first.conditions()))
            .collect();
        if let Some((first, result)) = first.zip(results.first()) {
            let differ = differences(&report.header.scenario, result, &first);
            notes.extend(
                (!differ.is_empty()).then(|| format!("The {} set-up differs: {}.", reference.word, differ.join("; "))),
            );
        }
        notes.extend(reference.notes.iter().map(|note| (*note).to_owned()));
        let pairs = metrics.into_iter().map(|metric| Pair::of(metric, report, reference, &results));
        // What the document gives no place has none beside the run either.
        let pairs: Vec<Pair> = pairs.filter(|pair| !pair.published.is_empty()).collect();
        let in_words = |pair: &Pair| {
            let title = metric::by_key(&pair.metric).map_or("", |metric| metric.title);
            Some(format!("{title} {}.", pair.shape.as_ref()?.in_words(reference.word)))
        };
        let notes = pairs.iter().filter_map(in_words).chain(notes).collect();
        Comparison { reference, dut_name: results.first().map_or("", |result| &result.dut_name), pairs, notes }
    }

    fn places(&self) -> Vec<f64> {
        let of_pair = |pair: &Pair| pair.published.iter().chain(&pair.measured).map(|(x, _)| *x).collect::<Vec<_>>();
        let mut places: Vec<f64> = self.pairs.iter().flat_map(of_pair).collect();
        places.sort_by(f64::total_cmp);
        places.dedup();
        places
    }

    fn table(&self) -> Table {
        let places = self.places();
        let axis = match self.reference.x_name() {
            "cpu_cores" => "cores",
            "connections" => "connections",
            "hash_table_size" => "hash table size",
            "alpha" => "alpha",
            name if is_of_all(name) => "searches",
            _ => "published at",
        };
        let title = format!("{}: {} · {}", self.reference.source, self.reference.title, self.dut_name);
        let table = Table::new(title, axis, places.iter().map(|place| place_in_words(*place)));
        let groups = self.pairs.iter().map(|pair| group(pair, self.reference.word, &places)).collect();
        Table { groups, notes: self.notes.clone(), ..table }
    }

    /// The form of the series of all metrics that have two measured places.
    fn figure(&self, at: usize) -> Option<Figure> {
        let mut series: Vec<Series> = Vec::new();
        for pair in self.pairs.iter().filter(|pair| pair.measured.len() > 1 && pair.published.len() > 1) {
            let title = metric::by_key(&pair.metric).map_or("", |metric| metric.title);
            for (of, values) in [(self.reference.word, &pair.published), ("measured", &pair.measured)] {
                let point = |(x, share): (f64, Quantity)| Point { bound: share.bound, ..Point::at(x, share.value) };
                let points = Pair::form(values).into_iter().map(point).collect();
                series.push(Series::marked(series.len(), format!("{title}, {of}"), points));
            }
        }
        let places = series.iter().flat_map(|series| &series.points).map(|point| point.x);
        let (low, high) = places.fold((f64::INFINITY, 0.0f64), |(low, high), x| (low.min(x), high.max(x)));
        if series.is_empty() || low <= 0.0 {
            return None;
        }
        let spoken = |p: &Point| format!("{}{:.2} at {}", p.bound.sign(), p.y, place_in_words(p.x));
        let x_label = self.table().axis;
        let plot = Plot {
            id: format!("compare-{at}"),
            title: format!("Form of {} and of the run", self.reference.number),
            description: in_words(&series, spoken),
            x: if x_label == "cores" {
                Axis::at_values(x_label, &self.places())
            } else {
                Axis::log(x_label, low, high)
            },
            y: Axis::linear("share of the first value", highest(&series) * 1.05),
            series,
            size: (1000.0, 300.0),
            ..Plot::default()
        };
        let caption = format!("Each series as shares of its first value: {}, {}.", self.reference.cite, self.dut_name);
        Some(Figure { caption, drawing: Drawing::Plot(plot), wide: true })
    }
}

fn group(pair: &Pair, word: &str, places: &[f64]) -> Group {
    let of = |label: String, series: &Values| row(label, places.iter().map(|place| Pair::at(series, *place)));
    let ratio = |place: &f64| Pair::at(&pair.measured, *place)?.ratio_to(Pair::at(&pair.published, *place)?, TIMES);
    let rows = vec![
        of(word.to_owned(), &pair.published),
        of("measured".to_owned(), &pair.measured),
        row(format!("measured / {word}"), places.iter().map(ratio)),
        of(format!("{word}, share of the first"), &Pair::form(&pair.published)),
        of("measured, share of the first".to_owned(), &Pair::form(&pair.measured)),
    ];
    Group { title: pair.title.clone(), rows, bars: Vec::new() }
}

const TIMES: Form = Form::Digits(3, " ×");

/// The place of a value in its table; of one without a place, that of all results.
fn place_of(value: &PublishedFigure) -> Option<f64> {
    if is_of_all(&value.x_name) { Some(ALL) } else { value.place() }
}

/// Whether a reference has no places: imported results of one set-up, or the quantities of one search.
fn is_of_all(x_name: &str) -> bool {
    ["all", "quantity"].contains(&x_name)
}

/// A place as readers see it: a whole number, or a factor such as alpha.
/// The place of results that nothing distinguishes.
const ALL: f64 = 1.0;

/// Whether values only compare at the same numbers of connections or of buckets.
fn is_total(key: &str) -> bool {
    metric::total_of(key).is_some()
}

fn place(report: &Report, result: &PointResult, x_name: &str) -> Option<f64> {
    match x_name {
        "cpu_cores" => Some(f64::from(result.cores)),
        "connections" => Some(result.connections as f64).filter(|n| *n > 0.0),
        "hash_table_size" => {
            let sizes = report.header.scenario.duts.get(result.dut)?.table_sizes()?;
            sizes.buckets.map(|buckets| buckets as f64)
        }
        _ if is_of_all(x_name) => Some(ALL),
        "alpha" => report.header.scenario.alpha_ppm().map(|ppm| f64::from(ppm) / 1e6),
        _ => None,
    }
}
