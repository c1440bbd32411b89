//! RFC 3511, of firewalls. natmeter measures none of its metrics: the tests between TCP stacks with HTTP objects are missing.

use super::Check::{Named, NotApplicable};
use super::metrics::NONE;
use super::{Document, must, rfc, should};

const NO_HTTP: &str = "natmeter has neither TCP stacks nor HTTP";
const NO_FIREWALL: &str = "natmeter measures no rule sets";

#[rustfmt::skip] // one row a line
pub(super) const RFC: Document = rfc("RFC 3511", "Benchmarking Methodology for Firewall Performance", &[
    must("4.1–4.4", NONE, "Sources of traffic, virtual clients and servers.", NotApplicable(NO_HTTP)),
    should("4.5", NONE, "With and without network address translation.", NotApplicable(NO_FIREWALL)),
    must("4.6", NONE, "Rule sets, which do not stop the test traffic.", NotApplicable(NO_FIREWALL)),
    should("4.7–4.8", NONE, "Without caching; with authentication.", NotApplicable(NO_FIREWALL)),
    must("4.9", NONE, "The parameters of TCP stacks are reported.", NotApplicable("no TCP stack: METHODOLOGY.md has the segments")),
    must("5.1", NONE, "IP throughput: constant rate, 30 seconds, packet size and direction in the report.", NotApplicable("`throughput` is that of RFC 2544")),
    must("5.2", NONE, "Concurrent TCP connection capacity, with HTTP objects on each connection (RFC 8219, section 8.1).", Named("not measured: `conn_table_capacity` is that of RFC 9693, with UDP")),
    must("5.3", NONE, "Maximum TCP connection establishment rate, with HTTP objects (RFC 8219, section 8.2).", Named("`max_tcp_conn_rate` is defined by natmeter: no stacks, no retransmission, no HTTP")),
    must("5.4", NONE, "Maximum TCP connection tear-down rate: of closing connections.", Named("`conn_tear_down_rate` is that of RFC 9693; `tcp_transitory_time` is defined by natmeter")),
    must("5.5", NONE, "Denial of service handling.", NotApplicable(NO_FIREWALL)),
    must("5.6", NONE, "HTTP transfer rate.", NotApplicable(NO_HTTP)),
    must("5.7", NONE, "Maximum HTTP transaction rate.", NotApplicable(NO_HTTP)),
    must("5.8", NONE, "Illegal traffic handling.", NotApplicable(NO_FIREWALL)),
    must("5.9", NONE, "IP fragmentation handling.", NotApplicable(NO_FIREWALL)),
    must("5.10", NONE, "Latency of HTTP transactions.", NotApplicable(NO_HTTP)),
]);
