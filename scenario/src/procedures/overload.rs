//! The flows of overload scalability (RFC 8219, section 10.2).

use key::kind::{duration, maybe, number};
use key::{computed, or};
use method::trial::Ramp;
use method::{Count, Nanos};

key::table! {
    /// What the throughput with all flows is compared with, and how these begin.
    pub struct OverloadScalability {
        /// Flows of the first search; RFC 8219 has one.
        flows: Count = "flows", number(1..=1 << 32), or("1");
        /// Time between the beginnings of two flows (RFC 8219, section 10.2.2).
        interval: Option<Nanos> = "interval", maybe(duration(Nanos(1_000)..=Nanos::from_secs(3600))), computed("all flows begin at once");
    }
}

impl OverloadScalability {
    /// The most flows that can begin one after the other: each has a part of the schedule of its own.
    pub const MOST: Count = 65_536;

    /// How all flows begin, if not at once.
    pub fn ramp(&self, all: Count) -> Option<Ramp> {
        self.interval.map(|interval| Ramp { flows: all, interval })
    }
}
