//! `natmeter doctor`: looks at the machine that measures, at the ports of a bed and at its boxes,
//! changes settings that spoil results, and undoes that.

use super::{load, show, usage};
use crate::cli::{Changes, DoctorArgs, Output};
use crate::exit::Exit;
use crate::rig::files;
use crate::term::{self, folded, out};
use dut::doctor::{self, FILES, Finding, Port, Verdict};
use dut::host::{LocalHost, Ssh};
use dut::readings::Readings;
use dut::{DutError, MachineLock, RunDir, journal};
use port::Netns;
use port::interface::LinkFacts;
use scenario::bed::{Bed, BoxKeys, On, PortKeys};
use serde_json::json;
use std::fmt::Write as _;
use std::path::Path;

/// A scenario that carries the bed.
const ANY: &str = "name = \"doctor\"\n[dut.external]\n[measure]\nmetrics = \"throughput\"\n";

pub(super) fn doctor(args: &DoctorArgs, output: Output) -> Result<Exit, Exit> {
    let changes = args.fix || args.undo;
    if changes && !rustix::process::geteuid().is_root() {
        let option = if args.fix { "--fix" } else { "--undo" };
        let why = "changes settings of this machine, which only root may: run natmeter with sudo";
        return Err(usage(format_args!("{option} {why}")));
    }
    let failed = |error: DutError| super::failed(error);
    // A measurement at the same time would be disturbed.
    let _lock = changes.then(MachineLock::take).transpose().map_err(failed)?;
    let dir = RunDir::of_this_user();
    let loaded = args.bed.as_ref().map(|bed| {
        let changes = Changes { bed: Some(bed.clone()), ..Changes::default() };
        load::given("any frames", ANY, &changes, output)
    });
    let loaded = loaded.transpose()?;
    let bed = loaded.as_ref().and_then(|loaded| loaded.scenario.bed.as_ref());
    if args.undo {
        return undo(&dir, bed, output);
    }
    let mut findings = of_this_machine(bed);
    let mut refused = false;
    if args.fix {
        let changed = doctor::fix(&dir, None, &mut LocalHost::new(), &findings).map_err(failed)?;
        for changed in &changed {
            say_changed(&changed.to_string(), output);
        }
        refused = changed.iter().any(|changed| changed.refused.is_some());
        findings = of_this_machine(bed);
    }
    for (role, keys) in bed.iter().flat_map(|bed| others(bed)) {
        let bed = bed.expect("it has boxes");
        let mut of_box = look(bed, role, keys);
        let is_to_change = of_box.iter().any(|finding| !finding.settings.is_empty());
        if args.fix && is_to_change {
            let mut ssh = reached(bed, keys).map_err(failed)?.with_settings();
            let changed = doctor::fix(&dir, Some(&ssh.identity()), &mut ssh, &of_box).map_err(failed)?;
            for changed in &changed {
                say_changed(&format!("box {role}: {changed}"), output);
            }
            refused |= changed.iter().any(|changed| changed.refused.is_some());
            of_box = look(bed, role, keys);
        }
        findings.extend(of_box);
    }
    say(&findings, output);
    let is_bad = findings.iter().any(|finding| finding.verdict == Verdict::Bad);
    Ok(if is_bad || refused { Exit::Failed } else { Exit::Done })
}

fn of_this_machine(bed: Option<&Bed>) -> Vec<Finding> {
    let readings = Readings::below(Path::new("/"), FILES);
    let mut findings = doctor::tester(&readings);
    findings.extend(doctor::limits(Path::new("/")));
    // natmeter makes the other ports itself.
    for (side, keys) in bed.filter(|bed| !bed.makes_links()).iter().flat_map(|bed| bed.ports()) {
        findings.extend(of_port(&readings, side, keys));
    }
    findings
}

fn of_port(readings: &Readings, side: &'static str, keys: &PortKeys) -> Vec<Finding> {
    let facts = Netns::current().and_then(|here| LinkFacts::of(&here, &keys.interface));
    match facts {
        Ok(facts) => {
            let queues = (keys.queues, keys.io.is_xdp());
            doctor::port(readings, &Port::of(side, facts, queues, &mut LocalHost::new()))
        }
        Err(error) => {
            let why = "Test frames need this interface.";
            vec![unreadable(format!("{side} port {}", keys.interface), error.to_string(), why)]
        }
    }
}

/// Undoes changes of this machine and of a bed's boxes.
fn undo(dir: &RunDir, bed: Option<&Bed>, output: Output) -> Result<Exit, Exit> {
    let undone = journal::undo_kept(dir, None, &mut LocalHost::new()).map_err(super::failed)?;
    let mut lines: Vec<String> = undone.iter().map(ToString::to_string).collect();
    for (role, keys) in bed.iter().flat_map(|bed| others(bed)) {
        let mut ssh = reached(bed.expect("it has boxes"), keys).map_err(super::failed)?.with_settings();
        let undone = journal::undo_kept(dir, Some(&ssh.identity()), &mut ssh).map_err(super::failed)?;
        lines.extend(undone.iter().map(|restored| format!("box {role}: {restored}")));
    }
    let left = journal::kept_elsewhere(dir);
    if lines.is_empty() && left.is_empty() {
        lines.push("nothing to undo: `natmeter doctor --fix` has changed nothing".to_owned());
    }
    let way_out = "`natmeter doctor --undo --bed FILE` restores it";
    lines.extend(left.iter().map(|to| format!("box ssh:{to} still has changed settings: {way_out}")));
    for line in &lines {
        say_changed(line, output);
    }
    Ok(Exit::Done)
}

fn others(bed: &Bed) -> impl Iterator<Item = (&str, &BoxKeys)> {
    bed.boxes.iter().filter(|(_, keys)| matches!(keys.on, On::Ssh(_))).map(|(role, keys)| (*role, keys))
}

fn reached(bed: &Bed, keys: &BoxKeys) -> Result<Ssh, DutError> {
    let to = if let On::Ssh(to) = &keys.on { to } else { "" };
    Ok(Ssh::to(to, &RunDir::of_this_user())?.with_config(files::ssh_config(bed, keys)))
}

fn look(bed: &Bed, role: &str, keys: &BoxKeys) -> Vec<Finding> {
    let ssh = reached(bed, keys).map_err(|error| error.to_string());
    let findings = ssh.and_then(|mut ssh| doctor::of_box(role, &mut ssh).map_err(|error| error.to_string()));
    let why = "natmeter reaches the box over ssh, for its hooks.";
    findings.unwrap_or_else(|error| vec![unreadable(format!("box {role}"), error, why)])
}

fn unreadable(at: String, error: String, why: &'static str) -> Finding {
    let mend = vec!["correct the bed file".to_owned()];
    let verdict = Verdict::Bad;
    Finding { at, name: "cannot be read", value: error, verdict, why, mend, at_boot: false, settings: Vec::new() }
}

fn say_changed(line: &str, output: Output) {
    let event = json!({ "event": "doctor-changed", "words": line });
    show(output, &event, || format!("{}\n", folded(line, term::columns())));
}

fn say(findings: &[Finding], output: Output) {
    if output.json {
        for finding in findings {
            let mut document = json!(finding);
            document["event"] = json!("doctor-finding");
            term::json(&document);
        }
        return;
    }
    let mut at = "";
    for finding in findings.iter().filter(|finding| !output.quiet || finding.verdict != Verdict::Ok) {
        if finding.at != at {
            at = &finding.at;
            out(&format!("{at}\n"));
        }
        out(&in_lines(finding, term::columns()));
    }
    out(&format!("{}\n", folded(&summary(findings), term::columns())));
}

const INDENTATION: &str = "        ";

/// Commands are not folded, so that they can be copied.
fn in_lines(finding: &Finding, columns: usize) -> String {
    let head = format!("  {:<5} {:<27} ", finding.verdict.word(), finding.name);
    let mut text = format!("{}\n", term::below_head(&head, &finding.value, columns).trim_end());
    if !finding.why.is_empty() {
        let _ = writeln!(text, "{}", term::below_head(INDENTATION, finding.why, columns));
    }
    for mend in &finding.mend {
        let when = if finding.at_boot { "kernel command line: " } else { "" };
        let _ = writeln!(text, "{INDENTATION}> {when}{mend}");
    }
    text
}

fn summary(findings: &[Finding]) -> String {
    let count = |verdict| findings.iter().filter(|finding| finding.verdict == verdict).count();
    let mut text =
        format!("{} bad, {} to look at, {} ok.", count(Verdict::Bad), count(Verdict::Look), count(Verdict::Ok));
    let settings: usize = findings.iter().map(|finding| finding.settings.len()).sum();
    if settings > 0 {
        let plural = if settings == 1 { "" } else { "s" };
        let _ =
            write!(text, " `natmeter doctor --fix` changes {settings} setting{plural} until `natmeter doctor --undo`.");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_fits_eighty_columns() {
        let finding = Finding {
            at: "tester".to_owned(),
            name: "connections per hash bucket",
            value: "4.0 if the table is full: 262144 in 65536".to_owned(),
            verdict: Verdict::Look,
            why: "Long chains lower every rate of connection tracking. natmeter sets this for its own kernel devices.",
            mend: vec!["echo 262144 > /proc/sys/net/netfilter/nf_conntrack_buckets".to_owned()],
            at_boot: false,
            settings: Vec::new(),
        };
        let text = in_lines(&finding, 80);
        let expected = "  look  connections per hash bucket 4.0 if the table is full: 262144 in 65536
        Long chains lower every rate of connection tracking. natmeter sets this
        for its own kernel devices.
        > echo 262144 > /proc/sys/net/netfilter/nf_conntrack_buckets\n";
        assert_eq!(text, expected);
        assert!(text.lines().all(|line| line.len() <= 80));
        assert_eq!(summary(&[finding]), "0 bad, 1 to look at, 0 ok.");
    }
}
