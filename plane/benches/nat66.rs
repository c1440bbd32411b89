//! CPU time (of the thread, not of the wall) of NAT66 for a frame, and of NAT46 beside it, the plane alone: frames of 84
//! octets (64 over IPv4) in random order, a thousand remote addresses, in groups that lie in the L2 cache as if a port had
//! just received them.
//!
//! `cargo bench -p natmeter-plane --bench nat66 -- [--only N] [--customers N] [--runs N] [--frames N] [--eim]`

#[path = "pair/mod.rs"]
mod pair;
#[path = "timing/mod.rs"]
mod timing;

use pair::{Flow, Frames, inside, side4, side6};
use plane::nat46::{self, Nat46};
use plane::nat66::{self, Nat66};
use plane::{Pool6, Side6};
use std::net::Ipv6Addr;
use testbed::packets::udp_with;
use timing::PAYLOAD;
use wire::Prefix6;

/// Where remote hosts are: 2001:2:0:1000::/96 with an IPv4 address behind, and 2001:2:0:200::/116 outside.
const REMOTES: u128 = 0x2001_0002_0000_1000 << 64;
const OUTSIDE: u128 = 0x2001_0002_0000_0200 << 64;

/// The IPv4 address of a flow's remote host: one of a thousand, as its port is.
fn remote(flow: Flow) -> [u8; 4] {
    let [a, b] = flow.remote_port.to_be_bytes();
    [198, 19, a, b]
}

/// The Internet's side, with other Ethernet addresses than the customers'.
fn internet() -> Side6 {
    Side6 {
        address: Ipv6Addr::new(0x2001, 2, 0, 0xfffe, 0, 0, 0, 1),
        mac: side4().mac,
        next_hop: side4().next_hop,
        ..side6()
    }
}

fn far(flow: Flow) -> Ipv6Addr {
    Ipv6Addr::from_bits(REMOTES | u128::from(u32::from_be_bytes(remote(flow))))
}

/// From a customer with IPv6.
fn out66(flow: Flow) -> Vec<u8> {
    udp_with((inside(flow.customer), flow.port), (far(flow), flow.remote_port), 64, &PAYLOAD)
}

/// From a customer with IPv4: 10.0.0.2 and its neighbours.
fn out46(flow: Flow) -> Vec<u8> {
    let customer = ((10 << 24) + 2 + flow.customer).to_be_bytes();
    udp_with((customer, flow.port), (remote(flow), flow.remote_port), 64, &PAYLOAD)
}

/// The answer from the Internet to an outside address that ends with these octets.
fn back(flow: Flow, address: [u8; 4], port: u16) -> Vec<u8> {
    let outside = Ipv6Addr::from_bits(OUTSIDE | u128::from(u32::from_be_bytes(address)));
    udp_with((far(flow), flow.remote_port), (outside, port), 64, &PAYLOAD)
}

/// Outside addresses as many as [`pair::pool`] has, at least.
fn pool(sessions: u64, eim: bool) -> Pool6 {
    let count = pair::pool(sessions, eim)[0].count.next_power_of_two();
    let addr = Ipv6Addr::from_bits(OUTSIDE);
    Pool6::new(Prefix6 { addr, len: 128 - count.trailing_zeros() as u8 }).unwrap()
}

fn nat66(n: u64, customers: u64, eim: bool) -> Nat66 {
    let mut c = nat66::Config::new(side6(), internet(), pool(n, eim));
    if !eim {
        c.nat = c.nat.per_connection();
    }
    (c.nat.sessions, c.customers, c.remotes) = (n, customers, 2000);
    println!("{:.1} bytes a session", Nat66::bytes_for(&c, 1) as f64 / n as f64);
    Nat66::new(c, 0, 1, 1).unwrap()
}

fn nat46(n: u64, eim: bool) -> Nat46 {
    let inside = vec![wire::Prefix4 { addr: [10, 0, 0, 0].into(), len: 8 }];
    let customer = plane::Side4 { mac: side6().mac, next_hop: side6().next_hop, ..side4() };
    let mut c = nat46::Config::new(customer, internet(), inside, pool(n, eim));
    c.pref64 = Some(Prefix6 { addr: Ipv6Addr::from_bits(REMOTES), len: 96 });
    if !eim {
        c.nat = c.nat.per_connection();
    }
    c.nat.sessions = n;
    c.build(0, 1, 1).unwrap()
}

fn main() {
    let options = pair::Options::read();
    // The outside address and port stand at the same place, whatever the customer speaks.
    let frames = |out| Frames { out, outside: |b| ([b[34], b[35], b[36], b[37]], [b[54], b[55]]), back };
    for (n, customers) in options.sizes() {
        pair::measure("NAT66", nat66(n, customers, options.eim), n, customers, &options, frames(out66));
        pair::measure("NAT46", nat46(n, options.eim), n, customers, &options, frames(out46));
    }
}
