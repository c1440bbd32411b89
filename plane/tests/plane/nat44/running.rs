//! A running NAT: visible state, and configuration that can change without losing it.

use crate::nat44::gateway::*;
use crate::nat44::packets::*;
use plane::Function;
use plane::Side::{Customer, Internet};
use plane::nat44::Nat44;
use plane::nat44::config::Config;
use std::time::Duration;

fn adopt(g: &mut Gateway, change: impl FnOnce(&mut Config)) -> Result<(), String> {
    let mut c = config();
    change(&mut c);
    // No table of its own is needed to become another's configuration.
    (c.sessions, c.sketch) = (1, true);
    g.workers[0].adopt(&mut Nat44::new(c, 0, 1, 42).unwrap())
}

#[test]
fn sessions_can_be_listed() {
    let mut g = gateway(config());
    let outside = g.map((A, 5000), (REMOTE, 80));
    g.map((A, 5001), (OTHER, 53));
    g.wait(10);
    let all = g.workers[0].sessions(g.now, 0..10);
    assert_eq!(all.len(), 2);
    let first = all.iter().find(|e| e.inside.port() == 5000).unwrap();
    assert_eq!((first.protocol, first.inside, first.remote), (17, (A, 5000).into(), (REMOTE, 80).into()));
    assert_eq!(first.outside, outside.into());
    assert!((9..=11).contains(&first.idle.as_secs()));
    assert_eq!(g.workers[0].places(), 2);
    assert_eq!(g.workers[0].sessions(g.now, 1..2).len(), 1, "no more places than asked for");
    g.wait(3600);
    assert!(g.workers[0].sessions(g.now, 0..10).is_empty(), "what has timed out is not shown");
}

/// The ports of a large pool are gigabytes; a configuration has none.
#[test]
fn a_sketch_takes_no_memory_for_its_pool_and_opens_nothing() {
    use plane::nat44::config::Blocks;
    let pool = vec![wire::AddrRange { first: [198, 18, 0, 0].into(), count: 65_536 }];
    for blocks in [None, Some(Blocks { size: 64, per_subscriber: 1 })] {
        let whole = Config { pool: pool.clone(), sessions: 1, blocks, ..config() };
        let sketch = Config { sketch: true, ..whole.clone() };
        let [large, small] = [whole, sketch.clone()].map(|c| Nat44::bytes_for(&c, 1));
        assert!(large > 4 << 30 && small < 1 << 20, "{large}, {small}");
        let mut g = gateway(sketch);
        g.send(Customer, &udp((A, 5000), (REMOTE, 80)));
        assert_eq!(g.entries(), (0, 0));
    }
}

#[test]
fn timeouts_and_links_change_without_losing_state() {
    let mut g = gateway(config());
    let outside = g.map((A, 5000), (REMOTE, 80));
    adopt(&mut g, |c| {
        c.timeouts.udp = Duration::from_secs(1000);
        c.internet.mtu = 1300;
    })
    .unwrap();
    g.wait(900);
    assert_eq!(judge(&g.back(&udp((REMOTE, 80), outside))).to, (A, 5000), "lives by the new timeout");
    assert_eq!(g.map((A, 5000), (REMOTE, 80)), outside, "the same mapping");
    assert_eq!(g.workers[0].entries(), Some((1, 1)));
    g.wait(1100);
    g.dropped(Internet, &udp((REMOTE, 80), outside), "no-session");
}

#[test]
fn what_tables_were_made_from_cannot_change() {
    let mut g = gateway(config());
    let outside = g.map((A, 5000), (REMOTE, 80));
    let error = adopt(&mut g, |c| c.ports.first = 2000).unwrap_err();
    assert!(error.starts_with("pool-ports:"), "{error}");
    assert!(adopt(&mut g, |c| c.pool[0].count = 2).unwrap_err().starts_with("pool:"));
    assert_eq!(g.map((A, 5000), (REMOTE, 80)), outside, "and nothing has changed");
}
