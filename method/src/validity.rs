//! The verdict on one trial: pass, fail or invalid. A trial is invalid if the tester did not send on time or dropped
//! frames itself, or if host noise can explain the losses (invariant 9).
//!
//! The rules, in order, for all legs that send at the same time:
//!
//! 1. Link lost, drops in the tester's own sockets or rings, or more frames received than sent: *invalid*. If a loss
//!    remains even with all dropped frames counted as received, it is the DUT's. Drops while the tester was preempted
//!    for longer than the queues absorb are host noise.
//! 2. Last frame later than max(0.001 % of the planned send time, 100 µs): *invalid*; the cause is the host if a stall
//!    explains the lateness, otherwise the tester. In a closed loop ([`Loop::is_closed`]) in which the tester alone
//!    would have met the schedule: *fail*, marked closed loop.
//! 3. Fewer frames sent than the specification requires: *invalid*. The sender's own plan does not count, so that a
//!    wrapped counter in the tester is found.
//! 4. Fewer right frames received than ceil(acceptance × sent): *fail* (RFC 2544 section 26.1; RFC 9693 sections 4.5
//!    to 4.7), or *invalid* if host noise can explain the loss.
//! 5. Otherwise *pass*, even with catch-up bursts, because the DUT forwarded them without loss.
//!
//! Duplicates, late, foreign and wrong frames do not count as `received`. They neither compensate for a loss nor make a
//! trial invalid.

use crate::ratio::Ratio;
use crate::trial::{Direction, HostNoise, Leg, Loop, PhaseKind, TrialError, TrialOutcome, TrialSpec};
use crate::units::{Count, Nanos, Rate};
pub use crate::verdict::{FailReason, Failure, Invalid, Spoiler, Stream, Verdict};
use serde::{Deserialize, Serialize};

/// Allowed lateness of a sender, for any duration.
pub const LATE_FLOOR: Nanos = Nanos(100_000);
/// Allowed lateness of a sender as a part of the planned send time: 1/100,000 is 0.001 %.
pub const LATE_PART: u64 = 100_000;
/// Phase 1 needs this many times more connections than the path can buffer.
pub const BUFFER_FACTOR: u64 = 100;
/// Only the longest stall of a trial is known; this many stalls of the same length are assumed.
pub const STALLS_HELD_POSSIBLE: u64 = 10;
/// A sender is too slow if this part of its frames left in catch-up bursts: 1/10.
pub const UNEVEN_PART: u64 = 10;
/// If no queue is known, a stall no longer than the allowed lateness explains no loss.
pub const QUEUE_UNKNOWN: Nanos = LATE_FLOOR;

/// The criteria for a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Criteria {
    /// Smallest accepted share of received to sent frames; 1 by RFC 2544.
    pub acceptance: Ratio,
    /// Acceptance for phase 1 and its validation; 1 by RFC 9693. It is a separate setting, because a loss tolerance in
    /// phase 1 gives an establishment rate that seems to rise with the number of connections.
    pub phase1_acceptance: Ratio,
}

impl Default for Criteria {
    fn default() -> Self {
        Criteria { acceptance: Ratio::ONE, phase1_acceptance: Ratio::ONE }
    }
}

/// Judges one trial.
pub fn judge(spec: &TrialSpec, outcome: &TrialOutcome, criteria: &Criteria) -> Verdict {
    match fault(spec, outcome, criteria) {
        Ok(()) => Verdict::Pass,
        Err(verdict) => verdict,
    }
}

/// Returns how late the last frame of a trial with this planned send time may leave.
pub fn late_limit(planned: Nanos) -> Nanos {
    LATE_FLOOR.max(Nanos(planned.0 / LATE_PART))
}

/// Refuses a phase 1 that would measure the path's buffers instead of the DUT: it needs at least 100 times as many
/// connections as the queues on the path hold frames.
///
/// # Errors
/// [`TrialError::Refused`] naming the number of connections needed.
pub fn check_buffers(connections: Count, buffered: Count) -> Result<(), TrialError> {
    let needed = buffered.saturating_mul(BUFFER_FACTOR);
    if connections < needed {
        return Err(TrialError::Refused(format!(
            "buffer-bound: {connections} connections against {buffered} frames that the path can buffer; \
             use at least {needed} connections or shorter queues"
        )));
    }
    Ok(())
}

/// Whether the DUT's table changed during a phase 2 trial: connections were created or lost where none
/// may be (RFC 9693 section 4.4). A flag on the result, not a verdict.
pub fn table_changed(outcome: &TrialOutcome) -> bool {
    outcome.store.as_ref().is_some_and(|store| match (store.dut_entries, store.dut_entries_after) {
        (Some(before), Some(after)) => before != after,
        _ => false,
    })
}

/// A stream to judge: its specification and its outcome.
#[derive(Clone, Copy)]
struct Part<'a> {
    stream: Stream,
    leg: &'a Leg,
    frames: Count,
    send_time: Nanos,
    rate: Rate,
    acceptance: Ratio,
}

impl Part<'_> {
    fn needed(&self) -> Count {
        self.acceptance.ceil_of(self.leg.sent)
    }
    fn late(&self) -> bool {
        self.leg.timing.finished_late > late_limit(self.send_time)
    }
}

fn fault(spec: &TrialSpec, outcome: &TrialOutcome, criteria: &Criteria) -> Result<(), Verdict> {
    let invalid = |reason| Err(Verdict::Invalid(reason));
    if outcome.host.link_lost {
        return invalid(Invalid::LinkLost);
    }
    if let Some(reason) = tester_dropped(spec, outcome, criteria) {
        return invalid(reason);
    }
    if let (PhaseKind::Established, Some(store)) = (spec.kind, &outcome.store) {
        let needed = criteria.phase1_acceptance.ceil_of(spec.connections);
        if store.learned < needed {
            let host = host_in_phase1(spec, outcome, criteria);
            return invalid(host.unwrap_or(Invalid::Phase1Incomplete { learned: store.learned, needed }));
        }
    }
    judge_together(&main_parts(spec, outcome, criteria), outcome)?;
    let Some(rate) = spec.validate_rate else { return Ok(()) };
    let Some(leg) = &outcome.validation else { return invalid(Invalid::ValidationMissing) };
    // With a loss tolerance in phase 1, the Responder may have learned fewer connections than requested.
    let learned = outcome.store.as_ref().map_or(spec.connections, |store| store.learned);
    let frames = learned.min(spec.connections);
    let acceptance = criteria.phase1_acceptance;
    let send_time = rate.time_for(frames);
    judge_together(&[Part { stream: Stream::Validation, leg, frames, send_time, rate, acceptance }], outcome)
}

/// Returns host noise that can explain the losses of a preparing phase 1. If there is any, the losses say nothing about
/// the DUT, and the rate of phase 1 need not be lowered.
fn host_in_phase1(spec: &TrialSpec, outcome: &TrialOutcome, criteria: &Criteria) -> Option<Invalid> {
    let Some(leg) = &outcome.phase1 else {
        // Records of older versions have only stalls; they keep their verdicts.
        return off_core(outcome).next().map(|off| off.reason);
    };
    let rate = outcome.store.as_ref().and_then(|store| store.phase1_rate).or(spec.phase1_rate).unwrap_or(spec.rate);
    let (frames, send_time) = (leg.planned, rate.time_for(leg.planned));
    let part = Part { stream: Stream::Forward, leg, frames, send_time, rate, acceptance: criteria.phase1_acceptance };
    host_noise(&[part], outcome).filter(|reason| reason.spoiler() == Spoiler::Host)
}

fn main_parts<'a>(spec: &TrialSpec, outcome: &'a TrialOutcome, criteria: &Criteria) -> Vec<Part<'a>> {
    let acceptance = match spec.kind {
        PhaseKind::Establish => criteria.phase1_acceptance,
        PhaseKind::Stateless | PhaseKind::Established => criteria.acceptance,
    };
    // Only the Initiator may open connections.
    let direction = match spec.kind {
        PhaseKind::Establish => Direction::Forward,
        PhaseKind::Stateless | PhaseKind::Established => spec.direction,
    };
    let part = |stream, leg| Part {
        stream,
        leg,
        frames: spec.frames(),
        send_time: spec.send_time(),
        rate: spec.rate,
        acceptance,
    };
    let mut parts = Vec::with_capacity(2);
    if direction.forward() {
        parts.push(part(Stream::Forward, &outcome.forward));
    }
    if direction.reverse() {
        parts.push(part(Stream::Reverse, &outcome.reverse));
    }
    parts
}

/// Judges the tester's own drops. Returns none without drops, or if a stream would miss its acceptance even with all
/// drops counted as received.
fn tester_dropped(spec: &TrialSpec, outcome: &TrialOutcome, criteria: &Criteria) -> Option<Invalid> {
    let frames = outcome.host.tester_drops;
    let beyond = |leg: &Leg, needed: Count| leg.received.saturating_add(frames) < needed;
    let validated = outcome.validation.as_ref();
    if frames == 0
        || main_parts(spec, outcome, criteria).iter().any(|part| beyond(part.leg, part.needed()))
        || validated.is_some_and(|leg| beyond(leg, criteria.phase1_acceptance.ceil_of(leg.sent)))
        || outcome.phase1.as_ref().is_some_and(|leg| beyond(leg, criteria.phase1_acceptance.ceil_of(leg.sent)))
    {
        return None;
    }
    let host = off_core(outcome).find(|off| !off.of_dut).map(|off| off.reason);
    Some(host.unwrap_or(Invalid::TesterDrops { frames }))
}

/// Judges streams that were sent at the same time: first the validity of all of them, then their losses.
fn judge_together(parts: &[Part<'_>], outcome: &TrialOutcome) -> Result<(), Verdict> {
    for part in parts {
        counters_agree(part).map_err(Verdict::Invalid)?;
    }
    if let Some(part) = parts.iter().find(|part| part.late()) {
        return Err(judge_late(part, parts, outcome));
    }
    for part in parts {
        let planned = part.frames.max(part.leg.planned);
        if part.leg.sent < planned {
            return Err(Verdict::Invalid(Invalid::SentTooFew { stream: part.stream, planned, sent: part.leg.sent }));
        }
    }
    let Some(part) = parts.iter().find(|part| part.leg.received < part.needed()) else { return Ok(()) };
    if let Some(noise) = host_noise(parts, outcome) {
        return Err(Verdict::Invalid(noise));
    }
    let leg = part.leg;
    let reason =
        FailReason::Loss { stream: part.stream, sent: leg.sent, received: leg.received, needed: part.needed() };
    Err(Verdict::Fail(Failure { reason, closed_loop: outcome.dut_loop.is_closed() }))
}

fn counters_agree(part: &Part<'_>) -> Result<(), Invalid> {
    let (stream, leg) = (part.stream, part.leg);
    if part.frames == 0 {
        return Err(Invalid::NothingToSend { stream });
    }
    if leg.received > leg.sent {
        return Err(Invalid::MoreReceivedThanSent { stream, sent: leg.sent, received: leg.received });
    }
    Ok(())
}

/// Judges a late sender: the cause is the host if a stall explains the lateness, in a closed loop the DUT, and
/// otherwise the tester.
fn judge_late(part: &Part<'_>, parts: &[Part<'_>], outcome: &TrialOutcome) -> Verdict {
    let late = part.leg.timing.finished_late;
    let limit = late_limit(part.send_time);
    // Without the stall the sender would have been on time; queues do not help a late sender. In a closed loop, kernel
    // threads that do the DUT's work may also preempt the sender, so shorter stalls do not count.
    let noticed = if outcome.dut_loop == Loop::Closed { bridged(outcome) } else { bridged(outcome).min(LATE_FLOOR) };
    let explains =
        |off: &OffCore| !off.of_dut && off.time > noticed && late <= Nanos(limit.0.saturating_add(off.time.0));
    if let Some(off) = ever_off_core(outcome).find(explains) {
        return Verdict::Invalid(off.reason);
    }
    if outcome.dut_loop.is_closed() && own_share_fits(parts) {
        return Verdict::Fail(Failure {
            reason: FailReason::Late { stream: part.stream, late, limit },
            closed_loop: true,
        });
    }
    Verdict::Invalid(Invalid::SenderLate { stream: part.stream, late, limit })
}

/// Whether the tester alone would have met the schedule. In a closed loop both directions usually share one thread, so
/// their times are added. If they do not, the error is towards tester-limited, and the DUT is never blamed for the
/// tester's time. For a sender that gave up, its time is extrapolated.
fn own_share_fits(parts: &[Part<'_>]) -> bool {
    let own: u128 = parts
        .iter()
        .map(|part| {
            let own = u128::from(part.leg.timing.own_time.0);
            own * u128::from(part.frames) / u128::from(part.leg.sent.clamp(1, part.frames))
        })
        .fold(0, u128::saturating_add);
    parts.iter().all(|part| own <= u128::from(part.send_time.0))
}

/// A thread that was stalled or preempted.
struct OffCore {
    of_dut: bool,
    time: Nanos,
    /// Assumed number of such stalls.
    times: u64,
    reason: Invalid,
}

/// Returns the threads that were stalled for longer than the queues absorb, which may cost frames.
fn off_core(outcome: &TrialOutcome) -> impl Iterator<Item = OffCore> {
    let bridged = bridged(outcome);
    ever_off_core(outcome).filter(move |off| off.time > bridged)
}

fn bridged(outcome: &TrialOutcome) -> Nanos {
    outcome.host.queue_lasts.unwrap_or(QUEUE_UNKNOWN)
}

/// Returns all stalled threads, even for short stalls: by the longest stall, of which there may have been several, and
/// by the run delay, which is the sum of all.
///
/// In a closed loop in which kernel threads may do the DUT's work on the tester's core, the tester's run delay is no
/// host noise: the tester waits for the DUT.
fn ever_off_core(outcome: &TrialOutcome) -> impl Iterator<Item = OffCore> {
    let HostNoise { tester_stall, dut_stall, tester_run_delay, dut_run_delay, queue_lasts, .. } = outcome.host;
    let tester_run_delay = tester_run_delay.filter(|_| outcome.dut_loop != Loop::Closed);
    [(false, tester_stall, tester_run_delay), (true, dut_stall, dut_run_delay)].into_iter().flat_map(
        move |(of_dut, stall, delay)| {
            let delay = delay.unwrap_or_default();
            let stalled = Invalid::HostStall { of_dut, stall, queue_lasts };
            let waited = Invalid::HostRunDelay { of_dut, delay, queue_lasts };
            [(stall, STALLS_HELD_POSSIBLE, stalled), (delay, 1, waited)].map(|(time, times, reason)| OffCore {
                of_dut,
                time,
                times,
                reason,
            })
        },
    )
}

/// Returns host noise that can explain the loss.
///
/// Host noise can affect two groups of frames: frames in catch-up bursts that exceed half of the queue in front of the
/// DUT, if that queue is known; and frames that were due while a thread was stalled. A loss larger than both groups is
/// the DUT's. In a closed loop the DUT's own work causes catch-up bursts, so only stalls count there.
fn host_noise(parts: &[Part<'_>], outcome: &TrialOutcome) -> Option<Invalid> {
    let lost: Count = parts.iter().map(|part| part.leg.lost()).fold(0, Count::saturating_add);
    let mut touched: Count = 0;
    let mut noise = None;
    for part in parts {
        let timing = &part.leg.timing;
        // A burst of at most half of the queue in front of the DUT explains no loss.
        let harmless = outcome.host.dut_queue.unwrap_or(0) / 2;
        if Count::from(timing.worst_burst) > harmless.max(timing.burst.max(1).into()) && outcome.dut_loop == Loop::Open
        {
            touched = touched.saturating_add(timing.crowded.max(timing.worst_burst.into()));
            noise = noise.or(Some(burst(part, outcome)));
        }
    }
    let due = |time: Nanos| {
        parts.iter().map(|part| part.rate.frames_in(time).saturating_add(1)).fold(0, Count::saturating_add)
    };
    for off in off_core(outcome) {
        touched = touched.saturating_add(due(off.time).saturating_mul(off.times));
        noise = noise.or(Some(off.reason));
    }
    if lost <= touched { noise } else { None }
}

/// Returns the cause of catch-up bursts. One burst follows each stall. A sender that sends a tenth of all frames in
/// bursts without such stalls is too slow for the rate, and more trials will not help.
fn burst(part: &Part<'_>, outcome: &TrialOutcome) -> Invalid {
    let (stream, timing) = (part.stream, &part.leg.timing);
    let off: Nanos = off_core(outcome).filter(|off| !off.of_dut).map(|off| off.time).max().unwrap_or_default();
    let kept = part.rate.frames_in(off).saturating_mul(2);
    if timing.crowded.saturating_sub(kept) >= part.leg.sent / UNEVEN_PART {
        return Invalid::SenderUneven { stream, crowded: timing.crowded, sent: part.leg.sent };
    }
    Invalid::HostBurst { stream, declared: timing.burst.max(1), worst: timing.worst_burst }
}
