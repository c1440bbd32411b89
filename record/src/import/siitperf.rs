//! `rate.csv` and `ratetest.log` of the scripts that come with siitperf (binary-rate-alg.sh and its variants `-R` and `-sf`,
//! cttc.sh). Their rates are those of one direction. Their frame sizes are those as IPv6, 20 octets above those as IPv4.

use super::{ForeignResult, ImportError, short, unstated};
use procedure::capacity::CONN_TABLE_CAPACITY;
use procedure::establishment::MAX_CONN_EST_RATE;
use procedure::throughput::THROUGHPUT;

const TESTER: &str = "siitperf";

/// Octets by which a frame as IPv6 is longer than as IPv4.
const LONGER: u64 = 20;

const LAST_TESTED: &str = "rate.csv of siitperf has the last rate that each search tested. It may have failed, and is then above the \
    highest rate that passed by at most the error of the search. ratetest.log has the rate that passed.";

/// A script, by the columns of its `rate.csv`.
struct Script {
    /// A column that no script before it in the list has.
    column: &'static str,
    table: &'static str,
    metric: &'static str,
    unit: &'static str,
    result: &'static str,
    title: &'static str,
    note: Option<&'static str>,
}

const SCRIPTS: [Script; 3] = [
    Script {
        column: "FinBinIt",
        table: "cttc",
        metric: CONN_TABLE_CAPACITY.key,
        unit: "connections",
        result: "C",
        title: "connection tracking table capacity",
        note: None,
    },
    Script {
        column: "Initial R Rate",
        table: "connection establishment",
        metric: MAX_CONN_EST_RATE.key,
        unit: "cps",
        result: "rate",
        title: "maximum connection establishment rate",
        note: Some(LAST_TESTED),
    },
    Script {
        column: "Initial Rate",
        table: "throughput",
        metric: THROUGHPUT.key,
        unit: FPS,
        result: "rate",
        title: "throughput",
        note: Some(LAST_TESTED),
    },
];

const FPS: &str = "fps, each direction";

pub(super) fn is_csv(text: &str) -> bool {
    text.starts_with("No, ") || text.starts_with("No,")
}

struct CsvRow<'a> {
    names: &'a [&'a str],
    fields: Vec<&'a str>,
    line: usize,
}

impl<'a> CsvRow<'a> {
    fn text(&self, name: &str) -> Option<&'a str> {
        let at = self.names.iter().position(|known| *known == name)?;
        self.fields.get(at).copied()
    }

    fn number(&self, name: &str) -> Result<u64, ImportError> {
        let text = self.text(name).unwrap_or_default();
        whole(name, text).map_err(|error| error.at(self.line))
    }

    /// A number that the row has if its file has the column.
    fn number_if_any(&self, name: &str) -> Result<Option<u64>, ImportError> {
        self.text(name).map(|_| self.number(name)).transpose()
    }
}

fn whole(field: &str, text: &str) -> Result<u64, ImportError> {
    text.parse().map_err(|_| ImportError::new(field, format!("`{}` is not a whole number", short(text))))
}

/// Reads a `rate.csv`: one result a line.
pub(super) fn csv(text: &str) -> Result<Vec<ForeignResult>, ImportError> {
    let mut lines = text.lines().enumerate();
    let header = lines.next().map_or("", |(_, line)| line);
    let names: Vec<&str> = header.split(',').map(str::trim).collect();
    let Some(script) = SCRIPTS.iter().find(|script| names.contains(&script.column)) else {
        let columns: Vec<&str> = SCRIPTS.iter().map(|script| script.column).collect();
        let why = format!("no script of siitperf writes these columns: one has {}", columns.join(", or "));
        return Err(ImportError::new("", why).at(1));
    };
    if !names.contains(&script.result) {
        return Err(ImportError::new(script.result, "this column is missing").at(1));
    }
    let rows = lines.filter(|(_, line)| !line.trim().is_empty()).map(|(at, line)| {
        let row = CsvRow { names: &names, fields: line.split(',').map(str::trim).collect(), line: at + 1 };
        if row.fields.len() != names.len() {
            let why = format!("{} fields, but the header has {}", row.fields.len(), names.len());
            return Err(ImportError::new("", why).at(row.line));
        }
        let conditions = Header {
            direction: row.text("Dir").unwrap_or_default(),
            frame_size: row.number_if_any("Size")?,
            connections: row.number_if_any("N")?,
            implementation: None,
            test: names.iter().zip(&row.fields).filter(|(name, _)| !is_of_search(name, script)).map(named).collect(),
        };
        conditions.single(script, row.number(script.result)?, row.line)
    });
    rows.collect()
}

/// What the header of a log, or a row of a table, says about a result.
#[derive(Clone)]
struct Header<'a> {
    /// `b`, `f` or `r`; empty where the script has none.
    direction: &'a str,
    frame_size: Option<u64>,
    connections: Option<u64>,
    implementation: Option<&'a str>,
    /// All that it says of the test.
    test: Vec<(String, String)>,
}

/// Whether a column says how a search went, and not what was tested.
fn is_of_search(column: &str, script: &Script) -> bool {
    // M, R and D follow from N.
    ["No", "N", "M", "R", "D", "Date", "Iterations needed", "ExpIt", "C0", "R0", "CS", "RS", "CT", "RT"]
        .contains(&column)
        || column == script.column
        || column == script.result
        || column.starts_with("Initial")
}

fn named((name, value): (&&str, &&str)) -> (String, String) {
    (short(name), short(value))
}

impl Header<'_> {
    fn single(self, script: &Script, value: u64, line: usize) -> Result<ForeignResult, ImportError> {
        let direction = match self.direction {
            "" | "b" => "",
            "f" => ", left to right",
            "r" => ", right to left",
            other => {
                let why = format!("`{}` is not a direction; siitperf has b, f and r", short(other));
                return Err(ImportError::new("Dir", why).at(line));
            }
        };
        let mut under = unstated(TESTER, script.table);
        under.connections = self.connections;
        // Its scripts accept only trials without loss.
        under.tolerance = Some(0.0);
        if let Some(size) = self.frame_size {
            let too_short = || ImportError::new("Size", format!("{size} octets are no frame as IPv6")).at(line);
            under.frame_size = Some(size.checked_sub(LONGER).ok_or_else(too_short)?);
        }
        if let Some(implementation) = self.implementation {
            under.implementation = short(implementation);
        }
        let (x_name, x) = match self.connections {
            Some(connections) => ("connections", connections.to_string()),
            None => ("all", String::new()),
        };
        Ok(ForeignResult {
            under,
            metric: script.metric,
            unit: script.unit,
            x_name,
            x,
            value: value as f64,
            title: format!("{}{direction}", script.title),
            note: script.note,
            test: self.test,
        })
    }
}

pub(super) fn is_log(text: &str) -> bool {
    text.lines().take(3).any(|line| line.starts_with("Tested Implementation:"))
}

/// Reads a `ratetest.log`: the highest rate that passed in each search. A search without one has no result.
pub(super) fn log(text: &str) -> Result<Vec<ForeignResult>, ImportError> {
    let value = |name: &str| {
        let mut lines = text.lines().take(30).enumerate();
        lines.find_map(|(at, line)| Some((at + 1, line.strip_prefix(name)?.trim().trim_end_matches(':'))))
    };
    let number = |name: &'static str| {
        let found = value(&format!("{name}:"));
        found.map(|(line, text)| whole(name, text).map_err(|error| error.at(line))).transpose()
    };
    if value("C0:").is_some() {
        return Err(ImportError::new("", "this is the log of cttc.sh; import its rate.csv, which has the capacities"));
    }
    let starts = if value("Starting R rate").is_some() { "Initial R Rate" } else { "Initial Rate" };
    let script = SCRIPTS.iter().find(|script| script.column == starts).expect("a script of the list");
    let script = Script { note: None, ..*script };
    let header = Header {
        direction: value("Direction").map_or("", |(_, direction)| direction),
        frame_size: number("Frame size")?,
        connections: number("N")?,
        implementation: value("Tested Implementation:").map(|(_, name)| name),
        test: [("n", "Value of n"), ("m", "Value of m")]
            .into_iter()
            .filter_map(|(name, of)| Some((name.to_owned(), short(value(&format!("{of}:"))?.1))))
            .collect(),
    };
    let found = searches(text)?;
    found.into_iter().map(|(line, rate)| header.clone().single(&script, rate, line)).collect()
}

/// The last line and the highest passed rate of each search.
fn searches(text: &str) -> Result<Vec<(usize, u64)>, ImportError> {
    let mut all: Vec<(&str, Option<(usize, u64)>)> = Vec::new();
    let mut tested: Option<u64> = None;
    for (at, line) in text.lines().enumerate() {
        let at = at + 1;
        if let Some((_, iteration)) = line.split_once(" Iteration no. ") {
            let search = iteration.split('-').next().unwrap_or_default();
            if all.last().is_none_or(|(last, _)| *last != search) {
                all.push((search, None));
            }
            tested = None;
        } else if let Some(rate) = ["Testing rate:", "Testing R rate:"].iter().find_map(|name| line.strip_prefix(name))
        {
            let rate = rate.trim().split(' ').next().unwrap_or_default();
            tested = Some(whole("Testing rate", rate).map_err(|error| error.at(at))?);
        } else if line == "TEST PASSED" {
            let orphan = |what: &str| ImportError::new("TEST PASSED", format!("no {what} stands before it")).at(at);
            let rate = tested.ok_or_else(|| orphan("tested rate"))?;
            let (_, best) = all.last_mut().ok_or_else(|| orphan("iteration"))?;
            if best.is_none_or(|(_, best)| best < rate) {
                *best = Some((at, rate));
            }
        }
    }
    Ok(all.into_iter().filter_map(|(_, best)| best).collect())
}
