//! RFC 8219, of IPv6 transition technologies; RFC 9693, section 4.7, has its procedures for NATs.

use super::Check::{If, Met, Named};
use super::check::{Finding, all, at_least, met_if, never, repeated};
use super::metrics::{AT_LOADS, DELAY, DELAYS, DNS64, IPDVS, NONE, OF_DATA, OVERLOAD, PDVS, VARIATIONS};
use super::{Conditions, Document, defines, must, rfc, should};
use crate::delay::Latency;
use crate::dns::Dns;
use crate::overload::OverloadScalability;
use key::quantity::show_duration;
use method::Nanos;

fn at_the_throughput(c: &Conditions) -> Finding {
    if c.rate_is_given {
        Finding::AnotherMetric("frames have a given rate, not the measured throughput".to_owned())
    } else {
        Finding::Met
    }
}

#[rustfmt::skip] // one row a line
pub(super) const RFC: Document = rfc("RFC 8219", "Benchmarking Methodology for IPv6 Transition Technologies", &[
    should("1.1", OF_DATA, "Stateful technologies have additional tests.", Met("the metrics of RFC 9693")),
    should("4", OF_DATA, "Routing is dynamic, with routing and management frames.", Named("routes are static")),
    should("4.1", OF_DATA, "Single translation has one device, and a tester with both IP versions.", Met("SIIT, NAT64, NAT46")),
    should("4.2", OF_DATA, "Encapsulation and double translation have two devices.", Met("`plays = \"dual\"`, the default")),
    should("4.2", OF_DATA, "Each of the two is measured alone, too.", Named("in further runs with `plays = \"pe\"` and `\"ce\"`")),
    should("4.2", OF_DATA, "The tester sends encapsulated packets to a single device.", Met("`plays = \"pe\"`")),
    must("5.1", OF_DATA, "The overhead of translation or encapsulation is considered.", Met("line rates are those of the longer frames")),
    must("5.1", OF_DATA, "Reports have the details of the media.", Met("facts of links and ports")),
    should("5.1", OF_DATA, "The larger MTU is set everywhere.", Met("on links that natmeter makes; `bed check` tests others")),
    should("5.1.1", OF_DATA, "64, 128, 256, 512, 768, 1024, 1280, 1518, 1522, 2048, 4096, 8192 and 9216 octets.", Named("in a run with `frame-size = \"rfc8219\"`; above 1518 with devices in natmeter's process alone")),
    should("5.1.1", OF_DATA, "84 octets in place of 64 from IPv6 to IPv4.", Met("an IPv6 frame has 20 octets more")),
    should("5.2", OF_DATA, "Addresses are those of RFC 5180 and RFC 2544.", Met("the defaults")),
    should("5.3", OF_DATA, "Both directions.", Met("RFC 2544, section 14, is checked")),
    should("5.3", OF_DATA, "UDP.", Met("TCP has metrics of its own")),
    should("5.3", AT_LOADS, "100, 90, 50 and 10 % of the traffic are translated, the rest is native IPv6.", Named("in a run with `foreground = \"rfc8219\"`")),
    should("6", OF_DATA, "Modifiers of RFC 2544 and RFC 5180.", Named("no modifiers: see RFC 2544, section 11")),
    should("7.1", OF_DATA, "Throughput is that of RFC 2544.", Met("see there")),
    defines("7.2", DELAY, "Frames have the rate of the throughput.", If(at_the_throughput)),
    should("7.2", DELAY, "The stream lasts at least 120 seconds.", If(|c| at_least("latency trials last", c.trial.length, Nanos::from_secs(120)))),
    should("7.2", DELAY, "Tags begin after 60 seconds.", If(|c| at_least("the first tagged frame leaves after", c.keys.get::<Latency>().from, Nanos::from_secs(60)))),
    should("7.2", DELAY, "At least 500 frames are tagged.",
        If(|c| met_if!(c.keys.get::<Latency>().tags >= 500, "{} tagged frames, below 500", c.keys.get::<Latency>().tags))),
    must("7.2", DELAYS, "The time at which a frame was fully transmitted is recorded.",
        If(|_| never("delays begin at the call that transmits a frame, not when the frame has been transmitted"))),
    must("7.2", DELAY, "The time at which it was received is recorded.", Met("by the kernel or the tester")),
    should("7.2", DELAY, "The tag follows the UDP header.", Met("18 octets")),
    should("7.2", DELAY, "Typical latency is the median, worst-case latency the 99.9th percentile.", Met("both are parts")),
    must("7.2", DELAY, "The test is repeated at least 20 times, and the median reported.", If(|c| repeated(c, 20))),
    must("7.2", DELAY, "The report says which definition of RFC 1242 it uses.", Met("the section on delays says: that of store and forward devices")),
    should("7.2", DELAY, "A table with frame size, rate and both values.", Met("tables and conditions")),
    should("7.3", PDVS, "PDV is measured, IPDV may be.", Met("both are metrics")),
    defines("7.3", VARIATIONS, "Frames have the rate of the throughput.", If(at_the_throughput)),
    should("7.3.1", PDVS, "The stream lasts at least 60 seconds.", If(|c| at_least("PDV trials last", c.trial.length, Nanos::from_secs(60)))),
    must("7.3.1", PDVS, "The test is repeated at least 20 times, and the median reported.", If(|c| repeated(c, 20))),
    should("7.3.1", PDVS, "1st and 99th percentile.", Met("rows of each table")),
    should("7.3.1–7.3.2", VARIATIONS, "A table with a row for each frame size, in milliseconds.", Met("in the unit that fits the value")),
    should("7.3.2", IPDVS, "The stream lasts at least 60 seconds.", If(|c| at_least("IPDV trials last", c.trial.length, Nanos::from_secs(60)))),
    should("7.3.2", IPDVS, "Minimum, median and maximum; of each the median of the repetitions.", Met("three parts")),
    must("7.3.2", IPDVS, "The test is repeated at least 20 times.", If(|c| repeated(c, 20))),
    should("7.4–7.7", OF_DATA, "Loss, bursts and recovery are those of RFC 2544, reset that of RFC 6201.", Met("see there")),
    should("8.1", NONE, "Concurrent TCP connection capacity, as of RFC 3511, section 5.2.", Named("not measured: `conn_table_capacity` is that of RFC 9693, with UDP")),
    should("8.2", NONE, "Maximum TCP connection establishment rate, as of RFC 3511, section 5.3.", Named("`max_tcp_conn_rate` is defined by natmeter: no stacks, no retransmission, no HTTP")),
    should("9.1", DNS64, "Six messages: query, empty answer, query, answer.", Met("by Unbound and Knot DNS")),
    must("9.1", DNS64, "IPv6 between client and server.", Met("always")),
    should("9.2", DNS64, "A trial lasts at least 60 seconds.", If(|c| at_least("trials of queries last", c.trial.length, Nanos::from_secs(60)))),
    should("9.2", DNS64, "An answer counts within one second at most.",
        If(|c| met_if!(c.keys.get::<Dns>().timeout <= Nanos::SECOND, "answers may take {}, above 1 s", show_duration(c.keys.get::<Dns>().timeout)))),
    defines("9.2", DNS64, "Every query is answered.", If(|c| all("the acceptance", c.trial.acceptance_ppm))),
    should("9.2", DNS64, "The test is repeated at least 20 times.", If(|c| repeated(c, 20))),
    must("9.2", DNS64, "No name is cached, and none has an AAAA record, at first.",
        If(|c| met_if!(c.keys.get::<Dns>().cached_ppm == 0 && c.keys.get::<Dns>().existing_ppm == 0, "some names are cached, or have an AAAA record"))),
    must("9.2", DNS64, "Tables and graphs of other shares name the fixed one.", Met("conditions of the report")),
    must("9.2.1", DNS64, "The tester passes a self-test without a device.", Met("calibration, within a quarter of the time-out")),
    should("10.1.2", OVERLOAD, "Several customer edges have one provider edge.", Named("the tester plays them, with `plays = \"pe\"`; a pair of devices has one customer edge")),
    defines("10.2", OVERLOAD, "The throughput with one flow is compared.",
        If(|c| match c.keys.get::<OverloadScalability>().flows {
            1 => Finding::Met,
            flows => never(&format!("the throughput with {flows} flows is compared, not that with one")),
        })),
    should("10.2", OVERLOAD, "The degradation is a share of the value with one flow.", Met("in per cent")),
    must("10.2", OVERLOAD, "The number of flows is reported.", Met("column or condition")),
    should("10.2", OVERLOAD, "All benchmarks are compared.", Named("the throughput alone")),
    should("12", OF_DATA, "Several repetitions, their median and percentiles.", Met("rows of each table")),
    must("13", OF_DATA, "The test network is isolated.", Met("natmeter sends between its own ports")),
]);
