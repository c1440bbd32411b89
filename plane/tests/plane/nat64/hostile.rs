//! Any bytes on either side: no panic, nothing wrong comes out, bounded state, and translation is reversed on the way
//! back.

use crate::nat64::set_up::*;
use plane::Function;
use plane::Side::{Customer, Internet};
use proptest::prelude::*;
use std::net::Ipv6Addr;
use testbed::prelude::*;
use testbed::{Frame, Made};

/// A good packet with some octets changed, and cut off or lengthened.
fn damaged(mut f: Vec<u8>, changes: &[(usize, u8)], len: usize) -> Vec<u8> {
    for &(at, v) in changes {
        let n = f.len();
        f[at % n] = v;
    }
    f.resize(len.min(f.len() + 8), 0);
    f
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_do_no_harm(
        kind in 0usize..8,
        changes in proptest::collection::vec((14usize..120, any::<u8>()), 0..4),
        len in 0usize..200,
        workers in 1usize..3,
    ) {
        let mut g = with_workers(&config(), workers);
        let outside = map(&mut g, (A, 5000), (REMOTE, 80));
        let (six, four) = (udp((A, 5000), (x(REMOTE), 80)), udp((REMOTE, 80), outside));
        let frame = match kind {
            0 => six,
            1 => four,
            2 => tcp((A, 5000), (x(REMOTE), 80), "S"),
            3 => echo(A, x(REMOTE), 1, true),
            4 => fragments(&six, &[8], 1)[changes.len() % 2].clone(),
            5 => fragments(&four, &[8], 1)[changes.len() % 2].clone(),
            6 => { let b = g.back(&four); error(A, x(REMOTE), 1, 4, &b, 100) }
            _ => { let o = g.out(&six); error(REMOTE, POOL, 3, 3, &o, 100) }
        };
        let from = if matches!(kind, 1 | 5 | 7) { Internet } else { Customer };
        let frame = damaged(frame, &changes, len);
        // A changed payload may leave a wrong transport checksum wrong: only that nothing panics is asked here.
        let now = g.now;
        for w in &mut g.workers {
            unjudged(w, now, from, &frame);
        }
        prop_assert!(g.entries().0 <= 4);
    }

    #[test]
    fn what_goes_out_and_comes_back_is_the_same(
        host in 1u64..1 << 48,
        port in 1u16..,
        remote_port in 1u16..,
        payload in proptest::collection::vec(any::<u8>(), 0..64),
    ) {
        let mut g = nat64(&config());
        let customer = Ipv6Addr::from_bits(0x2001_0db8_0003u128 << 80 | u128::from(host)).into();
        let out = g.out(&udp_with((customer, port), (x(REMOTE), remote_port), 64, &payload));
        let seen = judge(&out);
        prop_assert_eq!(&out[42..42 + payload.len()], &payload[..]);
        let back = g.back(&udp_with(seen.to, seen.from, 64, &payload));
        let there = judge(&back);
        prop_assert_eq!((there.from, there.to), ((x(REMOTE), remote_port), (customer, port)));
        prop_assert_eq!(&back[62..62 + payload.len()], &payload[..]);
    }
}

/// Let one worker have a frame, whatever comes of it.
fn unjudged(w: &mut plane::nat64::Nat64, now: u64, from: plane::Side, frame: &[u8]) {
    let mut verdicts = [plane::Verdict::Drop];
    w.process(now, from, &mut [Frame::new(frame)], &mut verdicts, &mut Made::new(1000, 65_535));
}
