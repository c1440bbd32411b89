//! Whether the connections of a phase 1 have distinct four-tuples outside (RFC 9693, section 4.4; RFC 4787, REQ-3).

use crate::store::StateTable;
use method::Count;
use method::trial::SharedTuples;
use std::sync::atomic::{AtomicBool, Ordering};
use wire::{Flow, View};

/// Four-tuples in memory at once: 256 MiB.
pub(crate) const AT_ONCE: Count = 1 << 24;
/// So many times [`AT_ONCE`] connections are compared at most, in parts, of which each reads all.
const MOST: Count = 4;

/// Compares the four-tuples that `trial` learned of the first `connections`, until `interrupted`. `None` if the view does not
/// show the outside address of a connection.
pub(crate) fn shared(
    view: &View,
    (store, trial): (&StateTable, u16),
    (connections, at_once): (Count, Count),
    interrupted: &AtomicBool,
) -> Option<SharedTuples> {
    if !view.expect_right.learns_address() {
        return None;
    }
    let compared = connections.min(at_once * MOST);
    // Equal four-tuples are in the same part; one more leaves room for uneven ones.
    let parts = if compared > at_once { compared.div_ceil(at_once) + 1 } else { 1 };
    let mut found = SharedTuples::default();
    let mut tuples = Vec::with_capacity(compared.min(at_once) as usize);
    for part in 0..parts {
        tuples.clear();
        let indices = (0..compared as u32).take_while(|_| !interrupted.load(Ordering::Relaxed));
        let known = indices.filter_map(|index| {
            let (addr, port) = store.get(index, trial)?;
            Some(four_tuple(addr, port, &view.flows.flow(view.order.get(index))))
        });
        tuples.extend(known.filter(|tuple| mixed(*tuple) % parts == part).take(at_once as usize));
        tuples.sort_unstable();
        found.of += tuples.len() as Count;
        found.shared +=
            tuples.chunk_by(|a, b| a == b).filter(|same| same.len() > 1).map(|same| same.len() as Count).sum::<Count>();
    }
    Some(found)
}

fn four_tuple(addr: u32, port: u16, flow: &Flow) -> u128 {
    let outside = u128::from(addr) << 16 | u128::from(port);
    outside << 48 | u128::from(flow.remote_addr) << 16 | u128::from(flow.remote_port)
}

/// Spreads four-tuples over parts (SplitMix64).
fn mixed(tuple: u128) -> u64 {
    let mut z = (tuple as u64) ^ ((tuple >> 64) as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use plane::Hop;
    use plane::view::{BedAddresses, nat44};
    use wire::{AddrRange, FlowSpace, OuterRange, PortRange};

    /// Of 1,000 connections, a NAT gives the first three the outside port of the fourth.
    #[test]
    fn connections_with_one_outside_port_are_counted() {
        let one = |address: [u8; 4]| AddrRange { first: address.into(), count: 1 };
        let (inside, remote) = (PortRange { first: 1_024, last: 2_023 }, PortRange { first: 1, last: 1 });
        let flows = FlowSpace::new(one([198, 18, 0, 3]), inside, one([198, 19, 0, 2]), remote).unwrap();
        let hop = Hop::default();
        let bed = BedAddresses { left: hop, right: hop, frame_size: 64, ttl: 10, flows, connections: 1_000, seed: 1 };
        let ports = PortRange { first: 1_024, last: 65_535 };
        let view = nat44(&bed, OuterRange { addrs: one([198, 19, 0, 1]), ports });
        let store = StateTable::new(1_000).unwrap();
        for index in 0..1_000 {
            store.learn(index, 1, 0xc613_0001, 2_000 + index.max(3) as u16);
        }
        let found = |at_once, is_interrupted: bool| {
            let found = shared(&view, (&store, 1), (1_000, at_once), &is_interrupted.into()).unwrap();
            (found.shared, found.of)
        };
        let all = [found(AT_ONCE, false), found(250, false), found(100, false), found(AT_ONCE, true)];
        assert_eq!(all, [(4, 1_000), (4, 1_000), (4, 400), (0, 0)], "at once, in parts, the first of them, none");
        for index in 0..4 {
            store.learn(index, 1, 0xc613_0001, 2_000 + index as u16);
        }
        assert_eq!(found(AT_ONCE, false), (0, 1_000));
    }
}
