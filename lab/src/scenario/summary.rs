//! A scenario in a few lines for people: what `natmeter check` prints and a run begins with.

use super::conformance::conformance;
use super::quantity::{show_count, show_duration, show_grouped, show_share};
use super::{Dut, Impair, Link, Scenario, Traffic, VethIo};
use method::Direction;
use std::fmt;
use wire::AddrRange;

/// A scenario in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    rows: Vec<(&'static str, String)>,
    /// Departures from the RFCs; empty when the run conforms.
    pub departures: Vec<String>,
}

impl Summary {
    /// Put a scenario into words.
    pub fn new(scenario: &Scenario) -> Summary {
        let (traffic, sweep, measure) = (&scenario.traffic, &scenario.sweep, &scenario.measure);
        let all = |values: Vec<String>| values.join(", ");
        let connections: Vec<String> = sweep.connections.iter().filter(|n| **n > 0).map(|n| show_count(*n)).collect();
        let mut rows = vec![
            ("devices", all(scenario.duts.iter().map(|dut| dut.name().to_owned()).collect())),
            ("link", link(&scenario.link)),
            ("frames", frames(traffic)),
            ("flows", flows(traffic)),
        ];
        rows.extend(scenario.impair.map(|impair| ("IMPAIRED", impair_in_words(&impair))));
        rows.extend(
            scenario.capture.map(|c| ("capture", format!("{} frames a port and trial", show_count(c.frames.into())))),
        );
        rows.extend(pools(scenario).map(|pool| ("pool", pool)));
        if !connections.is_empty() {
            rows.push(("connections", all(connections)));
        }
        for swept in &sweep.axes {
            let name = super::axis::by_name(&swept.axis).map_or("axis", |axis| axis.heading);
            rows.push((name, all(swept.values.iter().map(|&n| show_count(n)).collect())));
        }
        rows.push(("cores", all(sweep.cores.iter().map(u32::to_string).collect())));
        let repetitions =
            if measure.repetitions == 1 { "once".to_owned() } else { format!("{} times", measure.repetitions) };
        let error = show_share(measure.error_ppm);
        rows.push(("metrics", format!("{}; {repetitions}, error {error}", measure.metrics.join(", "))));
        rows.push(("trials", format!("{} each", show_duration(measure.duration))));
        Summary { rows, departures: conformance(scenario) }
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, words) in &self.rows {
            writeln!(f, "  {name:<11}  {words}")?;
        }
        if self.departures.is_empty() {
            return writeln!(f, "  {:<11}  the settings of RFC 2544 and RFC 9693", "conforms to");
        }
        writeln!(f, "  {:<11}  quick, not RFC 2544; --full conforms", "label")?;
        self.departures.iter().try_for_each(|departure| writeln!(f, "  {:<11}  - {departure}", ""))
    }
}

fn link(link: &Link) -> String {
    match link {
        Link::InProcess { depth } => format!("in this process, {depth} frames deep"),
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

/// What is done to frames on purpose.
pub fn impair_in_words(impair: &Impair) -> String {
    let shares = [
        (impair.loss_ppm, "lost"),
        (impair.duplicate_ppm, "doubled"),
        (impair.reorder_ppm, "overtaken"),
        (impair.corrupt_ppm, "corrupted"),
    ];
    let mut parts: Vec<String> =
        shares.iter().filter(|(ppm, _)| *ppm > 0).map(|(ppm, what)| format!("{ppm} in a million {what}")).collect();
    if impair.delay.0 > 0 {
        parts.push(format!("each held for {}", show_duration(impair.delay)));
    }
    format!("{} (seed {}), on both sides of the tester", parts.join(", "), impair.seed)
}

fn frames(traffic: &Traffic) -> String {
    let direction = match traffic.direction {
        Direction::Both => "both directions",
        Direction::Forward => "Initiator to Responder only",
        Direction::Reverse => "Responder to Initiator only",
    };
    format!("{} octets, {direction}", traffic.frame_size)
}

fn flows(t: &Traffic) -> String {
    let [inside, remote] = [t.inside, t.remote].map(show_range);
    let counts = [t.inside.count, t.source_ports.count(), t.remote.count, t.destination_ports.count()];
    let flows = show_grouped(counts.into_iter().map(u64::from).product());
    format!("{inside} ports {} to {remote} ports {}: {flows} flows", t.source_ports, t.destination_ports)
}

/// The pools that differ, with the devices that have them.
fn pools(scenario: &Scenario) -> impl Iterator<Item = String> + use<> {
    let mut pools: Vec<(String, Vec<&str>)> = Vec::new();
    for dut in &scenario.duts {
        if let Dut::Embedded(nat44) | Dut::Kernel { nat44: Some(nat44), .. } = dut {
            let words = format!("{} ports {}", show_range(nat44.pool), nat44.pool_ports);
            match pools.iter_mut().find(|(known, _)| *known == words) {
                Some((_, names)) => names.push(dut.name()),
                None => pools.push((words, vec![dut.name()])),
            }
        }
    }
    let one = pools.len() == 1;
    let shown =
        |(words, names): (String, Vec<&str>)| if one { words } else { format!("{words} ({})", names.join(", ")) };
    pools.into_iter().map(shown).collect::<Vec<_>>().into_iter()
}

/// An address range as in scenarios.
pub fn show_range(range: AddrRange) -> String {
    if range.count == 1 { range.first.to_string() } else { format!("{} - {}", range.first, range.last()) }
}
