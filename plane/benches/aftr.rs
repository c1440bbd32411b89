//! CPU time (of the thread, not of the wall) of an AFTR for a frame, the plane alone: frames of 104 octets (64 inside the
//! tunnel) in random order, in groups that lie in the L2 cache as if a port had just received them.
//!
//! `cargo bench -p natmeter-plane --bench aftr -- [--only N] [--customers N] [--runs N] [--frames N] [--eim]`

#[path = "pair/mod.rs"]
mod pair;
#[path = "timing/mod.rs"]
mod timing;

use pair::{inside, side4, side6};
use plane::aftr::{Aftr, Config};
use testbed::packets::{raw, udp_with};
use timing::PAYLOAD;

/// A tunnel packet of a customer, all of whom have the address 192.168.1.2.
fn frame(flow: pair::Flow) -> Vec<u8> {
    let packet = udp_with(([192, 168, 1, 2], flow.port), ([198, 19, 0, 2], flow.remote_port), 64, &PAYLOAD);
    raw(inside(flow.customer), side6().address, 64, 4, &packet[14..])
}

fn aftr(n: u64, customers: u64, eim: bool) -> Aftr {
    let mut c = Config::new(side6(), side4(), pair::pool(n, eim));
    if !eim {
        c.nat = c.nat.per_connection();
    }
    (c.nat.sessions, c.customers) = (n, customers);
    println!("{:.1} bytes a session", Aftr::bytes_for(&c, 1) as f64 / n as f64);
    Aftr::new(c, 0, 1, 1).unwrap()
}

fn main() {
    let options = pair::Options::read();
    for (n, customers) in options.sizes() {
        let f = aftr(n, customers, options.eim);
        pair::measure("AFTR", f, n, customers, &options, pair::to_ipv4(frame));
    }
}
