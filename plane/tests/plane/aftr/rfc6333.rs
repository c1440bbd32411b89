//! RFC 6333, sections 5.3, 5.7, 6 and 8, and appendix B where it gives an example.

use crate::aftr::set_up::*;
use crate::each_device::fragments_reassembled_packets_in_order;
use plane::Side::{Customer, Internet};
use testbed::prelude::*;

/// Appendix B.1: 10.0.0.1 port 10000 behind a B4 → 198.51.100.1 port 80, outside 192.0.2.1.
#[test]
fn appendix_b_1() {
    let mut g = aftr(&config());
    let (host, server) = ((ip("10.0.0.1"), 10000), (ip("198.51.100.1"), 80));
    let seen = g.seen_out(&wrap(b4(1), &tcp(host, server, "S")));
    assert_eq!((seen.from.0, seen.to), (POOL, server));
    let (end, inner) = arrives(&mut g, &tcp(server, seen.from, "SA"));
    assert_eq!((end, inner.from, inner.to), (b4(1), server, host));
}

#[test]
fn section_6_6_the_softwire_is_part_of_the_binding() {
    let mut g = aftr(&config());
    let outside: Vec<At> = (1..20).map(|i| map(&mut g, b4(i), (HOST, 5000))).collect();
    let unlike: std::collections::HashSet<_> = outside.iter().collect();
    assert_eq!((unlike.len(), g.entries()), (19, (19, 19)));
    for (i, o) in (1..20).zip(&outside) {
        let (end, inner) = arrives(&mut g, &udp((REMOTE, 80), *o));
        assert_eq!((end, inner.to), (b4(i), (HOST, 5000)));
    }
}

#[test]
fn several_hosts_behind_one_softwire() {
    let mut g = aftr(&config());
    for last in 1..30u8 {
        let host = (ip(&format!("192.168.1.{last}")), 5000);
        let outside = map(&mut g, b4(1), host);
        let (end, inner) = arrives(&mut g, &udp((REMOTE, 80), outside));
        assert_eq!((end, inner.to), (b4(1), host));
    }
    assert_eq!(g.workers[0].customers(), 29);
}

#[test]
fn section_5_7_well_known_addresses() {
    let mut g = aftr(&config());
    // The B4 itself may speak.
    let b4_itself = (ip("192.0.0.2"), 5000);
    let outside = map(&mut g, b4(1), b4_itself);
    assert_eq!(arrives(&mut g, &udp((REMOTE, 80), outside)).1.to, b4_itself);
    // 192.0.0.0 is reserved and 192.0.0.1 the AFTR's own.
    for a in ["192.0.0.0", "192.0.0.1"] {
        g.dropped(Customer, &wrap(b4(1), &udp((ip(a), 5000), (REMOTE, 80))), "tunnel.spoofed-source");
    }
    // What is for the AFTR is the machine's.
    assert_eq!(g.send(Customer, &wrap(b4(1), &echo(HOST, AFTR4, 1, true))), []);
    assert_eq!(g.count("tunnel.local"), 1);
}

#[test]
fn only_known_softwires_and_addresses_when_there_are_lists() {
    let mut c = config();
    c.softwires = vec![prefix6("2001:db8::/56")];
    c.inner = vec![prefix4("192.168.0.0/16")];
    let mut g = aftr(&c);
    map(&mut g, b4(1), (HOST, 5000));
    g.dropped(Customer, &wrap(b4(0x1_0000), &udp((HOST, 5000), (REMOTE, 80))), "tunnel.unknown-softwire");
    g.dropped(Customer, &wrap(b4(1), &udp((ip("10.0.0.1"), 5000), (REMOTE, 80))), "tunnel.spoofed-source");
    let elsewhere = between(b4(1), "2001:db8:ffff::2".parse().unwrap(), &udp((HOST, 5000), (REMOTE, 80)));
    assert_eq!(g.send(Customer, &elsewhere), [], "another tunnel's end");
}

/// The home's router has an address of its own, and what it quotes is the host's: both are translated, each as it is.
#[test]
fn errors_of_one_inside_host_about_anothers_packets() {
    let router = ip("192.168.1.1");
    let mut g = aftr(&config());
    // Another customer's session comes first, so that the numbers are not consecutive.
    map(&mut g, b4(2), (HOST, 5000));
    let outside = map(&mut g, b4(1), (HOST, 5000));
    let arrived = unwrap(&g.back(&udp((REMOTE, 80), outside))).2;
    let e = g.out(&wrap(b4(1), &error(router, REMOTE, 3, 1, &arrived, 28)));
    let seen = judge(&e);
    assert_eq!((seen.from.0, seen.to.0, quote_of(&e).to), (POOL, REMOTE, outside));
    let outside = map(&mut g, b4(2), (HOST, 5000));
    // The other home's host has the same address, and its router another one: nothing is mixed up.
    let arrived = unwrap(&g.back(&udp((REMOTE, 80), outside))).2;
    let e = g.out(&wrap(b4(2), &error(ip("192.168.1.254"), REMOTE, 3, 1, &arrived, 28)));
    assert_eq!(quote_of(&e).to, outside);
}

/// Customers' addresses may look like numbers of the inner link. The AFTR looks up a quoted packet behind the softwire
/// from which the error came, so a customer can neither end nor slow down another customer's sessions.
#[test]
fn errors_about_another_softwires_customer_are_dropped() {
    let mut g = aftr(&config());
    let victim = map(&mut g, b4(1), (HOST, 5000));
    let arrived = unwrap(&g.back(&udp((REMOTE, 80), victim))).2;
    // Every address that a number could be, the victim's among them; the attacker's own is one of them, too.
    for number in 0..256u32 {
        let mut quote = arrived.clone();
        quote[30..34].copy_from_slice(&(0x0a00_0000 | number).to_be_bytes());
        reseal(&mut quote);
        for from in ["10.0.0.2", "192.168.1.66"] {
            let e = wrap(b4(9), &error(ip(from), REMOTE, 3, 4, &quote, 28));
            assert_eq!(g.send(Customer, &e), [], "{number}");
        }
    }
}

#[test]
fn section_6_3_large_packets_are_cut_after_encapsulation_and_put_together_before() {
    let mut g = aftr(&config());
    let outside = map(&mut g, b4(1), (HOST, 5000));
    // 1,490 octets with DF clear do not fit 1,500 less 40.
    let out = g.send(Internet, &udp_with((REMOTE, 80), outside, 64, &[9; 1462]));
    let parts: Vec<_> = out.into_iter().map(|(s, f)| (s == Customer).then_some(f).unwrap()).collect();
    assert_eq!(parts.len(), 2);
    assert!(parts.iter().all(|p| p[20] == 44 && p.len() <= 1514), "outer fragments");
    let (_, end, inner) = unwrap(&reassemble(&parts));
    assert_eq!((end, judge(&inner).to), (b4(1), (HOST, 5000)));
    // The other way, in any order.
    let whole = wrap(b4(1), &udp_with((HOST, 5000), (REMOTE, 80), 64, &[9; 1400]));
    for order in [[0, 1], [1, 0]] {
        let parts = fragments(&whole, &[728], 5 + order[0] as u32);
        assert_eq!(g.send(Customer, &parts[order[0]]), []);
        assert_eq!(g.seen_out(&parts[order[1]]).from, outside);
    }
}

#[test]
fn large_packets_that_must_not_be_cut_are_told_to_the_sender() {
    let mut g = aftr(&config());
    let outside = map(&mut g, b4(1), (HOST, 5000));
    let mut frame = udp_with((REMOTE, 80), outside, 64, &[9; 1462]);
    set_df(&mut frame);
    let answer = g.refused(Internet, &frame, "tunnel.too-big");
    assert_eq!((icmp_type(&answer), &answer[40..42]), ((3, 4), &1460u16.to_be_bytes()[..]));
    assert_eq!((judge(&answer).from.0, quote_of(&answer).to), (POOL, outside));
}

#[test]
fn what_is_no_tunnel_packet_is_dropped() {
    let mut g = aftr(&config());
    let b = ip("2001:db8:0:1::1");
    assert_eq!(g.send(Customer, &udp((b, 1), (AFTR6, 2))), []);
    assert_eq!(g.entries(), (0, 0));
    assert_eq!(g.workers[0].customers(), 0);
}

#[test]
fn a_full_dictionary_refuses_new_customers_and_forgets_idle_ones() {
    let mut g = aftr_with(|c| c.customers = 4);
    let outside: Vec<At> = (1..5).map(|i| map(&mut g, b4(i), (HOST, 5000))).collect();
    g.dropped(Customer, &wrap(b4(5), &udp((HOST, 5000), (REMOTE, 80))), "tunnel.table-full");
    assert_eq!(arrives(&mut g, &udp((REMOTE, 80), outside[0])).0, b4(1));
    g.wait(310);
    g.idle(60);
    assert_eq!(g.workers[0].customers(), 0);
    map(&mut g, b4(5), (HOST, 5000));
    g.clear();
    assert_eq!((g.entries(), g.workers[0].customers()), ((0, 0), 0));
}

/// Seen elsewhere: UDP checksum 0 after translation, in both directions; a crash when the identifiers of an address run out.
#[test]
fn faults_of_others() {
    let mut g = aftr_with(|c| (c.nat.ports.first, c.nat.ports.last) = (2000, 2003));
    for id in 0..4 {
        g.out(&wrap(b4(1), &echo(HOST, REMOTE, id, true)));
    }
    g.refused(Customer, &wrap(b4(1), &echo(HOST, REMOTE, 9, true)), "nat44.no-port");
    let out = g.out(&wrap(b4(1), &udp((HOST, 5000), (REMOTE, 80))));
    assert_ne!(out[40..42], [0, 0]);
    let back = unwrap(&g.back(&udp((REMOTE, 80), judge(&out).from))).2;
    assert_ne!(back[40..42], [0, 0]);
}

/// Section 6: the AFTR is no B4 of its own. Nothing is remembered of what claims to come from it, and nothing sent to it.
#[test]
fn what_claims_to_come_from_the_aftr_is_dropped() {
    let mut g = aftr(&config());
    for frame in [udp((HOST, 5000), (REMOTE, 80)), fragments(&udp((HOST, 5000), (REMOTE, 80)), &[8], 1)[0].clone()] {
        g.dropped(plane::Side::Customer, &between(AFTR6, AFTR6, &frame), "tunnel.martian-source");
    }
    assert_eq!((g.entries(), g.workers[0].customers()), ((0, 0), 0));
}

#[test]
fn section_5_3_reassembled_packets_are_fragmented_in_order() {
    let mut g = aftr_with(|c| c.nat.internet.mtu = 1000);
    let whole = wrap(b4(1), &udp_with((HOST, 5000), (REMOTE, 80), 64, &[7; 2400]));
    fragments_reassembled_packets_in_order(&whole, |frames| {
        g.send_all(Customer, frames).into_iter().map(|(_, f)| f).collect()
    });
}
