//! RFC 9004, which updates the back-to-back frames of RFC 2544.

use super::Check::{If, Met, Named};
use super::check::{at_least, met_if, repeated, throughput_is_measured};
use super::metrics::BURSTS;
use super::{Document, must, rfc, should};
use method::Nanos;

#[rustfmt::skip] // one row a line
pub(super) const RFC: Document = rfc("RFC 9004", "Updates for the Back-to-Back Frame Benchmark in RFC 2544", &[
    must("5", BURSTS, "The test bed and all else is that of RFC 2544.", Met("see there")),
    must("5", BURSTS, "Speed and protocol of the links give the maximum frame rate.", Met("the rate of the burst is reported; RFC 2544, section 26.4, is checked")),
    must("5", BURSTS, "The throughput is measured first.", If(throughput_is_measured)),
    must("5", BURSTS, "Throughput and bursts have the same directions and flows.", Met("one scenario")),
    must("5", BURSTS, "The throughput has no loss.",
        If(|c| met_if!(c.trial.acceptance_ppm >= 1_000_000 && c.search.goal.as_ref().is_none_or(|goal| goal.strict), "the throughput has loss"))),
    must("5", BURSTS, "The tester measures the bursts.", Met("by frames")),
    should("5", BURSTS, "Other causes of loss are found and removed.", Met("rules of validity")),
    must("6.2", BURSTS, "A trial has the burst, its reception, and two seconds after it.", If(|c| at_least("the wait after a burst is", c.trial.drain, Nanos::from_secs(2)))),
    must("6.2", BURSTS, "Bursts may last up to 30 seconds.", Met("`longest`")),
    must("6.2", BURSTS, "A result near the longest burst is measured again with a longer one.",
        If(|c| met_if!(!c.run.is_some_and(|run| run.lower_bound), "a result is a lower bound: longer bursts were not measured"))),
    must("6.2", BURSTS, "The search is a binary one of ETSI GS NFV-TST 009, and its parameters are reported.", Met("without loss verification")),
    must("6.2", BURSTS, "The smallest step is reported.", Met("the error of the search")),
    must("6.3", BURSTS, "The test is repeated, and every value kept.", If(|c| repeated(c, 2))),
    must("6.4", BURSTS, "Rates are in frames per second.", Met("always")),
    should("7", BURSTS, "A table of average, minimum, maximum and standard deviation.", Met("rows of each table")),
    must("7", BURSTS, "The number of repetitions is reported.", Met("a row of each table")),
    should("7", BURSTS, "Corrected buffer time.", Met("a part")),
    should("7", BURSTS, "The longest burst, if it is limited.", Met("a condition of the report")),
    should("7", BURSTS, "Buffer time at a rate of interest.", Named("its formula needs the corrected buffer time alone")),
    must("8", BURSTS, "The test network is isolated.", Met("natmeter sends between its own ports")),
]);
