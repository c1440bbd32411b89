//! RFC 2544, which predates RFC 2119 and has the key words with the same meanings (its section 5). Its trial description (section 23)
//! has no key word; RFC 8219, section 4, calls it a recommendation.

use super::Check::{If, Met, Named, NotApplicable};
use super::check::{
    Finding, all, at_least, counted, departure, met_if, never, repeated, throughput_is_measured, where_it_applies,
};
use super::metrics::{AT_LOADS, AT_SIZES, BURSTS, DELAY, LOSS, NONE, OF_DATA, RECOVERY, RESETS, SEARCHED, TRIALS};
use super::{Conditions, Document, defines, must, rfc, should};
use crate::back_to_back::BackToBack;
use crate::frame_loss::FrameLoss;
use crate::recovery::SystemRecovery;
use key::quantity::{show_duration, show_share};
use method::Nanos;

fn loads_are_near(c: &Conditions) -> Finding {
    let step = c.keys.get::<FrameLoss>().largest_step(c.traffic.widest);
    met_if!(step <= 100_000, "two loads differ by {} of the highest, above 10 %", show_share(step))
}

#[rustfmt::skip] // one row a line
pub(super) const RFC: Document = rfc("RFC 2544", "Benchmarking Methodology for Network Interconnect Devices", &[
    defines("6", TRIALS, "The tester sends frames to the device and receives them from it.", Met("natmeter's rules, below, name simulated devices")),
    must("7", OF_DATA, "The device is configured as its users are told.", Met("hooks and beds have the commands")),
    must("7", OF_DATA, "The device is not configured anew between tests, other than for a filter.", Met("a run configures a device once for a point of the matrix")),
    should("7", OF_DATA, "Routing updates and keep-alives have their usual intervals.", Named("routes are static")),
    must("7", OF_DATA, "The report has the version of the software and the exact configuration.", Met("facts of the device, and `commands.jsonl`")),
    should("8", OF_DATA, "Frames have the formats of appendix C.", Named("UDP to the ports of RFC 4814 in place of UDP Echo, and a tag in the payload")),
    must("8", OF_DATA, "The report has the formats of the frames.", Met("conditions of the report; METHODOLOGY.md")),
    should("9", AT_SIZES, "At least five frame sizes are measured, the smallest and the largest among them.",
        If(|c| where_it_applies(c.traffic.mix.is_none(), met_if!(c.traffic.sizes >= 5, "frames of {}, fewer than five", counted(c.traffic.sizes as u64, "size", "sizes"))))),
    should("9.1", AT_SIZES, "64, 128, 256, 512, 1024, 1280 and 1518 octets.", Met("`frame-size = \"rfc2544\"`")),
    should("9.2–9.3", NONE, "Frame sizes of token ring and FDDI.", NotApplicable("natmeter has ports of Ethernet alone")),
    should("9.4", NONE, "With links of different MTUs, the sizes of the larger one.", NotApplicable("both ports of a bed have one MTU")),
    should("10", OF_DATA, "Frames that are no test frames are not counted.", Met("by the tag of each frame")),
    should("10", OF_DATA, "The length of received frames is verified.", Met("each frame has the length of its trial")),
    should("10", OF_DATA, "Frames have sequence numbers; the report has reordered and duplicate frames and gaps.", Met("in each trial of the run folder, and in the JSON report")),
    should("11", OF_DATA, "The tests are repeated under each modifier.", Named("no modifiers: filters can be configured on the device; the other ones are missing")),
    should("11.1", OF_DATA, "1 % of the frames are broadcasts.", Named("natmeter sends no broadcast frame")),
    should("11.2", OF_DATA, "One management query a second.", Named("natmeter sends no management query")),
    should("11.3", OF_DATA, "Routing updates are sent in the trial.", Named("natmeter sends no routing update")),
    must("11.3", NONE, "Two different routing updates alternate.", NotApplicable("natmeter sends no routing update")),
    should("11.4", OF_DATA, "One filter, then 25 filters.", Named("filters are what is configured on the device")),
    should("12", OF_DATA, "One pair of addresses first.", Met("the default of `networks`, `inside` and `remote`")),
    should("12", OF_DATA, "Then random addresses, for routers in 256 networks.", Named("in a further run with `networks = 256`")),
    must("13", OF_DATA, "A routing update with all networks is sent to the device at the start of each trial.",
        If(|c| where_it_applies(c.traffic.networks > 1, met_if!(false, "routes to {} networks on each side are static, and no routing update is sent", c.traffic.networks)))),
    should("13", OF_DATA, "All addresses have one next hop.", Met("the address of the tester's port")),
    should("14", OF_DATA, "Both directions, with the same rate.",
        If(|c| met_if!(c.traffic.ratios.is_empty(), "the rates of the directions differ, left to right : right to left = {}", c.traffic.ratios.join(", ")))),
    should("14", OF_DATA, "Both directions (RFC 9693, section 4.7, has one direction as a case of phase 2).",
        If(|c| where_it_applies(c.device.stateless, met_if!(!c.traffic.one_way, "one direction only")))),
    should("15", OF_DATA, "One port in, one port out; all kinds of paths one by one.", Met("a bed has two ports")),
    must("16", NONE, "Several ports.", NotApplicable("a bed has two ports")),
    should("17", NONE, "Several protocols.", NotApplicable("the RFC leaves them open")),
    defines("18", AT_SIZES, "The frames of a trial have one size; mixes are left open.",
        If(|c| departure(c.traffic.mix.as_ref().map(|mix| format!("frames of several sizes in one trial, {mix}, as of RFC 6985"))))),
    should("20", OF_DATA, "The highest rate is the theoretical one of the medium.", Named("of ports it is their line rate, or what the tester reaches; in-process and veth links have none")),
    should("21", OF_DATA, "Bursts of 16, 64, 256 and 1,024 frames, too.", Named("natmeter has no bursty traffic")),
    should("22", NONE, "Frames per token.", NotApplicable("natmeter has ports of Ethernet alone")),
    should("23", TRIALS, "Two seconds before a trial.", If(|c| at_least("the wait before sending is", c.trial.start_delay, Nanos::from_secs(2)))),
    should("23", TRIALS, "Nothing but routing updates and learning frames before a trial.",
        If(|c| departure(c.trial.warm_up.map(|time| format!("{} of traffic that is not counted precede each trial", show_duration(time)))))),
    should("23", TRIALS, "Two seconds for frames that are still on their way.", If(|c| at_least("the drain after the last frame is", c.trial.drain, Nanos::from_secs(2)))),
    should("23", TRIALS, "Five seconds after a trial.", If(|c| at_least("the pause between trials is", c.trial.settle, Nanos::from_secs(5)))),
    should("24", AT_LOADS, "The trials that decide last at least 60 seconds.",
        If(|c| at_least(&c.search.goal.as_ref().filter(|_| c.trial.is_of_goal).map_or("trials last".to_owned(), |goal| format!("trials of goal `{}` last", goal.name)), c.trial.length, Nanos::from_secs(60)))),
    should("24", SEARCHED, "The trials that decide have their full length.",
        If(|c| met_if!(!c.search.early_end, "trials that have failed beyond doubt end before their full length"))),
    should("25", OF_DATA, "Address resolution is answered.", Met("by the tester's ports; over beds by `natmeter`")),
    defines("26.1", SEARCHED, "A trial passes if each frame that was sent is received.", If(|c| all("the acceptance", c.trial.acceptance_ppm))),
    defines("26.1", SEARCHED, "If fewer frames are received than sent, the rate is reduced.",
        If(|c| met_if!(c.search.tries <= 1, "a rate fails only after {} failed trials, as of ETSI GS NFV-TST 009", c.search.tries))),
    defines("26.1", SEARCHED, "The throughput is the highest rate without loss.",
        If(|c| departure(c.search.goal.as_ref().filter(|goal| !goal.strict).map(|goal| format!("the result is that of goal `{}` of MLRsearch, which tolerates loss", goal.name))))),
    should("26.1", SEARCHED, "A graph of the rate over the frame size, with the line of the medium's rate.", Named("the figure of swept sizes has no line of the medium's rate")),
    must("26.1", SEARCHED, "A single value is in frames per second, with frame size, limit of the medium and protocol.", Met("conditions of the report")),
    should("26.2", DELAY, "One tagged frame after 60 of at least 120 seconds.", Met("RFC 8219, section 7.2, replaces it")),
    must("26.2", DELAY, "The receiver recognises the tag and records its time.", Met("a bit of the tag")),
    must("26.2", DELAY, "The test is repeated at least 20 times.", If(|c| repeated(c, 20))),
    must("26.2", DELAY, "The average is reported.", Met("beside the median, which RFC 8219 reports")),
    should("26.2", DELAY, "Also with tagged frames to a new network each.", Named("tagged frames go where the other ones go")),
    must("26.2", DELAY, "The report says which definition of RFC 1242 it uses.", Met("the section on delays says: that of store and forward devices")),
    should("26.2", DELAY, "A table with a row for each frame size.", Met("a column for each value of an axis")),
    should("26.3", LOSS, "The first load is the maximum rate of the medium.", Named("it is the upper end of the searches, or that of `loads`")),
    should("26.3", LOSS, "Loads fall until two trials have no loss.", Met("unless `loads` gives all of them")),
    must("26.3", LOSS, "Two loads differ by at most 10 % of the maximum rate.",
        If(loads_are_near)),
    must("26.3", LOSS, "A graph has 0 to 100 % of the medium's rate and 0 to 100 % of loss as its axes.",
        If(|_| never("100 % of the figure's load is the highest load, which need not be the medium's rate, and its loss ends above the largest measured"))),
    defines("26.4", BURSTS, "Bursts have the minimum gap between frames.",
        If(|_| never("bursts leave at the upper end of all searches, which need not be the minimum gap of a medium"))),
    must("26.4", BURSTS, "A trial lasts at least 2 seconds.", If(|c| at_least("bursts last at most", c.keys.get::<BackToBack>().longest, Nanos::from_secs(2)))),
    should("26.4", BURSTS, "The test is repeated at least 50 times (RFC 9004, section 6.3, leaves the number open).", Named("RFC 9004 replaces it")),
    should("26.4", BURSTS, "The average is reported.", Met("beside the median")),
    should("26.4", BURSTS, "A table with a row for each frame size.", Met("a column for each value of an axis")),
    defines("26.5", RECOVERY, "The overload of 110 % of the throughput lasts at least 60 seconds.",
        If(|c| at_least("the overload lasts", c.keys.get::<SystemRecovery>().overload, Nanos::from_secs(60)))),
    defines("26.5", RECOVERY, "The throughput is determined first.", If(throughput_is_measured)),
    should("26.5", RECOVERY, "The test is repeated, and the average is reported.", Met("beside the median")),
    should("26.5", RECOVERY, "A table with a row for each frame size.", Met("a column for each value of an axis")),
    defines("26.6", RESETS, "Frames of the smallest size at the throughput.", If(throughput_is_measured)),
    should("26.6", RESETS, "The networks are directly connected.", Met("unless `networks` says otherwise")),
    should("26.6", RESETS, "Hardware, software and power resets.", Named("one kind a run: that of the hook `reset`")),
    should("26.6", RESETS, "One statement for each kind.", Met("the sentences of the report")),
]);
