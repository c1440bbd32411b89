//! Hand-built frames, and a test of one device from set-up to teardown.

use dut::external::{External, ExternalConfig};
use dut::guest::network::{self, Side as OfBox};
use dut::links::{Connection, End, Links};
use dut::probe::{Endpoint, probe};
use dut::side::{LEFT, RIGHT, Side};
use dut::step::no_sink;
use dut::{Configuration, DutError, Hooks, On, RunDir, Sink, software};
use port::backend::af_packet::{AfPacketConfig, AfPacketPort};
use port::backend::af_xdp::{AfXdpConfig, AfXdpPort, Select, XdpMode};
use port::backend::tap::{TapConfig, TapPort};
use port::{Clock, Pool, PoolConfig, Port, burst};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::Path;
use std::time::{Duration, Instant};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Io {
    Tap,
    AfPacket,
    AfXdp(XdpMode),
}

pub(crate) struct Case {
    pub(crate) configuration: Configuration,
    pub(crate) io: Io,
}

pub(crate) fn case(software: &str, io: Io) -> Case {
    let config = software::SoftwareConfig { connections: 1000, ..software::SoftwareConfig::default() };
    Case {
        configuration: Configuration { software: software::named(software).unwrap(), config, cores: Vec::new() },
        io,
    }
}

fn addresses(side: &Side, ipv6: bool) -> [IpAddr; 2] {
    let six = |host| Ipv6Addr::new(0x2001, 2, 0, side.group6, 0, 0, 0, host).into();
    if ipv6 { [six(1), six(2)] } else { [side.dut, side.tester].map(|four| Ipv4Addr::from(four).into()) }
}

pub(crate) struct Standing {
    pub(crate) device: External,
    links: Links,
}

impl Standing {
    pub(crate) fn prepare(case: &Case, dir: &RunDir, sink: &Sink) -> Result<Standing, DutError> {
        let Case { configuration, io } = case;
        let ipv6 = configuration.software.ipv6;
        let ends = [LEFT, RIGHT].map(|side| match io {
            Io::Tap => End::Queues(1),
            Io::AfPacket | Io::AfXdp(_) => End::Interface(side.tester_name),
        });
        let links = Links::make(ends, &[Connection::Interfaces], 1, dir, sink)?;
        let sides = [LEFT, RIGHT].map(|side| {
            let [own, next] = addresses(&side, ipv6);
            let own = (own, if ipv6 { 126 } else { 24 });
            let (networks, further) = (Vec::new(), Vec::new());
            OfBox { own, next, networks, further, of: "the tester", next_mac: side.tester_mac() }
        });
        let quiet = if ipv6 { network::with_ipv6() } else { Vec::new() };
        links.carry_out(0, &[quiet, network::steps(&sides, None)].concat(), dir, sink)?;
        let on = On::Namespace(links.boxes()[0].clone());
        let config = ExternalConfig::of("dut", on, Hooks::new(), Path::new("/"));
        let config = ExternalConfig { software: Some(configuration.clone()), ..config };
        Ok(Standing { device: External::prepare(&config, dir, sink)?, links })
    }

    fn open(&self, io: Io, steered: bool, side: &Side, pool: &mut Pool) -> Box<dyn Port> {
        let (clock, tester) = (Clock::system(), self.links.tester());
        match io {
            Io::Tap => {
                let config = TapConfig { existing: true, steered, ..TapConfig::named(side.name) };
                Box::new(TapPort::open(&self.links.boxes()[0], &config, clock).unwrap())
            }
            Io::AfPacket => {
                let config = AfPacketConfig { steered, ..AfPacketConfig::named(side.tester_name) };
                Box::new(AfPacketPort::open(tester, &config, clock).unwrap())
            }
            Io::AfXdp(mode) => {
                let config = AfXdpConfig::named(side.tester_name, Select::everything());
                let config = AfXdpConfig { mode, steered, ..config };
                Box::new(AfXdpPort::open(tester, &config, clock, std::slice::from_mut(pool)).unwrap().remove(0))
            }
        }
    }
}

/// A datagram from the left tester to the right one, without UDP checksum (RFC 768).
fn datagram(source_port: u16, destination_port: u16) -> Vec<u8> {
    let mut f = [LEFT.dut_mac(), LEFT.tester_mac()].concat();
    f.extend([8, 0, 0x45, 0, 0, 46, 0, 0, 0x40, 0, 64, 17, 0, 0]);
    f.extend([LEFT.tester, RIGHT.tester].concat());
    let sum: u32 = f[14..34].chunks(2).map(|w| u32::from(w[0]) << 8 | u32::from(w[1])).sum();
    let sum = !((sum & 0xffff) + (sum >> 16)) as u16;
    f[24..26].copy_from_slice(&sum.to_be_bytes());
    f.extend(source_port.to_be_bytes());
    f.extend(destination_port.to_be_bytes());
    f.extend([0, 26, 0, 0]);
    f.extend(*b"natmeter namespace");
    f
}

fn answer(frame: &[u8]) -> Vec<u8> {
    let mut f = frame.to_vec();
    f[..6].copy_from_slice(&RIGHT.dut_mac());
    f[6..12].copy_from_slice(&RIGHT.tester_mac());
    // Swapping addresses does not change the checksum of the header.
    f[26..30].copy_from_slice(&frame[30..34]);
    f[30..34].copy_from_slice(&frame[26..30]);
    f[34..36].copy_from_slice(&frame[36..38]);
    f[36..38].copy_from_slice(&frame[34..36]);
    f
}

fn source(f: &[u8]) -> (Ipv4Addr, u16) {
    (Ipv4Addr::new(f[26], f[27], f[28], f[29]), u16::from_be_bytes([f[34], f[35]]))
}

fn destination(f: &[u8]) -> (Ipv4Addr, u16) {
    (Ipv4Addr::new(f[30], f[31], f[32], f[33]), u16::from_be_bytes([f[36], f[37]]))
}

struct Tester {
    left: Box<dyn Port>,
    right: Box<dyn Port>,
    pool: Pool,
}

impl Tester {
    fn of(standing: &Standing, case: &Case) -> Tester {
        let mut pool = Pool::single(PoolConfig::umem(1, 12_288)).unwrap();
        let steered = !case.configuration.cores.is_empty();
        let [left, right] = [LEFT, RIGHT].map(|side| standing.open(case.io, steered, &side, &mut pool));
        Tester { left, right, pool }
    }

    fn probe(&mut self, ipv6: bool) -> (IpAddr, u16) {
        let ends = [LEFT, RIGHT].map(|side| {
            let [_, address] = addresses(&side, ipv6);
            Endpoint { address, own: side.tester_mac(), next: side.dut_mac() }
        });
        let source = probe([&mut *self.left, &mut *self.right], &mut self.pool, ends);
        let source = source.unwrap_or_else(|e| panic!("{e}"));
        (source.ip(), source.port())
    }

    fn pass(&mut self, to_right: bool, frames: &[Vec<u8>]) -> Vec<Vec<u8>> {
        let (from, to) = if to_right { (&mut self.left, &mut self.right) } else { (&mut self.right, &mut self.left) };
        let (mut received, mut incoming) = (Vec::new(), burst());
        let deadline = Instant::now() + Duration::from_secs(5);
        for batch in frames.chunks(port::BATCH) {
            let mut outgoing = burst();
            for bytes in batch {
                let mut frame = self.pool.alloc(bytes.len()).unwrap();
                frame.bytes_mut().copy_from_slice(bytes);
                outgoing.push(frame);
            }
            let wanted = received.len() + batch.len();
            while !outgoing.is_empty() || received.len() < wanted {
                from.transmit(&mut self.pool, &mut outgoing).unwrap();
                to.receive(&mut self.pool, &mut incoming).unwrap();
                received.extend(incoming.iter().map(|f| f.bytes().to_vec()));
                self.pool.free_all(&mut incoming);
                assert!(Instant::now() < deadline, "{} of {wanted} frames arrive", received.len());
            }
        }
        received
    }
}

pub(crate) fn forwards_counts_and_is_emptied(case: &Case, dir: &RunDir) {
    let mut standing = Standing::prepare(case, dir, &no_sink()).unwrap_or_else(|e| panic!("{e}"));
    let mut tester = Tester::of(&standing, case);
    let software = case.configuration.software;
    let (source, port) = tester.probe(software.ipv6);
    match source {
        IpAddr::V4(four) if software.stateful => assert!(case.configuration.config.pool.contains(four, port)),
        source => assert_eq!(source, addresses(&LEFT, software.ipv6)[1]),
    }
    standing.device.clear().unwrap();
    // The datagrams below are IPv4.
    if !software.ipv6 {
        forwards_and_counts(case, &mut standing, &mut tester);
    }

    drop(tester);
    let undone = standing.device.teardown();
    assert_eq!(undone.left, Vec::<String>::new());
    assert!(!undone.done.is_empty());
}

fn forwards_and_counts(case: &Case, standing: &mut Standing, tester: &mut Tester) {
    let (stateful, pool) = (case.configuration.software.stateful, case.configuration.config.pool);
    let sent: Vec<Vec<u8>> = (0..200).map(|i| datagram(2000 + i, 9)).collect();
    let mut there = tester.pass(true, &sent);
    // Several cores may reorder frames, so match each answer with its datagram.
    there.sort();
    for frame in &there {
        let (address, port) = source(frame);
        assert_eq!((&frame[..6], &frame[6..12]), (&RIGHT.tester_mac()[..], &RIGHT.dut_mac()[..]));
        assert_eq!(destination(frame), (RIGHT.tester.into(), 9));
        assert_eq!(frame[22], 63, "one hop");
        if stateful {
            assert!(pool.contains(address, port), "{address}:{port}");
        } else {
            assert_eq!(address, Ipv4Addr::from(LEFT.tester));
        }
    }
    let back = tester.pass(false, &there.iter().map(|f| answer(f)).collect::<Vec<_>>());
    assert!(back.iter().all(|f| source(f) == (RIGHT.tester.into(), 9)));
    let mut customers: Vec<(Ipv4Addr, u16)> = back.iter().map(|f| destination(f)).collect();
    customers.sort_unstable();
    assert_eq!(customers, (0..200).map(|i| (LEFT.tester.into(), 2000 + i)).collect::<Vec<_>>());

    let Standing { device, links } = standing;
    assert_eq!(device.count().unwrap(), stateful.then_some(200));
    let cleared = device.clear().unwrap();
    assert_eq!(cleared.map(|cleared| cleared.how), stateful.then_some("conntrack -F".to_owned()));
    assert_eq!(device.count().unwrap(), stateful.then_some(0));

    if case.io != Io::Tap {
        let is_generic = case.io == Io::AfXdp(XdpMode::Generic);
        links.set_null(is_generic, true).unwrap();
        assert_eq!(tester.pass(true, &sent), sent, "frames pass the null device unchanged and in order");
        assert_eq!(tester.pass(false, &sent), sent);
        assert_eq!(device.count().unwrap(), stateful.then_some(0), "the null device opens no connection");
        links.set_null(is_generic, false).unwrap();
        assert_eq!(tester.pass(true, &sent[..1])[0][22], 63, "the device is back");
    }
}
