//! A trend as one page: a figure and a table of each series, with the runs at which its level changed.

use super::{Change, Series, Trend, about};
use crate::compare::text::difference_in_words;
use crate::report::in_unit;
use crate::report::number::plural;
use document::svg::{self, Plot, Point, Shape};
use document::{Column, Drawing, Figure, Table, html, row, scale};
use method::stats::change::LEAST_VALUES;
use procedure::metric::by_key;

pub fn page(trend: &Trend) -> String {
    let n = plural(trend.runs.len() as u64, "run");
    let title = format!("Trend of {}", trend.scenario);
    let figures: Vec<Figure> = trend.series.iter().enumerate().map(|(at, series)| figure(trend, series, at)).collect();
    let tables: Vec<Table> = trend.series.iter().map(|series| table(trend, series)).collect();
    html::page(&title, &[format!("{n} of the scenario `{}`.", trend.scenario), about(trend)], &figures, &tables)
}

fn figure(trend: &Trend, series: &Series, at: usize) -> Figure {
    let largest = series.values.iter().map(|value| value.high.unwrap_or(value.median)).fold(0.0, f64::max);
    let metric = by_key(&series.metric);
    let (unit, factor) = metric.map_or(("", 1.0), |metric| in_unit(metric, largest));
    let point = |run: usize, median: f64| Point::at(run as f64, median * factor);
    let values = series.values.iter().map(|value| Point {
        whisker: value.low.zip(value.high).map(|(low, high)| (low * factor, high * factor)),
        tooltip: Some(format!("run {}, {}\n{}", value.run, trend.runs[value.run - 1].started, value.words)),
        ..point(value.run, value.median)
    });
    let is_first = |run: usize| series.changes.iter().any(|change| change.after == run);
    let changed = series.values.iter().filter(|value| is_first(value.run));
    let changed = changed.map(|value| point(value.run, value.median)).collect();
    let drawn = vec![
        svg::Series::marked(0, "median, with its interval or range".to_owned(), values.collect()),
        svg::Series::marks("first run of a new level", "fail", Shape::Cross, changed),
    ];
    let spoken = series.values.iter().map(|value| format!("run {}: {}", value.run, value.words));
    let plot = Plot {
        id: format!("trend-{at}"),
        title: series.place.clone(),
        description: spoken.collect::<Vec<_>>().join("; "),
        x: scale::Axis::steps("run", trend.runs.len()),
        y: scale::Axis::linear(
            (metric.map_or(series.metric.as_str(), |metric| metric.title), unit),
            largest * factor * 1.15,
        ),
        series: drawn,
        size: (440.0, 310.0),
        ..Plot::default()
    };
    Figure { caption: format!("{}.", series.place), drawing: Drawing::Plot(plot), wide: false }
}

fn table(trend: &Trend, series: &Series) -> Table {
    let columns = ["started", "natmeter", "value", "change of the level"].map(Column::of_words);
    let rows = series.values.iter().map(|value| {
        let run = &trend.runs[value.run - 1];
        let change = series.changes.iter().find(|change| change.after == value.run);
        let change = change.map_or_else(String::new, |change| in_words(change, series));
        row(format!("run {}", value.run), [run.started.as_str(), &run.natmeter, &value.words, &change])
    });
    let mut table = Table::new(series.place.clone(), "run", columns).with_parameters(rows);
    if series.left_out > 0 {
        table.notes.push(format!("{} left out: a bound, or no value", plural(series.left_out as u64, "run")));
    }
    if series.values.len() < LEAST_VALUES {
        table.notes.push("too few runs for change points".to_owned());
    }
    table
}

fn in_words(change: &Change, series: &Series) -> String {
    let unlike = change.unlike.iter().map(|unlike| unlike.beside("before")).collect::<Vec<_>>().join("; ");
    let unlike = if unlike.is_empty() { "no recorded version, key or fact changed".to_owned() } else { unlike };
    format!("{} (p = {:.3}); {unlike}", difference_in_words(&change.difference, &series.metric), change.p)
}
