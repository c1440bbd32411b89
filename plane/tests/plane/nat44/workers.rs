//! Several workers: whatever arrives at the wrong one reaches the right one, and nothing loops.

use crate::nat44::gateway::*;
use crate::nat44::packets::*;
use plane::Side::Internet;

#[test]
fn a_mark_cannot_be_forged() {
    let mut g = with_workers(&config(), 2);
    let b = g.map((B, 6000), (REMOTE, 80));
    // A customer that pretends to be an outside address, with a group address as source.
    for first in [0x03, 0x01, 0xff] {
        let mut f = udp(([10, 0, 0, 9], 5000), b);
        f[26..30].copy_from_slice(&v4(POOL));
        f[6] = first;
        reseal(&mut f);
        g.dropped(plane::Side::Customer, &f, "not-inside");
    }
}

#[test]
fn later_fragments_without_a_first_end_quietly() {
    let mut g = with_workers(&config(), 4);
    let outside = g.map((A, 5000), (REMOTE, 80));
    for id in 0..40u16 {
        let parts = fragments_of(id, &udp_with((REMOTE, 80), outside, 64, &[1; 64]), &[32]);
        assert!(g.send(Internet, &parts[1]).is_empty());
    }
    g.wait(60);
    for _ in 0..2 {
        for w in 0..40u16 {
            g.send(Internet, &udp((REMOTE, 80), (POOL, 2000 + w * 64)));
        }
    }
    assert_eq!(g.count("fragment-late"), 40);
}
