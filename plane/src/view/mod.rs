//! Views: what the tester's two sides send and expect in a set-up.

pub mod ce;
pub mod ends;
pub mod natxy;
pub mod pe;
pub mod size;

pub use ends::{Subscriber6, TranslatedEnds, Tunnelled, ViewError};

use crate::router::Hop;
use wire::template::UdpFrame;
use wire::view::View;
use wire::{AddrRange, Expect, Fields, FlowSpace, Layout, OuterRange, Permutation, PortSet, Source, Template};

/// Properties of the test bed.
#[derive(Clone, Debug)]
pub struct BedAddresses {
    /// Tester's own address, and DUT's.
    pub left: Hop,
    /// Addresses of tester and DUT on the right.
    pub right: Hop,
    /// Octets with FCS of IPv4 frames; those with an IPv6 header are longer (METHODOLOGY.md, frame sizes).
    pub frame_size: usize,
    /// TTL and hop limit.
    pub ttl: u8,
    /// Flows.
    pub flows: FlowSpace,
    /// N, at most the size of the flow space.
    pub connections: u64,
    /// Seed of the pseudo-random order.
    pub seed: u64,
}

/// What a stateful device may translate to.
#[derive(Clone, Debug)]
pub struct OutsideRanges {
    /// Addresses and ports.
    pub range: OuterRange,
    /// More outside addresses with the same ports.
    pub also: Vec<AddrRange>,
    /// Ports of a subscriber with a shared address.
    pub set: PortSet,
    /// Bits that are zero in each outside address.
    pub clear: u32,
}

impl From<OuterRange> for OutsideRanges {
    fn from(range: OuterRange) -> OutsideRanges {
        OutsideRanges { range, also: Vec::new(), set: PortSet::ALL, clear: 0 }
    }
}

/// Fields of frames as the Initiator sends them.
const FROM_INSIDE: Fields = Fields {
    src: Source::InsideAddr,
    src_port: Source::InsidePort,
    dst: Source::RemoteAddr,
    dst_port: Source::RemotePort,
};
/// Fields of frames from the DUT's outside address.
const FROM_OUTER: Fields = Fields { src: Source::OuterAddr, src_port: Source::OuterPort, ..FROM_INSIDE };
const fn reversed(f: Fields) -> Fields {
    Fields { src: f.dst, src_port: f.dst_port, dst: f.src, dst_port: f.src_port }
}

/// Plain IPv4 forwarding (RFC 2544), or the tester's own loop.
pub fn forwarding(bed: &BedAddresses) -> View {
    forwarding_as(bed, &Layout::Ipv4)
}

/// As [`forwarding`], with this layout: for an IPv6 router, a router between tunnel ends, or the tester's own loop.
pub fn forwarding_as(bed: &BedAddresses, layout: &Layout) -> View {
    stateless(bed, [layout.clone(), layout.clone()])
}

/// Plain IPv6 forwarding (RFC 5180).
///
/// # Errors
/// The addresses do not match the flow space.
pub fn forwarding6(bed: &BedAddresses, ends: &TranslatedEnds<'_>) -> Result<View, ViewError> {
    Ok(forwarding_as(bed, &ends.layout(bed)?))
}

/// A stateful NAT44 (RFC 9693), and the Dual DUT set-up of IPv4aaS technologies: in phase 1 Right
/// learns outside addresses and ports, which must lie in `outside`, and then sends to these.
pub fn nat44(bed: &BedAddresses, outside: impl Into<OutsideRanges>) -> View {
    stateful(bed, [Layout::Ipv4, Layout::Ipv4], outside.into())
}

/// A view from the layouts of customers' frames on both links.
fn stateless(bed: &BedAddresses, links: [Layout; 2]) -> View {
    view(bed, links, [FROM_INSIDE, FROM_INSIDE], None)
}

fn stateful(bed: &BedAddresses, links: [Layout; 2], outside: OutsideRanges) -> View {
    view(bed, links, [FROM_INSIDE, FROM_OUTER], Some(outside))
}

/// A view from the customers' frames; the other direction is the reverse.
fn view(bed: &BedAddresses, links: [Layout; 2], fields: [Fields; 2], outside: Option<OutsideRanges>) -> View {
    let [on_left, on_right] = links;
    let left = template(bed, bed.left, fields[0], on_left.clone());
    let right = template(bed, bed.right, reversed(fields[1]), on_right.reversed());
    let stateful = outside.is_some();
    let expected =
        Expect::udp(&left, fields[1], on_right, outside.as_ref().map(|o| o.range.clone())).arriving_at(bed.right.own);
    let expect_right = match outside {
        Some(o) => expected.or_of(o.also).within(o.set).with_clear(o.clear),
        None => expected,
    };
    assert!(bed.connections <= bed.flows.size(), "{} connections of {} flows", bed.connections, bed.flows.size());
    let mut magic_at = vec![left.tag_at(), right.tag_at()];
    magic_at.dedup();
    View {
        flows: bed.flows.clone(),
        order: Permutation::new(bed.flows.size(), bed.seed),
        connections: bed.connections,
        expect_right,
        expect_left: Expect::udp(&right, reversed(fields[0]), on_left.reversed(), None).arriving_at(bed.left.own),
        left,
        right,
        stateful,
        magic_at,
        mix: None,
        background: None,
    }
}

fn template(bed: &BedAddresses, hop: Hop, fields: Fields, layout: Layout) -> Template {
    Template::udp(&UdpFrame { to: hop.next, from: hop.own, size: bed.frame_size, ttl: bed.ttl, fields }, layout)
}
