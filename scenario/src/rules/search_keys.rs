//! Keys by which searches save time are there for a search that can use them, and what they need is measured before.

use super::{Check, sends_data};
use crate::{Method, WarmStart};
use key::Fault;

impl Check<'_> {
    pub(super) fn search_keys(&mut self) {
        let measure = &self.scenario.measure;
        let search = self.scenario.search();
        let has = |key: &str| measure.metrics.iter().any(|metric| metric == key);
        let (throughput, capacity) =
            (measure.metrics.iter().any(|m| m.ends_with("throughput")), has("conn_table_capacity"));
        let phase2 = has("throughput") && self.scenario.is_stateful();
        let data = measure.metrics.iter().any(|metric| sends_data(metric));
        let (is_mlr, is_verified) = (search == Method::Mlr, search == Method::BinaryVerify);
        let checks = [
            ("warm-start", measure.warm_start != WarmStart::Off, !is_mlr, "mlr"),
            ("early-end", measure.early_end, !is_mlr, "mlr"),
            ("keep-table", measure.keep_table, !is_mlr, "mlr"),
            ("early-end", measure.early_end, throughput, "throughput"),
            ("keep-table", measure.keep_table, phase2, "phase2"),
            ("policy", measure.policy.is_some(), capacity, "capacity"),
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
                    "capacity" => (
                        "no capacity is measured",
                        format!("add \"conn_table_capacity\" to the metrics, or remove {key}"),
                    ),
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
        let at = |key: &str| measure.metrics.iter().position(|metric| metric == key);
        let (rate, validated, capacity) =
            (at("max_conn_est_rate"), at("max_conn_est_rate_validated"), at("conn_table_capacity"));
        let precedes = |of: Option<usize>| of.is_none_or(|of| rate.is_some_and(|rate| rate < of));
        let auto = self.scenario.alpha_is_auto() && !(precedes(validated) && precedes(capacity));
        let policy = measure.policy.is_some() && !precedes(capacity);
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
