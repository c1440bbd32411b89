//! The limit for the MSS option (RFC 9293, section 3.7.1): where it is found, and that nothing else changes.

use plane::router::{Hop, Router};
use plane::{AnyFunction, Input, MssLimit, NoSpare, Packet, Side, Verdict, Wrapper};
use proptest::prelude::*;
use testbed::packets::{Address, raw, v4, v6};
use testbed::{Frame, judge};
use wire::checksum::Sum;

const MOST: u16 = 1400;
const SYN: u8 = 2;
const ACK: u8 = 16;

fn limited(most: Option<u16>) -> AnyFunction<Frame> {
    MssLimit::new(most).around(Box::new(Router::new(Hop::default(), Hop::default())))
}

/// A segment with these flags and octets of options, in a packet of either version.
fn segment(from: &str, to: &str, flags: u8, options: &[u8]) -> Vec<u8> {
    let mut tcp = [&[0x13, 0x88, 0, 80, 0, 0, 0, 1, 0, 0, 0, 0, 0, flags, 1, 2, 0, 0, 0, 0][..], options].concat();
    tcp.resize(tcp.len().next_multiple_of(4), 0);
    tcp[12] = (tcp.len() as u8 / 4) << 4;
    tcp.extend(b"data");
    let octets = |a: &str| if from.contains(':') { v6(a.ip()).to_vec() } else { v4(a.ip()).to_vec() };
    let pseudo = Sum::default().bytes(&octets(from)).bytes(&octets(to)).be16(6).be16(tcp.len() as u16);
    let sum = pseudo.bytes(&tcp).checksum();
    tcp[16..18].copy_from_slice(&sum);
    raw(from, to, 64, 6, &tcp)
}

fn customers(flags: u8, options: &[u8]) -> Vec<u8> {
    segment("10.0.0.2", "203.0.113.9", flags, options)
}

/// In IPv6, behind destination options or not, as a fragment or not.
fn tunnelled(headers: &[u8], first: u8, inner: &[u8]) -> Vec<u8> {
    raw("2001:db8::1", "2001:db8::2", 64, first, &[headers, &inner[14..]].concat())
}

/// Passes the frame; returns its TCP options, if the limit has changed them.
fn passed(function: &mut AnyFunction<Frame>, frame: &[u8]) -> Option<Vec<u8>> {
    let before = function.counters().last().unwrap().1;
    let mut batch = [Frame::new(frame)];
    function.process(Input::new(0, Side::Customer, &mut batch, &mut [Verdict::Drop]), &mut NoSpare);
    let after = batch[0].bytes().to_vec();
    // The router in the limit changes the Ethernet addresses and the TTL of IPv4.
    let ip = if frame[12] == 8 { 34 } else { 14 };
    let lowered = function.counters().last().unwrap().1 - before;
    assert_eq!(lowered == 1, after[ip..] != frame[ip..], "counted");
    (lowered == 1).then(|| after[ip..].to_vec())
}

#[test]
fn a_larger_option_of_a_syn_becomes_the_limit_and_the_checksum_stays_right() {
    let mss = [2, 4, 0x05, 0xb4];
    let odd = [1, 2, 4, 0x05, 0xb4];
    let late = [&[3, 3, 7, 8, 10, 1, 2, 3, 4, 5, 6, 7, 8][..], &mss].concat();
    let v6 = |options: &[u8]| segment("2001:db8::5", "2001:db8::9", SYN | ACK, options);
    let [encapsulation, first, second] = [[4, 0, 4, 1, 4, 1, 1, 0], [4, 0, 0, 1, 0, 0, 0, 9], [4, 0, 0, 8, 0, 0, 0, 9]];
    let inner = customers(SYN, &mss);
    let mut fragment = inner.clone();
    fragment[21] = 1;
    let [small, equal] = [[2, 4, 5, 0], [2, 4, 5, 0x78]];
    let cases: &[(&str, Vec<u8>, bool)] = &[
        ("SYN", inner.clone(), true),
        ("SYN-ACK", customers(SYN | ACK, &mss), true),
        ("odd offset", customers(SYN, &odd), true),
        ("behind others", customers(SYN, &late), true),
        ("behind others, IPv6", v6(&late), true),
        ("odd offset, IPv6", v6(&odd), true),
        ("tunnel", tunnelled(&[], 4, &inner), true),
        ("tunnel with its option", tunnelled(&encapsulation, 60, &inner), true),
        ("first fragment of a tunnel packet", tunnelled(&first, 44, &inner), true),
        ("later fragment of a tunnel packet", tunnelled(&second, 44, &inner), false),
        ("later fragment", fragment, false),
        ("no SYN", customers(ACK, &mss), false),
        ("smaller", customers(SYN, &small), false),
        ("equal", customers(SYN, &equal), false),
        ("none", customers(SYN, &[]), false),
        ("behind the end of the list", customers(SYN, &[&[0, 0, 0, 0][..], &mss].concat()), false),
        ("length 3", customers(SYN, &[2, 3, 0x05, 1]), false),
        ("length 0", customers(SYN, &[9, 0, 2, 4, 5, 0xb4, 0, 0]), false),
        ("beyond the header", customers(SYN, &[9, 9, 0, 0]), false),
        ("cut off", customers(SYN, &[1, 1, 2, 4]), false),
        ("UDP", raw("10.0.0.2", "203.0.113.9", 64, 17, &inner[34..]), false),
    ];
    let mut function = limited(Some(MOST));
    for (case, frame, lowered) in cases {
        let after = passed(&mut function, frame);
        assert_eq!(after.is_some(), *lowered, "{case}");
        assert_eq!(passed(&mut limited(None), frame), None, "{case}, without a limit");
        let Some(after) = after else { continue };
        let before = &frame[frame.len() - after.len()..];
        let changed: Vec<_> = (0..after.len()).filter(|&i| before[i] != after[i]).collect();
        assert!(changed.len() <= 4, "{case}: option and checksum, {changed:?}");
        assert!(after.windows(4).any(|w| w == [2, 4, (MOST >> 8) as u8, MOST as u8]), "{case}");
        if !case.contains("fragment") {
            judge::judge(&[&frame[..frame.len() - after.len()], &after].concat());
        }
    }
}

/// A reload may set, change and remove the limit.
#[test]
fn the_limit_of_a_running_gateway_changes() {
    let mut function = limited(None);
    for most in [Some(1200), Some(1460), None] {
        function.adopt(&mut *limited(most)).unwrap();
        let mss =
            passed(&mut function, &customers(SYN, &[2, 4, 0xff, 0xff])).map(|b| u16::from_be_bytes([b[22], b[23]]));
        assert_eq!(mss, most);
    }
}

proptest! {
    /// Whatever the octets are: the checksum stays right, and frames that are cut off do no harm.
    #[test]
    fn any_options_pass(octets in prop::collection::vec(any::<u8>(), 0..40), flags: u8, cut in 0..60usize, offset: u8) {
        let mut function = limited(Some(MOST));
        let mut frame = customers(flags, &octets);
        let after = passed(&mut function, &frame);
        prop_assert!(after.is_none() || flags & SYN != 0);
        if let Some(after) = after {
            judge::judge(&[&frame[..34], &after].concat());
        }
        frame[46] = offset;
        frame.truncate(frame.len() - cut.min(frame.len()));
        let (mut batch, mut verdicts) = ([Frame::new(&frame)], [Verdict::Drop]);
        function.process(Input::new(0, Side::Customer, &mut batch, &mut verdicts), &mut NoSpare);
    }
}
