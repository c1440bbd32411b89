//! RFC 6040, ECN in tunnels, in packets of the fast path and of the slow one.

use crate::tunnel::end::*;
use crate::tunnel::packets::*;
use plane::tunnel::config::Ecn;

fn both() -> [Vec<u8>; 2] {
    [udp((CUSTOMER, 5000), (REMOTE, 80), b"hello"), ping(CUSTOMER, REMOTE, 7)]
}

/// Section 4.1.
#[test]
fn normal_mode_copies_and_compatibility_mode_hides() {
    for (mode, keep) in [(Ecn::Normal, 3), (Ecn::Compatibility, 0)] {
        let mut end = End::b4(|c| c.outer.ecn = mode);
        for p in both() {
            for field in 0..4 {
                let f = end.enter(&with(p.clone(), |p| p[1] = 0x28 | field));
                assert_eq!((f[14] << 4 | f[15] >> 4, f[55]), (0x28 | field & keep, 0x28 | field));
            }
        }
    }
}

/// Section 4.2, figure 4.
#[test]
fn figure_4_on_the_way_out() {
    let mut end = End::b4(|_| {});
    for p in both() {
        for (inner, row) in [(0u8, [0, 0, 0, 9]), (2, [2, 2, 1, 3]), (1, [1, 1, 1, 3]), (3, [3, 3, 3, 3])] {
            for (outer, want) in [0u8, 2, 1, 3].into_iter().zip(row) {
                let mut f = wrapped(PE, B4, &with(p.clone(), |p| p[1] = inner));
                f[15] |= outer << 4;
                if want == 9 {
                    end.dropped(true, &f, "ecn-not-capable");
                } else {
                    assert_eq!(end.leave(&f)[1], want, "inner {inner}, outer {outer}");
                }
            }
        }
    }
}
