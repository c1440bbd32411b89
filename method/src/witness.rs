//! What arrived in a trial, in words: for a result that has no rate because no frame came back right.

use crate::trial::{Example, Fault, Leg, PhaseKind, TrialOutcome, TrialSpec};
use crate::units::Count;

/// Frames of any kind that arrived at either port: right, wrong or late.
pub fn arrived(outcome: &TrialOutcome) -> Count {
    legs(outcome).map(|(_, leg)| leg.received + leg.faults.total()).sum()
}

/// Whether no frame of the trial arrived right.
pub fn has_no_right_frame(outcome: &TrialOutcome) -> bool {
    legs(outcome).all(|(_, leg)| leg.received == 0)
}

/// Whether a direction has wrong frames of the trial and no right one. No noise of the host makes a frame wrong.
pub fn has_only_wrong_frames(outcome: &TrialOutcome) -> bool {
    let wrong = |leg: &Leg| leg.faults.iter().filter(|(fault, _)| fault.is_of_device()).map(|(_, n)| n).sum::<Count>();
    legs(outcome).any(|(_, leg)| leg.sent > 0 && leg.received == 0 && wrong(leg) > 0)
}

/// Frames of earlier trials.
pub fn late(outcome: &TrialOutcome) -> Count {
    legs(outcome).map(|(_, leg)| leg.faults.get(Fault::Late)).sum()
}

/// Whether frames of the trial arrived wrong, in whatever direction: no rate makes a frame wrong.
pub fn has_wrong_frames(outcome: &TrialOutcome) -> bool {
    legs(outcome).any(|(_, leg)| leg.faults.iter().any(|(fault, _)| fault.is_of_device()))
}

/// These words, what arrived, and what helps unless frames were wrong.
pub fn with_advice(words: &str, spec: &TrialSpec, outcome: &TrialOutcome, advice: &str) -> String {
    let all = [words, &in_words(spec, outcome), if has_wrong_frames(outcome) { "" } else { advice }];
    all.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("; ")
}

/// Why a sample of the connections does not answer in reverse after phase 1.
pub fn unanswered(spec: &TrialSpec, outcome: &TrialOutcome, advice: &str) -> String {
    let (lost, all) = (spec.frames().saturating_sub(outcome.reverse.received), spec.frames());
    let words = format!("{lost} of {all} connections, a sample, do not answer in reverse after phase 1");
    with_advice(&words, spec, outcome, advice)
}

/// What arrived at each port, with an example of each kind of wrong frame.
pub fn in_words(spec: &TrialSpec, outcome: &TrialOutcome) -> String {
    let mut words: Vec<String> = legs(outcome).filter_map(|(port, leg)| leg_in_words(port, leg)).collect();
    if let Some(entries) = outcome.store.as_ref().and_then(|store| store.dut_entries) {
        let of = if spec.kind == PhaseKind::Stateless { String::new() } else { format!(" of {}", spec.connections) };
        words.push(format!("the device counts {entries}{of} connections"));
    }
    words.join("; ")
}

/// What is wrong with the hop limit of most frames, which were sent with `sent`: nothing if two boxes may each have routed them once
/// or twice.
pub fn hop_in_words(sent: u8, received: u8) -> Option<String> {
    const MOST: u8 = 4;
    let why = match sent.saturating_sub(received) {
        0 => "a router would have decremented it".to_owned(),
        1..=MOST => return None,
        by => format!("a router decrements it by 1 for each second that it holds a packet, not by {by}"),
    };
    Some(format!("hop limit {received}, sent with {sent}: {why} (RFC 1812, section 5.3.1)"))
}

/// The legs of a trial and the ports of their receivers.
pub fn legs(outcome: &TrialOutcome) -> impl Iterator<Item = (&'static str, &Leg)> {
    let phase1 = outcome.phase1.as_ref().map(|leg| ("right", leg));
    let both = [("right", &outcome.forward), ("left", &outcome.reverse)];
    phase1.into_iter().chain(both).chain(outcome.validation.as_ref().map(|leg| ("left", leg)))
}

/// Nothing for a direction that was not active and in which nothing arrived.
fn leg_in_words(port: &str, leg: &Leg) -> Option<String> {
    let wrong: Vec<String> =
        leg.faults.iter().map(|(fault, n)| format!("{n} {}{}", fault.name(), example(leg, fault))).collect();
    let right = match (leg.sent, leg.received) {
        (0, 0) if wrong.is_empty() => return None,
        (0, 0) => format!("{port} port:"),
        (sent, 0) if wrong.is_empty() => return Some(format!("{port} port: none of {sent} frames arrived")),
        (sent, right) => {
            format!("{port} port: {right} of {sent} frames right{}", if wrong.is_empty() { "" } else { "," })
        }
    };
    Some(format!("{right} {}", wrong.join(", ")).trim_end().to_owned())
}

/// The first frame of a leg with this fault, in parentheses; empty if none was kept.
pub fn example(leg: &Leg, fault: Fault) -> String {
    let example = leg.examples.iter().find(|example| example.fault == fault);
    example.map(Example::in_words).map_or_else(String::new, |words| format!(" ({words})"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::{Load, StoreFacts};
    use crate::units::Rate;

    fn leg(sent: Count, received: Count, faults: &[(Fault, Count)]) -> Leg {
        let mut leg = Leg { planned: sent, sent, received, ..Leg::default() };
        for &(fault, n) in faults {
            leg.faults.0[fault as usize] += n;
            let (got, octets) = ("UDP a > b".to_owned(), String::new());
            let expected = (fault == Fault::WrongPort).then(|| "UDP a > c".to_owned());
            leg.examples.push(Example { fault, got, expected, octets });
        }
        leg
    }

    #[test]
    fn each_port_says_what_arrived_with_an_example() {
        let spec = TrialSpec::both_phases(Rate(10), Load::Frames(10), 10);
        let outcome = TrialOutcome {
            forward: leg(10, 0, &[(Fault::WrongPort, 9), (Fault::Late, 1)]),
            reverse: leg(10, 10, &[]),
            store: Some(StoreFacts { dut_entries: Some(7), ..StoreFacts::default() }),
            ..TrialOutcome::default()
        };
        let words = "right port: 0 of 10 frames right, 1 of an earlier trial (got UDP a > b), 9 with a wrong port (got UDP a > b; \
                     expected UDP a > c); left port: 10 of 10 frames right; the device counts 7 of 10 connections";
        assert_eq!((in_words(&spec, &outcome).as_str(), arrived(&outcome)), (words, 20));
        let spec = TrialSpec::establish(Rate(10), 10);
        let refused = TrialOutcome {
            forward: leg(10, 0, &[]),
            reverse: leg(0, 0, &[(Fault::IcmpError, 10)]),
            ..TrialOutcome::default()
        };
        let words = "right port: none of 10 frames arrived; left port: 10 ICMP errors (got UDP a > b)";
        assert_eq!((in_words(&spec, &refused).as_str(), arrived(&refused)), (words, 10));
        let silent = TrialOutcome { forward: leg(10, 0, &[]), ..TrialOutcome::default() };
        assert_eq!((in_words(&spec, &silent).as_str(), arrived(&silent)), ("right port: none of 10 frames arrived", 0));
    }
}
