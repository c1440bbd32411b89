//! Several workers share the outside addresses and nothing else; `stateful` has the rest.

use crate::nat64::set_up::*;
use plane::Side::Customer;
use testbed::prelude::*;

#[test]
fn a_frame_from_outside_cannot_enter_in_the_middle() {
    let mut g = with_workers(&config(), 2);
    map(&mut g, (A, 5000), (REMOTE, 80));
    // An IPv4 packet of the first customer's number, with the addresses of the inner link.
    let mut f = udp((ip("10.0.0.1"), 5000), (REMOTE, 80));
    for first in [plane::chain::INTERNET_HALF.0, plane::chain::CUSTOMER_HALF.0, [3, 0, 0, 0, 0, 0], CUSTOMER_MAC] {
        f[..6].copy_from_slice(&first);
        f[6..12].copy_from_slice(&plane::chain::CUSTOMER_HALF.0);
        assert_eq!(g.send(Customer, &f), []);
    }
    assert_eq!(g.count("nat44.in2out"), 1);
}
