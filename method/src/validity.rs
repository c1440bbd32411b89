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
//!    inside the sender's thread ([`Loop::Closed`]) and the tester's own share would have met the schedule:
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
use serde::{Deserialize, Serialize};
use std::fmt;

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

/// A stream of frames inside a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stream {
    /// Left to Right.
    Forward,
    /// Right to Left.
    Reverse,
    /// Right to Left, one frame on each connection after phase 1.
    Validation,
}

impl fmt::Display for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Stream::Forward => "Left to Right",
            Stream::Reverse => "Right to Left",
            Stream::Validation => "validation",
        })
    }
}

/// What one trial is worth.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Every stream met its acceptance.
    Pass,
    /// The DUT did not carry this rate.
    Fail(Failure),
    /// Neither: the trial measured the tester or its host.
    Invalid(Invalid),
}

/// How the DUT failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Failure {
    /// What was missed.
    pub reason: FailReason,
    /// The DUT's work was done inside the sender's thread: the figure is that of DUT and tester together,
    /// printed as "closed loop, tester included".
    pub closed_loop: bool,
}

/// What a failed trial missed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FailReason {
    /// Fewer right frames arrived than accepted.
    Loss {
        /// The stream with the loss.
        stream: Stream,
        /// Frames sent.
        sent: Count,
        /// Distinct right frames received.
        received: Count,
        /// Frames that had to be received.
        needed: Count,
    },
    /// The schedule was not met although the tester's own share would have met it.
    Late {
        /// The stream that was late.
        stream: Stream,
        /// How late its last frame was.
        late: Nanos,
        /// How late it may have been.
        limit: Nanos,
    },
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.reason {
            FailReason::Loss { stream, sent, received, needed } => {
                write!(f, "{stream}: {received} of {sent} frames received, {needed} needed")?;
            }
            FailReason::Late { stream, late, limit } => {
                write!(f, "{stream}: the last frame left {} late, {} allowed", show(late), show(limit))?;
            }
        }
        if self.closed_loop { f.write_str(" (closed loop, tester included)") } else { Ok(()) }
    }
}

/// Why a trial measured nothing. As text: what happened; [`Invalid::advice`]: what to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Invalid {
    /// The tester did not keep its schedule.
    SenderLate {
        /// The stream that was late.
        stream: Stream,
        /// How late its last frame was.
        late: Nanos,
        /// How late it may have been.
        limit: Nanos,
    },
    /// The tester kept its schedule only in bursts, although nothing kept it from its core.
    SenderUneven {
        /// The stream.
        stream: Stream,
        /// Frames that left in catch-up bursts.
        crowded: Count,
        /// Frames sent.
        sent: Count,
    },
    /// The tester sent fewer frames than it was asked for.
    SentTooFew {
        /// The stream that was cut short.
        stream: Stream,
        /// Frames asked for.
        planned: Count,
        /// Frames sent.
        sent: Count,
    },
    /// Rate × duration is less than one frame.
    NothingToSend {
        /// The stream without frames.
        stream: Stream,
    },
    /// A port lost its link.
    LinkLost,
    /// The tester's own sockets or rings dropped frames.
    TesterDrops {
        /// Frames dropped.
        frames: Count,
    },
    /// More right frames than were sent: the tester's counters contradict each other.
    MoreReceivedThanSent {
        /// The stream.
        stream: Stream,
        /// Frames sent.
        sent: Count,
        /// Frames received.
        received: Count,
    },
    /// Validation was asked for and did not take place.
    ValidationMissing,
    /// The phase 1 before this trial lost connections, so phase 2 would have opened new ones.
    Phase1Incomplete {
        /// Connections that the Responder learned.
        learned: Count,
        /// Connections that it had to learn.
        needed: Count,
    },
    /// Frames were lost in a trial in which the sender caught up in bursts.
    HostBurst {
        /// The stream.
        stream: Stream,
        /// Declared burst.
        declared: u32,
        /// Largest burst that left.
        worst: u32,
    },
    /// Frames were lost, or the schedule missed, in a trial in which a thread was kept from its core.
    HostStall {
        /// Whether it was a thread of the DUT, else of the tester.
        of_dut: bool,
        /// Longest stall.
        stall: Nanos,
        /// What the queues can bridge, where one is known.
        queue_lasts: Option<Nanos>,
    },
    /// The same, by the scheduler's account: a thread was runnable and waited for its core.
    HostRunDelay {
        /// Whether it was a thread of the DUT, else of the tester.
        of_dut: bool,
        /// How long it waited in all.
        delay: Nanos,
        /// What the queues can bridge, where one is known.
        queue_lasts: Option<Nanos>,
    },
}

/// Who spoiled an invalid trial, and so how often it is repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Spoiler {
    /// The tester: three times at one rate make that rate the tester's bound.
    Tester,
    /// The host: repeated up to ten times.
    Host,
    /// The phase 1 before it: repeated up to three times, then with a lower rate.
    Phase1,
}

impl Invalid {
    /// Who spoiled the trial.
    pub fn spoiler(&self) -> Spoiler {
        match self {
            Invalid::HostBurst { .. } | Invalid::HostStall { .. } | Invalid::HostRunDelay { .. } => Spoiler::Host,
            Invalid::Phase1Incomplete { .. } => Spoiler::Phase1,
            _ => Spoiler::Tester,
        }
    }

    /// What to do about it.
    pub fn advice(&self) -> &'static str {
        match self {
            Invalid::SenderLate { .. } | Invalid::SenderUneven { .. } | Invalid::SentTooFew { .. } => {
                "the tester cannot send at this rate: use a faster back-end, more or dedicated cores, or a lower upper end"
            }
            Invalid::NothingToSend { .. } => "use longer trials or a higher lower end of the search",
            Invalid::LinkLost => "check cables, interfaces and the peer's link state",
            Invalid::TesterDrops { .. } => "enlarge the tester's receive rings or give its receiver a core of its own",
            Invalid::MoreReceivedThanSent { .. } | Invalid::ValidationMissing => {
                "this is a fault of the tester: please report it with the run folder"
            }
            Invalid::Phase1Incomplete { .. } => {
                "lower the rate of phase 1, or check that the DUT's table, port pool and timeouts fit this many connections"
            }
            Invalid::HostBurst { .. } | Invalid::HostStall { .. } | Invalid::HostRunDelay { .. } => {
                "quieten the host: pin tester and DUT to free cores, stop other load, or use a machine that is not shared"
            }
        }
    }
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Invalid::SenderLate { stream, late, limit } => {
                write!(f, "{stream}: the tester's last frame left {} late, {} allowed", show(late), show(limit))
            }
            Invalid::SenderUneven { stream, crowded, sent } => {
                write!(
                    f,
                    "{stream}: {crowded} of {sent} frames left in catch-up bursts: the tester was too slow to send evenly"
                )
            }
            Invalid::SentTooFew { stream, planned, sent } => {
                write!(f, "{stream}: the tester sent {sent} of {planned} frames")
            }
            Invalid::NothingToSend { stream } => write!(f, "{stream}: rate × duration is less than one frame"),
            Invalid::LinkLost => f.write_str("a port lost its link"),
            Invalid::TesterDrops { frames } => write!(f, "the tester's own sockets or rings dropped {frames} frames"),
            Invalid::MoreReceivedThanSent { stream, sent, received } => {
                write!(f, "{stream}: {received} right frames received but only {sent} sent")
            }
            Invalid::ValidationMissing => f.write_str("the connections were not validated"),
            Invalid::Phase1Incomplete { learned, needed } => {
                write!(f, "phase 1 established {learned} connections, {needed} needed")
            }
            Invalid::HostBurst { stream, declared, worst } => {
                write!(f, "{stream}: loss in a trial with a catch-up burst of {worst} frames, {declared} declared")
            }
            Invalid::HostStall { of_dut, stall, queue_lasts } => {
                write!(f, "a {} thread was off its core for {}{}", who(of_dut), show(stall), queues(queue_lasts))
            }
            Invalid::HostRunDelay { of_dut, delay, queue_lasts } => {
                let (who, delay, queues) = (who(of_dut), show(delay), queues(queue_lasts));
                write!(f, "a {who} thread waited {delay} for its core by the scheduler's account{queues}")
            }
        }
    }
}

fn who(of_dut: bool) -> &'static str {
    if of_dut { "DUT" } else { "tester" }
}

fn queues(last: Option<Nanos>) -> String {
    last.map_or_else(|| ", no queue is known".to_owned(), |last| format!(", queues last {}", show(last)))
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
    if let (PhaseKind::Established | PhaseKind::Validate, Some(store)) = (spec.kind, &outcome.store) {
        let needed = criteria.phase1_acceptance.ceil_of(spec.connections);
        if store.learned < needed {
            // A stall of the host during phase 1 says nothing about the DUT's set-up rate: no reason to go slower.
            let host = off_core(outcome).next().map(|off| off.reason);
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

fn main_parts<'a>(spec: &TrialSpec, outcome: &'a TrialOutcome, criteria: &Criteria) -> Vec<Part<'a>> {
    let acceptance = match spec.kind {
        PhaseKind::Establish | PhaseKind::Validate => criteria.phase1_acceptance,
        PhaseKind::Stateless | PhaseKind::Established => criteria.acceptance,
    };
    // Only the Initiator may open connections, and only the Responder validates.
    let direction = match spec.kind {
        PhaseKind::Establish => Direction::Forward,
        PhaseKind::Validate => Direction::Reverse,
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
    Err(Verdict::Fail(Failure { reason, closed_loop: outcome.dut_loop == Loop::Closed }))
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
    // Had it not been kept from its core, the sender would have been in time.
    let explains = |off: &OffCore| !off.of_dut && late <= Nanos(limit.0.saturating_add(off.time.0));
    if let Some(off) = off_core(outcome).find(explains) {
        return Verdict::Invalid(off.reason);
    }
    if outcome.dut_loop == Loop::Closed && own_share_fits(parts) {
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

/// A thread that was off its core for longer than the queues last.
struct OffCore {
    of_dut: bool,
    time: Nanos,
    /// How many times over frames may have been due in that time.
    times: u64,
    reason: Invalid,
}

/// Who was off its core for longer than the queues last: by the longest stall, of which there may have been more, and by
/// the scheduler's run delay, which is the sum of all.
///
/// In a closed loop the tester's run delay says nothing about the host: the DUT's work may be done by threads of
/// the kernel on the tester's own core, and waiting for these is waiting for the DUT.
fn off_core(outcome: &TrialOutcome) -> impl Iterator<Item = OffCore> {
    let HostNoise { tester_stall, dut_stall, tester_run_delay, dut_run_delay, queue_lasts, .. } = outcome.host;
    let tester_run_delay = tester_run_delay.filter(|_| outcome.dut_loop == Loop::Open);
    let bridged = queue_lasts.unwrap_or(QUEUE_UNKNOWN);
    [(false, tester_stall, tester_run_delay), (true, dut_stall, dut_run_delay)]
        .into_iter()
        .flat_map(move |(of_dut, stall, delay)| {
            let delay = delay.unwrap_or_default();
            [
                (stall, STALLS_HELD_POSSIBLE, Invalid::HostStall { of_dut, stall, queue_lasts }),
                (delay, 1, Invalid::HostRunDelay { of_dut, delay, queue_lasts }),
            ]
            .map(|(time, times, reason)| OffCore { of_dut, time, times, reason })
        })
        .filter(move |off| off.time > bridged)
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

/// A duration in the unit that reads best.
fn show(nanos: Nanos) -> String {
    match nanos.0 {
        0..10_000 => format!("{} ns", nanos.0),
        10_000..10_000_000 => format!("{} µs", nanos.0 / 1_000),
        10_000_000..10_000_000_000 => format!("{} ms", nanos.0 / 1_000_000),
        _ => format!("{} s", nanos.0 / 1_000_000_000),
    }
}
