//! Whatever arrives: no panic, bounded state, and translation is reversed on the way back.

use super::{MAPPINGS, Setup, Stateful, USUAL, bed, each, kind, known, map, with};
use plane::Side::{self, Customer, Internet};
use proptest::collection::vec;
use proptest::prelude::*;
use testbed::prelude::*;
use testbed::{Bed, arriving};

each! {
    damaged_frames_do_no_harm: nat44 nat64 nat66 nat46 ds_lite;
    translation_is_undone_on_the_way_back: nat44 nat64 nat66 nat46 ds_lite aftr;
}

/// Good frames of each kind, with the sides that they arrive at.
fn good<N: Stateful>(g: &mut Bed<N>) -> Vec<(Side, Vec<u8>)> {
    let (from, remote) = ((N::A, 5000), (N::REMOTE, 80));
    let to = known::<N>(remote);
    let outside = map(g, from, remote);
    let (sent, answer) = (udp(from, to), udp(remote, outside));
    let (left, arrived) = (g.out(&sent), g.back(&answer));
    let [inside, there] = [N::A, N::REMOTE].map(|at| kind(at, (1, 4), (3, 3)));
    let mut customers = fragments(&udp_with(from, to, 64, &[1; 64]), &[32], 9);
    customers.extend([sent, tcp(from, to, "S"), echo(N::A, to.0, 5, true), udp(from, known::<N>(outside))]);
    customers.push(error(N::A, to.0, inside.0, inside.1, &arrived, 200));
    let mut internet = fragments(&udp_with(remote, outside, 64, &[1; 64]), &[32], 9);
    internet.extend([answer, tcp(remote, outside, "S"), error(N::OTHER, N::POOL, there.0, there.1, &left, 200)]);
    let of = |side, frames: Vec<Vec<u8>>| frames.into_iter().map(move |f| (side, arriving(side, &f)));
    of(Customer, customers).chain(of(Internet, internet)).collect()
}

fn damaged_frames_do_no_harm<N: Stateful>() {
    let damage = (any::<prop::sample::Index>(), vec((12usize..140, any::<u8>()), 0..4), 0usize..220, any::<bool>());
    let good = good::<N>(&mut with(&|_| {}));
    proptest!(ProptestConfig::with_cases(32), |(all in vec(damage, 1..40), workers in 1usize..4)| {
        let setup = Setup { nat: &|c| c.sessions = 24, workers, ..USUAL };
        let workers_of = bed::<N>(&setup).workers;
        // What was damaged before may leave damaged: no judge.
        let mut g = Bed::new(workers_of, N::STEERING, |_, _| {});
        for (which, changes, len, seal) in all {
            let (side, mut frame) = which.get(&good).clone();
            for (at, value) in changes {
                let n = frame.len();
                frame[at % n] = value;
            }
            frame.resize(len.min(frame.len() + 8), 0);
            if seal && frame.len() >= 34 && frame[14] == 0x45 {
                reseal(&mut frame);
            }
            g.send(side, &frame);
            g.now += 1_000_000;
        }
        let (sessions, mappings) = g.entries();
        prop_assert!(mappings <= sessions && sessions <= 24 + 1024 * workers as u64, "{sessions}");
        prop_assert!(g.workers.iter().all(N::is_bounded));
    });
}

/// Unchanged but for TTL and checksums, which have been judged.
fn translation_is_undone_on_the_way_back<N: Stateful>() {
    let flow = (1u32..99, 1u16.., any::<bool>(), 1u16.., any::<bool>(), vec(any::<u8>(), 0..200));
    proptest!(ProptestConfig::with_cases(32), |(per_connection: bool, flows in vec(flow, 1..20))| {
        let mut g = with::<N>(MAPPINGS[usize::from(per_connection)]);
        for (host, port, other, remote_port, is_tcp, payload) in flows {
            let (from, to) = ((N::customer(host), port), (if other { N::OTHER } else { N::REMOTE }, remote_port));
            let packet = |from: At, to: At, flags| {
                if is_tcp { tcp_with(from, to, flags, &payload) } else { udp_with(from, to, 64, &payload) }
            };
            let out = g.out(&packet(from, known::<N>(to), "S"));
            let seen = judge(&out);
            prop_assert_eq!((seen.to, seen.ttl, seen.from.0), (to, 64 - N::HOPS[0], N::POOL));
            let back = g.back(&packet(to, seen.from, "SA"));
            let there = judge(&back);
            prop_assert_eq!((there.from, there.to, there.ttl), (known::<N>(to), from, 64 - N::HOPS[0]));
            for (frame, version) in [(&out, N::VERSIONS[1]), (&back, N::VERSIONS[0])] {
                let at = if version == 4 { 34 } else { 54 } + if is_tcp { 20 } else { 8 };
                prop_assert_eq!(&frame[at..at + payload.len()], &payload[..]);
            }
        }
    });
}
