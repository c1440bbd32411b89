//! `natmeter bed`: the file of a test bed, and its check before a run.

use super::turn::MyTurn;
use super::{failed, load, privilege, show};
use crate::bed::{check, init, siitperf};
use crate::cli::{BedCommand, Changes, Output, Turn};
use crate::exit::Exit;
use crate::rig::{RunContext, machine};
use crate::run;
use crate::term::{self, err_lines, folded, out};
use record::plan::Plan;
use record::report::number::grouped;
use record::store::date::rfc3339;
use scenario::LoadedScenario;
use scenario::bed::T0;
use serde_json::json;
use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;
use std::time::SystemTime;

pub(super) fn bed(command: &BedCommand, output: Output) -> Result<Exit, Exit> {
    match command {
        BedCommand::Init { file, on } => init(file, on.as_deref()),
        BedCommand::T0 { file, changes, turn } => t0(file, changes, *turn, output),
        BedCommand::Import { conf, file } => import(conf, file),
        BedCommand::Check { file, scenario, changes, turn } => check(file, scenario.as_deref(), changes, *turn, output),
    }
}

fn init(file: &Path, on: Option<&str>) -> Result<Exit, Exit> {
    let all = machine::interfaces().map_err(failed)?;
    let place = init::Place::of(&all, on).map_err(failed)?;
    create(file, &init::text(&all, &place))?;
    let ports: Vec<&str> = init::ports(&all).iter().map(|found| found.name.as_str()).collect();
    let file = file.display();
    out(&match ports[..] {
        [left, right] => {
            format!("{file}: left is {left}, right is {right}. Correct the file, then: natmeter bed check {file}\n")
        }
        _ => format!("{file}: write the names of two interfaces in place of NAME, then: natmeter bed check {file}\n"),
    });
    if !place.clears() {
        err_lines(&format!(
            "note: nothing in {file} empties the box's table between trials: write `clear` into [dut], or name the box: \
             `natmeter bed init FILE --on ssh:root@HOST` finds what empties it"
        ));
    }
    Ok(Exit::Done)
}

fn import(conf: &Path, file: &Path) -> Result<Exit, Exit> {
    let shown = conf.display();
    let text =
        std::fs::read_to_string(conf).map_err(|error| failed(format_args!("{shown} cannot be read: {error}")))?;
    let imported = siitperf::import(&text, &machine::interfaces().unwrap_or_default())
        .map_err(|why| failed(format_args!("{shown}: {why}")))?;
    create(file, &imported.bed)?;
    let set: Vec<String> = imported.scenario.iter().map(|set| format!(" --set {set}")).collect();
    let file = file.display();
    let mut text = format!("{file} is written. Then: natmeter bed check {file}\n");
    let _ = writeln!(text, "A run with the same traffic: natmeter run SCENARIO --bed {file}{}", set.concat());
    imported.notes.iter().for_each(|note| text.extend(["- ", note, "\n"]));
    out(&format!("{}\n", folded(&text, term::columns())));
    Ok(Exit::Done)
}

/// Writes a new file, or returns the exit code after printing the error.
fn create(file: &Path, text: &str) -> Result<(), Exit> {
    let new = OpenOptions::new().write(true).create_new(true).open(file);
    let written = new.and_then(|mut to| to.write_all(text.as_bytes()));
    written.map_err(|error| failed(format_args!("{} cannot be written: {error}; name another file", file.display())))
}

/// Checks a bed without a scenario.
const NAT44: &str = "name = \"bed-check\"\n[dut.external]\n[technology.nat44]\nmapping = \"address-and-port-dependent\"\n\
    udp-timeout = \"120 s\"\n[sweep]\nconnections = \"1k\"\n";

fn check(file: &Path, scenario: Option<&Path>, changes: &Changes, turn: Turn, output: Output) -> Result<Exit, Exit> {
    let changes = Changes { bed: Some(file.to_path_buf()), ..changes.clone() };
    let loaded = match scenario {
        Some(path) => load::load(Some(path), &changes, output),
        None => load::given("frames of a stateful NAT44", NAT44, &changes, output),
    }?;
    let mut turn = MyTurn::at_ports(turn, &loaded.scenario)?;
    privilege(&loaded.scenario, &Plan::new(&loaded.scenario), &mut turn)?;
    let process = turn.process()?;
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    Ok(carry_out(&loaded, &name, scenario.is_none(), &process, output))
}

const CABLE: &str = "name = \"t0\"\n[dut.external]\n[measure]\nmetrics = \"throughput\"\n";

/// Appended to the file beside the bed file.
fn t0(file: &Path, changes: &Changes, turn: Turn, output: Output) -> Result<Exit, Exit> {
    let changes = Changes { bed: Some(file.to_path_buf()), ..changes.clone() };
    let loaded = load::given("frames of a cable", CABLE, &changes, output)?;
    let mut turn = MyTurn::at_ports(turn, &loaded.scenario)?;
    let process = turn.process()?;
    let scenario = &loaded.scenario;
    let bed = scenario.bed.as_ref().expect("the option --bed was given");
    let point = &Plan::new(scenario).measurements[0].point;
    let [frames, sent] = run::over_ports(scenario, bed, point, &process)
        .map_err(|error| failed(format_args!("{error}; is left cabled to right?")))?;
    let t0 = T0 {
        date: rfc3339(SystemTime::now()),
        natmeter: env!("CARGO_PKG_VERSION").to_owned(),
        ports: bed.ports().map(|(_, port)| port.settings()),
        frame_size: scenario.traffic.frame_size,
        frame_sizes: scenario.traffic.frame_sizes.as_ref().map(ToString::to_string),
        foreground_ppm: scenario.traffic.mixed_foreground(),
        frames: frames.0,
        sent: sent.0,
    };
    // The target of a link, which runs read.
    let path = scenario::bed::t0_file(&file.canonicalize().unwrap_or_else(|_| file.to_path_buf()));
    let all: Vec<&T0> = bed.t0.iter().chain([&t0]).collect();
    let text = serde_json::to_string_pretty(&all).expect("names and numbers");
    record::store::write_whole(&path, &text).map_err(failed)?;
    out(&format!(
        "T0 of frames of {} octets: {} frames/s per direction arrive, {} are sent; kept in {}.\nCable the box in again.\n",
        scenario.frame_sizes_in_words(),
        grouped(frames.0),
        grouped(sent.0),
        path.display()
    ));
    Ok(Exit::Done)
}

fn carry_out(loaded: &LoadedScenario, file: &str, is_nat44: bool, process: &RunContext, output: Output) -> Exit {
    let bed = loaded.scenario.bed.as_ref().expect("the option --bed was given");
    let say = |line: check::CheckLine| {
        let check::CheckLine { name, grade, words } = line;
        let event = json!({ "event": "bed-checked", "name": name, "grade": grade.word(), "words": words });
        show(output, &event, || {
            let head = format!("{:<7}  {name:<18} ", grade.word());
            format!("{}\n", term::below_head(&head, &words, term::columns()))
        });
    };
    if is_nat44 && !output.json && !output.quiet {
        out("Frames are those of a stateful NAT44; name a scenario to check another technology.\n");
    }
    let good = check::check(&loaded.scenario, (file, bed), process, &mut { say });
    if good { Exit::Done } else { Exit::Failed }
}
