//! The tables and views of an index. docs/index-of-runs.md explains them; a change raises [`VERSION`].

use super::sqlite::Entry;

/// The number by which `file` and natmeter recognise an index: `natm`.
pub(super) const APPLICATION: u32 = u32::from_be_bytes(*b"natm");
/// Version of the tables.
pub(super) const VERSION: u32 = 1;

pub(super) const RUNS: usize = 0;
pub(super) const SKIPPED: usize = 1;
pub(super) const FACTS: usize = 2;
pub(super) const SETTINGS: usize = 3;
pub(super) const POINTS: usize = 4;
pub(super) const AXES: usize = 5;
pub(super) const RESULTS: usize = 6;
pub(super) const REPETITIONS: usize = 7;
pub(super) const TRIALS: usize = 8;

/// The tables, by the positions above.
pub(super) const TABLES: &[Entry] = &[
    Entry {
        name: "runs",
        sql: "CREATE TABLE runs(id INTEGER PRIMARY KEY, folder TEXT, scenario TEXT, scenario_id TEXT, started TEXT, \
              natmeter TEXT, build TEXT, rules INTEGER, record INTEGER, sequence TEXT, planned INTEGER, measured INTEGER, \
              self_test TEXT, doubts INTEGER)",
    },
    Entry { name: "skipped", sql: "CREATE TABLE skipped(id INTEGER PRIMARY KEY, folder TEXT, reason TEXT)" },
    Entry {
        name: "facts",
        sql: "CREATE TABLE facts(id INTEGER PRIMARY KEY, run INTEGER, device TEXT, fact TEXT, value TEXT)",
    },
    Entry {
        name: "settings",
        sql: "CREATE TABLE settings(id INTEGER PRIMARY KEY, run INTEGER, source TEXT, key TEXT, value TEXT)",
    },
    Entry {
        name: "points",
        sql: "CREATE TABLE points(id INTEGER PRIMARY KEY, run INTEGER, device TEXT, technology TEXT, cores INTEGER, \
              connections INTEGER, axes TEXT)",
    },
    Entry { name: "axes", sql: "CREATE TABLE axes(id INTEGER PRIMARY KEY, point INTEGER, axis TEXT, value INTEGER)" },
    Entry {
        name: "results",
        sql: "CREATE TABLE results(id INTEGER PRIMARY KEY, run INTEGER, point INTEGER, metric TEXT, unit TEXT, \
              repetitions INTEGER, median REAL, low REAL, high REAL, coverage REAL, minimum REAL, maximum REAL, bound TEXT, \
              trials INTEGER, invalid INTEGER)",
    },
    Entry {
        name: "repetitions",
        sql: "CREATE TABLE repetitions(id INTEGER PRIMARY KEY, result INTEGER, repetition INTEGER, value REAL, bound TEXT, \
              error REAL, trials INTEGER, invalid INTEGER, after_s REAL)",
    },
    Entry {
        name: "trials",
        sql: "CREATE TABLE trials(id INTEGER PRIMARY KEY, run INTEGER, point INTEGER, metric TEXT, repetition INTEGER, \
              attempt INTEGER, seq INTEGER, kind TEXT, direction TEXT, connections INTEGER, rate INTEGER, duration_s REAL, \
              sent INTEGER, received INTEGER, lost INTEGER, verdict TEXT, reason TEXT, wall_s REAL)",
    },
];

/// The views.
pub(super) const VIEWS: &[Entry] = &[Entry {
    name: "all_results",
    sql: "CREATE VIEW all_results AS SELECT runs.folder, runs.scenario, runs.started, runs.natmeter, points.device, \
          points.technology, points.cores, points.connections, points.axes, results.* FROM results \
          JOIN points ON points.id = results.point JOIN runs ON runs.id = results.run",
}];
