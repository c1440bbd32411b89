//! The commands that would set up the kernel devices of a plan at each point.

use crate::rig::place::{connections, delivery, ends, network};
use crate::rig::{boxes, dns};
use clap::ValueEnum;
use dut::{DutError, Step, Target};
use record::plan::Plan;
use scenario::axis::more_in_words;
use scenario::bed::Bed;
use scenario::{Point, Scenario, show_ends};
use std::fmt::Write;

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
            networks.map(|network| format!("{network} and to the next {} of this length", flows.networks - 1))
        }
        Some(networks) => networks.map(|network| network.to_string()),
        None => show_ends(flows),
    };
    let native = scenario.native_networks().map(|networks| (true, networks.map(|network| network.to_string())));
    for (is_ipv6, tested) in [(six.is_some(), tested)].into_iter().chain(native) {
        for ((side, port), tested) in bed.ports().into_iter().zip(tested) {
            let own = port.addresses.iter().map(|(own, _)| own).find(|own| own.is_ipv6() == is_ipv6);
            let through = own.map_or_else(String::new, |own| format!(" through {own}"));
            let _ = writeln!(text, "# the box needs a route on the {side}: to {tested}{through}");
        }
    }
    text
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
