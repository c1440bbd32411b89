//! Published tables beside the run, as `compare` of the scenario names them: each place of the table that the run measured, too, or
//! that only one of both has; and the form of both series, as shares of their first values.

use super::Section;
use crate::published::{self, Table as PublishedTable};
use crate::report::figure::Figure;
use crate::report::published::{Published, differences, median};
use crate::report::result::PointResult;
use crate::report::scale::Axis;
use crate::report::svg::{Labels, Plot, Point, SHAPES, Series};
use crate::report::table::{Group, Row, Table, row};
use crate::report::{Report, number};
use method::metric::{self, Unit};
use std::collections::BTreeSet;

/// The section of all tables that the scenario names.
pub(in crate::report) fn section(report: &Report) -> Option<Section> {
    let named = &report.header.scenario.compare;
    let beside: Vec<Beside> = named
        .iter()
        .filter_map(|name| published::table(name))
        .flat_map(|table| devices(report).into_iter().map(move |dut| Beside::of(report, table, dut)))
        .collect();
    if beside.is_empty() {
        return None;
    }
    Some(Section {
        title: "Beside published tables".to_owned(),
        about: "Medians. Rates in frames per second are per direction: natmeter halves the published totals of both directions. \
                Normalized values are divided by the first value of their series."
            .to_owned(),
        tables: beside.iter().map(Beside::table).collect(),
        figures: beside.iter().enumerate().filter_map(|(at, beside)| beside.figure(at)).collect(),
    })
}

/// The devices with results, by their position in the scenario.
fn devices(report: &Report) -> BTreeSet<usize> {
    report.results.iter().map(|result| result.dut).collect()
}

/// A published table beside a device of the run.
struct Beside<'a> {
    table: &'static PublishedTable,
    dut_name: &'a str,
    /// One a metric of the table.
    pairs: Vec<Pair>,
    notes: Vec<String>,
}

/// The published and the measured series of a metric.
struct Pair {
    metric: String,
    published: Vec<(f64, f64)>,
    measured: Vec<(f64, f64)>,
}

impl Pair {
    fn at(series: &[(f64, f64)], place: f64) -> Option<f64> {
        series.iter().find(|(x, _)| *x == place).map(|(_, value)| *value)
    }

    /// Each value as a share of the first.
    fn form(series: &[(f64, f64)]) -> Vec<(f64, f64)> {
        let first = series.first().map_or(0.0, |(_, value)| *value);
        series.iter().filter(|_| first > 0.0).map(|(x, value)| (*x, value / first)).collect()
    }
}

impl<'a> Beside<'a> {
    fn of(report: &'a Report, table: &'static PublishedTable, dut: usize) -> Beside<'a> {
        let results: Vec<&PointResult> = report.results.iter().filter(|result| result.dut == dut).collect();
        let medians: Vec<Published> = table.values().filter(|value| value.stat == "median").map(median).collect();
        let x_name = x_name(table);
        let mut metrics: Vec<&str> = Vec::new();
        for value in &medians {
            if !metrics.contains(&value.metric.as_str()) && metric::by_key(&value.metric).is_some() {
                metrics.push(&value.metric);
            }
        }
        let pairs = metrics.into_iter().map(|metric| {
            let published = table.values().filter(|value| value.stat == "median" && value.metric == metric);
            let published = published.filter_map(|value| Some((value.place()?, median(value).value)));
            let alike = |result: &&&PointResult| {
                medians.iter().any(|value| value.metric == metric && value.compares_with(result)) || !is_total(metric)
            };
            let of_metric = results.iter().filter(|result| result.metric == metric).filter(alike);
            let measured = of_metric.filter_map(|result| Some((place(report, result, x_name)?, result.median()?)));
            let sorted = |mut series: Vec<(f64, f64)>| {
                series.sort_by(|a, b| a.0.total_cmp(&b.0));
                series
            };
            Pair {
                metric: metric.to_owned(),
                published: sorted(published.collect()),
                measured: sorted(measured.collect()),
            }
        });
        let mut notes: Vec<String> =
            medians.first().map(|first| format!("Published: {}.", first.conditions())).into_iter().collect();
        if let Some((first, result)) = medians.first().zip(results.first()) {
            let differ = differences(&report.header.scenario, result, first);
            notes.extend((!differ.is_empty()).then(|| format!("The published set-up differs: {}.", differ.join("; "))));
        }
        notes.extend(table.errata().filter_map(|erratum| erratum.note.clone()));
        Beside { table, dut_name: results.first().map_or("", |result| &result.dut_name), pairs: pairs.collect(), notes }
    }

    /// All places of both, in order.
    fn places(&self) -> Vec<f64> {
        let of_pair = |pair: &Pair| pair.published.iter().chain(&pair.measured).map(|(x, _)| *x).collect::<Vec<_>>();
        let mut places: Vec<f64> = self.pairs.iter().flat_map(of_pair).collect();
        places.sort_by(f64::total_cmp);
        places.dedup();
        places
    }

    fn table(&self) -> Table {
        let places = self.places();
        let axis = match x_name(self.table) {
            "cpu_cores" => "cores",
            "connections" => "connections",
            "hash_table_size" => "hash table size",
            "alpha" => "alpha",
            _ => "published at",
        };
        let label = self.table.values().next().map_or("", |value| value.under.label.as_str());
        Table {
            title: format!("{}, {label}: {} · {}", self.table.document().cite, self.table.title, self.dut_name),
            axis,
            columns: places.iter().map(|place| number::grouped_f64(*place)).collect(),
            parameters: Vec::new(),
            groups: self.pairs.iter().map(|pair| group(pair, &places)).collect(),
            notes: self.notes.clone(),
            same: Vec::new(),
        }
    }

    /// The form of the series of all metrics that have two measured places.
    fn figure(&self, at: usize) -> Option<Figure> {
        let mut series: Vec<Series> = Vec::new();
        for pair in self.pairs.iter().filter(|pair| pair.measured.len() > 1 && pair.published.len() > 1) {
            let title = metric::by_key(&pair.metric).map_or("", |metric| metric.title);
            for (of, values) in [("published", &pair.published), ("measured", &pair.measured)] {
                let at = series.len();
                series.push(Series {
                    name: format!("{title}, {of}"),
                    class: format!("s{}", at % 6),
                    shape: Some(SHAPES[at % SHAPES.len()]),
                    joined: true,
                    points: Pair::form(values).into_iter().map(|(x, y)| Point::at(x, y)).collect(),
                });
            }
        }
        let all = || series.iter().flat_map(|series| &series.points);
        let highest = all().map(|point| point.y).fold(0.0, f64::max);
        let (low, high) =
            all().fold((f64::INFINITY, 0.0f64), |(low, high), point| (low.min(point.x), high.max(point.x)));
        if series.is_empty() || low <= 0.0 {
            return None;
        }
        let in_words: Vec<String> = series
            .iter()
            .map(|series| {
                let points: Vec<String> =
                    series.points.iter().map(|p| format!("{:.2} at {}", p.y, number::grouped_f64(p.x))).collect();
                format!("{}: {}", series.name, points.join(", "))
            })
            .collect();
        let x_label = self.table().axis;
        let plot = Plot {
            id: format!("compare-{at}"),
            title: format!("Form of {} and of the run", self.table.number),
            description: in_words.join("; "),
            x: if x_label == "cores" {
                Axis::at_values(x_label, &self.places())
            } else {
                Axis::log(x_label, low, high)
            },
            y: Axis::linear("share of the first value", highest * 1.05),
            band: Vec::new(),
            band_name: "",
            series,
            labels: Labels::None,
            size: (1000.0, 300.0),
        };
        let caption =
            format!("Each series as shares of its first value: {}, {}.", self.table.document().cite, self.dut_name);
        Some(Figure { caption, svg: plot.render(), wide: true })
    }
}

fn group(pair: &Pair, places: &[f64]) -> Group {
    let is_rate = metric::by_key(&pair.metric).is_some_and(|metric| metric.unit == Unit::FramesPerSecond);
    let title = metric::by_key(&pair.metric).map_or("", |metric| metric.title);
    let each = if is_rate { ", per direction" } else { "" };
    let of = |series: &[(f64, f64)], show: &dyn Fn(f64) -> String| {
        places.iter().map(|place| Pair::at(series, *place).map(show)).collect::<Vec<_>>()
    };
    let value = |value: f64| number::grouped_f64(value);
    let share = |share: f64| format!("{share:.3}");
    let ratio = places.iter().map(|place| {
        let (measured, published) = (Pair::at(&pair.measured, *place)?, Pair::at(&pair.published, *place)?);
        (published > 0.0).then(|| format!("{} ×", number::significant(measured / published, 3)))
    });
    let rows: Vec<Row> = vec![
        row("published", of(&pair.published, &value)),
        row("measured", of(&pair.measured, &value)),
        row("measured / published", ratio),
        row("published, share of the first", of(&Pair::form(&pair.published), &share)),
        row("measured, share of the first", of(&Pair::form(&pair.measured), &share)),
    ];
    Group { title: format!("{title}{each}"), rows, bars: Vec::new() }
}

fn x_name(table: &PublishedTable) -> &'static str {
    table.values().next().map_or("", |value| value.x_name.as_str())
}

/// Whether values only compare at the same numbers of connections or of buckets.
fn is_total(key: &str) -> bool {
    metric::is_total_of_connections(key) || metric::is_total_of_buckets(key)
}

/// The place of a result in a table over this.
fn place(report: &Report, result: &PointResult, x_name: &str) -> Option<f64> {
    match x_name {
        "cpu_cores" => Some(f64::from(result.cores)),
        "connections" => Some(result.connections as f64).filter(|n| *n > 0.0),
        "alpha" => report.header.scenario.alpha_ppm().map(|ppm| f64::from(ppm) / 1e6),
        _ => None,
    }
}
