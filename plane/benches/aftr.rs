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

/// A tunnel packet of a customer, all of whom have the address 192.168.1.2.
fn frame(flow: pair::Flow) -> Vec<u8> {
    let mut b = vec![0u8; 100];
    pair::ethernet(&mut b, side6().mac, side6().next_hop, 0x86dd);
    b[14] = 0x60;
    b[19] = 46;
    b[20..22].copy_from_slice(&[4, 64]);
    b[22..38].copy_from_slice(&inside(flow.customer).octets());
    b[38..54].copy_from_slice(&side6().address.octets());
    pair::ipv4(&mut b, 54, [192, 168, 1, 2], [198, 19, 0, 2]);
    pair::udp(&mut b, 74, 66, 70, flow);
    b
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
