//! Several packet sockets on one interface: each frame arrives at exactly one of them.

use crate::common::{cable, sh, udp_frame};
use port::backend::af_packet::{AfPacketConfig, AfPacketPort};
use port::backend::af_xdp::{AfXdpConfig, AfXdpPort, Select};
use port::{BATCH, Clock, Netns, Pool, PoolConfig, Port, burst};
use std::time::{Duration, Instant};

const FLOWS: u32 = 64;

fn pool() -> Pool {
    Pool::single(PoolConfig::umem(1, 4096)).unwrap()
}

fn open(ns: &Netns, name: &str, lanes: usize, queue: usize) -> Vec<AfPacketPort> {
    let config = AfPacketConfig { queue, ..AfPacketConfig::named(name) };
    AfPacketPort::open_many(ns, &config, lanes, Clock::calibrated()).unwrap()
}

/// Frame `sequence` of one of [`FLOWS`] flows, which differ in their source ports.
fn frame(pool: &mut Pool, sequence: u32) -> port::Frame {
    let mut frame = pool.alloc(60).unwrap();
    frame.bytes_mut().copy_from_slice(&udp_frame(sequence, 60));
    frame.bytes_mut()[35] = (sequence % FLOWS) as u8;
    frame
}

fn send(port: &mut dyn Port, pool: &mut Pool, sequences: std::ops::Range<u32>) {
    let all: Vec<u32> = sequences.collect();
    for some in all.chunks(BATCH) {
        let mut frames = burst();
        frames.extend(some.iter().map(|&sequence| frame(pool, sequence)));
        assert_eq!(port.transmit(pool, &mut frames).unwrap().accepted, some.len());
    }
}

/// Returns the sequence numbers that each lane received. It ends when `count` frames have arrived or were dropped.
fn receive(lanes: &mut [AfPacketPort], pool: &mut Pool, count: usize) -> Vec<Vec<u32>> {
    let deadline = Instant::now() + Duration::from_secs(5);
    let (mut got, mut part) = (vec![Vec::new(); lanes.len()], burst());
    let mut drops = 0;
    while got.iter().map(Vec::len).sum::<usize>() + drops < count && Instant::now() < deadline {
        for (lane, got) in lanes.iter_mut().zip(&mut got) {
            lane.receive(pool, &mut part).unwrap();
            got.extend(part.iter().map(|f| u32::from_be_bytes(f.bytes()[42..46].try_into().unwrap())));
            pool.free_all(&mut part);
        }
        drops = lanes.iter_mut().map(|lane| lane.counters().own_drops as usize).sum();
    }
    got
}

#[test]
#[ignore = "needs root: run by ./check as root"]
fn with_fewer_queues_than_lanes_the_flow_decides() {
    for lanes in [1, 2, 4] {
        let (ns, mut pool) = (cable(1), pool());
        let mut left = open(&ns, "xa", 1, 8192).remove(0);
        let mut right = open(&ns, "xb", lanes, 8192);
        let mode = if lanes == 1 { "veth, inline" } else { "veth, inline, rings by flow hash" };
        assert_eq!(right[0].facts().mode, mode);
        send(&mut left, &mut pool, 0..1000);
        let got = receive(&mut right, &mut pool, 1000);
        let mut all = got.concat();
        all.sort_unstable();
        assert_eq!(all, (0..1000).collect::<Vec<_>>(), "each frame once");
        for (lane, got) in right.iter_mut().zip(&got) {
            assert!(!got.is_empty() && got.is_sorted(), "each lane has a part, in order");
            let counters = lane.counters();
            assert_eq!((counters.received, counters.own_drops), (got.len() as u64, 0));
        }
        let lane_of = |sequence: u32| got.iter().position(|got| got.contains(&sequence));
        assert!((0..1000).all(|sequence| lane_of(sequence) == lane_of(sequence % FLOWS)), "a flow stays in its lane");
    }
}

#[test]
#[ignore = "needs root: run by ./check as root"]
fn with_enough_queues_the_queue_decides() {
    let (ns, mut pool) = (cable(2), pool());
    let config = AfXdpConfig { queues: 2, ring: 512, ..AfXdpConfig::named("xa", Select::default()) };
    let mut left = AfXdpPort::open(&ns, &config, Clock::calibrated(), std::slice::from_mut(&mut pool)).unwrap();
    let mut right = open(&ns, "xb", 2, 8192);
    assert_eq!(right[1].facts().mode, "veth, inline, rings by receive queue");
    assert_eq!([0, 1].map(|lane: usize| right[lane].facts().name), ["xb.0", "xb.1"]);
    send(&mut left[0], &mut pool, 0..200);
    send(&mut left[1], &mut pool, 200..400);
    let mut got = receive(&mut right, &mut pool, 400);
    got.sort();
    assert_eq!(got, [(0..200).collect::<Vec<_>>(), (200..400).collect()]);
}

/// A full ring counts the frames that it loses, and the other ring is not affected.
#[test]
#[ignore = "needs root: run by ./check as root"]
fn each_ring_counts_what_it_loses() {
    let (ns, mut pool) = (cable(2), pool());
    let config = AfXdpConfig { queues: 2, ring: 512, ..AfXdpConfig::named("xa", Select::default()) };
    let mut left = AfXdpPort::open(&ns, &config, Clock::calibrated(), std::slice::from_mut(&mut pool)).unwrap();
    let mut right = open(&ns, "xb", 2, 64);
    send(&mut left[1], &mut pool, 0..640);
    send(&mut left[0], &mut pool, 640..650);
    let got = receive(&mut right, &mut pool, 650);
    let mut lanes: Vec<_> =
        right.iter_mut().zip(&got).map(|(lane, got)| (got.len(), lane.counters().own_drops)).collect();
    lanes.sort_unstable();
    assert_eq!(lanes[0], (10, 0));
    assert!(lanes[1].0 >= 64 && lanes[1].0 as u64 + lanes[1].1 == 640, "{lanes:?}");
}

#[test]
#[ignore = "needs root: run by ./check as root"]
fn lanes_do_not_see_what_their_own_machine_sends() {
    let (ns, mut pool) = (cable(1), pool());
    sh(&ns, "ip addr add 198.18.0.1/24 dev xa; ip neigh add 198.18.0.2 lladdr 02:00:00:00:00:02 dev xa");
    let mut near = open(&ns, "xa", 2, 64);
    let mut far = open(&ns, "xb", 2, 64);
    // Two groups on two interfaces; and a third group on the same interface also receives every frame.
    let mut third = open(&ns, "xb", 2, 64);
    ns.run_in(|| std::net::UdpSocket::bind("198.18.0.1:7000").unwrap().send_to(b"away", "198.18.0.2:9").unwrap())
        .unwrap();
    for lanes in [&mut far, &mut third] {
        assert_eq!(receive(lanes, &mut pool, 1).concat().len(), 1);
    }
    let (mut from, mut pool) = (open(&ns, "xb", 1, 64).remove(0), pool);
    send(&mut from, &mut pool, 7..8);
    assert_eq!(receive(&mut near, &mut pool, 1).concat(), [7], "and nothing in front of it");
}

#[test]
#[ignore = "needs root: run by ./check as root"]
fn an_interface_without_lanes_is_an_error() {
    for lanes in [0, 257] {
        let opened = AfPacketPort::open_many(&cable(1), &AfPacketConfig::named("xa"), lanes, Clock::calibrated());
        let error = opened.err().unwrap().to_string();
        assert!(error.contains("xa should have") && error.contains("1 to 256 lanes"), "{error}");
    }
}
