<<<<<<< HEAD
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
=======
//! The tester's views: what its two sides send and expect in a set-up, as data for the engine. Here, because a view
//! is what a technology makes of a flow, and not in `wire`, which only says what a view consists of.

use wire::template::UdpFrame;
use wire::{Expect, FlowError, FlowSpace, Mac, OuterRange, Permutation, Source, Template, View};

/// One of the tester's two links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// Ethernet address of the tester's port.
    pub tester: Mac,
    /// Ethernet address of the DUT's port at the other end.
    pub dut: Mac,
}

/// What every view is made from.
#[derive(Clone, Debug)]
pub struct Shape {
    /// Left link: Initiator, customers.
    pub left: Link,
    /// Right link: Responder, Internet.
    pub right: Link,
    /// Frame size in octets with FCS.
    pub size: usize,
    /// Time to live of what the tester sends.
    pub ttl: u8,
    /// All flows that may be used.
    pub flows: FlowSpace,
    /// Connections (N), at most as many as there are flows.
>>>>>>> refs/heads/plane
    pub connections: u64,
    /// Seed of the pseudo-random order.
    pub seed: u64,
}

<<<<<<< HEAD
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
=======
/// Why there is no such view.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ViewError {
    /// A frame of this size cannot be sent.
    #[error("a frame of {0} octets was asked for; IPv4 test frames have 64 to 9216, FCS included")]
    Size(usize),
    /// The frames would die on the way.
    #[error("a TTL of {0} does not survive one router: give at least 2 (RFC 2544 has 10)")]
    Ttl(u8),
    /// More connections than flows, or none.
    #[error(transparent)]
    Flows(#[from] FlowError),
}

/// Offset of the UDP payload, where the tag's magic stands in every frame of an IPv4 view.
const MAGIC_AT: usize = Template::TAG_AT;

/// A plain IPv4 router: stateless, both directions free to start, addresses and ports come out as they went in.
///
/// # Errors
/// When the shape makes no sense.
pub fn forwarding(shape: &Shape) -> Result<View, ViewError> {
    use Source::{InsideAddr, InsidePort, RemoteAddr, RemotePort};
    let inside = (InsideAddr, InsidePort);
    let remote = (RemoteAddr, RemotePort);
    check(shape)?;
    let left = shape.frame(shape.left, inside, remote);
    let right = shape.frame(shape.right, remote, inside);
    let expect_right = expect(&left, inside, remote, None);
    let expect_left = expect(&right, remote, inside, None);
    Ok(shape.view(left, right, expect_right, expect_left, false))
}

/// A stateful NAT44 (RFC 9693): the Initiator opens every connection, the Responder learns the outside address and port
/// of each, which must lie in `outer`, and answers there.
///
/// # Errors
/// When the shape makes no sense.
pub fn nat44(shape: &Shape, outer: OuterRange) -> Result<View, ViewError> {
    use Source::{InsideAddr, InsidePort, OuterAddr, OuterPort, RemoteAddr, RemotePort};
    let inside = (InsideAddr, InsidePort);
    let remote = (RemoteAddr, RemotePort);
    let outside = (OuterAddr, OuterPort);
    check(shape)?;
    let left = shape.frame(shape.left, inside, remote);
    let right = shape.frame(shape.right, remote, outside);
    let expect_right = expect(&left, outside, remote, Some(outer));
    let expect_left = expect(&right, remote, inside, None);
    Ok(shape.view(left, right, expect_right, expect_left, true))
}

type End = (Source, Source);

fn expect(sent: &Template, from: End, to: End, outer: Option<OuterRange>) -> Expect {
    Expect::udp_v4(sent, from.0, from.1, to.0, to.1, outer)
}

fn check(shape: &Shape) -> Result<(), ViewError> {
    if !(64..=9216).contains(&shape.size) {
        return Err(ViewError::Size(shape.size));
    }
    if shape.ttl < 2 {
        return Err(ViewError::Ttl(shape.ttl));
    }
    if shape.connections == 0 || shape.connections > shape.flows.size() {
        return Err(FlowError::TooFew { wanted: shape.connections, have: shape.flows.size() }.into());
    }
    Ok(())
}

impl Shape {
    fn frame(&self, link: Link, from: End, to: End) -> Template {
        Template::udp_v4(&UdpFrame {
            to: link.dut,
            from: link.tester,
            size: self.size,
            ttl: self.ttl,
            src: from.0,
            src_port: from.1,
            dst: to.0,
            dst_port: to.1,
        })
    }

    fn view(&self, left: Template, right: Template, expect_right: Expect, expect_left: Expect, stateful: bool) -> View {
        View {
            flows: self.flows.clone(),
            order: Permutation::new(self.connections, self.seed),
            left,
            right,
            expect_right,
            expect_left,
            stateful,
            magic_at: vec![MAGIC_AT],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::{AddrRange, PortRange};

    fn shape() -> Shape {
        let link = |k| Link { tester: Mac([2, 0, 0, 0, k, 2]), dut: Mac([2, 0, 0, 0, k, 1]) };
        let ports = |n: u16| PortRange { first: 1024, last: 1023 + n };
        let (inside, remote) = (AddrRange::one([198, 18, 0, 2].into()), AddrRange::one([198, 19, 0, 2].into()));
        let flows = FlowSpace::new(inside, ports(100), remote, ports(10)).unwrap();
        Shape { left: link(0), right: link(1), size: 64, ttl: 10, flows, connections: 1000, seed: 1 }
    }

    #[test]
    fn views_name_the_sources_of_their_fields() {
        let v = forwarding(&shape()).unwrap();
        assert!(!v.stateful && !v.left.needs_outer() && !v.right.needs_outer() && !v.expect_left.needs_outer());
        let outer =
            OuterRange { addrs: AddrRange::one([198, 19, 0, 1].into()), ports: PortRange { first: 1, last: 9 } };
        let v = nat44(&shape(), outer).unwrap();
        assert!(v.stateful && !v.left.needs_outer() && v.right.needs_outer() && v.expect_right.needs_outer());
        assert_eq!((v.connections(), v.magic_at), (1000, vec![42]));
        assert_eq!((&v.left.bytes()[..6], &v.right.bytes()[..6]), (&[2, 0, 0, 0, 0, 1][..], &[2, 0, 0, 0, 1, 1][..]));
    }

    #[test]
    fn what_makes_no_sense_is_refused_with_the_way_out() {
        let with = |f: fn(&mut Shape)| {
            let mut s = shape();
            f(&mut s);
            forwarding(&s).unwrap_err()
        };
        assert_eq!(with(|s| s.size = 63), ViewError::Size(63));
        assert_eq!(with(|s| s.ttl = 1), ViewError::Ttl(1));
        assert!(with(|s| s.connections = 1001).to_string().contains("widen a range"));
        assert!(matches!(with(|s| s.connections = 0), ViewError::Flows(_)));
    }
>>>>>>> refs/heads/plane
}
