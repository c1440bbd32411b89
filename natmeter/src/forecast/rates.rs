//! Assumed rates of devices, for one small core of a current processor.

use method::Rate;
use scenario::{Dut, Link, Scenario, Setup, Simulated, VethIo};

/// Assumed for a DUT on a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Guess {
    /// Connections per second.
    pub set_up: Rate,
    /// Frames per direction, with both directions active.
    pub forward: Rate,
    /// A search begins here: the assumed tester ceiling, per direction.
    pub top: Rate,
}

pub fn guess(scenario: &Scenario, dut: &Dut) -> Guess {
    let thousands = |set_up: u64, forward: u64, top: u64| Guess {
        set_up: Rate(set_up * 1_000),
        forward: Rate(forward * 1_000),
        top: Rate(top * 1_000),
    };
    let veth = |io: VethIo, copied: Guess, mapped: Guess| if io == VethIo::AfPacket { copied } else { mapped };
    let simulated = if let Setup::Simulated(device) = dut.setup() { Some(device) } else { None };
    let of_keys = |device: &Simulated| {
        let [set_up, forward] =
            [device.set_up_rate, device.capacity].map(|rate| Rate(rate.frames_per_second(scenario.widest_frame())));
        Guess { set_up, forward, top: Rate(900_000_000) }
    };
    let assumed = || match (&scenario.link, dut.is_stateful()) {
        // Queries per second.
        _ if !dut.gets_frames() => thousands(0, 5, 40),
        _ if scenario.sends_queries() && !dut.has_workers() => thousands(0, 60, 80),
        _ if scenario.bed.is_some() => of_ports(scenario),
        (Link::InProcess { .. } | Link::Ports, _) if dut.overhead() > 0 => thousands(1_500, 4_000, 12_000),
        (Link::InProcess { .. } | Link::Ports, _) => thousands(2_200, 4_000, 15_000),
        (Link::Tap, false) => thousands(0, 250, 600),
        (Link::Tap, true) => thousands(200, 170, 600),
        (Link::Veth { io }, false) => veth(*io, thousands(0, 170, 600), thousands(0, 220, 800)),
        (Link::Veth { io }, true) => veth(*io, thousands(150, 120, 600), thousands(180, 150, 800)),
    };
    let guess = simulated.map_or_else(assumed, of_keys);
    // Only the tester ceiling grows with the tester's workers.
    let workers = if scenario.bed.is_some() || simulated.is_some() { 1 } else { scenario.tester.workers };
    let top = Rate(guess.top.0 * u64::from(workers));
    let most = scenario.max_rate().map_or(top, |most| top.min(Rate(most)));
    Guess { set_up: guess.set_up.min(most), forward: guess.forward.min(most), top: most }
}

/// Half the rate at which a search begins, which is the line rate of the slower port, or of 1
/// Gbit/s if the bed does not say, and at most that of the scenario.
fn of_ports(scenario: &Scenario) -> Guess {
    let line = scenario.bed.as_ref().and_then(|bed| bed.line_rate(scenario.widest_frame())).unwrap_or(1_488_095);
    let top = Rate(scenario.max_rate().map_or(line, |most| line.min(most)));
    let half = top.scaled(1, 2);
    Guess { set_up: half, forward: half, top }
}
