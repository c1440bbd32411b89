//! The tester's cost of an IPv6 header: each layout over a cable, with few and very many subscribers.

use crate::whole::{data, make_stage, row};
use method::Direction;
use plane::view::{BedAddresses, ends::table, forwarding_as};
use port::Clock;
use wire::{AddrRange, Address6, Ends6, Expect, FlowSpace, Layout, PortRange};

pub(crate) fn print(clock: Clock) {
    println!("\none thread sends, receives and judges; 18 bytes of payload, random order, ns a frame");
    println!("subscribers, layout  Mfps        in all          send     hand over       receive         judge");
    for (subscribers, ports, remotes) in [(1u32, 40_000, 100), (65_536, 64, 1), (1_000_000, 4, 1)] {
        let bed = bed(subscribers, ports, remotes);
        for ((name, layout), (_, arriving)) in layouts(subscribers).into_iter().zip(layouts(subscribers)) {
            let mut view = forwarding_as(&bed, &layout);
            // On another core it would not find the sender's rows in its cache.
            view.expect_right = Expect::udp(&view.left, *view.expect_right.fields(), arriving, None);
            let mut stage = match make_stage(clock, view) {
                Ok(s) => s,
                Err(e) => return println!("{subscribers}: {e}"),
            };
            row(&format!("{subscribers:>9} {name}"), &mut stage, &data(bed.connections, Direction::Forward));
        }
    }
}

pub(crate) fn bed(subscribers: u32, ports: u16, remotes: u16) -> BedAddresses {
    let flows = FlowSpace::new(
        AddrRange { first: [10, 0, 0, 2].into(), count: subscribers },
        PortRange { first: 1024, last: 1023 + ports },
        AddrRange::one([198, 19, 0, 2].into()),
        PortRange { first: 1, last: remotes },
    )
    .expect("these ranges fit");
    let hop = plane::Hop::default();
    BedAddresses { left: hop, right: hop, frame_size: 64, ttl: 10, connections: flows.size(), flows, seed: 1 }
}

fn layouts(subscribers: u32) -> [(&'static str, Layout); 3] {
    let prefix = 0x2001_0002_0001_0000u128 << 64;
    let rows = table((0..subscribers).map(|s| prefix + ((s as u128) << 64))).expect("16 bytes a subscriber");
    let src = if subscribers == 1 { Address6::Constant(rows[0]) } else { Address6::BySubscriber(rows) };
    let ends = Ends6 { src, dst: Address6::constant(prefix + 1) };
    [("IPv4", Layout::Ipv4), ("IPv6", Layout::Ipv6(ends.clone())), ("IPv4 in IPv6", Layout::Tunnel(ends))]
}
