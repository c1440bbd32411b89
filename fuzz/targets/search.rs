//! The search procedures with arbitrary outcomes of trials: they end within the number of trials that their settings
//! allow, and return no rate that did not pass.

#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use method::judged::{HOST_REPEATS, PHASE1_LOWERINGS, PHASE1_TRIALS, TESTER_TRIALS};
use method::search::{Phase2, Verify};
use method::trial::{HostNoise, Leg, Loop, PhaseKind, StoreFacts, TrialOutcome, TrialSpec};
use method::{
    Criteria, Direction, Nanos, Precision, Rate, Ratio, ResultKind, SearchResult, SearchSettings, TrialError, Trials,
    Verdict, judge, lost_any,
};
use procedure::establishment::MAX_CONN_EST_RATE;
use procedure::{Context, Keys, throughput};

#[derive(Arbitrary, Debug)]
struct Input {
    lo: u64,
    above: u64,
    error: Option<u64>,
    error_ppm: u32,
    acceptance: [u32; 2],
    nanos: u64,
    direction: u8,
    alpha: Option<u32>,
    verify: Option<u8>,
    kind: u8,
    connections: u64,
    buffered: u8,
    phase1_rate: u64,
    trials: Vec<Trial>,
}

/// What becomes of a trial.
#[derive(Arbitrary, Clone, Debug)]
struct Trial {
    lost: [u16; 3],
    nothing: [bool; 3],
    short: bool,
    late: Option<u64>,
    stall: Option<u64>,
    queue_lasts: Option<u64>,
    drops: Option<u64>,
    link_lost: bool,
    burst: u32,
    own_time: u64,
    closed: bool,
    learned: Option<u64>,
    entries: [Option<u8>; 2],
    fails: bool,
}

struct Script {
    trials: Vec<Trial>,
    next: usize,
    /// Everything that was asked for and what came of it.
    log: Vec<(TrialSpec, TrialOutcome)>,
    most: u64,
}

impl Trials for Script {
    fn run(&mut self, spec: &TrialSpec) -> Result<TrialOutcome, TrialError> {
        assert!((self.log.len() as u64) < self.most, "more than {} trials", self.most);
        let script = self.trials[self.next % self.trials.len()].clone();
        self.next += 1;
        if script.fails && self.next.is_multiple_of(7) {
            return Err(TrialError::Tester("scripted".to_owned()));
        }
        let leg = |i: usize, frames: u64| {
            let sent = if script.short { frames / 2 } else { frames };
            let lost = if script.nothing[i] { sent } else { u64::from(script.lost[i]) };
            let mut leg = Leg { planned: frames, sent, received: sent.saturating_sub(lost), ..Leg::default() };
            leg.timing.finished_late = Nanos(script.late.unwrap_or(0));
            (leg.timing.burst, leg.timing.worst_burst) = (1, script.burst);
            leg.timing.own_time = Nanos(script.own_time);
            leg
        };
        let outcome = TrialOutcome {
            forward: leg(0, spec.frames()),
            reverse: leg(1, spec.frames()),
            validation: spec.validate_rate.map(|_| leg(2, spec.connections)),
            host: HostNoise {
                tester_stall: Nanos(script.stall.unwrap_or(0)),
                queue_lasts: script.queue_lasts.map(Nanos),
                tester_drops: script.drops.unwrap_or(0),
                link_lost: script.link_lost,
                ..HostNoise::default()
            },
            dut_loop: if script.closed { Loop::Closed } else { Loop::Open },
            store: (spec.kind != PhaseKind::Stateless).then(|| StoreFacts {
                learned: script.learned.unwrap_or(spec.connections),
                dut_entries: script.entries[0].map(u64::from),
                dut_entries_after: script.entries[1].map(u64::from),
                ..StoreFacts::default()
            }),
            ..TrialOutcome::default()
        };
        self.log.push((spec.clone(), outcome.clone()));
        Ok(outcome)
    }
}

impl Input {
    fn settings(&self) -> SearchSettings {
        let share = |ppm: u32| Ratio::from_ppm(u64::from(ppm) % 1_000_001);
        let lo = self.lo;
        SearchSettings {
            lo: Rate(lo),
            hi: Rate(lo.saturating_add(self.above)),
            precision: match self.error {
                Some(width) => Precision::Absolute(Rate(width)),
                None => Precision::Relative(share(self.error_ppm)),
            },
            verify: self.verify.map(|tries| Verify { tries: (tries % 5).into(), at_most: None }),
            criteria: Criteria { acceptance: share(self.acceptance[0]), phase1_acceptance: share(self.acceptance[1]) },
            duration: Nanos(self.nanos),
            direction: [Direction::Both, Direction::Forward, Direction::Reverse][usize::from(self.direction % 3)],
            alpha: self.alpha.map(share),
            ..SearchSettings::default()
        }
    }

    /// Trials that a search may take: by bisection 64 rates, both ends and a probe each; and again 64 rates and a probe each of
    /// the strict search.
    fn most(settings: &SearchSettings) -> u64 {
        let phase1 = PHASE1_TRIALS * (PHASE1_LOWERINGS + 1);
        let one = u64::from(TESTER_TRIALS + HOST_REPEATS + 1 + phase1);
        (67 + 64) * (one * u64::from(settings.verify.map_or(1, |v| v.tries.max(1))) + 1)
    }
}

fn is_honest(result: &SearchResult, settings: &SearchSettings, log: &[(TrialSpec, TrialOutcome)]) {
    if result.rate == Rate(0) {
        assert!(
            matches!(
                result.kind,
                ResultKind::NothingPassed | ResultKind::NothingMeasured | ResultKind::Below | ResultKind::NoRate
            ) || settings.hi == Rate(0)
        );
        return;
    }
    // A strict rate may have passed in a discarded trial only.
    let strict = result.kind == ResultKind::Strict;
    let passed = |(spec, outcome): &&(TrialSpec, TrialOutcome)| {
        let valid = judge(spec, outcome, &settings.criteria) == Verdict::Pass;
        spec.rate == result.rate && (valid || strict && lost_any(spec, outcome) == Some(false))
    };
    let (spec, outcome) = log.iter().find(passed).expect("a rate that never passed");
    // What a pass means, said another way.
    let establish = spec.kind == PhaseKind::Establish;
    let share = if establish { settings.criteria.phase1_acceptance } else { settings.criteria.acceptance };
    let arrived = |leg: &Leg| leg.sent >= spec.frames() && leg.received >= share.ceil_of(leg.sent);
    assert!(!(establish || spec.direction.forward()) || arrived(&outcome.forward));
    assert!(establish || !spec.direction.reverse() || arrived(&outcome.reverse));
    assert!(outcome.validation.as_ref().is_none_or(|leg| leg.received >= share.ceil_of(leg.sent)));
}

fuzz_target!(|input: Input| {
    if input.trials.is_empty() {
        return;
    }
    let settings = input.settings();
    let most = Input::most(&settings);
    let mut script = Script { trials: input.trials.clone(), next: 0, log: Vec::new(), most };
    let (n, rate) = (input.connections, Rate(input.phase1_rate));
    let (keys, buffered) = (Keys::of_table(()), input.buffered.into());
    let context = Context::new(&MAX_CONN_EST_RATE, &keys, &settings);
    let phase1 = Context { connections: n, buffered, validate_at_most: Some(rate), ..context };
    let mut last = Rate(u64::MAX);
    let watch = &mut |p: &method::Progress| {
        assert!(p.hi <= last && p.lo <= p.rate && p.rate <= p.hi, "the search does not narrow");
        last = p.hi;
    };
    let found = match input.kind % 3 {
        0 => throughput::measure(&mut script, &settings, None, watch),
        1 => throughput::measure(&mut script, &settings, Some(Phase2 { connections: n, phase1_rate: rate }), watch),
        _ => (procedure::establishment::PROCEDURE.search)(&phase1, &mut script, watch),
    };
    if let Ok(result) = found {
        is_honest(&result, &settings, &script.log);
    }
});
