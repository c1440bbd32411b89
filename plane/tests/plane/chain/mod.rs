//! Pairs of simple halves that do what is written in the frame. One test a rule of `chain.rs`.

mod halves;

use halves::*;
use plane::Side::{Customer, Internet};
use plane::Verdict::{Drop, Forward, HandOver, Local};
use plane::function::BATCH;
use plane::{Function, Packet, Side, Verdict};

/// Verdicts of a batch at worker 0 of `workers`, and what was made beyond it.
fn run(workers: usize, from: Side, frames: &mut [Frame]) -> (Vec<Verdict>, Outbox) {
    let mut chain = chain(workers);
    process(&mut chain, from, frames)
}

#[test]
fn packets_go_through_both_halves_in_both_directions() {
    let mut frames = [Frame::planned("ab"), Frame::planned("ab")];
    let (verdicts, _) = run(1, Customer, &mut frames);
    assert_eq!(verdicts, [Forward(Internet), Forward(Internet)]);
    assert!(frames.iter().all(|f| f.seen() == "A>B>"));
    let mut frames = [Frame::planned("ab")];
    assert_eq!(run(1, Internet, &mut frames).0, [Forward(Customer)]);
    assert_eq!(frames[0].seen(), "B<A<");
}

#[test]
fn frames_on_the_inner_link_carry_its_addresses_and_leave_without() {
    let mut frames = [Frame::planned("ab")];
    run(1, Customer, &mut frames);
    assert_eq!(&frames[0].bytes()[..6], &OUTSIDE);
}

#[test]
fn each_packet_keeps_its_place_and_its_verdict() {
    // Dropped by A, dropped by B, through, left to the machine by A, handed over by A, turned round by A.
    let plans = ["d-", "ad", "ab", "l-", "h-", "t-", "ab", "ad", "ab"];
    let mut frames: Vec<Frame> = plans.iter().map(|p| Frame::planned(p)).collect();
    let (verdicts, _) = run(1, Customer, &mut frames);
    let out = Forward(Internet);
    assert_eq!(verdicts, [Drop, Drop, out, Local, HandOver(1), Forward(Customer), out, Drop, out]);
    let seen: Vec<_> = frames.iter().map(Planned::seen).collect();
    assert_eq!(seen, ["A>", "A>B>", "A>B>", "A>", "A>", "A>", "A>B>", "A>B>", "A>B>"]);
}

#[test]
fn a_full_batch_with_every_pattern_of_holes() {
    for pattern in [0u32, 1, 0x8000_0000, 0xaaaa_aaaa, 0x0ff0_0ff0, 0xffff_fffe] {
        let gone = |i: usize| pattern >> i & 1 == 1;
        let mut frames: Vec<Frame> = (0..BATCH).map(|i| Frame::planned(if gone(i) { "d-" } else { "ab" })).collect();
        let (verdicts, _) = run(1, Customer, &mut frames);
        for (i, v) in verdicts.into_iter().enumerate() {
            assert_eq!(v, if gone(i) { Drop } else { Forward(Internet) }, "{pattern:x} {i}");
        }
    }
}

#[test]
fn hairpins_of_the_far_half_go_back_through_the_near_one() {
    let mut frames = [Frame::planned("at"), Frame::planned("ab")];
    assert_eq!(run(1, Customer, &mut frames).0, [Forward(Customer), Forward(Internet)]);
    assert_eq!((frames[0].seen(), frames[1].seen()), ("A>B>A<", "A>B>"));
}

#[test]
fn what_turns_round_for_ever_is_dropped_and_counted() {
    let mut c = chain(1);
    let (verdicts, _) = process(&mut c, Internet, &mut [Frame::planned("xx")]);
    assert_eq!(verdicts, [Drop]);
    assert_eq!(counter(&c, "inner-loop"), 1);
}

#[test]
fn local_in_the_middle_is_dropped_and_counted() {
    let mut c = chain(1);
    assert_eq!(process(&mut c, Customer, &mut [Frame::planned("al"), Frame::planned("l-")]).0, [Drop, Local]);
    assert_eq!((counter(&c, "inner-local"), counter(&c, "far.seen"), counter(&c, "near.seen")), (1, 1, 2));
}

#[test]
fn what_a_half_emits_inward_goes_through_the_other_one() {
    // "e": emits a copy towards the Internet and one towards the customer, and forwards.
    let mut frames = [Frame::planned("eb")];
    let (verdicts, made) = run(1, Customer, &mut frames);
    assert_eq!(verdicts, [Forward(Internet)]);
    let seen: Vec<_> = made.out.iter().map(|(s, f)| (*s, f.seen())).collect();
    assert_eq!(seen, [(Customer, "A>"), (Internet, "A>B>")], "the one for the customer goes at once");
    // B emits on A's packet: its copy towards the customer goes through A.
    let (_, made) = run(1, Customer, &mut [Frame::planned("ae")]);
    let seen: Vec<_> = made.out.iter().map(|(s, f)| (*s, f.seen())).collect();
    assert_eq!(seen, [(Internet, "A>B>"), (Customer, "A>B>A<")]);
}

#[test]
fn many_emitted_packets_are_worked_on_in_batches() {
    let mut c = chain(1);
    let mut frames: Vec<Frame> = (0..BATCH).map(|_| Frame::planned("eb")).collect();
    for _ in 0..3 {
        let (_, made) = process(&mut c, Customer, &mut frames);
        assert_eq!(made.out.len(), 2 * BATCH);
        for f in &mut frames {
            *f = Frame::planned("eb");
        }
    }
    assert!(c.internet.largest == BATCH && c.customer.largest == BATCH);
}

#[test]
fn an_empty_batch_visits_both_halves() {
    let mut c = chain(1);
    process(&mut c, Customer, &mut []);
    process(&mut c, Internet, &mut []);
    assert_eq!((c.customer.empty, c.internet.empty), (2, 2));
}

#[test]
fn a_hand_over_in_the_middle_goes_on_at_the_same_half() {
    for (from, plan, seen) in [(Customer, "ah", "A>B>B>"), (Internet, "hb", "B<A<A<")] {
        let mut workers = [chain(2), chain(2)];
        let mut frame = [Frame::planned(plan)];
        let (verdicts, _) = process(&mut workers[0], from, &mut frame);
        assert_eq!(verdicts, [HandOver(1)]);
        assert_eq!(counter(&workers[0], "inner-handed-over"), 1);
        // The other worker's half does not hand over again: the mark in the plan is used up.
        let (verdicts, _) = process(&mut workers[1], from, &mut frame);
        assert_eq!(verdicts, [Forward(from.other())], "{plan}");
        assert_eq!(frame[0].seen(), seen);
        assert_eq!(&frame[0].bytes()[..6], &OUTSIDE);
    }
}

#[test]
fn a_hand_over_before_the_inner_link_arrives_as_it_came_in() {
    let mut workers = [chain(2), chain(2)];
    let mut frame = [Frame::planned("hb")];
    assert_eq!(process(&mut workers[0], Customer, &mut frame).0, [HandOver(1)]);
    assert_eq!(process(&mut workers[1], Customer, &mut frame).0, [Forward(Internet)]);
    assert_eq!(frame[0].seen(), "A>A>B>");
}

#[test]
fn packets_that_a_half_hands_over_by_itself_arrive_there_too() {
    // "w": puts a copy into the other worker's inbox as if it had come in where this one did.
    for (from, plan, seen) in [(Customer, "aw", "A>B>B>"), (Customer, "wb", "A>A>B>"), (Internet, "wb", "B<A<A<")] {
        let mut workers = [chain(2), chain(2)];
        let (_, made) = process(&mut workers[0], from, &mut [Frame::planned(plan)]);
        let (to, side, frame) = made.handed.into_iter().next().unwrap();
        assert_eq!(to, 1);
        let mut frame = [frame];
        assert_eq!(process(&mut workers[1], side, &mut frame).0, [Forward(from.other())], "{plan}");
        assert_eq!(frame[0].seen(), seen);
    }
}

#[test]
fn marked_and_other_packets_may_share_a_batch() {
    let mut workers = [chain(2), chain(2)];
    let mut frames = [Frame::planned("ab"), Frame::planned("ah"), Frame::planned("ah"), Frame::planned("ab")];
    process(&mut workers[0], Customer, &mut frames[1..3]);
    let (verdicts, _) = process(&mut workers[1], Customer, &mut frames);
    assert_eq!(verdicts, [Forward(Internet); 4]);
    assert_eq!(frames.map(|f| f.seen().to_owned()), ["A>B>", "A>B>B>", "A>B>B>", "A>B>"]);
}

#[test]
fn a_mark_cannot_be_forged() {
    let mut c = chain(2);
    let mut frame = [Frame::planned("ab")];
    for first in [plane::chain::INTERNET_HALF.0, [3, 0, 0, 0, 0, 0], [0xff; 6]] {
        frame[0].bytes_mut()[..6].copy_from_slice(&first);
        process(&mut c, Customer, &mut frame);
        assert!(frame[0].seen().starts_with("A>"), "it begins at the half that faces its side");
        frame[0] = Frame::planned("ab");
    }
    // Another seed has other marks.
    let mut other = plane::Chain::new(("near", Half::new('A')), ("far", Half::new('B')), 2, 8);
    let mut frame = [Frame::planned("ah")];
    process(&mut c, Customer, &mut frame);
    process(&mut other, Customer, &mut frame);
    assert_eq!(frame[0].seen(), "A>B>A>B>");
}

#[test]
fn clearing_and_idling_reach_both_halves() {
    let mut c = chain(1);
    c.clear();
    c.idle(1);
    assert_eq!((c.customer.cleared, c.internet.cleared, c.customer.idled, c.internet.idled), (1, 1, 1, 1));
    assert_eq!(c.entries(), Some((3, 5)));
}

/// Every half of a chain of chains in turn hands a packet over, by verdict or by itself: it goes on where it was.
#[test]
fn a_hand_over_in_a_chain_of_chains_goes_on_at_the_same_half() {
    for (from, way) in [(Customer, ["A>", "B>", "C>", "D>"]), (Internet, ["D<", "C<", "B<", "A<"])] {
        for (place, who) in way.iter().enumerate() {
            for how in ['h', 'w'] {
                let plan: String = ('A'..='D').map(|l| if who.starts_with(l) { how } else { '-' }).collect();
                let mut workers = [nest(2), nest(2)];
                let mut frame = [Frame::planned(&plan)];
                let (verdicts, made) = process(&mut workers[0], from, &mut frame);
                let side = if how == 'h' {
                    assert_eq!(verdicts, [HandOver(1)], "{plan}");
                    from
                } else {
                    let (to, side, handed) = made.handed.into_iter().next().unwrap();
                    frame[0] = handed;
                    assert_eq!(to, 1, "{plan}");
                    side
                };
                let (verdicts, _) = process(&mut workers[1], side, &mut frame);
                assert_eq!(verdicts, [Forward(from.other())], "{plan}");
                let mut expected = way.to_vec();
                expected.insert(place, who);
                assert_eq!(frame[0].seen(), expected.concat(), "{plan}");
                assert_eq!(&frame[0].bytes()[..6], &OUTSIDE);
            }
        }
    }
}

/// Marks differ from chain to chain of the same seed only by the way: a packet for one half is never taken for another's.
#[test]
fn marked_packets_of_all_halves_may_share_a_batch_of_a_chain_of_chains() {
    let mut workers = [nest(2), nest(2)];
    let plans = ["-h--", "--h-", "---h", "h---", "----"];
    let mut frames = plans.map(Frame::planned);
    process(&mut workers[0], Customer, &mut frames[..4]);
    let (verdicts, _) = process(&mut workers[1], Customer, &mut frames);
    assert_eq!(verdicts, [Forward(Internet); 5]);
    let seen = frames.map(|f| f.seen().to_owned());
    assert_eq!(seen, ["A>B>B>C>D>", "A>B>C>C>D>", "A>B>C>D>D>", "A>A>B>C>D>", "A>B>C>D>"]);
}

#[test]
fn sessions_of_both_halves_are_listed_with_their_names() {
    let mut c = nest(1);
    (c.customer.customer.sessions, c.internet.internet.sessions) = (3, 10);
    let listed = |places| {
        let all = c.sessions(0, places);
        let of = |part| all.iter().filter(|e| e.part == part).count();
        assert_eq!(of("ce.near") + of("pe.far"), all.len());
        (of("ce.near"), of("pe.far"))
    };
    assert_eq!(c.places(), 13);
    assert_eq!((listed(0..100), listed(0..13), listed(2..5), listed(3..13)), ((3, 10), (3, 10), (1, 2), (0, 10)));
    assert_eq!((listed(0..1), listed(5..5), listed(13..20)), ((1, 0), (0, 0), (0, 0)));
}

#[test]
fn both_halves_become_another_or_neither_does() {
    let mut c = nest(1);
    process(&mut c, Customer, &mut [Frame::planned("ab")]);
    c.adopt(&mut nest(1)).unwrap();
    let adopted = |c: &Nest| {
        [&c.customer.customer, &c.customer.internet, &c.internet.customer, &c.internet.internet].map(|h| h.adopted)
    };
    assert_eq!(
        (adopted(&c), counter(&c, "inner-link"), counter(&c, "ce.inner-link")),
        ([1; 4], 1, 1),
        "counters go on"
    );
    // The last one alone does not agree.
    let mut new = nest(1);
    new.internet.internet.fixed = 1;
    assert_eq!(c.adopt(&mut new), Err("pe: far: fixed: it is".to_owned()));
    assert_eq!(adopted(&c), [1; 4]);
    let mut other = plane::Chain::new(("left", Half::new('A')), ("far", Half::new('B')), 1, 7);
    assert!(other.adopt(&mut chain(1)).is_err(), "halves of other names are another technology's");
}
