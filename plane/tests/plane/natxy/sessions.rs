//! Sessions of a NAT66: who reaches whom, and for how long.

use crate::natxy::bench::*;
use plane::Function;
use plane::Side::Internet;
use plane::nat44::config::Filtering;
use testbed::prelude::*;

#[test]
fn address_dependent_filtering() {
    let mut g = nat66_with(|c| c.nat.filtering = Filtering::AddressDependent);
    let outside = g.map((A, 5000), (REMOTE, 80));
    g.dropped(Internet, &udp((OTHER, 80), outside), "filtered");
    assert_eq!(g.reached((REMOTE, 81), outside), (A, 5000));
    assert_eq!(g.workers[0].known(), [1, 1], "the filtered remote host has no number");
}

#[test]
fn several_outside_addresses_are_all_used() {
    let mut g = nat66_with(|c| c.pool = pool("2001:db8:2::/126"));
    let customers = (1..9u16).map(|i| ip(&format!("2001:db8:1::{i:x}")));
    let mut seen: Vec<_> = customers.map(|from| g.map((from, 5000), (REMOTE, 80)).0).collect();
    seen.sort();
    seen.dedup();
    assert_eq!(seen, ["2001:db8:2::", "2001:db8:2::1", "2001:db8:2::2", "2001:db8:2::3"].map(ip));
}

/// RFC 4787, REQ-5 and REQ-6.
#[test]
fn sessions_end_and_numbers_come_back() {
    let mut g = nat66(&config());
    let outside = g.map((A, 5000), (REMOTE, 80));
    g.idle(200);
    assert_eq!(g.workers[0].known(), [1, 1], "their session lives");
    g.idle(200);
    assert_eq!((g.entries(), g.workers[0].known()), ((0, 0), [0, 0]));
    g.dropped(Internet, &udp((REMOTE, 80), outside), "no-session");
}

/// A session that a remote host opened keeps the number of this host, although no customer ever sent to it.
#[test]
fn numbers_of_remote_hosts_live_as_long_as_their_sessions() {
    let mut g = nat66_with(|c| c.nat.inbound_refresh = true);
    let outside = g.map((A, 5000), (REMOTE, 80));
    for _ in 0..6 {
        assert_eq!(g.reached((OTHER, 9), outside), (A, 5000));
        g.idle(100);
    }
    assert_eq!((g.entries().0, g.workers[0].known()), (1, [1, 1]));
}

#[test]
fn sessions_are_shown_with_their_addresses() {
    let mut g = nat66(&config());
    let outside = g.map((A, 5000), (REMOTE, 80));
    let now = g.now;
    let all = g.workers[0].sessions(now, 0..10);
    assert_eq!(all.len(), 1);
    let shown = [all[0].inside, all[0].outside, all[0].remote].map(|s| (s.ip(), s.port()));
    assert_eq!(shown, [(A, 5000), outside, (REMOTE, 80)]);
}

#[test]
fn a_running_nat_takes_over_what_is_no_state() {
    let mut g = nat66(&config());
    let outside = g.map((A, 5000), (REMOTE, 80));
    let mut c = config();
    c.internet.mtu = 1300;
    c.customers = 16;
    g.workers[0].adopt(&mut plane::nat66::Nat66::new(c.clone(), 0, 1, 7).unwrap()).unwrap();
    assert_eq!((g.workers[0].config().internet.mtu, g.workers[0].config().customers), (1300, 256));
    assert_eq!(g.reached((REMOTE, 80), outside), (A, 5000));
    c.pool = pool("2001:db8:3::/128");
    let other = plane::nat66::Nat66::new(c, 0, 1, 7).unwrap();
    assert!(g.workers[0].can_adopt(&other).unwrap_err().contains("pool"));
}
