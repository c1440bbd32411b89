//! Two runs side by side: what differs in their conditions, and their values with the differences, point by point. The first run
//! is the reference.

use super::e;
use crate::serve::query::encoded;
use record::compare::{ComparedPoint, ComparedValue, Run, compare};
use record::report::Report;
use std::fmt::Write;
use std::path::PathBuf;

/// Returns the page of two runs with their names.
pub(in super::super) fn page(first: (&str, &Report), second: (&str, &Report)) -> String {
    let mut main = String::from("<h1>Two runs side by side</h1>\n<dl class=\"live\">\n");
    for (name, report) in [first, second] {
        let header = &report.header;
        let _ = writeln!(
            main,
            "<div><dt><a href=\"/run/{}/\">{}</a></dt><dd>started {}, natmeter {}{}</dd></div>",
            encoded(name),
            e(name),
            e(&header.started),
            e(&header.version),
            if report.audit.findings.is_empty() { "" } else { ", <strong>its record is damaged</strong>" }
        );
    }
    main.push_str("</dl>\n");
    let comparison =
        compare(&[first, second].map(|(name, report)| Run { folder: PathBuf::from(name), report: report.clone() }));
    if !comparison.unlike.is_empty() {
        main.push_str("<h2>Conditions that differ from those of the first run</h2>\n<ul class=\"why\">\n");
        for unlike in &comparison.unlike {
            let _ = writeln!(main, "<li>{}</li>", e(&unlike.in_words()));
        }
        main.push_str("</ul>\n");
    }
    if comparison.points.is_empty() {
        main.push_str("<p>Neither run has a result.</p>\n");
    } else {
        table(&mut main, first.0, second.0, &comparison.points);
    }
    main.push_str("<p><a href=\"/\">All runs</a></p>\n");
    super::page("Two runs", "", &main)
}

fn table(main: &mut String, first: &str, second: &str, points: &[ComparedPoint]) {
    let _ = write!(
        main,
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Values\">\n<table>\n\
         <caption>Medians with the interval or range of the repetitions</caption>\n<thead><tr><th scope=\"col\">Value</th>\
         <th scope=\"col\">{}</th><th scope=\"col\">{}</th><th scope=\"col\">Difference</th></tr></thead>\n<tbody>\n",
        e(first),
        e(second)
    );
    for point in points {
        let of_run = |run: usize| point.values.iter().find(|value| value.run == run);
        let words = |run: usize| of_run(run).map_or("not in this run", |value: &ComparedValue| value.words.as_str());
        let difference = of_run(2).and_then(|value| value.difference_in_words(&point.metric)).unwrap_or_default();
        let _ = writeln!(
            main,
            "<tr><th scope=\"row\">{}</th><td>{}</td><td>{}</td><td>{}</td></tr>",
            e(&point.place),
            e(words(1)),
            e(words(2)),
            e(&difference)
        );
    }
    main.push_str("</tbody>\n</table>\n</div>\n");
}
