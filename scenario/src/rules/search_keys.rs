//! Keys that save time are for a search that can use them, and what they need is measured before.

use super::Check;
use crate::search::show;
use crate::{Method, WarmStart};
use key::Fault;
use procedure::Metric;
use procedure::capacity::Capacity;
use procedure::metric::Gives;

impl Check<'_> {
    pub(super) fn search_keys(&mut self) {
        let (scenario, measure) = (self.scenario, &self.scenario.measure);
        self.twice(&self.measure("goals"), &measure.goals, |goal| format!("`{}`", show(*goal)));
        let metric = |key: &String| scenario.procedures.metric(key);
        let throughput = measure.metrics.iter().any(|key| self.gives(key, Gives::Throughput).is_some());
        let phase2 = throughput && scenario.is_stateful();
        let data = measure.metrics.iter().any(|metric| scenario.sends_data(metric));
        let validated = measure.metrics.iter().any(|key| metric(key).is_some_and(|metric| metric.validated));
        let (is_mlr, is_verified) = (scenario.search() == Method::Mlr, scenario.search() == Method::BinaryVerify);
        let verifies = measure.verify.is_some_and(|tries| tries > 1);
        let of_mlr = (!is_mlr, "a key of binary searches", "remove it, or remove search = \"mlr\"");
        let is_verify =
            (is_verified, "no failed rate is tried again", "write search = \"binary-verify\", or remove it");
        let of_phase2 = "measure the throughput of a device that keeps connections, or remove it";
        let throughput_first = "add \"throughput\" to the metrics, or remove it";
        let goals = "remove it, and write goals = \"loss99.99\" or another goal with loss";
        let validation = "add \"max_conn_est_rate_validated\" to the metrics, or remove it";
        // Each key, whether it is given, and whether anything uses it, with the refusal and the way out if nothing
        // does.
        let keys = [
            ("search", is_mlr, (throughput, "MLRsearch is of throughput only", throughput_first)),
            ("goals", !measure.goals.is_empty(), (is_mlr, "goals of `mlr`", "write search = \"mlr\", or remove it")),
            (
                "acceptance",
                measure.acceptance_ppm < 1_000_000,
                (!is_mlr, "each goal of MLRsearch has a loss ratio", goals),
            ),
            ("verify", verifies, is_verify),
            ("verify-at-most", measure.verify_at_most.is_some(), is_verify),
            ("warm-start", measure.warm_start != WarmStart::Off, of_mlr),
            ("early-end", measure.early_end, of_mlr),
            ("keep-table", measure.keep_table, of_mlr),
            ("early-end", measure.early_end, (throughput, "trials of throughputs alone end early", throughput_first)),
            ("keep-table", measure.keep_table, (phase2, "no search has trials in phase 2", of_phase2)),
            (
                "alpha",
                measure.alpha.is_some(),
                (validated || scenario.sends_queries(), "nothing is validated", validation),
            ),
            ("warm-up", measure.warm_up.is_some(), (data, "trials of phase 1 have no warm-up", throughput_first)),
            (
                "warm-up-rate",
                measure.warm_up_rate.is_some(),
                (measure.warm_up.is_some(), "there is no warm-up", "add warm-up = \"5 s\", or remove it"),
            ),
        ];
        for (key, _, (_, label, instead)) in
            keys.into_iter().filter(|(_, is_given, (is_used, ..))| *is_given && !is_used)
        {
            let [at, search] = [key, "search"].map(|key| self.measure(key));
            self.refuse(format!("`{key}` has no effect")).at(at, label).needs(search).instead(instead);
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
        for (key, needs, what) in [
            ("alpha", auto, "the reverse throughput is one of phase 2"),
            ("policy", policy, "connections are opened at a share of the establishment rate"),
        ] {
            if needs {
                let fault = Fault::new(format!("`{key}` needs a rate for phase 1")).at(self.measure(key), what);
                self.fault(fault.instead("measure \"max_conn_est_rate\" before").instead(
                    "or give the rate: phase1-rate = \"100k\", at which the device must set up every connection",
                ));
            }
        }
    }
}
