//! The commands that would set up the kernel devices of a plan at each point.

use crate::rig::place::{connections, delivery, ends, network};
use crate::rig::{self, boxes, dns};
use clap::ValueEnum;
use dut::{DutError, Step, Target};
use record::plan::Plan;
use scenario::axis::more_in_words;
use scenario::bed::Bed;
use scenario::{Point, Scenario, show_ends};
use std::fmt::Write;
use wire::{Address6, Octets16, Prefix6, Template};

/// How `natmeter plan --steps` prints scripts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Steps {
    /// Their first lines
    Short,
    /// All lines
    Full,
}

/// Lines of a command without [`Steps::Full`].
const SHOWN: usize = 10;
/// Columns of a terminal.
const COLUMNS: usize = 80;

/// Steps in order; devices other than kernel devices and boxes have a comment only. Fails if a device cannot be set up
/// as the scenario asks.
pub fn steps(scenario: &Scenario, plan: &Plan, how: Steps) -> Result<String, DutError> {
    let cable = plan.points().find_map(|point| scenario.bed_of_cable(&scenario.duts[point.dut]));
    let cable = cable.map_or(Ok(String::new()), |bed| {
        let head = "\n# to calibrate the tester before each number of connections: a cable between its two ports\n";
        Ok(head.to_owned() + &listed(&dut::links::plan(ends(&bed), &[], bed.lanes())?))
    });
    std::iter::once(cable).chain(plan.points().map(|point| of_point(scenario, point, how))).collect()
}

fn of_point(scenario: &Scenario, point: &Point, how: Steps) -> Result<String, DutError> {
    let scenario = &*point.of(scenario);
    let swept = more_in_words(&point.axes);
    let head = format!("\n# {}, {} connections{swept}, {} core(s)\n", point.dut_name, point.connections, point.cores);
    if let Some(bed) = &scenario.bed {
        let has_network = bed.boxes.iter().all(|(_, keys)| keys.has_network());
        let needs = if has_network { String::new() } else { routes(scenario, bed, point) };
        let links = match how {
            _ if !bed.makes_links() => String::new(),
            Steps::Full => of_links(scenario, bed, point)?,
            Steps::Short => "# natmeter makes the links of the boxes: natmeter plan --steps=full\n".to_owned(),
        };
        return Ok(head + &needs + &links + &of_boxes(scenario, bed, point, how)?);
    }
    if let Some(between) = dns::between(scenario, point) {
        let (orders, programs) = dut::dns::plan(&between)?;
        return Ok(head + &listed(&orders) + &programs.iter().map(|line| program(line)).collect::<String>());
    }
    let Some(bed) = scenario.duts[point.dut].own_bed(scenario) else {
        return Ok(format!("{head}# runs inside natmeter: no commands\n"));
    };
    let server = if scenario.sends_queries() { program(&dut::dns::server_line()) } else { String::new() };
    Ok(head + &of_links(scenario, &bed, point)? + &of_boxes(scenario, &bed, point, how)? + &server)
}

fn program(line: &str) -> String {
    format!("{line:<60}  # in the folder of the bed: a program of it\n")
}

/// The links that natmeter makes, and addresses and routes of its boxes.
fn of_links(scenario: &Scenario, bed: &Bed, point: &Point) -> Result<String, DutError> {
    let mut all = dut::links::plan(ends(bed), &connections(bed), bed.lanes())?;
    for (at, (role, keys)) in bed.boxes.iter().enumerate().filter(|(_, (_, keys))| keys.has_network()) {
        all.extend(network(scenario, bed, point, at));
        all.extend(delivery(scenario, bed, (role, keys)));
    }
    Ok(listed(&all))
}

fn routes(scenario: &Scenario, bed: &Bed, point: &Point) -> String {
    let flows = &scenario.traffic.flows;
    let mut text = String::new();
    let six = scenario.duts[point.dut].technology().and_then(|(_, technology)| technology.networks());
    let tested = match six {
        Some(networks) if flows.networks > 1 => {
            networks.map(|network| (true, format!("{network} and to the next {} of this length", flows.networks - 1)))
        }
        Some(networks) => networks.map(|network| (true, network.to_string())),
        None => tested(scenario, point),
    };
    let native = scenario.native_networks().map(|networks| networks.map(|network| (true, network.to_string())));
    for tested in std::iter::once(tested).chain(native) {
        for ((side, port), (is_ipv6, tested)) in bed.ports().into_iter().zip(tested) {
            let own = port.addresses.iter().map(|(own, _)| own).find(|own| own.is_ipv6() == is_ipv6);
            let through = own.map_or_else(String::new, |own| format!(" through {own}"));
            let _ = writeln!(text, "# the box needs a route on the {side}: to {tested}{through}");
        }
    }
    text
}

/// Sources of the frames that each side sends, and whether they are of IPv6.
fn tested(scenario: &Scenario, point: &Point) -> [(bool, String); 2] {
    // The steps of a technology whose file cannot be read fail later.
    let view = rig::view_of(scenario, Default::default(), point).ok();
    let [left, right] = view.map_or_else(Default::default, |view| [&view.left, &view.right].map(sources6));
    let side = |six: Option<Prefix6>, four| six.map_or((false, four), |six| (true, six.to_string()));
    let [left4, right4] = show_ends(&scenario.traffic.flows);
    [side(left, left4), side(right, right4)]
}

/// The longest prefix that holds all IPv6 sources of these frames.
fn sources6(frames: &Template) -> Option<Prefix6> {
    let (first, differ) = match &frames.layout().ends()?.src {
        Address6::Constant(row) => (*row, 0),
        Address6::BySubscriber(rows) | Address6::ByRemote(_, rows) => {
            let first = *rows.first()?;
            let bits = |row: &Octets16| u128::from_be_bytes(row.0);
            (first, rows.iter().fold(0, |differ, row| differ | (bits(row) ^ bits(&first))))
        }
        Address6::ByOuter(prefix) => (*prefix, u128::from(u32::MAX)),
    };
    let prefix = Prefix6 { addr: u128::from_be_bytes(first.0).into(), len: differ.leading_zeros() as u8 };
    Some(Prefix6 { addr: prefix.first().into(), ..prefix })
}

/// What steps and hooks run on the boxes of a bed at a point.
fn of_boxes(scenario: &Scenario, bed: &Bed, point: &Point, how: Steps) -> Result<String, DutError> {
    let mut text = String::new();
    for (role, keys) in &bed.boxes {
        let config = boxes::config_of(scenario, bed, (role, keys), point, None).map_err(|error| DutError::Refused {
            what: error.to_string(),
            way_out: "correct the table of the technology".to_owned(),
        })?;
        if let Some(software) = &config.software {
            text += &listed(&software.plan()?);
        }
        text.extend(dut::external::plan(&config)?.iter().map(|step| of_box(role, step, how)));
    }
    Ok(text)
}

/// The first lines of a script show the values of the point.
fn of_box(role: &str, step: &Step, how: Steps) -> String {
    let command = step.action.to_string();
    if how == Steps::Full {
        return format!("{command:<60}  # {role}: {}\n", step.why);
    }
    let mut text = format!("# {role}: {}\n", step.why);
    for line in command.lines().take(SHOWN) {
        let is_long = line.chars().count() > COLUMNS;
        let shown = line.chars().take(if is_long { COLUMNS - 1 } else { COLUMNS });
        text.extend(shown.chain(is_long.then_some('…')).chain(['\n']));
    }
    let left = command.lines().count().saturating_sub(SHOWN);
    if left > 0 {
        let _ = writeln!(text, "# … and {left} more lines: natmeter plan --steps=full");
    }
    text
}

fn listed(steps: &[Step]) -> String {
    let line = |step: &Step| format!("{:<60}  # {}: {}\n", step.action.to_string(), target(step.target), step.why);
    steps.iter().map(line).collect()
}

fn target(target: Target) -> &'static str {
    match target {
        Target::Dut => "in the DUT's namespace",
        Target::Tester => "in the tester's namespace",
        Target::Server => "in the server's namespace",
        Target::Machine => "on the whole machine",
    }
}
