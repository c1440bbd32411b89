//! Keys of scenarios and gateways' files with type, range, default and help, except those of
//! technologies (`tech`), procedures, impairments, devices of known truth and the kernel's NAT44.

use crate::Lists;
use crate::cores::{Cores, CoresOf};
use crate::exclude::{Exclusion, Exclusions};
use crate::frame_size::LARGEST;
use crate::imix::{Imix, imix};
use crate::impair::Impair;
use crate::limits::{Limits, LimitsOf};
use crate::repetitions::{Repetitions, RepetitionsOf};
use crate::search::{Goals, METHODS, Method, WrittenGoal};
use crate::search_error::{SearchError, ShareOrRate};
use crate::search_keys::{Alpha, ShareOrAuto, WARM_STARTS, WarmStart};
use crate::truth::InjectedFault;
use crate::words::{ORDERS, SEQUENCES, Sequence, TABLES, WITHOUT_CLEAR, WithoutClear, popularity};
use key::kind::{
    Choice, ValueKind, Vlan, addresses, any_number, choice, duration, ip, list, mac, maybe, name, number, or_word, own,
    path, rate, series, share, text, yes_or_no,
};
use key::quantity::WrittenRate;
use key::{Book, Chapter, Slip, Table, Value, Variants, Wrong, computed, needed, or};
use method::{Count, Direction, Nanos, Order, Popularity, ResponderTable};
use serde_json::json;
use std::net::IpAddr;
use std::path::PathBuf;
use tech::{AXES, Flows, MOST_BUCKETS, MOST_ENTRIES, PLAYS, Plays};
use wire::view::MOST_SOURCE_MACS;
use wire::{AddrRange, Mac, VlanId};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VethIo {
    AfPacket,
    AfXdpGeneric,
    AfXdpNative,
}

pub const VETH_IO: &[Choice<VethIo>] = &[
    ("af-packet", VethIo::AfPacket, "packet sockets"),
    ("af-xdp-generic", VethIo::AfXdpGeneric, "XDP in the kernel's general receive path"),
    ("af-xdp-native", VethIo::AfXdpNative, "XDP in the driver"),
];

key::table! {
    /// Above all tables.
    pub struct Top {
        /// Name of the scenario: part of the name of the run's folder.
        name: String = "name", name(), needed("\"my-scenario\"");
        /// One sentence for people, in plan and report.
        about: String = "about", text(), or("");
        /// Published tables that the report prints beside the run, by their numbers in `natmeter published list`.
        compare: Vec<String> = "compare", list(text()), computed("none");
        /// What values must be, by metric: `throughput = ">= 3M"`, judged at the end of a run ([limits](limits.md)).
        limits: Limits = "limits", LimitsOf, computed("none");
        /// Reserved IPv4 blocks that may be used besides: parts of 169.254.0.0/16, 192.0.0.0/24 and 240.0.0.0/4 without the
        /// broadcast address. Public addresses are never allowed (RFC 6815).
        allow_addresses: Vec<AddrRange> = "allow-addresses", list(addresses()), computed("none");
        /// File of the test bed, beside the scenario; `--bed` replaces it.
        bed: Option<PathBuf> = "bed", maybe(path()), computed("tester and device are on this machine");
    }
}

key::table! {
    /// The embedded gateway, in natmeter's process, on its own threads. A technology's table configures it; without one it is a
    /// NAT44, and these keys of `[technology.nat44]` may stand here: `mapping`, `pool` (then by default 198.19.0.1),
    /// `pool-ports`, `table`, `udp-timeout`.
    pub struct Embedded {
        /// Which part of the technology the device plays; the tester plays the other one (RFC 8219, section 4). NAT44, SIIT,
        /// NAT64, NAT46 and NAT66 have one part.
        plays: Plays = "plays", choice(PLAYS), or("dual");
    }
}

key::table! {
    /// A box between two ports of the tester; needs a bed (`--bed`). Its technology is that of the scenario, or plain forwarding
    /// without one.
    pub struct External {
        /// Which part of the technology the box plays; the tester plays the other one.
        plays: Plays = "plays", choice(PLAYS), or("dual");
        /// Entries of its connection tracking table, for hooks: `{table}`.
        table: Option<Count> = "table", maybe(number(1..=MOST_ENTRIES)), computed("hooks see none");
        /// Buckets of its hash table, for hooks: `{hash-size}`.
        hash_size: Option<Count> = "hash-size", maybe(number(1..=MOST_BUCKETS)), computed("hooks see none");
    }
}

/// Shallowest in-process link, in frames; a burst is as long.
pub(crate) const LEAST_DEPTH: u64 = 32;

key::table! {
    /// Rings in memory between the tester and a device in this process.
    pub struct InProcess {
        /// Frames that each ring holds: the device's buffer.
        depth: Option<usize> = "depth", maybe(number(LEAST_DEPTH..=1 << 20)), computed("2048, or a hundredth of the smallest number of connections");
    }
}

key::table! {
    /// Two veth pairs into a device of this kernel; needs root.
    pub struct Veth {
        /// Back-end of the tester's ends.
        io: VethIo = "io", choice(VETH_IO), or("af-packet");
    }
}

key::table! {
    /// Frames of the tester's ports, kept as pcap files below `captures/` in the run folder.
    pub struct Capture {
        /// Frames of each port in each trial at most: the first half, and the last.
        frames: u32 = "frames", number(1..=100_000), or("64");
    }
}

/// Most workers of the tester: each has rings with every worker of the gateway.
const MOST_TESTERS: u64 = 64;

key::table! {
    /// The tester itself.
    pub struct Tester {
        /// Threads that send, receive and judge in each direction; more than one with the embedded gateway alone.
        workers: u32 = "workers", number(1..=MOST_TESTERS), or("1");
    }
}

key::table! {
    /// Test frames. The defaults suit stateful tests: one address a side (RFC 2544, appendix C.2.2), and port ranges that follow
    /// from the number of connections (RFC 9693, sections 4.4 and 5.1).
    pub struct Traffic {
        /// IPv4 frame size in octets, with FCS; with an IPv6 header frames are longer.
        frame_size: usize = "frame-size", frame_size(), or("64");
        /// Sizes of a mix in place of `frame-size`, a letter for each frame of a sequence that repeats (RFC 6985).
        frame_sizes: Option<Imix> = "frame-sizes", maybe(imix()), computed("all frames have `frame-size`");
        /// Share of frames that the device translates or tunnels, in phase 2 or stateless; the others are native IPv6, which it forwards
        /// as they are (RFC 8219, section 5.3).
        foreground_ppm: u32 = "foreground", share(), or("100 %");
        /// Time to live and hop limit of test frames.
        ttl: u8 = "ttl", number(2..=255), or("10");
        /// Ethernet source addresses of each port's test frames, pseudo-random (RFC 4814, section 4.2). With 1 it is that of the
        /// port.
        source_macs: u32 = "source-macs", number(1..=MOST_SOURCE_MACS as u64), or("1");
        /// Directions of phase 2. Of two with different rates, each searched rate is that of the faster one.
        direction: Direction = "direction", tech::Directions, or("both");
        /// Order in which the Responder uses its state table (RFC 9693, section 4.10).
        responder_order: Order = "responder-order", choice(ORDERS), or("random");
        /// How often connections are used, where they are drawn at random. RFC 4814 draws all alike, the worst case of a cache.
        popularity: Popularity = "popularity", popularity(), or("uniform");
        /// What the Responder does with its state table in phase 2 (RFC 9693, section 4.7).
        responder_table: ResponderTable = "responder-table", choice(TABLES), or("keep");
        /// Seed of everything pseudo-random.
        seed: u64 = "seed", any_number(), or("1");
    } with {
        /// The flows.
        flows: Flows;
    }
}

/// Any number: which frames fit depends on the link.
fn frame_size() -> impl ValueKind<Out = usize> {
    fn parse(value: &Value) -> Result<usize, Wrong> {
        number(0..=u64::MAX).parse(value)
    }
    own(
        parse,
        "count, 64 to 1518; with a device in this process to 9216",
        || json!({ "anyOf": [{ "type": "integer", "minimum": 64, "maximum": LARGEST }, { "type": "string" }] }),
    )
}

key::table! {
    /// What is varied: the matrix is the product of all axes, for each device.
    pub struct Sweep {
        /// Connections (N of RFC 9693).
        connections: Vec<Count> = "connections", series(number(1..=1 << 32)), computed("must be given for a device that keeps connections");
        /// Cores of the device: workers of the embedded gateway, or cores that a device of this kernel, or a box, may use. Over a bed of
        /// several boxes, `{ pe = [1, 2, 4], ce = 32 }` varies those of one.
        cores: Cores = "cores", CoresOf, or("1");
        /// Measurements to leave out: an item leaves out each measurement that meets all its conditions on `device`, `metric` and axes.
        exclude: Vec<Exclusion> = "exclude", Exclusions, computed("none");
    }
}

const HOUR: Nanos = Nanos::from_secs(3600);

key::table! {
    /// What is measured, and how. Left out, the keys have the values of a conforming run.
    pub struct Measure {
        /// Metrics, in the order in which they are measured.
        metrics: Vec<String> = "metrics", list(text()), or("[\"max_conn_est_rate\", \"throughput\"]");
        /// Repetitions of each search. `{ min = 5, max = 30, until-width = "2 %" }` ends those of a value when the interval of their
        /// median is at most 2 % of the median.
        repetitions: Repetitions = "repetitions", RepetitionsOf, or("10").conforms();
        /// Order of the measurements. All establishment rates of a point precede its phase 2 in both (RFC 9693, section 4.2).
        order: Option<Sequence> = "order", maybe(choice(SEQUENCES)), computed("interleaved where changing a point takes less than a tenth of its trials");
        /// Length of a trial (RFC 2544, section 24).
        duration: Nanos = "duration", duration(Nanos::from_millis(1)..=Nanos::from_secs(86_400)), or("60 s").conforms();
        /// Wait before sending (RFC 2544, section 23).
        start_delay: Nanos = "start-delay", duration(Nanos(0)..=HOUR), or("2 s").conforms();
        /// How long frames may arrive after the last one was sent (RFC 2544, section 23).
        drain: Nanos = "drain", duration(Nanos(0)..=HOUR), or("2 s").conforms();
        /// Rest before the next trial (RFC 2544, section 23).
        settle: Nanos = "settle", duration(Nanos(0)..=HOUR), or("5 s").conforms();
        /// Traffic before each trial that is not counted, in phase 2 or stateless: how long. The trial follows after the drain of
        /// phase 1 and the wait before sending.
        warm_up: Option<Nanos> = "warm-up", maybe(duration(Nanos::from_millis(1)..=HOUR)), computed("no warm-up").conforms();
        /// The rate of this traffic.
        warm_up_rate: Option<WrittenRate> = "warm-up-rate", maybe(rate()), computed("the rate of the trial").conforms();
        /// Drain of phase 1 (T of siitperf).
        phase1_drain: Nanos = "phase1-drain", duration(Nanos(0)..=Nanos::from_secs(2)), or("500 ms").conforms();
        /// Width of the interval at which a search stops: a share of the result, or a rate with its unit (`"1000 cps"`).
        error: SearchError = "error", ShareOrRate, or("0.1 %").conforms();
        /// Frames of a trial that must arrive; 100 % is RFC 2544.
        acceptance_ppm: u32 = "acceptance", share(), or("100 %").conforms();
        /// The same of phase 1.
        phase1_acceptance_ppm: u32 = "phase1-acceptance", share(), or("100 %").conforms();
        /// Connections are validated at this share of the rate at which they were set up (RFC 9693, section 4.6). `auto`: at that rate,
        /// but at most at 0.9 of the reverse one-way throughput, which is measured before.
        alpha: Option<Alpha> = "alpha", maybe(ShareOrAuto), computed("no validation");
        /// Connections are validated at no higher rate.
        validate_at_most: Option<WrittenRate> = "validate-at-most", maybe(rate()), computed("no limit");
        /// Lower end of every search.
        min_rate: Option<WrittenRate> = "min-rate", maybe(rate()), computed("one frame a trial");
        /// Upper end of every search.
        max_rate: Option<WrittenRate> = "max-rate", maybe(rate()), computed("what calibration allows");
        /// How throughputs are searched. Establishment rates have binary searches.
        search: Option<Method> = "search", maybe(choice(METHODS)), computed("binary; with `verify` above 1 binary-verify").conforms();
        /// Goals of `mlr`, the first one for the figure (RFC 9971): presets, or final trial duration, duration sum, loss ratio, exceed
        /// ratio and width. `rfc2544`, `tst009` and `loss99.99` have trials of `duration`, and `error` as width.
        goals: Vec<WrittenGoal> = "goals", list(Goals), computed("rfc2544").conforms();
        /// Trials at a rate before it has failed; more than one is not RFC 2544.
        verify: Option<u32> = "verify", maybe(number(1..=100)), computed("1").conforms();
        /// Trials that lost more frames than this in all directions are not tried again (Z of ETSI GS NFV-TST 009).
        verify_at_most: Option<Count> = "verify-at-most", maybe(number(0..=u64::MAX)), computed("no limit").conforms();
        /// Where binary searches begin: at their upper end, or at bounds that earlier ones found, which they prove anew.
        warm_start: WarmStart = "warm-start", choice(WARM_STARTS), or("off").conforms();
        /// Whether trials of binary searches for throughputs end when their loss is certainly too large (RFC 2544, section 24, has full
        /// length).
        early_end: bool = "early-end", yes_or_no(), or("false").conforms();
        /// Whether the trials of a search in phase 2 share one phase 1 (RFC 9693, section 4.4, has an empty table for each).
        keep_table: bool = "keep-table", yes_or_no(), or("false").conforms();
        /// What comes before each phase 1 if nothing empties the table of a box of a bed.
        without_clear: WithoutClear = "without-clear", choice(WITHOUT_CLEAR), or("wait");
        /// Whether one more trial at the throughput of each point shows where the device spends its time: adds the metric `lock_wait`,
        /// which `[measure.profiling]` describes.
        profile: bool = "profile", yes_or_no(), or("false");
        /// Whether the idle times of the device's cores are sampled in every trial, too, as often as `[measure.cpu-idle]` says. A sample
        /// takes CPU time (about 2 ms on a box, measured on one machine), which is part of the results (METHODOLOGY.md, CPU idle time).
        cpu_in_trials: bool = "cpu-in-trials", yes_or_no(), or("false");
        /// Preparing phases 1 run at this share of the smallest establishment rate.
        phase1_share_ppm: Option<u32> = "phase1-share", maybe(share()), computed("70 %");
        /// Preparing phases 1 run at this rate, so that the establishment rate need not be measured; the device must set up every
        /// connection at it (RFC 9693, section 4.4).
        phase1_rate: Option<WrittenRate> = "phase1-rate", maybe(rate()), computed("`phase1-share` of the establishment rate");
    }
}

key::table! {
    /// How long a run may take.
    pub struct TimeLimit {
        /// Second and later repetitions that do not fit into this time are skipped; no trial begins after twice this time.
        time_limit: Option<Nanos> = "time-limit", maybe(duration(Nanos::from_secs(1)..=Nanos::from_secs(30 * 86_400))), computed("no limit");
    }
}

key::table! {
    /// Connections of a conforming run.
    pub struct FullConnections {
        /// Connections (N of RFC 9693).
        connections: Vec<Count> = "connections", series(number(1..=1 << 32)), computed("those of `[sweep]`");
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Io {
    AfPacket,
    AfXdpGeneric,
    AfXdpNative,
    Tap,
    Tun,
}

const IO: &[Choice<Io>] = &[
    ("af-packet", Io::AfPacket, "packet sockets"),
    ("af-xdp-generic", Io::AfXdpGeneric, "XDP in the kernel's general receive path"),
    ("af-xdp-native", Io::AfXdpNative, "XDP in the driver"),
    ("tap", Io::Tap, "TAP devices that the gateway makes"),
    ("tun", Io::Tun, "TUN devices that the gateway makes"),
];

key::table! {
    /// The gateway as a program.
    pub struct GatewayKeys {
        /// Which part of the technology it plays.
        plays: Plays = "plays", choice(PLAYS), or("pe");
        /// Workers, one core each; more than one needs an interface with a queue for each (AF_XDP).
        workers: usize = "workers", number(1..=256), or("1");
        /// How packets come in and go out.
        io: Io = "io", choice(IO), or("af-packet");
        /// Whether workers poll without a pause, for throughput.
        busy: bool = "busy", yes_or_no(), or("false");
        /// Whether the gateway answers ARP, Neighbor Solicitations and pings itself; otherwise the kernel does.
        answer: bool = "answer", yes_or_no(), or("true");
        /// The largest maximum segment size that TCP hosts may announce to each other through the gateway: a number, or `"clamp"` for the largest that fits both links without fragments. The gateway lowers the option of SYN segments.
        tcp_mss: Option<Option<u16>> = "tcp-mss", maybe(or_word("clamp", number(536..=65_495))), computed("it changes no option");
        /// Path of the control socket.
        socket: Option<PathBuf> = "socket", maybe(path()), computed("`natmeter-gateway.sock` in `$XDG_RUNTIME_DIR`, or in /run");
    }
}

/// The neighbour that a side sends everything to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextHop {
    Mac(Mac),
    /// Its IP address, to be asked for.
    Ip(IpAddr),
}

key::table! {
    /// One side of the gateway.
    pub struct SideKeys {
        /// Interface; between capture files there is none.
        interface: Option<String> = "interface", maybe(text()), computed("none");
        /// Ethernet address of the gateway.
        mac: Option<Mac> = "mac", maybe(mac()), computed("the interface's");
        /// IP address of the gateway.
        address: IpAddr = "address", ip(), needed("\"198.18.0.1\"");
        /// The neighbour that everything is sent to: its IP or Ethernet address.
        next_hop: NextHop = "next-hop", next_hop(), needed("\"198.18.0.2\" (or its Ethernet address)");
        /// Largest packet, in octets.
        mtu: u16 = "mtu", number(68..=65_535), or("1500");
        /// The VLAN of the side's link (IEEE 802.1Q), or its two VLANs (IEEE 802.1ad). The outer tag has the type
        /// 0x88a8; the interface needs an MTU 8 octets larger.
        vlan: Option<VlanId> = "vlan", maybe(Vlan), computed("frames have no tag");
    }
}

fn next_hop() -> impl ValueKind<Out = NextHop> {
    fn parse(value: &Value) -> Result<NextHop, Wrong> {
        match mac().parse(value) {
            Ok(mac) => Ok(NextHop::Mac(mac)),
            Err(_) => ip().parse(value).map(NextHop::Ip),
        }
    }
    own(parse, "IP or Ethernet address", || json!({ "type": "string" }))
}

/// Keys of `[technology.nat44]` that may stand in `[dut.embedded]` without a technology.
pub(crate) const ALIASED: [&str; 5] = ["mapping", "pool", "pool-ports", "table", "udp-timeout"];

pub fn book(lists: impl Into<Lists>) -> Book {
    let Lists { technologies, kinds, procedures } = lists.into();
    let technology = |entry: &&tech::ListEntry| (entry.chapters)(&format!("technology.{}", entry.name()));
    let technologies: Vec<Chapter> = technologies.iter().flat_map(technology).collect();
    let mut devices: Vec<Chapter> = kinds.iter().map(|kind| (kind.keys)(kind.path())).collect();
    let nat44 = technologies.iter().find(|chapter| chapter.path == "technology.nat44");
    let aliased = nat44.into_iter().flat_map(|nat44| &nat44.keys).filter(|key| ALIASED.contains(&key.name));
    devices
        .iter_mut()
        .filter(|chapter| chapter.path == "dut.embedded")
        .for_each(|embedded| embedded.keys.extend(aliased.clone()));
    let mut sweep = Chapter::of::<Sweep>("sweep");
    sweep.keys.extend(AXES.iter().map(|axis| &axis.key));
    let mut measure = Chapter::of::<Measure>("measure");
    measure.keys.extend(TimeLimit::keys());
    let tables = procedure::tables(procedures);
    let mut full = Chapter::with("full", FULL, FullConnections::keys());
    full.keys.extend(Measure::keys());
    let (own, within): (Vec<_>, Vec<_>) = tables.into_iter().partition(|table| table.after.is_empty());
    for table in within {
        for of in [&mut measure, &mut full] {
            let at = of.keys.iter().position(|key| key.name == table.after).map_or(of.keys.len(), |at| at + 1);
            of.keys.splice(at..at, table.chapter("measure").keys);
        }
    }
    let below = |parent: &'static str| own.iter().map(move |table| table.chapter(parent));
    let mut chapters = vec![Chapter::of::<Top>("").lenient()];
    chapters.extend(devices);
    chapters.extend([
        Chapter::of::<InProcess>("link.in-process"),
        Chapter::with("link.tap", "A TAP pair into a device of this kernel.", Vec::new()),
        Chapter::of::<Veth>("link.veth"),
        Chapter::of::<Impair>("link.impair"),
        Chapter::of::<Capture>("link.capture"),
        Chapter::of::<Tester>("tester"),
        Chapter::of::<Traffic>("traffic"),
        sweep,
        measure,
    ]);
    chapters.extend(below("measure"));
    chapters.push(full);
    chapters.extend(below("full"));
    chapters.extend([
        Chapter::of::<GatewayKeys>("gateway"),
        Chapter::of::<InjectedFault>("gateway.known-truth"),
        Chapter::of::<SideKeys>("gateway.left"),
        Chapter::of::<SideKeys>("gateway.right"),
    ]);
    chapters.extend(technologies);
    Book { chapters, slips: SLIPS, variants: Some(Variants { table: SCALE, about: SCALES }) }
}

const SLIPS: &[Slip] = &[
    (
        &["loss", "frame-loss", "packet-loss", "loss-ratio", "loss-tolerance", "tolerance"],
        "`acceptance` is the share of frames that must arrive: \"99.9 %\" tolerates 0.1 % frame loss; \
         `link.impair.loss` loses frames on purpose",
    ),
    (
        &["latency", "delay", "jitter", "pdv", "ipdv", "rtt"],
        "latency, pdv and ipdv are metrics: add them to `metrics` in [measure]; `link.impair.delay` holds frames on purpose",
    ),
    (
        &["packet-size", "packet-length", "frame-length", "frame-sizes", "size"],
        "`frame-size` is the size of the IPv4 frame with FCS: one value in [traffic], several in [sweep]",
    ),
    (&["runs", "repeat", "repeats", "iterations", "trials"], "`repetitions` is how often each search is repeated"),
    (
        &["sessions", "flows", "states", "mappings"],
        "`connections` in [sweep] is the number of connections (N of RFC 9693)",
    ),
    (
        &["cpu", "cpus", "threads"],
        "`cores` in [sweep] are the cores of the device, `workers` in [tester] the threads of the tester",
    ),
    (
        &["precision", "resolution", "accuracy"],
        "`error` is the width of the interval at which a search stops, such as \"1 %\" or \"1000 cps\"",
    ),
    (
        &["time", "timeout", "limit", "max-time", "budget"],
        "`time-limit` limits the run, `duration` is the length of a trial, `udp-timeout` is a key of the device",
    ),
    (
        &["rate", "load", "pps", "fps", "cps", "speed", "bandwidth", "line-rate"],
        "natmeter searches for the rate; `min-rate` and `max-rate` are the ends of the search",
    ),
];

/// What to do instead of several values of the key at `path`.
pub(crate) fn several(path: &str) -> String {
    let name = path.rsplit_once('.').map_or(path, |(_, name)| name);
    if AXES.iter().any(|axis| axis.name() == name) {
        return format!("to sweep several values, write them for `sweep.{name}`");
    }
    let own = Sweep::keys().into_iter().map(|key| key.name).filter(|name| *name != "exclude");
    let axes: Vec<&str> = own.chain(AXES.iter().map(tech::Axis::name)).collect();
    format!(
        "only the axes of [sweep] take several values: {}; run natmeter once for each value of `{name}`",
        axes.join(", ")
    )
}

const FULL: &str = "Other values for `--full`, a conforming run. Keys that decide conformance come from `[full]` or have their defaults; \
    all others fall back to `[measure]`.";

/// Top-level table of values for `--scale`.
pub(crate) const SCALE: &str = "scale";

const SCALES: &str = "Other values for `--scale NAME`, for example for a smaller machine: any table and key of the scenario, as in \
    `[scale.laptop.sweep]`. A scale with `dut`, `link` or `technology` replaces all tables of that kind that it does not name.";
