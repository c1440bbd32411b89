//! What one trial is worth: pass, fail or nothing at all. Its own file because this is the judgement on
//! which every printed number rests: a tester that did not send on time, or that dropped frames itself,
//! measured nothing, and a host that stalled measured itself (invariant 9).
//!
//! The rules in order, for all legs that send at the same time:
//!
//! 1. Link lost, drops in the tester's own sockets or rings, more received than sent: *invalid*. A loss that
//!    remains although every frame that the tester dropped is taken for received is the DUT's in any case.
//!    Drops of a tester that was off its core for longer than the queues last are the host's.
//! 2. Last frame later than max(0.001 % of the planned send time, 100 µs): *invalid*, unless the DUT works
//!    inside the sender's thread ([`Loop::is_closed`]) and the tester's own share would have met the schedule:
//!    then a *fail*, marked closed loop. A stall that explains the lateness makes it the host's.
//! 3. Fewer frames sent than asked for: *invalid*. Asked for by the specification, not by the sender's own
//!    plan, so that a count that wrapped in the tester shows.
//! 4. Fewer right frames received than ceil(acceptance × sent): a *fail* (RFC 2544 section 26.1; RFC 9693
//!    sections 4.5 to 4.7), unless the host's own noise can explain the loss: then *invalid*, the host's.
//! 5. Otherwise a *pass*; catch-up bursts do not spoil it, the DUT took them without loss.
//!
//! Duplicates, late, foreign and wrong frames make up for no loss and invalidate nothing: they are not
//! `received`.

use crate::ratio::Ratio;
use crate::trial::{Direction, HostNoise, Leg, Loop, PhaseKind, TrialError, TrialOutcome, TrialSpec};
use crate::units::{Count, Nanos, Rate};
pub use crate::verdict::{FailReason, Failure, Invalid, Spoiler, Stream, Verdict};
use serde::{Deserialize, Serialize};

/// A sender may finish this much later than planned, whatever the duration.
pub const LATE_FLOOR: Nanos = Nanos(100_000);
/// A sender may finish later by this part of the planned send time: 1/100,000 is 0.001 %.
pub const LATE_PART: u64 = 100_000;
/// Phase 1 needs this many times more connections than the path can buffer.
pub const BUFFER_FACTOR: u64 = 100;
/// Only the longest stall of a trial is known; this many of its kind are held possible.
pub const STALLS_HELD_POSSIBLE: u64 = 10;
/// A sender of which this part of all frames left in catch-up bursts is too slow: 1/10.
pub const UNEVEN_PART: u64 = 10;
/// Where no queue is known, a thread off its core for no longer than any sender may be late explains no loss.
pub const QUEUE_UNKNOWN: Nanos = LATE_FLOOR;

/// What counts as a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Criteria {
    /// Smallest accepted share of received to sent frames; 1 by RFC 2544.
    pub acceptance: Ratio,
    /// The same for phase 1 and its validation; 1 by RFC 9693. A setting of its own, because a tolerance
    /// in phase 1 fakes an establishment rate that rises with the number of connections.
    pub phase1_acceptance: Ratio,
}

impl Default for Criteria {
    fn default() -> Self {
        Criteria { acceptance: Ratio::ONE, phase1_acceptance: Ratio::ONE }
    }
}

/// Judge one trial.
pub fn judge(spec: &TrialSpec, outcome: &TrialOutcome, criteria: &Criteria) -> Verdict {
    match fault(spec, outcome, criteria) {
        Ok(()) => Verdict::Pass,
        Err(verdict) => verdict,
    }
}

/// How late the last frame of a trial with this planned send time may leave.
pub fn late_limit(planned: Nanos) -> Nanos {
    LATE_FLOOR.max(Nanos(planned.0 / LATE_PART))
}

/// Refuse a phase 1 that would measure the path's buffers instead of the DUT: with fewer than 100 times as
/// many connections as frames that fit into queues on the way, the queues take a visible part of the burst.
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

/// A stream as it is judged: what it had to do and what it did.
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
    // With a tolerance in phase 1 the Responder knows fewer connections than were asked for.
    let learned = outcome.store.as_ref().map_or(spec.connections, |store| store.learned);
    let frames = learned.min(spec.connections);
    let acceptance = criteria.phase1_acceptance;
    let send_time = rate.time_for(frames);
    judge_together(&[Part { stream: Stream::Validation, leg, frames, send_time, rate, acceptance }], outcome)
}

/// What the host did that can explain what a preparing phase 1 lost: then it says nothing about the DUT's set-up rate, and
/// is no reason to go slower.
fn host_in_phase1(spec: &TrialSpec, outcome: &TrialOutcome, criteria: &Criteria) -> Option<Invalid> {
    let Some(leg) = &outcome.phase1 else {
        // Records of versions that kept no more than the stalls are judged as they were.
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

/// What the tester's own drops say about the trial: nothing, if there were none, or if a stream misses its
/// acceptance even with all of them added to what it received.
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

/// Judge streams that were sent at the same time: validity of all of them first, then their losses.
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

/// A late sender is the tester's fault, or the host's where a stall explains it, or in a closed loop the
/// DUT's.
fn judge_late(part: &Part<'_>, parts: &[Part<'_>], outcome: &TrialOutcome) -> Verdict {
    let late = part.leg.timing.finished_late;
    let limit = late_limit(part.send_time);
    // Had it not been kept from its core, the sender would have been in time; no queue helps against that. In a closed loop
    // threads of the kernel that do the DUT's work keep it from its core, too.
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

/// Whether the tester alone would have met the schedule. In a closed loop both directions usually share one
/// thread, so their own times are added; where they do not, this errs towards "tester's bound" and never
/// blames the DUT for the tester's time. A sender that gave up is taken at the pace that it had.
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

/// A thread that was off its core.
struct OffCore {
    of_dut: bool,
    time: Nanos,
    /// How many times over frames may have been due in that time.
    times: u64,
    reason: Invalid,
}

/// Who was off its core for longer than the queues last, which may cost frames.
fn off_core(outcome: &TrialOutcome) -> impl Iterator<Item = OffCore> {
    let bridged = bridged(outcome);
    ever_off_core(outcome).filter(move |off| off.time > bridged)
}

fn bridged(outcome: &TrialOutcome) -> Nanos {
    outcome.host.queue_lasts.unwrap_or(QUEUE_UNKNOWN)
}

/// Who was off its core, however short: by the longest stall, of which there may have been more, and by the scheduler's run
/// delay, which is the sum of all.
///
/// In a closed loop the tester's run delay says nothing about the host where the DUT's work may be done by threads of
/// the kernel on the tester's own core: waiting for these is waiting for the DUT.
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

/// What the host did that can explain the loss, if anything.
///
/// Noise disturbs the frames that it touches: those that left in catch-up bursts too large for half of the
/// queue in front of the DUT, where that is known, and those that were due
/// while a thread was off its core. A loss that is larger than all of them is the DUT's in any case. In a
/// closed loop the DUT's own work makes the sender catch up, so only stalls count there.
fn host_noise(parts: &[Part<'_>], outcome: &TrialOutcome) -> Option<Invalid> {
    let lost: Count = parts.iter().map(|part| part.leg.lost()).fold(0, Count::saturating_add);
    let mut touched: Count = 0;
    let mut noise = None;
    for part in parts {
        let timing = &part.leg.timing;
        // What the queue in front of the DUT holds twice over is no reason for a loss.
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

/// Whose fault catch-up bursts were. A stall is followed by one burst; who sends a tenth of all frames in bursts although
/// nothing kept it from its core for that long is too slow for the rate, and more trials will not help.
fn burst(part: &Part<'_>, outcome: &TrialOutcome) -> Invalid {
    let (stream, timing) = (part.stream, &part.leg.timing);
    let off: Nanos = off_core(outcome).filter(|off| !off.of_dut).map(|off| off.time).max().unwrap_or_default();
    let kept = part.rate.frames_in(off).saturating_mul(2);
    if timing.crowded.saturating_sub(kept) >= part.leg.sent / UNEVEN_PART {
        return Invalid::SenderUneven { stream, crowded: timing.crowded, sent: part.leg.sent };
    }
    Invalid::HostBurst { stream, declared: timing.burst.max(1), worst: timing.worst_burst }
}
