//! The conditions of a run: its command line, traffic and trials, the tester's limits, what the judge counted, the self-test,
//! facts of machines; and the commands that were run on devices.

use super::{Page, e, heading};
use crate::printable::in_shell;
use crate::report::{Report, facts, number};
use document::html::{self, pairs};
use document::{Pairs, Table, row};
use std::fmt::Write;

/// Writes the conditions.
pub(super) fn write(out: &mut String, page: &Page<'_>) {
    let report = page.report;
    pairs(out, &Pairs::new("This run", HEADS, of_run(report)));
    pairs(out, &Pairs { title: "Traffic and trials".to_owned(), ..facts::conditions(report) });
    pairs(out, &facts::limits(report));
    if report.judged.trials > 0 {
        heading(out, "Judge");
        html::paragraph(out, "", &facts::judged_in_words(&report.judged));
    }
    self_test(out, report);
    out.push_str("<div class=\"facts\">\n");
    pairs(out, &Pairs::new("Facts of the tester", HEADS, report.facts.tester.clone()));
    for (name, facts) in &report.facts.duts {
        pairs(out, &Pairs::new(format!("Facts of the device {name}"), HEADS, facts.clone()));
    }
    out.push_str("</div>\n");
}

/// What the pairs of the page are.
const HEADS: [&str; 2] = ["fact", "value"];

/// Command line, build and test bed.
fn of_run(report: &Report) -> Vec<(&'static str, String)> {
    let header = &report.header;
    let mut pairs = vec![("Command line", format!("`{}`", command_line(report)))];
    let build = report.facts.build().map_or_else(String::new, |build| format!("; {build}"));
    pairs.push(("natmeter", format!("{}{build}", header.version)));
    pairs.push(("Started", header.started.clone()));
    let bed = header.options.bed.as_ref().map_or_else(String::new, |bed| format!("; file `{}`", bed.name));
    pairs.push(("Test bed", format!("{}{bed}", report.conformance.test_bed_in_words())));
    let rules = header.rules.map_or_else(|| "not recorded".to_owned(), |rules| rules.to_string());
    pairs.push(("Versions", format!("run folder {}, rules {rules}", header.record)));
    pairs
}

/// The command that starts such a run again from the files of the page. The folder does not record options that change nothing
/// in the scenario.
fn command_line(report: &Report) -> String {
    let options = &report.header.options;
    let mut words = vec!["natmeter".to_owned(), "run".to_owned(), format!("{}.toml", report.header.scenario.name)];
    words.extend(options.full.then(|| "--full".to_owned()));
    words.extend(options.bed.iter().flat_map(|bed| ["--bed".to_owned(), bed.name.clone()]));
    words.extend(options.set.iter().flat_map(|set| ["--set".to_owned(), set.clone()]));
    words.iter().map(|word| in_shell(word)).collect::<Vec<_>>().join(" ")
}

fn self_test(out: &mut String, report: &Report) {
    let Some(test) = &report.self_test else { return };
    let (class, verdict) = match (test.passed, test.named("inconclusive").is_empty()) {
        (true, true) => ("badge ok", "passed"),
        (true, false) => ("badge", "inconclusive"),
        (false, _) => ("badge", "failed"),
    };
    let _ = writeln!(out, "<h3>Self-test against known truth</h3>\n<p><span class=\"{class}\">{verdict}</span></p>");
    let rows = test.checks.iter().map(|check| {
        let error = check.error.as_deref().unwrap_or_default();
        row(&check.name, [check.truth.as_str(), &check.measured, error, check.verdict()])
    });
    html::simple(out, &Table::new("self-test", "check", ["injected", "measured", "error", "verdict"]).rows(rows));
}

/// Writes the commands that were run on the devices.
pub(super) fn commands(out: &mut String, page: &Page<'_>) {
    let report = page.report;
    if report.commands.is_empty() {
        return;
    }
    let count = number::plural(report.commands.len() as u64, "command");
    // Paper cannot open the list, and its length is no help there.
    let _ = writeln!(
        out,
        "<p class=\"paper\">{count} run on the devices: <code>commands.jsonl</code> in the run folder has them with their \
         output.</p>\n<details class=\"screen\">\n<summary>{count} run on the devices</summary>"
    );
    for c in &report.commands {
        let status = match c.status {
            Some(0) => String::new(),
            Some(n) => format!(" · status {n}"),
            None => " · no exit status".to_owned(),
        };
        let _ = writeln!(
            out,
            "<p class=\"meta\">{} · {} · {}{status}</p>\n<pre tabindex=\"0\"><code>{}</code></pre>",
            e(&c.at),
            e(&c.dut),
            e(&c.why),
            e(&[c.command.trim_end(), c.output.trim_end()].join("\n")).trim_end()
        );
    }
    out.push_str("</details>\n");
}
