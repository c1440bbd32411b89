//! A simulated device under test with exactly known truth; deterministic for a seed.
//!
//! Truth: of a stream of R > C frames per second for time T, the device forwards C × T frames, plus its queue.

mod clock;
mod device;
mod tcp;
mod timing;

pub use clock::{DutClock, Largest, Waits};
pub use device::ControlTruth;

use crate::is_default;
use crate::random::SplitMix;
use crate::ratio::Ratio;
use crate::trial::{
    EarlyEnd, Fault, HostNoise, Leg, Loop, Pace, PhaseKind, Popularity, Ramp, StoreFacts, Timing, TrialError,
    TrialOutcome, TrialSpec, Trials,
};
use crate::units::{Count, Nanos, Rate};

/// Behaviour when the connection tracking table is full (RFC 9693 section 4.9).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WhenFull {
    /// Keeps old connections; the frames of new ones are lost.
    #[default]
    KeepOld,
    /// Every frame passes, but only the last connections validate.
    ReplaceOldest,
    /// Removes this many of the oldest at once, 1 to all.
    Collect(Count),
}

impl WhenFull {
    fn left(self, size: Count, opened: Count) -> Count {
        match self {
            WhenFull::Collect(at_once) if opened > size => {
                let at_once = at_once.clamp(1, size.max(1));
                size.saturating_sub(at_once) + 1 + (opened - size - 1) % at_once
            }
            _ => opened.min(size),
        }
    }
}

/// Injected properties of a device and its tester.
#[derive(Clone, Debug, Default)]
pub struct Truth {
    pub forward_capacity: Rate,
    pub reverse_capacity: Rate,
    /// New connections per second.
    pub setup_rate: Rate,
    /// Loss at random, at any rate.
    pub loss: Ratio,
    pub misrouted: Ratio,
    pub corrupted: Ratio,
    pub duplicated: Ratio,
    pub reordered: Ratio,
    /// Once in each stream it forwards nothing for this long, beyond its queue.
    pub stall: Nanos,
    pub table_size: Count,
    pub when_full: WhenFull,
    /// Connections that it forgets between trials that keep the table.
    pub forgets: Count,
    /// Frames that pass an overloaded trial in addition.
    pub queue: Count,
    pub delay: Nanos,
    /// Maximum additional delay, evenly distributed.
    pub delay_spread: Nanos,
    /// How long it loses all frames after an overload.
    pub recovery: Nanos,
    /// How long a closed TCP connection stays in the table.
    pub tcp_transitory: Nanos,
    /// Maximum deviation of a trial's capacities.
    pub jitter: Ratio,
    /// How many first trials run on cold caches, with which share of the capacities.
    pub slow_start: (u32, Ratio),
    /// For how long each trial, warm-up included, runs on cold caches, with which share of the capacities.
    pub cold: (Nanos, Ratio),
    /// Popular connections in the cache, and the share of the capacities with others.
    pub cache: Option<(Count, Ratio)>,
    /// From this trial, counted from 1, it forwards nothing.
    pub dies_at: Option<u64>,
    /// Share of trials in which the host stalls the tester for 2 ms.
    pub host_stalls: Ratio,
    /// Share of these stalls that cost a quarter of the frames due in 2 ms.
    pub harmful_stalls: Ratio,
    /// Share of trials in which the tester drops a frame.
    pub tester_drops: Ratio,
    /// Tester ceiling in one direction.
    pub tester_ceiling: Rate,
    /// Whether overload makes the sender late.
    pub dut_loop: Loop,
    /// Behaviour other than forwarding.
    pub control: ControlTruth,
}

impl Truth {
    /// A DUT without disturbances, and an unlimited tester.
    pub fn new(capacity: Rate, setup_rate: Rate) -> Truth {
        Truth {
            forward_capacity: capacity,
            reverse_capacity: capacity,
            setup_rate,
            table_size: Count::MAX,
            tcp_transitory: Nanos::from_secs(240),
            slow_start: (0, Ratio::ONE),
            cold: (Nanos(0), Ratio::ONE),
            harmful_stalls: Ratio::ONE,
            tester_ceiling: Rate(u64::MAX),
            ..Truth::default()
        }
    }

    fn cached(&self, capacity: Rate, popularity: Popularity, connections: Count) -> Rate {
        let Some((holds, share)) = self.cache else { return capacity };
        let hits = popularity.part_of(holds, connections);
        let time = hits + (1.0 - hits) / share.as_f64();
        Rate((capacity.0 as f64 / time) as u64)
    }

    pub fn dead() -> Truth {
        Truth { dies_at: Some(1), ..Truth::new(Rate(0), Rate(0)) }
    }
}

#[derive(Clone, Debug)]
pub struct SimulatedDut {
    pub truth: Truth,
    trials: u64,
    seed: u64,
    /// Series and number of the trial in it.
    series: Option<(u64, u64)>,
    rng: SplitMix,
    table: Count,
    learned: Count,
    /// Bytes of removed connections.
    leaked: u64,
}

impl SimulatedDut {
    /// The seed determines all random values.
    pub fn new(truth: Truth, seed: u64) -> SimulatedDut {
        SimulatedDut { truth, trials: 0, seed, series: None, rng: SplitMix(seed), table: 0, learned: 0, leaked: 0 }
    }

    pub fn trials(&self) -> u64 {
        self.trials
    }

    fn condition(&mut self) -> Condition {
        if self.truth.dies_at.is_some_and(|trial| self.trials >= trial) {
            return Condition { share: Ratio::ZERO, sign: 1, jitter: Ratio::ZERO };
        }
        let share =
            if self.trials <= u64::from(self.truth.slow_start.0) { self.truth.slow_start.1 } else { Ratio::ONE };
        let jitter = Ratio::from_ppm(self.truth.jitter.floor_of(self.rng.below(1_000_001)));
        Condition { share, sign: if self.rng.below(2) == 0 { 1 } else { -1 }, jitter }
    }

    fn age(&mut self, spec: &TrialSpec) {
        if spec.keep_table {
            self.table -= self.truth.forgets.min(self.table);
        }
    }

    fn stream(&mut self, rate: impl Into<Pace>, frames: Count, capacity: Rate) -> Leg {
        let pace: Pace = rate.into();
        let planned_time = pace.time_for(frames);
        let limit = match self.truth.dut_loop {
            Loop::Open => self.truth.tester_ceiling,
            Loop::Closed | Loop::Inline => self.truth.tester_ceiling.min(capacity),
        };
        let send_time = planned_time.max(limit.time_for(frames));
        let carried = match self.truth.dut_loop {
            _ if capacity.0 == 0 => 0,
            Loop::Open => self.carried(pace, frames, capacity, send_time),
            Loop::Closed | Loop::Inline => frames,
        };
        let carried = carried.min(frames);
        let lost = self.rng.hits(carried, self.truth.loss);
        let misrouted = self.rng.hits(carried - lost, self.truth.misrouted);
        let corrupted = self.rng.hits(carried - lost - misrouted, self.truth.corrupted);
        let received = carried - lost - misrouted - corrupted;
        let mut leg = Leg {
            planned: frames,
            sent: frames,
            received,
            reordered: self.rng.hits(received, self.truth.reordered),
            send_time,
            timing: Timing {
                burst: 1,
                worst_burst: 1,
                finished_late: Nanos(send_time.0 - planned_time.0),
                worst_late: Nanos(send_time.0 - planned_time.0),
                own_time: self.truth.tester_ceiling.time_for(frames),
                backend_time: capacity.time_for(frames),
                ..Timing::default()
            },
            ..Leg::default()
        };
        leg.faults.0[Fault::WrongPort as usize] = misrouted;
        leg.faults.0[Fault::BadChecksum as usize] = corrupted;
        leg.faults.0[Fault::Duplicate as usize] = self.rng.hits(received, self.truth.duplicated);
        leg
    }

    fn carried(&self, pace: Pace, frames: Count, capacity: Rate, send_time: Nanos) -> Count {
        let Truth { stall, queue, .. } = self.truth;
        let in_stall = pace.frames_in(stall).min(frames).saturating_sub(queue);
        let working = Nanos(send_time.0.saturating_sub(stall.0));
        capacity.frames_in(working).saturating_add(queue).min(frames - in_stall)
    }

    /// Fills the table and returns the frames at the Responder.
    fn establish(&mut self, rate: Rate, connections: Count, condition: &Condition) -> Leg {
        let mut leg = self.stream(rate, connections, condition.of(self.truth.setup_rate));
        if self.truth.when_full == WhenFull::KeepOld {
            leg.received = leg.received.min(self.truth.table_size);
        }
        self.learned = leg.received;
        self.table = self.truth.when_full.left(self.truth.table_size, leg.received);
        leg
    }

    fn store(&self, phase1_rate: Rate, connections: Count) -> StoreFacts {
        StoreFacts {
            learned: self.learned,
            dut_entries: Some(self.table),
            dut_entries_after: Some(self.table),
            phase1_lost: connections.saturating_sub(self.learned),
            phase1_attempts: 1,
            phase1_rate: Some(phase1_rate),
            ..StoreFacts::default()
        }
    }

    fn forward(&mut self, spec: &TrialSpec, condition: &Condition) -> (Leg, Leg) {
        let (mut forward, mut reverse) = (Leg::default(), Leg::default());
        for (leg, is_forward) in [(&mut forward, true), (&mut reverse, false)] {
            let (is_active, capacity) = if is_forward {
                (spec.direction.forward(), self.truth.forward_capacity)
            } else {
                (spec.direction.reverse(), self.truth.reverse_capacity)
            };
            if is_active {
                let uncached = condition.of(capacity);
                let capacity = self.truth.cached(uncached, spec.options.popularity, spec.connections);
                *leg = match spec.options.ramp {
                    Some(ramp) => self.ramped(spec, ramp, uncached, is_forward),
                    None => self.stream(spec.pace_of(is_forward), spec.frames_of(is_forward), capacity),
                };
                self.lose_while_cold(spec, leg, capacity, is_forward);
                self.lose_after_step(spec, leg, spec.pace_of(is_forward).per_second() > capacity);
                self.lose_in_action(spec, leg, is_forward);
            }
        }
        if let Some(churn) = spec.options.churn
            && spec.direction.forward()
        {
            self.refuse(&mut forward, &churn, condition);
        }
        if spec.direction.reverse() && spec.keep_table {
            // Frames are drawn from the whole state table.
            let held = Ratio::new(self.table.min(self.learned), self.learned.max(1)).unwrap_or(Ratio::ONE);
            reverse.received = reverse.received.min(held.floor_of(reverse.sent));
        }
        (forward, reverse)
    }

    fn ramped(&mut self, spec: &TrialSpec, ramp: Ramp, uncached: Rate, is_forward: bool) -> Leg {
        let of = |begun| spec.direction.frames(is_forward, ramp.frames_before(begun, spec.rate));
        let before = of(ramp.flows.saturating_sub(1));
        // A fraction of a frame counts in the next interval.
        let carried = |flows: Count| {
            let capacity = self.truth.cached(uncached, spec.options.popularity, flows);
            (of(flows) - of(flows - 1)).min(capacity.frames_in(ramp.interval).saturating_add(1 + self.truth.queue))
        };
        let received: Count = (1..ramp.flows).map(carried).sum();
        let capacity = self.truth.cached(uncached, spec.options.popularity, ramp.flows);
        let mut leg = self.stream(spec.pace_of(is_forward), spec.frames_of(is_forward) - before, capacity);
        (leg.planned, leg.sent) = (leg.planned + before, leg.sent + before);
        (leg.received, leg.send_time.0) = (leg.received + received, leg.send_time.0 + ramp.lasts().0);
        leg
    }

    fn lose_while_cold(&self, spec: &TrialSpec, leg: &mut Leg, capacity: Rate, is_forward: bool) {
        let (cold, share) = self.truth.cold;
        let warmed = spec.options.warm_up.map_or(0, |warm_up| warm_up.duration.0);
        let left = Nanos(cold.0.saturating_sub(warmed).min(leg.send_time.0));
        let offered = spec.pace_of(is_forward).frames_in(left).min(capacity.frames_in(left));
        let lost = offered.saturating_sub(share.of(capacity).frames_in(left)).saturating_sub(self.truth.queue);
        leg.received = leg.received.saturating_sub(lost);
    }

    fn refuse(&mut self, leg: &mut Leg, churn: &crate::trial::Churn, condition: &Condition) {
        let frames = |rate: Rate| rate.frames_in(leg.send_time).saturating_mul(churn.frames);
        let (arrived, set_up) = (frames(churn.arrivals), frames(condition.of(self.truth.setup_rate)));
        leg.received -= arrived.saturating_sub(set_up).min(leg.received);
        self.table += (arrived / churn.frames.max(1)).min(churn.different).min(self.truth.table_size - self.table);
    }

    /// A frame is lost if its connection left the table.
    fn validate(&mut self, rate: Rate, condition: &Condition) -> Leg {
        let mut leg = self.stream(rate, self.learned, condition.of(self.truth.reverse_capacity));
        leg.received = leg.received.min(self.table);
        leg
    }

    fn disturb(&mut self, outcome: &mut TrialOutcome, spec: &TrialSpec) {
        outcome.host = HostNoise { queue_lasts: Some(Nanos(500_000)), ..HostNoise::default() };
        if self.rng.chance(self.truth.tester_drops) {
            outcome.host.tester_drops = 1;
        }
        if self.rng.chance(self.truth.host_stalls) {
            let stall = Nanos::from_millis(2);
            (outcome.host.tester_stall, outcome.host.tester_stalled) = (stall, stall);
            let harmful = self.rng.chance(self.truth.harmful_stalls);
            for (leg, forward) in [(&mut outcome.forward, true), (&mut outcome.reverse, false)] {
                let burst = spec.pace_of(forward).frames_in(stall).min(leg.sent);
                if harmful {
                    leg.received -= leg.received.min(burst / 4);
                }
                leg.timing.worst_burst = leg.timing.worst_burst.max(burst as u32);
                leg.timing.catch_ups += u64::from(burst > 1);
                leg.timing.crowded += if burst > 1 { burst } else { 0 };
            }
        }
    }
}

impl Trials for SimulatedDut {
    fn run(&mut self, spec: &TrialSpec) -> Result<TrialOutcome, TrialError> {
        self.trials += 1;
        if let Some((series, trial)) = &mut self.series {
            self.rng = SplitMix(self.seed ^ *series ^ trial.wrapping_mul(0x2545_f491_4f6c_dd1d));
            *trial += 1;
        }
        let condition = self.condition();
        let mut outcome = TrialOutcome { dut_loop: self.truth.dut_loop, ..TrialOutcome::default() };
        let phase1_rate = spec.phase1_rate.unwrap_or(spec.rate);
        self.age(spec);
        if spec.kind == PhaseKind::Established && !spec.keep_table {
            let leg = self.establish(phase1_rate, spec.connections, &condition);
            outcome.phase1 = (self.learned < spec.connections).then_some(leg);
        }
        match spec.kind {
            PhaseKind::Established if spec.keep_table && self.learned < spec.connections => {}
            PhaseKind::Stateless | PhaseKind::Established => match spec.options.tcp {
                Some(_) if self.learned < spec.connections => {}
                Some(tcp) => {
                    let (leg, counts) = self.connections(spec, tcp, &condition);
                    (outcome.forward, outcome.observed.tcp) = (leg, Some(counts));
                }
                None => (outcome.forward, outcome.reverse) = self.forward(spec, &condition),
            },
            PhaseKind::Establish => {
                outcome.forward = self.establish(spec.rate, spec.frames(), &condition);
                let is_complete = outcome.forward.received == outcome.forward.planned;
                if let Some(rate) = spec.validate_rate.filter(|_| is_complete) {
                    outcome.validation = Some(self.validate(rate, &condition));
                }
            }
        }
        if spec.kind != PhaseKind::Stateless {
            outcome.store = Some(self.store(phase1_rate, spec.connections));
        }
        self.disturb(&mut outcome, spec);
        if !is_default(&spec.options) {
            let tcp = outcome.observed.tcp.take();
            outcome.observed = self.observe(spec, [&outcome.forward, &outcome.reverse]);
            outcome.observed.tcp = tcp;
        }
        end_early(&mut outcome, spec);
        outcome.wall = outcome.forward.send_time.max(outcome.reverse.send_time);
        Ok(outcome)
    }

    fn begin(&mut self, series: &str, before: u64) {
        // FNV-1a.
        let hash = |sum: u64, byte: u8| (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        self.series = Some((series.bytes().fold(0xcbf2_9ce4_8422_2325, hash), before));
    }
}

fn end_early(outcome: &mut TrialOutcome, spec: &TrialSpec) {
    let Some(early) = spec.options.early_end else { return };
    let end = [(&outcome.forward, true), (&outcome.reverse, false)].into_iter().filter_map(|(leg, forward)| {
        let most = early.missing_at_most(leg.planned, spec.pace_of(forward));
        // In mid-trial, the lost part of the frames so far.
        let (mut never, mut ended) = (0u64, 1u64 << 20);
        let lost = |part: u64| {
            let of = |frames: Count| ((u128::from(frames) * u128::from(part)) >> 20) as Count;
            EarlyEnd::is_lost(of(leg.sent), of(leg.received), most)
        };
        if !lost(ended) {
            return None;
        }
        while ended - never > 1 {
            let part = u64::midpoint(never, ended);
            if lost(part) { ended = part } else { never = part }
        }
        Some(ended)
    });
    let Some(part) = end.min().filter(|part| *part < 1 << 20) else { return };
    let of = |count: u64| ((u128::from(count) * u128::from(part)) >> 20) as u64;
    for leg in [&mut outcome.forward, &mut outcome.reverse] {
        (leg.sent, leg.received, leg.send_time) = (of(leg.sent), of(leg.received), Nanos(of(leg.send_time.0)));
        leg.timing.finished_late = Nanos(of(leg.timing.finished_late.0));
    }
    outcome.observed.ended_early = Some(outcome.forward.send_time.max(outcome.reverse.send_time));
}

struct Condition {
    share: Ratio,
    sign: i64,
    jitter: Ratio,
}

impl Condition {
    fn of(&self, capacity: Rate) -> Rate {
        let capacity = self.share.of(capacity);
        let off = self.jitter.of(capacity).0.cast_signed() * self.sign;
        Rate(capacity.0.saturating_add_signed(off))
    }
}
