//! The contract of all back-ends, as one suite that runs on each of them. Kernel back-ends run in new namespaces.

use crate::common::{DUT_MAC, cable, forward, quiet_namespace, udp_frame};
use port::backend::af_packet::{AfPacketConfig, AfPacketPort};
use port::backend::af_xdp::{AfXdpConfig, AfXdpPort, Condition, Select, Width, XdpMode};
use port::backend::tap::{TapConfig, TapPort};
use port::link::{Steer, link};
use port::middleware::capture::CaptureLimits;
use port::middleware::{Capture, Impair, Impairment};
use port::{BATCH, Burst, Clock, Pool, PoolConfig, Port, burst};
use std::time::{Duration, Instant};

/// Two ports, and a path between them from left to right.
struct Rig {
    left: Box<dyn Port>,
    right: Box<dyn Port>,
    pools: [Pool; 2],
    clock: Clock,
    /// Offset from which bytes arrive unchanged; a router changes the bytes in front of it.
    intact_from: usize,
    /// Length of the largest frame that the path carries.
    largest: usize,
}

impl Rig {
    fn pools(config: PoolConfig) -> [Pool; 2] {
        let mut pools = Pool::for_workers(PoolConfig { workers: 2, ..config }).unwrap();
        let right = pools.pop().unwrap();
        [pools.pop().unwrap(), right]
    }

    /// Fills a burst with frames of these lengths, numbered from `first`.
    fn frames(&mut self, first: u32, lens: &[usize]) -> Burst {
        let mut out = burst();
        for (i, &len) in lens.iter().enumerate() {
            let mut frame = self.pools[0].alloc(len).expect("the pool has room");
            frame.bytes_mut().copy_from_slice(&udp_frame(first + i as u32, len));
            out.push(frame);
        }
        out
    }

    /// Sends a whole burst, with as many calls as the port needs. Returns the number of accepted frames; refused frames
    /// are lost.
    fn send(&mut self, mut frames: Burst) -> usize {
        let deadline = Instant::now() + Duration::from_secs(2);
        let mut accepted = 0;
        while !frames.is_empty() {
            accepted += self.left.transmit(&mut self.pools[0], &mut frames).unwrap().accepted;
            assert!(Instant::now() < deadline, "{} frames are never taken", frames.len());
        }
        accepted
    }

    /// Receives until `count` frames have arrived, or none has arrived for some time.
    fn collect(&mut self, count: usize) -> Vec<port::Frame> {
        let deadline = Instant::now() + Duration::from_secs(2);
        let (mut all, mut part) = (Vec::new(), burst());
        while all.len() < count && Instant::now() < deadline {
            self.right.receive(&mut self.pools[1], &mut part).unwrap();
            all.append(&mut part);
        }
        all
    }

    fn free(&mut self, frames: Vec<port::Frame>) {
        for frame in frames {
            self.pools[1].free(frame);
        }
    }
}

/// Frames of every length arrive as they were sent, in order.
fn frames_arrive_intact_and_in_order(mut rig: Rig) {
    let lens: Vec<usize> = (60..=rig.largest).collect();
    let mut sequence = 0;
    for chunk in lens.chunks(BATCH) {
        let frames = rig.frames(sequence, chunk);
        assert_eq!(rig.send(frames), chunk.len());
        let received = rig.collect(chunk.len());
        assert_eq!(received.len(), chunk.len());
        for (frame, &len) in received.iter().zip(chunk) {
            let sent = udp_frame(sequence, len);
            assert_eq!(frame.bytes()[rig.intact_from..], sent[rig.intact_from..], "frame {sequence} of {len} bytes");
            assert_eq!(frame.len(), len);
            sequence += 1;
        }
        rig.free(received);
    }
}

/// Each stamp lies between the start of sending and the end of receiving, and no stamp is earlier than that of the
/// frame before.
fn stamps_are_monotonic_and_true(mut rig: Rig) {
    let mut last = 0;
    for round in 0..50 {
        let frames = rig.frames(round * 8, &[60; 8]);
        let before = rig.clock.now();
        rig.send(frames);
        let received = rig.collect(8);
        let after = rig.clock.now();
        assert_eq!(received.len(), 8);
        for frame in &received {
            assert!(frame.stamp >= before, "stamped {} ns early", rig.clock.nanos(before - frame.stamp));
            assert!(frame.stamp <= after, "stamped {} ns late", rig.clock.nanos(frame.stamp - after));
            assert!(
                frame.stamp >= last,
                "stamped {} ns before the frame in front",
                rig.clock.nanos(last - frame.stamp)
            );
            last = frame.stamp;
        }
        rig.free(received);
    }
}

/// Each frame given to `transmit` is accepted, refused or left; the counters agree; and each frame returns to its pool.
fn every_frame_is_accounted_for(mut rig: Rig) {
    let all = [rig.pools[0].config().frames, rig.pools[1].config().frames];
    let (mut accepted, mut refused, mut received) = (0, 0, 0);
    // The test sends without receiving, so that queues fill up.
    for round in 0..60 {
        let mut frames = rig.frames(round * 32, &[60; BATCH]);
        let sent = rig.left.transmit(&mut rig.pools[0], &mut frames).unwrap();
        assert_eq!(sent.accepted + sent.refused + frames.len(), BATCH);
        rig.pools[0].free_all(&mut frames);
        accepted += sent.accepted as u64;
        refused += sent.refused as u64;
        if round % 20 == 19 {
            let all = rig.collect((accepted - received) as usize);
            received += all.len() as u64;
            rig.free(all);
        }
    }
    let (left, right) = (rig.left.counters(), rig.right.counters());
    assert_eq!((left.accepted, left.refused), (accepted, refused));
    assert_eq!(right.received, received);
    // On a link the ring is also the receiver's own queue, so refused frames count at both ends.
    let both = if rig.right.facts().backend == "link" { refused } else { 0 };
    assert_eq!(received + right.own_drops, accepted + both, "accepted frames are received or counted as our own drops");
    assert!(!left.link_lost && !right.link_lost);
    let Rig { left, right, mut pools, .. } = rig;
    drop((left, right));
    assert_eq!([pools[0].available(), pools[1].available()], all, "frames stayed somewhere");
}

/// The frames that back-pressure leaves in a burst are its last frames, in order.
fn what_is_left_is_the_end_of_the_burst(mut rig: Rig) {
    for round in 0..100 {
        let mut frames = rig.frames(round * 32, &[60; BATCH]);
        let sent = rig.left.transmit(&mut rig.pools[0], &mut frames).unwrap();
        let gone = sent.accepted + sent.refused;
        for (i, frame) in frames.iter().enumerate() {
            assert_eq!(frame.bytes(), udp_frame(round * 32 + (gone + i) as u32, 60));
        }
        rig.pools[0].free_all(&mut frames);
        let rest = rig.collect(sent.accepted);
        rig.free(rest);
    }
}

/// A receiver without a free frame does not fail: waiting frames are received later, or counted.
fn an_empty_pool_breaks_nothing(mut rig: Rig) {
    let hoard: Vec<port::Frame> = std::iter::from_fn(|| rig.pools[1].alloc(60)).collect();
    let frames = rig.frames(0, &[60; BATCH]);
    let accepted = rig.send(frames);
    let mut into = burst();
    let early = rig.right.receive(&mut rig.pools[1], &mut into).unwrap();
    assert_eq!(early, into.len());
    rig.free(into);
    rig.free(hoard);
    let rest = rig.collect(accepted - early);
    let dropped = rig.right.counters().own_drops as usize;
    assert_eq!(early + rest.len() + dropped, accepted);
    rig.free(rest);
}

/// Defines one module of tests for each back-end; `rig` makes new ports for each test.
macro_rules! contract {
    ($name:ident, $rig:expr $(, $ignore:meta)?) => {
        mod $name {
            use super::*;
            contract!(@test $rig, frames_arrive_intact_and_in_order $(, $ignore)?);
            contract!(@test $rig, stamps_are_monotonic_and_true $(, $ignore)?);
            contract!(@test $rig, every_frame_is_accounted_for $(, $ignore)?);
            contract!(@test $rig, what_is_left_is_the_end_of_the_burst $(, $ignore)?);
            contract!(@test $rig, an_empty_pool_breaks_nothing $(, $ignore)?);
            #[test]
            $(#[$ignore])?
            fn closing_and_opening_again_works() {
                let mut make = $rig();
                for _ in 0..5 {
                    let mut rig = make();
                    let frames = rig.frames(7, &[60; 4]);
                    assert_eq!(rig.send(frames), 4);
                    let received = rig.collect(4);
                    assert_eq!(received.len(), 4);
                    rig.free(received);
                }
            }
        }
    };
    (@test $rig:expr, $property:ident $(, $ignore:meta)?) => {
        #[test]
        $(#[$ignore])?
        fn $property() {
            super::$property($rig()());
        }
    };
}

fn link_rig() -> impl FnMut() -> Rig {
    || {
        let clock = Clock::calibrated();
        let (mut a, mut b) = link("test", clock, 1024, (1, Steer::First), (1, Steer::First));
        Rig {
            left: Box::new(a.remove(0)),
            right: Box::new(b.remove(0)),
            pools: Rig::pools(PoolConfig::compact(2, 4096, 1514)),
            clock,
            intact_from: 0,
            largest: 1514,
        }
    }
}

fn tap_rig() -> impl FnMut() -> Rig {
    let ns = quiet_namespace();
    move || {
        let clock = Clock::calibrated();
        let open = |side: usize| {
            let config = TapConfig { mac: Some(DUT_MAC[side]), ..TapConfig::named(["dl", "dr"][side]) };
            let port = TapPort::open(&ns, &config, clock).unwrap();
            assert_eq!(port.interface().mac, DUT_MAC[side]);
            Box::new(port)
        };
        let (left, right) = (open(0), open(1));
        forward(&ns, "dl", "dr");
        let pools = Rig::pools(PoolConfig::compact(2, 4096, 1515));
        // The router changes the addresses, the TTL and the header checksum.
        Rig { left, right, pools, clock, intact_from: 26, largest: 1514 }
    }
}

fn af_packet_rig() -> impl FnMut() -> Rig {
    let ns = cable(1);
    move || {
        let clock = Clock::calibrated();
        let open = |name: &str| Box::new(AfPacketPort::open(&ns, &AfPacketConfig::named(name), clock).unwrap());
        let (left, right) = (open("xa"), open("xb"));
        Rig { left, right, pools: Rig::pools(PoolConfig::compact(2, 4096, 1518)), clock, intact_from: 0, largest: 1514 }
    }
}

/// The two ends of a cable through XDP sockets, which select only UDP over IPv4.
fn af_xdp_rig(mode: XdpMode) -> impl FnMut() -> Rig {
    let ns = cable(1);
    let udp = vec![Condition::equals(12, Width::Two, 0x0800), Condition::equals(23, Width::One, 17)];
    let select = Select { any_of: vec![udp] };
    move || {
        let clock = Clock::calibrated();
        let [mut a, mut b] = Rig::pools(PoolConfig::umem(2, 4096));
        let open = |name: &str, pool: &mut Pool| {
            let config = AfXdpConfig { mode, ring: 1024, ..AfXdpConfig::named(name, select.clone()) };
            Box::new(AfXdpPort::open(&ns, &config, clock, std::slice::from_mut(pool)).unwrap().remove(0))
        };
        let (left, right) = (open("xa", &mut a), open("xb", &mut b));
        assert!(!left.zero_copy(), "veth has none");
        Rig { left, right, pools: [a, b], clock, intact_from: 0, largest: 1514 }
    }
}

fn af_xdp_generic_rig() -> impl FnMut() -> Rig {
    af_xdp_rig(XdpMode::Generic)
}

fn af_xdp_native_rig() -> impl FnMut() -> Rig {
    af_xdp_rig(XdpMode::Native)
}

fn middleware_rig() -> impl FnMut() -> Rig {
    let mut plain = link_rig();
    move || {
        let rig = plain();
        let wrap = |port: Box<dyn Port>| {
            let (captured, _) = Capture::new(port, CaptureLimits { snaplen: 128, frames: 64 }, rig.clock);
            Box::new(Impair::new(captured, Impairment::default(), 4096, rig.clock))
        };
        Rig { left: wrap(rig.left), right: wrap(rig.right), ..rig }
    }
}

contract!(in_process_link, link_rig);
contract!(middleware, middleware_rig);
contract!(tap, tap_rig, ignore = "needs root: run by ./check as root");
contract!(af_packet, af_packet_rig, ignore = "needs root: run by ./check as root");
contract!(af_xdp_generic, af_xdp_generic_rig, ignore = "needs root: run by ./check as root");
contract!(af_xdp_native, af_xdp_native_rig, ignore = "needs root: run by ./check as root");
