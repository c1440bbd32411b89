//! Opens the two ports of a test bed for the tester, and resolves the Ethernet addresses of the box between them.

use super::cards;
use super::here::Path;
use super::place::Place;
use super::wires::Wires;
use super::{RigError, RunContext};
use dut::probe::{Endpoint, probe};
use dut::{DutError, links};
use engine::Lane;
use engine::calibrate::Ends;
use gateway::neighbour::resolve;
use gateway::{Own, Owns};
use method::TrialError;
use plane::Hop;
use port::backend::af_packet::{AfPacketConfig, AfPacketPort};
use port::backend::af_xdp::{AfXdpConfig, AfXdpPort, CopyMode, Programs, Select, XdpMode};
use port::backend::tap::{TapConfig, TapPort};
use port::interface::{Interfaces, LinkFacts, wait_for_carrier};
use port::middleware::vlan::{Tags, Vlan};
use port::{Clock, Mute, Netns, Pool, PoolConfig, Port, PortError};
use record::folder::FactTable;
use scenario::bed::{Bed, PortIo, PortKeys, ZeroCopy};
use scenario::gateway::NextHop;
use scenario::{Dut, Scenario};
use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use wire::{AddrRange, Mac, Prefix6, VlanId};

/// Frames in the pool of each lane.
pub(crate) const FRAMES: usize = 16_384;
/// Frames before a device of this machine's kernel: more would only wait in its queues.
pub(crate) const FRAMES_HERE: usize = 4096;
/// Entries of each ring of an XDP socket, whose frames cannot be sent.
const XDP_RING: usize = 2048;
/// Octets of the longest frame that the tester sends besides test frames.
const LONGEST_QUESTION: usize = 128;
/// A link needs up to 3 s after an XDP program was attached, and more with some switches.
pub(super) const CARRIER: Duration = Duration::from_secs(10);
/// Entries of a packet socket; an XDP socket's ring has 2048.
const RING: usize = 8192;

/// The ports: for each lane one pool and at most one queue of each port.
pub(crate) struct PortPair {
    pools: Vec<Pool>,
    left: Vec<Box<dyn Port>>,
    right: Vec<Box<dyn Port>>,
    /// Tester's and box's addresses, left and right.
    pub(super) hops: [Hop; 2],
    owns: Owns,
    pub(super) facts: FactTable,
    /// Keep this machine's kernel from using both ports.
    mutes: Vec<Mute>,
}

/// Queues of a port, Ethernet addresses on its link, and addresses for which the tester answers there.
type Side = (Vec<Box<dyn Port>>, Hop, Own);

/// Fails if an interface is missing or down, or the back-end does not work on it. The box's
/// Ethernet addresses are 0 until [`PortPair::resolve`].
pub(crate) fn open(scenario: &Scenario, bed: &Bed, place: &Place, process: &RunContext) -> Result<PortPair, RigError> {
    let here = place.tester().clone();
    let mut pools = Pool::for_workers(pool(scenario, bed, process))?;
    let users: Vec<(&str, &PortKeys)> = bed.ports().into_iter().filter(|_| !bed.makes_links()).collect();
    for (side, keys) in &users {
        wait_for_carrier(&here, &keys.interface, CARRIER)?;
        cards::prepare(&here, side, keys, process)?;
    }
    // Interfaces that natmeter makes vanish before the process ends.
    let programs = if users.is_empty() { Programs::default() } else { process.cards.programs() };
    // On links of natmeter the kernel of the tester's namespace has no address, and frames to another Ethernet address. Two VLANs
    // of one interface are muted once.
    let interfaces: BTreeSet<&str> = users.iter().map(|(_, keys)| keys.interface.as_str()).collect();
    let mutes = interfaces.into_iter().map(|name| Mute::attach(&here, name, true)).collect::<Result<_, _>>()?;
    let mut facts = FactTable::new();
    let flows = &scenario.traffic.flows;
    let is_steered = !scenario.duts.iter().any(|dut| dut.is_run_by_sender(scenario));
    let mut side = |name: &str, keys: &PortKeys, tested: AddrRange| -> Result<Side, RigError> {
        let (namespace, interface) = place.interface(name, keys);
        let mac = if bed.makes_links() {
            Mac(links::tester_macs()[usize::from(name == "right")])
        } else {
            Mac(here.run_in(|| Interfaces::here()?.get(interface))??.mac)
        };
        let ports = ports((namespace, interface), keys, is_steered, (process.clock, &programs), &mut pools)?;
        let stamps = if ports[0].facts().stamped_by_kernel { "kernel" } else { "tester, from the queue" };
        facts.insert(format!("{name} receive time stamps"), stamps.to_owned());
        let first = ports[0].facts();
        facts.insert(
            format!("{name} port"),
            format!("{} {} {}", first.backend, first.name, first.mode).trim().to_owned(),
        );
        facts.extend(link_facts(name, &LinkFacts::of(namespace, interface)?));
        let mut own = own(mac, keys.addresses.iter().map(|(address, _)| *address));
        own.ipv4.push(tested);
        Ok((ports, Hop { own: mac, next: Mac::default() }, own))
    };
    let [inside, remote] = flows.ends();
    let (mut left, left_hop, customer) = side("left", &bed.left, inside)?;
    let (mut right, right_hop, internet) = side("right", &bed.right, remote)?;
    for (_, keys) in &users {
        wait_for_carrier(&here, &keys.interface, CARRIER)?;
    }
    for port in left.iter_mut().chain(&mut right) {
        // The link that the opening reset was not lost in a trial.
        port.counters();
    }
    Ok(PortPair { pools, left, right, hops: [left_hop, right_hop], owns: Owns { customer, internet }, facts, mutes })
}

/// The frame pools: before a device of this machine's kernel as small as its caches like it.
fn pool(scenario: &Scenario, bed: &Bed, process: &RunContext) -> PoolConfig {
    let (lanes, held) = (bed.lanes() as usize, Wires::of(scenario, process.clock).frames());
    let is_here = scenario.duts.iter().any(|dut| dut.is_kernel_of_tester(scenario));
    let is_xdp = [&bed.left, &bed.right].iter().any(|keys| keys.io.is_xdp());
    match (is_here, is_xdp) {
        (false, _) => PoolConfig::umem(lanes, FRAMES + held),
        (true, true) => PoolConfig::umem(lanes, FRAMES_HERE + held + 4 * XDP_RING),
        (true, false) => {
            let longest = scenario.traffic.frame_size + scenario.overhead();
            PoolConfig::compact(lanes, FRAMES_HERE + held, longest.max(LONGEST_QUESTION))
        }
    }
}

/// A box with the Ethernet address of one of the tester's ports would never receive a frame.
fn refuse_own(bed: &Bed, hops: [Hop; 2]) -> Result<(), RigError> {
    for ((side, keys), hop) in bed.ports().into_iter().zip(hops) {
        let of_tester = ["left", "right"].into_iter().zip(hops).find(|(_, own)| own.own == hop.next);
        let Some((port, _)) = of_tester else { continue };
        let what = match (keys.mac, keys.gateway) {
            (None, Some(gateway)) => format!(
                "{gateway} answers on the {side} with {}, the address of the tester's own {port} port: give the box's port an address of \
                 its own, and see that `gateway` of [bed.{side}] is the box's",
                hop.next
            ),
            _ => format!(
                "{} is the address of the tester's own {port} port, not of the box: correct `mac` of [bed.{side}]",
                hop.next
            ),
        };
        return Err(RigError::Bed(what));
    }
    Ok(())
}

/// Tester's ports: left, right; 0 for links that natmeter makes itself, because they do not exist yet.
pub(crate) fn macs(bed: &Bed) -> Result<[Mac; 2], RigError> {
    if bed.makes_links() {
        return Ok([Mac::default(); 2]);
    }
    let mut here = Interfaces::here()?;
    let mut mac = |keys: &PortKeys| here.get(&keys.interface).map(|found| Mac(found.mac));
    Ok([mac(&bed.left)?, mac(&bed.right)?])
}

/// Frames per second of the slower port with frames of this size: from the bed file, or else from the link.
pub(crate) fn line_rate(bed: &Bed, frame_size: usize) -> Option<u64> {
    let here = Netns::current().ok()?;
    let of_link = |keys: &PortKeys| LinkFacts::of(&here, &keys.interface).ok()?.frames_per_second(frame_size);
    let of_port = |keys: &PortKeys| match keys.line_rate {
        Some(rate) => Some(rate.frames_per_second(frame_size)),
        None => of_link(keys),
    };
    [&bed.left, &bed.right].into_iter().filter_map(of_port).min()
}

fn link_facts(side: &str, facts: &LinkFacts) -> FactTable {
    let on = |is: Option<bool>| is.map(|is| if is { "on" } else { "off" }.to_owned());
    let number = |n: Option<u32>| n.map(|n| n.to_string());
    let duplex = facts.full_duplex.map(|full| if full { "full" } else { "half" }.to_owned());
    let all = [
        ("driver", Some(facts.driver.clone())),
        ("firmware", Some(facts.firmware.clone())),
        ("bus", Some(facts.bus.clone())),
        ("speed, Mbit/s", number(facts.speed)),
        ("duplex", duplex),
        ("MTU", Some(facts.mtu.to_string())),
        ("queues, receive and transmit", Some(format!("{} and {}", facts.rx_queues, facts.tx_queues))),
        ("receive ring", number(facts.rx_ring)),
        ("transmit ring", number(facts.tx_ring)),
        ("pause frames, received", on(facts.rx_pause)),
        ("pause frames, sent", on(facts.tx_pause)),
        ("GRO", on(facts.gro)),
        ("LRO", on(facts.lro)),
        ("TSO", on(facts.tso)),
        ("VLAN offload", on(facts.rxvlan)),
        ("NUMA node", number(facts.numa_node)),
        ("cores of its interrupts", Some(facts.irq_cores.join(", "))),
    ];
    let known = all.into_iter().filter_map(|(name, words)| Some((name, words.filter(|words| !words.is_empty())?)));
    known.map(|(name, words)| (format!("{side} link, {name}"), words)).collect()
}

/// Opens ports. With `steered`, other threads than the sender's forward the frames.
fn ports(
    (here, interface): (&Netns, &str),
    keys: &PortKeys,
    steered: bool,
    (clock, programs): (Clock, &Programs),
    pools: &mut [Pool],
) -> Result<Vec<Box<dyn Port>>, RigError> {
    let queues = keys.queues as usize;
    let xdp = |mode, pools: &mut [Pool]| {
        let copying = match keys.zero_copy {
            ZeroCopy::Required => CopyMode::Never,
            ZeroCopy::IfPossible => CopyMode::IfNeeded,
            ZeroCopy::Never => CopyMode::Always,
        };
        let named = AfXdpConfig::named(interface, Select::everything());
        let config = AfXdpConfig { queues: keys.queues, mode, copying, steered, ..named };
        AfXdpPort::open_with(here, &config, clock, &mut pools[..queues], programs)
    };
    let ports = match keys.io {
        PortIo::AfPacket => {
            let config = AfPacketConfig { queue: RING, steered, ..AfPacketConfig::named(interface) };
            boxed(AfPacketPort::open_many(here, &config, queues, clock)?)
        }
        PortIo::Tap => {
            let config = TapConfig { existing: true, steered, ..TapConfig::named(interface) };
            boxed(vec![TapPort::open(here, &config, clock)?])
        }
        PortIo::AfXdpGeneric => boxed(xdp(XdpMode::Generic, pools)?),
        PortIo::AfXdpNative => match xdp(XdpMode::Native, pools) {
            Err(error) if keys.zero_copy == ZeroCopy::Required => return Err(without_zero_copy(here, keys, error)),
            opened => boxed(opened?),
        },
        PortIo::AfXdp => match xdp(XdpMode::Native, pools) {
            Ok(ports) => boxed(ports),
            // The generic receive path always copies.
            Err(error) if keys.zero_copy == ZeroCopy::Required => return Err(without_zero_copy(here, keys, error)),
            Err(_) => boxed(xdp(XdpMode::Generic, pools)?),
        },
    };
    Ok(in_vlan(ports, keys.vlan, &Arc::default()))
}

pub(crate) fn boxed<P: Port + 'static>(ports: Vec<P>) -> Vec<Box<dyn Port>> {
    ports.into_iter().map(|port| Box::new(port) as Box<dyn Port>).collect()
}

pub(crate) fn tags(vlan: VlanId) -> Option<Tags> {
    Tags::new(vlan.outer, vlan.id)
}

/// Returns ports that send and accept only frames of this VLAN, if any. `other` counts the frames that they ignore.
pub(crate) fn in_vlan(ports: Vec<Box<dyn Port>>, vlan: Option<VlanId>, other: &Arc<AtomicU64>) -> Vec<Box<dyn Port>> {
    let Some(tags) = vlan.and_then(tags) else { return ports };
    let tagged = |port| Box::new(Vlan::new(port, tags, Arc::clone(other))) as Box<dyn Port>;
    ports.into_iter().map(tagged).collect()
}

/// The refusal of zero-copy; the error itself if that is not the cause.
fn without_zero_copy(here: &Netns, keys: &PortKeys, error: PortError) -> RigError {
    let unsupported = Some(rustix::io::Errno::OPNOTSUPP.raw_os_error());
    if !matches!(&error, PortError::System { source, .. } if source.raw_os_error() == unsupported) {
        return error.into();
    }
    let driver = LinkFacts::of(here, &keys.interface).map(|facts| facts.driver).unwrap_or_default();
    let driver = if driver.is_empty() { "unknown" } else { &driver };
    RigError::Bed(format!(
        "zero-copy is required on {}, and cannot be had (driver {driver}): {error}; write zero-copy = \"if-possible\", or use a network \
         card whose driver has it",
        keys.interface
    ))
}

pub(crate) fn own(mac: Mac, addresses: impl IntoIterator<Item = IpAddr>) -> Own {
    let mut own = Own { mac, ..Own::default() };
    for address in addresses {
        match address {
            IpAddr::V4(address) => own.ipv4.push(AddrRange::one(address)),
            IpAddr::V6(addr) => own.ipv6.push(Prefix6 { addr, len: 128 }),
        }
    }
    own
}

/// The box's Ethernet address on one side.
fn next_hop(
    keys: &PortKeys,
    ports: &mut [Box<dyn Port>],
    pools: &mut [Pool],
    own: &Own,
    process: &RunContext,
) -> Result<Mac, RigError> {
    let to = match keys.next_hop() {
        Some(NextHop::Mac(mac)) => return Ok(mac),
        Some(NextHop::Ip(ip)) => ip,
        None => unreachable!("the bed file has `gateway` or `mac`, or natmeter made the links"),
    };
    let same_version = |address: &&IpAddr| address.is_ipv4() == to.is_ipv4();
    let from = keys.addresses.iter().map(|(address, _)| address).find(same_version).copied().unwrap_or(to);
    let mut lanes: Vec<(&mut dyn Port, &mut Pool)> =
        ports.iter_mut().map(|port| &mut **port as &mut dyn Port).zip(pools).collect();
    Ok(resolve(&mut lanes, own, (from, to), &process.interrupted)?)
}

/// Whether the box's address of each side answers on the other one.
pub(crate) fn are_crossed(scenario: &Scenario, bed: &Bed, process: &RunContext) -> bool {
    let crossed = |keys: &PortKeys, gateway: Option<IpAddr>| PortKeys { gateway, mac: None, ..keys.clone() };
    let (left, right) = (&bed.left, &bed.right);
    if left.gateway.is_none() || right.gateway.is_none() {
        return false;
    }
    let other = Bed { left: crossed(left, right.gateway), right: crossed(right, left.gateway), ..bed.clone() };
    Place::of(&other, process)
        .and_then(|place| open(scenario, &other, &place, process)?.resolve(&other, &place, process))
        .is_ok()
}

impl PortPair {
    /// Resolves the box's Ethernet addresses. Fails if the box does not answer, or if an answer has an address of the
    /// tester.
    pub(crate) fn resolve(&mut self, bed: &Bed, place: &Place, process: &RunContext) -> Result<(), RigError> {
        let ends = [(&mut self.left, &self.owns.customer), (&mut self.right, &self.owns.internet)];
        for (at, ((ports, own), (side, keys))) in ends.into_iter().zip(bed.ports()).enumerate() {
            let made = place.macs().filter(|_| keys.next_hop().is_none());
            let next = match made {
                Some(macs) => macs[at],
                None => next_hop(keys, ports, &mut self.pools, own, process)?,
            };
            self.hops[at].next = next;
            self.facts.insert(format!("{side} neighbour"), next.to_string());
        }
        refuse_own(bed, self.hops)
    }

    /// Checks with one datagram and its answer that a box translates as its software was configured.
    pub(super) fn see_that_it_translates(&mut self, bed: &Bed, dut: &Dut) -> Result<(), DutError> {
        let end = |at: usize| {
            let keys = bed.ports()[at].1;
            let is_of_version = |own: &IpAddr| keys.gateway.is_none_or(|gateway| gateway.is_ipv4() == own.is_ipv4());
            let address =
                keys.addresses.iter().map(|(own, _)| *own).find(is_of_version).unwrap_or(Ipv4Addr::LOCALHOST.into());
            Endpoint { address, own: self.hops[at].own.0, next: self.hops[at].next.0 }
        };
        let ends = [end(0), end(1)];
        let source = probe([&mut *self.left[0], &mut *self.right[0]], &mut self.pools[0], ends)?;
        let is_right = match (dut.nat().map(|nat| (nat.outside.pool, nat.outside.ports)), source.ip()) {
            (Some((pool, tech::Ports::Range(ports, _))), IpAddr::V4(four)) => {
                pool.iter().any(|(_, range)| range.contains(four))
                    && (ports.first..=ports.last).contains(&source.port())
            }
            (_, address) => address == ends[0].address,
        };
        let contradicts = || {
            DutError::Dead(format!(
                "it translates the source {} to {source}, which contradicts its configuration",
                ends[0].address
            ))
        };
        is_right.then_some(()).ok_or_else(contradicts)
    }

    /// The ends of a cable between both ports, without a box, for one lane.
    pub(crate) fn of_cable(self) -> Option<Ends> {
        let PortPair { pools, left, right, .. } = self;
        let (mut pools, mut left, mut right) = (pools.into_iter(), left.into_iter(), right.into_iter());
        Some(Ends { pool: pools.next()?, left: left.next()?, right: right.next()? })
    }

    pub(super) fn path(&self) -> Path {
        Path::behind(&self.left[0].facts(), &self.right[0].facts())
    }

    pub(crate) fn in_words(&self) -> Vec<(String, String)> {
        let sides = [("left port", &self.left), ("right port", &self.right)];
        let words = |ports: &Vec<Box<dyn Port>>| {
            let facts = ports[0].facts();
            let queues = if ports.len() == 1 { "1 queue".to_owned() } else { format!("{} queues", ports.len()) };
            let mode = if facts.mode.is_empty() { String::new() } else { format!(" {}", facts.mode) };
            format!("{}{mode}, {queues}", facts.backend)
        };
        sides.into_iter().map(|(name, ports)| (name.to_owned(), words(ports))).collect()
    }

    /// Name and words of each of the box's Ethernet addresses.
    pub(crate) fn neighbours(&self) -> Vec<(String, String)> {
        let sides = ["left", "right"].into_iter().zip(self.hops);
        sides.map(|(side, hop)| (format!("{side} neighbour"), hop.next.to_string())).collect()
    }

    /// Listens at both ports. Passes to `show` whether a frame arrived on the left, and its octets. Answers requests to
    /// the tester itself without passing them on. Fails on an interrupt.
    pub(super) fn listen(
        &mut self,
        time: Duration,
        process: &RunContext,
        show: &mut dyn FnMut(bool, &[u8]),
    ) -> Result<(), RigError> {
        let end = Instant::now() + time;
        while Instant::now() < end {
            if process.interrupted.load(Ordering::Relaxed) {
                return Err(TrialError::Interrupted.into());
            }
            self.receive(show)?;
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(())
    }

    fn receive(&mut self, show: &mut dyn FnMut(bool, &[u8])) -> Result<(), RigError> {
        let (mut burst, mut answers) = (port::burst(), port::burst());
        for (is_left, ports) in [(true, &mut self.left), (false, &mut self.right)] {
            for (port, pool) in ports.iter_mut().zip(&mut self.pools) {
                port.receive(pool, &mut burst)?;
                for mut frame in burst.drain(..) {
                    let octets = frame.bytes().to_vec();
                    if self.owns.answer(side_of(is_left), &mut frame) {
                        answers.push(frame);
                    } else {
                        show(is_left, &octets);
                        pool.free(frame);
                    }
                }
                port.transmit(pool, &mut answers)?;
                pool.free_all(&mut answers);
            }
        }
        Ok(())
    }

    pub(super) fn send(&mut self, from_left: bool, octets: &[u8]) -> Result<(), RigError> {
        let port = if from_left { &mut self.left[0] } else { &mut self.right[0] };
        let pool = &mut self.pools[0];
        let mut burst = port::burst();
        if let Some(mut frame) = pool.alloc(octets.len()) {
            frame.bytes_mut().copy_from_slice(octets);
            burst.push(frame);
            port.transmit(pool, &mut burst)?;
            pool.free_all(&mut burst);
        }
        Ok(())
    }

    pub(crate) fn own_mac(&self, of_left: bool) -> [u8; 6] {
        self.hops[usize::from(!of_left)].own.0
    }

    /// The lanes, with the objects that must live as long.
    pub(super) fn lanes(self, wires: &mut Wires, cores: &[Option<usize>]) -> (Vec<Lane>, Vec<Mute>) {
        let PortPair { pools, left, right, owns, mutes, .. } = self;
        let (mut left, mut right) = (left.into_iter(), right.into_iter());
        let lane = |(number, pool)| Lane {
            core: cores.get(number).copied().flatten(),
            pool,
            left: left.next().map(|port| wires.wrap("left", port)),
            right: right.next().map(|port| wires.wrap("right", port)),
            companion: None,
            service: Some(service(owns.clone())),
        };
        (pools.into_iter().enumerate().map(lane).collect(), mutes)
    }
}

fn side_of(left: bool) -> plane::Side {
    if left { plane::Side::Customer } else { plane::Side::Internet }
}

/// Answers the box's requests to the tester itself.
fn service(owns: Owns) -> engine::Service {
    Box::new(move |left, frame| {
        if owns.answer(side_of(left), frame) { engine::ServiceVerdict::Answer } else { engine::ServiceVerdict::Foreign }
    })
}
