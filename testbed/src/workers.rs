//! What several workers of a NAT between IPv6 customers and the Internet are held to, whichever NAT it is.

use crate::packets::{At, udp_with};
use crate::{Bed, fragments::fragments, fragments::reassemble, judge::judge};
use plane::{Function, Side};
use std::net::IpAddr;

/// The fragments of a datagram meet wherever they arrive and in either order, in both directions. `to` is the remote end as
/// customers write it, `remote` as the Internet does.
pub fn fragments_meet<F: Function>(gateway: impl Fn() -> Bed<F>, customer: impl Fn(u32) -> IpAddr, to: At, remote: At) {
    for misled in [false, true] {
        let mut g = gateway();
        g.misled = misled;
        let mut send = |from, frame: &[u8], id: u32, reverse: bool| {
            let mut parts = fragments(frame, &[48], id);
            if reverse {
                parts.reverse();
            }
            let out: Vec<_> = parts.iter().flat_map(|p| g.send(from, p)).map(|o| o.1).collect();
            assert_eq!(out.len(), 2, "customer {id}; counters {:?}", g.nonzero());
            judge(&reassemble(&out))
        };
        for i in 1..30 {
            let whole = udp_with((customer(i), 5000), to, 64, &[7; 100]);
            let outside = send(Side::Customer, &whole, i, i % 2 == 0).from;
            let answer = udp_with(remote, outside, 64, &[7; 100]);
            assert_eq!(send(Side::Internet, &answer, i, i % 3 == 0).to, (customer(i), 5000));
        }
        assert!(g.crossings > 10);
    }
}
