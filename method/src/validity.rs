//! The verdict on one trial: pass, fail or invalid (METHODOLOGY.md, validity).
//!
//! First, a complete proof ([`Claim::State`]) passes, and a trial in which a stream sent fewer frames than planned is
//! invalid, unless natmeter ended it on purpose.
//!
//! 1. *Tester*: a sender was late, or the tester dropped frames, without having been descheduled: invalid because of
//!    the tester.
//! 2. *Host noise*: a thread of tester or DUT was descheduled for longer than the shortest queue on the path absorbs:
//!    invalid because of the host, with or without losses.
//! 3. *Conservative exception*: a loss that exceeds all frames that the noise can have touched (due in stalls, or in
//!    the catch-up bursts after them), and 1 % of the frames sent, stays a fail. So do frames that arrived wrong:
//!    noise changes no frame.
//! 4. *Closed loop*: a late sender whose own share of the time would have met the schedule is a fail of the DUT.
//!
//! A valid trial fails if a stream received fewer right frames than ceil(acceptance × sent) (RFC 2544 section 26.1; RFC
//! 9693 sections 4.5 to 4.7). Duplicates, late, foreign and wrong frames do not count.

use crate::ratio::Ratio;
use crate::trial::{
    Claim, Direction, Fault, Leg, Loop, Pace, PhaseKind, StoreFacts, TrialError, TrialOutcome, TrialSpec,
};
use crate::units::{Count, Nanos};
pub use crate::verdict::{FailReason, Failure, Invalid, Spoiler, Stream, Verdict};
use serde::{Deserialize, Serialize};

/// Allowed lateness of a sender, for any duration.
pub const LATE_FLOOR: Nanos = Nanos(100_000);
/// Lateness, as a part of the planned send time: 0.001 %.
pub const LATE_PART: u64 = 100_000;
/// Connections that phase 1 needs for each frame that the path can buffer.
pub const BUFFER_FACTOR: u64 = 100;
/// Part of the frames whose loss stays a fail in spite of host noise.
pub const CERTAIN_PART: u64 = 100;
/// The stall that an unknown queue absorbs.
pub const QUEUE_UNKNOWN: Nanos = LATE_FLOOR;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Criteria {
    /// Smallest share of received to sent frames; 1 by RFC 2544.
    pub acceptance: Ratio,
    /// Acceptance for phase 1 and its validation; 1 by RFC 9693. Separate, because a loss tolerance
    /// in phase 1 makes the establishment rate seem to rise with the connections.
    pub phase1_acceptance: Ratio,
}

impl Default for Criteria {
    fn default() -> Self {
        Criteria { acceptance: Ratio::ONE, phase1_acceptance: Ratio::ONE }
    }
}

crate::worded! {
    /// A rule of validity that decided a trial.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum Rule: name {
        /// Rule 1: invalid because of the tester.
        Tester = "tester",
        /// Rule 2: invalid because of host noise.
        HostNoise = "host noise",
        /// Rule 3: a fail in spite of host noise.
        ConservativeException = "conservative exception",
        /// Rule 4: a fail by a late sender.
        ClosedLoop = "closed loop",
    }
}

impl Rule {
    /// `None` for a pass, a fail on a quiet host, and an incomplete preparing phase 1.
    pub fn of(verdict: &Verdict, outcome: &TrialOutcome) -> Option<Rule> {
        match verdict {
            Verdict::Pass => None,
            Verdict::Invalid(reason) => match reason.spoiler() {
                Spoiler::Tester => Some(Rule::Tester),
                Spoiler::Host => Some(Rule::HostNoise),
                Spoiler::Phase1 => None,
            },
            Verdict::Fail(Failure { reason: FailReason::Late { .. }, .. }) => Some(Rule::ClosedLoop),
            Verdict::Fail(_) => noise(outcome).map(|_| Rule::ConservativeException),
        }
    }
}

pub fn judge(spec: &TrialSpec, outcome: &TrialOutcome, criteria: &Criteria) -> Verdict {
    match fault(spec, outcome, criteria) {
        Ok(()) => Verdict::Pass,
        Err(verdict) => verdict,
    }
}

/// Allowed lateness of the last frame.
pub fn late_limit(planned: Nanos) -> Nanos {
    LATE_FLOOR.max(Nanos(planned.0 / LATE_PART))
}

/// Refuses a phase 1 that would measure the path's buffers.
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

/// Whether the DUT's table changed during phase 2 (RFC 9693 section 4.4).
pub fn table_changed(outcome: &TrialOutcome) -> bool {
    outcome.store.as_ref().is_some_and(|store| match (store.dut_entries, store.dut_entries_after) {
        (Some(before), Some(after)) => before != after,
        _ => false,
    })
}

/// Whether frames were lost, by the strict rule of RFC 2544, whatever loss the search tolerates: `true` if a stream lost one,
/// `false` if every frame was on time and arrived, else `None`, as in a trial that the tester spoiled.
pub fn lost_any(spec: &TrialSpec, outcome: &TrialOutcome) -> Option<bool> {
    let strict = Criteria::default();
    match judge(spec, outcome, &strict) {
        Verdict::Pass => return Some(false),
        Verdict::Fail(_) => return Some(true),
        Verdict::Invalid(reason) if reason.spoiler() == Spoiler::Tester || outcome.host.tester_drops > 0 => {
            return None;
        }
        Verdict::Invalid(_) => {}
    }
    let parts = parts(spec, outcome, &strict);
    if parts.iter().any(|part| part.leg.received < part.needed()) {
        return Some(true);
    }
    let complete = spec.validate_rate.is_none() || outcome.validation.is_some();
    let learned = outcome.store.as_ref().is_none_or(|store| store.learned >= spec.connections);
    let as_specified = parts.iter().all(|part| !part.late() && part.frames > 0 && part.leg.sent >= part.planned());
    (complete && learned && as_specified).then_some(false)
}

#[derive(Clone, Copy)]
struct StreamPart<'a> {
    stream: Stream,
    leg: &'a Leg,
    frames: Count,
    pace: Pace,
    acceptance: Ratio,
}

impl StreamPart<'_> {
    fn send_time(&self) -> Nanos {
        self.pace.time_for(self.frames)
    }
    fn needed(&self) -> Count {
        self.acceptance.ceil_of(self.leg.sent)
    }
    /// From the specification, which reveals a wrapped counter of the sender.
    fn planned(&self) -> Count {
        self.frames.max(self.leg.planned)
    }
    fn late_limit(&self) -> Nanos {
        late_limit(self.send_time())
    }
    fn late(&self) -> bool {
        self.leg.timing.finished_late > self.late_limit()
    }
}

fn fault(spec: &TrialSpec, outcome: &TrialOutcome, criteria: &Criteria) -> Result<(), Verdict> {
    let invalid = |reason| Err(Verdict::Invalid(reason));
    if is_proof(spec, outcome, criteria) {
        return Ok(());
    }
    // A reset may take the link down.
    if outcome.host.link_lost && spec.options.action.is_none() {
        return invalid(Invalid::LinkLost);
    }
    let noise = noise(outcome);
    if let (PhaseKind::Established, Some(store)) = (spec.kind, &outcome.store) {
        let needed = criteria.phase1_acceptance.ceil_of(spec.connections);
        if store.learned < needed {
            let phase1 = phase1(spec, outcome, criteria);
            let few = phase1.as_ref().and_then(|part| sent_too_few(part, outcome));
            let is_certain = |part| exceeds_noise(&[part], outcome) || too_many_wrong(&part);
            let noise = noise.filter(|_| !phase1.is_some_and(is_certain));
            return invalid(few.or(noise).unwrap_or(Invalid::Phase1Incomplete { learned: store.learned, needed }));
        }
    }
    let parts = parts(spec, outcome, criteria);
    parts.iter().try_for_each(|part| counters_agree(part).map_err(Verdict::Invalid))?;
    if outcome.observed.ended_early.is_some() {
        return Err(ended_early(&parts, outcome));
    }
    if let Some(reason) = parts.iter().find_map(|part| sent_too_few(part, outcome)) {
        return invalid(reason);
    }
    let asks_all = |part: &StreamPart<'_>| spec.claim == Claim::State && part.leg.sent >= part.planned();
    let is_late = |part: &&StreamPart<'_>| part.late() && !asks_all(part);
    let noise = match parts.iter().find(is_late).map(|part| late(part, &parts, outcome)) {
        Some(Verdict::Invalid(reason)) if reason.spoiler() == Spoiler::Host => Some(reason),
        Some(verdict) => return Err(verdict),
        None => noise,
    };
    let drops = outcome.host.tester_drops;
    if drops > 0 && noise.is_none() {
        return invalid(Invalid::TesterDrops { frames: drops });
    }
    let lost = parts.iter().find(|part| part.leg.received < part.needed());
    let lost = lost.filter(|_| noise.is_none() || exceeds_noise(&parts, outcome));
    if let Some(part) = lost.or_else(|| parts.iter().find(|part| too_many_wrong(part))) {
        return Err(loss(part, outcome));
    }
    if let Some(reason) = noise {
        return invalid(reason);
    }
    if spec.validate_rate.is_some() && outcome.validation.is_none() {
        return invalid(Invalid::ValidationMissing);
    }
    Ok(())
}

/// Whether every connection of the trial answered, and phase 1 opened and the device counts as many: no delay makes
/// a missing connection answer.
fn is_proof(spec: &TrialSpec, outcome: &TrialOutcome, criteria: &Criteria) -> bool {
    let holds_all = |store: &StoreFacts| {
        store.learned >= spec.connections && store.dut_entries.is_none_or(|held| held >= spec.connections)
    };
    let answered = |part: &StreamPart<'_>| counters_agree(part).is_ok() && part.leg.received >= part.planned();
    spec.claim == Claim::State
        && (spec.validate_rate.is_none() || outcome.validation.is_some())
        && outcome.store.as_ref().is_none_or(holds_all)
        && parts(spec, outcome, criteria).iter().all(answered)
}

fn phase1<'a>(spec: &TrialSpec, outcome: &'a TrialOutcome, criteria: &Criteria) -> Option<StreamPart<'a>> {
    let leg = outcome.phase1.as_ref()?;
    let rate = outcome.store.as_ref().and_then(|store| store.phase1_rate).or(spec.phase1_rate).unwrap_or(spec.rate);
    let (frames, pace, acceptance) = (leg.planned, rate.into(), criteria.phase1_acceptance);
    Some(StreamPart { stream: Stream::Forward, leg, frames, pace, acceptance })
}

/// The parts of each active direction, and the validation.
fn parts<'a>(spec: &TrialSpec, outcome: &'a TrialOutcome, criteria: &Criteria) -> Vec<StreamPart<'a>> {
    // Only the Initiator may open connections.
    let (acceptance, direction) = match spec.kind {
        PhaseKind::Establish => (criteria.phase1_acceptance, Direction::Forward),
        PhaseKind::Stateless | PhaseKind::Established => (criteria.acceptance, spec.direction),
    };
    let main = |forward, stream, leg| StreamPart {
        stream,
        leg,
        frames: direction.frames(forward, spec.frames()),
        pace: direction.pace(forward, spec.rate),
        acceptance,
    };
    let forward = direction.forward().then(|| main(true, Stream::Forward, &outcome.forward));
    let reverse = direction.reverse().then(|| main(false, Stream::Reverse, &outcome.reverse));
    // With a loss tolerance, the Responder may have learned fewer connections.
    let learned = outcome.store.as_ref().map_or(spec.connections, |store| store.learned).min(spec.connections);
    let validation = spec.validate_rate.zip(outcome.validation.as_ref()).map(|(rate, leg)| StreamPart {
        stream: Stream::Validation,
        leg,
        frames: learned,
        pace: rate.into(),
        acceptance: criteria.phase1_acceptance,
    });
    forward.into_iter().chain(reverse).chain(validation).collect()
}

fn counters_agree(part: &StreamPart<'_>) -> Result<(), Invalid> {
    let (stream, leg) = (part.stream, part.leg);
    if part.frames == 0 {
        return Err(Invalid::NothingToSend { stream });
    }
    if leg.received > leg.sent {
        return Err(Invalid::MoreReceivedThanSent { stream, sent: leg.sent, received: leg.received });
    }
    Ok(())
}

/// A fail if a stream lost more than a full trial may, and more than the noise can have touched;
/// else it shows nothing.
fn ended_early(parts: &[StreamPart<'_>], outcome: &TrialOutcome) -> Verdict {
    if let Some(part) = parts.iter().find(|part| part.late()) {
        return late(part, parts, outcome);
    }
    let too_many = |part: &&StreamPart<'_>| part.leg.lost() > part.frames - part.acceptance.ceil_of(part.frames);
    if let Some(part) = parts.iter().find(too_many).filter(|_| exceeds_noise(parts, outcome)) {
        loss(part, outcome)
    } else {
        let sum = |of: &dyn Fn(&Leg) -> Count| parts.iter().map(|part| of(part.leg)).fold(0, Count::saturating_add);
        Verdict::Invalid(Invalid::EndedEarly { lost: sum(&Leg::lost), sent: sum(&|leg| leg.sent) })
    }
}

/// `None` also if a closed loop was slower than its rate (rule 4).
fn sent_too_few(part: &StreamPart<'_>, outcome: &TrialOutcome) -> Option<Invalid> {
    let (stream, planned, sent) = (part.stream, part.planned(), part.leg.sent);
    if sent >= planned {
        return None;
    }
    let by_host = kept_from_sending(part, outcome);
    let was_too_slow = outcome.dut_loop.is_closed() && part.leg.timing.gave_up && sent > 0;
    by_host.or((!was_too_slow).then_some(Invalid::SentTooFew { stream, planned, sent }))
}

/// The cause is the host that descheduled the tester, the DUT in a closed loop, or the tester.
fn late(part: &StreamPart<'_>, parts: &[StreamPart<'_>], outcome: &TrialOutcome) -> Verdict {
    if let Some(reason) = kept_from_sending(part, outcome) {
        return Verdict::Invalid(reason);
    }
    let (stream, late, limit) = (part.stream, part.leg.timing.finished_late, part.late_limit());
    if outcome.dut_loop.is_closed() && own_share_fits(parts) {
        return Verdict::Fail(Failure { reason: FailReason::Late { stream, late, limit }, closed_loop: true });
    }
    Verdict::Invalid(Invalid::SenderLate { stream, late, limit })
}

/// Any wait above the allowed lateness counts; in a closed loop, in which kernel threads do the
/// DUT's work, only what queues do not absorb.
fn kept_from_sending(part: &StreamPart<'_>, outcome: &TrialOutcome) -> Option<Invalid> {
    let noticed = if outcome.dut_loop == Loop::Closed { absorbed(outcome) } else { absorbed(outcome).min(LATE_FLOOR) };
    let explained = part.late_limit().0.saturating_add(tester_off(outcome).0);
    let off = off_core(outcome).find(|off| !off.of_dut && off.time > noticed)?;
    (part.leg.timing.finished_late.0 <= explained).then_some(off.reason)
}

/// Rule 4. Both directions' times are added, as on one thread; on two, the error is towards
/// tester-limited. That of a sender that gave up is extrapolated.
fn own_share_fits(parts: &[StreamPart<'_>]) -> bool {
    let own: u128 = parts
        .iter()
        .map(|part| {
            let own = u128::from(part.leg.timing.own_time.0);
            own * u128::from(part.frames) / u128::from(part.leg.sent.clamp(1, part.frames))
        })
        .fold(0, u128::saturating_add);
    parts.iter().all(|part| part.leg.sent > 0 && own <= u128::from(part.send_time().0))
}

fn loss(part: &StreamPart<'_>, outcome: &TrialOutcome) -> Verdict {
    let (stream, sent, received) = (part.stream, part.leg.sent, part.leg.received);
    let reason = FailReason::Loss { stream, sent, received, needed: part.needed() };
    Verdict::Fail(Failure { reason, closed_loop: outcome.dut_loop.is_closed() })
}

struct LostTime {
    of_dut: bool,
    /// Stall, or the run delay where stalls cannot be observed.
    time: Nanos,
    reason: Invalid,
}

fn absorbed(outcome: &TrialOutcome) -> Nanos {
    outcome.host.queue_lasts.unwrap_or(QUEUE_UNKNOWN)
}

/// No host noise in a closed loop, in which the tester waits for the DUT.
fn tester_run_delay(outcome: &TrialOutcome) -> Nanos {
    outcome.host.tester_run_delay.filter(|_| outcome.dut_loop != Loop::Closed).unwrap_or_default()
}

/// Threads off their cores, the tester's first.
fn off_core(outcome: &TrialOutcome) -> impl Iterator<Item = LostTime> {
    let host = &outcome.host;
    let (queue_lasts, dut_run_delay) = (host.queue_lasts, host.dut_run_delay.unwrap_or_default());
    [(false, host.tester_stall, tester_run_delay(outcome)), (true, host.dut_stall, dut_run_delay)].into_iter().map(
        move |(of_dut, stall, delay)| {
            let stalled = Invalid::HostStall { of_dut, stall, queue_lasts };
            let waited = Invalid::HostRunDelay { of_dut, delay, queue_lasts };
            let (time, reason) = if stall >= delay { (stall, stalled) } else { (delay, waited) };
            LostTime { of_dut, time, reason }
        },
    )
}

/// Noise by the thread that was descheduled for longest.
fn noise(outcome: &TrialOutcome) -> Option<Invalid> {
    let off = off_core(outcome).max_by_key(|off| off.time)?;
    (off.time > absorbed(outcome)).then_some(off.reason)
}

fn tester_off(outcome: &TrialOutcome) -> Nanos {
    let host = &outcome.host;
    host.tester_stall.max(host.tester_stalled).max(tester_run_delay(outcome))
}

/// Whether more of the lost frames arrived wrong than the acceptance allows to be lost. ICMP errors and fragments are other frames than those sent.
fn too_many_wrong(part: &StreamPart<'_>) -> bool {
    let is_wrong = |fault: Fault| fault.is_of_device() && !matches!(fault, Fault::IcmpError | Fault::Fragment);
    let wrong: Count = part.leg.faults.iter().filter(|(fault, _)| is_wrong(*fault)).map(|(_, frames)| frames).sum();
    wrong.min(part.leg.lost()) > part.leg.sent.saturating_sub(part.needed())
}

/// Whether a loss exceeds the noise by rule 3.
fn exceeds_noise(parts: &[StreamPart<'_>], outcome: &TrialOutcome) -> bool {
    let host = &outcome.host;
    let dut = host.dut_stall.max(host.dut_stalled).max(host.dut_run_delay.unwrap_or_default());
    let off = Nanos(tester_off(outcome).0.saturating_add(dut.0));
    let sum = |of: &dyn Fn(&StreamPart<'_>) -> Count| parts.iter().map(of).fold(0, Count::saturating_add);
    let in_bursts = |part: &StreamPart<'_>| part.leg.timing.crowded;
    let touched = sum(&|part| part.pace.frames_in(off).saturating_add(1).saturating_add(in_bursts(part)));
    let touched = touched.saturating_add(host.tester_drops);
    let (lost, sent) = (sum(&|part| part.leg.lost()), sum(&|part| part.leg.sent));
    lost > touched && lost > sent / CERTAIN_PART
}
