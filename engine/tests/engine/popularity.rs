//! Popularity of connections on the wire, in both directions.

use crate::common::{of_inner, on_a_cable};
use method::trial::{Exponent, Popularity};
use method::{Load, PhaseKind, Rate, TrialOptions, TrialSpec, Trials};
use port::link::LinkPort;
use port::{Burst, Pool, Port, PortError, Sent};
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

type Tally = Arc<Mutex<HashMap<(u16, u16), u64>>>;

struct Counts {
    inner: LinkPort,
    tally: Tally,
}

impl Port for Counts {
    of_inner!(receive counters facts);
    fn transmit(&mut self, pool: &mut Pool, burst: &mut Burst) -> Result<Sent, PortError> {
        for frame in burst.iter() {
            // The UDP ports follow 14 octets of Ethernet and 20 of IPv4.
            let port = |at| u16::from_be_bytes([frame.bytes()[at], frame.bytes()[at + 1]]);
            let (a, b) = (port(34), port(36));
            *self.tally.lock().unwrap().entry((a.max(b), a.min(b))).or_default() += 1;
        }
        self.inner.transmit(pool, burst)
    }
}

const FRAMES: u64 = 40_000;

/// The frames of each connection, from Left and from Right, the most popular first.
fn tallies(popularity: Popularity) -> [Vec<(u64, (u16, u16))>; 2] {
    let [left, right] = [Tally::default(), Tally::default()];
    let counted = |tally: &Tally| {
        let tally = Arc::clone(tally);
        move |inner| Counts { inner, tally: Arc::clone(&tally) }
    };
    let mut engine = on_a_cable(1, counted(&left), counted(&right));
    let options = TrialOptions { popularity, ..TrialOptions::default() };
    let stateless = TrialSpec { kind: PhaseKind::Stateless, phase1_rate: None, ..crate::common::trial_spec(0) };
    let spec = TrialSpec { rate: Rate(400_000), load: Load::Frames(FRAMES), options, ..stateless };
    let outcome = engine.run(&spec).unwrap();
    assert_eq!((outcome.forward.received, outcome.reverse.received), (FRAMES, FRAMES), "{outcome:?}");
    [left, right].map(|tally| {
        let mut counts: Vec<_> = tally.lock().unwrap().iter().map(|(&ports, &count)| (count, ports)).collect();
        counts.sort_unstable_by(|a, b| b.cmp(a));
        counts
    })
}

#[test]
fn a_few_connections_have_most_of_the_frames_in_both_directions() {
    let popularity = Popularity::Zipf(Exponent::of_thousandths(1_000).unwrap());
    let [left, right] = tallies(popularity);
    // The first of 10,000 connections has 1 / H(10,000) = 10.2 % of the frames, the first hundred 53.0 %.
    for tally in [&left, &right] {
        let first: u64 = tally.iter().take(100).map(|(count, _)| count).sum();
        assert!((3_850..4_350).contains(&tally[0].0), "{:?}", tally[0]);
        assert!((20_600..21_800).contains(&first), "{first}");
    }
    assert_eq!(left[0].1, right[0].1, "both directions have the same favourite");
}

#[test]
fn without_popularity_all_connections_are_alike() {
    let [left, _] = tallies(Popularity::Uniform);
    // Four frames a connection on average.
    assert!(left.len() > 9_700 && left[0].0 < 20, "{} {:?}", left.len(), left[0]);
}
