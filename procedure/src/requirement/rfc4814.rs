//! RFC 4814, of addresses and bit patterns in test traffic. Its section 1 says that nearly all of it is recommended, not demanded.

use super::Check::{If, Met, Named, NotApplicable};
use super::check::{departure, met_if, where_it_applies};
use super::metrics::{NONE, OF_DATA};
use super::{Document, must, rfc, should};

const NO_SERIAL_LINK: &str = "natmeter has ports of Ethernet alone, where nothing is stuffed";

#[rustfmt::skip] // one row a line
pub(super) const RFC: Document = rfc("RFC 4814", "Hash and Stuffing: Overlooked Factors in Network Device Benchmarking", &[
    must("1", OF_DATA, "The test network has no way to other networks.", Met("natmeter sends between its own ports; addresses are those of benchmarks")),
    should("3", OF_DATA, "Of each pattern of L bits, 1 in 2^L is generated.", Met("a Feistel permutation; tests check evenness")),
    should("4.2", OF_DATA, "Ethernet addresses are pseudo-random.", Named("in a further run with `source-macs`: routers and NATs have one neighbour on each port")),
    should("4.2", OF_DATA, "They hold the number of the interface, from 1.", Met("as `source-macs` makes them")),
    must("4.2", OF_DATA, "All trials of a test have the same addresses.", Met("they follow from the connection")),
    should("4.3", NONE, "Labels of MPLS.", NotApplicable("natmeter sends no MPLS")),
    should("4.4", OF_DATA, "Addresses are random, where a device spreads flows by them.", Named("in a further run with several `inside` and `remote` addresses, or `networks`")),
    should("4.5", OF_DATA, "Ports are uniformly distributed.",
        If(|c| departure(c.traffic.popularity.as_ref().map(|law| format!("connections are drawn by Zipf's law, {law}"))))),
    should("4.5", OF_DATA, "Source ports from 1024 to 65535, destination ports from 1 to 49151 (stateful: RFC 9693, section 4.1).",
        If(|c| where_it_applies(c.device.stateless, met_if!(c.traffic.all_ports, "ports {}, not 1024-65535 to 1-49151", c.traffic.ports)))),
    should("4.6", OF_DATA, "Test engineers know what payloads do to hashes.", Met("METHODOLOGY.md, frames")),
    must("5", NONE, "Stuffing is accounted for in the rates of HDLC and POS.", NotApplicable(NO_SERIAL_LINK)),
    should("5.1–5.2", NONE, "Loads below the limit of a stuffed link.", NotApplicable(NO_SERIAL_LINK)),
    should("6", OF_DATA, "Users know the distribution of the generator.", Met("METHODOLOGY.md, pseudo-random enumeration")),
]);
