//! RFC 6888 where an AFTR's subscribers are softwires; `stateful` has their quotas.

use crate::aftr::set_up::*;
use testbed::prelude::*;

#[test]
fn port_blocks_are_the_softwires() {
    let mut c = config();
    c.nat.pool[0].count = 4;
    c.nat.blocks = Some(plane::nat44::config::Blocks { size: 64, per_subscriber: 2 });
    let mut g = aftr(&c);
    let mut seen = Vec::new();
    for p in 0..20 {
        seen.push(map(&mut g, b4(1), (HOST, 5000 + p)));
        seen.push(map(&mut g, b4(1), (ip("192.168.1.11"), 7000 + p)));
    }
    let blocks: std::collections::HashSet<_> = seen.iter().map(|(a, p)| (*a, p / 64)).collect();
    assert_eq!((blocks.len(), g.count("nat44.block-allocated")), (1, 1), "one address and one block for both hosts");
    map(&mut g, b4(2), (HOST, 5000));
    assert_eq!(g.count("nat44.block-allocated"), 2);
}
