//! RFC 5180, of IPv6: what RFC 2544 has, for IPv6 traffic.

use super::Check::{Met, Named, NotApplicable};
use super::metrics::{NONE, OF_DATA};
use super::{Document, must, rfc, should};

const NO_EXTENSIONS: &str =
    "natmeter sends no extension headers (RFC 8219, section 5.2: translators do not support them)";

#[rustfmt::skip] // one row a line
pub(super) const RFC: Document = rfc("RFC 5180", "IPv6 Benchmarking Methodology for Network Interconnect Devices", &[
    must("1", OF_DATA, "The device is a black box.", Met("natmeter looks at frames; hooks are the user's")),
    should("3", OF_DATA, "What the document leaves out is that of RFC 2544.", Met("see there")),
    should("5.1", OF_DATA, "64, 128, 256, 512, 1024, 1280, 1518 and larger octets.",
        Named("in a further run with `frame-size = \"rfc8219\"`; IPv6 frames have 84 octets at least, for headers and tag")),
    should("5.1.2", NONE, "Frame sizes over SONET.", NotApplicable("natmeter has ports of Ethernet alone")),
    must("5.2", OF_DATA, "Selection of addresses is analysed.", Met("2001:2::/48 of section 8, half for each side")),
    should("5.2.1", OF_DATA, "Prefixes of the device's interfaces are not longer than 64.", Met("/64")),
    should("5.2.2", OF_DATA, "A single stream first, then random destinations.", Named("in a further run with `networks`")),
    should("5.2.2", OF_DATA, "Reachable time of 30 seconds.", Named("the tester answers neighbor solicitations; times are the device's")),
    should("5.3", OF_DATA, "Traffic with extension headers, each one and in chains.", Named(NO_EXTENSIONS)),
    must("5.3", NONE, "Chains of two or more extension headers complement single ones.", NotApplicable(NO_EXTENSIONS)),
    should("5.4", OF_DATA, "Both directions.", Met("RFC 2544, section 14, is checked")),
    should("5.4", OF_DATA, "All other traffic is that of RFC 2544.", Met("see there")),
    should("6", OF_DATA, "First without modifiers, then with each.", Named("no modifiers: see RFC 2544, section 11")),
    should("6.1–6.2", OF_DATA, "Management and routing frames; filters for IPv6.", Named("as RFC 2544, section 11")),
    must("7", OF_DATA, "The tests of RFC 2544 are repeated for IPv6.", Met("`[technology.ipv6-forwarding]` and `[dut.linux-ipv6-forwarding]` measure IPv6")),
    should("7.1–7.6", OF_DATA, "Throughput, latency, loss, bursts, recovery and reset as in RFC 2544.", Met("see there")),
    must("9", OF_DATA, "The test network is isolated.", Met("natmeter sends between its own ports")),
]);
