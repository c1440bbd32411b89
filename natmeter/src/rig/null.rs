//! The null device of a rig, on the path of the device: the same links, threads, cores and pools.
//! Windows of device and null device can alternate on one rig.

use super::{Price, Rig, TrialRunner};
use engine::overload::OverloadTraffic;
use engine::{Engine, lane};
use method::{Nanos, Rate, TrialError};
use port::link::Steer;
use scenario::Scenario;
use std::sync::Arc;
use wire::View;

/// The speed of a transfer between cores may change several times a second, so a pair of windows must be short.
pub(crate) const WINDOW: Nanos = Nanos::from_millis(50);
/// Windows of the null device.
pub(crate) const WINDOWS: usize = 5;
/// Windows of the device on the tester's thread.
pub(crate) const ALONE: usize = 20;
/// Long windows for the cost of a frame where the windows of the pairs are too short.
pub(crate) const LONG: usize = 5;
/// Phases 1 in one measurement of the null device.
pub(crate) const FILLS: usize = 3;
/// Pairs of windows of device and null device.
pub(crate) const PAIRS: usize = 20;

/// Most frames that a worker receives, in equal shares; with more, the null device is slower than
/// the path.
const MOST_OF_SHARE: f64 = 1.25;
/// Threads need time to publish their counters; fewer frames say nothing about shares.
const ENOUGH: u64 = 10_000;

/// Puts the null device in place of the device, or restores the device.
type Switch = Box<dyn Fn(bool) -> Result<(), TrialError>>;

pub(crate) struct NullPath {
    switch: Switch,
    /// Steering to several threads of the tester, left and right.
    pub(super) to_tester: Option<[Steer; 2]>,
    /// Function that returns the frames received by each worker.
    pub(super) received: Option<Box<dyn Fn() -> Option<Vec<u64>>>>,
}

impl NullPath {
    /// A null device behind this switch, for one thread of the tester.
    pub(crate) fn new(switch: impl Fn(bool) -> Result<(), TrialError> + 'static) -> NullPath {
        NullPath { switch: Box::new(switch), to_tester: None, received: None }
    }

    fn received(&self) -> Vec<u64> {
        self.received.as_ref().and_then(|f| f()).unwrap_or_default()
    }

    /// Whether frames return, as those of the device do, to the thread that sent them.
    fn steers(&self, view: &View) -> bool {
        let steered = [&view.expect_left, &view.expect_right].map(lane::back_to_sender);
        self.to_tester.as_ref().is_none_or(|to_tester| steered == *to_tester)
    }

    fn in_place<T>(&self, work: impl FnOnce() -> Result<T, TrialError>) -> Result<T, TrialError> {
        (self.switch)(true)?;
        let done = work();
        (self.switch)(false)?;
        done
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NullRates {
    /// Frames per second in each direction.
    pub frames: Rate,
    /// Set-up rate of phase 1, per second; `None` without connections.
    pub set_up: Option<Rate>,
}

/// Windows of device and null device in turn.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Pairs {
    /// Forwarding rate of the device divided by that of the null device, of each pair.
    pub ratios: Vec<f64>,
    /// Nanoseconds a frame of each window of the device.
    pub nanos: Vec<f64>,
}

impl Rig {
    /// Frames of this view can pass a null device.
    pub(crate) fn has_null(&self, view: &View) -> bool {
        self.null.as_ref().is_some_and(|null| null.steers(view))
    }

    /// Frames per second and direction that the tester can send over the ports of a bed.
    pub(crate) fn measure_sent(&mut self, cable: &OverloadTraffic) -> Result<Rate, TrialError> {
        let TrialRunner::Engine(engine) = &mut self.runner else { return Ok(Rate(0)) };
        let sent = super::ceiling::most_sent(engine, cable);
        engine.forget();
        sent
    }

    /// Measures the null device with frames of a plain cable, after at most `fills` phases 1 if
    /// there are connections. `None` without a null device, or if its workers do not receive equal
    /// shares of these frames.
    pub(crate) fn measure_null(
        &mut self,
        cable: &OverloadTraffic,
        counts: (usize, usize),
        window: Nanos,
    ) -> Result<Option<NullRates>, TrialError> {
        if !self.has_null(&cable.view) {
            return Ok(None);
        }
        let (TrialRunner::Engine(engine), Some(null)) = (&mut self.runner, &self.null) else { return Ok(None) };
        let before = null.received();
        let rates = null.in_place(|| null_rates(engine, cable, counts, window));
        // The state table has addresses that the device did not choose.
        engine.forget();
        let shares: Vec<u64> = null.received().iter().zip(&before).map(|(after, before)| after - before).collect();
        rates.map(|rates| are_equal(&shares).then_some(rates))
    }

    /// Measures the cost of a frame on the device, in several windows at least as long as its clock
    /// needs. Returns the nanoseconds per frame of each window.
    pub(crate) fn measure_price(
        &mut self,
        like: &OverloadTraffic,
        phase1_rate: Option<Rate>,
        windows: usize,
        window: Nanos,
    ) -> Result<Vec<f64>, TrialError> {
        let (TrialRunner::Engine(engine), Some(price)) = (&mut self.runner, &self.price) else { return Ok(Vec::new()) };
        let window = window.max(price.window);
        let own = OverloadTraffic { view: Arc::clone(engine.view()), ..like.clone() };
        if own.view.stateful {
            engine.open_all(&own.view, phase1_rate)?;
        }
        let mut found = Vec::with_capacity(windows);
        for _ in 0..windows {
            price.of_a_frame();
            engine.overload(&own, window)?;
            found.extend(price.of_a_frame());
        }
        engine.forget();
        Ok(found)
    }

    /// Measures device and null device in alternating windows. The device gets frames of its `own`
    /// view, after a phase 1 at this rate if there are connections; the null device gets those of a
    /// plain cable.
    pub(crate) fn measure_pairs(
        &mut self,
        cable: &OverloadTraffic,
        phase1_rate: Option<Rate>,
        pairs: usize,
        window: Nanos,
    ) -> Result<Option<Pairs>, TrialError> {
        let has_null = self.has_null(&cable.view);
        let TrialRunner::Engine(engine) = &mut self.runner else { return Ok(None) };
        let Some(null) = self.null.as_ref().filter(|_| has_null) else { return Ok(None) };
        let own = OverloadTraffic { view: Arc::clone(engine.view()), ..cable.clone() };
        if own.view.stateful {
            engine.open_all(&own.view, phase1_rate)?;
        }
        let mut found = Pairs::default();
        let price = || self.price.as_ref().filter(|price| price.window <= window).and_then(Price::of_a_frame);
        for _ in 0..pairs {
            price();
            let device = engine.overload(&own, window)?;
            let cost = price();
            let free = null.in_place(|| engine.overload(cable, window))?;
            found.ratios.push(device.0 as f64 / free.0.max(1) as f64);
            found.nanos.extend(cost);
        }
        // The device's table is no longer that of a trial.
        engine.forget();
        Ok(Some(found))
    }
}

fn null_rates(
    engine: &mut Engine,
    cable: &OverloadTraffic,
    (windows, fills): (usize, usize),
    window: Nanos,
) -> Result<NullRates, TrialError> {
    let fill = |engine: &mut Engine| engine.open_all(&cable.view, None);
    let set_up = if cable.view.stateful {
        let first = fill(engine)?;
        // Large tables are filled once.
        let more = if first.time_for(cable.view.connections()) > Nanos(window.0 * 4) { 0 } else { fills - 1 };
        Some(median((0..more).map(|_| fill(engine)).chain([Ok(first)]).collect::<Result<_, _>>()?))
    } else {
        None
    };
    let frames = (0..windows).map(|_| engine.overload(cable, window)).collect::<Result<_, _>>()?;
    Ok(NullRates { frames: median(frames), set_up })
}

/// Otherwise an impairment would be attributed to the null device. A known-truth device needs no
/// null device, because its scenario names its limits.
pub(crate) fn is_plain(scenario: &Scenario) -> bool {
    let is_known = scenario.duts.iter().any(|dut| dut.injected().is_some());
    scenario.impair.is_none() && scenario.capture.is_none() && !is_known
}

fn median(mut rates: Vec<Rate>) -> Rate {
    rates.sort_unstable();
    rates.get(rates.len() / 2).copied().unwrap_or_default()
}

fn are_equal(shares: &[u64]) -> bool {
    let (sum, most) = (shares.iter().sum::<u64>(), shares.iter().max().copied().unwrap_or(0));
    shares.len() < 2 || sum < ENOUGH || most as f64 * shares.len() as f64 <= MOST_OF_SHARE * sum as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workers_have_equal_shares_within_a_quarter() {
        assert!(are_equal(&[5]) && are_equal(&[100_000, 110_000]));
        assert!(!are_equal(&[100_000, 0]) && !are_equal(&[30_000, 60_000]));
    }
}
