//! What the rows of the tables mean, for a reader who was handed a report and nothing else. Its own file because it is a list of
//! words; only those that a report uses are printed.

use super::table::Table;

/// Beginning of a row's label, and what its figures are.
const ROWS: [(&str, &str); 7] = [
    ("median, total", "the median times the number of directions that carry frames"),
    (
        "error of the search",
        "from the highest rate that passed to the lowest that did not, the largest of all repetitions",
    ),
    ("S_C", "rate at this number of connections / rate at the fewest"),
    ("S_CPU", "rate on n cores / (n × rate on one core)"),
    ("of plain forwarding", "median / median of plain IPv4 forwarding by the same kernel on as many cores"),
    ("trials (invalid)", "all trials of the searches, and those of them that measured nothing and were repeated"),
    (
        "phase 1 rate",
        "connections/s at which the connections were set up before each trial, the median of all repetitions",
    ),
];

/// What stands before a value.
const SIGNS: [(&str, &str); 2] = [
    ("≥", "the device can do at least this; what it cannot do was not found, see the remarks"),
    ("<", "the device can do less than this; no rate that it can do was found"),
];

/// The words of these tables.
pub fn of(tables: &[Table]) -> Vec<(&'static str, String)> {
    let rows = || tables.iter().flat_map(|t| &t.groups).flat_map(|g| &g.rows);
    let row = |term: &str| rows().any(|row| row.label == term || row.label.starts_with(&format!("{term} (")));
    let sign = |term: &str| rows().flat_map(|row| &row.cells).any(|cell| cell.starts_with(&format!("{term} ")));
    let rows = ROWS.iter().filter(|(term, _)| row(term));
    let signs = SIGNS.iter().filter(|(term, _)| sign(term));
    rows.chain(signs).map(|&(term, meaning)| (term, meaning.to_owned())).collect()
}
