//! Whether a few frames pass a box as the scenario says, and what arrived instead: the judgement of `natmeter bed check`.

use super::causes::{Around, Seen, says_too_long};
use method::validity::{Criteria, judge};
use method::witness::{self, example};
use method::{
    Direction, Fault, Invalid, Leg, Load, PhaseKind, Rate, Spoiler, TrialError, TrialOutcome, TrialSpec, Trials,
    Verdict,
};
use scenario::bed::Bed;

method::worded! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(crate) enum Grade: word {
        /// As it should be.
        Good = "ok",
        /// A run works; its report will have a doubt.
        Doubt = "doubt",
        /// A run would fail, or measure something else.
        Bad = "FAILED",
        /// Not checked: something before it failed or is not given.
        NotRun = "not run",
    }
}

/// Frames each way, at a rate that is slow enough for any box.
const FRAMES: u64 = 1_000;
const RATE: Rate = Rate(10_000);
/// Trials at most, until one is right.
const TRIES: u32 = 3;

/// Connections are opened from the left first.
pub(crate) fn trials(connections: u64, phase1_rate: Option<u64>) -> Vec<(&'static str, TrialSpec)> {
    let opened = FRAMES.min(connections);
    let frames = if opened > 0 { opened } else { FRAMES };
    let both = TrialSpec::both_phases(phase1_rate.map_or(RATE, Rate).min(RATE), Load::Frames(frames), opened);
    let opens = TrialSpec { kind: PhaseKind::Establish, direction: Direction::Forward, ..both.clone() };
    let opens = (opened > 0).then_some(("connections", opens));
    opens.into_iter().chain([("frames both ways", both)]).collect()
}

/// A busy host may lose frames, too. Returns the right trial, or the one in which most frames
/// arrived, right or wrong: it says most about the box.
pub(crate) fn tried(rig: &mut impl Trials, spec: &TrialSpec) -> Result<TrialOutcome, TrialError> {
    let mut most = rig.run(spec)?;
    for _ in 1..TRIES {
        if is_right(spec, &most) {
            break;
        }
        let next = rig.run(spec)?;
        if is_right(spec, &next) || witness::arrived(&next) > witness::arrived(&most) {
            most = next;
        }
    }
    Ok(most)
}

/// Why host or tester make a trial invalid.
fn disturbance(spec: &TrialSpec, outcome: &TrialOutcome) -> Option<Invalid> {
    match judge(spec, outcome, &Criteria::default()) {
        Verdict::Invalid(reason) if reason.spoiler() != Spoiler::Phase1 => Some(reason),
        _ => None,
    }
}

fn is_right(spec: &TrialSpec, outcome: &TrialOutcome) -> bool {
    legs(spec.kind, outcome).iter().all(|(.., leg)| leg.received == leg.planned)
}

/// Frames were sent from the left, and nothing came back to either port.
pub(crate) fn is_silent(outcome: &TrialOutcome) -> bool {
    [&outcome.forward, &outcome.reverse].iter().all(|leg| leg.received == 0 && leg.faults.total() == 0)
}

/// Directions: from, to, and what became of the frames.
fn legs(kind: PhaseKind, outcome: &TrialOutcome) -> Vec<(&'static str, &'static str, &Leg)> {
    match kind {
        PhaseKind::Establish => vec![("left", "right", &outcome.forward)],
        _ => vec![("left", "right", &outcome.forward), ("right", "left", &outcome.reverse)],
    }
}

pub(crate) fn judged(
    spec: &TrialSpec,
    ended: &Result<TrialOutcome, TrialError>,
    around: &Around<'_>,
) -> (Grade, String) {
    let outcome = match ended {
        Ok(outcome) => outcome,
        Err(error) => return (Grade::Bad, error.to_string()),
    };
    let (kind, legs) = (spec.kind, legs(spec.kind, outcome));
    if is_right(spec, outcome) {
        let of_legs = || legs.iter().zip(outcome.hop_limit);
        let ttl = around.ttl;
        let in_words = |((from, to, leg), hop): (&(_, _, &Leg), _)| {
            format!("{} {from} to {to}{}", leg.received, beside(leg, ttl, hop).1)
        };
        let all: Vec<String> = of_legs().map(in_words).collect();
        let grade = if of_legs().any(|((.., leg), hop)| beside(leg, ttl, hop).0) { Grade::Doubt } else { Grade::Good };
        return (grade, format!("{}, all translated as the scenario says", all.join(", ")));
    }
    let returned = |(from, back): (_, &Leg)| {
        let sent = legs.iter().find(|leg| leg.0 == from)?.2;
        let own = back.faults.get(Fault::Returned);
        (own > 0 && own >= missing(sent)).then_some((own, from, example(back, Fault::Returned)))
    };
    if let Some((own, port, example)) =
        [("left", &outcome.reverse), ("right", &outcome.forward)].into_iter().find_map(returned)
    {
        let words = format!(
            "{own} frames that were sent on the {port} came back on the {port}{example}: the box sends them back, there is a \
             bridge loop, or {}",
            swapped(around.file)
        );
        return (Grade::Bad, words);
    }
    if let Some((port, words)) = around.bed.and_then(|bed| asks_at_the_wrong_port(outcome, bed)) {
        let words = format!(
            "the box asks at the {port} port with its address of the other side{words}: {}",
            swapped(around.file)
        );
        return (Grade::Bad, words);
    }
    let disturbed = disturbance(spec, outcome);
    let entries = outcome.store.as_ref().and_then(|store| store.dut_entries).filter(|_| spec.connections > 0);
    let wrong = legs.iter().filter(|(.., leg)| leg.received != leg.planned);
    let words: Vec<String> = wrong
        .map(|&(from, to, leg)| {
            let back = if to == "right" { &outcome.reverse } else { &outcome.forward };
            let errors = back.faults.get(Fault::IcmpError);
            let fault = most_frequent(leg).map(|(_, fault)| fault);
            let seen = Seen {
                from,
                to,
                leg,
                rate: spec.rate.0,
                opens: kind == PhaseKind::Establish,
                other_passes: kind != PhaseKind::Establish && back.received == back.planned,
                fault,
                source: fault
                    .and_then(|fault| wire::decode::source(&leg.examples.iter().find(|of| of.fault == fault)?.frame())),
                refusal: (errors > 0).then(|| example(back, Fault::IcmpError)),
                other_is_too_long: most_frequent(back).is_some_and(|(_, fault)| fault == Fault::Fragment)
                    || says_too_long(&example(leg, Fault::IcmpError)),
                entries,
                around,
            };
            leg_in_words(&seen, errors, disturbed.as_ref())
        })
        .collect();
    let counted =
        entries.map_or_else(String::new, |n| format!("; the box counts {n} of {} connections", spec.connections));
    (Grade::Bad, words.join("; ") + &counted)
}

/// What to do about exchanged ports.
pub(crate) fn swapped(file: &str) -> String {
    format!("left and right are swapped: swap the cables, or `interface` of [bed.left] and [bed.right] in {file}")
}

/// What else the box did to frames that are all right: wrong ones beside them, their order, hop limit and other fields; whether a
/// report has a doubt about it.
fn beside(leg: &Leg, ttl: u8, hop: Option<u8>) -> (bool, String) {
    let mut words: Vec<String> =
        leg.faults.of_device().map(|(fault, n)| format!("{n} {}{}", fault.name(), example(leg, fault))).collect();
    words.extend((leg.reordered > 0).then(|| format!("{} after a later frame", leg.reordered)));
    words.extend(hop.and_then(|hop| witness::hop_in_words(ttl, hop)));
    let is_doubted = !words.is_empty() || leg.differences.keys().any(|difference| !difference.is_left_open());
    words.extend(leg.differences.iter().map(|(difference, n)| format!("{n} {}", difference.name())));
    (is_doubted, if words.is_empty() { String::new() } else { format!(" (and {})", words.join(", ")) })
}

/// The port at which the box asks for an Ethernet address with its address of the other side, with the frame.
fn asks_at_the_wrong_port(outcome: &TrialOutcome, bed: &Bed) -> Option<(&'static str, String)> {
    let ports = [("right", &outcome.forward, &bed.left), ("left", &outcome.reverse, &bed.right)];
    ports.into_iter().find_map(|(port, leg, other)| {
        let foreign = leg.examples.iter().find(|example| example.fault == Fault::Foreign)?;
        let asker = wire::decode::asker(&foreign.frame())?;
        (Some(asker) == other.gateway).then(|| (port, example(leg, Fault::Foreign)))
    })
}

/// The most frequent fault of frames at the port to which they were sent, if more frames have it than did not arrive.
fn most_frequent(leg: &Leg) -> Option<(u64, Fault)> {
    let of_frames = Fault::ALL.into_iter().filter(|fault| *fault != Fault::IcmpError);
    let most = of_frames.map(|fault| (leg.faults.get(fault), fault)).max_by_key(|(n, _)| *n);
    most.filter(|(n, _)| *n > 0 && *n >= missing(leg))
}

/// Frames that did not arrive, neither right nor wrong. Each late one is one of those that an earlier trial missed.
fn missing(leg: &Leg) -> u64 {
    let is_of_box = |fault: Fault| fault.is_of_device() || fault == Fault::Late;
    let wrong: u64 = leg.faults.iter().filter(|(fault, _)| is_of_box(*fault)).map(|(_, n)| n).sum();
    leg.planned.saturating_sub(leg.received + wrong)
}

/// What became of the frames of a direction that are not right, with an example, and why.
fn leg_in_words(seen: &Seen<'_>, errors: u64, disturbed: Option<&Invalid>) -> String {
    let Seen { from, to, leg, .. } = *seen;
    let head = format!("{} of {} frames {from} to {to} were right", leg.received, leg.planned);
    if let Some((n, fault)) = most_frequent(leg) {
        return format!("{head}, {n} {}{}: {}", fault.name(), example(leg, fault), seen.explained());
    }
    let late = Some((Fault::Late, leg.faults.get(Fault::Late))).filter(|(_, n)| *n > 0);
    let wrong = leg.faults.of_device().chain(late).max_by_key(|(_, n)| *n);
    let wrong = wrong.map(|(fault, n)| format!(", {n} {}{}", fault.name(), example(leg, fault))).unwrap_or_default();
    let head = format!("{head}, {} did not arrive{wrong}", missing(leg));
    let why = seen.explained();
    if let Some(refusal) = &seen.refusal {
        return format!("{head}: the {from} port received {errors} ICMP errors{refusal}: {why}");
    }
    let busy = disturbed.map(|reason| {
        format!("this machine is too busy for the check ({reason}): end other programs, and check again")
    });
    // A busy machine loses a part of the frames, but not most of them in each of the trials.
    match busy {
        Some(busy) if leg.received > leg.planned / 2 => format!("{head}: {busy}"),
        Some(busy) => format!("{head}: {why}; {busy}"),
        None => format!("{head}: {why}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use method::simulated::{SimulatedDut, Truth};

    /// In each of its first trials one frame is missing, and so many are wrong.
    struct Loses {
        device: SimulatedDut,
        trials: u32,
        tester_drops: u64,
        wrong: u64,
    }

    impl Trials for Loses {
        fn run(&mut self, spec: &TrialSpec) -> Result<TrialOutcome, TrialError> {
            let mut outcome = self.device.run(spec)?;
            if self.trials > 0 {
                self.trials -= 1;
                outcome.forward.received -= 1;
                outcome.forward.faults.0[Fault::OutsidePool as usize] = self.wrong;
                outcome.host.tester_drops = self.tester_drops;
            }
            Ok(outcome)
        }
    }

    /// Late frames arrive in the next trials, and not as many in each.
    #[test]
    fn a_box_that_is_late_is_not_taken_for_one_that_drops() {
        let spec = trials(0, None).pop().unwrap().1;
        for late in [1, FRAMES - 1, FRAMES + 1] {
            let mut outcome = SimulatedDut::new(Truth::new(Rate(1_000_000), Rate(1_000_000)), 1).run(&spec).unwrap();
            outcome.forward.received = 0;
            outcome.forward.faults.0[Fault::Late as usize] = late;
            let around =
                Around { file: "bed.toml", bed: None, versions: [4; 2], frame: 64, ttl: 10, ..Around::default() };
            let (grade, said) = judged(&spec, &Ok(outcome), &around);
            assert!(grade == Grade::Bad && said.contains(&format!("{late} of an earlier trial")), "{said}");
            assert!(said.contains("raise `drain`"), "{said}");
        }
    }

    /// Most frames of a direction have a fault, whichever it is.
    #[test]
    fn each_fault_has_a_cause() {
        let spec = trials(0, None).pop().unwrap().1;
        let around = Around { file: "bed.toml", versions: [4; 2], frame: 1518, ttl: 10, ..Around::default() };
        let line = |fault: Fault, back: u64| {
            let mut outcome = SimulatedDut::new(Truth::new(Rate(1_000_000), Rate(1_000_000)), 1).run(&spec).unwrap();
            (outcome.forward.received, outcome.reverse.received) = (0, back);
            outcome.forward.faults.0[fault as usize] = FRAMES;
            judged(&spec, &Ok(outcome), &around).1
        };
        for fault in Fault::ALL {
            assert!(line(fault, FRAMES).contains(": "), "{fault:?}");
        }
        // One narrow link is one fault.
        let said = line(Fault::Fragment, 0);
        assert!(said.contains("they are as long as the others") && !said.contains("does not forward"), "{said}");
    }

    /// One trial without a loss shows that the box forwards. A loss of the tester says nothing about the box, but wrong frames do.
    #[test]
    fn a_busy_machine_is_not_taken_for_a_wrong_box() {
        let spec = trials(0, None).pop().unwrap().1;
        let line = |trials, tester_drops, wrong| {
            let device = SimulatedDut::new(Truth::new(Rate(1_000_000), Rate(1_000_000)), 1);
            let around =
                Around { file: "bed.toml", bed: None, versions: [4; 2], frame: 64, ttl: 10, ..Around::default() };
            judged(&spec, &tried(&mut Loses { device, trials, tester_drops, wrong }, &spec), &around)
        };
        assert_eq!(line(TRIES - 1, 0, 0).0, Grade::Good);
        for (tester_drops, wrong, words) in [
            (0, 0, "the box forwards the others"),
            (1, 0, "this machine is too busy"),
            (1, 1, "the box does not translate"),
        ] {
            let (grade, said) = line(TRIES, tester_drops, wrong);
            assert!(grade == Grade::Bad && said.contains(words), "{said}");
        }
    }
}
