//! Whatever arrives: no panic, one verdict and reason, bounded state.

use crate::natxy::bench::*;
use plane::Side::{Customer, Internet};
use proptest::prelude::*;
use testbed::prelude::*;

fn some_frame() -> impl Strategy<Value = Vec<u8>> {
    let base = prop_oneof![
        Just(udp((A, 5000), (REMOTE, 80))),
        Just(udp((REMOTE, 80), (POOL, 5000))),
        Just(udp((A, 5000), (POOL, 5000))),
        Just(tcp((A, 5000), (REMOTE, 80), "S")),
        Just(echo(A, REMOTE, 5, true)),
        Just(error(REMOTE, POOL, 1, 3, &udp((POOL, 5000), (REMOTE, 80)), 200)),
        Just(fragments(&udp_with((A, 5000), (REMOTE, 80), 64, &[1; 64]), &[32], 9)[0].clone()),
        Just(fragments(&udp_with((A, 5000), (REMOTE, 80), 64, &[1; 64]), &[32], 9)[1].clone()),
    ];
    let changes = proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4);
    (base, changes, any::<prop::sample::Index>(), any::<bool>()).prop_map(|(mut f, changes, end, cut)| {
        for (at, value) in changes {
            let n = f.len();
            f[12 + at.index(n - 12)] = value;
        }
        if cut {
            f.truncate(12 + end.index(f.len() - 12));
        }
        f
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn damaged_frames(frames in proptest::collection::vec((some_frame(), any::<bool>()), 1..40), workers in 1..4usize) {
        let mut c = config();
        (c.customers, c.remotes, c.nat.sessions) = (4, 4, 8);
        let workers = (0..workers).map(|w| plane::nat66::Nat66::new(c.clone(), w, workers, 42).unwrap()).collect();
        // What was damaged before may leave damaged: no judge.
        let steering = [plane::nat66::Nat66::STEER_CUSTOMER, plane::nat66::Nat66::STEER_INTERNET];
        let mut g = testbed::Bed::new(workers, steering, |_, _| {});
        for (frame, out) in frames {
            let side = if out { Customer } else { Internet };
            g.send(side, &testbed::arriving(side, &frame));
            g.now += 1_000_000;
        }
        for w in &g.workers {
            let (sessions, mappings) = plane::Function::entries(w).unwrap();
            prop_assert!(mappings <= sessions && sessions <= 8 + 1024 + 8);
            prop_assert!(w.config().fragments.allow(w.waiting()));
        }
    }
}
