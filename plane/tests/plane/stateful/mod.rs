//! What all stateful functions are held to: each case runs over each function that it concerns, whose name is that of the test.

mod fragments;
mod functions;
mod hairpin;
mod hostile;
mod icmp;
mod pending_syn;
mod pooling;
mod sessions;
mod static_mappings;
mod tcp;
mod workers;

use plane::nat44::config::Config;
use plane::{Function, Side, Steering};
use std::fmt::Debug;
use std::net::IpAddr;
use std::str::FromStr;
use testbed::prelude::*;

/// A stateful function, and the addresses around it.
pub(super) trait Stateful: Function + Sized + 'static {
    const VERSIONS: [u8; 2];
    const STEERING: [Steering; 2];
    /// What the names of its NAT's counters begin with.
    const NAT: &'static str;
    /// Hops from customers to the Internet, and between customers.
    const HOPS: [u8; 2] = [1, 1];
    /// The gateway's own addresses at both sides.
    const OWN: [IpAddr; 2];
    const A: IpAddr;
    const B: IpAddr;
    /// A router of the customers'.
    const ROUTER: IpAddr;
    const POOL: IpAddr;
    const REMOTE: IpAddr;
    const OTHER: IpAddr;
    /// Types and codes of ICMP errors from the Internet, and what customers get.
    const ERRORS_IN: &'static [[(u8, u8); 2]];
    /// Types and codes of ICMP errors of customers, and what the Internet gets.
    const ERRORS_OUT: &'static [[(u8, u8); 2]];

    fn worker(setup: &Setup, worker: usize) -> Result<Self, String>;

    /// The workers behind their steering, with a judge of every frame that leaves.
    fn bed(workers: Vec<Self>) -> Bed<Self> {
        Bed::readdressing(workers, Self::STEERING, Self::VERSIONS)
    }

    /// One of many customers.
    fn customer(i: u32) -> IpAddr;

    /// A host of one of many subscribers.
    fn host(_subscriber: u16, i: u8) -> IpAddr {
        Self::customer(i.into())
    }

    /// A customer as static mappings write it.
    fn written(host: IpAddr) -> String {
        if host.is_ipv6() { format!("[{host}]") } else { host.to_string() }
    }

    /// The address by which customers know one of the Internet.
    fn known(host: IpAddr) -> IpAddr {
        host
    }

    /// Whether what waits keeps its limits.
    fn is_bounded(&self) -> bool {
        true
    }

    /// Customers that have a number.
    fn numbered(&self) -> Option<u32> {
        None
    }
}

/// Stands for all ports.
const WHOLE: u16 = 0;

/// Protocol, outside port, and the end point inside.
type Static = (&'static str, u16, At);

/// What a case changes of a function.
#[derive(Clone, Copy)]
pub(super) struct Setup<'a> {
    pub nat: &'a dyn Fn(&mut Config),
    pub workers: usize,
    /// Length of a subscriber's prefix.
    pub prefix: Option<u8>,
    pub statics: &'a [Static],
}

impl Setup<'_> {
    /// The static mappings as a function reads them.
    fn statics<N: Stateful, M: FromStr<Err: Debug>>(&self) -> Vec<M> {
        let text = |&(protocol, outside, (host, port)): &Static| {
            let [outside, port] =
                [outside, port].map(|p| if p == WHOLE { "1-65535".to_owned() } else { p.to_string() });
            format!("{protocol} {}:{outside} -> {}:{port}", N::POOL, N::written(host))
        };
        self.statics.iter().map(|mapping| text(mapping).parse().unwrap()).collect()
    }
}

/// Endpoint-independent mapping, and a separate mapping for each connection.
const MAPPINGS: [&dyn Fn(&mut Config); 2] = [&|_| {}, &|c| *c = c.clone().per_connection()];

const USUAL: Setup = Setup { nat: &|_| {}, workers: 1, prefix: None, statics: &[] };

fn bed<N: Stateful>(setup: &Setup) -> Bed<N> {
    N::bed((0..setup.workers).map(|w| N::worker(setup, w).unwrap()).collect())
}

fn with<N: Stateful>(nat: &dyn Fn(&mut Config)) -> Bed<N> {
    bed(&Setup { nat, ..USUAL })
}

/// One worker, and several to which links steer as they should, or wrongly.
fn with_workers<N: Stateful>(setup: Setup) -> impl Iterator<Item = Bed<N>> {
    [(1, false), (2, false), (2, true), (3, true), (4, false)].into_iter().map(move |(workers, misled)| {
        let mut g = bed(&Setup { workers, ..setup });
        g.misled = misled;
        g
    })
}

fn beds<N: Stateful>() -> impl Iterator<Item = Bed<N>> {
    with_workers(USUAL)
}

/// A host of the Internet, as customers write it.
fn known<N: Stateful>((host, port): At) -> At {
    (N::known(host), port)
}

#[track_caller]
fn map<N: Stateful>(g: &mut Bed<N>, from: At, to: At) -> At {
    g.map(from, known::<N>(to))
}

#[track_caller]
fn open<N: Stateful>(g: &mut Bed<N>, from: At, to: At) -> At {
    let outside = g.seen_out(&tcp(from, known::<N>(to), "S")).from;
    assert_eq!(g.seen_back(&tcp(to, outside, "SA")).to, from);
    assert_eq!(g.seen_out(&tcp(from, known::<N>(to), "A")).from, outside);
    outside
}

#[track_caller]
fn dropped<N: Stateful>(g: &mut Bed<N>, from: Side, frame: &[u8], why: &str) {
    g.dropped(from, frame, &[N::NAT, why].concat());
}

#[track_caller]
fn refused<N: Stateful>(g: &mut Bed<N>, from: Side, frame: &[u8], why: &str) -> Vec<u8> {
    g.refused(from, frame, &[N::NAT, why].concat())
}

fn count<N: Stateful>(g: &Bed<N>, name: &str) -> u64 {
    g.count(&[N::NAT, name].concat())
}

/// Type and code in the version of an address: of IPv6, or of IPv4.
fn kind(to: IpAddr, six: (u8, u8), four: (u8, u8)) -> (u8, u8) {
    if to.is_ipv6() { six } else { four }
}

fn port_unreachable(to: IpAddr) -> (u8, u8) {
    kind(to, (1, 4), (3, 3))
}

/// Sends parts in this order; all must come out at the other side. What they make together.
#[track_caller]
fn joined<N: Stateful>(g: &mut Bed<N>, from: Side, to: Side, parts: &[Vec<u8>], order: &[usize]) -> Vec<Vec<u8>> {
    let out: Vec<_> = order.iter().filter(|&&i| i < parts.len()).flat_map(|&i| g.send(from, &parts[i])).collect();
    assert!(out.len() == parts.len() && out.iter().all(|o| o.0 == to), "{order:?}: {:?}", g.nonzero());
    out.into_iter().map(|o| o.1).collect()
}

/// Makes a test of each case and each function.
macro_rules! each {
    ($($case:ident: $($function:ident)+;)+) => {$(
        mod $case {
            $(#[test] fn $function() { super::$case::<$crate::stateful::functions::$function>(); })+
        }
    )+};
}
use each;
