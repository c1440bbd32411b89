//! RFC 4787: unicast UDP. What other NATs must do alike is in `stateful`. REQ-7 is for addresses that change (DHCP); here they are configured, and conflicts are
//! refused. REQ-10: there are no ALGs.

use crate::nat44::gateway::*;
use crate::nat44::packets::*;
use plane::Function;
use plane::Side::{Customer, Internet};
use plane::nat44::Nat44;
use plane::nat44::config::{Blocks, Config, Filtering, Mapping, Pooling};
use std::time::Duration;
use wire::{AddrRange, PortRange};

#[test]
fn rfc4787_req2_pooling_is_paired() {
    let mut g = gateway_with(|c| c.pool = vec![AddrRange { first: POOL4, count: 8 }]);
    let mut addresses = std::collections::HashSet::new();
    for host in 0..16 {
        let inside = [10, 0, 0, host];
        let first = g.map((inside, 4000), (REMOTE, 80)).0;
        addresses.insert(first);
        for port in 4001..4050 {
            assert_eq!(g.map((inside, port), (OTHER, 53)).0, first);
        }
        assert_eq!(judge(&g.out(&tcp((inside, 9), (REMOTE, 80), "S"))).from.0, first, "for all protocols");
        assert_eq!(judge(&g.out(&ping(inside, REMOTE, 9))).from.0, first);
    }
    assert_eq!(addresses.len(), 8, "and all addresses are used");
    let mut g = gateway_with(|c| {
        c.pool = vec![AddrRange { first: POOL4, count: 8 }];
        c.pooling = Pooling::Arbitrary;
    });
    let some: std::collections::HashSet<_> = (4000..4050).map(|p| g.map((A, p), (REMOTE, 80)).0).collect();
    assert!(some.len() > 4, "arbitrary pooling uses all addresses for one host");
}

#[test]
fn rfc4787_req3_no_port_is_shared_by_two_hosts() {
    let mut g = gateway_with(|c| c.ports = PortRange { first: 2000, last: 2063 });
    let mut seen = std::collections::HashSet::new();
    for host in 0..64 {
        // All want the same port, towards different remotes: overloading would be possible, and is not done.
        assert!(seen.insert(g.map(([10, 0, 1, host], 2000 + u16::from(host % 2)), ([203, 0, 113, host], 80)).1));
    }
    g.refused(Customer, &udp((B, 2000), (REMOTE, 80)), "no-port");
}

#[test]
fn rfc4787_req3a_well_known_ports_stay_well_known() {
    let mut g = gateway_with(|c| c.ports = PortRange { first: 512, last: 65535 });
    for host in 0..100 {
        assert!(g.map(([10, 0, 1, host], 1000), (REMOTE, 80)).1 < 1024);
        assert!(g.map(([10, 0, 1, host], 5000), (REMOTE, 80)).1 >= 1024);
    }
}

#[test]
fn rfc4787_req4_parity_is_preserved() {
    for c in [config(), config().per_connection()] {
        let mut g = gateway(c);
        for host in 0..200 {
            for port in [6000, 6001] {
                assert_eq!(g.map(([10, 0, 1, host], port), (REMOTE, 80)).1 % 2, port % 2);
            }
        }
    }
    let mut g = gateway_with(|c| {
        c.preserve_parity = false;
        c.preserve_port = false;
    });
    assert_eq!(g.count("parity-changed"), 0);
    let odd = (0..200).filter(|&h| g.map(([10, 0, 1, h], 6000), (REMOTE, 80)).1 % 2 == 1).count();
    assert!((50..150).contains(&odd), "off means off: {odd} of 200");
}

/// Parity is recommended, a port is needed: without a free port of the same parity another one is taken, and counted.
#[test]
fn rfc4787_req4_parity_is_a_preference() {
    for c in [config(), config().per_connection()] {
        let mut g = gateway(Config { ports: PortRange { first: 4000, last: 4009 }, ..c });
        let even: Vec<u16> = (0..8).map(|h| g.map(([10, 0, 1, h], 6000), (REMOTE, 80)).1).collect();
        assert_eq!(even.iter().filter(|p| *p % 2 == 0).count(), 5, "all even ports first: {even:?}");
        assert_eq!(g.count("parity-changed"), 3);
        let odd: Vec<u16> = (0..2).map(|h| g.map(([10, 0, 2, h], 6001), (REMOTE, 80)).1).collect();
        assert!(odd.iter().all(|p| p % 2 == 1), "{odd:?}");
        g.refused(Customer, &udp((B, 6001), (REMOTE, 80)), "no-port");
        assert_eq!((g.count("parity-changed"), g.entries().0), (3, 10));
    }
}

/// One log line more costs more than a port of the other parity.
#[test]
fn rfc4787_req4_parity_takes_no_further_block() {
    let mut g = gateway_with(|c| c.blocks = Some(Blocks { size: 64, per_subscriber: 2 }));
    for port in 0..64 {
        g.map((A, 6000 + 2 * port), (REMOTE, 80));
    }
    assert_eq!((g.count("block-allocated"), g.count("parity-changed")), (1, 32));
}

#[test]
fn rfc4787_req5_a_mapping_lives_as_long_as_configured() {
    for seconds in [120, 300] {
        let mut g = gateway_with(|c| c.timeouts.udp = Duration::from_secs(seconds));
        let outside = g.map((A, 5000), (REMOTE, 80));
        g.wait(seconds);
        g.back(&udp((REMOTE, 80), outside));
        g.wait(1);
        g.dropped(Internet, &udp((REMOTE, 80), outside), "no-session");
        assert_eq!(g.entries(), (0, 0));
    }
    assert!(config().timeouts.udp >= Duration::from_secs(300), "five minutes by default");
}

#[test]
fn rfc4787_req5a_well_known_destinations_may_live_shorter() {
    let mut g = gateway_with(|c| c.timeouts.udp_by_port = vec![(53, Duration::from_secs(10))]);
    let dns = g.map((A, 5000), (REMOTE, 53));
    let web = g.map((A, 5001), (REMOTE, 80));
    g.wait(11);
    g.dropped(Internet, &udp((REMOTE, 53), dns), "no-session");
    g.back(&udp((REMOTE, 80), web));
    let mut c = config();
    c.timeouts.udp_by_port = vec![(1024, Duration::from_secs(10))];
    assert!(c.validate(1).is_err(), "only ports below 1024");
}

#[test]
fn rfc4787_req5_sweep_removes_expired_sessions() {
    let mut g = gateway_with(|_| {});
    for port in 2000..4000 {
        g.map((A, port), (REMOTE, 80));
    }
    assert_eq!(g.entries(), (2000, 2000));
    g.wait(301);
    g.idle(100);
    assert_eq!(g.entries(), (0, 0));
    assert_eq!(g.count("session-expired"), 2000);
}

/// Also when there is no traffic, with a call a millisecond.
#[test]
fn rfc4787_req5_what_is_due_ends_within_a_second() {
    const BETWEEN: u64 = 36_000;
    let mut g = gateway_with(|c| {
        c.sessions = 60_000;
        c.timeouts.udp = Duration::from_secs(120);
    });
    let start = g.now;
    for i in 0..60_000u64 {
        g.now = start + i * BETWEEN;
        g.send(Customer, &udp(([10, 0, 1, (i / 1000) as u8], 5000 + (i % 1000) as u16), (REMOTE, 80)));
    }
    assert_eq!(g.entries().0, 60_000);
    for millisecond in 0..4000 {
        let since = 120 * SECOND + millisecond * SECOND / 1000;
        g.now = start + since;
        g.workers[0].idle(g.now);
        let (early, late) = (since - 120 * SECOND, since.saturating_sub(121 * SECOND));
        let ended = 60_000 - g.entries().0;
        let right = (late / BETWEEN).min(60_000)..=early / BETWEEN + 1;
        assert!(right.contains(&ended), "{ended} have ended after {since} ns");
    }
    assert_eq!(g.entries().0, 0);
}

#[test]
fn rfc4787_req6_outbound_packets_refresh() {
    let mut g = gateway_with(|_| {});
    let outside = g.map((A, 5000), (REMOTE, 80));
    for _ in 0..10 {
        g.wait(250);
        assert_eq!(g.map((A, 5000), (REMOTE, 80)), outside);
    }
}

#[test]
fn rfc4787_req6a_inbound_packets_refresh_only_when_asked_to() {
    for refresh in [false, true] {
        let mut g = gateway_with(|c| c.inbound_refresh = refresh);
        let outside = g.map((A, 5000), (REMOTE, 80));
        g.wait(200);
        g.back(&udp((REMOTE, 80), outside));
        g.wait(200);
        if refresh {
            g.back(&udp((REMOTE, 80), outside));
        } else {
            g.dropped(Internet, &udp((REMOTE, 80), outside), "no-session");
        }
    }
}

/// Inside and outside may not conflict: no configuration brings it about.
#[test]
fn rfc4787_req7_inside_and_outside_do_not_overlap() {
    let with = |first: [u8; 4], count| {
        let pool = vec![AddrRange::one(POOL4), AddrRange { first: first.into(), count }];
        Config { inside: ["10.0.0.0/8", "192.168.4.0/22"].map(prefix4).to_vec(), pool, ..config() }
    };
    for (first, count, why) in [
        ([10, 9, 8, 7], 1, "one address inside"),
        ([9, 255, 255, 255], 2, "the last address inside"),
        ([10, 255, 255, 255], 2, "the first address inside"),
        ([192, 168, 0, 0], 8 * 256, "a prefix within the range"),
    ] {
        let error = Nat44::new(with(first, count), 0, 1, 1).err().expect(why);
        assert_eq!(
            error.to_string(),
            "NAT44 configuration, pool: an outside address lies in an inside prefix; the two must be disjoint",
            "{why}"
        );
    }
    for (first, count) in [([9, 255, 255, 254], 2), ([11, 0, 0, 0], 8), ([192, 168, 3, 0], 256), ([192, 168, 8, 0], 1)]
    {
        assert!(Nat44::new(with(first, count), 0, 1, 1).is_ok(), "{first:?} is a neighbour");
    }
}

#[test]
fn rfc4787_req8_a_permission_ends_with_its_last_session() {
    let mut g = gateway_with(|c| c.filtering = Filtering::AddressDependent);
    let outside = g.map((A, 5000), (REMOTE, 80));
    g.wait(200);
    assert_eq!(g.map((A, 5000), (OTHER, 80)), outside);
    g.wait(150);
    // The session to REMOTE has ended, the one to OTHER keeps the mapping.
    g.idle(100);
    g.dropped(Internet, &udp((REMOTE, 99), outside), "filtered");
    g.back(&udp((OTHER, 99), outside));
}

/// Addresses in the payload are not translated and open no session.
#[test]
fn rfc4787_req10_there_is_no_alg() {
    let mut g = gateway_with(|_| {});
    let (inside, server) = ((A, 5060), (REMOTE, 5060));
    let sent = g.out(&udp_with(inside, server, 64, SIP_INVITE));
    let outside = judge(&sent).from;
    assert_eq!(carried(&sent), SIP_INVITE);
    let got = g.back(&udp_with(server, outside, 64, SIP_INVITE));
    assert_eq!((judge(&got).to, carried(&got)), (inside, SIP_INVITE.to_vec()));
    assert_eq!(g.entries(), (1, 1), "the port of the session description has no mapping");
    g.dropped(Internet, &udp(server, (POOL, 5001)), "no-session");
}

#[test]
fn rfc4787_req11_behaviour_does_not_change_under_load() {
    let mut g = gateway_with(|c| c.preserve_port = true);
    // The first host gets its own port; others that want the same port are mapped endpoint-independently all the same.
    for host in 0..200 {
        let inside = [10, 0, 2, host];
        let first = g.map((inside, 7000), (REMOTE, 80));
        for k in 0..5 {
            assert_eq!(g.map((inside, 7000), ([203, 0, 113, k], 1000)), first);
        }
        g.back(&udp((OTHER, 9), first));
    }
}

#[test]
fn rfc4787_req12_icmp_does_not_end_a_mapping() {
    let mut g = gateway_with(|_| {});
    let sent = g.out(&udp((A, 5000), (REMOTE, 80)));
    let outside = judge(&sent).from;
    for (kind, code) in [(3, 0), (3, 1), (3, 3), (3, 13), (11, 0), (12, 0), (4, 0)] {
        g.back(&error(REMOTE, POOL, kind, code, &sent, 28));
        // REQ-12a: from whatever address.
        g.back(&error([198, 51, 100, 1], POOL, kind, code, &sent, 28));
    }
    assert_eq!(g.map((A, 5000), (REMOTE, 80)), outside);
    g.back(&udp((REMOTE, 80), outside));
    assert_eq!(g.entries(), (1, 1));
}

#[test]
fn rfc4787_req13_too_big_with_df_is_answered() {
    let mut g = gateway_with(|c| c.internet.mtu = 1000);
    let mut big = udp_with((A, 5000), (REMOTE, 80), 64, &[7; 1200]);
    set_df(&mut big);
    let answer = g.refused(Customer, &big, "too-big");
    assert_eq!(icmp_type(&answer), (3, 4));
    assert_eq!(&answer[38..42], &[0, 0, 1000u16.to_be_bytes()[0], 1000u16.to_be_bytes()[1]], "next-hop MTU");
    assert_eq!(judge(&answer).to.0, A);
    assert_eq!(quote_of(&answer).from, (A, 5000), "the packet is quoted as the host sent it");
    assert_eq!(g.entries(), (0, 0), "and leaves no state");
}

#[test]
fn rfc4787_req13a_too_big_without_df_is_fragmented_in_order() {
    let mut g = gateway_with(|c| c.internet.mtu = 996);
    let payload: Vec<u8> = (0..2500u32).map(|i| (i * 7) as u8).collect();
    let big = udp_with((A, 5000), (REMOTE, 80), 64, &payload);
    let out = g.send(Customer, &big);
    assert_eq!(out.len(), 3);
    let mut whole = Vec::new();
    for (i, (side, f)) in out.iter().enumerate() {
        assert_eq!(*side, Internet);
        let total = usize::from(u16::from_be_bytes([f[16], f[17]]));
        assert!(total <= 996);
        let field = u16::from_be_bytes([f[20], f[21]]);
        assert_eq!(usize::from(field & 0x1fff) * 8, whole.len(), "in order");
        assert_eq!(field & 0x2000 != 0, i < 2);
        whole.extend_from_slice(&f[34..14 + total]);
    }
    let mut joined = out[0].1[..34].to_vec();
    joined.extend_from_slice(&whole);
    joined[16..18].copy_from_slice(&((20 + whole.len()) as u16).to_be_bytes());
    joined[20..22].fill(0);
    reseal(&mut joined);
    assert_eq!(judge(&joined).from.0, POOL, "together they are the datagram, checksum and all");
    assert_eq!(&joined[42..], &payload[..]);
}

#[test]
fn rfc4787_req14_a_fragment_that_has_waited_is_cut_in_order() {
    for (first, left) in [(80, &[0, 80, 160, 240, 288, 368][..]), (200, &[0, 80, 160, 200, 280, 288, 368])] {
        let mut g = gateway_with(|c| c.internet.mtu = 100);
        let parts = fragments(&udp_with((A, 5000), (REMOTE, 80), 64, &[1; 400]), &[first, 288]);
        let out: Vec<_> = [1, 0, 2].iter().flat_map(|&i| g.send(Customer, &parts[i])).collect();
        let offsets: Vec<_> = out.iter().map(|(_, f)| u16::from_be_bytes([f[20] & 0x1f, f[21]]) * 8).collect();
        assert_eq!(offsets, left, "a first fragment of {first} octets");
    }
}

#[test]
fn rfc4787_req14a_the_store_is_bounded() {
    let mut c = config();
    c.fragments.datagrams = 8;
    c.fragments.held = 4;
    let mut g = gateway(c);
    let part = |id| fragments_of(id, &udp_with((A, 5000), (REMOTE, 80), 64, &[1; 64]), &[32])[1].clone();
    for id in 0..4 {
        assert!(g.send(Customer, &part(id)).is_empty());
    }
    for id in 4..100 {
        g.dropped(Customer, &part(id), "fragment-store-full");
    }
    g.wait(60);
    assert!(g.send(Customer, &part(500)).is_empty());
    assert_eq!((g.count("fragment-late"), g.count("fragment-held")), (4, 101), "the newest four waited until the end");
}

/// RFC 6864, section 4.3; RFC 7857, section 10: hosts behind one outside address choose their identifications without knowing of
/// each other; the NAT gives each datagram in fragments another one.
#[test]
fn rfc4787_req14_identifications_of_customers_are_told_apart() {
    let id = |f: &[u8]| u16::from_be_bytes([f[18], f[19]]);
    for order in [[0, 1, 2], [2, 1, 0]] {
        for workers in [1, 4] {
            let mut g = with_workers(&config(), workers);
            let mut seen = std::collections::HashSet::new();
            for host in 1..=50 {
                // All of them with the same identification, to the same host.
                let parts = fragments(&udp_with(([10, 0, 0, host], 5000), (REMOTE, 80), 64, &[1; 100]), &[32, 64]);
                let out: Vec<_> = order.iter().flat_map(|&i| g.send(Customer, &parts[i])).collect();
                assert!(out.len() == 3 && out.iter().all(|f| id(&f.1) == id(&out[0].1)), "{order:?} {workers}");
                assert!(seen.insert(id(&out[0].1)));
            }
        }
    }
    let mut g = gateway_with(|c| c.internet.mtu = 100);
    let mut cut = |from| {
        let out = g.send(Customer, &udp_with((from, 5000), (REMOTE, 80), 64, &[1; 100]));
        assert!(out.len() == 2 && id(&out[0].1) == id(&out[1].1));
        id(&out[0].1)
    };
    assert_ne!(cut(A), cut(B), "nor where the NAT itself cuts");
}

/// Fragments of incomplete datagrams displace each other, whichever host sends them.
#[test]
fn rfc4787_req14a_a_full_store_accepts_new_datagrams() {
    let payload = [1; 64];
    for order in [[0, 1], [1, 0]] {
        let mut c = config();
        c.fragments.datagrams = 8;
        c.fragments.held = 4;
        let mut g = gateway(c);
        let outside = g.map((A, 5000), (REMOTE, 80));
        for id in 0..100u16 {
            let to = if id % 2 == 0 { outside } else { (POOL, 9) };
            let parts = fragments_of(id, &udp_with((OTHER, 80), to, 64, &payload), &[32]);
            g.send(Internet, &parts[usize::from(id % 3 > 0)]);
            if id % 10 == 9 {
                let parts = fragments(&udp_with((A, 5000), (REMOTE, 80), 64, &payload), &[32]);
                let out: Vec<_> = order.iter().flat_map(|&i| g.send(Customer, &parts[i])).collect();
                assert_eq!(out.len(), 2, "{order:?} after {id}");
            }
        }
        // No number of fragments displaces a datagram of which a fragment was forwarded.
        let parts = fragments(&udp_with((A, 5000), (REMOTE, 80), 64, &payload), &[32]);
        assert_eq!(g.send(Customer, &parts[0]).len(), 1);
        for id in 200..300u16 {
            g.send(Internet, &fragments_of(id, &udp_with((OTHER, 80), (POOL, 9), 64, &payload), &[32])[1]);
        }
        assert_eq!(g.send(Customer, &parts[1]).len(), 1);
    }
}

#[test]
fn per_connection_mapping_is_one_connection_for_each_four_tuple() {
    let mut c = config().per_connection();
    c.ports = PortRange { first: 3000, last: 3063 };
    c.preserve_parity = false;
    assert_eq!(c.mapping, Mapping::AddressAndPortDependent);
    let mut g = gateway(c);
    // Far more sessions than ports: each remote end point has all ports anew.
    for remote_port in 1..=20 {
        let mut seen = std::collections::HashSet::new();
        for host in 0..40 {
            assert!(seen.insert(g.map(([10, 0, 3, host], 3000), (REMOTE, remote_port))));
        }
    }
    assert_eq!(g.entries(), (800, 0));
}

#[test]
fn per_connection_mapping_refuses_when_no_port_is_left() {
    let mut c = config().per_connection();
    c.ports = PortRange { first: 3000, last: 3007 };
    c.preserve_parity = false;
    let mut g = gateway(c);
    for host in 0..8 {
        g.map(([10, 0, 3, host], 9), (REMOTE, 80));
    }
    assert_eq!(icmp_type(&g.refused(Customer, &udp((A, 9), (REMOTE, 80)), "no-port")), (3, 1));
    g.map((A, 9), (REMOTE, 81));
}

#[test]
fn per_connection_mapping_finds_the_only_address_with_a_port() {
    for (count, ports) in [(30, 8), (12, 60), (4, 256)] {
        let all = count as u16 * ports;
        let (pool, ports) = (vec![AddrRange { first: POOL4, count }], PortRange { first: 3000, last: 2999 + ports });
        let mut g = gateway(Config { pool, ports, ..config().per_connection() });
        // One customer begins each search at the same address.
        let taken: std::collections::HashSet<_> = (0..all).map(|n| g.map((A, 4001 + n), (REMOTE, 80))).collect();
        assert_eq!(taken.len(), usize::from(all));
    }
}
