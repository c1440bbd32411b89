//! One measurement: runs its search on a rig, and records and reports every trial.

use super::recorded::Recorded;
use crate::event::{Event, Listener};
use crate::rig::Rig;
use crate::until::{Until, UntilInterrupted};
use method::search::Progress;
use method::{Nanos, Replay, TrialError, TrialRecord, Trials};
use record::folder::{Calibration, Outcome};
use record::plan::Measurement;
use record::search::Search;
use record::store::RunFolder;
use scenario::Scenario;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

pub(super) struct Searcher<'a> {
    /// The scenario.
    pub scenario: &'a Scenario,
    /// The tester's limits.
    pub calibration: &'a Calibration,
    /// Results so far.
    pub outcomes: &'a [Outcome],
    /// No trial begins after this.
    pub end: Option<Instant>,
    pub interrupted: &'a AtomicBool,
    pub folder: &'a mut RunFolder,
    /// Receives the events.
    pub listener: &'a mut dyn Listener,
    /// Time predicted for this measurement.
    pub predicted: Nanos,
    /// Predicted seconds of the measurements after this one.
    pub after: u64,
    /// Start of this part of the run, and the scenario's time limit.
    pub limit: Option<(Instant, Duration)>,
    /// Number of the next trial.
    pub next_seq: u64,
    /// Records of this search.
    pub new_records: Vec<TrialRecord>,
}

impl Searcher<'_> {
    /// The trials of an interrupted attempt come first; new trials get the same key.
    pub(super) fn search(
        &mut self,
        m: &Measurement,
        filed_under: String,
        recorded: Vec<TrialRecord>,
        rig: &mut Rig,
    ) -> Result<Outcome, TrialError> {
        let mut search = Search::new(m, self.scenario, self.calibration, self.outcomes)?;
        // Every attempt has the same noise, so that the device does not depend on the number of attempts.
        rig.begin(&m.key(), recorded.len() as u64);
        rig.captures
            .belong_to(self.folder.dir(), &filed_under, self.next_seq)
            .map_err(|e| TrialError::Store(e.to_string()))?;
        search.buffered = rig.buffered;
        let (shares_core, figures) = (rig.shares_core, rig.figures.clone());
        // The procedure's `watch` and the recorder never use the listener at the same time.
        let listener: &mut dyn Listener = &mut *self.listener;
        let listener = std::cell::RefCell::new(listener);
        let began = Instant::now();
        let (predicted, after, limit) = (self.predicted, self.after, self.limit);
        let mut watch = |p: &Progress| {
            let spent = began.elapsed().as_secs();
            let this = (predicted.0 / Nanos::SECOND.0).saturating_sub(spent);
            let eta_s = before_limit(this + after, this, limit);
            let event = Event::Trying { rate: p.rate, lo: p.lo, hi: p.hi, steps_left: p.steps_left, eta_s };
            listener.borrow_mut().on(&event);
        };
        let mut tell = SharedListener(&listener);
        let record = Recorded {
            inner: Until { inner: UntilInterrupted { inner: rig, interrupted: self.interrupted }, end: self.end },
            measurement: filed_under,
            criteria: search.settings.criteria,
            next_seq: self.next_seq,
            folder: self.folder,
            listener: &mut tell,
            made: &mut self.new_records,
        };
        let mut trials = Replay::new(recorded, record)?;
        let result = search.run(&mut trials, &mut watch)?;
        Ok(Outcome { shares_core, figures, ..Outcome::new(m.clone(), search.direction(), result) })
    }
}

/// Seconds left, not beyond the time limit. Twice the limit ends the measurement in progress.
fn before_limit(left: u64, of_this: u64, limit: Option<(Instant, Duration)>) -> u64 {
    let Some((began, limit)) = limit else { return left };
    let until = |limit: Duration| limit.saturating_sub(began.elapsed()).as_secs();
    left.min(until(limit).max(of_this)).min(until(limit.saturating_mul(2)))
}

/// So that two parts of one search can use it in turn.
struct SharedListener<'c, 'l>(&'c std::cell::RefCell<&'l mut dyn Listener>);

impl Listener for SharedListener<'_, '_> {
    fn on(&mut self, event: &Event) {
        self.0.borrow_mut().on(event);
    }
}
