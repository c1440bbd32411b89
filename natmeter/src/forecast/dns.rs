//! Predicted time of trials of DNS queries.

use super::{Guess, trials};
use method::{Nanos, Rate};
use procedure::metric::is_of_queries;
use scenario::{Dut, Scenario};

/// Time to start the DNS64 server anew, or to empty a table, before each trial.
const CLEAR: u64 = 300_000_000;

/// Assumed rates of a device, in queries per second; `None` for a device of test frames.
pub(super) fn guess(scenario: &Scenario, dut: &Dut) -> Option<Guess> {
    let of = |forward, top| Guess { set_up: Rate(0), forward: Rate(forward), top: Rate(top) };
    match dut {
        Dut::Resolver => Some(of(5_000, 40_000)),
        Dut::Kernel { .. } | Dut::External { .. } if scenario.sends_queries() => Some(of(60_000, 80_000)),
        _ => None,
    }
}

/// Predicted duration of a trial in nanoseconds, and the number of its trials; `None` for metrics of test frames.
pub(super) fn trials_of(scenario: &Scenario, metric: &str, guess: &Guess) -> Option<(u64, u32)> {
    let m = &scenario.measure;
    // The last answers arrive at once, or the trial fails and waits for the time-out.
    let waits = CLEAR + m.settle.0 + scenario.procedures.dns.timeout.0 / 2;
    is_of_queries(metric).then(|| (m.duration.0 + waits, trials(guess.top, guess.forward, scenario.precision())))
}

/// Bytes of the client: four a query of the longest trial, and the sockets' buffers in use.
pub(super) fn memory(scenario: &Scenario, duration: Nanos, guess: &Guess) -> u64 {
    if scenario.sends_queries() { 4 * guess.top.frames_in(duration) } else { 0 }
}

/// Bytes of the programs of a bed: a name of the zone takes about 200 bytes, in the server and in the cache of a DNS64 server.
pub(super) fn of_programs(scenario: &Scenario, dut: &Dut) -> u64 {
    let names = u64::from(scenario.procedures.dns.names);
    match dut {
        Dut::Resolver => 500 * names,
        Dut::Kernel { .. } | Dut::External { .. } if scenario.sends_queries() => 250 * names,
        _ => 0,
    }
}
