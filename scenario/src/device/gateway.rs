//! The embedded gateway: any technology, on threads of this process.

use super::{Absence, Device, DeviceKind, DeviceTables, Dut, Setup, TestBed};
use crate::Scenario;
use crate::tables::Embedded;
use key::Chapter;
use procedure::dns::DNS_QUERIES_RESOLVED;
use tech::{Plays, Technology};

pub(super) const KIND: DeviceKind =
    DeviceKind { table: "embedded", keys: |path| Chapter::of::<Embedded>(path).lenient(), read };

#[derive(Clone, Debug)]
struct Gateway {
    name: &'static str,
    plays: Plays,
    technology: Box<dyn Technology>,
}

/// One gateway for each technology.
fn read(given: &mut DeviceTables<'_, '_>) -> Vec<Option<Dut>> {
    let plays = given.sections.table::<Embedded>(&KIND.path()).map(|embedded| embedded.plays);
    let is_alias = given.is_alias;
    let gateway = |technology: Option<Box<dyn Technology>>| {
        let (plays, technology) = (plays?, technology?);
        let name = if is_alias { KIND.table } else { technology.names().name(plays) };
        Some(Gateway { name, plays, technology }.into())
    };
    std::mem::take(&mut given.technologies).into_iter().map(gateway).collect()
}

impl Device for Gateway {
    fn table(&self) -> &'static str {
        KIND.table
    }
    fn name(&self) -> &'static str {
        self.name
    }
    fn function(&self) -> &'static str {
        self.technology.names().words(self.plays)
    }
    fn setup(&self) -> Setup<'_> {
        Setup::Gateway { plays: self.plays, technology: &*self.technology }
    }
    /// A process of its own between DNS client and server, else in the tester.
    fn place(&self, scenario: &Scenario) -> TestBed {
        if scenario.sends_queries() { TestBed::SameMachine } else { TestBed::SameProcess }
    }
    fn is_in_process(&self) -> bool {
        true
    }
    fn has_workers(&self) -> bool {
        true
    }
    fn dns_metrics(&self) -> &'static [&'static str] {
        let of_ipv4 = self.technology.versions(Plays::Dual) == (4, 4) && self.technology.is_stateful(Plays::Dual);
        if self.plays == Plays::Dual && of_ipv4 { &[DNS_QUERIES_RESOLVED.key] } else { &[] }
    }
    fn technology(&self) -> Option<(Plays, &dyn Technology)> {
        Some((self.plays, &*self.technology))
    }
    fn technology_mut(&mut self) -> Option<(Plays, &mut dyn Technology)> {
        Some((self.plays, &mut *self.technology))
    }
    fn no_memory(&self, _: &Scenario) -> Option<Absence> {
        Some(RESERVED)
    }
}

/// Why gateways of natmeter do not tell the memory of a connection.
pub(super) const RESERVED: Absence =
    ("the embedded gateway reserves its table before the run", "remove it, or measure a device of the kernel or a box");
