//! What `natmeter bed check` finds out about a bed: file, interfaces, safety, ports, silence,
//! neighbours, a thousand frames each way, ceiling and hooks. A line that fails says what to do.

use crate::rig::machine::{self, Found};
use crate::rig::place::Place;
use crate::rig::ports::{self, Opened};
use crate::rig::{Process, Rig, RigError, boxes, loops, management, silence};
use crate::run;
use method::validity::{Criteria, judge};
use method::{
    Direction, Fault, Invalid, Leg, Load, Nanos, PhaseKind, Rate, Spoiler, TrialError, TrialOutcome, TrialSpec, Trials,
    Verdict,
};
use port::Netns;
use port::interface::LinkFacts;
use record::report::number::grouped;
use scenario::bed::{Bed, On, PortKeys};
use scenario::{Point, Scenario};
use std::time::Duration;

/// Outcome of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grade {
    /// As it should be.
    Good,
    /// A run works; its report will have a doubt.
    Doubt,
    /// A run would fail, or measure something else.
    Bad,
    /// Not checked: something before it failed or is not given.
    NotRun,
}

impl Grade {
    /// Word on the screen.
    pub fn word(self) -> &'static str {
        match self {
            Grade::Good => "ok",
            Grade::Doubt => "doubt",
            Grade::Bad => "FAILED",
            Grade::NotRun => "not run",
        }
    }
}

/// One line of the check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckLine {
    /// What was checked.
    pub name: String,
    /// Grade of the outcome.
    pub grade: Grade,
    /// What was seen, and what to do.
    pub words: String,
}

fn line(name: impl Into<String>, grade: Grade, words: impl Into<String>) -> CheckLine {
    CheckLine { name: name.into(), grade, words: words.into() }
}

/// Frames each way, at a rate that is slow enough for any box.
const FRAMES: u64 = 1_000;
const RATE: Rate = Rate(10_000);
/// Trials at most, until one is right.
const TRIES: u32 = 3;

/// Hands each line to `say` as soon as it is known. Returns whether a run can begin.
pub fn check(scenario: &Scenario, bed: &Bed, process: &Process, say: &mut dyn FnMut(CheckLine)) -> bool {
    let mut check = Check { say, bad: false, of: String::new() };
    let firsts = first_points(scenario);
    let several = firsts.len() > 1;
    let is_open = (bed.makes_links() || check.interfaces(bed)) && check.silence(scenario, bed, process);
    for (number, point) in firsts.iter().enumerate() {
        let here = &*point.of(scenario);
        let bed = here.bed.as_ref().unwrap_or(bed);
        check.of = if several { format!(", {}", point.dut_name) } else { String::new() };
        if is_open && check.neighbours(here, bed, process) && check.frames(here, point, process) && number == 0 {
            check.ceiling(here, bed, point, process);
            if !bed.makes_links() {
                check.t0(here, bed);
            }
        }
        check.hooks(here, bed, point, process);
    }
    !check.bad
}

fn first_points(scenario: &Scenario) -> Vec<Point> {
    let mut firsts: Vec<Point> = Vec::new();
    for measurement in record::plan::Plan::new(scenario).measurements {
        if firsts.iter().all(|point| point.dut != measurement.point.dut) {
            firsts.push(measurement.point);
        }
    }
    firsts
}

struct Check<'a> {
    say: &'a mut dyn FnMut(CheckLine),
    bad: bool,
    /// Device behind the name of each line, if there are several.
    of: String,
}

impl Check<'_> {
    fn say(&mut self, line: CheckLine) -> bool {
        let line = CheckLine { name: line.name + &self.of, ..line };
        let good = line.grade != Grade::Bad;
        self.bad |= !good;
        (self.say)(line);
        good
    }

    /// Both interfaces exist and are up, and nothing speaks against test frames through them.
    fn interfaces(&mut self, bed: &Bed) -> bool {
        let all = match machine::interfaces() {
            Ok(all) => all,
            Err(why) => return self.say(line("interfaces", Grade::Bad, why)),
        };
        let mut good = true;
        for (side, port) in bed.ports() {
            good &= self.interface(side, port, &all, bed);
        }
        good
    }

    fn interface(&mut self, side: &str, port: &PortKeys, all: &[Found], bed: &Bed) -> bool {
        let name = format!("{side} interface");
        let Some(found) = all.iter().find(|found| found.name == port.interface) else {
            let names: Vec<&str> = all.iter().map(|found| found.name.as_str()).collect();
            let words = format!("{} does not exist; this machine has {}", port.interface, names.join(", "));
            return self.say(line(name, Grade::Bad, words));
        };
        // A veth whose other end is down has the second state.
        if ["DOWN", "LOWERLAYERDOWN"].contains(&found.state.as_str()) {
            let words = format!(
                "{0} is down, or its cable has no carrier: ip link set {0} up, and look at both ends",
                found.name
            );
            return self.say(line(name, Grade::Bad, words));
        }
        for (danger, sentence) in found.dangers() {
            if !bed.knows(danger) {
                let words = format!("{sentence}; use another interface, or add i-know = [\"{danger}\"] to [bed]");
                return self.say(line(name, Grade::Bad, words));
            }
        }
        if let Some(sentence) = management::through(found, bed) {
            return self.say(line(name, Grade::Bad, sentence));
        }
        let kind = if found.kind.is_empty() { "hardware" } else { &found.kind };
        self.say(line(name, Grade::Good, format!("{} ({kind}), {}", found.name, found.mac)));
        self.say(link(side, port))
    }

    fn t0(&mut self, scenario: &Scenario, bed: &Bed) {
        let traffic = &scenario.traffic;
        let size =
            traffic.frame_sizes.as_ref().map_or_else(|| traffic.frame_size.to_string(), scenario::Imix::in_words);
        self.say(match bed.t0_of(traffic) {
            Some(t0) => line(
                "T0",
                Grade::Good,
                format!("{} frames/s per direction with frames of {size} octets, measured {}", grouped(t0.frames), t0.date),
            ),
            None => line(
                "T0",
                Grade::NotRun,
                format!(
                    "not measured with these ports and frames of {size} octets, so no report says that the device was the limit: \
                     cable left to right, and run `natmeter bed t0`"
                ),
            ),
        });
    }

    fn silence(&mut self, scenario: &Scenario, bed: &Bed, process: &Process) -> bool {
        let place = match Place::of(bed, process) {
            Ok(place) => place,
            Err(error) => return self.say(line("links", Grade::Bad, error.to_string())),
        };
        let mut opened = match ports::open(scenario, bed, &place, process) {
            Ok(opened) => opened,
            Err(error) => return self.say(line("ports", Grade::Bad, error.to_string())),
        };
        for (name, words) in opened.in_words() {
            self.say(line(name, Grade::Good, words));
        }
        let time: Duration = bed.keys.silence.into();
        let heard = match silence::listen(&mut opened, time, process) {
            Ok(heard) => heard,
            Err(error) => return self.say(line("silence", Grade::Bad, error.to_string())),
        };
        for (at, (side, _)) in bed.ports().into_iter().enumerate() {
            let seen = &heard[at];
            let total: u64 = seen.values().sum();
            let name = format!("{side} silence");
            if total == 0 {
                self.say(line(name, Grade::Good, format!("no frame in {time:?}")));
                continue;
            }
            let kinds: Vec<String> = seen.iter().map(|(kind, n)| format!("{n} {kind}")).collect();
            let grade = if bed.keys.isolated { Grade::Bad } else { Grade::Doubt };
            let words = format!(
                "{total} foreign frames in {time:?}: {}; switch off what sends them (LLDP, STP, IPv6 of the box, a bridge)",
                kinds.join(", ")
            );
            self.say(line(name, grade, words));
        }
        !self.bad && (bed.makes_links() || self.loops(&mut opened, bed, process))
    }

    /// No frame comes back to its port, or reaches the other one without the box.
    fn loops(&mut self, opened: &mut Opened, bed: &Bed, process: &Process) -> bool {
        let wrong = match loops::probe(opened, process) {
            Ok(seen) => loops::in_words(seen),
            Err(error) => return self.say(line("loops", Grade::Bad, error.to_string())),
        };
        self.say(match wrong {
            None => line("loops", Grade::Good, "no broadcast frame came back or reached the other port"),
            Some(words) if bed.knows(loops::BRIDGE) => line("loops", Grade::Doubt, words),
            Some(words) => {
                line("loops", Grade::Bad, format!("{words}; or add i-know = [\"{}\"] to [bed]", loops::BRIDGE))
            }
        })
    }

    /// The box answers on both links, and the cables are not exchanged.
    fn neighbours(&mut self, scenario: &Scenario, bed: &Bed, process: &Process) -> bool {
        if bed.makes_links() {
            // The program is started with the frames below.
            return true;
        }
        let opened = Place::of(bed, process).and_then(|place| {
            let mut opened = ports::open(scenario, bed, &place, process)?;
            opened.resolve(bed, &place, process).map(|()| opened)
        });
        match opened {
            Ok(opened) => {
                for (name, words) in opened.neighbours() {
                    self.say(line(name, Grade::Good, words));
                }
                true
            }
            Err(error) => {
                let is_silent = matches!(error, RigError::Neighbour(_));
                let crossed = is_silent && ports::are_crossed(scenario, bed, process);
                let words = if crossed {
                    "left and right are swapped: the box's address of each side answers on the other one; swap the cables, \
                     or the interfaces in the bed file"
                        .to_owned()
                } else {
                    error.to_string()
                };
                self.say(line("neighbours", Grade::Bad, words))
            }
        }
    }

    /// Frames pass the box in both directions and are translated as the scenario says.
    fn frames(&mut self, scenario: &Scenario, point: &Point, process: &Process) -> bool {
        let mut quick = point.of(scenario).into_owned();
        let measure = &mut quick.measure;
        (measure.start_delay, measure.settle) = (Nanos::from_millis(100), Nanos(0));
        (measure.drain, measure.phase1_drain) = (Nanos::from_millis(500), Nanos::from_millis(500));
        let process = &Process { is_check: true, ..process.clone() };
        let mut rig = match Rig::build(&quick, point, process) {
            Ok(rig) => rig,
            Err(error) => return self.say(line("box", Grade::Bad, error.to_string())),
        };
        let mut good = true;
        for (name, spec) in trials(point.connections) {
            let ended = tried(&mut rig, &spec);
            good &= self.say(judged(name, &spec, &ended));
            if !good {
                break;
            }
            if let Ok(outcome) = &ended
                && spec.kind != PhaseKind::Establish
            {
                let sides = [("left queues", &outcome.reverse), ("right queues", &outcome.forward)];
                for line in sides.into_iter().filter_map(|(name, leg)| queues(name, leg)) {
                    self.say(line);
                }
            }
        }
        for failure in rig.teardown() {
            self.say(line("restore", Grade::Doubt, failure));
        }
        good
    }

    fn ceiling(&mut self, scenario: &Scenario, bed: &Bed, point: &Point, process: &Process) {
        let found = run::send_ceiling(scenario, bed, point, process);
        self.say(match found {
            Ok(rate) => line(
                "send ceiling",
                Grade::Good,
                format!(
                    "{} frames/s per direction, sending only; `natmeter bed t0` measures sending and receiving",
                    grouped(rate.0)
                ),
            ),
            Err(error) => line("send ceiling", Grade::Doubt, error.to_string()),
        });
    }

    fn hooks(&mut self, scenario: &Scenario, bed: &Bed, point: &Point, process: &Process) {
        for (role, keys) in &bed.boxes {
            let hooks = [
                ("prepare", &keys.prepare),
                ("clear", &keys.clear),
                ("count", &keys.count),
                ("cores", &keys.cores),
                ("restore", &keys.restore),
                ("alive", &keys.alive),
            ];
            let given: Vec<&str> = hooks.iter().filter(|(_, hook)| hook.is_some()).map(|(name, _)| *name).collect();
            let name = format!("hooks of {role}");
            if given.is_empty() {
                self.say(line(name, Grade::Good, "none"));
                continue;
            }
            if matches!(keys.on, On::Namespace | On::Guest(_)) {
                self.say(line(name, Grade::NotRun, given.join(", ")));
                continue;
            }
            let answered = boxes::of_point(scenario, bed, (role, keys), point)
                .and_then(|of_point| boxes::ask(bed, (role, keys), of_point, process));
            self.say(match answered {
                Ok(words) => line(name, Grade::Good, format!("{}; {words}", given.join(", "))),
                Err(error) => line(name, Grade::Bad, error.to_string()),
            });
        }
    }
}

/// Driver, speed and queues.
fn link(side: &str, port: &PortKeys) -> CheckLine {
    let name = format!("{side} link");
    let facts = Netns::current().and_then(|here| LinkFacts::of(&here, &port.interface));
    let facts = match facts {
        Ok(facts) => facts,
        Err(error) => return line(name, Grade::Bad, error.to_string()),
    };
    let (grade, words) = link_in_words(side, port, &facts);
    line(name, grade, words)
}

fn link_in_words(side: &str, port: &PortKeys, facts: &LinkFacts) -> (Grade, String) {
    let queues = format!("{} receive and {} transmit queues in use", facts.rx_queues, facts.tx_queues);
    let head = format!("driver {}, {queues}", if facts.driver.is_empty() { "unknown" } else { &facts.driver });
    match (facts.speed, port.line_rate) {
        (Some(speed), _) => {
            let duplex = if facts.full_duplex == Some(false) { ", half duplex" } else { "" };
            (Grade::Good, format!("{speed} Mbit/s{duplex}, {head}"))
        }
        (None, Some(_)) => (Grade::Good, format!("speed unknown, `line-rate` of the bed file counts; {head}")),
        (None, None) => (
            Grade::Doubt,
            format!(
                "speed unknown, so that only `max-rate` and the tester bound a search: write the rate of the link, for example \
                 line-rate = \"10 Gbit/s\", into [bed.{side}]; {head}"
            ),
        ),
    }
}

/// Connections are opened from the left first.
fn trials(connections: u64) -> Vec<(&'static str, TrialSpec)> {
    let opened = FRAMES.min(connections);
    let frames = if opened > 0 { opened } else { FRAMES };
    let both = TrialSpec::both_phases(RATE, Load::Frames(frames), opened);
    let opens = TrialSpec { kind: PhaseKind::Establish, direction: Direction::Forward, ..both.clone() };
    let opens = (opened > 0).then_some(("connections", opens));
    opens.into_iter().chain([("frames both ways", both)]).collect()
}

/// A busy host may lose frames, too. Returns the right trial, or the one in which most frames
/// arrived, right or wrong: it says most about the box.
fn tried(rig: &mut impl Trials, spec: &TrialSpec) -> Result<TrialOutcome, TrialError> {
    let arrived = |outcome: &TrialOutcome| -> u64 {
        [&outcome.forward, &outcome.reverse].iter().map(|leg| leg.received + leg.faults.total()).sum()
    };
    let mut most = rig.run(spec)?;
    for _ in 1..TRIES {
        if is_right(spec, &most) {
            break;
        }
        let next = rig.run(spec)?;
        if is_right(spec, &next) || arrived(&next) > arrived(&most) {
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

/// Directions: from, to, and what became of the frames.
fn legs(kind: PhaseKind, outcome: &TrialOutcome) -> Vec<(&'static str, &'static str, &Leg)> {
    match kind {
        PhaseKind::Establish => vec![("left", "right", &outcome.forward)],
        _ => vec![("left", "right", &outcome.forward), ("right", "left", &outcome.reverse)],
    }
}

fn judged(name: &str, spec: &TrialSpec, ended: &Result<TrialOutcome, TrialError>) -> CheckLine {
    let outcome = match ended {
        Ok(outcome) => outcome,
        Err(error) => return line(name, Grade::Bad, error.to_string()),
    };
    let (kind, legs) = (spec.kind, legs(spec.kind, outcome));
    // Frames that come back to where they were sent are unexpected there.
    if kind == PhaseKind::Establish && outcome.forward.received == 0 && outcome.reverse.faults.total() > 0 {
        let words = "frames that were sent on the left come back on the left: left and right are swapped (the cables, or the \
                     interfaces in the bed file), there is a bridge loop, or the box sends them back";
        return line(name, Grade::Bad, words);
    }
    if is_right(spec, outcome) {
        let all: Vec<String> = legs.iter().map(|(from, to, leg)| format!("{} {from} to {to}", leg.received)).collect();
        return line(name, Grade::Good, format!("{}, all translated as the scenario says", all.join(", ")));
    }
    let words = legs.iter().filter(|(.., leg)| leg.received != leg.planned).map(|(from, to, leg)| {
        let most = Fault::ALL.into_iter().map(|fault| (leg.faults.get(fault), fault)).max_by_key(|(n, _)| *n);
        let why = match most {
            Some((n, fault)) if n > 0 => format!("{n} were wrong: {}", way_out(fault)),
            _ => match disturbance(spec, outcome) {
                Some(reason) => format!("this machine is too busy for the check ({reason}): end other programs, and check again"),
                None => format!(
                    "the others did not arrive: see that the box forwards, and has a route to the addresses behind the {to} port \
                     through the tester's address"
                ),
            },
        };
        format!("{} of {} frames {from} to {to} were right; {why}", leg.received, leg.planned)
    });
    line(name, Grade::Bad, words.collect::<Vec<_>>().join("; "))
}

fn queues(name: &str, leg: &Leg) -> Option<CheckLine> {
    if leg.arrived.is_empty() {
        return None;
    }
    let all: Vec<String> = leg.arrived.iter().map(u64::to_string).collect();
    let words = format!("frames received: {}", all.join(", "));
    Some(match method::starved_queue(&leg.arrived) {
        None => line(name, Grade::Good, words),
        Some((queue, _)) => line(
            name,
            Grade::Doubt,
            format!(
                "{words}; queue {queue} has less than half of its share: let the card hash addresses and ports of UDP (ethtool -N \
                 DEV rx-flow-hash udp4 sdfn), and give the scenario more addresses or ports"
            ),
        ),
    })
}

/// What a fault says of the box, and what to do.
fn way_out(fault: Fault) -> &'static str {
    match fault {
        Fault::OutsidePool => {
            "the source is not in the pool of the scenario's technology: the box does not translate, or has another pool; give \
             `pool` and `pool-ports` the box's values"
        }
        Fault::WrongAddress | Fault::WrongPort => {
            "an address or port is not what the scenario's technology gives: compare its table with the box's configuration"
        }
        Fault::WrongHeader => {
            "a header is not what the scenario expects: the box uses another technology, or does not translate"
        }
        Fault::WrongHopLimit => "the hop limits differ from frame to frame: there is more than one path",
        Fault::BadChecksum => "a checksum is wrong: switch off checksum offloading on the box (ethtool -K DEV tx off)",
        Fault::WrongLength | Fault::WrongPayload => {
            "the length or payload changed: look for a middlebox or an MTU that is too small"
        }
        Fault::Duplicate => "they arrived twice: a loop, or a mirror port",
        Fault::Foreign | Fault::Late | Fault::Unexpected => {
            "they are not of this check: something else sends, or frames arrive on the wrong port"
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use method::simulated::{SimulatedDut, Truth};
    use scenario::bed::{BedText, parse};

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

    /// One trial without a loss shows that the box forwards. A loss of the tester says nothing about the box, but wrong frames do.
    #[test]
    fn a_busy_machine_is_not_taken_for_a_wrong_box() {
        let spec = trials(0).pop().unwrap().1;
        let line = |trials, tester_drops, wrong| {
            let device = SimulatedDut::new(Truth::new(Rate(1_000_000), Rate(1_000_000)), 1);
            judged("frames", &spec, &tried(&mut Loses { device, trials, tester_drops, wrong }, &spec))
        };
        assert_eq!(line(TRIES - 1, 0, 0).grade, Grade::Good);
        for (tester_drops, wrong, words) in [
            (0, 0, "see that the box forwards"),
            (1, 0, "this machine is too busy"),
            (1, 1, "the box does not translate"),
        ] {
            let line = line(TRIES, tester_drops, wrong);
            assert!(line.grade == Grade::Bad && line.words.contains(words), "{}", line.words);
        }
    }

    /// Without a speed nothing but the bed file says where a search ends.
    #[test]
    fn a_link_of_unknown_speed_needs_a_line_rate() {
        let port = |keys: &str| {
            let side = |side: &str, net: u8| {
                format!(
                    "[bed.{side}]\ninterface = \"{side}\"\naddresses = \"198.{net}.0.2/24\"\ngateway = \"198.{net}.0.1\"\n{keys}"
                )
            };
            let text = format!("{}{}[dut]\n", side("left", 18), side("right", 19));
            parse(&BedText { name: "bed.toml".to_owned(), text, t0: Vec::new() }).unwrap().left
        };
        let mut facts = LinkFacts { driver: "veth".to_owned(), rx_queues: 2, tx_queues: 1, ..LinkFacts::default() };
        let (grade, words) = link_in_words("left", &port(""), &facts);
        assert!(grade == Grade::Doubt && words.contains("line-rate = \"10 Gbit/s\", into [bed.left]"), "{words}");
        let (grade, words) = link_in_words("left", &port("line-rate = \"1 Gbit/s\"\n"), &facts);
        assert!(grade == Grade::Good && words.contains("`line-rate` of the bed file counts"), "{words}");
        facts.speed = Some(10_000);
        let said = "10000 Mbit/s, driver veth, 2 receive and 1 transmit queues in use".to_owned();
        assert_eq!(link_in_words("left", &port(""), &facts), (Grade::Good, said));
    }
}
