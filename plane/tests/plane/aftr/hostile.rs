//! Any bytes on either side: no panic, bounded state, and translation is reversed on the way back.

use crate::aftr::set_up::*;
use crate::each_device::counted;
use plane::Side::{Customer, Internet};
use proptest::prelude::*;
use testbed::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_do_no_harm(
        kind in 0usize..6,
        changes in proptest::collection::vec((14usize..140, any::<u8>()), 0..4),
        len in 0usize..220,
    ) {
        let mut g = aftr(&config());
        let outside = map(&mut g, b4(1), (HOST, 5000));
        let inner = udp((HOST, 5000), (REMOTE, 80));
        let mut frame = match kind {
            0 => wrap(b4(1), &inner),
            1 => udp((REMOTE, 80), outside),
            2 => fragments(&wrap(b4(1), &inner), &[24], 1)[changes.len() % 2].clone(),
            3 => wrap(b4(1), &fragments(&inner, &[8], 1)[changes.len() % 2]),
            4 => { let b = unwrap(&g.back(&udp((REMOTE, 80), outside))).2; wrap(b4(1), &error(HOST, REMOTE, 3, 3, &b, 100)) }
            _ => { let o = g.out(&wrap(b4(1), &inner)); error(REMOTE, POOL, 3, 3, &o, 100) }
        };
        for (at, v) in changes {
            let n = frame.len();
            frame[at % n] = v;
        }
        let n = frame.len();
        frame.resize(len.min(n + 8), 0);
        let from = if matches!(kind, 1 | 5) { Internet } else { Customer };
        counted(&mut g, from, &[frame], &[]);
        prop_assert!(g.entries().0 <= 3 && g.workers[0].customers() <= 3);
    }

}

/// An ICMPv6 error opens no session, whatever it quotes; an error about a known customer is relayed.
#[test]
fn errors_about_tunnel_packets_make_no_customers() {
    let mut g = aftr(&config());
    let outside = map(&mut g, b4(1), (HOST, 5000));
    let about = g.back(&udp((REMOTE, 80), outside));
    let error = |quote: &[u8]| {
        let step =
            etherparse::PacketBuilder::ethernet2(CUSTOMER_HOP, CUSTOMER_MAC).ipv6(b4(99).octets(), AFTR6.octets(), 64);
        let mut out = Vec::new();
        step.icmpv6_raw(1, 0, [0; 4]).write(&mut out, &quote[14..]).unwrap();
        out
    };
    for i in 2..100 {
        let mut to_unknown = about.clone();
        to_unknown[38..54].copy_from_slice(&b4(i).octets());
        g.dropped(Customer, &error(&to_unknown), "tunnel.icmp-untranslatable");
    }
    assert_eq!(g.workers[0].customers(), 1);
    let told = g.out(&error(&about));
    assert_eq!((icmp_type(&told), judge(&told).to.0), ((3, 1), REMOTE));
}
