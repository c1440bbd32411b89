//! The simulated device: numbers with known truth in place of frames.

use super::{Device, DeviceKind, Null, Setup, TestBed};
use crate::Scenario;
use crate::truth::Simulated;
use key::Chapter;
use method::trial::Disruption;
use procedure::dns::{DNS_QUERIES_RESOLVED, DNS64_RESOLUTION_RATE};

pub(super) const KIND: DeviceKind = DeviceKind {
    table: "simulated",
    keys: Chapter::of::<Simulated>,
    read: |given| vec![given.sections.table::<Simulated>(&KIND.path()).map(Into::into)],
};

impl Device for Simulated {
    fn table(&self) -> &'static str {
        KIND.table
    }
    fn function(&self) -> &'static str {
        "simulated device"
    }
    fn published(&self) -> Option<&'static str> {
        None
    }
    fn setup(&self) -> Setup<'_> {
        Setup::Simulated(self)
    }
    fn place(&self, _: &Scenario) -> TestBed {
        TestBed::Simulated
    }
    fn is_in_process(&self) -> bool {
        true
    }
    fn longest_frame(&self) -> Option<u64> {
        None
    }
    fn null(&self, _: &Scenario) -> Null {
        Null::Nothing("it has no frames")
    }
    fn no_foreground(&self) -> Option<&'static str> {
        Some("its frames are numbers")
    }
    fn dns_metrics(&self) -> &'static [&'static str] {
        &[DNS_QUERIES_RESOLVED.key, DNS64_RESOLUTION_RATE.key]
    }
    fn is_stateful(&self) -> bool {
        true
    }
    fn has_disruption(&self, _: Disruption, _: &Scenario) -> bool {
        true
    }
    fn can_be_profiled(&self, _: &Scenario) -> bool {
        true
    }
}
