//! A scenario: what a person wants to be measured, as typed values that cannot be wrong. The text form is
//! TOML; reading and checking it is the business of the files beside this one: `tree` knows TOML, `schema`
//! the keys, `quantity` the units, `section` reads a table, `read` says what the keys mean, `check` what
//! cannot be measured, `summary` what was understood, `axis` what can be swept, `point` a point of the matrix, `check_axes` what of it cannot, `nat` what the rules ask of a NAT and `check_nat` those that do, `check_shares` what a customer may have of it, `check_technology` what a technology's parameters rule out, `address` where frames may go, `diagnostic` how a mistake is shown.

mod address;
mod address6;
pub mod axis;
mod check;
mod check_axes;
mod check_nat;
mod check_shares;
mod check_technology;
mod conformance;
pub mod diagnostic;
mod draft;
pub mod gateway;
mod nat;
mod point;
pub mod quantity;
mod read;
mod schema;
mod section;
mod summary;
pub mod technology;
mod tree;

pub use conformance::conformance;
pub use diagnostic::Complaints;
pub use point::Point;
pub use read::{Loaded, Options, ScenarioError, parse, read};
pub use summary::{Summary, impair_in_words, technologies};

use method::{Count, Direction, Nanos, Order};
use plane::nat44::config::Mapping as PlaneMapping;
use serde::{Deserialize, Serialize};
use std::net::IpAddr;
use technology::{Plays, Technology};
use wire::{AddrRange, PortRange};

/// The kinds of device that a scenario can have, as they stand below `[dut.…]`.
pub fn dut_kinds() -> impl Iterator<Item = &'static str> {
    schema::kinds("dut")
}

/// Whether frames of a test may have this address (RFC 6815), wherever it was found; what `allow-addresses` can name included.
pub fn is_for_laboratories(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(addr) => address::may_be_requested(AddrRange::one(addr)),
        IpAddr::V6(addr) => address6::is_allowed(wire::Prefix6 { addr, len: 128 }),
    }
}

/// One scenario, all defaults filled in and all cross-checks passed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Scenario {
    /// Short name: part of the run folder's name.
    pub name: String,
    /// One sentence for people.
    pub about: String,
    /// Devices under test, measured one after the other.
    pub duts: Vec<Dut>,
    /// How tester and DUT are joined.
    pub link: Link,
    /// What is done on purpose to frames that the tester receives.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub impair: Option<Impair>,
    /// What is kept of the tester's frames.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capture: Option<Capture>,
    /// The tester itself.
    #[serde(default, skip_serializing_if = "Tester::is_usual")]
    pub tester: Tester,
    /// Test frames.
    pub traffic: Traffic,
    /// The axes.
    pub sweep: Sweep,
    /// What is measured and how.
    pub measure: Measure,
    /// Conforming run (`--full`) or the scenario's quick values.
    pub full: bool,
}

/// A device under test.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Dut {
    /// The embedded gateway as a NAT44: same process, own threads.
    Embedded(Nat44),
    /// The embedded gateway with another technology.
    Technology {
        /// Which part of it.
        plays: Plays,
        /// The technology.
        technology: Box<Technology>,
    },
    /// This kernel, in a namespace that the tool makes.
    Kernel {
        /// Name of the software as `natmeter list` shows it: linux-forwarding, nftables, iptables-legacy, iptables-nft.
        software: String,
        /// NAT44 parameters; `None` for plain forwarding.
        nat44: Option<Nat44>,
    },
    /// A simulated device with known truth, for `natmeter selftest` and tests of the tool itself.
    Simulated {
        /// Frames a second that it forwards in a direction.
        capacity: Count,
        /// Connections a second that it sets up.
        set_up_rate: Count,
        /// Seed of its noise.
        seed: u64,
    },
}

impl Dut {
    /// Octets by which its frames are longer than as IPv4, where they are longest.
    pub fn overhead(&self) -> usize {
        if let Dut::Technology { technology, .. } = self { technology.overhead() } else { 0 }
    }
    /// The name under which results of this DUT are filed.
    pub fn name(&self) -> &str {
        match self {
            Dut::Embedded(_) => "embedded",
            Dut::Technology { plays, technology } => technology.name_of(*plays),
            Dut::Kernel { software, .. } => software,
            Dut::Simulated { .. } => "simulated",
        }
    }
    /// Sessions that its table holds at most, where the scenario decides that; of kernels it is known when they stand.
    pub fn table_size(&self) -> Option<Count> {
        match self {
            Dut::Embedded(nat) => Some(nat.table),
            Dut::Technology { technology, .. } if self.is_stateful() => technology.state().map(|state| state.table),
            Dut::Technology { .. } | Dut::Kernel { .. } | Dut::Simulated { .. } => None,
        }
    }
    /// Whether it keeps connections.
    pub fn is_stateful(&self) -> bool {
        match self {
            Dut::Kernel { nat44, .. } => nat44.is_some(),
            Dut::Technology { plays, technology } => technology.is_stateful(*plays),
            Dut::Embedded(_) | Dut::Simulated { .. } => true,
        }
    }
}

/// Mapping behaviour of a NAT (RFC 4787, section 4.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mapping {
    /// One mapping an inside address and port, sessions above it.
    #[default]
    EndpointIndependent,
    /// One mapping a four-tuple, as Linux does it.
    AddressAndPortDependent,
}

impl From<PlaneMapping> for Mapping {
    fn from(mapping: PlaneMapping) -> Mapping {
        match mapping {
            PlaneMapping::EndpointIndependent => Mapping::EndpointIndependent,
            PlaneMapping::AddressAndPortDependent => Mapping::AddressAndPortDependent,
        }
    }
}

/// A stateful NAT44.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Nat44 {
    /// Outside addresses.
    pub pool: AddrRange,
    /// Outside ports.
    pub pool_ports: PortRange,
    /// Mapping behaviour (embedded gateway only).
    pub mapping: Mapping,
    /// Sessions that the table holds at most.
    pub table: Count,
    /// Timeout of both kinds of UDP entries.
    pub udp_timeout: Nanos,
    /// What is asked of the table of a kernel device.
    #[serde(default, skip_serializing_if = "Conntrack::is_usual")]
    pub conntrack: Conntrack,
}

/// The kernel's table of connections, where the scenario asks for something of it; else it follows from the connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conntrack {
    /// Entries at most: nf_conntrack_max.
    pub entries: Option<Count>,
    /// Hash buckets: nf_conntrack_buckets.
    pub buckets: Option<Count>,
}

impl Conntrack {
    fn is_usual(&self) -> bool {
        *self == Conntrack::default()
    }
}

/// How tester and DUT are joined.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Link {
    /// In-process link to the embedded gateway.
    InProcess {
        /// Frames a ring holds: the DUT's buffer.
        depth: usize,
    },
    /// A TAP pair into a kernel DUT.
    Tap,
    /// Two veth pairs into a kernel DUT.
    Veth {
        /// Back-end of the tester's ends.
        io: VethIo,
    },
}

/// Damage done on purpose to frames on their way to the tester, on both sides: for teaching, and to see whether a
/// set-up notices. Shares are parts per million.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Impair {
    /// Frames lost.
    pub loss_ppm: u32,
    /// Frames that come twice.
    pub duplicate_ppm: u32,
    /// Frames that a later one overtakes.
    pub reorder_ppm: u32,
    /// Frames with one bit inverted behind the Ethernet header.
    pub corrupt_ppm: u32,
    /// How long every frame is held.
    pub delay: Nanos,
    /// Chooses the frames.
    pub seed: u64,
}

/// Frames kept for Wireshark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Capture {
    /// Of each of the tester's ports in each trial at most so many: the first half, and the last.
    pub frames: u32,
}

/// The tester itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tester {
    /// Threads that send, receive and judge in each direction, from 1.
    pub workers: u32,
}

impl Default for Tester {
    fn default() -> Tester {
        Tester { workers: 1 }
    }
}

impl Tester {
    #[allow(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
    fn is_usual(&self) -> bool {
        *self == Tester::default()
    }
}

/// Back-end on a veth pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum VethIo {
    /// sendmmsg and TPACKET ring.
    AfPacket,
    /// AF_XDP with the generic program.
    AfXdpGeneric,
    /// AF_XDP with the driver's own XDP.
    AfXdpNative,
}

/// The words for [`VethIo`].
pub const VETH_IO: &[(&str, VethIo)] = &[
    ("af-packet", VethIo::AfPacket),
    ("af-xdp-generic", VethIo::AfXdpGeneric),
    ("af-xdp-native", VethIo::AfXdpNative),
];

/// Test frames.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Traffic {
    /// IPv4 frame size in octets, with FCS.
    pub frame_size: usize,
    /// Time to live.
    pub ttl: u8,
    /// Addresses of the Initiator (Left).
    pub inside: AddrRange,
    /// Subscribers whose CEs the tester plays (Single DUT set-up of a PE); 1 otherwise.
    #[serde(default = "one")]
    pub subscribers: u32,
    /// Its source ports.
    pub source_ports: PortRange,
    /// Addresses of the Responder (Right).
    pub remote: AddrRange,
    /// Its ports.
    pub destination_ports: PortRange,
    /// Directions of phase 2.
    pub direction: Direction,
    /// Order in which the Responder uses its state table.
    pub responder_order: Order,
    /// Seed of everything pseudo-random.
    pub seed: u64,
}

fn one() -> u32 {
    1
}

/// The axes: the matrix is their product, for each DUT.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sweep {
    /// Connections (N); one entry 0 for stateless scenarios.
    pub connections: Vec<Count>,
    /// Cores of the DUT (gateway workers, or RPS mask of a namespace DUT).
    pub cores: Vec<u32>,
    /// Further axes: those of [`axis::AXES`] that the scenario sweeps.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub axes: Vec<axis::Swept>,
}

/// What is measured and how.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measure {
    /// Keys of the metrics, as in `method::metric::METRICS`, in the order in which they are measured.
    pub metrics: Vec<String>,
    /// Repetitions of each search.
    pub repetitions: u32,
    /// Length of a trial.
    pub duration: Nanos,
    /// Both directions start this long after the ports are ready.
    pub start_delay: Nanos,
    /// How long frames may arrive after the last was sent.
    pub drain: Nanos,
    /// Rest before the next trial.
    pub settle: Nanos,
    /// Drain of phase 1 (T of RFC 9693).
    pub phase1_drain: Nanos,
    /// Relative error at which a search stops, in parts per million of the result.
    pub error_ppm: u32,
    /// Acceptance of phase 2 and stateless trials in parts per million received; 1,000,000 is RFC 2544.
    pub acceptance_ppm: u32,
    /// Acceptance of phase 1.
    pub phase1_acceptance_ppm: u32,
    /// Validation factor alpha in parts per million; `None` is no validation.
    pub alpha_ppm: Option<u32>,
    /// Upper end of every search, frames per second per direction; `None`: what calibration allows.
    pub max_rate: Option<Count>,
    /// Lower end of every search; `None`: a trial of one frame.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_rate: Option<Count>,
    /// Connections are validated at no higher rate, whatever alpha is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub validate_at_most: Option<Count>,
    /// Trials at a rate before it has failed; `None` is one, as in RFC 2544.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verify: Option<u32>,
    /// Preparing phases 1 run at this share of the smallest establishment rate, in parts per million.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase1_share_ppm: Option<u32>,
    /// No further repetition of a search is begun when this time would not suffice for a first one of each that is left.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_limit: Option<Nanos>,
}
