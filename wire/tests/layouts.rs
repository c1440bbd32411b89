//! Known truth of expectations in every layout: what a template makes is right for the expectation of the same layout,
//! every single corrupted byte is found, and so is every other subscriber's address. That frames themselves are right is
//! judged by an independent parser, beside the template.

use proptest::prelude::*;
use wire::checksum::{Sum, update};
use wire::template::UdpFrame;
use wire::{
    AddrRange, Address6, Ends6, Expect, Fields, FlowSpace, FramePurpose, Layout, Mac, Mismatch, Octets16, OuterRange,
    PortRange, Rows, Source, Tag, Template, Values,
};

const OUTER: (u32, u16) = (0xc613_0001, 5000);
const SUBSCRIBERS: u32 = 200;

fn flows() -> FlowSpace {
    FlowSpace::overlapping(
        SUBSCRIBERS,
        [192, 168, 1, 2].into(),
        PortRange { first: 1024, last: 2023 },
        AddrRange { first: [198, 19, 0, 2].into(), count: 3 },
        PortRange { first: 1, last: 10 },
    )
    .unwrap()
}

/// Addresses that share their sums as far as possible: the 16-bit words of one are those of another in other places.
fn subscriber(s: u32) -> u128 {
    let words = [0x2001, 2, s as u16 >> 8, s as u16 & 0xff, 0, 1, 2, 3];
    words.iter().fold(0, |a, w| a << 16 | u128::from(*w))
}

fn translated() -> Ends6 {
    let subscribers: Rows = (0..SUBSCRIBERS).map(|s| Octets16::from(subscriber(s))).collect();
    let pref64 = 0x2001_0002_0000_0064u128 << 64;
    let remotes: Rows = (0..3).map(|r| Octets16::from(pref64 | (0xc613_0002 + r))).collect();
    Ends6 { src: Address6::BySubscriber(subscribers), dst: Address6::ByRemote(0xc613_0002, remotes) }
}

fn tunnel() -> Ends6 {
    Ends6 { dst: Address6::constant(0x2001_0002_0000_0100 << 64 | 2), ..translated() }
}

fn layouts() -> [Layout; 5] {
    let (ipv6, tunnel) = (Layout::Ipv6(translated()), Layout::Tunnel(tunnel()));
    [Layout::Ipv4, ipv6.reversed(), ipv6, tunnel.reversed(), tunnel]
}

/// Fields of frames from the inside address, and from what a NAT made of it.
const FIELDS: [Fields; 2] = [
    Fields {
        src: Source::InsideAddr,
        src_port: Source::InsidePort,
        dst: Source::RemoteAddr,
        dst_port: Source::RemotePort,
    },
    Fields {
        src: Source::OuterAddr,
        src_port: Source::OuterPort,
        dst: Source::RemoteAddr,
        dst_port: Source::RemotePort,
    },
];

fn template(size: usize, fields: Fields, layout: Layout) -> Template {
    let frame = UdpFrame { to: Mac::default(), from: Mac([2; 6]), size, ttl: 9, fields };
    Template::udp(&frame, layout)
}

fn tag(index: u32) -> Tag {
    Tag { trial: 7, stream: Tag::stream(FramePurpose::Data, false), sender: 0, sequence: 9, index }
}

/// A right frame of flow `f`, its values, and what it is held against. It was sent as IPv4.
fn right(size: usize, f: u32, fields: Fields, layout: Layout) -> (Vec<u8>, Values, Expect) {
    let values = Values::of(flows().flow(f)).learned(OUTER.0, OUTER.1);
    let arriving = template(size, fields, layout.clone());
    let mut frame = vec![0; arriving.len()];
    arriving.write(&mut frame, &values, &tag(f));
    let range = OuterRange { addrs: AddrRange::one(OUTER.0.into()), ports: PortRange { first: 1024, last: 65_535 } };
    (frame, values, Expect::udp(&template(size, FIELDS[0], Layout::Ipv4), fields, layout, Some(range)))
}

/// What may differ without a fault, or is judged apart: MAC addresses, then traffic class and flow label of a tunnel, and
/// a hop limit that no checksum covers.
fn free(layout: &Layout, at: usize, xor: u8) -> bool {
    let of_tunnel = matches!(layout, Layout::Tunnel(_)) && (at == 14 && xor & 0xf0 == 0 || (15..=17).contains(&at));
    // TOS and traffic class of a translator; that of IPv4 has a checksum.
    let class =
        matches!(layout, Layout::Ipv6(_)) && (at == 14 && xor & 0xf0 == 0 || at == 15 && xor.trailing_zeros() >= 4);
    at < 12 || of_tunnel || class || layout.ends().is_some() && at == 21
}

proptest! {
    #[test]
    fn every_corrupted_byte_is_found(
        size in prop_oneof![Just(64usize), 64usize..200], f in 0u32..6_000_000, xor in 1u8.., learning: bool,
    ) {
        for layout in layouts() {
            let (mut frame, values, expect) = right(size, f, FIELDS[usize::from(learning)], layout.clone());
            let judge = |frame: &[u8]| if learning { expect.learn(frame, &values).map(|_| ()) } else { expect.check(frame, &values) };
            prop_assert_eq!(judge(&frame), Ok(()));
            prop_assert_eq!(expect.tag_at(), layout.tag_at());
            for at in 0..frame.len() {
                frame[at] ^= xor;
                prop_assert_eq!(judge(&frame).is_ok(), free(&layout, at, xor), "byte {} ^ {} in {} octets", at, xor, size);
                if layout.ends().is_some() && (22..54).contains(&at) {
                    prop_assert_eq!(judge(&frame), Err(Mismatch::Address));
                }
                frame[at] ^= xor;
            }
            frame.push(0);
            prop_assert_eq!(judge(&frame), Err(Mismatch::Trailer));
            frame.truncate(frame.len() - 2);
            prop_assert_eq!(judge(&frame), Err(Mismatch::Length));
        }
    }

    /// With checksums that are right for the wrong address, as a gateway that misroutes has them.
    #[test]
    fn the_address_of_another_subscriber_is_found(f in 0u32..6_000_000, other in 0..SUBSCRIBERS) {
        for layout in layouts() {
            let Some(ends) = layout.ends() else { continue };
            let from_subscriber = matches!(ends.src, Address6::BySubscriber(_));
            let (mut frame, values, expect) = right(64, f, FIELDS[0], layout.clone());
            let at = if from_subscriber { 22 } else { 38 };
            let own = flows().flow(f).subscriber;
            prop_assert_eq!(&frame[at..at + 16], &subscriber(own).to_be_bytes()[..]);
            let udp = layout.tag_at() - 2;
            let old = Sum::default().bytes(&frame[at..at + 16]);
            frame[at..at + 16].copy_from_slice(&subscriber(other).to_be_bytes());
            if matches!(layout, Layout::Ipv6(_)) {
                let new = Sum::default().bytes(&frame[at..at + 16]);
                let sum = update([frame[udp], frame[udp + 1]], old, new);
                frame[udp..udp + 2].copy_from_slice(&sum);
            }
            let outcome = if own == other { Ok(()) } else { Err(Mismatch::Address) };
            prop_assert_eq!(expect.check(&frame, &values), outcome);
        }
    }
}

#[test]
fn the_remote_address_of_another_flow_is_found() {
    for layout in [Layout::Ipv6(translated()), Layout::Ipv6(translated()).reversed()] {
        let (frame, _, expect) = right(64, 0, FIELDS[0], layout);
        // Flow 10,000 differs from flow 0 in its remote address alone.
        let [a, b] = [0, 10_000].map(|f| flows().flow(f));
        assert_eq!((a.inside_port, a.remote_port, a.subscriber), (b.inside_port, b.remote_port, b.subscriber));
        assert_eq!(expect.check(&frame, &Values::of(b)), Err(Mismatch::Address));
    }
}

#[test]
fn what_is_learned_is_the_ipv4_address_where_there_is_one() {
    for layout in layouts() {
        let (frame, values, expect) = right(64, 77, FIELDS[1], layout.clone());
        let addr = if matches!(layout, Layout::Ipv6(_)) { 0 } else { OUTER.0 };
        assert_eq!(expect.learn(&frame, &values), Ok((addr, OUTER.1)));
        assert_eq!(expect.check(&frame, &values.learned(addr, OUTER.1 + 1)), Err(Mismatch::Port));
    }
}

#[test]
fn hop_limits_are_read_from_every_header() {
    let hops = layouts().map(|layout| {
        let (mut frame, _, expect) = right(64, 5, FIELDS[0], layout.clone());
        if layout.ends().is_some() {
            frame[21] = 64;
        }
        expect.hops(&frame).unwrap()
    });
    assert_eq!(hops, [9, 64, 64, 64 << 8 | 9, 64 << 8 | 9]);
}

/// RFC 7915, 4.1: a translator copies or sets the traffic class, and writes flow label 0. RFC 2473, 6.4 and 6.5: those of a
/// tunnel are its own.
#[test]
fn the_flow_label_is_fixed_behind_a_translator_only() {
    for layout in &layouts()[1..] {
        let (mut frame, values, expect) = right(128, 5, FIELDS[0], layout.clone());
        frame[14..18].copy_from_slice(&[0x6b, 0x81, 0x23, 0x45]);
        frame[21] = 63;
        let is_tunnel = matches!(layout, Layout::Tunnel(_));
        assert_eq!(expect.check(&frame, &values), if is_tunnel { Ok(()) } else { Err(Mismatch::TrafficClass) });
        assert_eq!((expect.open(&frame).traffic_class, expect.open(&frame).flow_label), (true, is_tunnel));
    }
}
