//! Keys by which searches save time are there for a search that can use them, and what they need is measured before.

use super::Check;
use crate::{Method, WarmStart};
use key::Fault;
use procedure::Metric;
use procedure::capacity::Capacity;
use procedure::metric::Gives;

impl Check<'_> {
    pub(super) fn search_keys(&mut self) {
        let measure = &self.scenario.measure;
        let search = self.scenario.search();
        let is_throughput = |key: &String| self.gives(key, Gives::Throughput).is_some();
        let throughput = measure.metrics.iter().any(is_throughput);
        let phase2 = throughput && self.scenario.is_stateful();
        let data = measure.metrics.iter().any(|metric| self.scenario.sends_data(metric));
        let (is_mlr, is_verified) = (search == Method::Mlr, search == Method::BinaryVerify);
        let checks = [
            ("warm-start", measure.warm_start != WarmStart::Off, !is_mlr, "mlr"),
            ("early-end", measure.early_end, !is_mlr, "mlr"),
            ("keep-table", measure.keep_table, !is_mlr, "mlr"),
            ("early-end", measure.early_end, throughput, "throughput"),
            ("keep-table", measure.keep_table, phase2, "phase2"),
            ("warm-up", measure.warm_up.is_some(), data, "data"),
            ("warm-up-rate", measure.warm_up_rate.is_some(), measure.warm_up.is_some(), "warm-up"),
            ("verify-at-most", measure.verify_at_most.is_some(), is_verified, "verify"),
        ];
        let faults: Vec<Fault> = checks
            .into_iter()
            .filter(|(_, is_given, is_useful, _)| *is_given && !*is_useful)
            .map(|(key, _, _, needs)| {
                let (label, instead) = match needs {
                    "mlr" => ("a key of binary searches", "remove it, or remove search = \"mlr\"".to_owned()),
                    "throughput" => (
                        "trials of throughputs alone end early",
                        "add \"throughput\" to the metrics, or remove it".to_owned(),
                    ),
                    "phase2" => (
                        "no search has trials in phase 2",
                        "measure the throughput of a device that keeps connections, or remove it".to_owned(),
                    ),
                    "data" => (
                        "trials of phase 1 have no warm-up",
                        "add \"throughput\" to the metrics, or remove it".to_owned(),
                    ),
                    "warm-up" => ("there is no warm-up", "add warm-up = \"5 s\", or remove it".to_owned()),
                    _ => ("no failed rate is tried again", "write search = \"binary-verify\", or remove it".to_owned()),
                };
                Fault::new(format!("`{key}` has no effect")).at(self.measure(key), label).instead(instead)
            })
            .collect();
        for fault in faults {
            self.fault(fault);
        }
        self.needs_phase1_rate();
    }

    /// `alpha = "auto"` and a known policy have trials at a share of the establishment rate.
    fn needs_phase1_rate(&mut self) {
        let measure = &self.scenario.measure;
        if measure.phase1_rate.is_some() {
            return;
        }
        let known: Vec<Option<&Metric>> =
            measure.metrics.iter().map(|key| self.scenario.procedures.metric(key)).collect();
        let gives = |metric: &Metric, what| metric.gives == Some(what);
        let first = known.iter().position(|m| m.is_some_and(|m| gives(m, Gives::SetUpRate) && !m.validated));
        let precedes = |of: usize| first.is_some_and(|first| first < of);
        let any = |is: &dyn Fn(&Metric) -> bool| (0..).zip(&known).any(|(at, m)| m.is_some_and(is) && !precedes(at));
        let auto = self.scenario.alpha_is_auto() && any(&|metric| metric.validated);
        let policy = self.scenario.procedures.get::<Capacity>().policy.is_some()
            && any(&|metric| gives(metric, Gives::TableSize));
        let mut faults = Vec::new();
        for (key, needs, what) in [
            ("alpha", auto, "the reverse throughput is one of phase 2"),
            ("policy", policy, "connections are opened at a share of the establishment rate"),
        ] {
            if needs {
                let fault = Fault::new(format!("`{key}` needs a rate for phase 1")).at(self.measure(key), what);
                faults.push(fault.instead("measure \"max_conn_est_rate\" before").instead(
                    "or give the rate: phase1-rate = \"100k\", at which the device must set up every connection",
                ));
            }
        }
        for fault in faults {
            self.fault(fault);
        }
    }
}
