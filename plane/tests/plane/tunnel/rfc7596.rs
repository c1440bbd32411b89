//! RFC 7596, lightweight 4over6: the lwAFTR with its binding table.

use crate::each_device::fragments_reassembled_packets_in_order;
use crate::tunnel::end::*;
use crate::tunnel::packets::*;
use plane::Side;
use plane::lw4o6::{BindingTable, BindingTableBuilder, Bindings, Live, Softwire};
use plane::tunnel::Config;
use plane::tunnel::config::InboundIcmp;
use std::sync::Arc;
use wire::PortSet;

pub(super) const SHARED: [u8; 4] = [198, 51, 100, 1];
pub(super) const WHOLE: [u8; 4] = [198, 51, 100, 9];
pub(super) const WHOLE_B4: &str = "2001:2:0:100::b9";
/// Ports of B4 (PSID 5) and of OTHER_B4 (PSID 6), of 1,024 each.
pub(super) const PORT: u16 = (5 << 10) + 77;
pub(super) const OTHER_PORT: u16 = (6 << 10) + 77;
const FREE_PORT: u16 = 7 << 10;

pub(super) fn softwire(b4: &str, ipv4: [u8; 4], psid: u16, len: u8) -> Softwire {
    Softwire { b4: b4.parse().unwrap(), ipv4: ipv4.into(), ports: PortSet { offset: 0, len, psid }, own: None }
}

pub(super) fn table() -> BindingTable {
    table_with(B4)
}

/// The table with this address of the first lwB4.
fn table_with(b4: &str) -> BindingTable {
    let mut b = BindingTableBuilder::new("table", PE.parse().unwrap());
    b.add(&softwire(b4, SHARED, 5, 6)).unwrap();
    b.add(&softwire(OTHER_B4, SHARED, 6, 6)).unwrap();
    b.add(&softwire(WHOLE_B4, WHOLE, 0, 0)).unwrap();
    b.build().unwrap()
}

pub(super) fn lwaftr(change: impl FnOnce(&mut Config)) -> (End<Bindings>, Arc<Live>) {
    let mut c = config(Side::Customer);
    change(&mut c);
    let live = Live::new(table());
    (End::new(&c, 1, || live.bindings()), live)
}

fn ends(f: &[u8]) -> (String, String) {
    let (src, dst, _) = unwrapped(f);
    (src.to_string(), dst.to_string())
}

/// Section 6.2: address and port decide the softwire.
#[test]
fn address_and_port_decide_the_softwire() {
    let (mut end, _) = lwaftr(|_| {});
    for (to, b4) in [((SHARED, PORT), B4), ((SHARED, OTHER_PORT), OTHER_B4), ((WHOLE, 1), WHOLE_B4)] {
        for p in [udp((REMOTE, 80), to, b"hello"), tcp((REMOTE, 80), to, b"hello")] {
            let f = end.enter(&p);
            assert_eq!((ends(&f), unwrapped(&f).2), ((PE.into(), b4.into()), one_hop(&p)));
            let back = udp(to, (REMOTE, 80), b"hello");
            assert_eq!(end.leave(&wrapped(b4, PE, &back)), one_hop(&back));
        }
    }
}

/// Section 6.2: without a match the packet is discarded, and host unreachable may be sent.
#[test]
fn unmapped_packets_are_refused() {
    for told in [true, false] {
        let (mut end, _) = lwaftr(|c| c.answer_unknown = told);
        for (to, why) in [
            (([198, 51, 100, 2], 80), "destination-unmapped"),
            (([203, 0, 113, 200], 80), "destination-unmapped"),
            ((SHARED, FREE_PORT), "unknown-softwire"),
        ] {
            let p = udp((REMOTE, 80), to, b"hello");
            if told {
                let error = bare(&end.refused(false, &frame4(&p), why));
                assert_eq!(parts_of_icmp(&error), (3, 1, 0, p));
            } else {
                end.dropped(false, &frame4(&p), why);
            }
        }
        let gre = with(udp((REMOTE, 80), (SHARED, PORT), b"gre?"), |p| p[9] = 47);
        let out = end.send_all(Side::Internet, &[frame4(&gre)]);
        assert_eq!((out.len(), end.count("protocol")), (usize::from(told), 1));
    }
}

/// Section 6.2: IPv6 source, IPv4 source and port must be those of one softwire; ICMPv6 type 1, code 5, may be sent.
#[test]
fn packets_from_the_wrong_customer() {
    for told in [true, false] {
        let (mut end, _) = lwaftr(|c| c.answer_spoofed = told);
        for (b4, own, from, why) in [
            (OTHER_B4, PE, (SHARED, PORT), "spoofed-source"),
            (WHOLE_B4, PE, (SHARED, PORT), "spoofed-source"),
            (B4, PE, (SHARED, FREE_PORT), "unknown-softwire"),
            (B4, PE, (CUSTOMER, PORT), "source-unmapped"),
            (B4, OWN6, (SHARED, PORT), "unknown-softwire"),
        ] {
            for p in [udp(from, (REMOTE, 80), b"hello"), ping(from.0, REMOTE, from.1)] {
                let f = wrapped(b4, own, &p);
                if told {
                    let (kind, code, _, quote) = judge_icmp6(&end.refused(true, &f, why));
                    assert_eq!((kind, code, &quote[..]), (1, 5, &f[14..]));
                } else {
                    end.dropped(true, &f, why);
                }
            }
        }
    }
}

/// Section 8.1: the identifier of an echo takes the place of the port, in both directions.
#[test]
fn echoes_go_by_identifier() {
    let (mut end, _) = lwaftr(|_| {});
    for p in [ping(REMOTE, SHARED, OTHER_PORT), pong(REMOTE, SHARED, OTHER_PORT)] {
        assert_eq!(ends(&end.enter(&p)).1, OTHER_B4);
    }
    let p = ping(SHARED, REMOTE, PORT);
    assert_eq!(end.leave(&wrapped(B4, PE, &p)), one_hop(&p));
    end.refused(false, &frame4(&ping(REMOTE, SHARED, FREE_PORT)), "unknown-softwire");
}

/// Section 8.1: of an ICMP error the quoted packet shows the port.
#[test]
fn errors_go_by_the_quoted_port() {
    let (mut end, _) = lwaftr(|_| {});
    let to = (REMOTE, 80);
    for about in [udp((SHARED, PORT), to, b"hello"), tcp((SHARED, PORT), to, b"hello"), ping(SHARED, REMOTE, PORT)] {
        for kind in [3, 11, 12] {
            let p = icmp_error([192, 0, 2, 77], SHARED, kind, 0, &about);
            assert_eq!(ends(&end.enter(&p)).1, B4);
        }
        // Eight octets behind the header are enough.
        let short = icmp_error([192, 0, 2, 77], SHARED, 3, 4, &about[..28]);
        assert_eq!(ends(&end.enter(&short)).1, B4);
    }
    // On the way out it quotes what was sent to the customer.
    let p = icmp_error(SHARED, REMOTE, 3, 3, &udp(to, (SHARED, PORT), b"hello"));
    assert_eq!(end.leave(&wrapped(B4, PE, &p)), one_hop(&p));
    let wrong = icmp_error(SHARED, REMOTE, 3, 3, &udp(to, (SHARED, OTHER_PORT), b"hello"));
    end.refused(true, &wrapped(B4, PE, &wrong), "spoofed-source");
}

/// Section 8.1: ICMP from the Internet can be kept out, wholly or but for errors.
#[test]
fn inbound_icmp_is_a_policy() {
    let echo = ping(REMOTE, SHARED, PORT);
    let error = icmp_error(REMOTE, SHARED, 3, 3, &udp((SHARED, PORT), (REMOTE, 80), b"hello"));
    let (mut end, _) = lwaftr(|c| c.inbound_icmp = InboundIcmp::Errors);
    end.dropped(false, &frame4(&echo), "icmp-filtered");
    end.enter(&error);
    let (mut end, _) = lwaftr(|c| c.inbound_icmp = InboundIcmp::Nothing);
    end.dropped(false, &frame4(&echo), "icmp-filtered");
    end.dropped(false, &frame4(&error), "icmp-filtered");
    let p = ping(SHARED, REMOTE, PORT);
    assert_eq!(end.leave(&wrapped(B4, PE, &p)), one_hop(&p));
}

/// Section 6.2: hairpinning, by decapsulation and encapsulation; one hop.
#[test]
fn customers_reach_each_other() {
    let (mut end, _) = lwaftr(|_| {});
    for p in [
        udp((SHARED, PORT), (SHARED, OTHER_PORT), b"hello"),
        tcp((SHARED, PORT), (WHOLE, 22), b"hello"),
        ping(SHARED, WHOLE, PORT),
        icmp_error(SHARED, WHOLE, 3, 3, &udp((WHOLE, 9), (SHARED, PORT), b"hello")),
    ] {
        let b4 = if p[16..20] == WHOLE { WHOLE_B4 } else { OTHER_B4 };
        let out = end.send_all(Side::Customer, &[wrapped(B4, PE, &p)]);
        assert_eq!((out.len(), out[0].0), (1, Side::Customer));
        let (src, dst, inner) = unwrapped(&out[0].1);
        assert_eq!((src.to_string(), dst.to_string(), inner), (PE.into(), b4.into(), one_hop(&p)));
    }
    assert_eq!((end.count("hairpinned"), end.count("ipv6-to-ipv4")), (4, 0));
    // To an unassigned port, and from the wrong softwire.
    let p = udp((SHARED, PORT), (SHARED, FREE_PORT), b"hello");
    let error = unwrapped(&end.refused(true, &wrapped(B4, PE, &p), "unknown-softwire")).2;
    assert_eq!(parts_of_icmp(&error), (3, 1, 0, p));
    let p = udp((SHARED, PORT), (SHARED, OTHER_PORT), b"hello");
    end.refused(true, &wrapped(WHOLE_B4, PE, &p), "spoofed-source");
}

#[test]
fn hairpinning_is_a_policy() {
    let (mut end, _) = lwaftr(|c| c.hairpinning = false);
    let p = udp((SHARED, PORT), (SHARED, OTHER_PORT), b"hello");
    end.dropped(true, &wrapped(B4, PE, &p), "hairpin-off");
}

/// A hairpin that is too large for the second tunnel, and a tunnel error about a hairpin, go back into the first tunnel.
#[test]
fn errors_about_hairpins_go_back_into_the_tunnel() {
    let (mut end, _) = lwaftr(|c| c.v6.mtu = 1400);
    let p = df(udp((SHARED, PORT), (WHOLE, 5000), &[1; 1400]));
    let f = end.refused(true, &wrapped(B4, PE, &p), "too-big");
    let (src, dst, error) = unwrapped(&f);
    assert_eq!((src.to_string(), dst.to_string(), parts_of_icmp(&error).2), (PE.into(), B4.into(), 1360));
    let small = udp((SHARED, PORT), (WHOLE, 5000), b"hello");
    let out = end.send_all(Side::Customer, &[wrapped(B4, PE, &small)]);
    let unreachable = icmp6("2001:db8::99", PE, 1, 3, 0, &out[0].1[14..]);
    let out = end.send_all(Side::Customer, &[frame6(&unreachable)]);
    assert_eq!(out[0].0, Side::Customer);
    let (src, dst, error) = unwrapped(&out[0].1);
    assert_eq!((src.to_string(), dst.to_string()), (PE.to_string(), B4.to_string()));
    assert_eq!(parts_of_icmp(&error).0, 3);
}

fn datagram() -> Vec<u8> {
    udp((REMOTE, 80), (SHARED, PORT), &(0..3000).map(|i| i as u8).collect::<Vec<_>>())
}

/// Section 8 (with RFC 6269, section 11): fragments find their customer in any order.
#[test]
fn fragments_from_the_internet_in_any_order() {
    let (mut end, _) = lwaftr(|_| {});
    for (id, order) in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]].into_iter().enumerate() {
        let parts = fragments(&datagram(), id as u16, &[1400, 2400]);
        let sent: Vec<_> = order.iter().map(|&i| parts[i].clone()).collect();
        let out = end.enter_all(&sent);
        assert_eq!(out.len(), 3, "{order:?} {:?}", end.nonzero());
        for f in &out {
            let (_, dst, inner) = unwrapped(f);
            assert_eq!(dst.to_string(), B4);
            assert!(parts.iter().any(|p| one_hop(p) == inner));
        }
    }
    assert_eq!(end.count("fragment-held"), 1 + 2 + 1 + 2);
}

#[test]
fn fragments_of_a_whole_address_need_no_first() {
    let (mut end, _) = lwaftr(|_| {});
    let parts = fragments(&udp((REMOTE, 80), (WHOLE, 5000), &[1; 2000]), 1, &[1000]);
    assert_eq!(ends(&end.enter(&parts[1])).1, WHOLE_B4);
    let back = fragments(&udp((WHOLE, 5000), (REMOTE, 80), &[1; 2000]), 1, &[1000]);
    assert_eq!(end.leave(&wrapped(WHOLE_B4, PE, &back[1])), one_hop(&back[1]));
}

/// Fragments from a customer are checked like everything else, by the ports of their first.
#[test]
fn fragments_from_customers_in_any_order() {
    let (mut end, _) = lwaftr(|_| {});
    let d = udp((SHARED, PORT), (REMOTE, 80), &[1; 3000]);
    for (id, order) in [[0, 1, 2], [2, 1, 0]].into_iter().enumerate() {
        let parts = fragments(&d, id as u16, &[1000, 2000]);
        let frames: Vec<_> = order.iter().map(|&i| wrapped(B4, PE, &parts[i])).collect();
        let out = end.send_all(Side::Customer, &frames);
        assert_eq!(out.iter().filter(|f| f.0 == Side::Internet).count(), 3, "{:?}", end.nonzero());
    }
    // Another customer's later fragment with the same identification waits for a first of its own, in vain.
    let d = udp((SHARED, PORT), (REMOTE, 80), &[1; 2000]);
    let parts = fragments(&d, 9, &[1000]);
    end.leave(&wrapped(B4, PE, &parts[0]));
    end.dropped(true, &wrapped(OTHER_B4, PE, &parts[1]), "fragment-held");
    end.leave(&wrapped(B4, PE, &parts[1]));
    end.wait(16);
    let wrong = fragments(&d, 10, &[1000]);
    end.refused(true, &wrapped(OTHER_B4, PE, &wrong[0]), "spoofed-source");
    assert_eq!(end.count("fragment-late"), 1);
}

/// Fragments between two customers: both ends share an address.
#[test]
fn fragments_turn_round_too() {
    let (mut end, _) = lwaftr(|_| {});
    for (from, b4) in [((SHARED, PORT), B4), ((WHOLE, 4000), WHOLE_B4)] {
        let parts = fragments(&udp(from, (SHARED, OTHER_PORT), &[1; 3000]), 7, &[1000, 2000]);
        let frames: Vec<_> = [2, 0, 1].iter().map(|&i: &usize| wrapped(b4, PE, &parts[i])).collect();
        let out = end.send_all(Side::Customer, &frames);
        assert_eq!(out.len(), 3, "{:?}", end.nonzero());
        assert!(out.iter().all(|f| f.0 == Side::Customer && ends(&f.1).1 == OTHER_B4));
    }
}

/// A finished datagram's identification may be used again at once, for another port.
#[test]
fn identifications_come_again() {
    let (mut end, _) = lwaftr(|_| {});
    for (port, b4) in [(PORT, B4), (OTHER_PORT, OTHER_B4)] {
        let parts = fragments(&udp((REMOTE, 80), (SHARED, port), &[1; 2000]), 5, &[1000]);
        let out = end.enter_all(&[parts[1].clone(), parts[0].clone()]);
        assert!(out.len() == 2 && out.iter().all(|f| ends(f).1 == b4));
    }
}

#[test]
fn a_flood_of_fragments_displaces_itself() {
    let (mut end, _) = lwaftr(|c| {
        c.fragments.datagrams = 16;
        c.fragments.octets = 8192;
    });
    for id in 0..500 {
        end.enter_all(&[fragments(&datagram(), id, &[1400, 2400])[1].clone()]);
    }
    assert!(end.count("fragment-store-full") >= 490);
    let parts = fragments(&datagram(), 600, &[1400, 2400]);
    assert_eq!(end.enter_all(&[parts[1].clone(), parts[0].clone(), parts[2].clone()]).len(), 3);
    end.wait(16);
    end.enter_all(&[]);
    assert!(end.count("fragment-late") > 0);
}

/// Live change: packets before it and after it, never anything between.
#[test]
fn the_table_changes_without_stopping() {
    let (mut end, live) = lwaftr(|_| {});
    let p = udp((REMOTE, 80), (SHARED, PORT), b"hello");
    assert_eq!(ends(&end.enter(&p)).1, B4);
    live.replace(table_with("2001:db8::5"));
    assert_eq!(live.tidy(), 1, "a worker still reads the former table");
    assert_eq!(ends(&end.enter(&p)).1, "2001:db8::5");
    assert_eq!(live.tidy(), 0);
    assert_eq!(ends(&end.enter(&udp((REMOTE, 80), (SHARED, OTHER_PORT), b"hello"))).1, OTHER_B4);
}

/// Several lwAFTR addresses: each softwire has its own.
#[test]
fn softwires_may_have_different_lwaftr_addresses() {
    let mut b = BindingTableBuilder::new("table", PE.parse().unwrap());
    b.add(&softwire(B4, SHARED, 5, 6)).unwrap();
    let other = Softwire { own: Some("2001:db8:af::2".parse().unwrap()), ..softwire(OTHER_B4, SHARED, 6, 6) };
    b.add(&other).unwrap();
    let live = Live::new(b.build().unwrap());
    let mut end = End::new(&config(Side::Customer), 1, || live.bindings());
    let f = end.enter(&udp((REMOTE, 80), (SHARED, OTHER_PORT), b"hello"));
    assert_eq!(ends(&f), ("2001:db8:af::2".into(), OTHER_B4.into()));
    let back = udp((SHARED, OTHER_PORT), (REMOTE, 80), b"hello");
    assert_eq!(end.leave(&wrapped(OTHER_B4, "2001:db8:af::2", &back)), one_hop(&back));
    end.refused(true, &wrapped(OTHER_B4, PE, &back), "unknown-softwire");
    assert_eq!(live.current().iter().filter(|s| s.own == other.own).count(), 1);
}

#[test]
fn reassembled_packets_are_fragmented_in_order() {
    let (mut end, _) = lwaftr(|c| c.v4.mtu = 1000);
    let p = udp((SHARED, PORT), (REMOTE, 80), &[7; 2400]);
    let out = |end: &mut End<Bindings>, frames: &[Vec<u8>]| -> Vec<Vec<u8>> {
        end.send_all(Side::Customer, frames).into_iter().map(|(_, f)| f).collect()
    };
    fragments_reassembled_packets_in_order(&wrapped(B4, PE, &p), |frames| out(&mut end, frames));

    // A later fragment that has waited for the first is fragmented once more.
    let parts = fragments(&p, 9, &[1200]);
    let out = out(&mut end, &[wrapped(B4, PE, &parts[1]), wrapped(B4, PE, &parts[0])]);
    let fields: Vec<_> = out.iter().map(|f| u16::from_be_bytes([bare(f)[6], bare(f)[7]])).collect();
    assert_eq!(fields, [0x2000, 0x2000 + 122, 0x2000 + 150, 272], "in octets 0, 976, 1200, 2176");
}
