//! Hop limits, and room for frames.

use super::*;
use plane::view::{BedAddresses, forwarding};
use port::{Burst, Counters, Pool, PoolConfig, Port, Sent};
use wire::{AddrRange, FlowSpace, PortRange};

/// The first frame at one of two receivers had other hop limits.
#[test]
fn frames_with_the_hop_limit_of_the_minority_are_counted() {
    let one = Findings { received: 20, hop_limit: Some(9), ..Findings::default() };
    let mut other = Findings { received: 31, hop_limit: Some(8), ..Findings::default() };
    other.other_hops.count(&Findings { received: 30, hop_limit: Some(9), ..Findings::default() });
    let (mut leg, mut hops) = (Leg::default(), HopTally::default());
    add_findings(&mut leg, &mut hops, &other);
    add_findings(&mut leg, &mut hops, &one);
    assert_eq!(settle_hops(&mut leg, &hops), Some(9));
    assert_eq!((leg.received, leg.differences.get(&Difference::HopLimit), leg.faults.total()), (51, Some(&1), 0));
    assert_eq!(settle_hops(&mut Leg::default(), &HopTally::default()), None);
}

struct Silent(&'static str);

impl Port for Silent {
    fn receive(&mut self, _: &mut Pool, _: &mut Burst) -> Result<usize, PortError> {
        Ok(0)
    }
    fn transmit(&mut self, _: &mut Pool, _: &mut Burst) -> Result<Sent, PortError> {
        Ok(Sent::default())
    }
    fn counters(&mut self) -> Counters {
        Counters::default()
    }
    fn facts(&self) -> PortFacts {
        PortFacts { backend: self.0.to_owned(), ..PortFacts::default() }
    }
}

/// No lane allocates memory during a trial.
#[test]
fn lanes_have_room_for_all_frames_that_their_ports_may_receive() {
    let any = AddrRange::one([198, 18, 0, 2].into());
    let flows = FlowSpace::new(any, PortRange { first: 1, last: 10 }, any, PortRange { first: 1, last: 10 }).unwrap();
    let hop = plane::Hop::default();
    let bed = BedAddresses { left: hop, right: hop, frame_size: 64, ttl: 10, connections: 100, flows, seed: 5 };
    for (backend, of_others) in [("link", false), ("af_packet", true), ("af_xdp", true)] {
        let port = || Some(Box::new(Silent(backend)) as Box<dyn Port>);
        let pools = Pool::for_workers(PoolConfig::compact(2, 8, 64)).unwrap();
        let lane = |pool| Lane { core: None, pool, left: port(), right: port(), companion: None, service: None };
        let lanes = pools.into_iter().map(lane).collect();
        let view = Arc::new(forwarding(&bed));
        let mut stage = Stage::new(Clock::system(), lanes, view, None, Nanos(0), 3, Arc::default());
        stage.reset_seen(&[vec![100; 2], vec![100; 2]]);
        for (lane, sides) in stage.seen.iter().enumerate() {
            for seen in sides {
                let room = [seen[lane].has_room(), seen[1 - lane].has_room()];
                assert_eq!(room, [true, of_others], "{backend}");
            }
        }
    }
}
