//! Two runs side by side: what differs in their conditions, and their values with the differences, point by point.

use super::e;
use crate::serve::query::encoded;
use document::html::{list, tables};
use document::{Column, Row, Table, row};
use record::compare::{ComparedPoint, ComparedValue, Run, Unlike, compare};
use record::report::Report;
use std::fmt::Write;
use std::path::PathBuf;

/// The first run is the reference.
pub(in super::super) fn page(first: (&str, &Report), second: (&str, &Report)) -> String {
    let mut main = String::from("<h1>Two runs side by side</h1>\n<ul>\n");
    for (name, report) in [first, second] {
        let damage = if report.audit.findings.is_empty() { "" } else { ", <strong>its record is damaged</strong>" };
        let (link, name, started) = (encoded(name), e(name), e(&report.header.started));
        let by = e(&report.header.version);
        let _ =
            writeln!(main, "<li><a href=\"/run/{link}/\">{name}</a>: started {started}, natmeter {by}{damage}</li>");
    }
    main.push_str("</ul>\n");
    let comparison =
        compare(&[first, second].map(|(name, report)| Run { folder: PathBuf::from(name), report: report.clone() }));
    for (name, report) in [first, second] {
        if !report.doubts.is_empty() {
            let _ = writeln!(main, "<h2>Doubts about {}</h2>", e(name));
            list(&mut main, "why", &report.doubts);
        }
    }
    if !comparison.unlike.is_empty() {
        main.push_str("<h2>Conditions that differ from those of the first run</h2>\n");
        list(&mut main, "why", &comparison.unlike.iter().map(Unlike::in_words).collect::<Vec<_>>());
    }
    let (title, columns) = ("Medians with the interval or range of the repetitions", [first.0, second.0, "Difference"]);
    let table = Table::new(title, "Value", columns.map(Column::of_words))
        .with_parameters(comparison.points.iter().map(compared));
    match comparison.points.as_slice() {
        [] => main.push_str("<p>Neither run has a result.</p>\n"),
        _ => tables(&mut main, &[table]),
    }
    super::page("Two runs", "", &(main + "<p><a href=\"/\">All runs</a></p>\n"))
}

fn compared(point: &ComparedPoint) -> Row {
    let of_run = |run: usize| point.values.iter().find(|value| value.run == run);
    let words = |run: usize| of_run(run).map_or("not in this run", |value: &ComparedValue| value.words.as_str());
    let difference = of_run(2).and_then(|value| value.difference_in_words(&point.metric)).unwrap_or_default();
    row(point.place.clone(), [words(1), words(2), difference.as_str()])
}
