//! Devices under test, one kind a file. A device answers what rules, runs and reports ask of it: where it is, what it does to
//! frames, what its table is, and what natmeter can do to it. Other code asks, and does not know which kinds there are.

mod boxes;
mod gateway;
mod kernel;
mod known_truth;
mod place;
mod resolver;
mod simulated;

pub use key::{Chapter, Sections};
pub use place::TestBed;

use crate::Scenario;
use crate::bed::{Bed, BoxPart};
use crate::frame_size::{LARGEST, LARGEST_WITHOUT_JUMBO};
use crate::nat::{Nat, NatState, technology_path};
use crate::truth::{KnownTruth, Simulated};
use method::trial::Disruption;
use method::{Count, Nanos};
use std::borrow::Cow;
use std::fmt;
use std::ops::{Deref, DerefMut};
use tech::{Fit, Flows, Plays, Technology};

/// All kinds, in the order of the reference page.
pub const KINDS: Kinds = &[
    &gateway::KIND,
    &kernel::FORWARDING,
    &kernel::IPV6_FORWARDING,
    &resolver::KIND,
    &kernel::NFTABLES,
    &kernel::IPTABLES_LEGACY,
    &kernel::IPTABLES_NFT,
    &boxes::KIND,
    &simulated::KIND,
    &known_truth::KIND,
];

/// The kinds of devices that a file may name.
pub type Kinds = &'static [&'static DeviceKind];

pub struct DeviceKind {
    pub table: &'static str,
    /// Keys; the argument is the path of the table.
    pub keys: fn(String) -> Chapter,
    /// Reads the devices of this kind, if the file has the table; `None` in place of one that cannot be read.
    pub read: fn(&mut DeviceTables<'_, '_>) -> Vec<Option<Dut>>,
}

impl DeviceKind {
    pub fn path(&self) -> String {
        format!("dut.{}", self.table)
    }
}

/// A file while its devices are read.
pub struct DeviceTables<'a, 'b> {
    pub sections: &'a mut Sections<'b>,
    /// Its technologies, `None` in place of one that cannot be read. The first device that has a technology takes them.
    pub technologies: Vec<Option<Box<dyn Technology>>>,
    /// Whether the keys of the technology are those of the device's table.
    pub is_alias: bool,
    pub has_bed: bool,
}

/// What natmeter sets up for a device.
#[derive(Clone, Copy)]
pub enum Setup<'a> {
    /// A gateway on threads of this process.
    Gateway {
        /// Which part of the technology it plays.
        plays: Plays,
        technology: &'a dyn Technology,
    },
    /// Unbound as a DNS64 server, in a namespace that natmeter creates.
    Dns64,
    /// The boxes of a bed: of a bed file, or of its own.
    Boxes,
    /// A simulation.
    Simulated(&'a Simulated),
}

/// What stands for the null device of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Null {
    /// natmeter puts one in place of the device, on the same path.
    InPlace,
    /// T0: both ports of the bed, cabled to each other.
    T0,
    /// No null device, for this reason.
    Nothing(&'static str),
}

/// Sizes of a connection tracking table, where the scenario gives them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TableSizes {
    pub entries: Option<Count>,
    /// Buckets of the hash table.
    pub buckets: Option<Count>,
}

/// What a device has under a metric's name, or why it has none: a label and a way out.
pub type Absence = (&'static str, &'static str);

/// A copy of a device; each that is `Clone` has it.
pub trait CloneDevice {
    fn copied(&self) -> Box<dyn Device>;
}

impl<D: Device + Clone + 'static> CloneDevice for D {
    fn copied(&self) -> Box<dyn Device> {
        Box::new(self.clone())
    }
}

/// A device under test.
pub trait Device: CloneDevice + fmt::Debug + Send + Sync {
    /// The name of its table below `[dut]`.
    fn table(&self) -> &'static str;

    /// The name under which its results are filed.
    fn name(&self) -> &'static str {
        self.table()
    }

    /// What it is, in a few words: `stateful NAT44`.
    fn function(&self) -> &'static str;

    /// The words of published tables for that; `None` for a device that is in none.
    fn published(&self) -> Option<&'static str> {
        match self.technology() {
            Some((_, technology)) => technology.names().published,
            None => Some(self.function()),
        }
    }

    fn setup(&self) -> Setup<'_>;

    /// Place of the device in a scenario, seen from the tester.
    fn place(&self, scenario: &Scenario) -> TestBed;

    /// Whether the in-process link leads to it.
    fn is_in_process(&self) -> bool {
        false
    }

    /// Whether threads of natmeter forward its packets, one a core.
    fn has_workers(&self) -> bool {
        false
    }

    /// Whether the kernel of this machine forwards its packets.
    fn is_kernel_of_tester(&self, _: &Scenario) -> bool {
        false
    }

    /// Whether the thread that sends a frame also forwards it, so that the loop is closed.
    fn is_run_by_sender(&self, _: &Scenario) -> bool {
        false
    }

    /// What stands for its null device with test frames.
    fn null(&self, _: &Scenario) -> Null {
        Null::InPlace
    }

    /// The longest frames of its link, in octets with FCS; `None` for a device without frames.
    fn longest_frame(&self) -> Option<u64> {
        Some(if self.is_in_process() { LARGEST } else { LARGEST_WITHOUT_JUMBO })
    }

    /// Why no native IPv6 passes it beside other frames; `None` where it does.
    fn no_foreground(&self) -> Option<&'static str> {
        let of_ipv6 = self.technology().is_some_and(|(plays, technology)| technology.versions(plays) == (6, 6));
        (of_ipv6 || self.forwarded_ipv6().is_some()).then_some("all its frames are IPv6 on both sides")
    }

    /// The metrics of DNS queries that it has.
    fn dns_metrics(&self) -> &'static [&'static str] {
        &[]
    }

    fn gets_frames(&self) -> bool {
        true
    }

    /// The device's technology and the part that it plays.
    fn technology(&self) -> Option<(Plays, &dyn Technology)> {
        None
    }

    /// The device's part and mutable technology.
    fn technology_mut(&mut self) -> Option<(Plays, &mut dyn Technology)> {
        None
    }

    /// Plain IPv6 forwarding, if that is what it does without a technology.
    fn forwarded_ipv6(&self) -> Option<Box<dyn Technology>> {
        None
    }

    /// Whether it forwards IPv4 and translates nothing.
    fn is_forwarding(&self) -> bool {
        false
    }

    fn is_stateful(&self) -> bool {
        self.technology().is_some_and(|(plays, technology)| technology.is_stateful(plays))
    }

    /// Outside addresses and ports; `None` without outside IPv4 addresses.
    fn nat(&self) -> Option<Nat> {
        let (plays, technology) = self.technology()?;
        let outside = technology.outside(plays)?.below(&technology_path(technology));
        Some(Nat { outside, state: self.nat_state() })
    }

    /// State, as far as the scenario knows it.
    fn nat_state(&self) -> Option<NatState> {
        let (plays, technology) = self.technology()?;
        NatState::of(plays, technology)
    }

    /// Outside ports of each address of its pool.
    fn outside_ports(&self) -> Option<u64> {
        let (_, technology) = self.technology()?;
        technology.port_pool().map(|pool| pool.ports)
    }

    /// Sizes of its connection tracking table, for a device whose table has them as axes.
    fn table_sizes(&self) -> Option<TableSizes> {
        None
    }

    fn set_table_sizes(&mut self, _: TableSizes) {}

    /// Whether it has an axis of its own, and up to which value.
    fn fit_axis(&self, axis: &str, flows: &Flows) -> Fit {
        self.technology().map_or(Fit::Lacks, |(plays, technology)| technology.fit(axis, plays, flows))
    }

    /// Sets an axis of its own.
    fn set_axis(&mut self, axis: &str, value: Count, flows: &mut Flows) {
        if let Some((_, technology)) = self.technology_mut() {
            technology.set(axis, value, flows);
        }
    }

    /// The faults and limits that are injected into it.
    fn injected(&self) -> Option<&KnownTruth> {
        None
    }

    /// The boxes of a bed file that it is.
    fn boxes<'a>(&self, _: &'a Scenario) -> Option<Cow<'a, Bed>> {
        None
    }

    /// The bed of its own, with the box that it is, as a bed file would describe it.
    fn own_bed(&self, _: &Scenario) -> Option<Bed> {
        None
    }

    /// What the box with this role is asked to be.
    fn asked(&self, role: &str) -> BoxPart {
        BoxPart::of(self.technology(), role)
    }

    fn has_disruption(&self, _: Disruption, _: &Scenario) -> bool {
        false
    }

    /// What it lacks to tell the memory of its table; `None` if it tells it.
    fn no_memory(&self, _: &Scenario) -> Option<Absence> {
        None
    }

    /// Whether the call stacks of its cores can be sampled.
    fn can_be_profiled(&self, _: &Scenario) -> bool {
        false
    }

    /// Whether the perf of this machine samples them.
    fn is_profiled_here(&self, scenario: &Scenario) -> bool {
        self.can_be_profiled(scenario)
    }
}

pub struct Dut(Box<dyn Device>);

impl Dut {
    /// A provider edge, whose subscribers the tester plays.
    pub(crate) fn is_of_subscribers(&self) -> bool {
        self.technology().is_some_and(|(plays, technology)| plays == Plays::Pe && technology.names().has_edges())
    }
}

impl<D: Device + 'static> From<D> for Dut {
    fn from(device: D) -> Dut {
        Dut(Box::new(device))
    }
}

impl Deref for Dut {
    type Target = dyn Device;
    fn deref(&self) -> &(dyn Device + 'static) {
        &*self.0
    }
}

impl DerefMut for Dut {
    fn deref_mut(&mut self) -> &mut (dyn Device + 'static) {
        &mut *self.0
    }
}

impl Clone for Dut {
    fn clone(&self) -> Dut {
        Dut((*self.0).copied())
    }
}

impl fmt::Debug for Dut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl PartialEq for Dut {
    fn eq(&self, other: &Dut) -> bool {
        // Devices are plain data, so their debug output is complete.
        format!("{self:?}") == format!("{other:?}")
    }
}

impl dyn Device + '_ {
    /// What stands for its null device with the trials of a scenario.
    pub fn null_device(&self, scenario: &Scenario) -> Null {
        if scenario.sends_queries() { Null::Nothing("DNS queries have none") } else { self.null(scenario) }
    }

    /// Octets by which its frames are longer than as IPv4, where they are longest.
    pub fn overhead(&self) -> usize {
        let of_kernel = self.forwarded_ipv6().map_or(0, |technology| technology.overhead());
        self.technology().map_or(of_kernel, |(_, technology)| technology.overhead())
    }

    /// Sessions that its table holds at most, where the scenario decides that; a kernel's table is known when it stands.
    pub fn table_size(&self) -> Option<Count> {
        let (_, technology) = self.technology().filter(|_| self.is_stateful())?;
        technology.state().map(tech::State::sessions)
    }

    /// The time after which it forgets a connection without frames; `None` if it has no state, or natmeter does not know
    /// the time.
    pub fn udp_timeout(&self) -> Option<Nanos> {
        Some(self.nat_state()?.udp_timeout)
    }

    /// Whether the device only forwards, IPv4 or IPv6.
    pub fn is_router(&self) -> bool {
        let of_ipv6 = self.technology().is_some_and(|(_, technology)| technology.networks().is_some());
        self.is_forwarding() || self.forwarded_ipv6().is_some() || of_ipv6
    }
}
