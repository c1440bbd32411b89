//! Devices whose trials are recorded and altered, and the settings of searches, for all tests.

use method::simulated::SimulatedDut;
use method::{Precision, Rate, Ratio, SearchResult, SearchSettings, TrialError, TrialOutcome, TrialSpec, Trials};
use procedure::establishment::MAX_CONN_EST_RATE;
use procedure::{Context, Keys};

/// A device whose trials are recorded, and whose outcomes a function alters by the trial's number (from 1) and
/// specification.
pub(crate) struct Altered<F> {
    pub(crate) device: SimulatedDut,
    pub(crate) log: Vec<(TrialSpec, TrialOutcome)>,
    alter: F,
}

pub(crate) fn altered<F: FnMut(usize, &TrialSpec, &mut TrialOutcome)>(device: SimulatedDut, alter: F) -> Altered<F> {
    Altered { device, log: Vec::new(), alter }
}

pub(crate) fn listening(device: SimulatedDut) -> Altered<fn(usize, &TrialSpec, &mut TrialOutcome)> {
    altered(device, |_, _, _| ())
}

impl<F> Altered<F> {
    pub(crate) fn specs(&self) -> Vec<&TrialSpec> {
        self.log.iter().map(|(spec, _)| spec).collect()
    }
}

impl<F: FnMut(usize, &TrialSpec, &mut TrialOutcome)> Trials for Altered<F> {
    fn run(&mut self, spec: &TrialSpec) -> Result<TrialOutcome, TrialError> {
        let mut outcome = self.device.run(spec)?;
        (self.alter)(self.log.len() + 1, spec, &mut outcome);
        self.log.push((spec.clone(), outcome.clone()));
        Ok(outcome)
    }
}

/// A search up to this rate, with an error of so much.
pub(crate) fn within(hi: u64, error: u64) -> SearchSettings {
    SearchSettings { hi: Rate(hi), precision: Precision::Absolute(Rate(error)), ..SearchSettings::default() }
}

/// A search up to this rate, with an error of 0.1 %.
pub(crate) fn up_to(hi: u64) -> SearchSettings {
    let precision = Precision::Relative(Ratio::from_ppm(1_000));
    SearchSettings { hi: Rate(hi), precision, ..SearchSettings::default() }
}

pub(crate) fn establish(
    trials: &mut dyn Trials,
    settings: &SearchSettings,
    connections: u64,
) -> Result<SearchResult, TrialError> {
    let keys = Keys::of_table(());
    Context { connections, ..Context::new(&MAX_CONN_EST_RATE, &keys, settings) }.measure(trials)
}
