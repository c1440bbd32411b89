//! The gallery of faults: the check of a bed must name each fault that a device has, and accuse nothing else.

use super::SelfTestRecord;
use crate::bed::causes::Around;
use crate::bed::frames;
use crate::event::{Event, Listener};
use crate::rig::{Rig, RunContext};
use gateway::{FAULTS, KnownFault};
use record::folder::{SelfTest, SelfTestCheck};
use std::fmt::Write;
use std::sync::atomic::Ordering;

/// What natmeter must not say of a device that only has this fault.
const WRONG: [&str; 2] = [": left and right are swapped", "does not answer"];
const BUSY: &str = "too busy";
/// Tries on a busy machine.
const TRIES: u32 = 3;

/// Checks that each fault is named. `None` if it was interrupted.
pub fn faults(process: &RunContext, listener: &mut dyn Listener) -> Option<SelfTestRecord> {
    let mut checks = Vec::new();
    for (fault, number) in FAULTS.iter().zip(1..) {
        let check = check_of(fault, process);
        if process.interrupted.load(Ordering::Relaxed) {
            return None;
        }
        listener.on(&Event::SelfTesting { number, of: FAULTS.len(), check: check.clone() });
        checks.push(check);
    }
    let passed = checks.iter().all(|check| check.passed || check.inconclusive);
    Some(SelfTest { passed, checks }.into())
}

fn check_of(fault: &KnownFault, process: &RunContext) -> SelfTestCheck {
    let truth = format!("\"{}\"", fault.prints);
    let text = format!(
        "name = \"fault\"\n{}\nfault = \"{}\"\n[traffic]\nframe-size = 128\n[sweep]\nconnections = 4000\n[measure]\nmetrics = [\"throughput\"]\n",
        fault.device, fault.name
    );
    let mut check = SelfTestCheck { name: fault.name.to_owned(), truth, ..SelfTestCheck::default() };
    for _ in 0..TRIES {
        let words = said(&text, process).unwrap_or_else(|error| error);
        let is_busy = words.contains(BUSY);
        check.passed = words.contains(fault.prints) && !is_busy && !WRONG.iter().any(|wrong| words.contains(wrong));
        check.inconclusive = !check.passed && is_busy;
        check.measured = words;
        if !check.inconclusive {
            break;
        }
    }
    check
}

/// What the check of a bed says of the device of a scenario.
///
/// # Errors
/// A wrong scenario, or a device that cannot be made.
pub fn said(text: &str, process: &RunContext) -> Result<String, String> {
    let quick = ["phase1-rate=40k", "start-delay=5 ms", "drain=30 ms", "settle=0 s", "phase1-drain=30 ms"];
    let set = quick.map(|key| format!("measure.{key}")).to_vec();
    let options = scenario::Options { set, ..scenario::Options::default() };
    let loaded = scenario::parse("gallery.toml", text, &options, tech::ALL).map_err(|e| e.to_string())?;
    let scenario = loaded.scenario;
    let point = scenario.points().next().ok_or("the scenario has no point")?;
    let mut rig = Rig::build(&scenario, &point, process).map_err(|e| e.to_string())?;
    let (versions, frame, ttl) = ([4; 2], scenario.widest_frame(), scenario.traffic.ttl);
    let around = Around { file: "bed.toml", bed: None, versions, frame, ttl, ..Around::default() };
    let mut all = Vec::new();
    for (name, spec) in frames::trials(point.connections, None) {
        let (grade, words) = frames::judged(&spec, &frames::tried(&mut rig, &spec), &around);
        all.push(format!("{name}: {words}"));
        if grade == frames::Grade::Bad {
            break;
        }
    }
    rig.teardown();
    Ok(all.join("; "))
}

/// The gallery as a table of Markdown.
pub fn page() -> String {
    let mut page = "| kind | fault | what the device does | how a real gateway got it | what natmeter prints |\n| --- | --- | --- | --- | --- |\n".to_owned();
    for fault in FAULTS {
        let KnownFault { name, kind, does, origin, prints, .. } = fault;
        let _ = writeln!(page, "| {kind} | `{name}` | {does} | {origin} | “{prints}” |");
    }
    page
}

#[cfg(test)]
mod tests {
    #[test]
    fn scenarios_know_the_names_of_all_faults() {
        assert!(gateway::FAULTS.iter().map(|fault| fault.name).eq(scenario::fault_names()));
    }
}
