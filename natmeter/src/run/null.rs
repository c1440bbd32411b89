//! Measures the null device before and after each point, and what a frame costs the device. The
//! first of these figures is the upper end of the searches at the point.

use super::calibrate::{addressed_to_sender, cable};
use super::{Run, RunError};
use crate::event::Event;
use crate::rig::cores::Cores;
use crate::rig::null::{ALONE, FILLS, LONG, NullRates, PAIRS, WINDOW, WINDOWS, is_plain};
use crate::rig::{Rig, RunContext, technology};
use engine::overload::OverloadTraffic;
use method::stats::{Interval, median_of};
use method::{Load, Nanos, PhaseKind, Rate, TrialError, TrialSpec, Trials, Verdict};
use procedure::metric::{Gives, gives};
use record::folder::{Cost, NullDevice, Outcome, Spread};
use record::store::CALIBRATION;
use record::visit::standing;
use scenario::bed::Bed;
use scenario::{Null, Point, Scenario, Setup};

impl Run<'_> {
    /// A failure is a doubt, because the trials do not need the null device.
    pub(super) fn note_null(&mut self, point: &Point, rig: &mut Rig, before: bool) -> Result<(), RunError> {
        let scenario = point.of(&self.scenario).into_owned();
        match null_device(&scenario, point, rig) {
            Ok(Some(rates)) => self.keep_null(point, before, rates.frames, rates.set_up),
            Ok(None) => Ok(()),
            Err(error) => self.no_null(point, error),
        }
    }

    fn keep_null(&mut self, point: &Point, before: bool, frames: Rate, set_up: Option<Rate>) -> Result<(), RunError> {
        let null = NullDevice {
            point: point.clone(),
            visit: Some(self.visit),
            before,
            after_s: self.after_s(),
            frames,
            set_up,
        };
        self.folder.append_null(&null)?;
        if before && !self.calibration.nulls.iter().any(|known| known.point == *point) {
            self.calibration.nulls.push(null.clone());
            self.folder.dir().write(CALIBRATION, &self.calibration)?;
        }
        self.nulls.push(null);
        self.tell(&Event::NullMeasured { before, frames, set_up })
    }

    fn no_null(&mut self, point: &Point, error: RunError) -> Result<(), RunError> {
        match error {
            RunError::Trial { error: TrialError::Interrupted, .. } => Err(self.interrupted()),
            error => self.doubt(format!("{}: the null device was not measured: {error}", point.dut_name)),
        }
    }

    /// A second at half the last rate that passed. A box that loses frames at this rate may have
    /// changed during the trials; that is a doubt.
    pub(super) fn note_half_rate(&mut self, point: &Point, rig: &mut Rig) -> Result<(), RunError> {
        let scenario = point.of(&self.scenario).into_owned();
        let is_of_point = |o: &&Outcome| {
            o.measurement.point == *point && gives(&o.measurement.metric, Gives::Throughput) && o.result.rate.0 > 1
        };
        let Some(last) = self.outcomes.iter().rfind(is_of_point).filter(|_| scenario.bed.is_some()) else {
            return Ok(());
        };
        let spec = half_rate(&scenario, point, last);
        let outcome = match rig.run(&spec) {
            Ok(outcome) => outcome,
            Err(error) => return self.no_null(point, failed(error)),
        };
        // Loss on the tester's side says nothing about the box.
        let failed = matches!(method::judge(&spec, &outcome, &method::Criteria::default()), Verdict::Fail(_));
        let lost: u64 =
            [&outcome.forward, &outcome.reverse].iter().map(|leg| leg.planned.saturating_sub(leg.received)).sum();
        if lost == 0 || !failed {
            return Ok(());
        }
        self.doubt(format!(
            "{}: after its trials the box lost {lost} frames in a second at {} frames/s, half of its last rate: it may have changed \
             during the trials",
            point.dut_name, spec.rate.0
        ))
    }

    /// Adds the cost of a frame to the first result of throughput at a point.
    pub(super) fn add_cost(&mut self, outcome: &mut Outcome, rig: &mut Rig) -> Result<(), RunError> {
        let measurement = &outcome.measurement;
        let is_other = |o: &Outcome| o.measurement.point == measurement.point && o.measurement != *measurement;
        if !gives(&measurement.metric, Gives::Throughput)
            || standing(&self.outcomes).any(|o| is_other(o) && o.cost.is_some())
        {
            return Ok(());
        }
        let point = measurement.point.clone();
        let scenario = point.of(&self.scenario).into_owned();
        match cost(&scenario, &point, rig, outcome.result.phase1_rate, &self.process) {
            Ok(cost) => outcome.cost = cost,
            Err(error) => self.no_null(&point, error)?,
        }
        Ok(())
    }
}

fn offered(scenario: &Scenario, point: &Point, stateful: bool) -> Result<OverloadTraffic, RunError> {
    let traffic = &scenario.traffic;
    let view = cable(scenario, point, stateful)?;
    Ok(OverloadTraffic { view, direction: traffic.direction, responder_order: traffic.responder_order })
}

fn failed(error: TrialError) -> RunError {
    RunError::Trial { measurement: "null device".to_owned(), error }
}

fn null_device(scenario: &Scenario, point: &Point, rig: &mut Rig) -> Result<Option<NullRates>, RunError> {
    if !is_plain(scenario) {
        return Ok(None);
    }
    match (scenario.duts[point.dut].null_device(scenario), &scenario.bed) {
        (Null::T0, Some(bed)) => t0(scenario, bed, point, rig),
        (Null::InPlace, _) => {
            let cable = offered(scenario, point, point.connections > 0)?;
            rig.measure_null(&cable, (WINDOWS, FILLS), WINDOW).map_err(failed)
        }
        _ => Ok(None),
    }
}

/// A trial with the connections of the result's trials.
fn half_rate(scenario: &Scenario, point: &Point, of: &Outcome) -> TrialSpec {
    let rate = Rate(of.result.rate.0 / 2);
    let stateful = point.connections > 0;
    TrialSpec {
        kind: if stateful { PhaseKind::Established } else { PhaseKind::Stateless },
        direction: scenario.traffic.direction,
        connections: point.connections,
        phase1_rate: of.result.phase1_rate,
        keep_table: stateful,
        responder_order: scenario.traffic.responder_order,
        responder_table: scenario.traffic.responder_table,
        options: method::TrialOptions { popularity: scenario.traffic.popularity, ..method::TrialOptions::default() },
        ..TrialSpec::stateless(rate, Load::Frames(rate.frames_in(Nanos::SECOND)))
    }
}

/// T0, scaled down if the tester now sends less than when T0 was measured. Phase 1 has the rate of one direction.
fn t0(scenario: &Scenario, bed: &Bed, point: &Point, rig: &mut Rig) -> Result<Option<NullRates>, RunError> {
    let Some(t0) = bed.t0_of(&scenario.traffic) else { return Ok(None) };
    let sent = rig.measure_sent(&addressed_to_sender(scenario, bed, point)?).map_err(failed)?;
    let frames = Rate(t0.frames).scaled(sent.0.min(t0.sent), t0.sent.max(1));
    Ok(Some(NullRates { frames, set_up: (point.connections > 0).then_some(frames) }))
}

fn cost(
    scenario: &Scenario,
    point: &Point,
    rig: &mut Rig,
    phase1_rate: Option<Rate>,
    process: &RunContext,
) -> Result<Option<Cost>, RunError> {
    if !is_plain(scenario) {
        return Ok(None);
    }
    let cable = offered(scenario, point, false)?;
    let Some(pairs) = rig.measure_pairs(&cable, phase1_rate, PAIRS, WINDOW).map_err(failed)? else { return Ok(None) };
    let mut nanos = pairs.nanos;
    if nanos.is_empty() {
        nanos = rig.measure_price(&cable, phase1_rate, LONG, WINDOW).map_err(failed)?;
    }
    let mut one_thread = None;
    if let Setup::Gateway { plays, technology } = scenario.duts[point.dut].setup() {
        let cores = Cores::one_thread(point.cores as usize);
        let mut alone = technology::build_on(scenario, plays, technology, point, process, &cores)?;
        one_thread = spread(&alone.measure_price(&cable, phase1_rate, ALONE, WINDOW).map_err(failed)?);
    }
    Ok(Some(Cost {
        cpu_ns_per_frame: spread(&nanos),
        paired_ratio: spread(&pairs.ratios),
        one_thread_ns_per_frame: one_thread,
    }))
}

/// The median with the interval of its order statistics.
fn spread(values: &[f64]) -> Option<Spread> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let Interval { low, high, .. } = Interval::of(&sorted)?;
    Some(Spread { median: median_of(&sorted)?, low, high, least: sorted[0], n: sorted.len() as u32 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use method::TrialOutcome;
    use record::plan::Plan;
    use scenario::{Link, Options, parse};

    /// Connections, and frames of a trial in each direction: the rings hold all of them.
    const N: u64 = 8192;
    const SHORT: Nanos = Nanos::from_millis(10);
    /// The rings absorb this stall at the rate of the trial.
    const ABSORBED: Nanos = Nanos::from_millis(50);

    fn scenario(device: &str) -> Scenario {
        let (connections, metrics) = if device.contains("plays") {
            ("", "\"throughput\"")
        } else {
            ("connections = \"1M\"\n", "\"max_conn_est_rate\", \"throughput\"")
        };
        let text = format!(
            "name = \"t\"\n[dut.embedded]\n{device}\n[traffic]\nsource-ports = \"1024-2047\"\ndestination-ports = \"1-1000\"\n\
             [sweep]\n{connections}[measure]\nmetrics = [{metrics}]\nphase1-drain = \"500 ms\"\ndrain = \"500 ms\"\n\
             settle = \"0 s\"\nstart-delay = \"2 ms\"\n"
        );
        let loaded = parse("t.toml", &text, &Options::default(), tech::ALL);
        let mut scenario = loaded.unwrap_or_else(|c| panic!("{}", c.render(false))).scenario;
        scenario.link = Link::InProcess { depth: N as usize };
        if !scenario.sweep.connections.is_empty() {
            scenario.sweep.connections = vec![N];
        }
        scenario
    }

    /// The first of a few measurements that succeeds.
    fn undisturbed<T>(mut measure: impl FnMut() -> Result<Option<T>, TrialError>) -> T {
        (0..20).find_map(|_| measure().ok()).flatten().expect("host noise disturbed every measurement")
    }

    /// Null device and device take turns on one rig, and trials after them lose nothing.
    fn takes_turns(device: &str) {
        let (scenario, process) = (scenario(device), RunContext::new());
        let point = Plan::new(&scenario).measurements[0].point.clone();
        let stateful = point.connections > 0;
        let mut rig = Rig::build(&scenario, &point, &process).unwrap();
        let phase1_rate = stateful.then_some(Rate(100_000));
        let own = offered(&scenario, &point, stateful).unwrap();
        // After a stall, frames of the device can arrive in a window of the null device: the measurement fails.
        let rates = undisturbed(|| rig.measure_null(&own, (2, 1), SHORT));
        assert!(rates.frames.0 > 0 && rates.set_up.is_some() == stateful, "{rates:?}");
        let plain = offered(&scenario, &point, false).unwrap();
        let pairs = undisturbed(|| rig.measure_pairs(&plain, phase1_rate, 2, SHORT));
        assert!(pairs.ratios.len() == 2 && pairs.ratios.iter().chain(&pairs.nanos).all(|n| *n > 0.0), "{pairs:?}");
        let spec =
            TrialSpec { phase1_rate, ..TrialSpec::both_phases(Rate(100_000), Load::Frames(N), point.connections) };
        // A thread that is descheduled for long gives up or is late; that says nothing about the device.
        let was_descheduled =
            |o: &TrialOutcome| [o.host.tester_stall, o.host.dut_stall].iter().any(|stall| *stall > ABSORBED);
        let mut attempts = (0..20).map(|_| rig.run(&spec).unwrap());
        let outcome = attempts.find(|o| !was_descheduled(o)).expect("host noise invalidated every attempt");
        assert_eq!([&outcome.forward, &outcome.reverse].map(|leg| leg.received), [N, N], "{outcome:?}");
    }

    #[test]
    fn a_nat44_and_its_null_device_take_turns() {
        takes_turns("mapping = \"address-and-port-dependent\"");
    }

    #[test]
    fn a_translator_and_its_null_device_take_turns() {
        takes_turns(
            "plays = \"pe\"\n[technology.siit]\neam = [\"198.18.0.0/24 2001:2::/120\"]\npref64 = \"2001:2:0:1000::/96\"",
        );
    }

    #[test]
    fn an_impaired_path_has_no_null_device() {
        const NAT44: &str = "mapping = \"address-and-port-dependent\"";
        assert!(is_plain(&scenario(NAT44)));
        assert!(!is_plain(&scenario(&format!("{NAT44}\n[link.impair]\nloss = \"1 %\""))));
    }

    #[test]
    fn a_spread_is_a_median_with_its_order_statistics() {
        let values: Vec<f64> = (1..=20).map(f64::from).collect();
        assert_eq!(spread(&values), Some(Spread { median: 10.5, low: 6.0, high: 15.0, least: 1.0, n: 20 }));
        assert_eq!(spread(&[]), None);
    }
}
