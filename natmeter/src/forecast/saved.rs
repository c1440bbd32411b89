//! Predicted time of searches that save some, and the refusal of a kept table whose connections would time out.

use super::{Guess, guess, in_order, phase1, trials_of, wait_for_box};
use method::{Nanos, Rate};
use procedure::metric::{
    CONN_TABLE_CAPACITY, MAX_CONN_EST_RATE_VALIDATED, THROUGHPUT, is_establishment, is_throughput,
};
use record::plan::{Measurement, Plan};
use record::report::number::percent;
use scenario::quantity::show_time;
use scenario::{Method, Scenario, Sequence, WarmStart};
use std::fmt::Write;

/// Trials of a search that begins at the bounds of an earlier one: those of the bounds, and about two more.
const WARM_TRIALS: u64 = 4;
/// Trials of the search for the reverse one-way throughput: a width of 2 % below the upper end.
const REVERSE_TRIALS: u64 = 9;
/// Trials of a capacity whose policy is known.
const COUNTS: u64 = 2;
/// Samples that prove that a table was kept, about a second each.
const SAMPLES: Nanos = Nanos::from_secs(2);

/// Returns the predicted time of a measurement whose search would take `plain` without what saves time. All but the first
/// repetition of a point can begin at the bounds of an earlier one.
pub(super) fn time(scenario: &Scenario, m: &Measurement, plain: Nanos) -> Nanos {
    let guess = guess(scenario, &scenario.duts[m.point.dut]);
    let (trial, trials) = trials_of(scenario, &m.point, &m.metric, &guess);
    let wait = wait_for_box(scenario, &m.point, &m.metric, trial);
    let trial = trial.saturating_add(wait);
    let mut time = plain.0;
    if m.metric == CONN_TABLE_CAPACITY.key && scenario.measure.policy.is_some() {
        time = COUNTS * counted(scenario, m, &guess);
    }
    let is_searched = is_throughput(&m.metric) || is_establishment(&m.metric);
    if scenario.measure.warm_start != WarmStart::Off && is_searched && m.repetition > 1 {
        time = trial.saturating_mul(WARM_TRIALS.min(trials.into()));
    }
    if keeps_table(scenario, m) {
        let each = phase1(scenario, m.point.connections, phase1_rate(scenario, &guess))
            .saturating_sub(scenario.measure.settle.0)
            .saturating_add(wait);
        let trials = time / trial.max(1);
        time = time.saturating_sub(trials.saturating_sub(1).saturating_mul(each)).saturating_add(SAMPLES.0);
    }
    let validated = [MAX_CONN_EST_RATE_VALIDATED.key, CONN_TABLE_CAPACITY.key].contains(&m.metric.as_str());
    if scenario.alpha_is_auto() && validated && m.repetition <= 1 {
        let (trial, _) = trials_of(scenario, &m.point, THROUGHPUT.key, &guess);
        let shorter = scenario.measure.duration.0
            - (scenario.measure.duration.0 / 10).max(Nanos::SECOND.0.min(scenario.measure.duration.0));
        time = time.saturating_add(REVERSE_TRIALS * trial.saturating_sub(shorter));
    }
    Nanos(time)
}

/// One trial that opens all connections at a low rate, and validates them.
fn counted(scenario: &Scenario, m: &Measurement, guess: &Guess) -> u64 {
    let rate = phase1_rate(scenario, guess);
    let back = rate.scaled(u64::from(scenario.alpha_ppm().unwrap_or(1_000_000)), 1_000_000);
    phase1(scenario, m.point.connections, rate)
        .saturating_add(back.max(Rate(1)).time_for(m.point.connections).0)
        .saturating_add(scenario.measure.drain.0)
}

fn phase1_rate(scenario: &Scenario, guess: &Guess) -> Rate {
    scenario.phase1_rate().map_or(guess.set_up.scaled(8, 10), Rate)
}

fn keeps_table(scenario: &Scenario, m: &Measurement) -> bool {
    scenario.measure.keep_table && m.metric == THROUGHPUT.key && m.point.connections > 0
}

/// The plan by plain binary searches: each begins anew, and each trial has a phase 1 of its own (RFC 9693, section 4.4).
fn plain(scenario: &Scenario, order: Sequence) -> Plan {
    let mut plain = scenario.clone();
    let measure = &mut plain.measure;
    (measure.keep_table, measure.warm_start, measure.early_end) = (false, WarmStart::Off, false);
    (measure.policy, measure.search) = (None, Some(Method::Binary));
    in_order(&plain, order)
}

/// Writes the predicted time of plain binary searches beside that of the plan, if it differs. Both are of the model alone, without
/// the correction by earlier runs.
pub(super) fn text(out: &mut String, scenario: &Scenario, plan: &Plan) {
    let [model, plain] = [in_order(scenario, plan.order), plain(scenario, plan.order)].map(|plan| plan.predicted());
    if plain == model || model.0 == 0 {
        return;
    }
    let _ = writeln!(
        out,
        "Plain binary searches with a phase 1 before each trial (RFC 9693, section 4.4): about {}; as planned: about {}, {} of that.",
        show_time(plain),
        show_time(model),
        percent(100.0 * model.0 as f64 / plain.0 as f64)
    );
}

/// Says why a plan that keeps tables cannot be carried out: connections would time out before the search ends.
pub fn refused(scenario: &Scenario, plan: &Plan) -> Option<String> {
    let short = |m: &&Measurement| {
        let scenario = &*m.point.of(scenario);
        let timeout = scenario.duts[m.point.dut].udp_timeout();
        keeps_table(scenario, m) && timeout.is_some_and(|timeout| timeout <= m.predicted)
    };
    let m = plan.measurements.iter().find(short)?;
    let of = &*m.point.of(scenario);
    let timeout = of.duts[m.point.dut].udp_timeout().unwrap_or_default();
    Some(format!(
        "keep-table: connections of `{}` time out after {}, but a search of {} is predicted to take {}; write a longer udp-timeout, \
         or remove keep-table (METHODOLOGY.md, one phase 1 for many trials)",
        m.point.dut_name,
        show_time(timeout),
        m.metric,
        show_time(m.predicted)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::forecast::plan;
    use scenario::{Options, parse};

    const KERNEL: &str = include_str!("../../../scenarios/kernel-nat44.toml");

    fn loaded(set: &[&str]) -> Scenario {
        let set = set.iter().map(|&text| text.to_owned()).collect();
        parse("x.toml", KERNEL, &Options { full: true, set, ..Options::default() }, tech::ALL).unwrap().scenario
    }

    fn seconds(set: &[&str]) -> u64 {
        plan(&loaded(set)).predicted().as_secs_f64() as u64
    }

    #[test]
    fn what_saves_time_is_predicted() {
        let plain = seconds(&[]);
        assert!(seconds(&["keep-table=true"]) < plain);
        assert!(seconds(&["warm-start=repetitions"]) * 2 < plain);
    }

    #[test]
    fn connections_outlive_a_search_that_keeps_them() {
        let refused = |set: &[&str]| {
            let scenario = loaded(set);
            refused(&scenario, &plan(&scenario))
        };
        assert_eq!(refused(&[]), None);
        assert_eq!(refused(&["keep-table=true"]), None);
        let short = refused(&["keep-table=true", "dut.nftables.udp-timeout=300 s"]).unwrap();
        assert!(short.contains("udp-timeout") && short.contains("5 min"), "{short}");
        assert_eq!(refused(&["dut.nftables.udp-timeout=300 s"]), None);
    }
}
