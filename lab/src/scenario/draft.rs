//! A scenario between reading and checking: typed values that still know the words they came from, so that
//! a rule about two of them can point at both.

use super::axis::{Axis, Swept};
use super::diagnostic::Place;
use super::nat::Words;
use super::quantity::WrittenRate;
use super::section::{Given, Spot};
use super::technology::{Plays, Technology};
use super::{Capture, Conntrack, Dut, Impair, Link, Mapping, Measure, Nat44, Scenario, Sweep, Tester, Traffic};
use method::{Count, Direction, Nanos, Order};
use wire::{AddrRange, PortRange};

/// All that was read.
pub struct Draft {
    pub name: String,
    pub about: String,
    pub allow_addresses: Vec<Spot<AddrRange>>,
    pub duts: Vec<DutDraft>,
    pub link: LinkDraft,
    /// Workers of the tester.
    pub testers: Spot<Count>,
    pub traffic: TrafficDraft,
    pub cores: Spot<Vec<Spot<Count>>>,
    pub axes: Vec<AxisDraft>,
    /// No axis was left out because its words are wrong.
    pub axes_sound: bool,
    /// What counts without `--full`.
    pub quick: MeasureDraft,
    /// What counts with it.
    pub full: MeasureDraft,
}

/// A further axis, the words of all its values, and these.
pub struct AxisDraft {
    pub axis: &'static Axis,
    pub place: Place,
    pub values: Vec<Spot<Count>>,
}

/// One DUT and the key that names it.
pub struct DutDraft {
    pub key: Place,
    pub kind: DutKind,
}

/// What stands in a DUT's table.
pub enum DutKind {
    Embedded(Nat44Draft),
    Technology { plays: Plays, technology: Box<Technology>, words: Words },
    Forwarding,
    KernelNat44(&'static str, Nat44Draft),
    Simulated { capacity: Spot<WrittenRate>, set_up_rate: Spot<WrittenRate>, seed: u64 },
}

pub struct Nat44Draft {
    pub pool: Spot<AddrRange>,
    pub pool_ports: Spot<PortRange>,
    pub mapping: Mapping,
    /// Absent: the largest number of connections.
    pub table: Given<Count>,
    /// Buckets of a kernel's table.
    pub hash_size: Given<Count>,
    pub udp_timeout: Spot<Nanos>,
}

/// The link and the words that name it.
pub struct LinkDraft {
    pub key: Option<Place>,
    pub link: Link,
    pub depth: Option<Place>,
    pub sound: bool,
    /// `[link.impair]` and the words that name it.
    pub impair: Option<(Place, Impair)>,
    pub capture: Option<(Place, Capture)>,
}

pub struct TrafficDraft {
    pub frame_size: Spot<Count>,
    pub ttl: u8,
    pub inside: Spot<AddrRange>,
    pub subscribers: Spot<Count>,
    pub source_ports: Spot<PortRange>,
    pub remote: Spot<AddrRange>,
    pub destination_ports: Spot<PortRange>,
    pub direction: Direction,
    pub responder_order: Order,
    pub seed: u64,
}

/// `[measure]`, or what `--full` makes of it.
pub struct MeasureDraft {
    pub connections: Given<Vec<Spot<Count>>>,
    pub metrics: Spot<Vec<Spot<String>>>,
    pub repetitions: u32,
    pub duration: Spot<Nanos>,
    pub start_delay: Nanos,
    pub drain: Nanos,
    pub settle: Nanos,
    pub phase1_drain: Nanos,
    pub error_ppm: u32,
    pub acceptance_ppm: u32,
    pub phase1_acceptance_ppm: u32,
    pub alpha: Spot<Option<u32>>,
    pub max_rate: Given<WrittenRate>,
    pub min_rate: Given<WrittenRate>,
    pub validate_at_most: Given<WrittenRate>,
    pub verify: Option<u32>,
    pub phase1_share_ppm: Option<u32>,
    pub time_limit: Option<Nanos>,
}

impl DutDraft {
    /// The name under which results are filed.
    pub fn name(&self) -> &'static str {
        match &self.kind {
            DutKind::Embedded(_) => "embedded",
            DutKind::Technology { plays, technology, .. } => technology.name_of(*plays),
            DutKind::Forwarding => "linux-forwarding",
            DutKind::KernelNat44(software, _) => software,
            DutKind::Simulated { .. } => "simulated",
        }
    }
    /// Whether it keeps connections.
    pub fn is_stateful(&self) -> bool {
        match &self.kind {
            DutKind::Forwarding => false,
            DutKind::Technology { plays, technology, .. } => technology.is_stateful(*plays),
            DutKind::Embedded(_) | DutKind::KernelNat44(..) | DutKind::Simulated { .. } => true,
        }
    }
    /// Whether it lives in this process.
    pub fn is_in_process(&self) -> bool {
        matches!(self.kind, DutKind::Embedded(_) | DutKind::Technology { .. } | DutKind::Simulated { .. })
    }
}

/// Octets of a frame beside its packet: header and FCS.
pub const ETHERNET: usize = 18;

impl Draft {
    /// Octets with FCS of a test frame where it is longest: a line carries no more than these.
    pub fn widest_frame(&self) -> usize {
        let overhead = |dut: &DutDraft| match &dut.kind {
            DutKind::Technology { technology, .. } => technology.overhead(),
            _ => 0,
        };
        self.traffic.frame_size.value as usize + self.duts.iter().map(overhead).max().unwrap_or(0)
    }

    /// The values that count.
    pub fn measure(&self, full: bool) -> &MeasureDraft {
        if full { &self.full } else { &self.quick }
    }

    /// The scenario; only after the checks found nothing.
    pub fn build(&self, full: bool) -> Scenario {
        let measure = self.measure(full);
        let widest = self.widest_frame();
        let connections = measure.connections.value.as_ref();
        let connections: Vec<Count> = connections.map_or_else(|| vec![0], |all| all.iter().map(|n| n.value).collect());
        let most = self.most(connections.iter().copied().max().unwrap_or(0));
        Scenario {
            name: self.name.clone(),
            about: self.about.clone(),
            duts: self.duts.iter().map(|dut| dut.build(&most, widest)).collect(),
            link: self.link.link.clone(),
            impair: self.link.impair.map(|(_, impair)| impair),
            capture: self.link.capture.map(|(_, capture)| capture),
            tester: Tester { workers: self.testers.value as u32 },
            traffic: self.traffic.build(),
            sweep: Sweep {
                connections,
                cores: self.cores.value.iter().map(|n| n.value as u32).collect(),
                axes: self.axes.iter().map(AxisDraft::build).collect(),
            },
            measure: measure.build(widest),
            full,
        }
    }
}

impl Draft {
    /// Sessions that there must be room for in a device's table with so many connections, at the point where they are shared
    /// out worst.
    pub(super) fn sessions(&self, dut: &DutDraft, connections: Count) -> Count {
        dut.sessions(&self.most(connections))
    }

    fn most(&self, connections: Count) -> Most {
        Most {
            connections,
            workers: self.most_workers(),
            customers: self.fewest_customers(),
            ports: self.traffic.source_ports.value.count().into(),
        }
    }

    /// Workers of a gateway at most.
    pub(super) fn most_workers(&self) -> u64 {
        self.cores.value.iter().map(|n| n.value).max().unwrap_or(1)
    }

    /// Rings of a link at most: every worker of the gateway has one from each of the tester's.
    pub(super) fn most_rings(&self) -> u64 {
        rings(&self.cores, &self.testers)
    }

    /// Customers at the point of the scenario that has the fewest.
    pub(super) fn fewest_customers(&self) -> u64 {
        let axis = |a: &&AxisDraft| a.axis.sets_subscribers || a.axis.name == "inside-addresses";
        let swept = self.axes.iter().filter(axis).flat_map(|a| a.values.iter().map(|n| n.value)).min();
        swept.unwrap_or_else(|| self.traffic.subscribers.value.max(self.traffic.inside.value.count.into())).max(1)
    }
}

/// Rings that a link has at most with so many cores of the gateway and workers of the tester.
pub(super) fn rings(cores: &Spot<Vec<Spot<Count>>>, testers: &Spot<Count>) -> u64 {
    cores.value.iter().map(|n| n.value).max().unwrap_or(1).max(1) * testers.value
}

/// What a table is made for that the scenario does not give a size.
struct Most {
    connections: Count,
    workers: u64,
    customers: u64,
    /// Source ports of a customer.
    ports: u64,
}

impl Most {
    /// Sessions that there must be room for on all workers together if each has the sessions of whole hosts, of which there are
    /// so many: hashing gives the fullest worker more than its share, by four standard deviations at most, and all of it if
    /// there is one host.
    fn sessions(&self, hosts: u64) -> Count {
        fullest(self.connections, hosts, self.workers)
    }
}

/// What must be there on all workers together, each with an equal part, for `needed` by so many hosts of which each is one
/// worker's.
pub(super) fn fullest(needed: u64, hosts: u64, workers: u64) -> u64 {
    let more = 1.0 + 4.0 * (workers.saturating_sub(1) as f64 / hosts as f64).sqrt();
    (needed as f64 * more.min(workers.max(1) as f64)).ceil() as u64
}

impl AxisDraft {
    fn build(&self) -> Swept {
        Swept { axis: self.axis.name.to_owned(), values: self.values.iter().map(|n| n.value).collect() }
    }
}

impl DutDraft {
    /// Sessions that its table must have room for.
    fn sessions(&self, most: &Most) -> Count {
        let by_port = || most.sessions(most.customers * most.ports);
        match &self.kind {
            DutKind::Embedded(_) => by_port(),
            DutKind::Technology { plays, technology, .. } => {
                technology.wholes(*plays, most.customers).map_or_else(by_port, |wholes| most.sessions(wholes))
            }
            // The kernel has one table for all cores.
            DutKind::Forwarding | DutKind::KernelNat44(..) | DutKind::Simulated { .. } => most.connections,
        }
    }

    fn build(&self, most: &Most, widest: usize) -> Dut {
        let usual = self.sessions(most);
        let nat44 = |draft: &Nat44Draft| Nat44 {
            pool: draft.pool.value,
            pool_ports: draft.pool_ports.value,
            mapping: draft.mapping,
            table: draft.table.value.unwrap_or(usual),
            udp_timeout: draft.udp_timeout.value,
            conntrack: Conntrack::default(),
        };
        match &self.kind {
            DutKind::Embedded(draft) => Dut::Embedded(nat44(draft)),
            DutKind::Technology { plays, technology, .. } => {
                let mut technology = technology.clone();
                technology.settle(usual);
                technology.pass_whole(widest.saturating_sub(ETHERNET));
                Dut::Technology { plays: *plays, technology }
            }
            DutKind::Forwarding => Dut::Kernel { software: self.name().to_owned(), nat44: None },
            DutKind::KernelNat44(software, draft) => {
                let conntrack = Conntrack { entries: draft.table.value, buckets: draft.hash_size.value };
                Dut::Kernel { software: (*software).to_owned(), nat44: Some(Nat44 { conntrack, ..nat44(draft) }) }
            }
            DutKind::Simulated { capacity, set_up_rate, seed } => Dut::Simulated {
                capacity: capacity.value.frames_per_second(widest),
                set_up_rate: set_up_rate.value.frames_per_second(widest),
                seed: *seed,
            },
        }
    }
}

impl TrafficDraft {
    fn build(&self) -> Traffic {
        Traffic {
            frame_size: self.frame_size.value as usize,
            ttl: self.ttl,
            inside: self.inside.value,
            subscribers: self.subscribers.value as u32,
            source_ports: self.source_ports.value,
            remote: self.remote.value,
            destination_ports: self.destination_ports.value,
            direction: self.direction,
            responder_order: self.responder_order,
            seed: self.seed,
        }
    }
}

impl MeasureDraft {
    fn build(&self, widest: usize) -> Measure {
        let rate = |of: &Given<WrittenRate>| of.value.map(|rate| rate.frames_per_second(widest));
        Measure {
            metrics: self.metrics.value.iter().map(|metric| metric.value.clone()).collect(),
            repetitions: self.repetitions,
            duration: self.duration.value,
            start_delay: self.start_delay,
            drain: self.drain,
            settle: self.settle,
            phase1_drain: self.phase1_drain,
            error_ppm: self.error_ppm,
            acceptance_ppm: self.acceptance_ppm,
            phase1_acceptance_ppm: self.phase1_acceptance_ppm,
            alpha_ppm: self.alpha.value,
            max_rate: rate(&self.max_rate),
            min_rate: rate(&self.min_rate),
            validate_at_most: rate(&self.validate_at_most),
            verify: self.verify,
            phase1_share_ppm: self.phase1_share_ppm,
            time_limit: self.time_limit,
        }
    }
}
