//! Procedures that look at the device or act on it have a device that can do what they ask.

use super::Check;
use crate::Dut;
use crate::bed::{Asked, Bed, BoxKeys};
use key::{At, Fault};
use method::Nanos;
use procedure::metric::{CONN_TEAR_DOWN_RATE, CPU_IDLE, FAILOVER, MEMORY_PER_CONNTRACK_ENTRY, RESET};

impl Check<'_> {
    pub(super) fn device(&mut self) {
        let of = &self.scenario.procedures;
        let (reset, failover) = ((of.reset.at, of.reset.duration), (of.failover.at, of.failover.duration));
        self.begins_in_time(RESET.key, reset);
        self.begins_in_time(FAILOVER.key, failover);
        self.hook(RESET.key, "reset", |keys| keys.reset.is_some());
        self.hook(FAILOVER.key, "failover", |keys| keys.failover.is_some());
        self.memory();
        self.cpu_in_trials();
        self.known_truth();
        self.something_empties_the_table();
        self.failover_under_churn();
    }

    /// The place of a metric among those of the scenario.
    fn metric_at(&self, metric: &str) -> Option<String> {
        let at = self.scenario.measure.metrics.iter().position(|key| key == metric)?;
        Some(format!("{}[{at}]", self.measure("metrics")))
    }

    /// A disruption begins before the trial ends.
    fn begins_in_time(&mut self, metric: &str, (at, duration): (Nanos, Nanos)) {
        if self.metric_at(metric).is_none() || at < duration {
            return;
        }
        let key = |name: &str| self.measure(&format!("{metric}.{name}"));
        let fault = Fault::new(format!("the {metric} begins after the end of its trial"));
        let fault = fault.at(key("at"), "the beginning").at(key("duration"), "the whole trial");
        self.fault(fault.instead("write a smaller `at`, or a longer duration"));
    }

    /// A device has the hook of a disruption.
    fn hook(&mut self, metric: &str, hook: &str, has: fn(&BoxKeys) -> bool) {
        let Some(at) = self.metric_at(metric) else { return };
        let has_hook = |bed: &Bed| bed.boxes.iter().any(|(_, keys)| has(keys));
        for dut in &self.scenario.duts {
            let is_able = match dut {
                Dut::Simulated(_) => true,
                Dut::External { .. } => self.scenario.bed.as_ref().is_some_and(has_hook),
                Dut::Kernel { .. } | Dut::Gateway { .. } | Dut::Resolver => false,
            };
            if is_able {
                continue;
            }
            let fault = Fault::new(format!("`{}` has no hook for `{metric}`", dut.name()));
            let fault = fault.at(at.clone(), format!("needs the hook `{hook}`"));
            self.faults.push(match dut {
                Dut::External { .. } => fault.instead(format!("write {hook} = \"COMMAND\" in [dut] of the bed file")),
                _ => fault
                    .instead("use a box between two ports (--bed FILE), whose bed file has that hook")
                    .instead(format!("or remove \"{metric}\"")),
            });
        }
    }

    /// A device tells the memory of its table. The embedded gateway reserves all of it before the run.
    fn memory(&mut self) {
        let Some(at) = self.metric_at(MEMORY_PER_CONNTRACK_ENTRY.key) else { return };
        let has_hook =
            |bed: &Bed, dut: &Dut| bed.boxes.iter().any(|(role, keys)| keys.tells_memory(Asked::of(dut, role)));
        for dut in &self.scenario.duts {
            let fault = Fault::new(format!("the memory of a connection of `{}` is not known", dut.name()));
            match dut {
                Dut::External { .. } if !self.scenario.bed_of(dut).is_some_and(|bed| has_hook(&bed, dut)) => {
                    let fault = fault.at(at.clone(), "needs the hook `memory`");
                    self.faults.push(fault.instead(
                        "write memory = \"COMMAND\" in [dut] of the bed file: it prints the octets in use at its end",
                    ));
                }
                Dut::Gateway { .. } => {
                    let fault = fault.at(at.clone(), "the embedded gateway reserves its table before the run");
                    self.faults.push(fault.instead("remove it, or measure a device of the kernel or a box"));
                }
                Dut::Kernel { .. } | Dut::Resolver | Dut::External { .. } | Dut::Simulated(_) => {}
            }
        }
    }

    /// One box is sampled in a trial, because sampling takes CPU time.
    fn cpu_in_trials(&mut self) {
        let boxes = self.scenario.bed.as_ref().map_or(1, |bed| bed.boxes.len());
        let (wrong, way_out) = match (self.scenario.measure.cpu_in_trials, self.scenario.sends_queries()) {
            (true, true) => ("trials of DNS queries have no samples of CPU times", "remove it"),
            (true, false) if boxes > 1 => (
                "the cores of several boxes are not sampled in one trial",
                "remove it, and add the metric \"cpu_idle\", which samples one box after the other",
            ),
            _ => return,
        };
        let fault = Fault::new(wrong).at(self.measure("cpu-in-trials"), "asked for here");
        self.faults.push(fault.instead(way_out));
    }

    /// The tester's thread runs a device of known truth, so that no queue between them can overflow.
    fn known_truth(&mut self) {
        let scenario = self.scenario;
        let Some(dut) = scenario.duts.iter().find(|dut| dut.injected().is_some()) else { return };
        let at_dut = At::key(format!("dut.{}", dut.kind()));
        if let Some(at) = scenario.sweep.cores.values.iter().position(|cores| *cores != 1) {
            let fault = Fault::new("a device of known truth has one core").at(format!("sweep.cores[{at}]"), "more");
            self.fault(fault.at(at_dut.clone(), "the tester's thread runs it").instead("write cores = 1"));
        }
        for metric in [CPU_IDLE.key, CONN_TEAR_DOWN_RATE.key] {
            let Some(at) = self.metric_at(metric) else { continue };
            let fault = Fault::new(format!("`{}` has no threads of its own for `{metric}`", dut.name()));
            let fault = fault.at(at, "needs them").at(at_dut.clone(), "the tester's thread runs it");
            self.fault(fault.instead("remove it, or measure [dut.simulated], which has this truth"));
        }
        if scenario.tester.workers != 1 {
            let fault = Fault::new("beside a device of known truth the tester has one worker");
            let fault = fault.at("tester.workers", "more").at(at_dut, "the tester's thread runs it");
            self.fault(fault.instead("write workers = 1"));
        }
    }

    /// The time to empty a table is that of a hook.
    fn something_empties_the_table(&mut self) {
        let Some(at) = self.metric_at(CONN_TEAR_DOWN_RATE.key) else { return };
        let Some(bed) = &self.scenario.bed else { return };
        let clears = |dut: &Dut| bed.of(dut).boxes.iter().any(|(role, keys)| keys.clears(Asked::of(dut, role)));
        if self.scenario.duts.iter().any(clears) {
            return;
        }
        let fault = Fault::new("no hook empties the table of the box").at(at, "the time of the hook `clear`");
        self.fault(fault.instead("write clear = \"COMMAND\" in [dut] of the bed file, such as \"conntrack -F\""));
    }

    /// New connections come Left to Right, beside others that are held.
    fn failover_under_churn(&mut self) {
        let scenario = self.scenario;
        let (Some(_), Some(metric)) = (scenario.procedures.failover.churn, self.metric_at(FAILOVER.key)) else {
            return;
        };
        let key = self.measure("failover.churn");
        for (at, &n) in scenario.sweep.connections.iter().enumerate() {
            let Some(title) = scenario.without_churn(n) else { continue };
            let fault = Fault::new(title).at(key.clone(), "needs both").needs(self.measure("churn.held"));
            let fault = fault.at(format!("{}[{at}]", self.connections()), "held and new connections together");
            self.fault(fault.instead("write a share between in [measure.churn], such as held = \"25 %\""));
        }
        if let Some(direction) = self.reverse_of(FAILOVER.key) {
            let fault = Fault::new("no new connection arrives").at(direction, "the Initiator sends nothing");
            let fault = fault.at(metric, "the Initiator opens connections").at(key, "new connections");
            self.fault(fault.instead("write \"forward\" or \"both\" in place of \"reverse\", or remove `churn`"));
        }
    }
}
