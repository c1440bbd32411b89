//! CPU time (of the thread, not of the wall) of NAT64 for a frame, the plane alone: frames of 84 octets (64 over IPv4) in
//! random order, in groups that lie in the L2 cache as if a port had just received them. Also the cost of a pair of
//! functions above that of its halves.
//!
//! `cargo bench -p natmeter-plane --bench nat64 -- [--only N] [--customers N] [--runs N] [--frames N] [--eim]`

#[path = "pair/mod.rs"]
mod pair;
#[path = "timing/mod.rs"]
mod timing;

use pair::{Bench, inside, side4, side6};
use plane::nat64::{Config, Nat64};
use plane::router::{Hop, Router};
use plane::{Chain, Function, Input, NoSpare, Side};
use testbed::packets::udp_with;
use timing::PAYLOAD;
use wire::Prefix6;

/// An IPv6 UDP frame of a customer, to 198.19.0.2 behind 2001:2:64::/96.
fn frame(flow: pair::Flow) -> Vec<u8> {
    udp_with((inside(flow.customer), flow.port), ("2001:2:64::198.19.0.2", flow.remote_port), 64, &PAYLOAD)
}

fn nat64(n: u64, customers: u64, eim: bool) -> Nat64 {
    let pref64 = Prefix6 { addr: "2001:2:64::".parse().unwrap(), len: 96 };
    let mut c = Config::new(side6(), side4(), pref64, pair::pool(n, eim));
    if !eim {
        c.nat = c.nat.per_connection();
    }
    (c.nat.sessions, c.customers) = (n, customers);
    println!("{:.1} bytes a session", Nat64::bytes_for(&c, 1) as f64 / n as f64);
    Nat64::new(c, 0, 1, 1).unwrap()
}

/// What a pair costs above two routers in a row.
fn overhead() {
    let hop = |own, next| Hop { own, next };
    let (near, far) = (plane::chain::CUSTOMER_HALF, plane::chain::INTERNET_HALF);
    let customer = || Router::new(hop(side6().mac, side6().next_hop), hop(near, far));
    let internet = || Router::new(hop(far, near), hop(side4().mac, side4().next_hop));
    let mut alone = [customer(), internet()];
    let mut chained = Chain::new(("a", customer()), ("b", internet()), 1, 1);
    let four = |f: pair::Flow| pair::reply(f, [198, 19, 0, 1], f.port);
    let mut results = [Vec::new(), Vec::new()];
    for _ in 0..9 {
        let mut b = Bench::new(1000, 1000);
        let one = b.run(
            Side::Customer,
            2_000_000,
            |f, _| four(f),
            |now, batch, v| {
                for r in &mut alone {
                    r.process(Input::new(now, Side::Customer, batch, v), &mut NoSpare);
                }
            },
        );
        let both = b.run(
            Side::Customer,
            2_000_000,
            |f, _| four(f),
            |now, batch, v| {
                chained.process(Input::new(now, Side::Customer, batch, v), &mut NoSpare);
            },
        );
        results[0].push(one);
        results[1].push(both);
    }
    println!("two routers by hand {}   as a pair {}", timing::spread(&results[0]), timing::spread(&results[1]));
}

fn main() {
    let options = pair::Options::read();
    overhead();
    for (n, customers) in options.sizes() {
        let f = nat64(n, customers, options.eim);
        pair::measure("NAT64", f, n, customers, &options, pair::to_ipv4(frame));
    }
}
