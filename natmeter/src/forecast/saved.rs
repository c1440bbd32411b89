//! What a plan saves compared with plain searches, and the refusal of a kept table whose connections would time out.

use super::in_order;
use method::Nanos;
use procedure::capacity::Capacity;
use procedure::metric::{Gives, gives};
use record::plan::{Measurement, Plan};
use record::report::number::percent;
use scenario::quantity::show_time;
use scenario::{Method, Scenario, Sequence, WarmStart};
use std::fmt::Write;

fn keeps_table(scenario: &Scenario, m: &Measurement) -> bool {
    scenario.measure.keep_table && gives(&m.metric, Gives::Throughput) && m.point.connections > 0
}

/// Each search begins anew, and each trial has a phase 1 of its own (RFC 9693, section 4.4).
fn plain(scenario: &Scenario, order: Sequence) -> Nanos {
    let mut plain = scenario.clone();
    let capacity = Capacity { policy: None, ..plain.procedures.get::<Capacity>().clone() };
    plain.procedures.put(capacity);
    let measure = &mut plain.measure;
    (measure.keep_table, measure.warm_start, measure.early_end) = (false, WarmStart::Off, false);
    measure.search = Some(Method::Binary);
    in_order(&plain, order).plan.predicted()
}

/// Adds the time of plain searches, if it differs. Both times are without the correction by earlier
/// runs.
pub(super) fn text(out: &mut String, scenario: &Scenario, plan: &Plan) {
    let (model, plain) = (in_order(scenario, plan.order).plan.predicted(), plain(scenario, plan.order));
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

/// Why a plan cannot be carried out with kept tables: connections would time out before the search ends.
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
