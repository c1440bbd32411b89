//! The tester's NAT44 view against the NAT44 itself: what the view sends must come out as it expects, in both
//! directions.

use crate::nat44::gateway::*;
use crate::nat44::packets::*;
use plane::Hop;
use plane::Side::{Customer, Internet};
use plane::view::{BedAddresses, forwarding, nat44};
use std::collections::HashSet;
use wire::{AddrRange, FlowSpace, FramePurpose, Mac, OuterRange, PortRange, Tag, Values};

const OUTSIDE: [u8; 4] = [198, 19, 0, 1];

fn bed(size: usize) -> BedAddresses {
    let ports = |first: u16, n: u16| PortRange { first, last: first + n - 1 };
    let (inside, remote) = (AddrRange::one([198, 18, 0, 2].into()), AddrRange::one([198, 19, 0, 2].into()));
    BedAddresses {
        left: Hop { own: Mac(CUSTOMER_HOP), next: Mac(CUSTOMER_MAC) },
        right: Hop { own: Mac(INTERNET_HOP), next: Mac(INTERNET_MAC) },
        frame_size: size,
        ttl: 10,
        flows: FlowSpace::new(inside, ports(1024, 50), remote, ports(1, 10)).unwrap(),
        connections: 500,
        seed: 3,
    }
}

fn tag(index: u32, reverse: bool) -> Tag {
    Tag { trial: 9, stream: Tag::stream(FramePurpose::Data, reverse), sender: 0, sequence: index.into(), index }
}

#[test]
fn frames_of_the_view_satisfy_the_view_in_both_directions() {
    for per_connection in [false, true] {
        for size in [64, 128, 1518] {
            let mut c = config();
            c.inside = vec![prefix4("198.18.0.0/24")];
            c.pool = vec![AddrRange::one(OUTSIDE.into())];
            let mut g = gateway(if per_connection { c.per_connection() } else { c });
            let outer =
                OuterRange { addrs: AddrRange::one(OUTSIDE.into()), ports: PortRange { first: 1024, last: 65535 } };
            let view = nat44(&bed(size), outer);
            let mut outside = HashSet::new();
            for i in 0..500 {
                let flow = view.flows.flow(view.order.get(i));
                let mut values = Values::of(flow);
                let mut frame = vec![0; view.left.len()];
                view.left.write(&mut frame, &values, &tag(i, false));
                assert_eq!(Tag::read(&frame, view.magic_at[0]), Some(tag(i, false)));
                let out = g.send(Customer, &frame);
                assert_eq!((out.len(), out[0].0), (1, Internet));
                let (addr, port) = view.expect_right.learn(&out[0].1, &values).unwrap();
                values = values.learned(addr, port);
                outside.insert((addr, port, flow.remote_port));
                let mut frame = vec![0; view.right.len()];
                view.right.write(&mut frame, &values, &tag(i, true));
                let back = g.send(Internet, &frame);
                assert_eq!((back.len(), back[0].0), (1, Customer));
                view.expect_left.check(&back[0].1, &values).unwrap();
                // And once more on the connection that now exists.
                view.left.write(&mut frame, &values, &tag(i, false));
                view.expect_right.check(&g.send(Customer, &frame)[0].1, &values).unwrap();
            }
            assert_eq!(outside.len(), 500);
            assert_eq!(g.entries(), (500, if per_connection { 0 } else { 50 }));
        }
    }
}

#[test]
fn the_forwarding_view_expects_what_a_router_does() {
    let view = forwarding(&bed(64));
    for i in 0..500 {
        let values = Values::of(view.flows.flow(view.order.get(i)));
        for (sent, expect, reverse) in [(&view.left, &view.expect_right, false), (&view.right, &view.expect_left, true)]
        {
            let mut frame = vec![0; sent.len()];
            sent.write(&mut frame, &values, &tag(i, reverse));
            frame[..6].copy_from_slice(if reverse { &CUSTOMER_HOP } else { &INTERNET_HOP });
            frame[22] -= 1;
            reseal(&mut frame);
            expect.check(&frame, &values).unwrap();
        }
    }
}
