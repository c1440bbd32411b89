//! RFC 9971, of MLRsearch. It concerns throughputs that are searched by it, and demands no values of goals: those of RFC 2544
//! throughput (its section 4.10.2) are rows of RFC 2544, sections 24 and 26.1.

use super::Check::{Met, Named};
use super::metrics::SEARCHED;
use super::{Document, must, rfc, should};

#[rustfmt::skip] // one row a line
pub(super) const RFC: Document = rfc("RFC 9971", "Multiple Loss Ratio Search", &[
    must("3", SEARCHED, "What claims compliance meets all absolute requirements.", Met("the rows below")),
    must("4.1.1", SEARCHED, "Departures from the trials of RFC 2544 are reported.", Met("departures of each report")),
    must("4.3", SEARCHED, "All units are stated.", Met("in each table")),
    should("4.4.3", SEARCHED, "Trials are those of RFC 2544.", Met("sections 23 and 24 are checked")),
    must("4.5.1", SEARCHED, "The duration of a trial is positive.", Met("1 ms at least")),
    must("4.5.2", SEARCHED, "Loads that are not constant or not equal are described.", Met("direction ratios are reported")),
    must("4.5.2", SEARCHED, "Each load says whether it is that of one interface.", Met("per direction, or total")),
    must("4.5.3", SEARCHED, "A trial has no input but duration and load.", Met("all else is fixed in a search")),
    must("4.5.4", SEARCHED, "Directions, meshes, modifiers and mixes of IP versions are reported.", Met("conditions")),
    must("4.5.5", SEARCHED, "The forwarding ratio is between 0 and 1.", Met("duplicates are not counted")),
    should("4.5.5", SEARCHED, "Frames expected are those that were intended to be sent.", Met("a trial whose frames were not all sent is invalid")),
    must("4.5.8", SEARCHED, "Effective durations that differ are explained.", Met("they are the durations")),
    should("4.5.9", SEARCHED, "Unknown attributes of outputs are ignored.", Met("there are none")),
    must("4.6.1–4.6.2", SEARCHED, "Final trial duration and duration sum are positive.", Met("read so")),
    should("4.6.1", SEARCHED, "All goals have one final trial duration.", Named("goals may differ: users decide")),
    should("4.6.2", SEARCHED, "The duration sum is not below the final trial duration.", Met("refused")),
    must("4.6.3–4.6.4", SEARCHED, "Loss ratio and exceed ratio are at least 0 and below 1.", Met("read so")),
    should("4.6.4", SEARCHED, "The exceed ratio is 50 %.", Named("`tst009`, `ndr` and `pdr` have it; RFC 2544 needs 0")),
    must("4.6.5", SEARCHED, "The width is positive, and its kind is reported.", Met("a share of the lower bound")),
    should("4.6.5", SEARCHED, "The width is relative, and not below the loss ratio.", Met("refused otherwise")),
    must("4.6.6", SEARCHED, "Shorter trials count, too.", Met("as in the code of appendix A")),
    should("4.6.7–4.6.8", SEARCHED, "Attributes have defaults; the order of goals matters little.", Met("presets; the first goal gives the figure")),
    must("4.6.8", SEARCHED, "No load is above the maximum load, or below the minimum one.", Met("`max-rate`, `min-rate`")),
    should("4.6.8", SEARCHED, "The minimum load is at least a frame a trial.", Met("always")),
    must("4.8.4", SEARCHED, "The relevant lower bound is displayed.", Met("the result of the first goal")),
    should("4.8.4", SEARCHED, "The relevant upper bound is displayed; conditional throughput is a part.", Met("goals of the report")),
    must("4.8.4", SEARCHED, "Of a regular result the bounds are at most the width apart.", Met("or it has a bound")),
    must("4.8.4", SEARCHED, "Values of irregular results are marked.", Met("≥, <, or no value")),
    must("4.8.5", SEARCHED, "Every goal has a result.", Met("goals of the report")),
    should("4.9.1", SEARCHED, "Tester and equipment are benchmarked first, and limit the load.", Met("calibration")),
    should("4.9.1", SEARCHED, "Severe differences of intended and offered load are loss.", Named("such trials are invalid (METHODOLOGY.md, validity)")),
    must("4.9.3", SEARCHED, "The report has the configuration, and all attributes of goals.", Met("facts and scenario")),
]);
