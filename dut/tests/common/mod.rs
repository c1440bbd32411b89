//! Hand-built frames, and a test of one device from set-up to teardown.

use dut::bed::{BackEnd, BedConfig};
use dut::side::{LEFT, RIGHT};
use dut::step::no_sink;
use dut::{Device, DeviceConfig, RunDir, software};
use port::{Clock, Pool, Port, burst};
use std::net::Ipv4Addr;
use std::time::{Duration, Instant};

pub(crate) fn config(software: &str, back_end: BackEnd) -> DeviceConfig {
    DeviceConfig {
        software: software.into(),
        config: software::Config { connections: 1000, ..software::Config::default() },
        bed: BedConfig { back_end, ipv6: software::named(software).unwrap().ipv6, ..BedConfig::default() },
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
    fn of(device: &Device, bed: &BedConfig) -> Tester {
        let mut pool = Pool::single(bed.pools(1, 512, 1514)).unwrap();
        let (left, right) = device.open_ports(Clock::system(), &mut pool).unwrap();
        Tester { left, right, pool }
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

pub(crate) fn forwards_counts_and_is_emptied(config: &DeviceConfig, dir: &RunDir) {
    let device = Device::prepare(config, dir, &no_sink(), Clock::system());
    let mut device = device.unwrap_or_else(|e| panic!("{e}"));
    let mut tester = Tester::of(&device, &config.bed);

    // The datagrams below are IPv4.
    if !config.bed.ipv6 {
        forwards_and_counts(config, &mut device, &mut tester);
    }

    drop(tester);
    let undone = device.teardown();
    assert_eq!(undone.left, Vec::<String>::new());
    assert!(!undone.done.is_empty());
}

fn forwards_and_counts(config: &DeviceConfig, device: &mut Device, tester: &mut Tester) {
    let (stateful, pool) = (device.software().stateful, config.config.pool);
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

    assert_eq!(device.count().unwrap(), stateful.then_some(200));
    let cleared = device.clear().unwrap();
    assert_eq!(cleared.as_ref().map(|c| (c.entries, c.how.as_str())), stateful.then_some((200, "conntrack -F")));
    assert_eq!(device.count().unwrap(), stateful.then_some(0));

    if config.bed.back_end.has_cables() {
        device.set_null(true).unwrap();
        assert_eq!(tester.pass(true, &sent), sent, "frames pass the null device unchanged and in order");
        assert_eq!(tester.pass(false, &sent), sent);
        assert_eq!(device.count().unwrap(), stateful.then_some(0), "the null device opens no connection");
        device.set_null(false).unwrap();
        assert_eq!(tester.pass(true, &sent[..1])[0][22], 63, "the device is back");
    }
}
