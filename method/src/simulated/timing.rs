//! Delays and losses of trials with options.

use super::{SimulatedDut, SplitMix, Truth};
use crate::trial::{
    Chosen, LOST, Leg, Losses, Observed, PerDirection, RateStep, Sample, Stamps, TrialSpec, WarmUp, WarmUpFrames,
};
use crate::units::{Count, Nanos};

const DRAIN: Nanos = Nanos::from_secs(2);

impl SimulatedDut {
    pub(super) fn observe(&mut self, spec: &TrialSpec, [forward, reverse]: [&Leg; 2]) -> Observed {
        let mut observed = Observed::default();
        for (leg, is_forward) in [(forward, true), (reverse, false)] {
            if leg.planned == 0 {
                continue;
            }
            if let Some(warm_up) = spec.options.warm_up {
                *side(&mut observed.warm_up, is_forward) = Some(self.warm(spec, warm_up, is_forward));
            }
            if let Some(stamps) = spec.options.stamps {
                let delays = delays(&self.truth, &mut self.rng, (spec, stamps), (leg, is_forward));
                *side(&mut observed.delays, is_forward) = Some(delays);
            }
            if let Some((step, before, rate)) = spec.step() {
                *side(&mut observed.losses, is_forward) = Some(losses(&self.truth, spec, leg, (step, before, rate)));
            } else {
                *side(&mut observed.losses, is_forward) = self.losses_of_action(spec, leg, is_forward);
            }
        }
        observed.action = self.acted(spec);
        observed.cpu = spec.options.sampler.map(|sampler| self.cpu(spec, sampler)).into_iter().collect();
        observed.profile = spec.options.profiler.map(|profiler| self.profile(spec, profiler));
        observed.emptied = spec.options.tear_down.map(|of| self.emptied(of));
        observed.memory = spec.options.memory.then(|| self.memory());
        observed
    }

    /// Warms up, without a change of the trial's noise.
    fn warm(&self, spec: &TrialSpec, warm_up: WarmUp, is_forward: bool) -> WarmUpFrames {
        let capacity = if is_forward { self.truth.forward_capacity } else { self.truth.reverse_capacity };
        let rate = warm_up.rate_before(spec.rate);
        let sent = spec.direction.frames(is_forward, warm_up.frames_before(spec.rate));
        let time = spec.direction.pace(is_forward, rate).time_for(sent);
        WarmUpFrames { sent, received: sent.min(capacity.frames_in(time).saturating_add(self.truth.queue)) }
    }

    /// Loses frames after a step of the rate.
    pub(super) fn lose_after_step(&self, spec: &TrialSpec, leg: &mut Leg, is_overloaded: bool) {
        let Some((_, before, rate)) = spec.step() else { return };
        if is_overloaded {
            let after = rate.frames_in(self.truth.recovery).min(leg.planned.saturating_sub(before));
            leg.received = leg.received.saturating_sub(after);
        }
    }
}

fn side<T>(of: &mut PerDirection<T>, is_forward: bool) -> &mut Option<T> {
    if is_forward { &mut of.forward } else { &mut of.reverse }
}

fn delays(
    truth: &Truth,
    rng: &mut SplitMix,
    (spec, stamps): (&TrialSpec, Stamps),
    (leg, is_forward): (&Leg, bool),
) -> crate::trial::Delays {
    let from = match stamps {
        Stamps::Some { from, .. } => from,
        Stamps::All { .. } => Nanos(0),
    };
    let Chosen { frames, every, .. } = stamps.choose(leg.sent, spec.pace_of(is_forward).frames_in(from));
    let lost = leg.lost() / every;
    // Lost frames are spread evenly.
    let is_lost = |at: Count| at * lost / frames.max(1) != (at + 1) * lost / frames.max(1);
    let mut delays: Vec<u64> = (0..frames)
        .map(|at| if is_lost(at) { LOST } else { truth.delay.0 + rng.below(truth.delay_spread.0 + 1) })
        .collect();
    let is_all = matches!(stamps, Stamps::All { .. });
    let timeout = if let Stamps::All { timeout } = stamps { timeout } else { None };
    let mut room = vec![0; if is_all { delays.len() } else { 0 }];
    let penalty = Nanos(spec.send_time().0.saturating_sub(from.0) + DRAIN.0);
    Sample { delays: &mut delays, room: is_all.then_some(&mut room), penalty, timeout, source: "simulation" }.observe()
}

fn losses(truth: &Truth, spec: &TrialSpec, leg: &Leg, (step, before, rate): (RateStep, Count, crate::Rate)) -> Losses {
    let frames = leg.lost();
    if frames == 0 {
        return Losses::default();
    }
    let after = rate.frames_in(truth.recovery).min(spec.frames() - before);
    let last = match after {
        0 => Nanos(step.at.0.saturating_sub(spec.rate.time_for(1).0)),
        after => Nanos(step.at.0 + rate.time_for(after - 1).0),
    };
    Losses { frames, first: Nanos(0), last, longest_gap: truth.recovery }
}
