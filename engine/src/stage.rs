//! Runs one phase on all lanes: creates tasks, runs them in threads and adds up their reports.

mod observed;

use crate::churn::ChurnPlan;
use crate::distinct;
use crate::early::{self, Early};
use crate::findings::{DIFFERENCES, Findings, HopTally, Identifications};
use crate::judge::Arrivals;
use crate::lane::{self, Lane, Report, Shared, Tasks};
use crate::observe::{Extra, FrameStamps};
use crate::phase::{Cost, Phase, PhaseOutcome};
use crate::schedule::Departures;
use crate::store::StateTable;
use crate::tasks::TaskMaker;
use crate::tcp::Stages;
use method::trial::{Difference, EarlyEnd, SharedTuples};
use method::{Churn, Count, Example, Fault, Leg, Nanos, Rate, TrialError};
use port::host::{PREEMPT_AT_MOST, spawn_in};
use port::{Clock, PortError, PortFacts};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use wire::{PortRange, View};

/// What all phases of one set-up share.
pub struct Stage {
    pub(crate) clock: Clock,
    pub(crate) lanes: Vec<Lane>,
    pub(crate) view: Arc<View>,
    all_ports: Arc<View>,
    pub(crate) store: Option<StateTable>,
    pub(crate) start_delay: Nanos,
    seed: u64,
    /// Number of the phase in every tag; never 0.
    pub(crate) phase: u16,
    /// Phases that complete a phase 1 keep its number.
    pub(crate) learned_in: u16,
    /// Missing connections as of [`Stage::missing`].
    missing: Vec<u32>,
    /// Bitmaps of each lane, at Left and at Right, one per sender.
    seen: Vec<[Vec<Arrivals>; 2]>,
    pub(crate) give_up: Nanos,
    /// Whether lanes send as fast as they can, with no schedule for their ratio.
    unpaced: bool,
    churn: Option<Churn>,
    /// Announced length of the trial.
    pub(crate) lasts: Nanos,
    /// Stages of TCP connections, once opened.
    pub(crate) stages: Option<Stages>,
    early: Option<EarlyEnd>,
    /// Time to the early end of the last phase.
    ended: Option<Nanos>,
    /// Start of the phase in ticks; 0 before.
    start: Arc<AtomicU64>,
    /// Ends the current phase.
    pub interrupted: Arc<AtomicBool>,
}

/// Exceeds every limit on lateness.
const GIVE_UP: Nanos = Nanos::from_millis(200);
pub(crate) const LEAST_START_DELAY: Nanos = Nanos::from_millis(2);

impl Stage {
    /// A stage for this view on these lanes.
    pub fn new(
        clock: Clock,
        lanes: Vec<Lane>,
        view: Arc<View>,
        store: Option<StateTable>,
        start_delay: Nanos,
        seed: u64,
        interrupted: Arc<AtomicBool>,
    ) -> Stage {
        let seen = lanes.iter().map(|_| [Vec::new(), Vec::new()]).collect();
        Stage {
            clock,
            lanes,
            all_ports: Arc::clone(&view),
            view,
            store,
            start_delay,
            seed,
            phase: 0,
            learned_in: 0,
            missing: Vec::new(),
            seen,
            give_up: GIVE_UP,
            unpaced: false,
            churn: None,
            lasts: Nanos(0),
            stages: None,
            early: None,
            ended: None,
            start: Arc::default(),
            interrupted,
        }
    }

    /// N.
    pub fn connections(&self) -> Count {
        self.view.connections()
    }

    /// Frames and expectations of both sides.
    pub fn view(&self) -> &Arc<View> {
        &self.view
    }

    /// Facts about the ports.
    pub fn port_facts(&self) -> Vec<PortFacts> {
        self.lanes.iter().flat_map(|l| l.left.iter().chain(&l.right)).map(|p| port::Port::facts(&**p)).collect()
    }

    /// Returns the previous lanes; learned connections stay.
    pub fn exchange(&mut self, lanes: Vec<Lane>) -> Vec<Lane> {
        self.seen = lanes.iter().map(|_| [Vec::new(), Vec::new()]).collect();
        std::mem::replace(&mut self.lanes, lanes)
    }

    pub(crate) fn has_service(&self) -> bool {
        self.lanes.iter().any(|lane| lane.service.is_some())
    }

    /// Lets the services handle frames while no phase runs, and discards others.
    ///
    /// # Errors
    /// When a port fails.
    pub fn serve(&mut self) -> Result<(), TrialError> {
        self.lanes.iter_mut().try_for_each(Lane::serve).map_err(|e| TrialError::Tester(e.to_string()))
    }

    /// Lets no sender give up, for phases that send as fast as they can.
    pub fn never_give_up(&mut self) {
        (self.give_up, self.unpaced) = (Nanos::from_secs(86_400), true);
    }

    /// Runs a phase with another view on the same lanes and table, as fast as possible; a sender
    /// gives up when later than `give_up`.
    ///
    /// # Errors
    /// Those of [`Stage::run`].
    pub fn beside(&mut self, view: &Arc<View>, give_up: Nanos, phase: &Phase) -> Result<PhaseOutcome, TrialError> {
        let own = (Arc::clone(&self.view), self.give_up, self.start_delay, self.unpaced);
        (self.view, self.give_up, self.start_delay, self.unpaced) =
            (Arc::clone(view), give_up, LEAST_START_DELAY, true);
        let outcome = self.run(phase);
        (self.view, self.give_up, self.start_delay, self.unpaced) = own;
        outcome
    }

    /// Mixes new connections, with indices after [`Phase::connections`], with held ones from the
    /// next phase on. If the phase updates what it learned, Right learns new connections, and still
    /// compares held ones with phase 1.
    pub fn set_churn(&mut self, churn: Option<Churn>) {
        self.churn = churn;
    }

    /// Opens connections from these ports, from the next phase on; fails when the flows lack one of
    /// the ports, or have too few.
    pub(crate) fn use_source_ports(&mut self, ports: PortRange) -> Result<(), TrialError> {
        let part = self.all_ports.with_source_ports(ports, self.seed);
        let part =
            part.ok_or_else(|| TrialError::Tester(format!("the flows have no part with the source ports {ports}")))?;
        self.view = Arc::new(part);
        Ok(())
    }

    /// Forgets the last phase 1.
    pub fn forget(&mut self) {
        self.learned_in = 0;
    }

    /// Announces a trial, pauses included, to whose end lanes must keep real-time priority.
    pub fn expect(&mut self, lasts: Nanos) {
        self.lasts = lasts;
    }

    /// Allows an early end for the next phase.
    pub fn end_early(&mut self, option: Option<EarlyEnd>) {
        self.early = option;
    }

    /// Runs one phase to the end of its drain.
    ///
    /// # Errors
    /// It was interrupted or a port failed.
    pub fn run(&mut self, phase: &Phase) -> Result<PhaseOutcome, TrialError> {
        self.run_with(phase, &Extra::default())
    }

    /// As [`Stage::run`], with the tasks of `extra`.
    ///
    /// # Errors
    /// Those of [`Stage::run`], and when time stamps lack memory.
    pub fn run_with(&mut self, phase: &Phase, extra: &Extra) -> Result<PhaseOutcome, TrialError> {
        if self.interrupted.load(Ordering::Relaxed) {
            return Err(TrialError::Interrupted);
        }
        self.next_number(phase.learn && !phase.only_missing);
        let planned = [self.shares(phase, true), self.shares(phase, false)];
        self.reset_seen(&planned);
        let before = self.own_side_now();
        let rows = observed::rows(phase, extra, &planned)?;
        let reports = self.on_all_lanes((phase, extra), &planned, &rows);
        let reports = reports.map_err(|e| TrialError::Tester(e.to_string()))?;
        if self.interrupted.load(Ordering::Relaxed) {
            return Err(TrialError::Interrupted);
        }
        let mut outcome = self.collect(&reports, &planned);
        outcome.observed = self.observe((phase, extra), &planned, rows);
        outcome.observed.ended_early = self.ended;
        let after = self.own_side();
        outcome.host.tester_drops = after.0.saturating_sub(before.0);
        outcome.host.link_lost = before.1 || after.1;
        (outcome.host.queue_lasts, outcome.host.dut_queue) = self.queues(phase.rate);
        Ok(outcome)
    }

    /// Clock and start, in ticks, 0 until the next phase starts.
    pub(crate) fn next_start(&self) -> (Clock, Arc<AtomicU64>) {
        self.start.store(0, Ordering::Release);
        (self.clock, Arc::clone(&self.start))
    }

    /// Outside address and port as one number, 0 if the last phase 1 lacks them.
    pub(crate) fn known(&self, connections: Count) -> Vec<u64> {
        self.learned().take(connections as usize).map(|known| known.unwrap_or(0)).collect()
    }

    /// Counts learned connections whose outside address and port are among `known`, and others.
    pub(crate) fn compare(&self, known: &[u64]) -> (Count, Count) {
        compared(known, self.learned())
    }

    /// Whether the first `connections` of the last phase 1 are distinct outside.
    pub(crate) fn shared(&mut self, connections: Count) -> Result<Option<SharedTuples>, TrialError> {
        let Stage { lanes, view, store: Some(store), learned_in, interrupted, .. } = self else { return Ok(None) };
        let of = (connections, distinct::AT_ONCE);
        let found = lane::while_serving(lanes, || distinct::shared(view, (store, *learned_in), of, interrupted))?;
        if interrupted.load(Ordering::Relaxed) { Err(TrialError::Interrupted) } else { Ok(found) }
    }

    fn learned(&self) -> impl Iterator<Item = Option<u64>> {
        let store = self.store.iter().filter(|_| self.learned_in != 0);
        store.flat_map(move |store| {
            let known = |(address, port): (u32, u16)| u64::from(address) << 16 | u64::from(port);
            (0..store.capacity() as u32).map(move |index| store.get(index, self.learned_in).map(known))
        })
    }

    /// How many of the first `connections` connections the last phase 1 lacks.
    pub fn missing(&mut self, connections: Count) -> Count {
        self.missing.clear();
        if let Some(store) = &self.store {
            // New entries have the phase number 0, so no phase may.
            let unknown = |i: &u32| self.learned_in == 0 || store.get(*i, self.learned_in).is_none();
            self.missing.extend((0..=u32::MAX).take(connections as usize).filter(unknown));
        }
        self.missing.len() as Count
    }

    pub(crate) fn next_number(&mut self, learn: bool) {
        self.phase = self.phase.checked_add(1).unwrap_or(1);
        if learn {
            if self.phase < self.learned_in
                && let Some(store) = &self.store
            {
                // After wrapping, old entries must not look like those of a later phase.
                (0..store.capacity() as u32).for_each(|i| {
                    store.learn(i, 0, 0, 0);
                });
                self.stages = None;
            }
            self.learned_in = self.phase;
        }
    }

    fn shares(&self, phase: &Phase, left: bool) -> Vec<Count> {
        let active = if left { phase.direction.forward() } else { phase.direction.reverse() };
        let (senders, frames) = (self.senders(left), phase.direction.frames(left, phase.frames));
        if !active {
            return Vec::new();
        }
        (0..senders).map(|s| Departures::share(frames, s, senders)).collect()
    }

    pub(crate) fn senders(&self, left: bool) -> u64 {
        self.lanes.iter().filter(|l| if left { l.left.is_some() } else { l.right.is_some() }).count() as u64
    }

    fn reset_seen(&mut self, planned: &[Vec<Count>; 2]) {
        let (mut next_left, mut next_right) = (0, 0);
        for (lane, [at_left, at_right]) in self.lanes.iter().zip(&mut self.seen) {
            let own_left = number(lane.left.is_some(), &mut next_left);
            let own_right = number(lane.right.is_some(), &mut next_right);
            let at = [(at_right, &planned[0], own_left, &lane.right), (at_left, &planned[1], own_right, &lane.left)];
            for (seen, planned, own, receiver) in at {
                let within = receiver.as_ref().is_none_or(|port| port::Port::facts(&**port).backend == "link");
                seen.resize_with(planned.len(), Arrivals::default);
                for (sender, (seen, &frames)) in seen.iter_mut().zip(planned).enumerate() {
                    // On an in-process link, a sending lane receives only its own frames; elsewhere
                    // a NIC's hash spreads frames over all lanes.
                    if own.is_none_or(|own| own == sender || !within) {
                        seen.reset(frames);
                    } else {
                        seen.reset_unexpected(frames);
                    }
                }
            }
        }
    }

    /// Frames that the tester's ports dropped, and whether a link is down.
    pub(crate) fn own_side_now(&mut self) -> (Count, bool) {
        self.own_side();
        self.own_side()
    }

    /// Dropped by the tester's ports, and whether a link was lost since the last call.
    pub(crate) fn own_side(&mut self) -> (Count, bool) {
        let counters = self
            .lanes
            .iter_mut()
            .flat_map(|l| l.left.iter_mut().chain(&mut l.right))
            .map(|p| port::Port::counters(&mut **p));
        counters.fold((0, false), |(drops, lost), c| (drops + c.own_drops, lost || c.link_lost))
    }

    /// The stall that the shortest known queue on the path absorbs at this rate, and the depth of
    /// the shortest queue before the device. In facts of a port, 0 is unknown; each lane's queues
    /// have its share of the rate.
    pub(crate) fn queues(&self, rate: Rate) -> (Option<Nanos>, Option<Count>) {
        let facts = self.port_facts();
        let known = facts.iter().flat_map(|f| [f.dut_queue, f.own_queue]).filter(|&frames| frames > 0).min();
        let in_front = facts.iter().map(|f| f.dut_queue as Count).min().filter(|&frames| frames > 0);
        let lanes = self.senders(true).min(self.senders(false)).max(1);
        (known.map(|frames| rate.time_for(frames as Count * lanes)), in_front)
    }

    fn on_all_lanes(
        &mut self,
        (phase, extra): (&Phase, &Extra),
        planned: &[Vec<Count>; 2],
        rows: &[Option<FrameStamps>; 2],
    ) -> Result<Vec<Report>, PortError> {
        let clock = self.clock;
        self.start.store(0, Ordering::Release);
        let alone = self.start_delay.0 + phase.rate.time_for(phase.frames).0 + phase.drain.0;
        let shared = Shared {
            starting: AtomicUsize::new(self.lanes.len()),
            start: Arc::clone(&self.start),
            start_delay: clock.ticks(self.start_delay.max(LEAST_START_DELAY).0),
            sending: AtomicUsize::new(planned.iter().flatten().count()),
            sent_at: AtomicU64::new(u64::MAX),
            held: phase.direction.ratio().filter(|_| self.unpaced),
            early: self.early.take().map(|option| {
                Early::new(option, phase.direction, phase.rate, phase.frames, clock.ticks(early::INTERVAL))
            }),
            short: Duration::from(self.lasts.max(Nanos(alone))) <= PREEMPT_AT_MOST,
            stop: Arc::clone(&self.interrupted),
            broken: AtomicBool::new(false),
        };
        let drain = clock.ticks(phase.drain.0);
        let maker = TaskMaker {
            clock,
            view: &self.view,
            store: self.store.as_ref(),
            phase,
            number: self.phase,
            learned_in: self.learned_in,
            seed: self.seed,
            give_up: clock.ticks(self.give_up.0),
            planned,
            missing: phase.only_missing.then_some(&self.missing),
            churn: self.churn.map(|churn| ChurnPlan {
                churn,
                rate: phase.direction.pace(true, phase.rate).per_second(),
                held: phase.connections,
            }),
            extra: extra.clone(),
            rows: rows.each_ref().map(Option::as_ref),
        };
        let (mut next_left, mut next_right) = (0, 0);
        let services: Vec<_> = self.lanes.iter_mut().map(|lane| lane.service.take().map(Mutex::new)).collect();
        let reports = std::thread::scope(|scope| {
            let mut threads = Vec::new();
            for ((lane, [at_left, at_right]), service) in self.lanes.iter_mut().zip(&mut self.seen).zip(&services) {
                let judge = |left: bool, seen| {
                    let judge = maker.judge(left, seen);
                    if let Some(service) = service { judge.beside(service, left) } else { judge }
                };
                let tasks = Tasks {
                    left_sender: lane.left.as_ref().and_then(|_| maker.sender(true, &mut next_left)),
                    right_sender: lane.right.as_ref().and_then(|_| maker.sender(false, &mut next_right)),
                    left_judge: lane.left.is_some().then(|| judge(true, at_left)),
                    right_judge: lane.right.is_some().then(|| judge(false, at_right)),
                };
                let shared = &shared;
                let started = spawn_in(scope, move || lane::run(clock, drain, shared, tasks, lane));
                // Otherwise the other lanes would wait for this one for ever.
                threads.push(started.inspect_err(|_| shared.broken.store(true, Ordering::Relaxed))?);
            }
            threads.into_iter().map(|t| t.join().expect("a lane panicked")).collect()
        });
        let since_start = |at: u64| Nanos(clock.nanos(at.saturating_sub(shared.start.load(Ordering::Relaxed))));
        self.ended = shared.early.as_ref().and_then(Early::ended_at).map(since_start);
        for (lane, service) in self.lanes.iter_mut().zip(services) {
            lane.service = service.map(|service| service.into_inner().unwrap_or_else(PoisonError::into_inner));
        }
        reports
    }

    fn collect(&mut self, reports: &[Report], planned: &[Vec<Count>; 2]) -> PhaseOutcome {
        let mut out = PhaseOutcome::default();
        let (mut hops, mut identifications) = ([HopTally::default(); 2], [Identifications::default(); 2]);
        // Native frames may have other hop limits.
        let (mut native, mut native_hops) = ([Leg::default(), Leg::default()], [HopTally::default(); 2]);
        for r in reports {
            for (leg, sent) in [(&mut out.forward, &r.left_sent), (&mut out.reverse, &r.right_sent)] {
                if let Some(sent) = sent {
                    add_sender(leg, sent);
                }
            }
            for (leg, sent, found) in
                [(&mut out.forward, &r.left_sent, &r.at_right), (&mut out.reverse, &r.right_sent, &r.at_left)]
            {
                let cost = self.cost(sent.as_ref(), found);
                leg.timing.own_time.0 += cost.send.0 + cost.judge.0;
                leg.timing.backend_time.0 += cost.transmit.0 + cost.receive.0;
                out.cost.send.0 += cost.send.0;
                out.cost.transmit.0 += cost.transmit.0;
                out.cost.receive.0 += cost.receive.0;
                out.cost.judge.0 += cost.judge.0;
            }
            let sides = [(&mut out.forward, &r.at_right), (&mut out.reverse, &r.at_left)];
            for (side, (leg, found)) in sides.into_iter().enumerate() {
                add_findings(leg, &mut hops[side], found);
                identifications[side].add(&found.identifications);
                if let Some(found) = &found.native {
                    add_findings(&mut native[side], &mut native_hops[side], found);
                }
            }
            out.learned += r.at_right.learned;
            out.host.tester_stall = out.host.tester_stall.max(r.stall);
            out.host.tester_stalled.0 += r.stalled.0;
            out.host.tester_run_delay = out.host.tester_run_delay.max(r.run_delay);
        }
        out.forward.arrived =
            by_queue(self.lanes.iter().zip(reports).filter(|(l, _)| l.right.is_some()).map(|(_, r)| &r.at_right));
        out.reverse.arrived =
            by_queue(self.lanes.iter().zip(reports).filter(|(l, _)| l.left.is_some()).map(|(_, r)| &r.at_left));
        out.hop_limit = [settle_hops(&mut out.forward, &hops[0]), settle_hops(&mut out.reverse, &hops[1])];
        // A frame that two receivers of a direction counted is one right frame and one duplicate.
        let legs = [(1, &mut out.forward), (0, &mut out.reverse)];
        for ((side, leg), (mut native, hops)) in legs.into_iter().zip(native.into_iter().zip(native_hops)) {
            settle_hops(&mut native, &hops);
            let [twice, native_twice] = self.merge_seen(side, planned[1 - side].len());
            for (leg, twice) in [(&mut *leg, twice), (&mut native, native_twice)] {
                leg.received = leg.received.saturating_sub(twice);
                leg.faults.0[Fault::Duplicate as usize] += twice;
            }
            add_native(leg, &native);
        }
        for (leg, identifications) in [&mut out.forward, &mut out.reverse].into_iter().zip(identifications) {
            if let Some(frames) = identifications.constant() {
                leg.differences.insert(Difference::ConstantIdentification, frames);
            }
        }
        out
    }

    fn cost(&self, sent: Option<&Leg>, found: &Findings) -> Cost {
        let (send, transmit) = sent.map(|l| (l.timing.own_time, l.timing.backend_time)).unwrap_or_default();
        Cost {
            send,
            transmit,
            receive: Nanos(self.clock.nanos(found.backend)),
            judge: Nanos(self.clock.nanos(found.own)),
        }
    }

    /// Returns foreground and native frames that two receivers counted.
    fn merge_seen(&mut self, side: usize, senders: usize) -> [Count; 2] {
        let foreground = self.view.background.as_ref().map(|background| background.foreground);
        let mut twice = [0; 2];
        for sender in 0..senders {
            let mut receivers = self.seen.iter_mut().map(|at| &mut at[side][sender]).filter(|seen| seen.has_room());
            let Some(first) = receivers.next() else { continue };
            for other in receivers {
                first.merge(other, |sequence| {
                    twice[usize::from(foreground.is_some_and(|foreground| !foreground.has(sequence)))] += 1;
                });
            }
        }
        twice
    }
}

fn compared(known: &[u64], now: impl Iterator<Item = Option<u64>>) -> (Count, Count) {
    known.iter().zip(now).fold((0, 0), |(same, moved), (known, now)| match now {
        Some(now) if now == *known => (same + 1, moved),
        Some(_) => (same, moved + 1),
        None => (same, moved),
    })
}

/// The number of the next end, if the lane has a port there.
fn number(has_end: bool, next: &mut usize) -> Option<usize> {
    has_end.then(|| {
        *next += 1;
        *next - 1
    })
}

pub(crate) fn add_sender(leg: &mut Leg, sent: &Leg) {
    leg.planned += sent.planned;
    leg.sent += sent.sent;
    leg.refused += sent.refused;
    leg.send_time = leg.send_time.max(sent.send_time);
    if let Some(native) = sent.native {
        leg.native.get_or_insert_default().sent += native.sent;
    }
    let (t, s) = (&mut leg.timing, &sent.timing);
    t.burst = t.burst.max(s.burst);
    t.worst_burst = t.worst_burst.max(s.worst_burst);
    t.catch_ups += s.catch_ups;
    t.crowded += s.crowded;
    t.gave_up |= s.gave_up;
    t.finished_late = t.finished_late.max(s.finished_late);
    t.worst_late = t.worst_late.max(s.worst_late);
}

fn add_findings(leg: &mut Leg, hops: &mut HopTally, found: &Findings) {
    leg.received += found.received;
    leg.reordered += found.reordered;
    leg.faults.merge(&found.faults);
    for (&difference, &frames) in DIFFERENCES.iter().zip(&found.differences).filter(|(_, frames)| **frames > 0) {
        *leg.differences.entry(difference).or_default() += frames;
    }
    add_examples(leg, &found.examples);
    hops.count(found);
}

/// Those of kinds of which there is none yet.
pub(crate) fn add_examples(leg: &mut Leg, found: &[Example]) {
    let of_new_kinds = |example: &&Example| leg.examples.iter().all(|known| known.fault != example.fault);
    let new: Vec<Example> = found.iter().filter(of_new_kinds).cloned().collect();
    leg.examples.extend(new);
}

fn add_native(leg: &mut Leg, native: &Leg) {
    leg.received += native.received;
    leg.reordered += native.reordered;
    leg.faults.merge(&native.faults);
    for (&difference, frames) in &native.differences {
        *leg.differences.entry(difference).or_default() += frames;
    }
    add_examples(leg, &native.examples);
    if let Some(of_leg) = &mut leg.native {
        of_leg.received = native.received;
    }
}

/// Frames by receiver, if there are several.
fn by_queue<'a>(found: impl Iterator<Item = &'a Findings>) -> Vec<Count> {
    let of_kind = |f: &Findings| f.received + f.faults.total();
    let arrived: Vec<Count> = found.map(|f| of_kind(f) + f.native.as_deref().map_or(0, of_kind)).collect();
    if arrived.len() > 1 { arrived } else { Vec::new() }
}

/// Counts the frames with less frequent hop limits; returns the most frequent one.
fn settle_hops(leg: &mut Leg, hops: &HopTally) -> Option<u8> {
    let (of_most, most) = hops.most();
    if leg.received > most {
        leg.differences.insert(Difference::HopLimit, leg.received - most);
    }
    (most > 0).then_some(of_most as u8)
}

#[cfg(test)]
mod tests;
