//! Several workers: packets reach the worker of their softwire.

use crate::aftr::set_up::*;
use plane::Side::{Customer, Internet};
use testbed::prelude::*;

#[test]
fn outer_and_inner_fragments_meet_wherever_they_arrive() {
    for misled in [false, true] {
        let mut g = with_workers(&config(), 3);
        g.misled = misled;
        for i in 1..30u32 {
            let whole = wrap(b4(i), &udp_with((HOST, 5000), (REMOTE, 80), 64, &[7; 400]));
            let mut parts = fragments(&whole, &[200], i);
            if i % 2 == 0 {
                parts.reverse();
            }
            let out: Vec<_> = parts.iter().flat_map(|p| g.send(Customer, p)).collect();
            assert_eq!(out.len(), 1);
            let outside = judge(&out[0].1).from;
            let mut parts = fragments(&udp_with((REMOTE, 80), outside, 64, &[7; 100]), &[48], i);
            if i % 3 == 0 {
                parts.reverse();
            }
            let back: Vec<_> = parts.iter().flat_map(|p| g.send(Internet, p)).map(|o| unwrap(&o.1)).collect();
            assert!(back.len() == 2 && back.iter().all(|b| b.1 == b4(i)));
        }
    }
}
