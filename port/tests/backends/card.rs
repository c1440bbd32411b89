//! Facts and counters of interfaces, and ports that count what a card lost.

use crate::common::{cable, quiet_namespace, sh};
use port::backend::af_packet::{AfPacketConfig, AfPacketPort};
use port::{BATCH, Clock, LinkFacts, Mute, Pool, PoolConfig, Port, Statistics, burst};
use std::time::{Duration, Instant};

#[test]
#[ignore = "needs root: run by ./check as root"]
fn the_facts_of_a_cable_are_those_that_were_set() {
    let ns = cable(3);
    let set = "ip link set xa mtu 1400 address 02:00:00:00:00:05; ethtool -L xa rx 2 tx 1
               ethtool -K xa gro on tso off; ip link set xb down";
    sh(&ns, set);
    let facts = LinkFacts::of(&ns, "xa").unwrap();
    assert_eq!((facts.kind.as_str(), facts.driver.as_str(), facts.bus.as_str()), ("veth", "veth", ""));
    assert_eq!((facts.speed, facts.full_duplex, facts.up), (Some(10_000), Some(true), false));
    assert_eq!((facts.mtu, facts.mac), (1400, [2, 0, 0, 0, 0, 5]));
    assert_eq!((facts.rx_queues, facts.tx_queues), (2, 1));
    assert_eq!((facts.gro, facts.tso, facts.lro, facts.numa_node), (Some(true), Some(false), Some(false), None));
    assert_eq!(facts.frames_per_second(64), Some(14_880_952));
    sh(&ns, "ip link set xb up; ethtool -K xa gro off tso on");
    let facts = LinkFacts::of(&ns, "xa").unwrap();
    assert_eq!((facts.gro, facts.tso, facts.up), (Some(false), Some(true), true));
    let error = LinkFacts::of(&ns, "xc").unwrap_err().to_string();
    assert!(error.contains("xc") && error.contains("no interface has this name"), "{error}");
}

fn send(port: &mut dyn Port, pool: &mut Pool, to: [u8; 6], count: usize) {
    let frame = [&to[..], &[2, 0, 0, 0, 0, 9], &[0x88, 0xb5], &[0; 46]].concat();
    let mut left = count;
    while left > 0 {
        let mut frames = burst();
        frames.extend((0..left.min(BATCH)).map(|_| {
            let mut slot = pool.alloc(frame.len()).unwrap();
            slot.bytes_mut().copy_from_slice(&frame);
            slot
        }));
        left -= port.transmit(pool, &mut frames).unwrap().accepted;
    }
}

fn receive(lanes: &mut [AfPacketPort], pool: &mut Pool, count: usize) {
    let deadline = Instant::now() + Duration::from_secs(5);
    let (mut got, mut part) = (0, burst());
    while got < count && Instant::now() < deadline {
        got += lanes.iter_mut().map(|lane| lane.receive(pool, &mut part).unwrap()).sum::<usize>();
        pool.free_all(&mut part);
    }
    assert_eq!(got, count);
}

/// A macvlan stands for a card, because its counters are evaluated, unlike those of a veth. With a queueing discipline
/// at its ingress hook, the kernel counts frames as dropped that only packet sockets received. This simulates a loss
/// counter of a card.
#[test]
#[ignore = "needs root: run by ./check as root"]
fn the_first_port_counts_what_the_card_lost() {
    let (ns, mut pool) = (cable(1), Pool::single(PoolConfig::umem(1, 4096)).unwrap());
    sh(&ns, "ip link add link xb name m0 address 02:00:00:00:00:07 type macvlan mode private; ip link set m0 up");
    sh(&ns, "tc qdisc add dev m0 clsact");
    let open = |name: &str, lanes: usize| {
        AfPacketPort::open_many(&ns, &AfPacketConfig::named(name), lanes, Clock::calibrated()).unwrap()
    };
    let (mut left, mut right) = (open("xa", 1), open("m0", 2));
    let to = [2, 0, 0, 0, 0, 7];
    let drops = |lanes: &mut [AfPacketPort]| lanes.iter_mut().map(|lane| lane.counters().own_drops).collect::<Vec<_>>();
    assert_eq!(drops(&mut right), [0, 0]);
    let before = Statistics::of(&ns, "m0").unwrap();
    send(&mut left[0], &mut pool, to, 100);
    receive(&mut right, &mut pool, 100);
    let after = Statistics::of(&ns, "m0").unwrap();
    assert_eq!(after.own_losses(&before), 100);
    assert_eq!(after.losses(&before).collect::<Vec<_>>(), [("link.rx_dropped", 100)]);
    assert_eq!(drops(&mut right), [100, 0]);
    assert_eq!(drops(&mut right), [100, 0], "since the port was opened, and not again");
    // On a muted port, frames of unknown protocols are no loss.
    let _mute = Mute::attach(&ns, "m0", true).unwrap();
    send(&mut left[0], &mut pool, to, 100);
    receive(&mut right, &mut pool, 100);
    assert_eq!(drops(&mut right), [100, 0]);
    assert_eq!(drops(&mut left), [0]);
}

#[test]
#[ignore = "needs root: run by ./check as root"]
fn the_counters_of_a_driver_have_their_names() {
    let (ns, mut pool) = (cable(2), Pool::single(PoolConfig::umem(1, 4096)).unwrap());
    let mut left = AfPacketPort::open(&ns, &AfPacketConfig::named("xa"), Clock::calibrated()).unwrap();
    let before = Statistics::of(&ns, "xb").unwrap();
    send(&mut left, &mut pool, [2, 0, 0, 0, 0, 7], 40);
    let after = Statistics::of(&ns, "xb").unwrap();
    let rise = |name: &str| after.counters[name] - before.counters[name];
    assert_eq!((rise("link.rx_packets"), rise("link.rx_bytes")), (40, 40 * 60));
    assert_eq!(after.counters["rx_queue_1_xdp_packets"], 0);
    assert_eq!(after.own_losses(&before), 0);
    assert!(Statistics::of(&quiet_namespace(), "xb").is_err());
}
