//! Any frame to a gateway itself: an answer that goes back to its sender, with right checksums, or none. Also IPv6
//! headers with everything behind them, and what the frame says about the address of the gateway's next hop.

#![no_main]

use arbitrary::Arbitrary;
use gateway::neighbour::{NextHop, NextHops};
use gateway::own::Own;
use libfuzzer_sys::fuzz_target;
use natmeter_fuzz::build::{Damage, reseal};
use natmeter_fuzz::checksum::{self, Ipv4};
use plane::ip6::Head6;
use plane::{Packet, Side};
use testbed::Frame;
use wire::{AddrRange, Mac, Prefix6};

#[derive(Arbitrary, Debug)]
enum Asked {
    Any(Vec<u8>),
    Arp(Vec<u8>, Damage),
    Echo(Vec<u8>, Damage),
    /// ICMPv6: type and what follows the checksum.
    Icmp6(u8, u8, Vec<u8>, Damage),
}

const MAC: [u8; 6] = [2, 0, 0, 0, 0, 1];
const PEER: [u8; 6] = [2, 0, 0, 0, 0, 2];
const PEER4: [u8; 4] = [192, 0, 2, 9];
const PEER6: [u8; 16] = [0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9];
const OWN4: [u8; 4] = [192, 0, 2, 1];
const OWN6: [u8; 16] = [0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1];

fn frame(kind: [u8; 2]) -> Vec<u8> {
    [&MAC[..], &PEER, &kind].concat()
}

fn build(asked: Asked) -> Vec<u8> {
    let (mut f, damage) = match asked {
        Asked::Any(bytes) => return bytes,
        Asked::Arp(rest, damage) => {
            let mut f = frame([8, 6]);
            f.extend([0, 1, 8, 0, 6, 4, 0, 1]);
            f.extend([&PEER[..], &PEER4, &[0; 6], &OWN4, &rest].concat());
            (f, damage)
        }
        Asked::Echo(rest, damage) => {
            let mut f = frame([8, 0]);
            f.extend([0x45, 0, 0, 0, 0, 0, 0, 0, 9, 1, 0, 0, 192, 0, 2, 9]);
            f.extend(OWN4);
            let mut message = [&[8, 0, 0, 0, 0, 1, 0, 1][..], &rest[..rest.len().min(1000)]].concat();
            let sum = checksum::of(&[&message]);
            message[2..4].copy_from_slice(&sum);
            f[16..18].copy_from_slice(&(20 + message.len() as u16).to_be_bytes());
            f.extend(message);
            reseal(&mut f);
            (f, damage)
        }
        Asked::Icmp6(kind, hop_limit, rest, damage) => {
            let kind = [128, 135, 136, kind][usize::from(kind % 4)];
            let rest = &rest[..rest.len().min(1000)];
            let target: &[u8] = match kind {
                135 => &OWN6,
                136 => &PEER6,
                _ => &[],
            };
            let mut message = [&[kind, 0, 0, 0, 0, 0, 0, 0][..], target, rest].concat();
            let mut f = frame([0x86, 0xdd]);
            f.extend([0x60, 0, 0, 0]);
            f.extend((message.len() as u16).to_be_bytes());
            f.extend([58, if hop_limit < 128 { 255 } else { hop_limit }]);
            f.extend(PEER6);
            f.extend(OWN6);
            let sum = sum6(&f[22..54], &message);
            message[2..4].copy_from_slice(&sum);
            f.extend(message);
            (f, damage)
        }
    };
    damage.apply(&mut f);
    f
}

/// The checksum field of an ICMPv6 message (RFC 8200, section 8.1).
fn sum6(addresses: &[u8], message: &[u8]) -> [u8; 2] {
    checksum::of(&[addresses, &(message.len() as u32).to_be_bytes(), &[0, 0, 0, 58], message])
}

/// An address that is to be checked is another station's and stands in the frame; none is believed at once.
fn learn(f: &[u8]) {
    let before = Mac([2, 0, 0, 0, 0, 3]);
    let next_hop = |address: std::net::IpAddr| Some(NextHop::new(address, Mac(MAC), before));
    let next_hops = NextHops { customer: next_hop(PEER4.into()), internet: next_hop(PEER6.into()) };
    for side in [Side::Customer, Side::Internet] {
        next_hops.hear(side, f);
        let next_hop = next_hops.on(side).expect("it was put there");
        assert_eq!(next_hop.mac(), before);
        if let Some((mac, _)) = next_hop.claim() {
            assert!(mac != Mac(MAC) && mac.0[0] & 1 == 0 && f.windows(6).any(|octets| octets == mac.0));
        }
    }
}

fuzz_target!(|asked: Asked| {
    let own = Own {
        mac: Mac(MAC),
        ipv4: vec![AddrRange::one(OWN4.into())],
        ipv6: vec![Prefix6 { addr: OWN6.into(), len: 128 }],
    };
    let f = build(asked);
    learn(&f);
    if let Ok(head) = Head6::of_frame(&f) {
        assert!(head.l3 < head.l4 && head.l4 <= head.end && head.end <= f.len());
    }
    let mut packet = Frame::new(&f);
    if !own.answer(&mut packet) {
        return;
    }
    let b = packet.bytes();
    assert_eq!(b[6..12], MAC);
    match b[12..14] {
        [8, 6] => assert_eq!((&b[20..22], &b[22..28], &b[28..32]), (&[0, 2][..], &MAC[..], &OWN4[..])),
        [8, 0] => {
            assert!(Ipv4::read(&f[14..]).is_some(), "an answer to a packet with a wrong header (RFC 1122, 3.2.1.2)");
            let packet = Ipv4::read(&b[14..]).expect("a right header");
            assert_eq!((packet.transport_is_right(), &packet.header[12..16]), (Some(true), &OWN4[..]));
        }
        [0x86, 0xdd] => {
            let end = 54 + usize::from(u16::from_be_bytes([b[18], b[19]]));
            assert_eq!(sum6(&b[22..54], &b[54..end]), [0, 0], "the checksum of the answer");
            assert_eq!(b[22..38], OWN6);
        }
        _ => panic!("an answer of another kind"),
    }
});
