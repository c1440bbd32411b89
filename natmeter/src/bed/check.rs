//! What `natmeter bed check` finds out about a bed: file, interfaces, safety, ports, silence,
//! neighbours, a thousand frames each way, ceiling and hooks. A line that fails says what to do.

use super::causes::Around;
use super::frames::{self, Grade, judged, trials, tried};
use crate::rig::machine::{self, Interface};
use crate::rig::place::Place;
use crate::rig::ports::{self, PortPair};
use crate::rig::{Rig, RigError, RunContext, boxes, loops, management, silence};
use crate::run;
use gateway::neighbour::NeighbourError;
use method::{Fault, Leg, Nanos, PhaseKind};
use port::Netns;
use port::interface::LinkFacts;
use record::plan::Measurement;
use record::report::number::grouped;
use scenario::bed::{Bed, BoxKeys, On, PortKeys};
use scenario::{Point, Scenario};
use std::fmt::Display;
use std::time::Duration;

/// One line of the check: its name, its grade, and words on the findings and the fix.
pub(crate) struct CheckLine {
    pub(crate) name: String,
    pub(crate) grade: Grade,
    pub(crate) words: String,
}

/// The name of a line, and what is wrong.
type Refusal = (String, String);

fn at<E: Display>(name: &str) -> impl Fn(E) -> Refusal {
    move |why| (name.to_owned(), why.to_string())
}

/// Hands each line to `say` as soon as it is known. Returns whether a run can begin.
pub(crate) fn check(
    scenario: &Scenario,
    (file, bed): (&str, &Bed),
    process: &RunContext,
    say: &mut dyn FnMut(CheckLine),
) -> bool {
    let mut check = Check { process, file, say, bad: false, of: String::new() };
    let firsts = first_points(scenario);
    let several = firsts.len() > 1;
    let is_open = (bed.makes_links() || check.is_passed(|check| check.interfaces(bed)))
        && check.is_passed(|check| check.silence(scenario, bed));
    for (number, point) in firsts.iter().enumerate() {
        let here = &*point.of(scenario);
        let bed = here.bed.as_ref().unwrap_or(bed);
        check.of = if several { format!(", {}", point.dut_name) } else { String::new() };
        // If natmeter makes the links, it starts the program together with the frames.
        let is_found = is_open && (bed.makes_links() || check.neighbours(here, bed));
        if is_found && check.is_passed(|check| check.frames(here, point)) && number == 0 {
            check.rates(here, bed);
            check.ceiling(here, bed, point);
            if !bed.makes_links() {
                check.t0(here, bed);
            }
        }
        check.hooks(here, bed, point, is_found);
    }
    !check.bad
}

fn first_points(scenario: &Scenario) -> Vec<Point> {
    let mut firsts: Vec<Point> = Vec::new();
    for Measurement { point, .. } in record::plan::Plan::new(scenario).measurements {
        let size = |point: &Point| point.of(scenario).widest_frame();
        match firsts.iter_mut().find(|first| first.dut == point.dut) {
            None => firsts.push(point),
            // What passes a box is decided at the largest frame.
            Some(first) if size(first) < size(&point) => *first = point,
            Some(_) => {}
        }
    }
    firsts
}

struct Check<'a> {
    process: &'a RunContext,
    file: &'a str,
    say: &'a mut dyn FnMut(CheckLine),
    bad: bool,
    /// Device behind the name of each line, if there are several.
    of: String,
}

impl Check<'_> {
    fn say(&mut self, name: impl Display, grade: Grade, words: impl Into<String>) -> bool {
        let good = grade != Grade::Bad;
        self.bad |= !good;
        (self.say)(CheckLine { name: format!("{name}{}", self.of), grade, words: words.into() });
        good
    }

    /// Runs a check and returns whether it passed. A check that ends early adds a line with the reason.
    fn is_passed(&mut self, check: impl FnOnce(&mut Self) -> Result<bool, Refusal>) -> bool {
        check(self).unwrap_or_else(|(name, words)| self.say(name, Grade::Bad, words))
    }

    /// Both interfaces exist and are up, and nothing speaks against test frames through them.
    fn interfaces(&mut self, bed: &Bed) -> Result<bool, Refusal> {
        let all = machine::interfaces().map_err(at("interfaces"))?;
        let mut good = true;
        for (side, port) in bed.ports() {
            let name = format!("{side} interface");
            good &= match usable((side, port), &all, (self.file, bed)) {
                Ok(words) => {
                    self.say(name, Grade::Good, words);
                    let (grade, words) = link(side, port);
                    self.say(format!("{side} link"), grade, words)
                }
                Err(words) => self.say(name, Grade::Bad, words),
            };
        }
        Ok(good)
    }

    fn t0(&mut self, scenario: &Scenario, bed: &Bed) {
        let traffic = &scenario.traffic;
        let size =
            traffic.frame_sizes.as_ref().map_or_else(|| traffic.frame_size.to_string(), scenario::Imix::in_words);
        let (grade, words) = match bed.t0_of(traffic) {
            Some(t0) => {
                let frames = grouped(t0.frames);
                let date = &t0.date;
                let words = format!("{frames} frames/s per direction with frames of {size} octets, measured {date}");
                (Grade::Good, words)
            }
            None => (
                Grade::NotRun,
                format!(
                    "not measured with these ports and frames of {size} octets, so no report says that the device was the limit: \
                     cable left to right, and run `natmeter bed t0`"
                ),
            ),
        };
        self.say("T0", grade, words);
    }

    fn silence(&mut self, scenario: &Scenario, bed: &Bed) -> Result<bool, Refusal> {
        let process = self.process;
        let place = Place::of(bed, process).map_err(at("links"))?;
        let mut opened = ports::open(scenario, bed, &place, process).map_err(at("ports"))?;
        for (name, words) in opened.in_words() {
            self.say(name, Grade::Good, words);
        }
        let time: Duration = bed.keys.silence.into();
        let heard = silence::listen(&mut opened, time, process).map_err(at("silence"))?;
        for ((side, _), seen) in bed.ports().into_iter().zip(&heard) {
            let total: u64 = seen.values().sum();
            let kinds: Vec<String> = seen.iter().map(|(kind, n)| format!("{n} {kind}")).collect();
            let (grade, words) = match total {
                0 => (Grade::Good, format!("no frame in {time:?}")),
                _ => (
                    if bed.keys.isolated { Grade::Bad } else { Grade::Doubt },
                    format!(
                        "{total} foreign frames in {time:?}: {}; switch off what sends them (LLDP, STP, IPv6 of the box, a bridge)",
                        kinds.join(", ")
                    ),
                ),
            };
            self.say(format!("{side} silence"), grade, words);
        }
        Ok(!self.bad && (bed.makes_links() || self.has_no_loop(&mut opened, bed)?))
    }

    /// No frame comes back to its port, or reaches the other one without the box.
    fn has_no_loop(&mut self, opened: &mut PortPair, bed: &Bed) -> Result<bool, Refusal> {
        let seen = loops::count_loops(opened, self.process).map_err(at("loops"))?;
        let (grade, words) = match loops::describe(seen) {
            None => (Grade::Good, "no broadcast frame came back or reached the other port".to_owned()),
            Some(words) if bed.knows(loops::I_KNOW_BRIDGE) => (Grade::Doubt, words),
            Some(words) => (Grade::Bad, format!("{words}; or add i-know = [\"{}\"] to [bed]", loops::I_KNOW_BRIDGE)),
        };
        Ok(self.say("loops", grade, words))
    }

    /// The box answers on both links, and the cables are not exchanged.
    fn neighbours(&mut self, scenario: &Scenario, bed: &Bed) -> bool {
        let process = self.process;
        let opened = Place::of(bed, process).and_then(|place| {
            let mut opened = ports::open(scenario, bed, &place, process)?;
            opened.resolve(bed, &place, process).map(|()| opened)
        });
        match opened {
            Ok(opened) => {
                for (name, words) in opened.neighbours() {
                    self.say(name, Grade::Good, words);
                }
                true
            }
            Err(RigError::Neighbour(_)) if ports::are_crossed(scenario, bed, process) => {
                let words = "the box's address of each side answers on the other one";
                self.say("neighbours", Grade::Bad, format!("{words}: {}", frames::swapped(self.file)))
            }
            Err(RigError::Neighbour(NeighbourError::Silent { address, port, waited })) => {
                let side = if port == bed.left.interface { "left" } else { "right" };
                let words = format!(
                    "{address} does not answer on the {side} ({port}) in {waited:?}: see that the box's interface there is up, has this \
                     address and answers ARP or Neighbor Discovery, or correct `gateway` of [bed.{side}] in {}, or write its `mac`",
                    self.file
                );
                self.say("neighbours", Grade::Bad, words)
            }
            Err(error) => self.say("neighbours", Grade::Bad, error.to_string()),
        }
    }

    /// Frames pass the box in both directions and are translated as the scenario says.
    fn frames(&mut self, scenario: &Scenario, point: &Point) -> Result<bool, Refusal> {
        let mut quick = point.of(scenario).into_owned();
        let measure = &mut quick.measure;
        (measure.start_delay, measure.settle) = (Nanos::from_millis(100), Nanos(0));
        (measure.drain, measure.phase1_drain) = (Nanos::from_millis(500), Nanos::from_millis(500));
        let process = &RunContext { is_check: true, ..self.process.clone() };
        let mut rig = Rig::build(&quick, point, process).map_err(at("box"))?;
        let technology = scenario.duts[point.dut].technology();
        let (left, right) = technology.map_or((4, 4), |(plays, technology)| technology.versions(plays));
        let mut around = Around {
            file: self.file,
            bed: scenario.bed.as_ref(),
            versions: [left, right],
            frame: quick.widest_frame(),
            ttl: scenario.traffic.ttl,
            answers_last_hop: None,
        };
        let mut good = true;
        for (name, spec) in trials(point.connections, scenario.phase1_rate()) {
            let mut ended = tried(&mut rig, &spec);
            if ended.is_err()
                && let Some(blind) = without_clear(&quick)
            {
                // What arrives without `clear` may say why it cannot be proven.
                rig.teardown();
                rig = Rig::build(&blind, point, process).map_err(at("box"))?;
                let again = tried(&mut rig, &spec);
                if judged(&spec, &again, &around).0 == Grade::Bad {
                    ended = again;
                }
            }
            if ended.as_ref().is_ok_and(frames::is_silent) {
                let mut last_hop = without_clear(&quick).unwrap_or_else(|| quick.clone());
                last_hop.traffic.ttl = 1;
                rig.teardown();
                rig = Rig::build(&last_hop, point, process).map_err(at("box"))?;
                let answered = tried(&mut rig, &spec);
                around.answers_last_hop = answered.ok().map(|outcome| outcome.reverse.faults.get(Fault::IcmpError) > 0);
            }
            let (grade, words) = judged(&spec, &ended, &around);
            good &= self.say(name, grade, words);
            if !good {
                break;
            }
            if let Ok(outcome) = &ended
                && spec.kind != PhaseKind::Establish
            {
                let sides = [("left queues", &outcome.reverse), ("right queues", &outcome.forward)];
                for (name, leg) in sides.into_iter().filter(|(_, leg)| !leg.arrived.is_empty()) {
                    let (grade, words) = queues(leg);
                    self.say(name, grade, words);
                }
            }
        }
        if let Some(ended) = rig.ended() {
            good = self.say("program", Grade::Bad, ended);
        }
        for failure in rig.teardown() {
            self.say("restore", Grade::Doubt, failure);
        }
        Ok(good)
    }

    /// A rate above that of the link cannot be offered.
    fn rates(&mut self, scenario: &Scenario, bed: &Bed) {
        let (size, file) = (scenario.widest_frame(), self.file);
        let above = ports::line_rate(bed, size).zip(scenario.max_rate()).filter(|(line, most)| most > line);
        if let Some((line, most)) = above {
            let words = format!(
                "`max-rate` of [measure] is {} frames/s, and the link carries {} of {size} octets: a search ends there; lower \
                 `max-rate` in the scenario, or correct `line-rate` in {file}",
                grouped(most),
                grouped(line)
            );
            self.say("max-rate", Grade::Doubt, words);
        }
    }

    fn ceiling(&mut self, scenario: &Scenario, bed: &Bed, point: &Point) {
        let (grade, words) = match run::send_ceiling(scenario, bed, point, self.process) {
            Ok(rate) => {
                let rate = grouped(rate.0);
                let how = "sending only; `natmeter bed t0` measures sending and receiving";
                (Grade::Good, format!("{rate} frames/s per direction, {how}"))
            }
            Err(error) => (Grade::Doubt, error.to_string()),
        };
        self.say("send ceiling", grade, words);
    }

    fn hooks(&mut self, scenario: &Scenario, bed: &Bed, point: &Point, was_tried: bool) {
        let counts = bed.boxes.iter().any(|(_, keys)| keys.count.is_some() || keys.software.is_some());
        for (role, keys) in &bed.boxes {
            let given: Vec<&str> = boxes::hooks_of(keys).into_keys().map(dut::Hook::name).collect();
            let names = given.join(", ");
            let (grade, words) = match keys.on {
                _ if given.is_empty() && scenario.keeps(&scenario.duts[point.dut]).is_some() => (
                    Grade::Doubt,
                    format!(
                        "none: without `clear` in [{role}] of {} (Linux: clear = \"conntrack -F\") a run waits until connections have \
                         timed out, and refuses a `udp-timeout` above 5 min",
                        self.file
                    ),
                ),
                _ if given.is_empty() => (Grade::Good, "none".to_owned()),
                // The box is gone: a hook that failed is an error of the frames.
                On::Namespace | On::Guest(_) if was_tried => {
                    (Grade::Good, format!("{names}; those that a trial needs were run with the frames"))
                }
                On::Namespace | On::Guest(_) => (Grade::NotRun, names),
                On::Local | On::Ssh(_) => match boxes::asked(scenario, bed, (role, keys), point, self.process) {
                    Ok((alive, entries)) => (Grade::Good, format!("{names}; {}", answers(alive, entries))),
                    Err(error) => (Grade::Bad, error.to_string()),
                },
            };
            if grade != Grade::Bad && keys.clear.is_some() && !counts && point.connections > 0 {
                let words = format!("{words}; nothing shows that `clear` empties the table: set `count`");
                self.say(format!("hooks of {role}"), Grade::Doubt, words);
            } else {
                self.say(format!("hooks of {role}"), grade, words);
            }
            if matches!(keys.on, On::Local | On::Ssh(_)) && point.connections > 0 && !scenario.fills_tables() {
                self.table(scenario, bed, (role, keys), point);
            }
        }
    }

    /// Linux says beside the number of its entries how many there can be.
    fn table(&mut self, scenario: &Scenario, bed: &Bed, (role, keys): (&str, &BoxKeys), point: &Point) {
        let Some(count) = keys.count.as_ref().filter(|line| line.contains(ENTRIES)) else { return };
        let keys = BoxKeys { count: Some(count.replace(ENTRIES, MOST_ENTRIES)), alive: None, ..keys.clone() };
        let most = boxes::asked(scenario, bed, (role, &keys), point, self.process).ok().and_then(|(_, most)| most);
        let wanted = scenario.most_connections();
        if let Some(most) = most.filter(|most| *most < wanted) {
            let words = format!(
                "{} connections are more connections than its table holds, {}: `sysctl net.netfilter.{MOST_ENTRIES}={}` on the box, or \
                 lower `connections` of [sweep] in the scenario",
                grouped(wanted),
                grouped(most),
                wanted.saturating_mul(2)
            );
            self.say(format!("table of {role}"), Grade::Bad, words);
        }
    }
}

/// Returns kind and address of an interface for test frames, or why natmeter cannot use it.
fn usable((side, port): (&str, &PortKeys), all: &[Interface], (file, bed): (&str, &Bed)) -> Result<String, String> {
    let Some(found) = all.iter().find(|found| found.name == port.interface) else {
        let names: Vec<&str> = all.iter().map(|found| found.name.as_str()).collect();
        let meant = scenario::did_you_mean(&port.interface, names.iter().copied());
        let meant = meant.map_or_else(String::new, |name| format!("did you mean {name}? "));
        let here = names.join(", ");
        return Err(format!(
            "{} does not exist; this machine has {here}: {meant}Correct `interface` of [bed.{side}] in {file}",
            port.interface
        ));
    };
    let name = &found.name;
    // A veth whose other end is down has the second state.
    if ["DOWN", "LOWERLAYERDOWN"].contains(&found.state.as_str()) {
        return Err(format!(
            "{name} is down, or its cable has no carrier: run `ip link set {name} up`, and check both ends of the cable"
        ));
    }
    if let Some((danger, sentence)) = found.dangers().into_iter().find(|(danger, _)| !bed.knows(danger)) {
        return Err(format!("{sentence}; use another interface, or add i-know = [\"{danger}\"] to [bed]"));
    }
    match management::through(found, bed) {
        Some(sentence) => Err(sentence),
        None => Ok(format!("{name} ({}), {}", found.kind_in_words(), found.mac)),
    }
}

const ENTRIES: &str = "nf_conntrack_count";
const MOST_ENTRIES: &str = "nf_conntrack_max";

/// The scenario with boxes that no hook clears or counts; none if none does anyway.
fn without_clear(scenario: &Scenario) -> Option<Scenario> {
    let mut blind = scenario.clone();
    let boxes = &mut blind.bed.as_mut()?.boxes;
    // The engine proves `clear` by `count`.
    let hooks = boxes.iter_mut().flat_map(|(_, keys)| [keys.clear.take(), keys.count.take()]);
    (hooks.flatten().count() > 0).then_some(blind)
}

/// What the hooks `alive` and `count` said.
fn answers(alive: Option<bool>, entries: Option<u64>) -> String {
    let alive = alive.map(|alive| if alive { "alive" } else { "not alive" }.to_owned());
    let words: Vec<String> = alive.into_iter().chain(entries.map(|n| format!("{n} connections now"))).collect();
    if words.is_empty() { "it can be reached".to_owned() } else { words.join(", ") }
}

/// Driver, speed and queues.
fn link(side: &str, port: &PortKeys) -> (Grade, String) {
    match Netns::current().and_then(|here| LinkFacts::of(&here, &port.interface)) {
        Ok(facts) => link_in_words(side, port, &facts),
        Err(error) => (Grade::Bad, error.to_string()),
    }
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

fn queues(leg: &Leg) -> (Grade, String) {
    let all: Vec<String> = leg.arrived.iter().map(u64::to_string).collect();
    let words = format!("frames received: {}", all.join(", "));
    match method::starved_queue(&leg.arrived) {
        None => (Grade::Good, words),
        Some((queue, _)) => (
            Grade::Doubt,
            format!(
                "{words}; queue {queue} has less than half of its share: let the card hash addresses and ports of UDP (ethtool -N \
                 DEV rx-flow-hash udp4 sdfn), and give the scenario more addresses or ports"
            ),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use scenario::bed::{BedText, parse};

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
