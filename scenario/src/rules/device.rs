//! Procedures that look at the device or act on it have a device that can do what they ask.

use super::Check;
use crate::Dut;
use crate::bed::BoxPart;
use key::{At, Fault};
use method::trial::Disruption;
use procedure::cpu_idle::CPU_IDLE;
use procedure::tear_down::{CONN_TEAR_DOWN_RATE, MEMORY_PER_CONNTRACK_ENTRY};

impl Check<'_> {
    pub(super) fn device(&mut self) {
        self.disruption(Disruption::Reset);
        self.disruption(Disruption::Failover);
        self.memory();
        self.cpu_in_trials();
        self.known_truth();
        self.something_empties_the_table();
    }

    fn metric_at(&self, metric: &str) -> Option<String> {
        let at = self.scenario.measure.metrics.iter().position(|key| key == metric)?;
        Some(format!("{}[{at}]", self.measure("metrics")))
    }

    /// natmeter can cause a disruption of each device.
    fn disruption(&mut self, what: Disruption) {
        let name = what.name();
        let Some(at) = self.metric_at(name) else { return };
        for dut in self.scenario.duts.iter().filter(|dut| !dut.has_disruption(what, self.scenario)) {
            let fault = Fault::new(format!("`{}` has no hook for `{name}`", dut.name()));
            let fault = fault.at(at.clone(), format!("needs the hook `{name}`"));
            self.faults.push(if self.scenario.bed_of(dut).is_some() {
                fault.instead(format!("write {name} = \"COMMAND\" in [dut] of the bed file"))
            } else {
                fault
                    .instead("use a box between two ports (--bed FILE), whose bed file has that hook")
                    .instead(format!("or remove \"{name}\""))
            });
        }
    }

    fn memory(&mut self) {
        let Some(at) = self.metric_at(MEMORY_PER_CONNTRACK_ENTRY.key) else { return };
        for dut in &self.scenario.duts {
            let Some((label, way_out)) = dut.no_memory(self.scenario) else { continue };
            let fault = Fault::new(format!("the memory of a connection of `{}` is not known", dut.name()));
            self.faults.push(fault.at(at.clone(), label).instead(way_out));
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
        let at_dut = At::key(format!("dut.{}", dut.table()));
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
        let clears = |dut: &Dut| {
            let asked = |role| BoxPart::of(dut.technology(), role);
            bed.of(dut.technology()).boxes.iter().any(|(role, keys)| keys.clears(asked(role)))
        };
        if self.scenario.duts.iter().any(clears) {
            return;
        }
        let fault = Fault::new("no hook empties the table of the box").at(at, "the time of the hook `clear`");
        self.fault(fault.instead("write clear = \"COMMAND\" in [dut] of the bed file, such as \"conntrack -F\""));
    }
}
