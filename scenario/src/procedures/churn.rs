//! Which connections are held and which come and go in measurements of the churn rate.

use crate::quantity::show_grouped;
use crate::{Dut, Scenario};
use key::kind::{maybe, number, rate, seconds_from, share};
use key::quantity::WrittenRate;
use key::{computed, or};
use method::{Count, Nanos, Rate};
use procedure::churn::Limits;

key::table! {
    /// New connections that come and are abandoned while others are held.
    pub struct Churn {
        /// Share of the connections of the point that phase 1 sets up and that are held; all others are new ones.
        held_ppm: u32 = "held", share(), or("25 %");
        /// Frames of each new connection, Left to Right.
        frames: u64 = "frames", number(1..=1_000), or("1");
        /// The device forgets a connection without frames after this time. Each held connection has three frames in it.
        timeout: Option<Nanos> = "timeout", maybe(seconds_from(1)), computed("`udp-timeout` of the device");
        /// Frames on all held connections together, Left to Right, at least.
        held_rate: Option<WrittenRate> = "held-rate", maybe(rate()), computed("three on each in a time-out");
    }
}

impl Churn {
    /// Returns how many of so many connections are held.
    pub fn held(&self, connections: Count) -> Count {
        (u128::from(connections) * u128::from(self.held_ppm) / 1_000_000) as Count
    }
}

impl Scenario {
    /// Returns the connections that are held at a point with so many, and the parameters of the trials.
    pub fn churn(&self, dut: &Dut, connections: Count) -> (Count, Limits) {
        let churn = &self.procedures.churn;
        let held = churn.held(connections);
        let limits = Limits {
            different: connections - held,
            frames: churn.frames,
            timeout: churn.timeout.or_else(|| dut.udp_timeout()).unwrap_or(tech::TEST_TIMEOUT),
            held_rate: churn.held_rate.map_or(Rate(0), |rate| Rate(rate.frames_per_second(self.widest_frame()))),
        };
        (held, limits)
    }

    /// Says why a number of connections has none to hold, or none that is new.
    pub(crate) fn without_churn(&self, connections: Count) -> Option<String> {
        let held = self.procedures.churn.held(connections);
        let all = show_grouped(connections);
        match held {
            0 => Some(format!("of {all} connections none is held")),
            _ if held == connections => Some(format!("all {all} connections are held, and none is new")),
            _ => None,
        }
    }
}
