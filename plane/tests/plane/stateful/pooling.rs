//! RFC 4787, REQ-2: which of several outside addresses.

use super::{Stateful, each, known, with};
use plane::Side::{Customer, Internet};
use plane::nat44::config::Pooling;
use std::collections::HashSet;
use testbed::prelude::*;
use wire::PortRange;

each! {
    a_new_customer_gets_an_address_with_room: nat44 nat64;
    a_mapping_gets_an_address_with_room: nat44 nat64 ds_lite;
}

fn every_port_is_used<N: Stateful>(pooling: Pooling) {
    let mut g = with::<N>(&|c| {
        c.pooling = pooling;
        c.pool[0].count = 3;
        c.ports = PortRange { first: 2000, last: 2009 };
    });
    let mut ends = HashSet::new();
    for i in 0..30 {
        // Without moving, all would have one address.
        let out = g.send(Customer, &udp((N::customer(3 * i), 5000), known::<N>((N::REMOTE, 80))));
        assert_eq!((out.len(), out[0].0), (1, Internet), "customer {i}: {:?}", g.nonzero());
        assert!(ends.insert(judge(&out[0].1).from));
    }
    let addresses: HashSet<_> = ends.iter().map(|end| end.0).collect();
    assert_eq!((ends.len(), addresses.len()), (30, 3));
}

fn a_new_customer_gets_an_address_with_room<N: Stateful>() {
    every_port_is_used::<N>(Pooling::Paired);
}

fn a_mapping_gets_an_address_with_room<N: Stateful>() {
    every_port_is_used::<N>(Pooling::Arbitrary);
}
