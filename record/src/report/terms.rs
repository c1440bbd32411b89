//! The terms of the tables, in the order in which a report explains those that it uses.

use document::{Bound, Pairs, Row, Table, Term};
use std::collections::BTreeSet;

macro_rules! terms {
    ($($constant:ident: $name:literal, $meaning:literal;)*) => {
        $(pub(super) static $constant: Term = Term { name: $name, meaning: $meaning };)*
        static ALL: &[&Term] = &[$(&$constant),*];
    };
}

terms! {
    TOTAL: "median, total",
    "the sum of all directions that carry frames";
    LEFT_TO_RIGHT: "median, left to right",
    "the median's part in this direction; the median is that of the faster direction";
    ERROR: "error of the search",
    "lowest rate that did not pass, minus highest rate that passed; the largest of all repetitions";
    S_C: "S_C",
    "rate at this number of connections / rate at the smallest number of connections";
    S_CPU: "S_CPU",
    "rate on n cores / (n × rate on one core)";
    NULL: "null device",
    "rates that the same path reaches without the device's work, before and after the trials; nothing within 10 % of them is the \
     device's";
    CPU_TIME: "CPU time a frame, ns",
    "time of the device's workers for each frame, without rounds that find none; median and interval over windows";
    PAIRED: "paired ratio to null device",
    "forwarding rate of the device / that of the null device at the same offered load, in alternating windows; median and interval \
     over pairs";
    OF_FORWARDING: "of plain forwarding",
    "median / median of plain IPv4 forwarding by the same kernel on the same number of cores";
    TRIALS: "trials (invalid)",
    "all trials of the searches; in parentheses, the invalid ones, which say nothing about the device";
    PHASE1_RATE: "phase 1 rate",
    "connections/s at which phase 1 set up the connections before each trial; the median of all repetitions";
    INTERVAL: "interval",
    "of order statistics of the repetitions, with its nominal coverage; of a ratio: the outer ends of both intervals, coverage by \
     Bonferroni, widened by the drift of the null device between the two points";
    AT_LEAST: "≥",
    "lower bound: the device reaches at least this rate; the remarks say why";
    LESS_THAN: "<",
    "upper bound: the device does not reach this rate, and no lower bound was found";
}

pub(super) fn of(tables: &[Table]) -> Pairs {
    let rows = || tables.iter().flat_map(|table| &table.groups).flat_map(|group| &group.rows);
    let signs = rows().flat_map(|row: &Row| &row.cells).filter_map(|cell| match cell.bound() {
        Bound::AtLeast => Some(&AT_LEAST),
        Bound::LessThan => Some(&LESS_THAN),
        Bound::Exact | Bound::Strict | Bound::AtMost => None,
    });
    let used: BTreeSet<&str> = rows().filter_map(|row| row.term).chain(signs).map(|term| term.name).collect();
    let used = ALL.iter().filter(|term| used.contains(term.name));
    Pairs::new("Terms of the tables", ["term", "meaning"], used.map(|term| (term.name, term.meaning)))
}
