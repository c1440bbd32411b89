//! Whether a run meets a requirement, and the conditions that several requirements share.

use super::{Conditions, Run};
use key::quantity::{show_duration, show_grouped, show_share};
use method::Nanos;

/// Whether a run meets a requirement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finding {
    /// The run complies.
    Met,
    /// The run does not comply: what it does instead.
    NotMet(String),
    /// The run measures something else under this name, which no RFC defines: what.
    AnotherMetric(String),
    /// The requirement does not concern the run.
    NotApplicable,
}

/// Met under a condition, otherwise not met with these words.
macro_rules! met_if {
    ($met:expr, $($words:tt)+) => {
        if $met {
            $crate::requirement::Finding::Met
        } else {
            $crate::requirement::Finding::NotMet(format!($($words)+))
        }
    };
}
pub(super) use met_if;

/// Met without a departure, or not met because of it.
pub(super) fn departure(departure: Option<String>) -> Finding {
    departure.map_or(Finding::Met, Finding::NotMet)
}

/// A finding on a departure of every run.
pub(super) fn never(words: &str) -> Finding {
    Finding::NotMet(words.to_owned())
}

pub(super) fn where_it_applies(applies: bool, finding: Finding) -> Finding {
    if applies { finding } else { Finding::NotApplicable }
}

/// A finding on devices that keep connections.
pub(super) fn stateful(c: &Conditions, finding: Finding) -> Finding {
    where_it_applies(c.device.stateful, finding)
}

/// A finding on what the record shows.
pub(super) fn in_a_run(c: &Conditions, finding: fn(Run) -> Finding) -> Finding {
    c.run.map_or(Finding::NotApplicable, finding)
}

pub(super) fn at_least(what: &str, time: Nanos, least: Nanos) -> Finding {
    met_if!(time >= least, "{what} {}, below {}", show_duration(time), show_duration(least))
}

/// Whether all frames or queries must arrive.
pub(super) fn all(what: &str, ppm: u32) -> Finding {
    met_if!(ppm >= 1_000_000, "{what} is {}, below 100 %", show_share(ppm))
}

/// Whether each point has, or will have, so many repetitions.
pub(super) fn repeated(c: &Conditions, least: u32) -> Finding {
    let planned = c.repetitions.least;
    match c.run.and_then(|run| run.repetitions) {
        Some(made) if made < least && made < planned => {
            never(&format!("{} of a point, below {least}", counted(made.into(), "repetition", "repetitions")))
        }
        _ => met_if!(planned >= least, "{}, below {least}", c.repetitions.words),
    }
}

pub(super) fn throughput_is_measured(c: &Conditions) -> Finding {
    met_if!(!c.rate_is_given, "the throughput is given, not measured")
}

pub(super) fn counted(n: u64, noun: &str, nouns: &str) -> String {
    format!("{} {}", show_grouped(n), if n == 1 { noun } else { nouns })
}
