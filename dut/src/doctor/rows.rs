//! The doctor's table: one row for each finding.

use super::{Of, Port, Verdict};
use crate::cpu;
use crate::readings::{CLOCK_SOURCE, GOVERNORS, LOAD, MEMORY, MITIGATIONS, Readings, SMT_ACTIVE};
use crate::setting::{Parameter, Setting, Side};
use crate::software::conntrack;
use std::collections::BTreeMap;

pub(super) struct DoctorRow {
    pub name: &'static str,
    pub of: &'static [Of],
    pub read: Read,
    pub want: Want,
    pub verdict: Verdict,
    pub why: &'static str,
    pub mend: Mend,
}

impl DoctorRow {
    const fn look(name: &'static str, of: &'static [Of], read: Read, want: Want) -> DoctorRow {
        DoctorRow { name, of, read, want, verdict: Verdict::Look, why: "", mend: Mend::Do("") }
    }

    const fn bad(name: &'static str, of: &'static [Of], read: Read, want: Want) -> DoctorRow {
        DoctorRow { verdict: Verdict::Bad, ..DoctorRow::look(name, of, read, want) }
    }

    const fn because(self, why: &'static str) -> DoctorRow {
        DoctorRow { why, ..self }
    }

    const fn mend(self, mend: Mend) -> DoctorRow {
        DoctorRow { mend, ..self }
    }
}

pub(super) enum Read {
    /// `{port}` stands for the interface.
    Files(&'static [&'static str]),
    Machine(fn(&Readings) -> Option<String>),
    Port(fn(&Port) -> Option<String>),
}

pub(super) enum Want {
    One(&'static [&'static str]),
    AtLeast(f64),
    AtMost(f64),
}

pub(super) enum Mend {
    Write(&'static str),
    Set(fn(&Readings, &Port) -> Vec<(Setting, String)>),
    /// An advice, as only the user can do it.
    Do(&'static str),
    Boot(&'static str),
}

const NO_TURBO: &str = "/sys/devices/system/cpu/intel_pstate/no_turbo";
const BOOST: &str = "/sys/devices/system/cpu/cpufreq/boost";
const ISOLATED: &str = "/sys/devices/system/cpu/isolated";
const ONLINE: &str = "/sys/devices/system/cpu/online";
const OWN_STATUS: &str = "/proc/self/status";
const PRESSURE: &str = "/proc/pressure/cpu";
const NAMES: &str = "/proc/*/comm";
const BACKLOG: &str = "/proc/sys/net/core/netdev_max_backlog";
const UDP: &[&str] =
    &["/proc/sys/net/netfilter/nf_conntrack_udp_timeout", "/proc/sys/net/netfilter/nf_conntrack_udp_timeout_stream"];
const NEIGHBOURS: &[&str] =
    &["/proc/sys/net/ipv4/neigh/default/gc_thresh3", "/proc/sys/net/ipv6/neigh/default/gc_thresh3"];

const AUTOCONFIGURATION: &[&str] = &[
    "/proc/sys/net/ipv6/conf/{port}/accept_ra",
    "/proc/sys/net/ipv6/conf/{port}/autoconf",
    "/proc/sys/net/ipv6/conf/{port}/router_solicitations",
];

/// A `*` stands for any part of one name.
pub const FILES: &[&str] = &[
    GOVERNORS,
    NO_TURBO,
    BOOST,
    SMT_ACTIVE,
    CLOCK_SOURCE,
    MITIGATIONS,
    ISOLATED,
    ONLINE,
    OWN_STATUS,
    MEMORY,
    LOAD,
    PRESSURE,
    NAMES,
    BACKLOG,
    conntrack::MAX,
    conntrack::BUCKETS,
    UDP[0],
    UDP[1],
    NEIGHBOURS[0],
    NEIGHBOURS[1],
    "/proc/sys/net/ipv6/conf/*/accept_ra",
    "/proc/sys/net/ipv6/conf/*/autoconf",
    "/proc/sys/net/ipv6/conf/*/router_solicitations",
];

const TESTER: &[Of] = &[Of::Tester];
const MACHINES: &[Of] = &[Of::Tester, Of::Box];
const PORT: &[Of] = &[Of::Port];

pub(super) const ROWS: &[DoctorRow] = &[
    DoctorRow::look("cores", TESTER, Read::Machine(|of| Some(own_cores(of)?.to_string())), Want::AtLeast(2.0))
        .because("Tester and device take turns on one core.")
        .mend(Mend::Do("use a machine with more cores")),
    DoctorRow::bad("frequency governor", MACHINES, Read::Files(&[GOVERNORS]), Want::One(&["performance"]))
        .because("The clock of a core follows its load, so that rates depend on what ran before.")
        .mend(Mend::Write("performance")),
    DoctorRow::look("turbo switched off", MACHINES, Read::Files(&[NO_TURBO]), Want::One(&["1"]))
        .because("With turbo, the clock depends on temperature and on the number of busy cores.")
        .mend(Mend::Write("1")),
    DoctorRow::look("turbo", MACHINES, Read::Files(&[BOOST]), Want::One(&["0"]))
        .because("With turbo, the clock depends on temperature and on the number of busy cores.")
        .mend(Mend::Write("0")),
    DoctorRow::look("multithreading", MACHINES, Read::Files(&[SMT_ACTIVE]), Want::One(&["0"]))
        .because("Two threads share a core, so that one slows the other.")
        .mend(Mend::Boot("nosmt")),
    DoctorRow::look("mitigations", MACHINES, Read::Machine(mitigations), Want::One(&["none active"]))
        .because(
            "They lower rates; compare only machines with the same ones. Switch them off only where nothing \
             but measurements runs.",
        )
        .mend(Mend::Boot("mitigations=off")),
    DoctorRow::bad(
        "clock source",
        MACHINES,
        Read::Files(&[CLOCK_SOURCE]),
        Want::One(&["tsc", "kvm-clock", "arch_sys_counter"]),
    )
    .because("Reading this clock takes long; a tester reads it for every batch.")
    .mend(Mend::Boot("clocksource=tsc tsc=reliable")),
    DoctorRow::look("isolated cores", TESTER, Read::Machine(isolated), Want::AtLeast(1.0))
        .because(
            "The kernel runs other programs and timers on the cores of the tester. Start natmeter with \
             `taskset -c 2,3` then.",
        )
        .mend(Mend::Boot("isolcpus=2,3 nohz_full=2,3 rcu_nocbs=2,3")),
    DoctorRow::look("irqbalance", MACHINES, Read::Machine(irqbalance), Want::One(&["not running"]))
        .because("It moves the interrupts of cards to other cores during trials.")
        .mend(Mend::Do("systemctl stop irqbalance")),
    DoctorRow::look(
        "load",
        MACHINES,
        Read::Machine(|of| Some(format!("{} processes on average", of.load()?))),
        Want::AtMost(0.5),
    )
    .because("Other programs take time from the cores, so that trials become invalid.")
    .mend(Mend::Do("stop other programs (top shows them)")),
    DoctorRow::look("processor pressure", MACHINES, Read::Machine(pressure), Want::AtMost(5.0))
        .because("In this part of the last 10 s some program waited for a core.")
        .mend(Mend::Do("stop other programs (top shows them)")),
    DoctorRow::look("free memory", MACHINES, Read::Machine(free_memory), Want::AtLeast(1024.0))
        .because("Tables of many connections need memory; a machine that swaps measures its disk.")
        .mend(Mend::Do("stop other programs; `natmeter plan FILE` predicts the memory of a scenario")),
    DoctorRow::look("receive backlog", MACHINES, Read::Files(&[BACKLOG]), Want::AtLeast(10_000.0))
        .because("Frames wait in this queue for a busy core; 1,000 entries overflow within milliseconds.")
        .mend(Mend::Write("10000")),
    DoctorRow::look("connections per hash bucket", MACHINES, Read::Machine(full_table), Want::AtMost(1.0))
        .because(
            "Long chains lower every rate of connection tracking. natmeter sets this for its own kernel \
             devices.",
        )
        .mend(Mend::Set(more_buckets)),
    DoctorRow::look("timeouts of UDP, in s", &[Of::Box], Read::Files(UDP), Want::AtLeast(120.0))
        .because("Connections of phase 1 must outlive phase 1, the pause and a trial of 60 s.")
        .mend(Mend::Write("300")),
    DoctorRow::look("entries of neighbour tables", MACHINES, Read::Files(NEIGHBOURS), Want::AtLeast(1024.0))
        .because("Addresses on a link beyond this number are not resolved, so that their frames are lost.")
        .mend(Mend::Write("8192")),
    DoctorRow::bad("MTU", PORT, Read::Port(|port| Some(port.facts.mtu.to_string())), Want::AtLeast(1500.0))
        .because("Frames of 1518 octets do not pass.")
        .mend(Mend::Set(full_mtu)),
    DoctorRow::bad("generic receive offload", PORT, Read::Port(|port| port.facts.gro.map(on_off)), Want::One(&["off"]))
        .because("The kernel joins received frames, so that they cannot be counted.")
        .mend(Mend::Set(|_, port| feature(port, "generic-receive-offload"))),
    DoctorRow::bad("large receive offload", PORT, Read::Port(|port| port.facts.lro.map(on_off)), Want::One(&["off"]))
        .because("The card joins received frames, so that they cannot be counted.")
        .mend(Mend::Set(|_, port| feature(port, "large-receive-offload"))),
    DoctorRow::look(
        "removal of VLAN tags",
        PORT,
        Read::Port(|port| port.facts.rxvlan.map(on_off)),
        Want::One(&["off"]),
    )
    .because("The card takes tags out of received frames; with `vlan` in the bed file they are missing.")
    .mend(Mend::Set(|_, port| feature(port, "rx-vlan-offload"))),
    DoctorRow::bad(
        "pause frames (rx, tx)",
        PORT,
        Read::Port(|port| Some(format!("{}, {}", on_off(port.facts.rx_pause?), on_off(port.facts.tx_pause?)))),
        Want::One(&["off, off"]),
    )
    .because("A device that is full stops the tester instead of losing frames: throughput looks too high.")
    .mend(Mend::Set(pause)),
    DoctorRow::look("rings (rx, tx)", PORT, Read::Port(fill_of_rings), Want::AtLeast(100.0))
        .because("Small rings overflow while the kernel preempts the tester.")
        .mend(Mend::Set(rings)),
    DoctorRow::bad("queues", PORT, Read::Port(|port| Some(queues(port))), Want::AtLeast(100.0))
        .because("Each lane of the tester needs one queue of each port.")
        .mend(Mend::Do("ethtool -L {port} combined N, with the `queues` of the bed file")),
    DoctorRow::bad("queues without a socket", PORT, Read::Port(without_socket), Want::AtMost(0.0))
        .because("XDP sockets see only the frames of the queues that the bed file opens.")
        .mend(Mend::Do("ethtool -L {port} combined N, with the `queues` of the bed file, or raise `queues`")),
    DoctorRow::bad("fields of the queue hash", PORT, Read::Port(hash_fields), Want::One(&["addresses and ports"]))
        .because("Without ports, all connections between two addresses arrive at one queue.")
        .mend(Mend::Do("ethtool -N {port} rx-flow-hash udp4 sdfn; ethtool -N {port} rx-flow-hash udp6 sdfn")),
    DoctorRow::bad("spread of hash values", PORT, Read::Port(spread), Want::AtLeast(50.0))
        .because("A queue with fewer hash values than others receives fewer frames.")
        .mend(Mend::Do("ethtool -X {port} equal N, with the number of queues in use")),
    DoctorRow::look("IPv6 autoconfiguration", PORT, Read::Files(AUTOCONFIGURATION), Want::One(&["0"]))
        .because("The kernel asks for routers and takes addresses and routes from their answers.")
        .mend(Mend::Write("0")),
];

fn on_off(is_on: bool) -> String {
    if is_on { "on" } else { "off" }.to_owned()
}

fn cores(list: &str) -> usize {
    cpu::cores_in_list(list).len()
}

/// Cores on which this process may run; a container may have a part of the machine's.
fn own_cores(of: &Readings) -> Option<usize> {
    let allowed = of.value(OWN_STATUS, "Cpus_allowed_list").map(cores).filter(|cores| *cores > 0);
    allowed.or_else(|| of.text(ONLINE).map(cores))
}

fn mitigations(of: &Readings) -> Option<String> {
    let active = of.mitigations()?.len();
    Some(if active == 0 { "none active".to_owned() } else { format!("{active} active") })
}

fn isolated(of: &Readings) -> Option<String> {
    let all = cores(of.text(ONLINE)?);
    Some(cores(of.text(ISOLATED)?).to_string()).filter(|_| all >= 4)
}

fn free_memory(of: &Readings) -> Option<String> {
    let kilobytes: u64 = of.value(MEMORY, "MemAvailable")?.split(' ').next()?.parse().ok()?;
    Some(format!("{} MiB", kilobytes >> 10))
}

fn full_table(of: &Readings) -> Option<String> {
    let (most, buckets) = (of.number(conntrack::MAX)?, of.number(conntrack::BUCKETS)?.max(1));
    Some(format!("{:.1} if the table is full: {most} in {buckets}", most as f64 / buckets as f64))
}

fn more_buckets(of: &Readings, _: &Port) -> Vec<(Setting, String)> {
    let most = of.number(conntrack::MAX).map(|most| most.to_string());
    most.map(|most| (conntrack::buckets(), most)).into_iter().collect()
}

fn full_mtu(_: &Readings, port: &Port) -> Vec<(Setting, String)> {
    let interface = port.facts.name.clone();
    vec![(Setting::SysfsAttribute { interface, attribute: "mtu".to_owned() }, "1500".to_owned())]
}

fn fill_of_rings(port: &Port) -> Option<String> {
    let [rx, tx] = [Side::Rx, Side::Tx].map(|side| ring(port, side));
    let ([rx, most_rx], [tx, most_tx]) = (rx?, tx?);
    Some(format!(
        "{} % of the largest: {rx} of {most_rx}, {tx} of {most_tx}",
        (rx * 100 / most_rx).min(tx * 100 / most_tx)
    ))
}

fn queues(port: &Port) -> String {
    let (rx, tx) = (port.facts.rx_queues, port.facts.tx_queues);
    let share = rx.min(tx) * 100 / port.queues.max(1);
    format!("{share} % of what the bed file wants: {rx} receive, {tx} transmit, {} wanted", port.queues)
}

fn without_socket(port: &Port) -> Option<String> {
    let used = port.facts.used_queues();
    port.is_xdp.then(|| format!("{} of {used} that the card uses", used.saturating_sub(port.queues)))
}

fn irqbalance(of: &Readings) -> Option<String> {
    let mut names = of.all(NAMES).map(|(_, name)| name).peekable();
    names.peek()?;
    Some(if names.any(|name| name == "irqbalance") { "running" } else { "not running" }.to_owned())
}

/// Share of the last 10 s in which a program waited for a core (Linux, Documentation/accounting/psi.rst).
fn pressure(of: &Readings) -> Option<String> {
    let share = of.text(PRESSURE)?.strip_prefix("some avg10=")?.split(' ').next()?;
    Some(format!("{share} %"))
}

fn feature(port: &Port, name: &str) -> Vec<(Setting, String)> {
    vec![(Setting::Ethtool { interface: port.facts.name.clone(), feature: name.to_owned() }, "off".to_owned())]
}

fn parameter(port: &Port, of: Parameter, side: Side) -> Setting {
    Setting::EthtoolParameter { interface: port.facts.name.clone(), of, side }
}

fn pause(_: &Readings, port: &Port) -> Vec<(Setting, String)> {
    let sides = [(Side::Rx, port.facts.rx_pause), (Side::Tx, port.facts.tx_pause)];
    let on = sides.into_iter().filter(|(_, is_on)| *is_on == Some(true));
    on.map(|(side, _)| (parameter(port, Parameter::Pause, side), "off".to_owned())).collect()
}

fn rings(_: &Readings, port: &Port) -> Vec<(Setting, String)> {
    let sides = [Side::Rx, Side::Tx].into_iter().filter_map(|side| Some((side, ring(port, side)?)));
    let small = sides.filter(|(_, [now, most])| now < most);
    small.map(|(side, [_, most])| (parameter(port, Parameter::Ring, side), most.to_string())).collect()
}

/// Ring sizes in use, and at most.
fn ring(port: &Port, side: Side) -> Option<[u64; 2]> {
    let (most, in_use) = port.rings.split_once("Current hardware settings:")?;
    let name = format!("{}:", side.name().to_uppercase());
    let entries =
        |text: &str| text.lines().find_map(|line| line.trim().strip_prefix(&name)?.trim().parse::<u64>().ok());
    Some([entries(in_use)?, entries(most).filter(|most| *most > 0)?])
}

/// Whether the hash over UDP covers the ports (`ethtool -n`).
fn hash_fields(port: &Port) -> Option<String> {
    let ports = port.hash.matches("L4 bytes 0 & 1").count().min(port.hash.matches("L4 bytes 2 & 3").count());
    let flows = port.hash.matches("use these fields").count();
    (flows > 0).then(|| if ports >= flows { "addresses and ports" } else { "not all ports" }.to_owned())
}

/// Hash values of the least used queue, in percent of an even share (`ethtool -x`).
fn spread(port: &Port) -> Option<String> {
    let table = port.indirection.lines().filter_map(|line| line.trim().split_once(':'));
    let table = table.filter(|(at, _)| at.parse::<u32>().is_ok());
    let mut values = BTreeMap::new();
    for queue in table.flat_map(|(_, queues)| queues.split_ascii_whitespace()) {
        *values.entry(queue.parse::<u32>().ok()?).or_insert(0_u64) += 1;
    }
    let (queues, total) = (u64::from(port.queues.max(1)), values.values().sum::<u64>());
    if total == 0 {
        return None;
    }
    let fewest = (0..port.queues).map(|queue| values.get(&queue).copied().unwrap_or(0)).min()?;
    Some(format!("{} % of an even share at the emptiest queue", fewest * queues * 100 / total))
}
