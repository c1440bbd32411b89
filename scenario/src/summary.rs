//! A scenario in a few lines, for `natmeter check` and the start of a run.

use crate::axis::{Axis, Fit};
use crate::bed::Bed;
use crate::conformance::{conformance, label};
use crate::quantity::{show_count, show_duration, show_grouped};
use crate::{Dut, Link, Method, Scenario, VethIo};
use method::Count;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::ser::{Serialize, Serializer};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::net::Ipv4Addr;
use tech::{Flows, Outside, Ports};
use wire::AddrRange;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    rows: Vec<(&'static str, String)>,
    /// Procedure and test bed in a few words.
    label: String,
    /// Departures of the procedure from the RFCs; empty when it conforms.
    pub departures: Vec<String>,
}

impl Summary {
    pub fn new(scenario: &Scenario) -> Summary {
        let (sweep, measure) = (&scenario.sweep, &scenario.measure);
        let all = |values: Vec<String>| values.join(", ");
        let connections: Vec<String> = sweep.connections.iter().filter(|n| **n > 0).map(|n| show_count(*n)).collect();
        let mut rows = vec![
            ("devices", all(scenario.duts.iter().map(|dut| dut.name().to_owned()).collect())),
            ("link", link(scenario)),
            ("frames", frames(scenario)),
        ];
        rows.splice(1..1, technologies(scenario));
        rows.push(("flows", flows(scenario)));
        rows.extend(scenario.impair.as_ref().map(|impair| ("IMPAIRED", impair.in_words())));
        rows.extend(
            scenario
                .capture
                .as_ref()
                .map(|c| ("capture", format!("{} frames a port and trial", show_count(c.frames.into())))),
        );
        rows.extend(pools(scenario).into_iter().map(|pool| ("pool", pool)));
        if !connections.is_empty() {
            rows.push(("connections", all(connections)));
        }
        for swept in &scenario.axes {
            let axis = Axis::by_name(&swept.axis);
            let name = axis.map_or("axis", |axis| axis.heading);
            let show = |&n: &Count| axis.and_then(|axis| axis.word(n)).unwrap_or_else(|| show_count(n));
            rows.push((name, all(swept.values.iter().map(show).collect())));
        }
        rows.push(("cores", sweep.cores.in_words()));
        if scenario.tester.workers > 1 {
            rows.push(("tester", format!("{} workers", scenario.tester.workers)));
        }
        let repetitions = measure.repetitions.in_words();
        let error = scenario.precision_in_words();
        let error = error.strip_suffix(" of the result").unwrap_or(&error);
        rows.push(("metrics", format!("{}; {repetitions}, error {error}", measure.metrics.join(", "))));
        if scenario.search() == Method::Mlr {
            let goals: Vec<String> = scenario.goals().into_iter().map(|goal| goal.name).collect();
            rows.push(("search", format!("MLRsearch; goals {}", goals.join(", "))));
        }
        rows.extend(scenario.shortened_in_words().map(|words| ("searches", words)));
        rows.push(("trials", format!("{} each", show_duration(measure.duration))));
        let assessment = conformance(scenario);
        Summary { rows, label: label(scenario, &assessment), departures: assessment.sentences() }
    }
}

/// In words; the values are in its file.
impl Serialize for Scenario {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let rows = Summary::new(self).rows;
        let own = [("name", self.name.clone()), ("about", self.about.clone())];
        // Some names repeat, such as those of two technologies.
        let mut entries: Vec<(&str, String)> = Vec::new();
        for (name, words) in own.into_iter().chain(rows) {
            match entries.iter_mut().find(|(there, _)| *there == name) {
                Some((_, there)) => there.extend(["; ", &words]),
                None => entries.push((name, words)),
            }
        }
        serializer.collect_map(entries)
    }
}

impl JsonSchema for Scenario {
    fn schema_name() -> Cow<'static, str> {
        "Scenario".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = <BTreeMap<String, String>>::json_schema(generator);
        schema.insert("description".to_owned(), "The scenario in words.".into());
        schema.insert("required".to_owned(), vec!["name", "about"].into());
        schema
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, words) in &self.rows {
            writeln!(f, "  {name:<11}  {words}")?;
        }
        writeln!(f, "  {:<11}  {}", "label", self.label)?;
        self.departures.iter().try_for_each(|departure| writeln!(f, "  {:<11}  - {departure}", ""))
    }
}

fn link(scenario: &Scenario) -> String {
    match &scenario.link {
        Link::InProcess { depth } => format!("in this process, {depth} frames deep"),
        Link::Ports if scenario.bed.as_ref().is_some_and(Bed::makes_links) => {
            "links to the boxes of a test bed on this machine".to_owned()
        }
        Link::Ports => "two ports of a test bed".to_owned(),
        Link::Tap => "a TAP pair into the kernel".to_owned(),
        Link::Veth { io } => {
            let io = match io {
                VethIo::AfPacket => "packet sockets",
                VethIo::AfXdpGeneric => "AF_XDP (generic)",
                VethIo::AfXdpNative => "AF_XDP (native)",
            };
            format!("two veth pairs into the kernel, by {io}")
        }
    }
}

/// Frames as IPv4, and where they are longest; and their direction.
fn frames(scenario: &Scenario) -> String {
    let traffic = &scenario.traffic;
    let size = traffic.frame_size;
    let longest = match scenario.overhead() {
        0 => String::new(),
        more => format!(" as IPv4 ({} where they are longest)", size + more),
    };
    let direction = scenario.directions_in_words();
    let native = scenario.foreground_in_words().map_or_else(String::new, |words| format!("; {words}"));
    format!("{} octets{longest}, {direction}{native}", scenario.frame_sizes_in_words())
}

/// Technology, edge, and the part that the tester plays, of each embedded gateway.
pub fn technologies(scenario: &Scenario) -> Vec<(&'static str, String)> {
    let mut rows = Vec::new();
    let swept: Vec<&str> = scenario.axes.iter().map(|swept| swept.axis.as_str()).collect();
    for dut in &scenario.duts {
        let Some((plays, technology)) = dut.technology() else { continue };
        let edge = technology.names().edge_in_words(plays).map(|edge| format!(": {edge}")).unwrap_or_default();
        rows.push(("technology", technology.names().words(plays).to_owned() + &edge));
        rows.extend(technology.summary(plays, &swept));
        rows.extend(subscribers(dut, scenario).map(|words| ("subscribers", words)));
    }
    rows
}

/// Subscribers that the tester plays; none if an axis says them.
fn subscribers(dut: &Dut, scenario: &Scenario) -> Option<String> {
    let flows = &scenario.traffic.flows;
    let sets = |axis: &Axis| axis.sets_subscribers;
    let swept = scenario.host_axis().and_then(|swept| Axis::by_name(&swept.axis)).is_some_and(sets);
    let played = dut.fit("subscribers", flows) != Fit::Lacks && !swept;
    played.then(|| show_grouped(flows.subscribers.into()) + ", played by the tester")
}

/// Who sends to whom, and how many connections there can be: of each subscriber, or inside address, and of all.
fn flows(scenario: &Scenario) -> String {
    let t = &scenario.traffic.flows;
    if scenario.following.any() && scenario.most_connections() > 0 {
        return flows_of_connections(scenario);
    }
    let [_, remote] = show_ends(t);
    let words = format!("{} to {remote} ports {}", sources(scenario), t.destination_ports);
    let each = t.of_a_host();
    let (fewest, most) = scenario.hosts().unwrap_or((1, 1));
    let [one, least, all] = [1, fewest, most].map(|n| show_grouped(n.saturating_mul(each)));
    if (fewest, most) == (1, 1) {
        return format!("{words}: {all} flows");
    }
    let of_subscribers = scenario.duts.iter().any(Dut::is_of_subscribers);
    let (one_of_them, them) = if of_subscribers {
        ("a subscriber", "subscribers")
    } else if t.networks > 1 {
        ("a network", "networks")
    } else {
        ("an inside address", "inside addresses")
    };
    let [from, to] = [fewest, most].map(show_grouped);
    let (factor, product) =
        if fewest == most { (to, all) } else { (format!("{from} to {to}"), format!("{least} to {all}")) };
    format!("{words}: {one} {one_of_them} × {factor} {them} = {product} flows")
}

/// Ranges of each point once, where ports follow from the number of connections, and whether the
/// connections are all flows.
fn flows_of_connections(scenario: &Scenario) -> String {
    const SHOWN: usize = 4;
    let t = &scenario.traffic.flows;
    let mut ports: Vec<String> = Vec::new();
    for flows in scenario.all_flows() {
        let words = format!("{} to {}", flows.source_ports, flows.destination_ports);
        if !ports.contains(&words) {
            ports.push(words);
        }
    }
    let more = if ports.len() > SHOWN { ", …" } else { "" };
    ports.truncate(SHOWN);
    let of_subscribers = scenario.duts.iter().any(Dut::is_of_subscribers);
    let from = if of_subscribers { "each subscriber's address".to_owned() } else { show_range(t.inside) };
    let subsets = match scenario.subsets_in_words() {
        Some(words) => format!("{words} flows"),
        None => "each flow is a connection".to_owned(),
    };
    format!("{from} to {}, ports {}{more}: {subsets}", show_range(t.remote), ports.join(", "))
}

/// Behind shared addresses each subscriber has an address and ports of its own.
fn sources(scenario: &Scenario) -> String {
    let t = &scenario.traffic.flows;
    let shared = |dut: &Dut| dut.is_of_subscribers() && !dut.is_stateful();
    if scenario.duts.iter().any(shared) {
        return format!("each subscriber's address, {} of its ports,", show_grouped(t.source_ports.count().into()));
    }
    let [inside, _] = show_ends(t);
    format!("{inside} ports {}", t.source_ports)
}

/// Different pools of devices of this kernel, with the devices.
fn pools(scenario: &Scenario) -> Vec<String> {
    let mut pools: Vec<(String, Vec<&str>)> = Vec::new();
    for dut in &scenario.duts {
        let nat = dut.nat().filter(|_| dut.technology().is_none()).map(|nat| nat.outside);
        if let Some(Outside { pool, ports: Ports::Range(ports, _), .. }) = nat {
            let pool: Vec<String> = pool.into_iter().map(|(_, range)| show_range(range)).collect();
            let words = format!("{} ports {ports}", pool.join(", "));
            match pools.iter_mut().find(|(known, _)| *known == words) {
                Some((_, names)) => names.push(dut.name()),
                None => pools.push((words, vec![dut.name()])),
            }
        }
    }
    let one = pools.len() == 1;
    let shown =
        |(words, names): (String, Vec<&str>)| if one { words } else { format!("{words} ({})", names.join(", ")) };
    pools.into_iter().map(shown).collect()
}

/// Inside and remote addresses in words, of several networks the first and the last.
pub fn show_ends(flows: &Flows) -> [String; 2] {
    let further = flows.networks.max(1) - 1;
    [flows.inside, flows.remote].map(|range| {
        if further == 0 {
            return show_range(range);
        }
        let of = |i: u32| Ipv4Addr::from(u32::from(range.first) + (i << 8));
        let second = if further > 1 { format!(", {}, …", of(1)) } else { String::new() };
        format!("{}{second}, {}", of(0), of(further))
    })
}

pub fn show_range(range: AddrRange) -> String {
    if range.count == 1 { range.first.to_string() } else { format!("{} - {}", range.first, range.last()) }
}
