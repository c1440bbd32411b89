//! Several workers: packets in parts meet at one of them, however they are spread.

use crate::tunnel::end::*;
use crate::tunnel::packets::*;
use crate::tunnel::rfc7596::{PORT, SHARED, table};
use plane::Side;
use plane::lw4o6::Live;

/// Spread frames over workers without regard to the steering.
fn scatter(frames: Vec<Vec<u8>>, n: usize) -> Vec<(usize, Frame)> {
    frames.into_iter().enumerate().map(|(i, f)| (i * 7 % n, Frame::new(&f))).collect()
}

#[test]
fn fragments_meet_wherever_they_arrive() {
    for n in [1, 2, 3] {
        let live = Live::new(table());
        let mut end = End::new(&config(Side::Customer), n, || live.bindings());
        let mut in4 = Vec::new();
        let mut in6 = Vec::new();
        for id in 0..20 {
            let parts = fragments(&udp((REMOTE, 80), (SHARED, PORT), &[1; 3000]), id, &[1000, 2000]);
            in4.extend([2, 0, 1].map(|i: usize| frame4(&parts[i])));
            let back = fragments(&udp((SHARED, PORT), (REMOTE, 80), &[1; 3000]), id, &[1000, 2000]);
            in6.extend([1, 2, 0].map(|i: usize| wrapped(B4, PE, &back[i])));
        }
        assert_eq!(end.run(Side::Internet, scatter(in4, n.into())).len(), 60, "{:?}", end.nonzero());
        assert_eq!(end.run(Side::Customer, scatter(in6, n.into())).len(), 60, "{:?}", end.nonzero());
        assert_eq!(end.crossings > 0, n > 1);
    }
}

/// Parts of tunnel packets in which there are fragments: both are handed over where need be.
#[test]
fn parts_of_tunnel_packets_meet_wherever_they_arrive() {
    for n in [1, 2, 3] {
        let live = Live::new(table());
        let mut end = End::new(&config(Side::Customer), n, || live.bindings());
        let mut frames = Vec::new();
        for id in 0..20 {
            let inner = fragments(&udp((SHARED, PORT), (REMOTE, 80), &[1; 2600]), id, &[1304]);
            for (k, p) in [1, 0].map(|i: usize| &inner[i]).into_iter().enumerate() {
                let parts = fragments6(&ipv6(B4, PE, 4, p), u32::from(id) * 2 + k as u32, &[1200]);
                frames.extend([1, 0].map(|i: usize| frame6(&parts[i])));
            }
        }
        assert_eq!(end.run(Side::Customer, scatter(frames, n.into())).len(), 40, "{:?}", end.nonzero());
    }
}

#[test]
fn steering_makes_parts_meet() {
    let live = Live::new(table());
    let mut end = End::new(&config(Side::Customer), 2, || live.bindings());
    let frames: Vec<_> =
        (0..50u16).map(|port| frame4(&udp(([203, 0, 113, port as u8], 80), (SHARED, PORT), b"x"))).collect();
    assert_eq!(end.send_all(Side::Internet, &frames).len(), 50);
    let each: Vec<u64> = end.workers.iter().map(|w| w.counter(plane::event::Event::ToIpv6)).collect();
    assert!(each.iter().all(|n| *n > 10), "{each:?}");
    assert_eq!(end.crossings, 0);
}
