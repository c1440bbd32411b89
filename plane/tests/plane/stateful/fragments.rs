//! RFC 4787, REQ-14, and RFC 6146, section 3.4: fragments of both directions, in any order, within limits.

use super::{Stateful, USUAL, bed, beds, count, dropped, each, joined, known, map};
use plane::Side::{Customer, Internet};
use testbed::prelude::*;

each! {
    from_customers_in_any_order: nat44 nat64 nat66 nat46 ds_lite aftr;
    from_the_internet_in_any_order: nat44 nat64 nat66 nat46 ds_lite aftr;
    they_wait_no_longer_than_their_time: nat44 nat64 nat66 aftr;
    those_of_a_dropped_datagram_are_dropped: nat44 nat64 aftr;
}

const PAYLOAD: [u8; 200] = [0x5a; 200];
const ORDERS: [[usize; 3]; 6] = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];

fn from_customers_in_any_order<N: Stateful>() {
    let to = known::<N>((N::REMOTE, 80));
    let mut wholes = vec![udp_with((N::A, 5000), to, 64, &PAYLOAD), tcp_with((N::A, 5000), to, "S", &PAYLOAD)];
    // A translator does not translate fragments of ICMP (RFC 7915, sections 4.2 and 5.2).
    if N::VERSIONS[0] == N::VERSIONS[1] {
        wholes.push(icmp(N::A, to.0, super::kind(N::A, (128, 0), (8, 0)).0, 0, [0, 9, 0, 1], &PAYLOAD));
    }
    for (n, whole) in wholes.iter().enumerate() {
        for mut g in beds::<N>() {
            for (i, order) in ORDERS.iter().enumerate() {
                let parts = fragments(whole, &[64, 128], (10 * n + i) as u32);
                let seen = judge(&reassemble(&joined(&mut g, Customer, Internet, &parts, order)));
                assert_eq!((seen.from.0, seen.to.0, seen.ttl), (N::POOL, N::REMOTE, 64 - N::HOPS[0]), "{order:?}");
            }
            assert_eq!(g.entries().0, 1);
        }
    }
}

fn from_the_internet_in_any_order<N: Stateful>() {
    for mut g in beds::<N>() {
        let outside = map(&mut g, (N::A, 5000), (N::REMOTE, 80));
        let whole = udp_with((N::REMOTE, 80), outside, 64, &PAYLOAD);
        for (i, order) in ORDERS.iter().enumerate() {
            let parts = fragments(&whole, &[64, 128], i as u32);
            let seen = judge(&reassemble(&joined(&mut g, Internet, Customer, &parts, order)));
            assert_eq!((seen.from, seen.to), (known::<N>((N::REMOTE, 80)), (N::A, 5000)), "{order:?}");
        }
    }
}

fn they_wait_no_longer_than_their_time<N: Stateful>() {
    let mut g = bed::<N>(&USUAL);
    let parts = fragments(&udp_with((N::A, 5000), known::<N>((N::REMOTE, 80)), 64, &PAYLOAD), &[64], 1);
    dropped(&mut g, Customer, &parts[1], "fragment-held");
    g.wait(16);
    assert_eq!(g.send_all(Customer, &[]), []);
    assert_eq!(count(&g, "fragment-late"), 1);
    joined(&mut g, Customer, Internet, &parts[..1], &[0]);
}

fn those_of_a_dropped_datagram_are_dropped<N: Stateful>() {
    for order in [[0, 1], [1, 0]] {
        let mut g = bed::<N>(&USUAL);
        let parts = fragments(&udp_with((N::REMOTE, 80), (N::POOL, 5000), 64, &PAYLOAD), &[64], 1);
        assert!(order.iter().all(|&i| g.send(Internet, &parts[i]).is_empty()));
        assert_eq!((count(&g, "no-session"), count(&g, "fragment-orphan")), (1, 1), "{order:?}");
    }
}
