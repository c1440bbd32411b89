//! A NAT that runs: what can be seen of its state, and what of its configuration can be changed without losing it.

use crate::gateway::*;
use crate::packets::*;
use plane::Function;
use plane::Side::Internet;
use plane::nat44::Nat44;
use plane::nat44::config::Config;
use std::time::Duration;

fn adopt(g: &mut Gateway, change: impl FnOnce(&mut Config)) -> Result<(), String> {
    let mut c = config();
    change(&mut c);
    // A table of its own is not needed to become another's configuration.
    c.sessions = 1;
    g.workers[0].adopt(Nat44::new(c, 0, 1, 42).unwrap())
}

#[test]
fn sessions_can_be_listed() {
    let mut g = Gateway::new(config());
    let outside = g.map((A, 5000), (REMOTE, 80));
    g.map((A, 5001), (OTHER, 53));
    g.wait(10);
    let all = g.workers[0].sessions(g.now, 10);
    assert_eq!(all.len(), 2);
    let first = all.iter().find(|e| e.inside.port() == 5000).unwrap();
    assert_eq!((first.protocol, first.inside, first.remote), (17, (A, 5000).into(), (REMOTE, 80).into()));
    assert_eq!(first.outside, outside.into());
    assert!((9..=11).contains(&first.idle.as_secs()));
    assert_eq!(g.workers[0].sessions(g.now, 1).len(), 1, "no more than asked for");
    g.wait(3600);
    assert!(g.workers[0].sessions(g.now, 10).is_empty(), "what has timed out is not shown");
}

#[test]
fn timeouts_and_links_change_without_losing_state() {
    let mut g = Gateway::new(config());
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
    let mut g = Gateway::new(config());
    let outside = g.map((A, 5000), (REMOTE, 80));
    let error = adopt(&mut g, |c| c.ports.first = 2000).unwrap_err();
    assert!(error.starts_with("pool-ports:"), "{error}");
    assert!(adopt(&mut g, |c| c.pool[0].count = 2).unwrap_err().starts_with("pool:"));
    assert_eq!(g.map((A, 5000), (REMOTE, 80)), outside, "and nothing has changed");
}
