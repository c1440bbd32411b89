//! Views: what the tester's two sides send and expect in a set-up, as data for the engine.

use crate::router::Hop;
use wire::template::UdpFrame;
use wire::view::View;
use wire::{Expect, Fields, FlowSpace, OuterRange, Permutation, Source, Template};

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

/// From the Initiator, as it sends.
const FROM_INSIDE: Fields = Fields {
    src: Source::InsideAddr,
    src_port: Source::InsidePort,
    dst: Source::RemoteAddr,
    dst_port: Source::RemotePort,
};
/// To the Initiator, as it must arrive.
const TO_INSIDE: Fields = reversed(FROM_INSIDE);
/// From the DUT's outside address, as the Responder sees it.
const FROM_OUTER: Fields = Fields { src: Source::OuterAddr, src_port: Source::OuterPort, ..FROM_INSIDE };
/// To the DUT's outside address, as the Responder sends.
const TO_OUTER: Fields = reversed(FROM_OUTER);

const fn reversed(f: Fields) -> Fields {
    Fields { src: f.dst, src_port: f.dst_port, dst: f.src, dst_port: f.src_port }
}

/// Plain IPv4 forwarding (methodology T1), and with cables only the tester's own loop (T0): what one side
/// sends arrives unchanged at the other.
pub fn forwarding(bed: &Bed) -> View {
    view(bed, [FROM_INSIDE, FROM_INSIDE], [TO_INSIDE, TO_INSIDE], None)
}

/// A stateful NAT44 (methodology T4, RFC 9693): Right learns outside address and port in phase 1, which must lie
/// in `outer`, and sends to these.
pub fn nat44(bed: &Bed, outer: OuterRange) -> View {
    view(bed, [FROM_INSIDE, FROM_OUTER], [TO_OUTER, TO_INSIDE], Some(outer))
}

/// A view from what each direction sends and what arrives of it.
fn view(bed: &Bed, forward: [Fields; 2], reverse: [Fields; 2], outer: Option<OuterRange>) -> View {
    let left = template(bed, bed.left, forward[0]);
    let right = template(bed, bed.right, reverse[0]);
    let stateful = outer.is_some();
    View {
        flows: bed.flows.clone(),
        order: Permutation::new(bed.connections, bed.seed),
        expect_right: Expect::udp_v4(&left, forward[1], outer),
        expect_left: Expect::udp_v4(&right, reverse[1], None),
        left,
        right,
        stateful,
        magic_at: vec![Template::TAG_AT],
    }
}

fn template(bed: &Bed, hop: Hop, fields: Fields) -> Template {
    Template::udp_v4(&UdpFrame { to: hop.next, from: hop.own, size: bed.frame_size, ttl: bed.ttl, fields })
}
