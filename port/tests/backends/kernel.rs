//! Tests of single kernel back-ends beyond the common contract: exact counts of refusals, completed offloads, selection
//! of frames, queues, and errors that say how to fix them. They run in new namespaces and need root.

use crate::common::{DUT_MAC, cable, forward, quiet_namespace, sh, udp_frame};
use port::backend::af_packet::{AfPacketConfig, AfPacketPort};
use port::backend::af_xdp::{AfXdpConfig, AfXdpPort, Condition, CopyMode, Select, Width, XdpMode};
use port::backend::tap::{TapConfig, TapPort};
use port::netns::Sight;
use port::{BATCH, Clock, Frame, Netns, Pool, PoolConfig, Port, Sent, burst};
use std::time::{Duration, Instant};

const UDP_MARK: Condition = Condition { offset: 23, width: Width::One, mask: 0xff, value: 17 };

fn pool() -> Pool {
    Pool::single(PoolConfig::umem(1, 4096)).unwrap()
}

fn af_packet(ns: &Netns, name: &str) -> AfPacketPort {
    AfPacketPort::open(ns, &AfPacketConfig::named(name), Clock::calibrated()).unwrap()
}

fn xdp(ns: &Netns, name: &str, mode: XdpMode, pool: &mut Pool) -> AfXdpPort {
    let select = Select { any_of: vec![vec![UDP_MARK]] };
    let config = AfXdpConfig { mode, ring: 512, ..AfXdpConfig::named(name, select) };
    AfXdpPort::open(ns, &config, Clock::calibrated(), std::slice::from_mut(pool)).unwrap().remove(0)
}

fn frame(pool: &mut Pool, sequence: u32, len: usize) -> Frame {
    let mut frame = pool.alloc(len).unwrap();
    frame.bytes_mut().copy_from_slice(&udp_frame(sequence, len));
    frame
}

fn collect(port: &mut dyn Port, pool: &mut Pool, count: usize) -> Vec<Frame> {
    let deadline = Instant::now() + Duration::from_secs(2);
    let (mut all, mut part) = (Vec::new(), burst());
    while all.len() < count && Instant::now() < deadline {
        port.receive(pool, &mut part).unwrap();
        all.append(&mut part);
    }
    all
}

/// The far end of the cable accepts only short frames. The kernel refuses every second frame of a burst in the same way
/// as when the queue behind the cable is full.
fn every_second_is_refused(left: &mut dyn Port, right: &mut dyn Port, pool: &mut Pool) {
    for round in 0..10 {
        let mut frames = burst();
        frames.extend((0..BATCH as u32).map(|i| frame(pool, round * 32 + i, if i % 2 == 0 { 60 } else { 1400 })));
        let sent = left.transmit(pool, &mut frames).unwrap();
        assert_eq!((sent, frames.len()), (Sent { accepted: 16, refused: 16 }, 0));
        let received = collect(right, pool, 16);
        let expected: Vec<Vec<u8>> = (0..16).map(|i| udp_frame(round * 32 + 2 * i, 60)).collect();
        assert_eq!(received.iter().map(|f| f.bytes().to_vec()).collect::<Vec<_>>(), expected);
        for f in received {
            pool.free(f);
        }
    }
    let (left, right) = (left.counters(), right.counters());
    assert_eq!((left.accepted, left.refused, left.own_drops), (160, 160, 0));
    assert_eq!((right.received, right.own_drops, right.link_lost), (160, 0, false));
}

#[test]
#[ignore = "needs root: run by ./check as root"]
fn af_packet_tells_refusals_exactly() {
    let (ns, mut pool) = (cable(1), pool());
    let (mut left, mut right) = (af_packet(&ns, "xa"), af_packet(&ns, "xb"));
    sh(&ns, "ip link set xb mtu 1000");
    every_second_is_refused(&mut left, &mut right, &mut pool);
}

#[test]
#[ignore = "needs root: run by ./check as root"]
fn af_xdp_tells_refusals_exactly() {
    let (ns, mut pool) = (cable(1), pool());
    let mut left = xdp(&ns, "xa", XdpMode::Generic, &mut pool);
    let mut right = xdp(&ns, "xb", XdpMode::Generic, &mut pool);
    sh(&ns, "ip link set xb mtu 1000");
    every_second_is_refused(&mut left, &mut right, &mut pool);
}

/// 640 frames arrive while the port does not receive. The port counts each frame that its small queues refuse.
fn overflow_is_counted(left: &mut dyn Port, right: &mut dyn Port, pool: &mut Pool) {
    for round in 0..20 {
        let mut frames = burst();
        frames.extend((0..BATCH as u32).map(|i| frame(pool, round * 32 + i, 60)));
        assert_eq!(left.transmit(pool, &mut frames).unwrap(), Sent { accepted: BATCH, refused: 0 });
    }
    let mut received = 0;
    let deadline = Instant::now() + Duration::from_secs(2);
    while received + right.counters().own_drops < 640 && Instant::now() < deadline {
        let mut frames = burst();
        received += right.receive(pool, &mut frames).unwrap() as u64;
        pool.free_all(&mut frames);
    }
    assert!((1..200).contains(&received), "{received} received");
    assert_eq!((received + right.counters().own_drops, right.counters().received), (640, received));
    assert_eq!(left.counters().own_drops, 0);
}

#[test]
#[ignore = "needs root: run by ./check as root"]
fn tap_counts_its_own_drops() {
    let (ns, clock, mut pool) = (quiet_namespace(), Clock::calibrated(), pool());
    let open = |side: usize| {
        let config = TapConfig { mac: Some(DUT_MAC[side]), queue: 100, ..TapConfig::named(["dl", "dr"][side]) };
        TapPort::open(&ns, &config, clock).unwrap()
    };
    let (mut left, mut right) = (open(0), open(1));
    forward(&ns, "dl", "dr");
    overflow_is_counted(&mut left, &mut right, &mut pool);
}

#[test]
#[ignore = "needs root: run by ./check as root"]
fn af_packet_counts_its_own_drops() {
    let (ns, mut pool) = (cable(1), pool());
    let mut left = af_packet(&ns, "xa");
    let config = AfPacketConfig { queue: 64, ..AfPacketConfig::named("xb") };
    let mut right = AfPacketPort::open(&ns, &config, Clock::calibrated()).unwrap();
    overflow_is_counted(&mut left, &mut right, &mut pool);
}

#[test]
#[ignore = "needs root: run by ./check as root"]
fn af_xdp_counts_its_own_drops() {
    for mode in [XdpMode::Generic, XdpMode::Native] {
        let (ns, mut pool) = (cable(1), pool());
        let mut left = af_packet(&ns, "xa");
        let config = AfXdpConfig { mode, ring: 64, ..AfXdpConfig::named("xb", Select::everything()) };
        let mut right = AfXdpPort::open(&ns, &config, Clock::calibrated(), std::slice::from_mut(&mut pool)).unwrap();
        overflow_is_counted(&mut left, &mut right[0], &mut pool);
    }
}

/// One worker with one pool moves frames from port to port without a copy.
#[test]
#[ignore = "needs root: run by ./check as root"]
fn xdp_ports_of_one_pool_pass_frames_on() {
    for mode in [XdpMode::Generic, XdpMode::Native] {
        let (ns, mut pool) = (cable(1), pool());
        let mut left = xdp(&ns, "xa", mode, &mut pool);
        let mut right = xdp(&ns, "xb", mode, &mut pool);
        for round in 0..200 {
            let mut frames = burst();
            frames.extend((0..BATCH as u32).map(|i| frame(&mut pool, round * 32 + i, 100)));
            assert_eq!(left.transmit(&mut pool, &mut frames).unwrap().accepted, BATCH);
            let mut there = collect(&mut right, &mut pool, BATCH);
            for f in &mut there {
                f.bytes_mut()[0] = 2;
            }
            assert_eq!(right.transmit(&mut pool, &mut there).unwrap().accepted, BATCH);
            let back = collect(&mut left, &mut pool, BATCH);
            assert_eq!(back.len(), BATCH);
            for (i, f) in back.into_iter().enumerate() {
                assert_eq!(f.bytes()[1..], udp_frame(round * 32 + i as u32, 100)[1..]);
                pool.free(f);
            }
        }
        drop((left, right));
        assert_eq!(pool.available(), pool.config().frames);
    }
}

/// An interface with an XDP socket for UDP still answers ARP and TCP.
#[test]
#[ignore = "needs root: run by ./check as root"]
fn what_is_not_selected_goes_to_the_kernel() {
    let (near, mut pool) = (cable(1), pool());
    let far = Netns::new().unwrap();
    sh(&near, &format!("ip link set xb netns {}", far.path().display()));
    sh(&near, "ip addr add 198.18.0.1/24 dev xa; ip link set xa up");
    sh(&far, "ip addr add 198.18.0.2/24 dev xb; ip link set xb up");
    for mode in [XdpMode::Generic, XdpMode::Native] {
        let _port = xdp(&near, "xa", mode, &mut pool);
        sh(&far, "ip neigh flush dev xb");
        let listener = near.run_in(|| std::net::TcpListener::bind("198.18.0.1:0")).unwrap().unwrap();
        let address = listener.local_addr().unwrap();
        let connect = || std::net::TcpStream::connect_timeout(&address, Duration::from_secs(2));
        far.run_in(connect).unwrap().unwrap();
    }
}

#[test]
#[ignore = "needs root: run by ./check as root"]
fn each_queue_is_a_port_of_its_own() {
    let ns = cable(2);
    let mut pools = Pool::for_workers(PoolConfig::umem(2, 2048)).unwrap();
    let mut other = pool();
    let select = || Select { any_of: vec![vec![UDP_MARK]] };
    let config = |name: &str| AfXdpConfig { queues: 2, ring: 512, ..AfXdpConfig::named(name, select()) };
    let clock = Clock::calibrated();
    let mut left = AfXdpPort::open(&ns, &config("xa"), clock, &mut pools).unwrap();
    let mut right = AfXdpPort::open(&ns, &config("xb"), clock, std::slice::from_mut(&mut other)).unwrap();
    assert_eq!((left.len(), right.len()), (2, 2));
    // Frames from queue 1 arrive on queue 1, by their recorded queue number; frames from queue 0 by a hash.
    for (queue, (port, pool)) in left.iter_mut().zip(&mut pools).enumerate() {
        let mut frames = burst();
        frames.extend((0..8).map(|i| frame(pool, i, 60)));
        assert_eq!(port.transmit(pool, &mut frames).unwrap().accepted, 8, "queue {queue}");
    }
    let deadline = Instant::now() + Duration::from_secs(2);
    let mut got = burst();
    while got.len() < 16 && Instant::now() < deadline {
        for port in &mut right {
            port.receive(&mut other, &mut got).unwrap();
        }
    }
    assert_eq!(got.len(), 16);
    other.free_all(&mut got);
}

/// A frame that the near kernel sends with a checksum left to hardware is received with a valid checksum.
#[test]
#[ignore = "needs root: run by ./check as root"]
fn af_packet_finishes_checksums() {
    let (ns, mut pool) = (cable(1), pool());
    sh(&ns, "ip addr add 198.18.0.1/24 dev xa; ip neigh add 198.18.0.2 lladdr 02:00:00:00:00:02 dev xa");
    let mut right = af_packet(&ns, "xb");
    ns.run_in(|| {
        let socket = std::net::UdpSocket::bind("198.18.0.1:7000").unwrap();
        socket.send_to(b"whole?!", "198.18.0.2:9").unwrap();
    })
    .unwrap();
    let frames = collect(&mut right, &mut pool, 1);
    let bytes = frames[0].bytes();
    assert_eq!(
        (&bytes[..6], &bytes[12..15], &bytes[42..49]),
        (&[2, 0, 0, 0, 0, 2][..], &[8, 0, 0x45][..], &b"whole?!"[..])
    );
    // RFC 768: the sum of pseudo header, UDP header and data is all ones.
    let covered = [&bytes[26..34], &[0, 17], &bytes[38..40], &bytes[34..49], &[0]].concat();
    let sum: u32 = covered.chunks(2).map(|w| u32::from(w[0]) << 8 | u32::from(w[1])).sum();
    assert_eq!((sum & 0xffff) + (sum >> 16), 0xffff);
}

/// The kernel removes the tag before packet sockets see the frame; the port restores it.
#[test]
#[ignore = "needs root: run by ./check as root"]
fn af_packet_keeps_vlan_tags() {
    let (ns, mut pool) = (cable(1), pool());
    let (mut left, mut right) = (af_packet(&ns, "xa"), af_packet(&ns, "xb"));
    let plain = udp_frame(5, 60);
    let tagged = [&plain[..12], &[0x81, 0, 0x20, 100], &plain[12..]].concat();
    let mut frames = burst();
    frames.push(pool.alloc(64).unwrap());
    frames[0].bytes_mut().copy_from_slice(&tagged);
    assert_eq!(left.transmit(&mut pool, &mut frames).unwrap().accepted, 1);
    let frames = collect(&mut right, &mut pool, 1);
    assert_eq!(frames[0].bytes(), tagged);
}

#[test]
#[ignore = "needs root: run by ./check as root"]
fn a_lost_link_is_told() {
    let (ns, mut pool) = (cable(1), pool());
    let clock = Clock::calibrated();
    let mut packet = af_packet(&ns, "xa");
    let mut xsk = xdp(&ns, "xb", XdpMode::Generic, &mut pool);
    let mut tap = TapPort::open(&ns, &TapConfig::named("dl"), clock).unwrap();
    assert!(!packet.counters().link_lost && !xsk.counters().link_lost && !tap.counters().link_lost);
    sh(&ns, "ip link set xa down; ip link set xa up; ip link set dl down");
    assert!(packet.counters().link_lost && xsk.counters().link_lost && tap.counters().link_lost);
    // A port reports a loss once if the link is up again, each later loss again, and a link that is down in every
    // reading.
    assert!(!packet.counters().link_lost && tap.counters().link_lost);
    sh(&ns, "ip link set xa down; ip link set xa up");
    assert!(packet.counters().link_lost);
    let mut frames = burst();
    frames.push(frame(&mut pool, 0, 60));
    assert_eq!(tap.transmit(&mut pool, &mut frames).unwrap(), Sent::default());
    assert_eq!(frames.len(), 1);
}

#[test]
#[ignore = "needs root: run by ./check as root"]
fn a_port_whose_interface_was_removed_fails() {
    for mode in [XdpMode::Generic, XdpMode::Native] {
        let (ns, mut pool) = (cable(1), pool());
        let mut packet = af_packet(&ns, "xa");
        let mut xsk = xdp(&ns, "xb", mode, &mut pool);
        sh(&ns, "ip link del xa");
        for (port, name) in [(&mut packet as &mut dyn Port, "xa"), (&mut xsk, "xb")] {
            assert!(port.counters().link_lost);
            let mut frames = burst();
            frames.push(frame(&mut pool, 0, 60));
            let error = port.transmit(&mut pool, &mut frames).unwrap_err().to_string();
            assert!(error.starts_with(&format!("{name} no longer exists")), "{error}");
            pool.free_all(&mut frames);
        }
    }
}

#[test]
#[ignore = "needs root: run by ./check as root"]
fn errors_name_the_way_out() {
    let (ns, clock) = (cable(1), Clock::calibrated());
    let xdp_error = |config: &AfXdpConfig, pool: PoolConfig| {
        let mut pools = [Pool::single(pool).unwrap()];
        AfXdpPort::open(&ns, config, clock, &mut pools).err().expect("an error").to_string()
    };
    let xa = || AfXdpConfig::named("xa", Select::everything());
    let umem = PoolConfig::umem(1, 4096);
    let cases = [
        (
            xdp_error(&AfXdpConfig { copying: CopyMode::Never, mode: XdpMode::Native, ..xa() }, umem),
            "let the kernel copy",
        ),
        (xdp_error(&AfXdpConfig { queues: 2, ring: 512, ..xa() }, umem), "has this many queues"),
        (xdp_error(&xa(), PoolConfig::compact(1, 4096, 1514)), "use PoolConfig::umem"),
        (xdp_error(&xa(), PoolConfig::umem(1, 512)), "more frames, or a smaller ring"),
        (xdp_error(&AfXdpConfig::named("xc", Select::everything()), umem), "no interface has this name"),
        (
            TapPort::open(&ns, &TapConfig::named("a-name-much-too-long"), clock).err().unwrap().to_string(),
            "a name has 1 to 15 bytes",
        ),
        (
            AfPacketPort::open(&ns, &AfPacketConfig::named("lo"), clock).err().unwrap().to_string(),
            "switch both on first",
        ),
    ];
    for (error, way_out) in cases {
        assert!(error.contains(way_out), "{error}\ndoes not say: {way_out}");
    }
}

#[test]
#[ignore = "needs root: run by ./check as root"]
fn a_foreign_frame_is_refused_by_an_xdp_port_and_stays_sound() {
    let (ns, mut pool, mut other) = (cable(1), pool(), pool());
    let mut left = xdp(&ns, "xa", XdpMode::Generic, &mut pool);
    let mut frames = burst();
    frames.push(frame(&mut other, 0, 60));
    assert!(left.transmit(&mut pool, &mut frames).is_err());
    assert_eq!(other.available(), other.config().frames, "the frame went home");
}

#[test]
#[ignore = "needs root: run by ./check as root"]
fn a_namespace_shows_its_own_interfaces_in_sysfs() {
    let ns = cable(3);
    let seen = ns.command("ls", Sight::NetworkAndSysfs).arg("/sys/class/net/xa/queues").output().unwrap();
    assert_eq!(String::from_utf8_lossy(&seen.stdout).split_whitespace().count(), 6);
    sh(&ns, "echo 1 > /sys/class/net/xa/queues/rx-2/rps_cpus");
    assert!(!std::path::Path::new("/sys/class/net/xa").exists(), "the host sees nothing of it");
}
