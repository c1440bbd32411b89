//! A device of known truth: the embedded NAT44 with exactly injected faults and limits, or any technology with a fault of the
//! gallery, on the tester's thread.

use super::gateway::RESERVED;
use super::{Absence, Device, DeviceKind, DeviceTables, Dut, Setup, TestBed};
use crate::Scenario;
use crate::faults::check_fault;
use crate::truth::{KNOWN_TRUTH, KnownTruth};
use key::{At, Chapter};
use tech::{Plays, Technology};

pub(super) const KIND: DeviceKind = DeviceKind { table: KNOWN_TRUTH, keys: Chapter::of::<KnownTruth>, read };

/// A gateway with faults and limits.
#[derive(Clone, Debug)]
struct TruthGateway {
    technology: Box<dyn Technology>,
    truth: KnownTruth,
}

/// The only gateway of its scenario.
fn read(given: &mut DeviceTables<'_, '_>) -> Vec<Option<Dut>> {
    let truth = given.sections.table::<KnownTruth>(&KIND.path());
    let (Some(truth), Some(Some(technology))) = (truth, given.technologies.pop()) else { return vec![None] };
    if technology.name() != "nat44" && truth.injected.fault.is_none() {
        let refusal = given.sections.refuse("a device of known truth is a NAT44");
        let refusal = refusal.at(At::key(format!("technology.{}", technology.name())), "another technology");
        refusal.instead(
            "remove this table, or give the device a `fault`; [technology.nat44] may stand beside [dut.known-truth]",
        );
        return vec![None];
    }
    check_fault(
        given.sections,
        &format!("dut.{KNOWN_TRUTH}.fault"),
        truth.injected.fault.as_deref(),
        (truth.plays, &*technology),
    );
    let at_ports = [("misrouted", truth.faults.misrouted_ppm > 0), ("corrupted", truth.faults.corrupted_ppm > 0)];
    let of_flows = [("table", truth.table.is_some()), ("set-up-rate", truth.set_up_rate.is_some())];
    for (key, is_given) in at_ports.into_iter().chain(of_flows) {
        if is_given && technology.name() != "nat44" {
            let refusal = given.sections.refuse(format!("`{key}` is about the headers of a NAT44"));
            let refusal = refusal.at(At::key(format!("dut.{KNOWN_TRUTH}.{key}")), "here");
            refusal.instead(format!("remove it, or [technology.{}]", technology.name()));
        }
    }
    vec![Some(TruthGateway { technology, truth }.into())]
}

impl Device for TruthGateway {
    fn table(&self) -> &'static str {
        KIND.table
    }
    fn function(&self) -> &'static str {
        self.technology.names().words(self.truth.plays)
    }
    fn setup(&self) -> Setup<'_> {
        Setup::Gateway { plays: self.truth.plays, technology: &*self.technology }
    }
    fn place(&self, _: &Scenario) -> TestBed {
        TestBed::SameProcess
    }
    fn is_in_process(&self) -> bool {
        true
    }
    fn has_workers(&self) -> bool {
        true
    }
    fn technology(&self) -> Option<(Plays, &dyn Technology)> {
        Some((self.truth.plays, &*self.technology))
    }
    fn technology_mut(&mut self) -> Option<(Plays, &mut dyn Technology)> {
        Some((self.truth.plays, &mut *self.technology))
    }
    fn injected(&self) -> Option<&KnownTruth> {
        Some(&self.truth)
    }
    fn no_memory(&self, _: &Scenario) -> Option<Absence> {
        Some(RESERVED)
    }
}
