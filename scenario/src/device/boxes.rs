//! The boxes of a bed as device: one, or the edges of a Dual DUT. Where they are, and what natmeter can do to them, the bed says.

use super::{Absence, Device, DeviceKind, DeviceTables, Dut, Null, Setup, TableSizes, TestBed};
use crate::Scenario;
use crate::bed::{Bed, BoxKeys, PortIo};
use crate::tables::External;
use key::{At, Chapter};
use method::trial::Disruption;
use procedure::dns::DNS_QUERIES_RESOLVED;
use std::borrow::Cow;
use tech::{Plays, Technology};

pub(super) const KIND: DeviceKind = DeviceKind { table: "external", keys: Chapter::of::<External>, read };

#[derive(Clone, Debug)]
struct Boxes {
    name: &'static str,
    /// `None` for plain forwarding.
    technology: Option<Box<dyn Technology>>,
    keys: External,
}

/// The boxes, once for each technology.
fn read(given: &mut DeviceTables<'_, '_>) -> Vec<Option<Dut>> {
    let keys = given.sections.table::<External>(&KIND.path());
    if !given.has_bed {
        let refusal = given.sections.refuse("this scenario needs a test bed");
        let refusal = refusal.at(At::key(KIND.path()), "a box between two ports");
        refusal.instead("name the file of the bed: --bed bed.toml; `natmeter bed init` writes one");
    }
    let technologies = std::mem::take(&mut given.technologies);
    let several = technologies.len() > 1;
    let boxes = |technology: Option<Box<dyn Technology>>| {
        let keys = keys.clone()?;
        let own = technology.as_ref().filter(|_| several).map(|technology| technology.names().name(keys.plays));
        Some(Dut::from(Boxes { name: own.unwrap_or(KIND.table), technology, keys }))
    };
    if technologies.is_empty() {
        return vec![boxes(None)];
    }
    technologies.into_iter().map(|technology| boxes(Some(technology?))).collect()
}

impl Boxes {
    /// Whether one of them, with its role, has something.
    fn any(&self, scenario: &Scenario, has: impl Fn(&str, &BoxKeys) -> bool) -> bool {
        let bed = self.boxes(scenario);
        bed.is_some_and(|bed| bed.boxes.iter().any(|(role, keys)| has(role, keys)))
    }
}

impl Device for Boxes {
    fn table(&self) -> &'static str {
        KIND.table
    }
    fn name(&self) -> &'static str {
        self.name
    }
    fn function(&self) -> &'static str {
        self.technology().map_or("IPv4 forwarding", |(plays, technology)| technology.names().words(plays))
    }
    fn setup(&self) -> Setup<'_> {
        Setup::Boxes
    }
    /// natmeter makes the links of all boxes, or of none.
    fn place(&self, scenario: &Scenario) -> TestBed {
        let is_here = scenario.bed.as_ref().is_some_and(Bed::makes_links);
        if is_here { TestBed::SameMachine } else { TestBed::Ports }
    }
    fn is_kernel_of_tester(&self, scenario: &Scenario) -> bool {
        let is_here = |keys: &BoxKeys| keys.has_kernel_of_tester() && keys.start.is_none();
        self.boxes(scenario).is_some_and(|bed| bed.boxes.iter().all(|(_, keys)| is_here(keys)))
    }
    fn is_run_by_sender(&self, scenario: &Scenario) -> bool {
        self.is_kernel_of_tester(scenario)
            && !self.any(scenario, |role, keys| keys.is_steered(role, &scenario.sweep.cores))
    }
    fn null(&self, scenario: &Scenario) -> Null {
        let Some(bed) = scenario.bed.as_ref().filter(|bed| bed.makes_links()) else { return Null::T0 };
        if bed.ports().iter().any(|(_, port)| port.io == PortIo::Tap) {
            Null::Nothing("a TAP has none")
        } else if self.is_kernel_of_tester(scenario) {
            Null::InPlace
        } else {
            Null::Nothing("a guest or a program has none")
        }
    }
    /// Plain forwarding is that of both versions.
    fn dns_metrics(&self) -> &'static [&'static str] {
        let of_ipv4 = self.technology().is_none_or(|(plays, technology)| technology.versions(plays) == (4, 4));
        if of_ipv4 { &[DNS_QUERIES_RESOLVED.key] } else { &[] }
    }
    fn technology(&self) -> Option<(Plays, &dyn Technology)> {
        Some((self.keys.plays, self.technology.as_deref()?))
    }
    fn technology_mut(&mut self) -> Option<(Plays, &mut dyn Technology)> {
        Some((self.keys.plays, self.technology.as_deref_mut()?))
    }
    fn is_forwarding(&self) -> bool {
        self.technology.is_none()
    }
    fn table_sizes(&self) -> Option<TableSizes> {
        Some(TableSizes { entries: self.keys.table, buckets: self.keys.hash_size })
    }
    fn set_table_sizes(&mut self, TableSizes { entries, buckets }: TableSizes) {
        (self.keys.table, self.keys.hash_size) = (entries, buckets);
    }
    fn boxes<'a>(&self, scenario: &'a Scenario) -> Option<Cow<'a, Bed>> {
        scenario.bed.as_ref().map(|bed| bed.of(self.technology()))
    }
    fn has_disruption(&self, what: Disruption, scenario: &Scenario) -> bool {
        self.any(scenario, |_, keys| match what {
            Disruption::Reset => keys.reset.is_some(),
            Disruption::Failover => keys.failover.is_some(),
        })
    }
    fn no_memory(&self, scenario: &Scenario) -> Option<Absence> {
        let way_out = "write memory = \"COMMAND\" in [dut] of the bed file: it prints the octets in use at its end";
        let tells = |role: &str, keys: &BoxKeys| keys.tells_memory(self.asked(role));
        (!self.any(scenario, tells)).then_some(("needs the hook `memory`", way_out))
    }
    fn can_be_profiled(&self, scenario: &Scenario) -> bool {
        self.any(scenario, |_, keys| keys.can_be_profiled())
    }
    fn is_profiled_here(&self, scenario: &Scenario) -> bool {
        self.any(scenario, |_, keys| keys.has_kernel_of_tester())
    }
}
