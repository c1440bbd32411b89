//! RFC 6201, of resets.

use super::Check::{If, Met, Named, NotApplicable};
use super::check::{met_if, repeated};
use super::metrics::{NONE, RESETS};
use super::{Document, defines, must, rfc, should};
use crate::disruption::Reset;
use key::quantity::show_duration;
use method::Nanos;

/// The device forwards for so long before a reset.
const BEFORE: Nanos = Nanos::from_secs(15);

#[rustfmt::skip] // one row a line
pub(super) const RFC: Document = rfc("RFC 6201", "Device Reset Characterization", &[
    should("1.3", RESETS, "The more accurate of both methods.", Met("frame loss; the time stamps are values of their own")),
    should("1.4", RESETS, "Throughput, loss, reset time, number of trials, protocol and frame size.", Met("tables and conditions")),
    must("1.4", RESETS, "What may influence the reset time is listed.", Met("facts of the device, hook and bed")),
    must("1.4", NONE, "The distribution of mixed protocols.", NotApplicable("a trial has one protocol")),
    should("1.4", RESETS, "Several trials, and average results.", If(|c| repeated(c, 2))),
    should("3", RESETS, "Routes and neighbours are static.", Met("steps of `natmeter plan --steps`")),
    must("3", RESETS, "All devices have identical control and data planes.", Met("one scenario for all devices")),
    should("4.1", RESETS, "Resets need no human hand.", Met("the hook `reset`")),
    must("4.1", NONE, "Power interruption, if there are no line cards.", NotApplicable("a line card has no hook; `off` says how long power is off")),
    must("4.1.2", NONE, "The line card is on the path, and destinations are directly connected.", NotApplicable("a line card has no hook")),
    defines("4.1–4.3", RESETS, "The device forwards for at least 15 seconds before the reset.",
        If(|c| met_if!(c.keys.get::<Reset>().at >= BEFORE, "the device forwards for {} before a reset, below {}", show_duration(c.keys.get::<Reset>().at), show_duration(BEFORE)))),
    must("4.2.1", NONE, "Reset of the operating system.", Named("one kind of reset a run: that of the hook `reset`")),
    must("4.3.1", RESETS, "Power interruption, without the time of the interruption.", Met("`off` is subtracted")),
    must("5", RESETS, "The test network is isolated.", Met("natmeter sends between its own ports")),
]);
