//! Unsolicited SYNs from the Internet (RFC 5382, REQ-4) with data.

use crate::natxy::bench::*;
use plane::Side::Internet;
use testbed::prelude::*;

/// Data may come with a SYN (RFC 7413): the answer quotes what fits.
#[test]
fn a_large_syn_is_quoted_as_far_as_an_error_may_be() {
    let mut g = nat66(&config());
    let mut large = tcp((REMOTE, 80), (POOL, 5000), "S");
    large.resize(14 + 1500, 0x77);
    large[18..20].copy_from_slice(&1460u16.to_be_bytes());
    g.dropped(Internet, &large, "syn-held");
    g.wait(6);
    let out = g.send_all(Internet, &[]);
    assert_eq!((out.len(), out[0].1.len(), &out[0].1[62..]), (1, 14 + 1280, &large[14..][..1232]));
}
