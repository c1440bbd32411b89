//! This machine's kernel as device: forwarding, or NAT44 with its keys. It is the box of a bed of its own, in a namespace.

use super::{Device, DeviceKind, DeviceTables, Dut, Null, Setup, TableSizes, TestBed};
use crate::bed::software::TechnologyPart;
use crate::bed::{self, Bed, BedText, BoxPart};
use crate::nat::{Nat, NatState};
use crate::{Link, Scenario, VETH_IO};
use key::kind::{addresses, duration, maybe, number, ports, word_for};
use key::{Chapter, computed, or};
use method::{Count, Nanos};
use procedure::dns::DNS_QUERIES_RESOLVED;
use tech::{Fit, Flows, MOST_BUCKETS, MOST_ENTRIES, Mapping, Outside, Ports, Technology};
use wire::{AddrRange, PortRange};

pub(super) const FORWARDING: DeviceKind = DeviceKind {
    table: "linux-forwarding",
    keys: |path| {
        let about =
            "IPv4 forwarding of this kernel, in a namespace that is made for the run: the baseline of the NATs.";
        Chapter::with(path, about, Vec::new())
    },
    read: |_| vec![Some(Kernel { software: FORWARDING.table, nat44: None }.into())],
};

pub(super) const IPV6_FORWARDING: DeviceKind = DeviceKind {
    table: "linux-ipv6-forwarding",
    keys: |path| {
        let about = "IPv6 forwarding of this kernel, in a namespace that is made for the run, between networks of 2001:2::/48 \
                     (RFC 5180).";
        Chapter::with(path, about, Vec::new())
    },
    read: |_| vec![Some(Kernel { software: IPV6_FORWARDING.table, nat44: None }.into())],
};

pub(super) const NFTABLES: DeviceKind =
    DeviceKind { table: "nftables", keys: Chapter::of::<KernelNat44>, read: |given| nat44(given, &NFTABLES) };

pub(super) const IPTABLES_LEGACY: DeviceKind = DeviceKind {
    table: "iptables-legacy",
    keys: Chapter::of::<KernelNat44>,
    read: |given| nat44(given, &IPTABLES_LEGACY),
};

pub(super) const IPTABLES_NFT: DeviceKind =
    DeviceKind { table: "iptables-nft", keys: Chapter::of::<KernelNat44>, read: |given| nat44(given, &IPTABLES_NFT) };

key::table! {
    /// Stateful NAT44 of this kernel, in a namespace that is made for the run. Linux maps by four-tuple: there is no `mapping`.
    pub struct KernelNat44 {
        /// Outside addresses, one range; none of `inside` or `remote`.
        pool: AddrRange = "pool", addresses(), or("198.19.0.1");
        /// Outside ports of each address; the source ports must lie in them.
        pool_ports: PortRange = "pool-ports", ports(), or("1024-65535");
        /// Entries of the connection tracking table (`nf_conntrack_max`); restored after the run. At least the connections, and
        /// 2,048 for packets in flight. Changing it needs root.
        table: Option<Count> = "table", maybe(number(1..=MOST_ENTRIES)), computed("the current value if it suffices, else the connections and 2,048");
        /// Buckets of its hash table (`nf_conntrack_buckets`); restored after the run. The kernel takes a multiple of 512.
        /// Changing it needs root.
        hash_size: Option<Count> = "hash-size", maybe(number(1..=MOST_BUCKETS)), computed("one for each entry, and no fewer than there are");
        /// `nf_conntrack_udp_timeout` and `nf_conntrack_udp_timeout_stream`, in whole seconds (RFC 9693, section 4.4).
        udp_timeout: Nanos = "udp-timeout", duration(Nanos(0)..=Nanos::from_secs(365 * 86_400)), or("10000 s");
    }
}

/// This machine's kernel.
#[derive(Clone, Debug)]
struct Kernel {
    software: &'static str,
    /// `None` for plain forwarding.
    nat44: Option<KernelNat44>,
}

fn nat44(given: &mut DeviceTables<'_, '_>, kind: &'static DeviceKind) -> Vec<Option<Dut>> {
    let keys = given.sections.table::<KernelNat44>(&kind.path());
    vec![keys.map(|nat44| Kernel { software: kind.table, nat44: Some(nat44) }.into())]
}

impl Device for Kernel {
    fn table(&self) -> &'static str {
        self.software
    }
    fn function(&self) -> &'static str {
        match (&self.nat44, self.is_forwarding()) {
            (Some(_), _) => "stateful NAT44",
            (None, true) => "IPv4 forwarding",
            (None, false) => "IPv6 forwarding",
        }
    }
    fn setup(&self) -> Setup<'_> {
        Setup::Boxes
    }
    fn place(&self, _: &Scenario) -> TestBed {
        TestBed::SameMachine
    }
    fn own_bed(&self, scenario: &Scenario) -> Option<Bed> {
        let io = match scenario.link {
            Link::Veth { io } if !scenario.sends_queries() => word_for(VETH_IO, &io),
            Link::Tap if !scenario.sends_queries() => "tap",
            _ => "af-packet",
        };
        let is_ipv6 = self.forwarded_ipv6().is_some();
        let native = scenario.native_networks().is_some();
        let port = |side: &str, four: &str, six: &str| {
            let (ipv4, ipv6) = (format!("\"{four}.2/24\""), format!("\"{six}::2/126\""));
            let (addresses, gateways) = match (is_ipv6, native) {
                (true, _) => (ipv6, format!("gateway = \"{six}::1\"")),
                (_, true) => {
                    (format!("{ipv4}, {ipv6}"), format!("gateway = \"{four}.1\"\ngateway-ipv6 = \"{six}::1\""))
                }
                _ => (ipv4, format!("gateway = \"{four}.1\"")),
            };
            format!(
                "[bed.{side}]\ninterface = \"tester-{side}\"\nio = \"{io}\"\naddresses = [{addresses}]\n{gateways}\n"
            )
        };
        let text = format!(
            "{}{}[dut]\non = \"namespace\"\nsoftware = \"{}\"\n",
            port("left", "198.18.0", "2001:2"),
            port("right", "198.19.0", "2001:2:0:8000"),
            self.software
        );
        let bed = bed::parse(&BedText { name: "built-in".to_owned(), text, t0: Vec::new() });
        Some(bed.expect("a sound bed file"))
    }
    fn asked(&self, _: &str) -> BoxPart {
        let technology = match (&self.nat44, self.forwarded_ipv6()) {
            (Some(_), _) => "nat44",
            (None, Some(technology)) => technology.name(),
            (None, None) => "forwarding",
        };
        BoxPart { technology, part: TechnologyPart::Whole }
    }
    fn is_kernel_of_tester(&self, _: &Scenario) -> bool {
        true
    }
    fn is_run_by_sender(&self, scenario: &Scenario) -> bool {
        scenario.sweep.cores.is_default()
    }
    /// The write of a frame into a TAP forwards it, too.
    fn null(&self, scenario: &Scenario) -> Null {
        if scenario.link == Link::Tap { Null::Nothing("a TAP has none") } else { Null::InPlace }
    }
    fn dns_metrics(&self) -> &'static [&'static str] {
        if self.forwarded_ipv6().is_some() { &[] } else { &[DNS_QUERIES_RESOLVED.key] }
    }
    fn forwarded_ipv6(&self) -> Option<Box<dyn Technology>> {
        (self.software == IPV6_FORWARDING.table).then(tech::ipv6_forwarding)
    }
    fn is_forwarding(&self) -> bool {
        self.nat44.is_none() && self.forwarded_ipv6().is_none()
    }
    fn is_stateful(&self) -> bool {
        self.nat44.is_some()
    }
    fn nat(&self) -> Option<Nat> {
        let nat44 = self.nat44.as_ref()?;
        let path = |key: &str| format!("dut.{}.{key}", self.software);
        let outside = Outside {
            key: "pool",
            pool: vec![(path("pool"), nat44.pool)],
            ports: Ports::Range(nat44.pool_ports, path("pool-ports")),
            beside_inside: true,
        };
        Some(Nat { outside, state: self.nat_state() })
    }
    /// Linux maps by four-tuple.
    fn nat_state(&self) -> Option<NatState> {
        let nat44 = self.nat44.as_ref()?;
        Some(NatState {
            table_path: format!("dut.{}", self.software),
            mapping: Mapping::AddressAndPortDependent,
            sessions: nat44.table,
            udp_timeout: nat44.udp_timeout,
        })
    }
    fn outside_ports(&self) -> Option<u64> {
        self.nat44.as_ref().map(|nat44| nat44.pool_ports.count().into())
    }
    fn table_sizes(&self) -> Option<TableSizes> {
        self.nat44.as_ref().map(|nat44| TableSizes { entries: nat44.table, buckets: nat44.hash_size })
    }
    fn set_table_sizes(&mut self, TableSizes { entries, buckets }: TableSizes) {
        if let Some(nat44) = &mut self.nat44 {
            (nat44.table, nat44.hash_size) = (entries, buckets);
        }
    }
    fn fit_axis(&self, axis: &str, flows: &Flows) -> Fit {
        match (&self.nat44, axis) {
            (Some(_), "inside-addresses") => {
                Fit::UpTo(flows.inside.count.into(), "more than `inside` has", "widen `inside` in [traffic]")
            }
            (Some(nat44), "outside-addresses") => {
                Fit::UpTo(nat44.pool.count.into(), "more than `pool` has", "widen `pool`")
            }
            _ => Fit::Lacks,
        }
    }
    fn set_axis(&mut self, axis: &str, value: Count, flows: &mut Flows) {
        match (&mut self.nat44, axis) {
            (Some(_), "inside-addresses") => flows.inside.count = value as u32,
            (Some(nat44), "outside-addresses") => nat44.pool.count = value as u32,
            _ => {}
        }
    }
    fn can_be_profiled(&self, _: &Scenario) -> bool {
        true
    }
}
