//! Unbound as a DNS64 server on this machine, in a namespace that natmeter creates.

use super::{Device, DeviceKind, Dut, Setup, TestBed};
use crate::Scenario;
use key::Chapter;
use procedure::dns::DNS64_RESOLUTION_RATE;

pub(super) const KIND: DeviceKind = DeviceKind {
    table: "unbound",
    keys: |path| Chapter::with(path, ABOUT, Vec::new()),
    read: |_| vec![Some(Dut::from(Resolver))],
};

const ABOUT: &str = "Unbound as a DNS64 server, in a namespace that is made for the run, with an authoritative server (Knot DNS) \
                     behind it. It has as many threads as `cores` in `[sweep]`.";

/// The DNS64 server.
#[derive(Clone, Debug)]
struct Resolver;

impl Device for Resolver {
    fn table(&self) -> &'static str {
        KIND.table
    }
    fn function(&self) -> &'static str {
        "DNS64 server"
    }
    fn published(&self) -> Option<&'static str> {
        None
    }
    fn setup(&self) -> Setup<'_> {
        Setup::Dns64
    }
    fn place(&self, _: &Scenario) -> TestBed {
        TestBed::SameMachine
    }
    fn no_foreground(&self) -> Option<&'static str> {
        Some("it answers queries")
    }
    fn dns_metrics(&self) -> &'static [&'static str] {
        &[DNS64_RESOLUTION_RATE.key]
    }
    fn gets_frames(&self) -> bool {
        false
    }
}
