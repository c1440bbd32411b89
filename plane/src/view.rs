//! Views: what the tester's two sides send and expect in a set-up, as data for the engine.

use crate::router::Hop;
use wire::template::UdpFrame;
use wire::view::View;
use wire::{Expect, FlowSpace, OuterRange, Permutation, Source, Template};

/// What every view needs to know about the test bed.
#[derive(Clone, Debug)]
pub struct Bed {
    /// Left: the tester's own address there, and the DUT's.
    pub left: Hop,
    /// Right.
    pub right: Hop,
    /// Frame size in octets with FCS.
    pub frame_size: usize,
    /// Time to live of test frames.
    pub ttl: u8,
    /// Flows.
    pub flows: FlowSpace,
    /// Connections (N), at most the size of the flow space.
    pub connections: u64,
    /// Seed of the pseudo-random order.
    pub seed: u64,
}

/// Plain IPv4 forwarding (methodology T1), and with cables only the tester's own loop (T0): what one side
/// sends arrives unchanged at the other.
pub fn forwarding(bed: &Bed) -> View {
    use Source::{InsideAddr, InsidePort, RemoteAddr, RemotePort};
    let left = template(bed, bed.left, [InsideAddr, InsidePort, RemoteAddr, RemotePort]);
    let right = template(bed, bed.right, [RemoteAddr, RemotePort, InsideAddr, InsidePort]);
    View {
        expect_right: Expect::udp_v4(&left, InsideAddr, InsidePort, RemoteAddr, RemotePort, None),
        expect_left: Expect::udp_v4(&right, RemoteAddr, RemotePort, InsideAddr, InsidePort, None),
        left,
        right,
        stateful: false,
        ..common(bed)
    }
}

/// A stateful NAT44 (methodology T4, RFC 9693): Right learns outside address and port in phase 1, which must lie
/// in `outer`, and sends to these.
pub fn nat44(bed: &Bed, outer: OuterRange) -> View {
    use Source::{InsideAddr, InsidePort, OuterAddr, OuterPort, RemoteAddr, RemotePort};
    let left = template(bed, bed.left, [InsideAddr, InsidePort, RemoteAddr, RemotePort]);
    let right = template(bed, bed.right, [RemoteAddr, RemotePort, OuterAddr, OuterPort]);
    View {
        expect_right: Expect::udp_v4(&left, OuterAddr, OuterPort, RemoteAddr, RemotePort, Some(outer)),
        expect_left: Expect::udp_v4(&right, RemoteAddr, RemotePort, InsideAddr, InsidePort, None),
        left,
        right,
        stateful: true,
        ..common(bed)
    }
}

fn template(bed: &Bed, hop: Hop, [src, src_port, dst, dst_port]: [Source; 4]) -> Template {
    Template::udp_v4(&UdpFrame {
        to: hop.next,
        from: hop.own,
        size: bed.frame_size,
        ttl: bed.ttl,
        src,
        src_port,
        dst,
        dst_port,
    })
}

/// The parts that all views share; templates and expectations here are placeholders that each view replaces.
fn common(bed: &Bed) -> View {
    use Source::{InsideAddr, InsidePort, RemoteAddr, RemotePort};
    let any = template(bed, bed.left, [InsideAddr, InsidePort, RemoteAddr, RemotePort]);
    let expect = Expect::udp_v4(&any, InsideAddr, InsidePort, RemoteAddr, RemotePort, None);
    View {
        flows: bed.flows.clone(),
        order: Permutation::new(bed.connections, bed.seed),
        left: any.clone(),
        right: any,
        expect_right: expect.clone(),
        expect_left: expect,
        stateful: false,
        magic_at: vec![Template::TAG_AT],
    }
}
