//! Counting checks: the number of correct frames of a trial, and of faulty frames by fault. Once
//! every frame was sent, host noise cannot excuse a wrong count.

use super::kept::TrialKeeper;
use super::{LARGER, NO_TIME, SMALLEST, TRIES, Tester};
use crate::rig::cores::Cores;
use crate::until::is_over;
use gateway::TruthConfig;
use method::{Fault, FaultCounts, Leg, Load, Rate, TrialOutcome, TrialSpec, Trials};
use plane::Side;
use record::folder::SelfTestCheck;
use record::report::number::grouped;

/// Injected faults with the expected counts.
pub(super) struct Case {
    name: String,
    inject: TruthConfig,
    /// Connections of a NAT44 in phase 2; 0 for a stateless device.
    connections: u64,
    frame_size: usize,
    /// Whether only the sum of both directions is known.
    together: bool,
    expected: Tally,
}

/// Forward and reverse.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Tally {
    right: [u64; 2],
    faults: [FaultCounts; 2],
    reordered: [u64; 2],
}

impl Tally {
    fn of(outcome: &TrialOutcome, together: bool) -> Tally {
        let each = |count: fn(&Leg) -> u64| [count(&outcome.forward), count(&outcome.reverse)];
        let mut tally = Tally {
            right: each(|leg| leg.received),
            faults: [outcome.forward.faults, outcome.reverse.faults],
            reordered: each(|leg| leg.reordered),
        };
        if together {
            let reverse = tally.faults[1];
            tally.faults[0].merge(&reverse);
            tally.faults[1] = FaultCounts::default();
            tally.right = [tally.right.iter().sum(), 0];
        }
        tally
    }

    fn in_words(&self, together: bool) -> String {
        let both =
            |n: [u64; 2]| if together { grouped(n[0]) } else { format!("{} + {}", grouped(n[0]), grouped(n[1])) };
        let faults = Fault::ALL.map(|fault| (self.faults.map(|faults| faults.get(fault)), fault.name().to_owned()));
        let more = faults.into_iter().chain([(self.reordered, "reordered".to_owned())]).filter(|(n, _)| *n != [0, 0]);
        let mut words = vec![format!("{} correct", both(self.right))];
        words.extend(more.map(|(n, what)| format!("{} {what}", both(n))));
        words.join(", ")
    }
}

impl Tester<'_> {
    pub(super) fn cases(&self) -> Vec<Case> {
        let none = TruthConfig::default();
        let port = self.depth.misroute_every;
        let misroute = TruthConfig { misroute_every: port, ..none };
        let mut cases = vec![self.nothing(), self.duplicates(), self.reordered()];
        for side in [Side::Customer, Side::Internet] {
            let bad_payload = TruthConfig { bad_payload_every: 333, ..none };
            cases.extend([
                self.one_side("loss", side, None, 777, TruthConfig { lose_every: 777, ..none }),
                self.one_side("wrong port", side, Some(Fault::WrongPort), port, misroute),
                self.one_side("bad checksum", side, BAD_CHECKSUM, 501, TruthConfig { bad_checksum_every: 501, ..none }),
                Case { frame_size: LARGER, ..self.one_side("bad payload", side, BAD_PAYLOAD, 333, bad_payload) },
            ]);
        }
        // Right learns the outside of each connection, so another source is a fault there. Left
        // expects what it sent, after the reverse translation.
        let connections = self.connections();
        let disguise = TruthConfig { disguise_every: port, after: connections, ..none };
        for (side, inject) in [(Side::Customer, disguise), (Side::Internet, misroute)] {
            let case = self.one_side("wrong port in a NAT44", side, Some(Fault::WrongPort), port, inject);
            cases.push(Case { connections, ..case });
        }
        cases
    }

    /// Number of connections, each of which is used several times.
    fn connections(&self) -> u64 {
        (self.depth.frames / 10).clamp(1, 50_000)
    }

    fn nothing(&self) -> Case {
        let n = self.depth.frames;
        let expected = Tally { right: [n, n], ..Tally::default() };
        let (name, inject) = ("nothing injected".to_owned(), TruthConfig::default());
        Case { name, inject, connections: 0, frame_size: SMALLEST, together: false, expected }
    }

    /// One of `every` frames from this side is lost, or has this fault.
    fn one_side(&self, what: &str, side: Side, fault: Option<Fault>, every: u64, inject: TruthConfig) -> Case {
        let (at, way) = if side == Side::Customer { (0, "forward") } else { (1, "reverse") };
        let mut case = self.nothing();
        let hit = self.depth.frames / every;
        case.expected.right[at] -= hit;
        if let Some(fault) = fault {
            case.expected.faults[at].0[fault as usize] = hit;
        }
        Case { name: format!("{what}, {way}"), inject: TruthConfig { only: Some(side), ..inject }, ..case }
    }

    /// The device counts frames of both sides together, so only the sum is exact.
    fn duplicates(&self) -> Case {
        let n = self.depth.frames;
        // Fewer duplicates than the queue depth of the link, because on a slow machine all of them wait there.
        let every = (n / 100).max(1);
        let mut expected = Tally { right: [2 * n, 0], ..Tally::default() };
        expected.faults[0].0[Fault::Duplicate as usize] = 2 * n / every;
        let inject = TruthConfig { duplicate_every: every, ..TruthConfig::default() };
        Case { name: "duplicates".to_owned(), inject, together: true, expected, ..self.nothing() }
    }

    /// Correct, and also counted as reordered. No frame follows the last one, so it is excluded.
    fn reordered(&self) -> Case {
        let inject = TruthConfig { reorder_every: 777, only: Some(Side::Internet), ..TruthConfig::default() };
        let mut case = Case { name: "frames reordered, reverse".to_owned(), inject, ..self.nothing() };
        case.expected.reordered[1] = (self.depth.frames - 1) / 777;
        case
    }

    /// Repeated at half the rate as long as not every frame could be sent.
    pub(super) fn count(&self, case: &Case) -> SelfTestCheck {
        let mut check = SelfTestCheck {
            name: case.name.clone(),
            truth: case.expected.in_words(case.together),
            measured: NO_TIME.to_owned(),
            inconclusive: true,
            ..SelfTestCheck::default()
        };
        let kept = TrialKeeper::new(&case.name, &self.trials);
        for slower in 0..TRIES {
            if is_over(self.end) {
                break;
            }
            let spec = self.spec(case, Rate(self.depth.rate.0 >> slower));
            match self.trial(case, &spec) {
                Ok(outcome) => {
                    kept.keep(&spec, &outcome);
                    let tally = Tally::of(&outcome, case.together);
                    check.measured = tally.in_words(case.together);
                    check.passed = tally == case.expected;
                    check.inconclusive = !check.passed && was_cut_short(&spec, &outcome);
                }
                Err(error) => (check.measured, check.inconclusive) = (error, false),
            }
            if !check.inconclusive {
                break;
            }
        }
        if !check.passed {
            check.deciding = kept.last().map(Box::new);
        }
        check
    }

    fn trial(&self, case: &Case, spec: &TrialSpec) -> Result<TrialOutcome, String> {
        let cores = Cores::one_thread(1);
        let rig = match case.connections {
            0 => self.forwarding(case.inject, case.frame_size, &cores),
            connections => self.nat(case.inject, connections, &cores),
        };
        let outcome = rig.map_err(|e| e.to_string())?.run(spec).map_err(|e| e.to_string())?;
        Ok((self.says)(outcome))
    }

    fn spec(&self, case: &Case, rate: Rate) -> TrialSpec {
        TrialSpec::both_phases(rate, Load::Frames(self.depth.frames), case.connections)
    }
}

const BAD_CHECKSUM: Option<Fault> = Some(Fault::BadChecksum);
const BAD_PAYLOAD: Option<Fault> = Some(Fault::WrongPayload);

/// A sender gave up, the tester dropped frames, or phase 1 did. A late sender does not count,
/// because on one thread it loses nothing.
fn was_cut_short(spec: &TrialSpec, outcome: &TrialOutcome) -> bool {
    let all = |leg: &Leg| leg.sent >= leg.planned && leg.refused == 0;
    let sent = match &outcome.phase1 {
        // Phase 1 did not set up all connections.
        Some(leg) if outcome.forward.planned == 0 => all(leg),
        _ => [&outcome.forward, &outcome.reverse].into_iter().all(|leg| all(leg) && leg.planned == spec.frames()),
    };
    !sent || outcome.host.link_lost || outcome.host.tester_drops > 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rig::RunContext;
    use crate::selftest::QUICK;

    /// Runs this case with a tester that falsifies its outcome.
    fn said(says: fn(TrialOutcome) -> TrialOutcome, case: &str) -> SelfTestCheck {
        let process = RunContext::new();
        let depth = crate::selftest::Depth { frames: 5_000, misroute_every: 2_500, ..QUICK };
        let tester = Tester { end: None, says, ..Tester::new(&process, depth) };
        let cases = tester.cases();
        tester.count(cases.iter().find(|known| known.name == case).expect(case))
    }

    fn take_for_right(outcome: TrialOutcome, fault: Fault) -> TrialOutcome {
        let mut outcome = outcome;
        for leg in [&mut outcome.forward, &mut outcome.reverse] {
            leg.received += std::mem::take(&mut leg.faults.0[fault as usize]);
        }
        outcome
    }

    /// Asserts that the check fails because of a wrong count in a complete trial.
    fn assert_red(says: fn(TrialOutcome) -> TrialOutcome, case: &str) {
        let check = said(says, case);
        // If the host is too busy even for the slowest attempt, the check says nothing about the judge.
        assert!(!check.passed, "{case}: {check:?}");
        let honest = said(|outcome| outcome, case);
        assert!(honest.passed || honest.inconclusive, "{case}: {honest:?}");
    }

    #[test]
    fn a_judge_that_skips_checksums_is_found() {
        for case in ["bad checksum, forward", "bad checksum, reverse"] {
            assert_red(|outcome| take_for_right(outcome, Fault::BadChecksum), case);
        }
        assert_red(|outcome| take_for_right(outcome, Fault::WrongPayload), "bad payload, reverse");
    }

    #[test]
    fn a_judge_that_does_not_compare_with_what_was_learned_is_found() {
        for case in ["wrong port in a NAT44, forward", "wrong port in a NAT44, reverse"] {
            assert_red(|outcome| take_for_right(outcome, Fault::WrongPort), case);
        }
    }

    #[test]
    fn a_counter_that_is_stuck_is_found() {
        let stuck = |mut outcome: TrialOutcome| {
            outcome.reverse.received = outcome.reverse.received.min(4_096);
            outcome
        };
        assert_red(stuck, "nothing injected");
        let never = |mut outcome: TrialOutcome| {
            outcome.reverse.reordered = 0;
            outcome
        };
        assert_red(never, "frames reordered, reverse");
    }

    #[test]
    fn wrong_counts_are_a_fault_only_when_everything_was_sent() {
        let starved = |mut outcome: TrialOutcome| {
            (outcome.forward.sent, outcome.forward.received) = (700, 600);
            outcome
        };
        let check = said(starved, "loss, forward");
        assert_eq!((check.passed, check.inconclusive), (false, true), "{check:?}");
        let spec = |frames| TrialSpec { load: Load::Frames(frames), ..red_spec() };
        let leg = |planned, sent| Leg { planned, sent, ..Leg::default() };
        let both = |leg: Leg| TrialOutcome { forward: leg.clone(), reverse: leg, ..TrialOutcome::default() };
        assert!(!was_cut_short(&spec(10), &both(leg(10, 10))));
        assert!(was_cut_short(&spec(10), &both(leg(10, 9))));
        let no_phase2 = |phase1| TrialOutcome { phase1: Some(phase1), ..TrialOutcome::default() };
        assert!(!was_cut_short(&spec(10), &no_phase2(leg(5, 5))), "all were sent, and not all were learned");
        assert!(was_cut_short(&spec(10), &no_phase2(leg(5, 4))));
    }

    fn red_spec() -> TrialSpec {
        let process = RunContext::new();
        let tester = Tester::new(&process, QUICK);
        tester.spec(&tester.nothing(), Rate(1))
    }
}
