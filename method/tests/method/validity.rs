//! The verdict on one trial, one test per rule (METHODOLOGY.md, validity).

use method::trial::Claim;
use method::validity::{
    FailReason, Invalid, LATE_FLOOR, Rule, Spoiler, Stream, check_buffers, late_limit, table_changed,
};
use method::{
    Criteria, Direction, Fault, HostNoise, Leg, Load, Loop, Nanos, PhaseKind, Rate, Ratio, StoreFacts, Timing,
    TrialError, TrialOutcome, TrialSpec, Verdict, judge,
};

pub(crate) const FRAMES: u64 = 60_000_000;

/// 1 Mfps for 60 s, both directions.
pub(crate) fn spec() -> TrialSpec {
    TrialSpec::stateless(Rate(1_000_000), Load::For(Nanos::from_secs(60)))
}

fn leg(frames: u64) -> Leg {
    Leg {
        planned: frames,
        sent: frames,
        received: frames,
        timing: Timing { burst: 1, worst_burst: 1, ..Timing::default() },
        ..Leg::default()
    }
}

/// Everything sent on time and received.
pub(crate) fn perfect() -> TrialOutcome {
    TrialOutcome { forward: leg(FRAMES), reverse: leg(FRAMES), ..TrialOutcome::default() }
}

fn verdict(change: impl FnOnce(&mut TrialOutcome)) -> Verdict {
    let mut outcome = perfect();
    change(&mut outcome);
    judged(&spec(), &outcome)
}

fn judged(spec: &TrialSpec, outcome: &TrialOutcome) -> Verdict {
    judge(spec, outcome, &Criteria::default())
}

fn invalid(verdict: Verdict) -> Invalid {
    match verdict {
        Verdict::Invalid(reason) => reason,
        other => panic!("expected invalid, got {other:?}"),
    }
}

fn loss(verdict: Verdict) -> (Stream, bool) {
    match verdict {
        Verdict::Fail(failure) => match failure.reason {
            FailReason::Loss { stream, .. } => (stream, failure.closed_loop),
            FailReason::Late { .. } => panic!("expected loss, got {failure:?}"),
        },
        other => panic!("expected fail, got {other:?}"),
    }
}

/// Phase 1 of 4 M connections at 1 Mcps, validated at half the rate.
fn establish() -> (TrialSpec, TrialOutcome) {
    let n = 4_000_000;
    let spec = TrialSpec {
        kind: PhaseKind::Establish,
        load: Load::Frames(n),
        direction: Direction::Forward,
        connections: n,
        validate_rate: Some(Rate(500_000)),
        ..spec()
    };
    let store = Some(StoreFacts { learned: n, ..StoreFacts::default() });
    (spec, TrialOutcome { forward: leg(n), validation: Some(leg(n)), store, ..TrialOutcome::default() })
}

/// An outcome that differs from a perfect one.
type Change = fn(&mut TrialOutcome);

#[test]
fn what_the_device_did_not_lose_passes() {
    let rows: [(&str, Change); 3] = [
        ("all sent and all received", |_| ()),
        ("a sender that is late within the limit", |o| o.forward.timing.finished_late = Nanos(600_000)),
        ("duplicate, late and foreign frames", |o| {
            for fault in Fault::ALL {
                o.forward.faults.add(fault);
            }
        }),
    ];
    for (name, change) in rows {
        assert_eq!(verdict(change), Verdict::Pass, "{name}");
    }
}

#[test]
fn what_the_device_lost_fails() {
    let rows: [(&str, Change, (Stream, bool)); 4] = [
        ("one frame", |o| o.reverse.received -= 1, (Stream::Reverse, false)),
        (
            "duplicate, late and foreign frames make up for no loss",
            |o| {
                o.forward.received -= 1;
                for fault in [Fault::Duplicate, Fault::Late, Fault::Foreign] {
                    o.forward.faults.add(fault);
                }
            },
            (Stream::Forward, false),
        ),
        (
            "a stall that the queue absorbs",
            |o| {
                o.forward.received -= 20;
                o.host.queue_lasts = Some(Nanos(500_000));
                o.host.tester_stall = Nanos(500_000);
            },
            (Stream::Forward, false),
        ),
        (
            "in a closed loop, catch-up bursts are the device's work",
            |o| {
                o.dut_loop = Loop::Closed;
                o.forward.received -= 20;
                (o.forward.timing.worst_burst, o.forward.timing.catch_ups) = (200, 900);
            },
            (Stream::Forward, true),
        ),
    ];
    for (name, change, expected) in rows {
        assert_eq!(loss(verdict(change)), expected, "{name}");
    }
}

#[test]
fn what_the_tester_or_the_host_spoiled_is_invalid() {
    let (tester, host) = (Spoiler::Tester, Spoiler::Host);
    let rows: [(&str, Change, Spoiler); 7] = [
        ("late", |o| o.forward.timing.finished_late = Nanos(600_001), tester),
        (
            "late, with loss",
            |o| (o.forward.timing.finished_late, o.reverse.received) = (Nanos::from_secs(1), FRAMES - 1_000_000),
            tester,
        ),
        ("a lost link", |o| o.host.link_lost = true, tester),
        ("drops", |o| o.host.tester_drops = 7, tester),
        ("more received than sent", |o| o.forward.received += 1, tester),
        (
            "drops in a stall longer than the queues",
            |o| {
                (o.forward.received, o.host.tester_drops) = (FRAMES - 7, 7);
                (o.host.queue_lasts, o.host.tester_stall) = (Some(Nanos::from_millis(1)), Nanos::from_millis(2));
            },
            host,
        ),
        (
            "late, explained by a stall",
            |o| (o.forward.timing.finished_late, o.host.tester_stall) = (Nanos::from_millis(3), Nanos::from_millis(3)),
            host,
        ),
    ];
    for (name, change, spoiler) in rows {
        assert_eq!(invalid(verdict(change)).spoiler(), spoiler, "{name}");
    }
    let late = invalid(verdict(rows[0].1));
    assert!(matches!(late, Invalid::SenderLate { stream: Stream::Forward, limit: Nanos(600_000), .. }));
    assert_eq!(invalid(verdict(rows[2].1)), Invalid::LinkLost);
    assert_eq!(invalid(verdict(rows[3].1)), Invalid::TesterDrops { frames: 7 });
    assert!(matches!(invalid(verdict(rows[4].1)), Invalid::MoreReceivedThanSent { .. }));
    let few = invalid(verdict(|o| (o.forward.sent, o.forward.received) = (FRAMES - 1, FRAMES - 1)));
    assert_eq!(few, Invalid::SentTooFew { stream: Stream::Forward, planned: FRAMES, sent: FRAMES - 1 });
}

#[test]
fn acceptance_allows_exactly_its_share() {
    let criteria = Criteria { acceptance: "0.9999".parse().unwrap(), ..Criteria::default() };
    let mut outcome = perfect();
    outcome.forward.received -= 6_000;
    assert_eq!(judge(&spec(), &outcome, &criteria), Verdict::Pass);
    outcome.forward.received -= 1;
    loss(judge(&spec(), &outcome, &criteria));
}

#[test]
fn acceptance_holds_per_direction_and_not_in_total() {
    let criteria = Criteria { acceptance: "0.9999".parse().unwrap(), ..Criteria::default() };
    let mut outcome = perfect();
    outcome.forward.received -= 7_000;
    loss(judge(&spec(), &outcome, &criteria));
}

#[test]
fn tolerance_of_phase_2_does_not_relax_phase_1() {
    let criteria = Criteria { acceptance: "0.99".parse().unwrap(), phase1_acceptance: Ratio::ONE };
    let (spec, mut outcome) = establish();
    outcome.forward.received -= 1;
    loss(judge(&spec, &outcome, &criteria));
}

#[test]
fn an_inactive_direction_is_not_judged() {
    let outcome = TrialOutcome { forward: leg(FRAMES), ..TrialOutcome::default() };
    let spec = TrialSpec { direction: Direction::Forward, ..spec() };
    assert_eq!(judged(&spec, &outcome), Verdict::Pass);
}

#[test]
fn the_limit_of_lateness_follows_the_planned_send_time() {
    assert_eq!(late_limit(Nanos::from_secs(1)), LATE_FLOOR);
    assert_eq!(late_limit(Nanos::from_secs(60)), Nanos(600_000));
}

#[test]
fn a_frame_count_that_wraps_at_32_bits_is_invalid_and_not_a_pass() {
    // The tester's own plan hides 2^32 missing frames.
    let spec = TrialSpec { rate: Rate(100_000_000), ..spec() };
    let wrapped = u64::from(spec.frames() as u32);
    assert!(wrapped < spec.frames());
    let outcome = TrialOutcome { forward: leg(wrapped), reverse: leg(wrapped), ..TrialOutcome::default() };
    let reason = invalid(judged(&spec, &outcome));
    assert!(matches!(reason, Invalid::SentTooFew { planned: 6_000_000_000, .. }));
}

#[test]
fn counts_above_32_bits_are_compared_exactly() {
    let spec = TrialSpec { rate: Rate(100_000_000), ..spec() };
    let mut outcome =
        TrialOutcome { forward: leg(spec.frames()), reverse: leg(spec.frames()), ..TrialOutcome::default() };
    assert_eq!(judged(&spec, &outcome), Verdict::Pass);
    outcome.forward.received -= 1 << 32;
    loss(judged(&spec, &outcome));
}

#[test]
fn a_trial_without_a_frame_to_send_is_no_pass() {
    let spec = TrialSpec { rate: Rate(10), load: Load::For(Nanos::from_millis(50)), ..spec() };
    let outcome = TrialOutcome { forward: leg(0), reverse: leg(0), ..TrialOutcome::default() };
    let reason = invalid(judged(&spec, &outcome));
    assert_eq!(reason, Invalid::NothingToSend { stream: Stream::Forward });
}

#[test]
fn rule_1_tester_drops_invalidate_whatever_the_device_lost() {
    for lost in [0, 7, 30_000_000] {
        let verdict = verdict(|o| {
            o.forward.received -= lost;
            o.host.tester_drops = 7;
        });
        assert_eq!(Rule::of(&verdict, &perfect()), Some(Rule::Tester));
        assert_eq!(invalid(verdict), Invalid::TesterDrops { frames: 7 });
    }
}

/// The queue in front of the device holds bursts, or the stall before them was longer.
#[test]
fn catch_up_bursts_alone_are_no_noise() {
    let burst = |lost: u64| {
        verdict(|o| {
            o.forward.received -= lost;
            o.forward.timing = Timing { burst: 1, worst_burst: 500, catch_ups: 3, crowded: 900, ..Timing::default() };
            o.host.queue_lasts = Some(Nanos::from_millis(1));
            o.host.tester_stall = Nanos::from_millis(1);
        })
    };
    assert_eq!(burst(0), Verdict::Pass);
    loss(burst(20));
}

#[test]
fn rule_2_host_noise_invalidates_a_pass_as_well_as_a_fail() {
    let noises: [fn(&mut HostNoise); 4] = [
        |host| host.tester_stall = Nanos(500_001),
        |host| host.dut_stall = Nanos(500_001),
        |host| host.tester_run_delay = Some(Nanos(500_001)),
        |host| host.dut_run_delay = Some(Nanos(500_001)),
    ];
    for noise in noises {
        for lost in [0, 1, 20] {
            let mut outcome = perfect();
            outcome.forward.received -= lost;
            outcome.host.queue_lasts = Some(Nanos(500_000));
            noise(&mut outcome.host);
            let verdict = judged(&spec(), &outcome);
            assert_eq!(Rule::of(&verdict, &outcome), Some(Rule::HostNoise));
            assert_eq!(invalid(verdict).spoiler(), Spoiler::Host);
        }
    }
}

/// 3 ms are 3,000 frames in each direction; 1 % of the frames is 1.2 million.
#[test]
fn rule_3_conservative_exception_keeps_a_fail_that_noise_cannot_explain() {
    let lose = |lost: u64, stalled: Nanos| {
        let mut outcome = perfect();
        outcome.forward.received -= lost;
        outcome.host.tester_stall = Nanos::from_millis(1);
        (outcome.host.tester_stalled, outcome.host.dut_stalled) = (stalled, Nanos::from_millis(1));
        (judged(&spec(), &outcome), outcome)
    };
    let short = Nanos::from_millis(2);
    let (verdict, outcome) = lose(1_200_001, short);
    assert_eq!(Rule::of(&verdict, &outcome), Some(Rule::ConservativeException));
    loss(verdict);
    assert_eq!(invalid(lose(1_200_000, short).0).spoiler(), Spoiler::Host, "1 % of the frames sent");
    // In 999 ms, 2 × 1,000,000 frames are due, one of each direction at both ends.
    let long = Nanos::from_millis(999);
    assert_eq!(invalid(lose(2_000_002, long).0).spoiler(), Spoiler::Host);
    loss(lose(2_000_003, long).0);
}

/// One right frame is missing. It may be lost, or be one that arrived with the fault.
#[test]
fn rule_3_keeps_a_fail_by_frames_that_arrived_wrong() {
    use method::Fault::{BadChecksum, Duplicate, IcmpError, Late, WrongPort};
    for (fault, fails) in
        [(BadChecksum, true), (WrongPort, true), (Duplicate, false), (IcmpError, false), (Late, false)]
    {
        let mut outcome = perfect();
        outcome.forward.received -= 1;
        outcome.forward.faults.add(fault);
        outcome.host.tester_stall = Nanos::from_millis(1);
        let verdict = judged(&spec(), &outcome);
        let rule = if fails { Rule::ConservativeException } else { Rule::HostNoise };
        assert_eq!(Rule::of(&verdict, &outcome), Some(rule), "{fault:?}");
    }
}

/// Frames that became due in a stall, and those due meanwhile, leave as fast as possible.
#[test]
fn rule_3_counts_the_frames_of_catch_up_bursts_as_touched() {
    let lose = |lost: u64, crowded: u64| {
        let spec = TrialSpec { direction: Direction::Forward, load: Load::For(Nanos::from_millis(100)), ..spec() };
        let mut outcome = TrialOutcome { forward: leg(100_000), ..TrialOutcome::default() };
        (outcome.forward.received, outcome.forward.timing.crowded) = (100_000 - lost, crowded);
        outcome.host.tester_stall = Nanos::from_millis(10);
        judged(&spec, &outcome)
    };
    loss(lose(10_002, 0));
    assert_eq!(invalid(lose(10_002, 2_000)).spoiler(), Spoiler::Host);
    loss(lose(12_002, 2_000));
}

#[test]
fn a_fail_with_a_stall_longer_than_the_queue_lasts_is_the_hosts() {
    for of_dut in [false, true] {
        let reason = invalid(verdict(|o| {
            o.forward.received -= 20;
            o.host.queue_lasts = Some(Nanos(500_000));
            *(if of_dut { &mut o.host.dut_stall } else { &mut o.host.tester_stall }) = Nanos(500_001);
        }));
        assert!(matches!(reason, Invalid::HostStall { of_dut: d, .. } if d == of_dut));
    }
}

/// Queues do not help a sender that is late.
#[test]
fn a_sender_that_a_short_stall_made_late_is_the_hosts_for_any_queue() {
    let late = |late: u64, stall: u64, delay: u64| {
        invalid(verdict(|o| {
            o.forward.timing.finished_late = Nanos(late_limit(Nanos::from_secs(60)).0 + late);
            o.host.queue_lasts = Some(Nanos::from_millis(8));
            (o.host.tester_stall, o.host.tester_run_delay) = (Nanos(stall), Some(Nanos(delay)));
        }))
    };
    let stalled = late(300_000, 300_000, 0);
    assert!(matches!(stalled, Invalid::HostStall { of_dut: false, .. }), "{stalled}");
    assert_eq!(stalled.to_string(), "a tester thread stalled for 300 µs, which made a sender late");
    assert!(matches!(late(300_000, 0, 300_000), Invalid::HostRunDelay { of_dut: false, .. }));
    assert!(matches!(late(300_001, 300_000, 300_000), Invalid::SenderLate { .. }));
    // A stall shorter than the allowed lateness explains no late sender.
    assert!(matches!(late(1, LATE_FLOOR.0, LATE_FLOOR.0), Invalid::SenderLate { .. }));
}

/// Kernel threads do the device's work on the sender's core in short slices.
#[test]
fn in_a_closed_loop_a_stall_that_the_queues_absorb_excuses_no_late_sender() {
    let late = |stall: Nanos| {
        verdict(|o| {
            o.dut_loop = Loop::Closed;
            o.forward.timing.finished_late = Nanos::from_millis(4);
            o.host.queue_lasts = Some(Nanos::from_millis(8));
            o.host.tester_stall = stall;
        })
    };
    assert!(matches!(late(Nanos::from_millis(8)), Verdict::Fail(failure) if failure.closed_loop));
    assert_eq!(invalid(late(Nanos::from_millis(9))).spoiler(), Spoiler::Host);
}

/// The tester waits for the DUT, whose threads may share its core.
#[test]
fn in_a_closed_loop_the_testers_run_delay_is_no_noise() {
    let fail = verdict(|o| {
        o.dut_loop = Loop::Closed;
        o.forward.received -= 20;
        o.host.tester_run_delay = Some(Nanos::from_millis(50));
    });
    assert_eq!(loss(fail), (Stream::Forward, true));
    let dut = verdict(|o| {
        o.dut_loop = Loop::Closed;
        o.forward.received -= 20;
        o.host.dut_run_delay = Some(Nanos::from_millis(50));
    });
    assert_eq!(invalid(dut).spoiler(), Spoiler::Host);
}

/// A run delay of 5 ms of the sender's own thread is host noise.
#[test]
fn where_the_sender_itself_does_the_devices_work_its_run_delay_is_noise() {
    let inline = |delay: Nanos, lost: u64| {
        verdict(|o| {
            o.dut_loop = Loop::Inline;
            o.forward.received -= lost;
            o.host.tester_run_delay = Some(delay);
        })
    };
    assert_eq!(invalid(inline(Nanos::from_millis(5), 20)).spoiler(), Spoiler::Host);
    assert_eq!(loss(inline(Nanos(0), 20)), (Stream::Forward, true));
    let late = |delay: Nanos| {
        verdict(|o| {
            o.dut_loop = Loop::Inline;
            o.forward.timing.finished_late = Nanos::from_millis(5);
            o.host.tester_run_delay = Some(delay);
        })
    };
    assert_eq!(invalid(late(Nanos::from_millis(5))).spoiler(), Spoiler::Host);
    assert!(matches!(late(Nanos(0)), Verdict::Fail(failure) if failure.closed_loop));
}

#[test]
fn without_a_known_queue_only_stalls_beyond_the_allowed_lateness_are_noise() {
    let stalled = |stall: Nanos| {
        verdict(|o| {
            o.forward.received -= 20;
            o.host.tester_stall = stall;
        })
    };
    loss(stalled(LATE_FLOOR));
    let reason = invalid(stalled(Nanos(LATE_FLOOR.0 + 1)));
    assert!(matches!(reason, Invalid::HostStall { queue_lasts: None, .. }));
    assert!(reason.to_string().ends_with("no queue is known"), "{reason}");
}

#[test]
fn lateness_that_waiting_for_the_core_explains_is_the_hosts() {
    let late = |delay: u64| {
        invalid(verdict(|o| {
            o.forward.timing.finished_late = Nanos::from_millis(3);
            o.host.tester_run_delay = Some(Nanos(delay));
        }))
    };
    // 600 µs are allowed in 60 s.
    assert_eq!(late(2_400_000).spoiler(), Spoiler::Host);
    assert_eq!(late(2_399_999).spoiler(), Spoiler::Tester);
}

/// Late by half a second, with this tester time in each direction.
fn closed(own: Nanos) -> Verdict {
    verdict(|o| {
        o.dut_loop = Loop::Closed;
        for leg in [&mut o.forward, &mut o.reverse] {
            leg.timing.finished_late = Nanos::from_millis(500);
            leg.timing.worst_burst = 200;
            leg.timing.own_time = own;
        }
    })
}

#[test]
fn rule_4_closed_loop_fails_if_the_tester_alone_would_have_been_in_time() {
    let verdict = closed(Nanos::from_secs(20));
    assert_eq!(Rule::of(&verdict, &perfect()), Some(Rule::ClosedLoop));
    let Verdict::Fail(failure) = verdict else { panic!("not a fail") };
    assert!(failure.closed_loop);
    assert!(matches!(failure.reason, FailReason::Late { .. }));
    assert!(failure.to_string().contains("closed loop, tester included"));
}

#[test]
fn a_late_closed_loop_is_the_testers_when_its_own_share_is_too_large() {
    // 31 s for each of two directions do not fit into 60 s.
    assert_eq!(invalid(closed(Nanos::from_secs(31))).spoiler(), Spoiler::Tester);
}

#[test]
fn a_closed_loop_that_gave_up_is_judged_at_its_own_pace() {
    let gave_up = |own_secs| {
        verdict(|o| {
            o.dut_loop = Loop::Closed;
            o.forward.sent = FRAMES / 2;
            o.forward.received = FRAMES / 2;
            o.forward.timing.finished_late = Nanos::from_secs(60);
            o.forward.timing.own_time = Nanos::from_secs(own_secs);
            o.forward.timing.gave_up = true;
        })
    };
    assert!(matches!(gave_up(29), Verdict::Fail(_)));
    assert!(matches!(gave_up(31), Verdict::Invalid(_)));
}

/// Stuck before the first of 8,000 frames, or after 2,048 of 10,000.
#[test]
fn a_port_that_does_not_send_what_was_planned_never_fails_the_device() {
    let spec = |frames| TrialSpec { rate: Rate(10_000), load: Load::Frames(frames), ..spec() };
    let few = |planned: u64, sent: u64, dut_loop: Loop| {
        let mut outcome = TrialOutcome { forward: leg(planned), reverse: leg(planned), dut_loop, ..Default::default() };
        (outcome.forward.sent, outcome.forward.received) = (sent, 0);
        outcome.forward.timing.finished_late = Nanos::from_millis(200);
        outcome
    };
    for dut_loop in [Loop::Open, Loop::Closed, Loop::Inline] {
        for (planned, sent) in [(8_000, 0), (10_000, 2_048)] {
            let mut outcome = few(planned, sent, dut_loop);
            let reason = invalid(judged(&spec(planned), &outcome));
            assert_eq!(reason, Invalid::SentTooFew { stream: Stream::Forward, planned, sent });
            outcome.host.dut_stall = Nanos::from_millis(2);
            assert_eq!(reason, invalid(judged(&spec(planned), &outcome)));
        }
        // It gave up before its first frame.
        let mut none = few(8_000, 0, dut_loop);
        none.forward.timing.gave_up = true;
        let reason = invalid(judged(&spec(8_000), &none));
        assert_eq!(reason, Invalid::SentTooFew { stream: Stream::Forward, planned: 8_000, sent: 0 });
    }
}

#[test]
fn too_few_frames_of_a_thread_that_did_not_run_are_the_hosts() {
    for (gave_up, sent) in [(false, 0), (false, FRAMES / 2), (true, FRAMES / 2)] {
        let reason = invalid(verdict(|o| {
            o.dut_loop = Loop::Inline;
            (o.forward.sent, o.forward.received) = (sent, 0);
            (o.forward.timing.gave_up, o.forward.timing.finished_late) = (gave_up, Nanos::from_millis(210));
            o.host.tester_stall = Nanos::from_millis(210);
        }));
        assert!(matches!(reason, Invalid::HostStall { of_dut: false, .. }), "{reason:?}");
    }
}

#[test]
fn too_few_frames_of_a_validation_or_of_a_phase_1_are_no_fail() {
    let (spec, mut outcome) = establish();
    let validation = outcome.validation.as_mut().unwrap();
    (validation.sent, validation.received) = (2_048, 0);
    let few = Invalid::SentTooFew { stream: Stream::Validation, planned: 4_000_000, sent: 2_048 };
    assert_eq!(invalid(judged(&spec, &outcome)), few);
    let spec = TrialSpec { kind: PhaseKind::Established, connections: 10_000, phase1_rate: Some(Rate(1)), ..spec };
    let phase1 = Some(Leg { sent: 2_048, received: 0, ..leg(10_000) });
    let store = Some(StoreFacts::default());
    let reason =
        invalid(judge(&spec, &TrialOutcome { phase1, store, ..TrialOutcome::default() }, &Criteria::default()));
    assert_eq!(reason, Invalid::SentTooFew { stream: Stream::Forward, planned: 10_000, sent: 2_048 });
}

#[test]
fn phase_1_is_judged_with_its_validation() {
    let with = |change: fn(&mut TrialOutcome, &mut Leg)| {
        let (spec, mut outcome) = establish();
        let mut validation = outcome.validation.take().unwrap();
        change(&mut outcome, &mut validation);
        judged(&spec, &TrialOutcome { validation: Some(validation), ..outcome })
    };
    assert_eq!(with(|_, _| ()), Verdict::Pass);
    assert_eq!(loss(with(|_, validation| validation.received -= 1)).0, Stream::Validation);
    let late = invalid(with(|_, validation| validation.timing.finished_late = Nanos::from_millis(1)));
    assert!(matches!(late, Invalid::SenderLate { stream: Stream::Validation, .. }));
}

/// A failed phase 1 needs none.
#[test]
fn a_validation_that_did_not_take_place_is_no_pass() {
    let (spec, outcome) = establish();
    let mut outcome = TrialOutcome { validation: None, ..outcome };
    assert_eq!(invalid(judged(&spec, &outcome)), Invalid::ValidationMissing);
    outcome.forward.received -= 1;
    assert_eq!(loss(judged(&spec, &outcome)).0, Stream::Forward);
}

#[test]
fn phase_2_on_an_incomplete_phase_1_is_invalid() {
    let spec =
        TrialSpec { kind: PhaseKind::Established, connections: 1_000, phase1_rate: Some(Rate(10_000)), ..spec() };
    let store = Some(StoreFacts { learned: 999, ..StoreFacts::default() });
    let outcome = TrialOutcome { store, ..perfect() };
    let reason = invalid(judged(&spec, &outcome));
    assert_eq!(reason, Invalid::Phase1Incomplete { learned: 999, needed: 1_000 });
    assert_eq!(reason.spoiler(), Spoiler::Phase1);
}

/// Half of all connections are missing, but a stall of 2 ms affected 21 frames; up to 1 % of the frames, it explains
/// the loss.
#[test]
fn a_stall_that_does_not_explain_what_phase_1_lost_is_no_excuse() {
    let spec =
        TrialSpec { kind: PhaseKind::Established, connections: 10_000, phase1_rate: Some(Rate(10_000)), ..spec() };
    let with = |received: u64| {
        let phase1 = Leg { received, ..leg(10_000) };
        let store = Some(StoreFacts { learned: received, ..StoreFacts::default() });
        let mut outcome = TrialOutcome { store, phase1: Some(phase1), ..TrialOutcome::default() };
        outcome.host.dut_stall = Nanos::from_millis(2);
        outcome
    };
    let judged = |outcome: &TrialOutcome| invalid(judged(&spec, outcome));
    assert_eq!(judged(&with(5_000)).spoiler(), Spoiler::Phase1);
    assert_eq!(judged(&with(9_900)).spoiler(), Spoiler::Host);
    let mut dropped = with(5_000);
    dropped.host = HostNoise { tester_drops: 1, ..HostNoise::default() };
    assert_eq!(judged(&dropped).spoiler(), Spoiler::Phase1);
    // Without the leg in the record, the recorded verdict stays.
    assert_eq!(judged(&TrialOutcome { phase1: None, ..with(5_000) }).spoiler(), Spoiler::Host);
}

/// A late answer shows a connection as well as one in time; a missing one shows nothing on a busy host.
#[test]
fn a_complete_proof_stands_whatever_the_host_did() {
    let stalled: Change = |o| o.host.tester_stall = Nanos::from_secs(1);
    let rows: [(&str, Change, bool); 7] = [
        ("late", |o| o.reverse.timing.finished_late = Nanos::from_secs(2), true),
        ("its link came back", |o| o.host.link_lost = true, true),
        ("all counted", |o| o.store.as_mut().unwrap().dut_entries = Some(30_000), true),
        ("one fewer counted", |o| o.store.as_mut().unwrap().dut_entries = Some(29_999), false),
        ("one not opened", |o| o.store.as_mut().unwrap().learned = 29_999, false),
        ("one did not answer", |o| o.reverse.received -= 1, false),
        ("one was not asked", |o| (o.reverse.sent, o.reverse.received) = (9_999, 9_999), false),
    ];
    let rate = TrialSpec {
        kind: PhaseKind::Established,
        direction: Direction::Reverse,
        connections: 30_000,
        ..TrialSpec::stateless(Rate(10_000), Load::Frames(10_000))
    };
    let state = TrialSpec { claim: Claim::State, ..rate.clone() };
    let store = Some(StoreFacts { learned: 30_000, ..StoreFacts::default() });
    let quiet = TrialOutcome { reverse: leg(10_000), store, ..TrialOutcome::default() };
    for (name, change, stands) in rows {
        let mut outcome = quiet.clone();
        stalled(&mut outcome);
        change(&mut outcome);
        assert_eq!(judged(&state, &outcome) == Verdict::Pass, stands, "{name}");
        assert!(matches!(judged(&rate, &outcome), Verdict::Invalid(_)), "{name}");
    }
    let mut late = quiet;
    (late.reverse.received, late.reverse.timing.finished_late) = (9_999, Nanos::from_secs(2));
    assert_eq!(loss(judged(&state, &late)).0, Stream::Reverse, "a missing answer is no matter of time");
}

#[test]
fn a_table_that_changed_in_phase_2_is_seen() {
    let with = |after| TrialOutcome {
        store: Some(StoreFacts { dut_entries: Some(1_000), dut_entries_after: after, ..StoreFacts::default() }),
        ..perfect()
    };
    assert!(table_changed(&with(Some(1_001))));
    assert!(!table_changed(&with(Some(1_000))));
    assert!(!table_changed(&with(None)));
}

#[test]
fn a_buffer_bound_phase_1_is_refused() {
    assert!(matches!(check_buffers(99_999, 1_000), Err(TrialError::Refused(_))));
    assert!(check_buffers(100_000, 1_000).is_ok());
    assert!(check_buffers(1, 0).is_ok());
}

#[test]
fn every_invalid_reason_says_what_happened_and_what_to_do() {
    let reason = invalid(verdict(|o| o.host.tester_drops = 7));
    assert!(reason.to_string().contains('7'));
    assert!(reason.advice().contains("receive rings"));
}

#[test]
fn figures_as_large_as_a_file_can_hold_are_judged() {
    let huge = |o: &mut TrialOutcome| {
        o.dut_loop = Loop::Closed;
        for leg in [&mut o.forward, &mut o.reverse] {
            leg.timing.own_time = Nanos(u64::MAX);
            leg.timing.finished_late = Nanos(u64::MAX);
            leg.timing.gave_up = true;
            (leg.sent, leg.received) = (1, 0);
        }
    };
    let mut outcome = perfect();
    huge(&mut outcome);
    let spec = TrialSpec { rate: Rate(u64::MAX), load: Load::Frames(u64::MAX), ..spec() };
    assert!(matches!(invalid(judged(&spec, &outcome)), Invalid::SenderLate { .. }));
    for leg in [&mut outcome.forward, &mut outcome.reverse] {
        leg.timing.finished_late = Nanos(0);
        leg.sent = u64::MAX;
    }
    outcome.host.tester_stall = Nanos(u64::MAX);
    assert!(matches!(invalid(judged(&spec, &outcome)), Invalid::HostStall { .. }));
}

#[test]
fn verdicts_survive_a_file() {
    for verdict in
        [verdict(|_| ()), verdict(|o| o.forward.received -= 1), verdict(|o| o.host.link_lost = true), closed(Nanos(0))]
    {
        let text = serde_json::to_string(&verdict).unwrap();
        assert_eq!(serde_json::from_str::<Verdict>(&text).unwrap(), verdict, "{text}");
    }
}

#[test]
fn a_queue_with_less_than_half_of_its_share_is_starved() {
    assert_eq!(method::starved_queue(&[500, 500]), None);
    assert_eq!(method::starved_queue(&[750, 250]), None);
    assert_eq!(method::starved_queue(&[751, 249]), Some((1, 249)));
    assert_eq!(method::starved_queue(&[900, 40, 60]), Some((1, 40)));
    // Too few frames, one queue, and none.
    assert_eq!(method::starved_queue(&[99, 0]), None);
    assert_eq!(method::starved_queue(&[1000]), None);
    assert_eq!(method::starved_queue(&[]), None);
}
