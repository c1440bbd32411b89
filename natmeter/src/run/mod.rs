//! A run: the plan carried out measurement by measurement, every trial recorded before the search sees it.
//! A resumed run is the same code with recorded trials in front.

mod calibrate;
mod measure;
mod recorded;
mod until;

pub use calibrate::calibrate;
pub use recorded::Recorded;
pub use until::{Until, is_over};

use crate::event::{Event, Listener};
use crate::rig::{Process, Rig, RigError};
use crate::selftest::Tested;
use engine::calibrate::CalibrateError;
use measure::Searcher;
use method::{Nanos, TrialError, TrialRecord, Verdict};
use record::audit::{self, Refusal};
use record::folder::{BUILD, Calibration, Facts, Header, INVALID_TOO_LONG, NO_RESULT, Outcome, SelfTest};
use record::plan::{Measurement, Plan, without_attempt};
use record::read::RecordError;
use record::search::{known_before, last_trials};
use record::store::{CALIBRATION, FACTS, RunFolder, SELF_TEST, StoreError};
use scenario::quantity::show_time;
use scenario::{Point, Scenario};
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Why a run ended before its plan did.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// Ctrl-C: what was measured is in the folder.
    #[error("interrupted; continue with `natmeter resume {0}`")]
    Interrupted(PathBuf),
    /// Nobody would hear of a wish to end.
    #[error("signals cannot be handled: {0}")]
    Signals(std::io::Error),
    /// The device does not answer.
    #[error("{0}")]
    DutDead(String),
    /// The folder cannot be written or read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The rig cannot be put together.
    #[error(transparent)]
    Rig(#[from] RigError),
    /// A trial could not be carried out.
    #[error("{measurement}: {error}")]
    Trial {
        /// Which measurement.
        measurement: String,
        /// What happened.
        error: TrialError,
    },
    /// Its record is damaged, or has other rules than this natmeter.
    #[error("{}: {refusal}", .path.display())]
    Record {
        /// The run folder.
        path: PathBuf,
        /// Why it cannot be resumed.
        refusal: Refusal,
    },
    /// The run folder cannot be read.
    #[error(transparent)]
    Unread(#[from] RecordError),
    /// The tester itself could not be measured.
    #[error("the tester cannot be calibrated: {0}")]
    Calibrate(#[from] CalibrateError),
}

/// A run in progress.
pub struct Run<'a> {
    scenario: Scenario,
    plan: Plan,
    folder: RunFolder,
    process: Process,
    listener: &'a mut dyn Listener,
    calibration: Calibration,
    facts: Facts,
    outcomes: Vec<Outcome>,
    records: Vec<TrialRecord>,
    began: Instant,
    /// No trial is begun after this: twice the scenario's time limit.
    end: Option<Instant>,
    /// Measured against predicted time so far, to correct the prediction of the rest.
    spent: Duration,
    /// The measurements in which it was spent.
    made: Vec<Measurement>,
    /// Everybody knows that it has begun.
    announced: bool,
}

/// What happens before the plan is carried out belongs to the run, too.
impl Listener for Run<'_> {
    fn on(&mut self, event: &Event) {
        // A folder that cannot be written shows with the next event of the run's own.
        let _ = self.tell(event);
    }
}

impl<'a> Run<'a> {
    /// Begin a run in a fresh folder, which holds this header already.
    pub fn begin(header: &Header, folder: RunFolder, process: Process, listener: &'a mut dyn Listener) -> Run<'a> {
        Run::with(header, folder, process, listener, Vec::new(), Vec::new())
    }

    /// Continue a run where it stopped.
    ///
    /// # Errors
    /// When the folder cannot be read, its record is damaged, or this natmeter has other rules.
    pub fn resume(
        header: &Header,
        folder: RunFolder,
        process: Process,
        listener: &'a mut dyn Listener,
    ) -> Result<Run<'a>, RunError> {
        let path = folder.path().to_path_buf();
        let recorded = record::read::Record::of(header.clone(), &path)?;
        audit::check_resumable(&recorded).map_err(|refusal| RunError::Record { path, refusal })?;
        Ok(Run::with(header, folder, process, listener, recorded.trials, recorded.outcomes))
    }

    fn with(
        header: &Header,
        folder: RunFolder,
        process: Process,
        listener: &'a mut dyn Listener,
        records: Vec<TrialRecord>,
        outcomes: Vec<Outcome>,
    ) -> Run<'a> {
        let began = Instant::now();
        let limit = header.scenario.time_limit.map(Duration::from);
        Run {
            scenario: header.scenario.clone(),
            plan: header.plan.clone(),
            folder,
            process,
            listener,
            calibration: Calibration::default(),
            facts: Facts::default(),
            outcomes,
            records,
            began,
            end: limit.and_then(|limit| began.checked_add(limit.saturating_mul(2))),
            spent: Duration::ZERO,
            made: Vec::new(),
            announced: false,
        }
    }

    /// Say what is to be done, unless that was said before.
    ///
    /// # Errors
    /// When the folder cannot be written.
    pub fn announce(&mut self) -> Result<(), RunError> {
        if std::mem::replace(&mut self.announced, true) {
            return Ok(());
        }
        let left: u64 = self.left().map(|m| m.predicted.0).sum();
        self.tell(&Event::RunStarted {
            folder: self.folder.path().display().to_string(),
            measurements: self.plan.measurements.len(),
            done: self.outcomes.len(),
            predicted_s: left / 1_000_000_000,
        })
    }

    /// Whether the folder has a verdict of the self-test that was made on this machine, by this version.
    ///
    /// # Errors
    /// When the folder cannot be read.
    pub fn is_tested_on(&self, facts: &Facts) -> Result<bool, RunError> {
        let verdict: Option<SelfTest> = record::store::read_document(&self.folder.path().join(SELF_TEST))?;
        let first: Option<Facts> = record::store::read_document(&self.folder.path().join(FACTS))?;
        Ok(verdict.is_some() && first.is_none_or(|first| differences(&first, facts).is_empty()))
    }

    /// The end of a run that was interrupted: what was measured is in the folder.
    pub fn interrupted(&self) -> RunError {
        RunError::Interrupted(self.folder.path().to_path_buf())
    }

    /// Carry out what is left of the plan.
    ///
    /// # Errors
    /// The first thing that makes going on pointless; everything measured until then is in the folder.
    pub fn complete(mut self, facts: Facts, self_test: Option<Tested>) -> Result<Vec<Outcome>, RunError> {
        self.facts = facts;
        self.announce()?;
        if let Some(tested) = self_test {
            tested.keep(self.folder.path())?;
            self.tell(&Event::SelfTested(tested.verdict))?;
        }
        let order = self.in_order();
        self.compare_with_the_first_machine()?;
        // A resumed run keeps the limits that its searches began with, or their recorded trials would not fit.
        let known = record::store::read_document(&self.folder.path().join(CALIBRATION))?;
        self.calibration = known.unwrap_or_default();
        for point in points(&order) {
            if self.left().any(|m| m.point == point) {
                let here: Vec<Measurement> = order.iter().filter(|m| m.point == point).cloned().collect();
                if is_over(self.end) { self.leave_out(&here)? } else { self.at_point(&point, &here)? }
            }
        }
        let seconds = self.began.elapsed().as_secs();
        let folder = self.folder.path().display().to_string();
        self.tell(&Event::Finished { folder, seconds })?;
        Ok(self.outcomes)
    }

    /// The measurements of the plan. What was interrupted comes before everything else that is left: trials made in between,
    /// of a repetition that had been left out, would stand in the middle of its own.
    fn in_order(&self) -> Vec<Measurement> {
        let mut order = self.plan.measurements.clone();
        let last = self.records.iter().max_by_key(|r| r.seq).map(|r| without_attempt(&r.measurement));
        let begun = self.left().find(|m| last == Some(m.key().as_str()));
        if let Some(at) = begun.and_then(|begun| order.iter().position(|m| m == begun)) {
            order[..=at].rotate_right(1);
        }
        order
    }

    /// Measurements of one point, on one rig.
    fn at_point(&mut self, point: &Point, measurements: &[Measurement]) -> Result<(), RunError> {
        self.tell(&Event::DutPreparing {
            dut: point.dut_name.clone(),
            connections: point.connections,
            cores: point.cores,
            axes: point.axes.clone(),
        })?;
        // Before the rig stands: its threads would be in the way.
        let calibrated = calibrate(&mut self.calibration, &self.scenario, point, &self.process);
        self.note_commands()?;
        let calibrated = calibrated.map_err(|error| match error {
            RunError::Calibrate(CalibrateError::Trial(TrialError::Interrupted)) => self.interrupted(),
            error => error,
        })?;
        if let Some(ceiling) = calibrated {
            self.write_again(CALIBRATION, &self.calibration.clone())?;
            self.tell(&Event::Calibrated(ceiling))?;
        }
        let built = Rig::build(&point.of(&self.scenario), point, &self.process);
        self.note_commands()?;
        let mut rig = built?;
        self.note_rig(point, &rig)?;
        let result = measurements.iter().try_for_each(|m| {
            if self.has_time_for(m) { self.one(m, &mut rig) } else { self.leave_out(std::slice::from_ref(m)) }
        });
        for failure in rig.teardown() {
            self.tell(&Event::Doubt { text: format!("not restored: {failure}") })?;
        }
        self.note_commands()?;
        result
    }

    /// There is no time for these.
    fn leave_out(&mut self, measurements: &[Measurement]) -> Result<(), RunError> {
        let left: Vec<String> = self.left().filter(|m| measurements.contains(m)).map(Measurement::key).collect();
        left.into_iter().try_for_each(|measurement| self.tell(&Event::LeftOut { measurement }))
    }

    /// Whether there is time for this measurement: for the first of its kind until the end; for a further repetition only
    /// if, as fast or slow as things have gone until now, the first ones of all others still fit into the scenario's limit.
    fn has_time_for(&self, m: &Measurement) -> bool {
        if is_over(self.end) {
            return false;
        }
        let Some(limit) = self.scenario.time_limit.map(Duration::from) else { return true };
        let known = |o: &&Outcome| (&o.measurement.point, &o.measurement.metric) == (&m.point, &m.metric);
        let done = self.outcomes.iter().any(|o| o.measurement == *m);
        if done || m.repetition <= 1 || !self.outcomes.iter().any(|o| known(&o)) {
            return true;
        }
        let all = |of: &mut dyn Iterator<Item = &Measurement>| of.map(|m| m.predicted.as_secs_f64()).sum::<f64>();
        let predicted = all(&mut self.made.iter());
        let slower = if predicted > 0.0 { (self.spent.as_secs_f64() / predicted).max(1.0) } else { 1.0 };
        let needed = m.predicted.as_secs_f64() + all(&mut self.left().filter(|m| m.repetition <= 1));
        self.began.elapsed().as_secs_f64() + slower * needed <= limit.as_secs_f64()
    }

    /// Write down what the rig is.
    fn note_rig(&mut self, point: &Point, rig: &Rig) -> Result<(), RunError> {
        self.facts.duts.entry(point.dut_name.clone()).or_default().extend(rig.facts.clone());
        for doubt in &rig.doubts {
            if !self.facts.doubts.contains(doubt) {
                self.facts.doubts.push(doubt.clone());
                self.tell(&Event::Doubt { text: doubt.clone() })?;
            }
        }
        self.write_again(FACTS, &self.facts.clone())?;
        Ok(())
    }

    fn one(&mut self, measurement: &Measurement, rig: &mut Rig) -> Result<(), RunError> {
        if self.outcomes.iter().any(|o| o.measurement == *measurement) {
            return Ok(());
        }
        let number = self.plan.measurements.iter().position(|m| m == measurement).unwrap_or(0) + 1;
        let of = self.plan.measurements.len();
        self.tell(&Event::MeasurementStarted { number, of, measurement: measurement.clone() })?;
        let key = measurement.key();
        let began = Instant::now();
        let recorded = |this: &Self, n| this.records.iter().any(|r| r.measurement == measurement.attempt_key(n));
        let mut attempt = 1;
        while recorded(self, attempt + 1) {
            attempt += 1;
        }
        let mut found = self.attempt(measurement, attempt, rig)?;
        while let (Err(TrialError::Phase1(_) | TrialError::DutDead(_)), true) = &found {
            // That is what it said when it was recorded; whoever resumes a run wants to know what it says now.
            attempt += 1;
            found = self.attempt(measurement, attempt, rig)?;
        }
        let (found, _) = found;
        if matches!(found, Err(TrialError::Interrupted)) && !self.process.interrupted.load(Ordering::Relaxed) {
            // It was not Ctrl-C: the time is over. Its trials are on record, and `resume` goes on with them.
            return self.leave_out(std::slice::from_ref(measurement));
        }
        if let Err(TrialError::Phase1(text)) = &found {
            // No result is not a bad result: the other measurements go on, and `resume` tries this one again.
            return self.doubt(format!("{key}{NO_RESULT}{text}"));
        }
        let outcome = found.map_err(|error| match error {
            TrialError::Interrupted => self.interrupted(),
            TrialError::DutDead(text) => {
                RunError::DutDead(format!("{key}: the device under test does not answer: {text}"))
            }
            error => RunError::Trial { measurement: key, error },
        })?;
        self.spent += began.elapsed();
        self.made.push(measurement.clone());
        self.folder.append_outcome(&outcome)?;
        self.tell(&Event::MeasurementDone(Box::new(outcome.clone())))?;
        self.outcomes.push(outcome);
        self.doubt_invalid_time(measurement, &measurement.attempt_key(attempt))
    }

    /// Says so where a measurement repeated no invalid trial any more, because those before had taken too long.
    fn doubt_invalid_time(&mut self, measurement: &Measurement, filed_under: &str) -> Result<(), RunError> {
        let invalid = |r: &&TrialRecord| r.measurement == filed_under && matches!(r.verdict, Verdict::Invalid(_));
        let took = Nanos(self.records.iter().filter(invalid).map(|r| r.outcome.wall.0).sum());
        let most = measurement.invalid_at_most();
        if took < most {
            return Ok(());
        }
        self.doubt(format!(
            "{}{INVALID_TOO_LONG}{}, and natmeter repeats none after {}; stop other programs, or use a machine that is not shared",
            measurement.key(),
            show_time(took),
            show_time(most)
        ))
    }

    /// Files a doubt, and tells it.
    fn doubt(&mut self, text: String) -> Result<(), RunError> {
        self.facts.doubts.push(text.clone());
        self.write_again(FACTS, &self.facts.clone())?;
        self.tell(&Event::Doubt { text })
    }

    /// One attempt at a measurement, its recorded trials first. Says also whether there was nothing but recorded trials.
    fn attempt(
        &mut self,
        measurement: &Measurement,
        attempt: u32,
        rig: &mut Rig,
    ) -> Result<(Result<Outcome, TrialError>, bool), RunError> {
        let key = measurement.attempt_key(attempt);
        let recorded: Vec<TrialRecord> = self.records.iter().filter(|r| r.measurement == key).cloned().collect();
        let replays = !recorded.is_empty();
        let next_seq = self.records.iter().map(|r| r.seq.saturating_add(1)).max().unwrap_or(0);
        let known = known_before(recorded.first().map(|r| r.seq), &self.outcomes, &last_trials(&self.records));
        let after: u64 = self.left().filter(|m| *m != measurement).map(|m| m.predicted.0).sum();
        let mut searcher = Searcher {
            scenario: &self.scenario,
            calibration: &self.calibration,
            outcomes: &known,
            end: self.end,
            folder: &mut self.folder,
            listener: &mut *self.listener,
            predicted: measurement.predicted,
            after: after / 1_000_000_000,
            next_seq,
            new_records: Vec::new(),
        };
        let found = searcher.search(measurement, key, recorded, rig);
        let only_replayed = replays && searcher.new_records.is_empty();
        self.records.append(&mut searcher.new_records);
        self.note_commands()?;
        Ok((found, only_replayed))
    }

    /// Write down what the device was told to do since the last time.
    fn note_commands(&mut self) -> Result<(), RunError> {
        let waiting = self.process.commands.take();
        for command in &waiting.commands {
            self.folder.append_command(command)?;
        }
        for text in waiting.notes {
            self.tell(&Event::Doubt { text })?;
        }
        Ok(())
    }

    /// A run that is resumed elsewhere, or by another version, mixes what should not be mixed: say so, and keep saying it.
    fn compare_with_the_first_machine(&mut self) -> Result<(), RunError> {
        let first: Option<Facts> = record::store::read_document(&self.folder.path().join(FACTS))?;
        for (name, then, now) in first.as_ref().map(|first| differences(first, &self.facts)).unwrap_or_default() {
            let text = format!(
                "this run was begun with {name} \"{then}\" and resumed with \"{now}\": do not compare the results of both parts"
            );
            self.facts.doubts.push(text.clone());
            self.tell(&Event::Doubt { text })?;
        }
        for doubt in first.map(|f| f.doubts).unwrap_or_default() {
            let stays = doubt.starts_with("this run was begun with") || doubt.contains(INVALID_TOO_LONG);
            if stays && !self.facts.doubts.contains(&doubt) {
                self.facts.doubts.push(doubt);
            }
        }
        Ok(())
    }

    fn left(&self) -> impl Iterator<Item = &Measurement> {
        self.plan.measurements.iter().filter(|m| !self.outcomes.iter().any(|o| o.measurement == **m))
    }

    fn tell(&mut self, event: &Event) -> Result<(), RunError> {
        self.folder.append_event(event)?;
        self.listener.on(event);
        Ok(())
    }

    /// Documents that a resumed run finds already there are written anew: the machine may be another one.
    fn write_again(&mut self, name: &str, document: &impl serde::Serialize) -> Result<(), StoreError> {
        let path = self.folder.path().join(name);
        let text = serde_json::to_string_pretty(document)
            .map_err(|source| StoreError::Serialize { path: path.clone(), source })?;
        record::store::write_whole(&path, &text)
    }
}

/// In what the tester is not the one that it was: name, then, now.
fn differences(first: &Facts, now: &Facts) -> Vec<(&'static str, String, String)> {
    let differs = |name: &'static str| {
        let then = first.tester.get(name)?.clone();
        let now = now.tester.get(name).cloned().unwrap_or_default();
        (then != now).then_some((name, then, now))
    };
    ["cpu", "cores", "kernel", "natmeter", BUILD].into_iter().filter_map(differs).collect()
}

/// The points of measurements in the order of their first one.
fn points(measurements: &[Measurement]) -> Vec<Point> {
    let mut points: Vec<Point> = Vec::new();
    for m in measurements {
        if !points.contains(&m.point) {
            points.push(m.point.clone());
        }
    }
    points
}
