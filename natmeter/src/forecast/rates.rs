//! Assumed rates of devices, for one small core of a current processor.

use method::Rate;
use scenario::{Dut, Link, Scenario, VethIo};

/// Assumed rates of a DUT on a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Guess {
    /// Connections per second.
    pub set_up: Rate,
    /// Frames per second per direction, with both directions active.
    pub forward: Rate,
    /// Rate at which a search begins: the assumed tester ceiling, per direction.
    pub top: Rate,
}

/// Returns the assumed rates of one DUT, for one small core of a current processor.
pub fn guess(scenario: &Scenario, dut: &Dut) -> Guess {
    let thousands = |set_up: u64, forward: u64, top: u64| Guess {
        set_up: Rate(set_up * 1_000),
        forward: Rate(forward * 1_000),
        top: Rate(top * 1_000),
    };
    let guess = match (dut, &scenario.link) {
        (Dut::Simulated(device), _) => {
            let [set_up, forward] =
                [device.set_up_rate, device.capacity].map(|rate| Rate(rate.frames_per_second(scenario.widest_frame())));
            Guess { set_up, forward, top: Rate(900_000_000) }
        }
        // Queries per second.
        (Dut::Resolver, _) => thousands(0, 5, 40),
        (Dut::Kernel { .. } | Dut::External { .. }, _) if scenario.sends_queries() => thousands(0, 60, 80),
        (Dut::External { .. }, _) => of_ports(scenario),
        (Dut::Gateway { technology, .. }, _) if technology.overhead() > 0 => thousands(1_500, 4_000, 12_000),
        (Dut::Gateway { .. }, _) | (_, Link::InProcess { .. } | Link::Ports) => thousands(2_200, 4_000, 15_000),
        (Dut::Kernel { nat44: None, .. }, Link::Tap) => thousands(0, 250, 600),
        (Dut::Kernel { nat44: None, .. }, Link::Veth { io: VethIo::AfPacket }) => thousands(0, 170, 600),
        (Dut::Kernel { nat44: None, .. }, Link::Veth { .. }) => thousands(0, 220, 800),
        (Dut::Kernel { .. }, Link::Tap) => thousands(200, 170, 600),
        (Dut::Kernel { .. }, Link::Veth { io: VethIo::AfPacket }) => thousands(150, 120, 600),
        (Dut::Kernel { .. }, Link::Veth { .. }) => thousands(180, 150, 800),
    };
    // The tester ceiling grows with the tester's workers; the rates of the device and of a link do not.
    let workers = if matches!(dut, Dut::External { .. } | Dut::Simulated(_)) { 1 } else { scenario.tester.workers };
    let top = Rate(guess.top.0 * u64::from(workers));
    let most = scenario.max_rate().map_or(top, |most| top.min(Rate(most)));
    Guess { set_up: guess.set_up.min(most), forward: guess.forward.min(most), top: most }
}

/// The assumed rates of a box: half the rate at which a search begins, which is the line rate of the slower port, or of 1 Gbit/s
/// if the bed does not say, and at most that of the scenario.
fn of_ports(scenario: &Scenario) -> Guess {
    let line = scenario.bed.as_ref().and_then(|bed| bed.line_rate(scenario.widest_frame())).unwrap_or(1_488_095);
    let top = Rate(scenario.max_rate().map_or(line, |most| line.min(most)));
    let half = top.scaled(1, 2);
    Guess { set_up: half, forward: half, top }
}
