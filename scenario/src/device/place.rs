//! Where a device is, seen from the tester: the test bed of a label.

use crate::Scenario;
use serde::Serialize;

/// Where a device is, seen from the tester. Only the first is the test bed of RFC 2544, section 6: a tester with two ports, and
/// two cables to the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TestBed {
    /// Between two ports of the tester.
    Ports,
    /// Another program or the kernel of the tester's machine.
    SameMachine,
    /// A part of the tester's process.
    SameProcess,
    /// Nowhere: numbers stand for the device.
    Simulated,
}

impl TestBed {
    /// The test beds of a scenario's devices, each once.
    pub fn all(scenario: &Scenario) -> Vec<TestBed> {
        let mut all: Vec<TestBed> = Vec::new();
        for bed in scenario.duts.iter().map(|dut| dut.place(scenario)) {
            if !all.contains(&bed) {
                all.push(bed);
            }
        }
        all
    }

    /// Returns the name of the test bed, its difference from two ports and two cables, and the location of a device
    /// that has no machine of its own.
    fn texts(self) -> (&'static str, &'static str, Option<&'static str>) {
        match self {
            TestBed::Ports => ("two ports", "the device is between two ports of the tester", None),
            TestBed::SameMachine => ("same machine", "tester and device are on one machine", Some("on one machine")),
            TestBed::SameProcess => ("same process", "tester and device are in one process", Some("in one process")),
            TestBed::Simulated => ("simulated device", "the device is simulated", Some("simulated")),
        }
    }

    /// Returns how it differs from two ports and two cables, in words.
    pub fn differs(self) -> &'static str {
        self.texts().1
    }

    /// Returns its name in labels and tables.
    pub fn words(self) -> &'static str {
        self.texts().0
    }

    /// Returns where the device is, if it has no machine of its own.
    pub fn beside_tester(self) -> Option<&'static str> {
        self.texts().2
    }
}

impl Scenario {
    /// Whether numbers stand for this device.
    pub fn is_simulated(&self, dut: usize) -> bool {
        self.duts.get(dut).is_some_and(|dut| dut.place(self) == TestBed::Simulated)
    }

    /// Whether a device keeps connections.
    pub fn is_stateful(&self) -> bool {
        self.duts.iter().any(|dut| dut.is_stateful())
    }
}
