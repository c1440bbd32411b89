//! An index of many runs: a SQLite file of runs, points, results, repetitions and trials, for questions in SQL. natmeter derives
//! it from run folders alone, and writes it anew each time.

mod schema;
mod sqlite;

use crate::compare::conditions::flat;
use crate::compare::matching::technology_of_dut;
use crate::compare::{run_folders, scenario_id};
use crate::folder::{BUILD, Facts, Header, Outcome, SelfTest};
use crate::plan::without_attempt;
use crate::read::device::outcomes;
use crate::read::{header_below, scenario_text};
use crate::report::result::{PointResult, group};
use crate::runs::end;
use crate::store::{self, Dir, StoreError, dir};
use crate::visit;
use method::trial::{Leg, PhaseKind};
use method::{Direction, TrialRecord, Verdict};
use procedure::metric::by_key;
use scenario::{Point, Technologies};
use sqlite::{Database, Rows, Value};
use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, BufWriter, Read};
use std::path::{Path, PathBuf};

/// Name of the file in the folder of the runs.
pub const FILE: &str = "index.sqlite";

/// Why an index cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum IndexError {
    /// The folder cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The file is not an index of natmeter.
    #[error("{} is not an index of natmeter, and is not overwritten: name another file with --file", .0.display())]
    Other(PathBuf),
    /// A program has changed the file, or is about to.
    #[error("{} shows that another program has changed this index: close that program, or remove the file", .0.display())]
    Journal(PathBuf),
    /// The file cannot be written.
    #[error("{} cannot be written: {source}; the earlier index is unchanged", .path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
}

/// The content of an index.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Indexed {
    /// Runs.
    pub runs: usize,
    /// Results.
    pub results: usize,
    /// Trials.
    pub trials: usize,
    /// Folders that cannot be read, with the reason.
    pub skipped: Vec<(PathBuf, String)>,
}

/// Writes the index of the runs in a folder. The complete file replaces an earlier index.
///
/// # Errors
/// If the folder cannot be read, the file cannot be written, or the file exists and is not an index.
pub fn index(parent: &Path, file: &Path, technologies: Technologies) -> Result<Indexed, IndexError> {
    let folders = run_folders(parent)?;
    let failed = |source| IndexError::Write { path: file.to_path_buf(), source };
    let (dir, name) = Dir::of_file(file).map_err(|error| failed(io::Error::other(error)))?;
    see_that_it_is_an_index(&dir, name)?;
    let draft = dir.draft(name)?;
    let written = write(&draft.file, &folders, technologies);
    let indexed = written.map_err(failed)?;
    draft.publish()?;
    Ok(indexed)
}

/// Refuses a file that is not an index, and an index with a journal, which SQLite would apply to the new file.
fn see_that_it_is_an_index(folder: &Dir, name: &OsStr) -> Result<(), IndexError> {
    let journals = ["-journal", "-wal"].map(|ending| dir::with_ending(name.as_ref(), ending));
    if let Some(journal) = journals.into_iter().find(|journal| folder.has(journal)) {
        return Err(IndexError::Journal(folder.path_of(journal)));
    }
    let Some(mut file) = folder.read(name, u64::MAX)? else { return Ok(()) };
    let mut beginning = [0; sqlite::APPLICATION_AT + 4];
    let is_ours = file.read_exact(&mut beginning).is_ok()
        && beginning.starts_with(sqlite::MAGIC)
        && beginning[sqlite::APPLICATION_AT..] == schema::APPLICATION.to_be_bytes();
    if is_ours { Ok(()) } else { Err(IndexError::Other(folder.path_of(name))) }
}

fn write(draft: &File, folders: &[PathBuf], technologies: Technologies) -> io::Result<Indexed> {
    let mut database = Database::new(BufWriter::with_capacity(1 << 20, draft), schema::TABLES)?;
    let mut indexed = Indexed::default();
    for folder in folders {
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        let first = First {
            run: database.next_row(schema::RUNS),
            point: database.next_row(schema::POINTS),
            result: database.next_row(schema::RESULTS),
        };
        match rows_of(folder, &name, first, technologies) {
            Ok(rows) => {
                indexed.runs += 1;
                indexed.results += rows[schema::RESULTS].len();
                indexed.trials += rows[schema::TRIALS].len();
                for (table, rows) in rows.iter().enumerate() {
                    database.append(table, rows)?;
                }
            }
            Err(why) => {
                let mut rows = Rows::default();
                rows.push(&[(&*name).into(), (&why).into()]);
                database.append(schema::SKIPPED, &rows)?;
                indexed.skipped.push((folder.clone(), why));
            }
        }
    }
    let out = database.finish(schema::VIEWS, schema::APPLICATION, schema::VERSION)?;
    out.into_inner().map_err(io::IntoInnerError::into_error)?;
    Ok(indexed)
}

/// Numbers of the first rows of a run.
#[derive(Clone, Copy)]
struct First {
    run: u64,
    point: u64,
    result: u64,
}

/// The rows of a run, by table: all of them, or the reason why it cannot be read.
fn rows_of(folder: &Path, name: &str, first: First, technologies: Technologies) -> Result<Vec<Rows>, String> {
    let in_words = |error: StoreError| error.to_string();
    let folder = Dir::open(folder).map_err(in_words)?;
    let header = header_below(&folder, technologies).map_err(|error| error.to_string())?;
    let text = scenario_text(&folder).map_err(in_words)?;
    let facts: Facts = folder.document(store::FACTS).map_err(in_words)?.unwrap_or_default();
    let self_test: Option<SelfTest> = folder.document(store::SELF_TEST).map_err(in_words)?;
    let outcomes = outcomes(&folder, &header.scenario).map_err(in_words)?.values;
    let outcomes: Vec<Outcome> = visit::standing(&outcomes).cloned().collect();
    let mut rows = Rowset { rows: schema::TABLES.iter().map(|_| Rows::default()).collect(), first, points: Vec::new() };
    let not_needed = end(&folder).unwrap_or(0);
    let planned = header.plan.measurements.len().saturating_sub(not_needed);
    rows.add_run(name, &header, &facts, &text, self_test.as_ref(), (planned, outcomes.len()));
    rows.add_facts(&facts);
    rows.add_settings(&text, &header);
    for result in group(&header.scenario, &header.plan, &outcomes, &[], &[]) {
        rows.add_result(&header, &result);
    }
    rows.add_trials(&header, &folder)?;
    Ok(rows.rows)
}

struct Rowset {
    rows: Vec<Rows>,
    first: First,
    points: Vec<Point>,
}

impl Rowset {
    fn push(&mut self, table: usize, columns: &[Value]) {
        self.rows[table].push(columns);
    }

    fn add_run(
        &mut self,
        name: &str,
        header: &Header,
        facts: &Facts,
        text: &str,
        self_test: Option<&SelfTest>,
        (planned, measured): (usize, usize),
    ) {
        let id = scenario_id(text, &header.options);
        let tested = self_test.map(|test| if test.passed { "passed" } else { "failed" });
        let columns: [Value; 13] = [
            name.into(),
            (&header.scenario.name).into(),
            (&id).into(),
            (&header.started).into(),
            (&header.version).into(),
            facts.tester.get(BUILD).into(),
            header.rules.into(),
            header.record.into(),
            (&header.order).into(),
            planned.into(),
            measured.into(),
            tested.into(),
            facts.doubts.len().into(),
        ];
        self.push(schema::RUNS, &columns);
    }

    fn add_facts(&mut self, facts: &Facts) {
        let run = Value::from(self.first.run);
        for (fact, value) in &facts.tester {
            self.push(schema::FACTS, &[run, Value::Null, fact.into(), value.into()]);
        }
        for (device, facts) in &facts.duts {
            for (fact, value) in facts {
                self.push(schema::FACTS, &[run, device.into(), fact.into(), value.into()]);
            }
        }
    }

    fn add_settings(&mut self, text: &str, header: &Header) {
        let run = Value::from(self.first.run);
        let bed = header.options.bed.as_ref().map(|bed| flat(&bed.text)).unwrap_or_default();
        for (source, keys) in [("scenario", flat(text)), ("bed", bed)] {
            for (key, value) in &keys {
                self.push(schema::SETTINGS, &[run, source.into(), key.into(), value.into()]);
            }
        }
        for set in &header.options.set {
            let (key, value) = set.split_once('=').unwrap_or((set, ""));
            self.push(schema::SETTINGS, &[run, "--set".into(), key.into(), value.into()]);
        }
        if header.options.full {
            self.push(schema::SETTINGS, &[run, "--full".into(), Value::Null, Value::Null]);
        }
        let cell = header.options.cell.map(|cell| cell.to_string());
        for (option, value) in [("--scale", &header.options.scale), ("--cell", &cell)] {
            if let Some(value) = value {
                self.push(schema::SETTINGS, &[run, option.into(), Value::Null, value.into()]);
            }
        }
    }

    /// The number of a point; adds it if it is new.
    fn point(&mut self, header: &Header, point: &Point) -> u64 {
        if let Some(at) = self.points.iter().position(|known| known == point) {
            return self.first.point + at as u64;
        }
        let number = self.first.point + self.points.len() as u64;
        self.points.push(point.clone());
        let technology = header.scenario.duts.get(point.dut).map(technology_of_dut);
        let axes: Vec<String> = scenario::axis::in_order(&point.axes)
            .map(|(axis, value)| format!("{}={}", axis.name(), axis.plain(value)))
            .collect();
        let (run, axes) = (self.first.run, axes.join(" "));
        let columns: [Value; 6] = [
            run.into(),
            (&point.dut_name).into(),
            technology.into(),
            point.cores.into(),
            point.connections.into(),
            (&axes).into(),
        ];
        self.push(schema::POINTS, &columns);
        for (axis, value) in scenario::axis::in_order(&point.axes) {
            let word = axis.word(value);
            let value = word.as_ref().map_or_else(|| value.into(), Into::into);
            self.push(schema::AXES, &[number.into(), axis.name().into(), value]);
        }
        number
    }

    fn add_result(&mut self, header: &Header, result: &PointResult) {
        let point = self.point(header, &point_of(result));
        let number = self.first.result + self.rows[schema::RESULTS].len() as u64;
        let (summary, interval) = (result.summary, result.interval);
        let columns: [Value; 14] = [
            self.first.run.into(),
            point.into(),
            (&result.metric).into(),
            by_key(&result.metric).map(|metric| metric.unit.symbol()).into(),
            summary.map_or(0, |s| s.n).into(),
            summary.map(|s| s.median).into(),
            interval.map(|i| i.low).into(),
            interval.map(|i| i.high).into(),
            interval.map(|i| i.coverage).into(),
            summary.map(|s| s.min).into(),
            summary.map(|s| s.max).into(),
            result.bound.name().into(),
            result.trials.into(),
            result.invalid.into(),
        ];
        self.push(schema::RESULTS, &columns);
        for r in &result.repetitions {
            let value = r.bound.has_rate().then_some(r.value as f64);
            let columns: [Value; 8] = [
                number.into(),
                r.repetition.into(),
                value.into(),
                r.bound.name().into(),
                (r.error.0 as f64).into(),
                r.trials.into(),
                r.invalid.into(),
                r.after_s.into(),
            ];
            self.push(schema::REPETITIONS, &columns);
        }
    }

    fn add_trials(&mut self, header: &Header, folder: &Dir) -> Result<(), String> {
        let mut of_plan: HashMap<String, (u64, &str, u32)> = HashMap::new();
        for m in &header.plan.measurements {
            let point = self.point(header, &m.point);
            of_plan.insert(m.key(), (point, &m.metric, m.repetition));
        }
        let (run, mut wrong, mut expected) = (self.first.run, None, 0u64);
        let rows = &mut self.rows[schema::TRIALS];
        let read = folder.each_line(store::TRIALS, |trial: TrialRecord| {
            let key = without_attempt(&trial.measurement);
            match of_plan.get(key) {
                Some(of) if trial.seq == expected => add_trial(rows, run, *of, key, &trial),
                _ if wrong.is_some() => {}
                Some(_) => wrong = Some(format!("trial {expected} is missing")),
                None => wrong = Some(format!("trial {expected} belongs to `{key}`, which is not in the plan")),
            }
            expected += 1;
        });
        read.map_err(|error| error.to_string())?;
        wrong.map_or(Ok(()), |what| {
            Err(format!("{}: {what}; restore the file from a copy", folder.path_of(store::TRIALS).display()))
        })
    }
}

fn add_trial(rows: &mut Rows, run: u64, (point, metric, repetition): (u64, &str, u32), key: &str, trial: &TrialRecord) {
    let TrialRecord { seq, measurement, spec, outcome, verdict } = trial;
    let attempt: u32 = measurement[key.len()..].trim_start_matches('#').parse().unwrap_or(1);
    let legs = || [&outcome.forward, &outcome.reverse].into_iter().chain(&outcome.validation);
    let sum = |of: fn(&Leg) -> u64| legs().map(of).sum::<u64>();
    let seconds = legs().map(|leg| leg.send_time.as_secs_f64()).fold(0.0, f64::max);
    let (verdict, reason) = match verdict {
        Verdict::Pass => ("pass", None),
        Verdict::Fail(failure) => ("fail", Some(failure.to_string())),
        Verdict::Invalid(reason) => ("invalid", Some(reason.to_string())),
    };
    let columns: [Value; 17] = [
        run.into(),
        point.into(),
        metric.into(),
        repetition.into(),
        attempt.into(),
        (*seq).into(),
        kind(spec.kind).into(),
        direction(spec.direction).into(),
        spec.connections.into(),
        spec.rate.0.into(),
        seconds.into(),
        sum(|leg| leg.sent).into(),
        sum(|leg| leg.received).into(),
        sum(Leg::lost).into(),
        verdict.into(),
        reason.as_ref().into(),
        outcome.wall.as_secs_f64().into(),
    ];
    rows.push(&columns);
}

fn point_of(result: &PointResult) -> Point {
    Point {
        dut: result.dut,
        dut_name: result.dut_name.clone(),
        connections: result.connections,
        cores: result.cores,
        axes: result.axes.clone(),
    }
}

fn kind(kind: PhaseKind) -> &'static str {
    match kind {
        PhaseKind::Stateless => "stateless",
        PhaseKind::Establish => "establish",
        PhaseKind::Established => "established",
    }
}

fn direction(direction: Direction) -> &'static str {
    match direction {
        Direction::Forward => "forward",
        Direction::Reverse => "reverse",
        Direction::Both => "both",
        Direction::Mixed(_) => "both, unlike rates",
    }
}
