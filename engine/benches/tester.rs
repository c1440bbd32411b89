//! What the tester itself costs: one thread that sends, receives and judges every frame over a cable (the
//! in-process link, no device), for several numbers of flows. Prints figures; judges nothing.
//!
//! `cargo bench -p natmeter-engine --bench tester`

use engine::calibrate;
use method::Nanos;
use plane::view::{Bed, forwarding};
use std::sync::Arc;
use wire::{AddrRange, FlowSpace, PortRange};

fn main() {
    let clock = port::Clock::calibrated();
    let core = port::host::cores().first().copied();
    println!("{}", clock.describe());
    println!("flows        Mfps (one thread, both tasks)   send ns   judge ns");
    for (ports, remotes) in [(100u16, 100u16), (40_000, 25), (40_000, 1_000)] {
        let flows = FlowSpace::new(
            AddrRange::one([198, 18, 0, 2].into()),
            PortRange { first: 1024, last: 1023 + ports },
            AddrRange::one([198, 19, 0, 2].into()),
            PortRange { first: 1, last: remotes },
        )
        .expect("these ranges fit");
        let connections = flows.size();
        let bed = Bed {
            left: plane::Hop::default(),
            right: plane::Hop::default(),
            frame_size: 64,
            ttl: 10,
            connections,
            flows,
            seed: 1,
        };
        let view = Arc::new(forwarding(&bed));
        match calibrate::tester(clock, core, &view, Nanos::from_millis(300)) {
            Ok(l) => println!(
                "{connections:>10}   {:>28.1}   {:>7.1}   {:>8.1}",
                l.one_thread.0 as f64 / 1e6,
                l.send_ps as f64 / 1e3,
                l.receive_ps as f64 / 1e3
            ),
            Err(e) => println!("{connections:>10}   {e}"),
        }
    }
}
