//! Test frames as they were sent and damaged in any way, and any bytes, held against what must arrive: what is called
//! right is right for an independent reader, and the quick answer is the explained one. Also the order of flows.

#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use natmeter_fuzz::checksum::{self, Ipv4};
use plane::Hop;
use plane::view::{BedAddresses, forwarding, nat44};
use wire::checksum::Sum;
use wire::decode::{self, Stray};
use wire::{AddrRange, FlowSpace, FramePurpose, OuterRange, Permutation, PortRange, StreamId, Tag, Values};

#[derive(Arbitrary, Debug)]
struct Input {
    size: u16,
    ttl: u8,
    space: [(u32, u8, u16, u8); 2],
    connections: u32,
    seed: u64,
    stateful: bool,
    index: u32,
    sequence: u64,
    trial: u16,
    outer: (u8, u16),
    changes: Vec<(u16, u8)>,
    length: Option<u16>,
    any: Vec<u8>,
}

impl Input {
    /// A flow space of some corner of what there is; not all of them can be.
    fn flows(&self) -> Option<FlowSpace> {
        let [inside, remote] = self.space.map(|(a, n, p, m)| {
            let addrs = AddrRange { first: a.into(), count: 1 + u32::from(n) };
            (addrs, PortRange { first: p, last: p.saturating_add(m.into()) })
        });
        FlowSpace::new(inside.0, inside.1, remote.0, remote.1).ok()
    }
}

/// Where frames come out when they come out at all.
fn pool() -> OuterRange {
    let addrs = AddrRange { first: [192, 0, 2, 0].into(), count: 16 };
    OuterRange { addrs, ports: PortRange { first: 1024, last: 65_535 } }
}

fn orders(input: &Input) {
    let n = u64::from(input.connections) + 1;
    let order = Permutation::new(n, input.seed);
    let position = |j: u32| (u64::from(input.index.wrapping_add(j.wrapping_mul(0x9e37_79b9))) % n) as u32;
    let positions: [u32; 32] = std::array::from_fn(|j| position(j as u32));
    let mut things = [0; 32];
    order.fill(&positions, &mut things);
    for (p, t) in positions.iter().zip(things) {
        assert!(u64::from(t) < n && t == order.get(*p));
    }
    assert!(positions.iter().zip(things).all(|(p, t)| (*p == positions[0]) == (t == things[0])), "one to one");
}

fuzz_target!(|input: Input| {
    orders(&input);
    let any = &input.any[..];
    assert!(!decode::line(any, any.len()).to_string().is_empty());
    // Without the magic, it is not a test frame.
    assert!(decode::tag_in(any).is_some() || !matches!(decode::stray(any), Stray::VlanTag | Stray::OtherHeaders));
    assert_eq!(Sum::default().bytes(any).checksum(), checksum::of(&[any]));
    for at in [0, 42, any.len().saturating_sub(18)] {
        assert_eq!(Tag::read(any, at).is_some(), StreamId::words(any, at).is_some() && any[at..].starts_with(b"nMt"));
    }
    let Some(flows) = input.flows() else { return };
    let connections = (u64::from(input.connections) % flows.size()) + 1;
    let bed = BedAddresses {
        left: Hop::default(),
        right: Hop::default(),
        frame_size: 78 + usize::from(input.size) % 9000,
        ttl: input.ttl,
        flows: flows.clone(),
        connections,
        seed: input.seed,
    };
    let view = if input.stateful { nat44(&bed, pool()) } else { forwarding(&bed) };
    let index = (u64::from(input.index) % connections) as u32;
    let sequence = input.sequence & wire::tag::MAX_SEQUENCE;
    let tag = Tag { trial: input.trial, stream: Tag::stream(FramePurpose::Data, false), sender: 0, sequence, index };
    let (addr, port) = (0xc000_0200 + u32::from(input.outer.0), input.outer.1);
    let values = Values::of(flows.flow(view.order.get(index))).learned(addr, port);

    for (template, expect) in
        [(&view.left, &view.expect_left), (&view.left, &view.expect_right), (&view.right, &view.expect_left)]
    {
        let mut f = vec![0; template.len()];
        template.write(&mut f, &values, &tag);
        let sent = Ipv4::read(&f[14..]).expect("a right header");
        assert_eq!((sent.whole, sent.transport_is_right()), (true, Some(true)));
        assert_eq!(Tag::read(&f, template.tag_at()), Some(tag));
        for (at, value) in &input.changes {
            let n = f.len();
            f[usize::from(*at) % n] = *value;
        }
        if let Some(n) = input.length {
            f.resize(usize::from(n) % 9100, 0);
        }
        for frame in [&f[..], any] {
            let checked = expect.check(frame, &values);
            let learned = expect.learn(frame, &values);
            for right in [checked.is_ok(), learned.is_ok()] {
                assert!(!right || is_right(frame, template.len()), "a wrong frame was called right");
            }
            if let Ok((a, p)) = learned {
                assert!(
                    !input.stateful
                        || !expect.needs_outer()
                        || (pool().addrs.contains(a.into()) && pool().ports.contains(p))
                );
            }
        }
    }
});

/// Length, header and both checksums, as an independent reader sees them.
fn is_right(frame: &[u8], len: usize) -> bool {
    frame.len() == len
        && Ipv4::read(&frame[14..]).is_some_and(|p| {
            p.whole
                && p.header.len() == 20
                && p.header[9] == 17
                && p.transport_is_right() == Some(true)
                && p.payload[6..8] != [0, 0]
        })
}
