//! A run: executes the plan measurement by measurement, and records every trial before the search
//! sees it. A resumed run uses the same code and begins with the recorded trials.

mod calibrate;
mod measure;
pub(crate) mod null;
mod repeat;
mod spent;
mod time;

pub use calibrate::{calibrate, over_ports, send_ceiling};

use crate::event::{Event, Listener};
use crate::facts;
use crate::forecast;
use crate::rig::{Rig, RigError, RunContext};
use crate::selftest::SelfTestRecord;
use crate::until::is_over;
use engine::calibrate::CalibrateError;
use method::{Nanos, TrialError, TrialRecord};
use record::audit::{self, Refusal};
use record::doubt::Doubt;
use record::enough::StoppingRule;
use record::folder::{Calibration, Facts, Header, NullDevice, Outcome, SelfTest};
use record::merge::differences;
use record::plan::{Measurement, Plan, without_attempt};
use record::read::{Record, RecordError};
use record::store::{CALIBRATION, FACTS, RunFolder, SELF_TEST, StoreError};
use record::visit::standing;
use repeat::Round;
use scenario::quantity::show_time;
use scenario::{Point, Scenario};
use spent::Spent;
use std::collections::HashSet;
use std::path::PathBuf;
use std::slice;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Why a run ended before the end of its plan.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// Everything measured is in the folder.
    #[error("interrupted; continue with `natmeter resume {0}`")]
    Interrupted(PathBuf),
    /// The host is too busy for the rates of the self-test.
    #[error(
        "the host is too busy to measure: the self-test could not decide about two known rates; {} and continue with \
         `natmeter resume {}`, or measure in spite of that with --beside",
        facts::less_noise(),
        .0.display()
    )]
    HostTooBusy(PathBuf),
    #[error("signals cannot be handled: {0}")]
    Signals(std::io::Error),
    #[error("{0}")]
    DutDead(String),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Rig(#[from] RigError),
    #[error("{measurement}: {error}")]
    Trial {
        /// Key of the measurement.
        measurement: String,
        error: TrialError,
    },
    /// Damaged, or with other rules than this natmeter's.
    #[error("{}: {refusal}", .path.display())]
    Record { path: PathBuf, refusal: Refusal },
    #[error(transparent)]
    Unread(#[from] RecordError),
    #[error("the tester cannot be calibrated: {0}")]
    Calibrate(#[from] CalibrateError),
}

impl RunError {
    /// Whether device, bed or tester ended the run, not the user, the host or the folder.
    pub fn is_of_measuring(&self) -> bool {
        matches!(self, RunError::DutDead(_) | RunError::Rig(_) | RunError::Trial { .. } | RunError::Calibrate(_))
    }
}

pub struct Run<'a> {
    scenario: Scenario,
    plan: Plan,
    folder: RunFolder,
    process: RunContext,
    listener: &'a mut dyn Listener,
    calibration: Calibration,
    facts: Facts,
    /// Outcomes, including replaced ones.
    outcomes: Vec<Outcome>,
    /// Values that have enough of these results.
    enough: StoppingRule,
    records: Vec<TrialRecord>,
    /// Measurements whose recorded trials give a result that was not recorded.
    lost: Vec<Measurement>,
    nulls: Vec<NullDevice>,
    visit: u32,
    began: Instant,
    /// Seconds of the earlier parts of the run, up to their last recorded time.
    before_s: f64,
    /// End: twice the scenario's time limit, for the repetition of a visit the limit.
    end: Option<Instant>,
    /// Time spent on measurements, with the set-up of the device and the null device, to correct
    /// the prediction of the rest.
    spent: Duration,
    made: Vec<Measurement>,
    /// Whether the time limit left measurements out.
    skipped: bool,
    /// Time since then is not in `spent`.
    lap: Instant,
    announced: bool,
}

/// Writes events also before the first measurement.
impl Listener for Run<'_> {
    fn on(&mut self, event: &Event) {
        // The next event of the run itself reports a folder that cannot be written.
        let _ = self.tell(event);
    }
}

impl<'a> Run<'a> {
    /// Begins a run in a new folder that already has this header, or continues an interrupted run. Fails if the record
    /// is damaged, or this natmeter has other rules.
    pub fn open(
        header: &Header,
        folder: RunFolder,
        process: RunContext,
        listener: &'a mut dyn Listener,
    ) -> Result<Run<'a>, RunError> {
        let path = folder.path().to_path_buf();
        let recorded = Record::of(header.clone(), folder.dir())?;
        audit::check_resumable(&recorded).map_err(|refusal| RunError::Record { path, refusal })?;
        let lost = audit::lost(&recorded);
        let Record { trials: records, outcomes, nulls, .. } = recorded;
        let times = outcomes.iter().filter_map(|o| o.after_s).chain(nulls.iter().map(|n| n.after_s));
        let visits = outcomes.iter().map(|o| o.visit).chain(nulls.iter().map(|n| n.visit));
        let began = Instant::now();
        let limit = header.scenario.time_limit.map(Duration::from);
        Ok(Run {
            before_s: times.fold(0.0, f64::max),
            visit: visits.flatten().max().unwrap_or(0),
            scenario: header.scenario.clone(),
            plan: header.plan.clone(),
            folder,
            process,
            listener,
            calibration: Calibration::default(),
            facts: Facts::default(),
            enough: StoppingRule::of(&header.scenario, &outcomes),
            outcomes,
            records,
            lost,
            nulls,
            began,
            end: limit.and_then(|limit| began.checked_add(limit.saturating_mul(2))),
            spent: Duration::ZERO,
            made: Vec::new(),
            skipped: false,
            lap: began,
            announced: false,
        })
    }

    /// Reports the start of the run, once.
    pub fn announce(&mut self) -> Result<(), RunError> {
        if std::mem::replace(&mut self.announced, true) {
            return Ok(());
        }
        let expected = forecast::expected(self.left(), self.scenario.time_limit);
        self.tell(&Event::RunStarted {
            folder: self.folder.path().display().to_string(),
            measurements: self.plan.measurements.len(),
            done: self.plan.measurements.len() - self.left().count(),
            predicted_s: expected.time.0 / Nanos::SECOND.0,
        })
    }

    /// Simulated devices get none.
    pub fn sends_frames(&self) -> bool {
        (0..self.scenario.duts.len()).any(|dut| !self.scenario.is_simulated(dut))
    }

    /// Whether the folder has a verdict of a self-test on this machine, by this version.
    pub fn is_tested_on(&self, facts: &Facts) -> Result<bool, RunError> {
        let verdict: Option<SelfTest> = self.folder.dir().document(SELF_TEST)?;
        let first: Option<Facts> = self.folder.dir().document(FACTS)?;
        Ok(verdict.is_some() && first.is_none_or(|first| differences(&first, facts).is_empty()))
    }

    pub fn interrupted(&self) -> RunError {
        RunError::Interrupted(self.folder.path().to_path_buf())
    }

    /// The error of a busy host; nothing is recorded of the self-test, so that `resume` repeats it.
    pub fn host_too_busy(&self) -> RunError {
        RunError::HostTooBusy(self.folder.path().to_path_buf())
    }

    /// Executes the rest of the plan, repeats what the null device makes doubtful, and returns the results that stand.
    /// If the run cannot continue, everything measured until then is in the folder.
    pub fn complete(mut self, facts: Facts, self_test: Option<SelfTestRecord>) -> Result<Vec<Outcome>, RunError> {
        self.facts = facts;
        self.announce()?;
        if let Some(tested) = self_test {
            tested.keep(self.folder.dir())?;
            self.tell(&Event::SelfTested(tested.verdict))?;
        }
        let ended = self.measure();
        if let Err(error) = &ended
            && error.is_of_measuring()
        {
            self.facts.doubts.insert(0, Doubt::Other(format!("The run ended early: {error}.")));
            self.folder.dir().write(FACTS, &self.facts)?;
        }
        ended?;
        Ok(standing(&self.outcomes).cloned().collect())
    }

    fn measure(&mut self) -> Result<(), RunError> {
        let mut order = self.in_order();
        self.compare_with_the_first_machine()?;
        // A resumed run keeps the ceilings with which its searches began; with others, the recorded
        // trials would not match.
        let known = self.folder.dir().document(CALIBRATION)?;
        self.calibration = known.unwrap_or_default();
        self.end_repetitions()?;
        let mut rest = &mut order[..];
        while !rest.is_empty() {
            self.order_by_time(rest);
            let of_point = rest.chunk_by(|a, b| a.point == b.point).next().map_or(0, <[Measurement]>::len);
            let (visit, later) = rest.split_at_mut(of_point);
            rest = later;
            let left: HashSet<&Measurement> = self.left().collect();
            if visit.iter().any(|m| left.contains(m)) {
                if is_over(self.end) {
                    self.leave_out(visit, Round::Planned)?;
                } else {
                    self.at_point(visit, Round::Planned)?;
                }
            }
        }
        self.repeat_doubtful()?;
        let seconds = self.began.elapsed().as_secs();
        let folder = self.folder.path().display().to_string();
        let not_needed = self.not_needed();
        self.tell(&Event::Finished { folder, seconds, not_needed })
    }

    fn not_needed(&self) -> usize {
        let made: HashSet<&Measurement> = self.outcomes.iter().map(|o| &o.measurement).collect();
        let without_result = self.plan.measurements.iter().filter(|m| !made.contains(m)).count();
        without_result.saturating_sub(self.left().count())
    }

    /// Lost results first, which need no trials, and which the others may need; then an interrupted measurement: otherwise the
    /// trials of a skipped repetition would come between its trials.
    fn in_order(&self) -> Vec<Measurement> {
        let mut order = self.plan.measurements.clone();
        let last = self.records.iter().max_by_key(|r| r.seq).map(|r| without_attempt(&r.measurement));
        let is_begun = |m: &Measurement| last == Some(m.key().as_str()) && self.left().any(|left| left == m);
        order.sort_by_key(|m| if self.lost.contains(m) { 0 } else { 2 - u8::from(is_begun(m)) });
        order
    }

    /// Measures at one point, on one rig.
    fn at_point(&mut self, measurements: &[Measurement], round: Round) -> Result<(), RunError> {
        let Some(Measurement { point, .. }) = measurements.first() else { return Ok(()) };
        self.visit += 1;
        self.tell(&Event::DutPreparing {
            dut: point.dut_name.clone(),
            connections: point.connections,
            cores: point.cores,
            axes: point.axes.clone(),
        })?;
        // Before the rig is built, because its threads would disturb the calibration.
        let calibrated = calibrate(&mut self.calibration, &self.scenario, point, &self.process);
        self.note_commands()?;
        let calibrated = calibrated.map_err(|error| match error {
            RunError::Calibrate(CalibrateError::Trial(TrialError::Interrupted)) => self.interrupted(),
            error => error,
        })?;
        if let Some(ceiling) = calibrated {
            self.folder.dir().write(CALIBRATION, &self.calibration)?;
            self.tell(&Event::Calibrated(ceiling))?;
        }
        self.lap = Instant::now();
        let built = Rig::build(&point.of(&self.scenario), point, &self.process);
        self.note_commands()?;
        let mut rig = built?;
        self.note_rig(point, &rig)?;
        self.note_null(point, &mut rig, true)?;
        self.count_time();
        let result = measurements.iter().enumerate().try_for_each(|(at, m)| {
            if round == Round::Planned && self.enough.is_enough(m) {
                return Ok(());
            }
            let has_time = match round {
                Round::Planned => self.has_time_for(m),
                // There was time for the whole visit.
                Round::Repeated => at == 0 || self.has_time_to_repeat(slice::from_ref(m)),
            };
            if has_time { self.one(m, &mut rig, round) } else { self.leave_out(slice::from_ref(m), round) }
        });
        if result.is_ok() {
            self.lap = Instant::now();
            self.note_half_rate(point, &mut rig)?;
            self.note_null(point, &mut rig, false)?;
            self.count_time();
        }
        for doubt in rig.afterwards.take().map(|read| read()).unwrap_or_default() {
            self.doubt(format!(
                "{doubt} ({}, cores: {}, connections: {})",
                point.dut_name, point.cores, point.connections
            ))?;
        }
        let says = |error: &RunError, ended: &str| error.is_of_measuring() && error.to_string().contains(ended);
        if let Some(ended) = rig.ended().filter(|ended| !result.as_ref().is_err_and(|error| says(error, ended))) {
            self.tell(&Event::Doubt { text: ended.clone() })?;
            // Each point of the device starts the program again, which may end in the same way.
            let doubt = Doubt::Other(ended);
            if !self.facts.doubts.contains(&doubt) {
                self.facts.doubts.insert(0, doubt);
                self.folder.dir().write(FACTS, &self.facts)?;
            }
        }
        for failure in rig.teardown() {
            self.tell(&Event::Doubt { text: format!("not restored: {failure}") })?;
        }
        self.note_commands()?;
        result
    }

    fn note_rig(&mut self, point: &Point, rig: &Rig) -> Result<(), RunError> {
        self.facts.duts.entry(point.dut_name.clone()).or_default().extend(rig.facts.clone());
        for text in rig.doubts.iter().cloned().chain(rig.doubt_of_addresses()) {
            let doubt = Doubt::Other(text.clone());
            if !self.facts.doubts.contains(&doubt) {
                self.facts.doubts.push(doubt);
                self.tell(&Event::Doubt { text })?;
            }
        }
        self.folder.dir().write(FACTS, &self.facts)?;
        Ok(())
    }

    fn one(&mut self, measurement: &Measurement, rig: &mut Rig, round: Round) -> Result<(), RunError> {
        let stands = self.outcomes.iter().rev().find(|o| o.measurement == *measurement);
        let mut attempt = match (round, stands) {
            (Round::Planned, Some(_)) => return Ok(()),
            (_, None) => 1,
            (Round::Repeated, Some(outcome)) => self.attempt_of(outcome) + 1,
        };
        let number = self.plan.measurements.iter().position(|m| m == measurement).unwrap_or(0) + 1;
        let of = self.plan.measurements.len();
        self.tell(&Event::MeasurementStarted { number, of, measurement: measurement.clone() })?;
        let key = measurement.key();
        self.lap = Instant::now();
        attempt = attempt.max(measurement.last_attempt(|key| self.is_filed(key)));
        // Recorded trials take no time, and say nothing about the pace.
        let is_new = !self.is_filed(&measurement.attempt_key(attempt));
        let mut found = self.attempt(measurement, attempt, rig)?;
        while let (Err(TrialError::Phase1(_) | TrialError::DutDead(_) | TrialError::Faulty(_)), true) = &found {
            // The recorded trials give this error; a new attempt shows whether the device still fails.
            attempt += 1;
            found = self.attempt(measurement, attempt, rig)?;
        }
        let (found, _) = found;
        if matches!(found, Err(TrialError::Interrupted)) && !self.process.interrupted.load(Ordering::Relaxed) {
            // The time limit: `resume` continues with the recorded trials.
            return self.leave_out(slice::from_ref(measurement), round);
        }
        if let Err(TrialError::Phase1(text) | TrialError::NotMeasurable(text) | TrialError::Faulty(text)) = &found {
            // The other measurements continue, and `resume` repeats this one.
            return self.doubt(match round {
                Round::Planned => Doubt::NoResult(key.clone(), text.clone()),
                Round::Repeated => {
                    Doubt::Other(format!("{key}: its repetition has no result, so the first result stands: {text}"))
                }
            });
        }
        let mut outcome = found.map_err(|error| match error {
            TrialError::Interrupted => self.interrupted(),
            TrialError::DutDead(text) => {
                RunError::DutDead(format!("{key}: the device under test does not answer: {text}"))
            }
            error => RunError::Trial { measurement: key, error },
        })?;
        self.add_cost(&mut outcome, rig)?;
        (outcome.attempt, outcome.visit) = (Some(attempt), Some(self.visit));
        outcome.after_s = Some(self.after_s());
        if is_new {
            self.count_time();
            self.made.push(measurement.clone());
        }
        self.folder.append_outcome(&outcome)?;
        self.tell(&Event::MeasurementDone(Box::new(outcome.clone())))?;
        self.enough.add(&outcome);
        self.outcomes.push(outcome);
        self.doubt_time(measurement, &measurement.attempt_key(attempt))
    }

    /// Seconds of measuring, without interruptions between the parts of the run.
    fn after_s(&self) -> f64 {
        self.before_s + self.began.elapsed().as_secs_f64()
    }

    /// Notes a doubt if natmeter stopped repeating invalid trials because they took too long, or if the trials took much
    /// longer than predicted.
    fn doubt_time(&mut self, measurement: &Measurement, filed_under: &str) -> Result<(), RunError> {
        let own: Vec<&TrialRecord> = self.records.iter().filter(|r| r.measurement == filed_under).collect();
        let spent = Spent::in_trials(&own);
        let (most, predicted, key) = (measurement.invalid_at_most(), measurement.predicted, measurement.key());
        if spent.invalid >= most {
            let times = format!(
                "{}, and natmeter repeats none after {}; {}, or use a machine that is not shared",
                show_time(spent.invalid),
                show_time(most),
                facts::less_noise()
            );
            return self.doubt(Doubt::InvalidTooLong(key, times));
        }
        if !spent.is_long(predicted) {
            return Ok(());
        }
        let (took, predicted, why) = (show_time(spent.all), show_time(predicted), spent.why(&own));
        self.doubt(Doubt::TookLong(key, format!("{took}, {predicted} were predicted: {why}")))
    }

    fn doubt(&mut self, doubt: impl Into<Doubt>) -> Result<(), RunError> {
        let doubt = doubt.into();
        let text = doubt.to_string();
        self.facts.doubts.push(doubt);
        self.folder.dir().write(FACTS, &self.facts)?;
        self.tell(&Event::Doubt { text })
    }

    /// Writes the commands since the last call.
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

    /// Notes a doubt about another machine or version; keeps earlier doubts of this kind.
    fn compare_with_the_first_machine(&mut self) -> Result<(), RunError> {
        let first: Option<Facts> = self.folder.dir().document(FACTS)?;
        for (name, then, now) in first.as_ref().map(|first| differences(first, &self.facts)).unwrap_or_default() {
            let difference = format!("{name} \"{then}\" and resumed with \"{now}\": do not compare its parts");
            let doubt = Doubt::ResumedElsewhere(difference);
            let text = doubt.to_string();
            self.facts.doubts.push(doubt);
            self.tell(&Event::Doubt { text })?;
        }
        for doubt in first.map(|f| f.doubts).unwrap_or_default() {
            if doubt.is_of_trials() && !self.facts.doubts.contains(&doubt) {
                self.facts.doubts.push(doubt);
            }
        }
        Ok(())
    }

    /// Needed measurements without a result.
    fn left(&self) -> impl Iterator<Item = &Measurement> + Clone {
        let made: HashSet<&Measurement> = self.outcomes.iter().map(|o| &o.measurement).collect();
        let is_left = |m: &&Measurement| !made.contains(m) && !self.enough.is_enough(m);
        self.plan.measurements.iter().filter(is_left).collect::<Vec<_>>().into_iter()
    }

    fn tell(&mut self, event: &Event) -> Result<(), RunError> {
        self.folder.append_event(event)?;
        self.listener.on(event);
        Ok(())
    }
}
