//! What a device of a scenario can do, as procedures ask for it.

use crate::{Dut, Scenario};
use method::Nanos;
use procedure::Capabilities;

/// A device in its scenario, whose bed says what its boxes can do.
pub struct DeviceCapabilities<'a> {
    scenario: &'a Scenario,
    dut: &'a Dut,
}

impl Scenario {
    pub fn able<'a>(&'a self, dut: &'a Dut) -> DeviceCapabilities<'a> {
        DeviceCapabilities { scenario: self, dut }
    }
}

impl Capabilities for DeviceCapabilities<'_> {
    fn forgets_after(&self) -> Nanos {
        self.dut.udp_timeout().unwrap_or(tech::TEST_TIMEOUT)
    }

    fn boxes(&self) -> u32 {
        self.scenario.bed_of(self.dut).map_or(1, |bed| bed.boxes.len() as u32)
    }
}
