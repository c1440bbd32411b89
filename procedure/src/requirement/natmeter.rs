//! What no RFC demands: the published practice of measurements with RFC 9693, and natmeter's own rules, which hold for every metric.

use super::Check::If;
use super::check::{Finding, at_least, counted, departure, in_a_run, met_if, never, repeated, stateful};
use super::metrics::{EVERY, TEN_TIMES};
use super::{Conditions, Document, Nature, defines, rules, should};
use key::quantity::{show_duration, show_grouped};
use method::Nanos;

/// Whether what is measured is a device that forwards frames as it can.
fn real(c: &Conditions) -> Finding {
    match c.device.nature {
        Nature::Real => Finding::Met,
        Nature::Injected => never("the device has known faults and limits, which the scenario injects"),
        Nature::Simulated => never("the device is simulated: no frame is sent"),
    }
}

#[rustfmt::skip] // one row a line
pub(super) const PRACTICE: Document = rules("published practice", "Measurements of Lencse, Shima and others with siitperf", &[
    should("", TEN_TIMES, "Ten repetitions.", If(|c| repeated(c, 10))),
    should("", EVERY, "No repetition is left out.",
        If(|c| departure(c.repetitions.time_limit.map(|limit| format!("repetitions are skipped if {} do not suffice for all", show_duration(limit)))))),
    should("", EVERY, "Repetitions are independent.",
        If(|c| met_if!(!c.search.warm_start, "searches begin at the bounds of earlier ones, so that repetitions are not independent"))),
    should("", EVERY, "Phase 1 drains for 500 ms.", If(|c| stateful(c, at_least("the drain of phase 1 is", c.phase1.drain, Nanos::from_millis(500))))),
]);

#[rustfmt::skip] // one row a line
pub(super) const RULES: Document = rules("", "natmeter's rules (METHODOLOGY.md)", &[
    defines("", EVERY, "The device forwards frames, as it can (RFC 2544, section 6).", If(real)),
    defines("", EVERY, "Nothing impairs frames on purpose.",
        If(|c| departure(c.path.impaired.as_ref().map(|how| format!("frames are impaired on purpose: {how}"))))),
    defines("", EVERY, "No frame is captured during the measurements.", If(|c| met_if!(!c.path.captured, "frames are captured during the measurements"))),
    defines("", EVERY, "The tester's self-test passed.", If(|c| in_a_run(c, |run| met_if!(!run.self_test_failed, "the tester's self-test failed")))),
    defines("", EVERY, "No trial is discarded: RFC 2544 has no invalid trials.",
        If(|c| in_a_run(c, |run| met_if!(run.discarded == 0, "{} of {} were discarded as invalid; RFC 2544 has no invalid trials", show_grouped(run.discarded), counted(run.trials, "trial",
            "trials"))))),
    defines("", EVERY, "Each connection is opened once.",
        If(|c| in_a_run(c, |run| met_if!(run.resent == 0, "phase 1 before phase 2 opened {} again after losses in the host", counted(run.resent, "connection",
            "connections"))))),
    defines("", EVERY, "Each search reaches its precision.",
        If(|c| in_a_run(c, |run| met_if!(run.ended_early == 0, "{} ended before reaching the requested precision", counted(run.ended_early, "search",
            "searches"))))),
    defines("", EVERY, "Tester and device have cores of their own.", If(|c| in_a_run(c, |run| met_if!(!run.shares_core, "tester and device share a core")))),
]);
