//! Explanations of the rows of the tables. A report prints those that it uses.

use super::table::{Row, Table};

/// Beginning of a row's label, and the meaning of its figures.
const ROWS: [(&str, &str); 11] = [
    ("median, total", "the sum of all directions that carry frames"),
    ("median, left to right", "the median's part in this direction; the median is that of the faster direction"),
    (
        "error of the search",
        "lowest rate that did not pass, minus highest rate that passed; the largest of all repetitions",
    ),
    ("S_C", "rate at this number of connections / rate at the smallest number of connections"),
    ("S_CPU", "rate on n cores / (n × rate on one core)"),
    (
        "null device",
        "rates that the same path reaches without the device's work, before and after the trials; nothing within 10 % of \
         them is the device's",
    ),
    (
        "CPU time a frame, ns",
        "time of the device's workers for each frame, without rounds that find none; median and interval over windows",
    ),
    (
        "paired ratio to null device",
        "forwarding rate of the device / that of the null device at the same offered load, in alternating windows; median \
         and interval over pairs",
    ),
    ("of plain forwarding", "median / median of plain IPv4 forwarding by the same kernel on the same number of cores"),
    (
        "trials (invalid)",
        "all trials of the searches; in parentheses, the invalid ones, which say nothing about the device",
    ),
    (
        "phase 1 rate",
        "connections/s at which phase 1 set up the connections before each trial; the median of all repetitions",
    ),
];

/// Signs before a value.
const SIGNS: [(&str, &str); 2] = [
    ("≥", "lower bound: the device reaches at least this rate; the remarks say why"),
    ("<", "upper bound: the device does not reach this rate, and no lower bound was found"),
];

const INTERVAL: (&str, &str) = (
    "interval",
    "of order statistics of the repetitions, with its nominal coverage; of a ratio: the outer ends of both intervals, coverage \
     by Bonferroni, widened by the drift of the null device between the two points",
);

fn rows_of(tables: &[Table]) -> impl Iterator<Item = &Row> {
    tables.iter().flat_map(|t| &t.groups).flat_map(|g| &g.rows)
}

/// Returns the terms that these tables use.
pub(super) fn of(tables: &[Table]) -> Vec<(&'static str, String)> {
    let rows = || rows_of(tables);
    let row = |term: &str| rows().any(|row| row.label == term || row.label.starts_with(&format!("{term} (")));
    let sign = |term: &str| rows().flat_map(|row| &row.cells).any(|cell| cell.starts_with(&format!("{term} ")));
    let rows = ROWS.iter().filter(|(term, _)| row(term));
    let signs = SIGNS.iter().filter(|(term, _)| sign(term));
    let interval = rows_of(tables).any(|row| row.label.ends_with("interval"));
    let interval = interval.then_some(&INTERVAL);
    rows.chain(interval).chain(signs).map(|&(term, meaning)| (term, meaning.to_owned())).collect()
}
