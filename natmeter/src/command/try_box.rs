//! `natmeter try-box`: measures a router that natmeter makes in a namespace, and explains each step of measuring a box of one's own.

use super::load::{load, planned};
use super::turn::MyTurn;
use super::{fail, failed, privilege, show};
use crate::bed::check;
use crate::bed::frames::Grade;
use crate::cli::{Changes, Output, Turn};
use crate::console::{line_of, plain};
use crate::event::Event;
use crate::exit::Exit;
use crate::rig::RunContext;
use crate::run::Run;
use crate::term::{self, below_head};
use crate::{build_info, facts};
use record::doubt::Doubt;
use record::folder::Header;
use record::plan::Plan;
use record::report::Report;
use record::store::date::rfc3339;
use record::store::{Dir, PAGE, RunFolder};
use scenario::LoadedScenario;
use serde_json::json;
use std::path::Path;
use std::time::SystemTime;

const BED: (&str, &str) = ("bed.toml", include_str!("../try_box/bed.toml"));
const SCENARIO: (&str, &str) = ("nat44.toml", include_str!("../try_box/nat44.toml"));

pub(super) fn try_box(folder: &Path, turn: Turn, output: Output) -> Result<Exit, Exit> {
    let say = |step: &str, words: &str| {
        let event = json!({ "event": "box-tried", "step": step, "words": words });
        show(output, &event, || format!("{}\n", below_head(&format!("{step:<10}"), words, term::columns())));
    };
    let [bed, file] = [BED, SCENARIO].map(|known| written(folder, known));
    let (bed, file, runs) = (bed?, file?, folder.join("runs"));
    let changes = Changes { bed: Some(folder.join(BED.0)), ..Changes::default() };
    let loaded = load(Some(&folder.join(SCENARIO.0)), &changes, output)?;
    let plan = planned(&loaded.scenario, output)?;
    let mut turn = MyTurn::at_ports(turn, &loaded.scenario)?;
    privilege(&loaded.scenario, &plan, &mut turn)?;
    let process = turn.process()?;
    say("router", "a namespace with two links, where nftables translates; its commands:");
    say("", &format!("natmeter plan {file} --bed {bed} --steps"));
    say("bed file", &format!("{bed}: the tester's two ports, and the box between them"));
    say("scenario", &format!("{file}: what the box does, and what to measure"));
    say("check", &format!("natmeter bed check {bed} {file}"));
    if !is_checked(&loaded, &process, |words| say("", words)) {
        return Err(Exit::Failed);
    }
    say("run", &format!("natmeter run {file} --bed {bed}"));
    let page = measured(loaded, plan, (&runs, &process), |words| say("", words))?;
    say("", "Short measurements show the steps, not what this kernel can do.");
    say("report", &page);
    say("clean", &format!("nothing: the router ended with natmeter; all files are in {}", folder.display()));
    say("your box", "cable two ports of this machine to it, then (docs/test-bed.md):");
    for command in ["bed init", "bed check bed.toml", "run kernel-nat44 --bed bed.toml"] {
        say("", &format!("natmeter {command}"));
    }
    Ok(Exit::Done)
}

/// The path of a file in the folder, which is written if it is missing.
fn written(folder: &Path, (name, text): (&str, &str)) -> Result<String, Exit> {
    let path = folder.join(name);
    let is_there = path.exists() || std::fs::create_dir_all(folder).and_then(|()| std::fs::write(&path, text)).is_ok();
    let shown = path.display().to_string();
    if is_there { Ok(shown) } else { Err(failed(format_args!("{shown} cannot be written: name another folder"))) }
}

/// Says what the frames showed, and what failed. Returns whether a run can begin.
fn is_checked(loaded: &LoadedScenario, process: &RunContext, say: impl Fn(&str)) -> bool {
    let bed = loaded.scenario.bed.as_ref().expect("a bed was given");
    check::check(&loaded.scenario, (BED.0, bed), process, &mut |line: check::CheckLine| {
        let is_shown = ["connections", "frames both ways"].contains(&line.name.as_str());
        if is_shown || line.grade == Grade::Bad {
            say(&format!("{} {}", line.grade.word(), line.words));
        }
    })
}

/// Measures, says the results, and returns the path of the report.
fn measured(
    loaded: LoadedScenario,
    plan: Plan,
    (runs, process): (&Path, &RunContext),
    say: impl Fn(&str),
) -> Result<String, Exit> {
    let now = SystemTime::now();
    let header =
        Header { commit: build_info::commit(), ..Header::new(rfc3339(now), loaded.scenario, loaded.options, plan) };
    let folder = RunFolder::create(runs, &header.scenario.name, now, &loaded.text, &header).map_err(fail)?;
    let path = folder.path().to_path_buf();
    let mut facts = facts::of_this_machine();
    facts.doubts.push(Doubt::SelfTestSkipped);
    let outcomes = Run::open(&header, folder, process.clone(), &mut ()).and_then(|run| run.complete(facts, None));
    for outcome in outcomes.map_err(fail)? {
        let line = plain(&line_of(&Event::MeasurementDone(Box::new(outcome))).unwrap_or_default());
        let (result, _trials) = line.rsplit_once("  ").unwrap_or((&line, ""));
        say(result.trim().trim_start_matches("1 "));
    }
    let report = Report::from_folder(&path, tech::ALL).map_err(failed)?;
    let folder = Dir::open(&path).map_err(failed)?;
    folder.replace(PAGE, &report.render("html").map_err(failed)?).map_err(failed)?;
    Ok(folder.path_of(PAGE).display().to_string())
}
