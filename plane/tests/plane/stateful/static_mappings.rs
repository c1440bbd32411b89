//! Static mappings (port forwarding): no filtering (RFC 4787, section 5), and no end with their sessions (RFC 6146,
//! section 3.5).

use super::{
    MAPPINGS, Setup, Stateful, Static, USUAL, WHOLE, bed, count, dropped, each, joined, known, map, port_unreachable,
};
use plane::Side::{Customer, Internet};
use plane::nat44::config::Config;
use plane::nat44::config::Filtering::{AddressAndPortDependent, AddressDependent};
use testbed::prelude::*;

each! {
    they_admit_unsolicited_packets: nat44 nat64 aftr;
    what_the_inside_end_point_opens_has_the_same_outside_end_point: nat44 nat64 aftr;
    they_outlive_sessions_clearing_and_reload: nat44 nat64 aftr;
    hairpins_find_them: nat44 nat64 aftr;
    every_worker_knows_them: nat44 nat64 aftr;
    whole_addresses_carry_protocols_without_ports: nat44 nat64 aftr;
    hosts_come_and_go_at_a_reload: nat44 nat64 aftr;
    quotas_begin_and_end_at_a_reload: nat44 nat64 aftr;
}

const BEHAVIOURS: [&dyn Fn(&mut Config); 4] =
    [MAPPINGS[0], MAPPINGS[1], &|c| c.filtering = AddressDependent, &|c| c.filtering = AddressAndPortDependent];

/// With those of a web server, a DNS server, and queries.
fn served<N: Stateful>(nat: &dyn Fn(&mut Config)) -> Bed<N> {
    let statics = [("tcp", 80, (N::A, 8080)), ("udp", 53, (N::A, 5353)), ("icmp", 7, (N::A, 9))];
    bed(&Setup { nat, statics: &statics, ..USUAL })
}

/// RFC 4787, section 5; RFC 6146, section 3.5.1.2.
fn they_admit_unsolicited_packets<N: Stateful>() {
    for nat in BEHAVIOURS {
        let mut g = served::<N>(nat);
        let [first, second] = [(N::REMOTE, 999), (N::OTHER, 999)];
        let seen = g.seen_back(&udp(first, (N::POOL, 53)));
        assert_eq!((seen.from, seen.to), (known::<N>(first), (N::A, 5353)), "a customer that has never sent anything");
        assert_eq!(map(&mut g, (N::A, 5353), first), (N::POOL, 53));
        assert_eq!(g.seen_back(&tcp(second, (N::POOL, 80), "S")).to, (N::A, 8080));
        assert_eq!(g.seen_out(&tcp((N::A, 8080), known::<N>(second), "SA")).from, (N::POOL, 80));
        // The identifier of a query is judged at the end that asks.
        let seen = g.seen_back(&echo(N::REMOTE, N::POOL, 7, true));
        assert_eq!((seen.from, seen.to), (known::<N>((N::REMOTE, 9)), (N::A, 0)));
        let seen = g.seen_out(&echo(N::A, N::known(N::REMOTE), 9, false));
        assert_eq!((seen.from, seen.to), ((N::POOL, 0), (N::REMOTE, 7)));
        assert_eq!(["session-static", "session-new", "mapping-new"].map(|name| count(&g, name)), [3, 3, 0]);
        let neighbours = [udp(first, (N::POOL, 54)), udp(first, (N::POOL, 80)), echo(N::REMOTE, N::POOL, 8, true)];
        for frame in neighbours.into_iter().chain([tcp((N::OTHER, 998), (N::POOL, 80), "A")]) {
            dropped(&mut g, Internet, &frame, "no-session");
        }
    }
}

/// RFC 4787, REQ-1.
fn what_the_inside_end_point_opens_has_the_same_outside_end_point<N: Stateful>() {
    for nat in BEHAVIOURS {
        let mut g = served::<N>(nat);
        for port in 80..90 {
            assert_eq!(map(&mut g, (N::A, 5353), (N::REMOTE, port)), (N::POOL, 53));
            assert_eq!(g.reached((N::REMOTE, port), (N::POOL, 53)), (N::A, 5353));
        }
        assert_eq!(g.seen_out(&echo(N::A, N::known(N::REMOTE), 9, true)).from, (N::POOL, 7));
        assert_eq!(g.seen_out(&tcp((N::A, 8080), known::<N>((N::REMOTE, 80)), "S")).from, (N::POOL, 80));
        assert_eq!((g.entries().0, count(&g, "session-static")), (12, 12));
    }
}

/// RFC 6146, section 3.5.
fn they_outlive_sessions_clearing_and_reload<N: Stateful>() {
    let statics: [Static; 1] = [("udp", 53, (N::A, 5353))];
    for nat in MAPPINGS {
        let mut g = bed::<N>(&Setup { nat, statics: &statics, ..USUAL });
        let reached = |g: &mut Bed<N>| assert_eq!(g.reached((N::REMOTE, 999), (N::POOL, 53)), (N::A, 5353));
        for _ in 0..3 {
            reached(&mut g);
            map(&mut g, (N::B, 5000), (N::REMOTE, 80));
            g.wait(10 * 86_400);
            g.idle(400);
            assert_eq!(g.entries(), (0, 0));
            assert!(g.workers[0].numbered().is_none_or(|n| n == 1), "the host of the mapping stays");
        }
        reached(&mut g);
        g.clear();
        assert_eq!(g.entries(), (0, 0));
        reached(&mut g);
        let adopt = |g: &mut Bed<N>, statics: &[Static]| {
            let changed = |c: &mut Config| {
                nat(c);
                (c.sessions, c.sketch) = (1, true);
                c.timeouts.udp *= 2;
            };
            g.workers[0].adopt(&mut N::worker(&Setup { nat: &changed, statics, ..USUAL }, 0).unwrap())
        };
        adopt(&mut g, &statics).unwrap();
        assert_eq!(map(&mut g, (N::A, 5353), (N::REMOTE, 999)), (N::POOL, 53));
        assert_eq!(g.reached((N::OTHER, 999), (N::POOL, 53)), (N::A, 5353));
        g.clear();
        reached(&mut g);
        for other in [&[][..], &[("udp", 53, (N::B, 5353))]] {
            adopt(&mut g, other).unwrap();
            assert_eq!(g.entries().0, 0, "its sessions have ended");
        }
        assert_eq!(g.reached((N::REMOTE, 999), (N::POOL, 53)), (N::B, 5353));
        adopt(&mut g, &[statics[0], ("tcp", 80, (N::A, 8080))]).unwrap();
        reached(&mut g);
        assert_eq!(g.seen_back(&tcp((N::REMOTE, 9), (N::POOL, 80), "S")).to, (N::A, 8080));
    }
}

/// RFC 4787, REQ-9; RFC 6146, section 3.8.
fn hairpins_find_them<N: Stateful>() {
    for nat in BEHAVIOURS {
        let mut g = served::<N>(nat);
        let outside = known::<N>((N::POOL, 53));
        let seen = judge(&g.around(&udp((N::B, 6000), outside)));
        assert_eq!((seen.from.0, seen.to), (N::known(N::POOL), (N::A, 5353)));
        let answer = judge(&g.around(&udp((N::A, 5353), seen.from)));
        assert_eq!((answer.from, answer.to), (outside, (N::B, 6000)));
        let own = judge(&g.around(&tcp((N::A, 6000), known::<N>((N::POOL, 80)), "S")));
        assert_eq!(own.to, (N::A, 8080), "a host reaches itself, too");
    }
}

/// The worker follows from the inside end point, or from the subscriber where those are counted; the outside port may be another
/// one's.
fn every_worker_knows_them<N: Stateful>() {
    let of = |i: u16| ("udp", 8000 + i, (N::host(i, i as u8), 5000 + i));
    let statics: Vec<Static> = (1..60).map(of).chain([("icmp", 7, (N::A, 9))]).collect();
    let counted = |c: &mut Config| c.quota.sessions = Some(400);
    let (kind, code) = port_unreachable(N::A);
    for (nat, mappings) in [(MAPPINGS[0], 1), (MAPPINGS[1], 0), (&counted, 1)] {
        for mut g in super::with_workers::<N>(Setup { nat, statics: &statics, ..USUAL }) {
            for &(_, port, inside) in &statics[..59] {
                let outside = (N::POOL, port);
                assert_eq!(g.reached((N::REMOTE, 999), outside), inside);
                assert_eq!(map(&mut g, inside, (N::REMOTE, 999)), outside);
                assert_eq!(map(&mut g, inside, (N::OTHER, 80)), outside);
                assert_eq!(judge(&g.around(&udp((N::B, 6000), known::<N>(outside)))).to, inside);
                // Errors of both sides find the session, and fragments of a remote host need none.
                let arrived = g.back(&udp((N::OTHER, 80), outside));
                let e = g.out(&error(inside.0, N::known(N::OTHER), kind, code, &arrived, 1000));
                assert_eq!((judge(&arrived).to, quote_of(&e).to), (inside, outside));
                let parts = fragments(&udp_with((N::OTHER, 999), outside, 64, &[7; 100]), &[48], port.into());
                let order = [[0, 1], [1, 0]][usize::from(port % 2)];
                assert_eq!(judge(&reassemble(&joined(&mut g, Internet, Customer, &parts, &order))).to, inside);
            }
            let seen = g.seen_back(&echo(N::REMOTE, N::POOL, 7, true));
            assert_eq!((seen.from, seen.to), (known::<N>((N::REMOTE, 9)), (N::A, 0)));
            assert_eq!(g.seen_out(&echo(N::A, N::known(N::REMOTE), 9, false)).to, (N::REMOTE, 7));
            assert_eq!(count(&g, "mapping-new"), mappings, "that of B");
        }
    }
}

/// RFC 3022, section 2.1: a Basic NAT changes addresses. GRE, ESP, SCTP, whose checksum covers no address (RFC 9260, section 6.8),
/// and any other protocol.
fn whole_addresses_carry_protocols_without_ports<N: Stateful>() {
    let statics = ["tcp", "udp", "icmp"].map(|protocol| (protocol, WHOLE, (N::A, WHOLE)));
    let payload: Vec<u8> = (1..=200).collect();
    let (kind, code) = port_unreachable(N::A);
    let sent = |from, to, protocol| raw(from, to, 64, protocol, &payload);
    for mut g in super::with_workers::<N>(Setup { statics: &statics, ..USUAL }) {
        for protocol in [47, 50, 132, 97, 254] {
            let [out, back] = [sent(N::A, N::known(N::REMOTE), protocol), sent(N::REMOTE, N::POOL, protocol)];
            let (left, arrived) = (g.out(&out), g.back(&back));
            let ends = [judge(&left), judge(&arrived)].map(|seen| (seen.protocol, seen.from.0, seen.to.0));
            let inward = (protocol, N::known(N::REMOTE), N::A);
            assert_eq!(ends, [(protocol, N::POOL, N::REMOTE), inward]);
            assert!(left.ends_with(&payload) && arrived.ends_with(&payload));
            for (from, to, whole) in [(Customer, Internet, &out), (Internet, Customer, &back)] {
                let parts = fragments(whole, &[48, 120], 7);
                for order in [[0, 1, 2], [2, 0, 1]] {
                    let seen = judge(&reassemble(&joined(&mut g, from, to, &parts, &order)));
                    assert_eq!((seen.protocol, seen.from.0, seen.to.0), ends[usize::from(from == Internet)]);
                }
            }
            let e = g.out(&error(N::A, N::known(N::REMOTE), kind, code, &arrived, 1000));
            assert_eq!((quote_of(&e).from.0, quote_of(&e).to.0), (N::REMOTE, N::POOL));
            let e = g.back(&error(N::OTHER, N::POOL, 3, 4, &left, 1000));
            assert_eq!((quote_of(&e).from.0, quote_of(&e).to.0), (N::A, N::known(N::REMOTE)));
            let ended = g.send(Customer, &sent(N::B, N::known(N::REMOTE), protocol));
            assert!(ended.iter().all(|(side, _)| *side == Customer), "dropped, perhaps with an error");
        }
        assert_eq!((g.entries(), count(&g, "protocol")), ((0, 0), 5), "no session, and no other host");
    }
    // A host with a part of the ports has no whole address.
    let mut g = served::<N>(BEHAVIOURS[0]);
    g.send(Internet, &sent(N::REMOTE, N::POOL, 47));
    assert_eq!(count(&g, "protocol"), 1);
}

/// Becomes a function with these settings, as a reload makes it: without tables.
fn reload<N: Stateful>(g: &mut Bed<N>, statics: &[Static], nat: &dyn Fn(&mut Config)) {
    let sketch = |c: &mut Config| {
        nat(c);
        (c.sessions, c.sketch) = (1, true);
    };
    let setup = Setup { nat: &sketch, workers: g.workers.len(), prefix: Some(128), statics };
    for (w, worker) in g.workers.iter_mut().enumerate() {
        worker.adopt(&mut N::worker(&setup, w).unwrap()).unwrap();
    }
}

/// Customers with sessions get static mappings and lose them; their sessions go on.
fn hosts_come_and_go_at_a_reload<N: Stateful>() {
    let host = |i: u16| N::host(i % 5, i as u8);
    let all: Vec<Static> = (0..12).map(|i| ("udp", 8000 + i, (host(i), 50_000 + i))).collect();
    for mut g in super::with_workers::<N>(USUAL) {
        for statics in [&all[3..9], &all[..], &all[5..7], &[], &all[6..], &all[..2]] {
            let outside: Vec<At> = (0..6).map(|i| map(&mut g, (host(i), 4000), (N::REMOTE, 80))).collect();
            reload(&mut g, statics, USUAL.nat);
            for clear in [false, true] {
                for &(_, port, inside) in statics {
                    assert_eq!(g.reached((N::OTHER, 999), (N::POOL, port)), inside);
                    assert_eq!(map(&mut g, inside, (N::OTHER, 999)), (N::POOL, port));
                }
                if !clear {
                    for (i, outside) in (0..).zip(&outside) {
                        assert_eq!(g.reached((N::REMOTE, 80), *outside), (host(i), 4000), "its session goes on");
                    }
                    g.clear();
                }
            }
        }
        reload(&mut g, &[], USUAL.nat);
        g.wait(10 * 86_400);
        g.idle(1000);
        assert!(g.workers.iter().all(|w| w.numbered().unwrap_or(0) == 0), "no customer is left");
    }
}

/// What a customer has already counts from the first quota on.
fn quotas_begin_and_end_at_a_reload<N: Stateful>() {
    let mut g = bed::<N>(&USUAL);
    let opened = |g: &mut Bed<N>, host, ports: std::ops::Range<u16>| {
        let sent = ports.flat_map(|port| g.send(Customer, &udp((host, port), known::<N>((N::REMOTE, 80)))));
        sent.filter(|(side, _)| *side == Internet).count()
    };
    let sessions = |c: &mut Config| c.quota.sessions = Some(5);
    let ports = |c: &mut Config| c.quota.ports = Some(8);
    assert_eq!(opened(&mut g, N::A, 4000..4003), 3);
    reload(&mut g, &[], &sessions);
    assert_eq!([opened(&mut g, N::A, 4000..4008), opened(&mut g, N::B, 4000..4008)], [5, 5]);
    reload(&mut g, &[("udp", 53, (N::B, 5353))], &ports);
    assert_eq!([opened(&mut g, N::A, 4000..4010), opened(&mut g, N::B, 4000..4010)], [8, 8]);
    reload(&mut g, &[], USUAL.nat);
    assert_eq!([opened(&mut g, N::A, 4000..4020), opened(&mut g, N::B, 4000..4020)], [20, 20]);
    g.wait(10 * 86_400);
    g.idle(1000);
    reload(&mut g, &[], &sessions);
    assert_eq!([opened(&mut g, N::A, 4000..4008), opened(&mut g, N::B, 4000..4008)], [5, 5], "the old ones have ended");
}
