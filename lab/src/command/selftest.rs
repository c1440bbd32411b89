//! `natmeter selftest`: does the instrument find what was injected?

use super::process;
use crate::cli::{Global, err, out};
use crate::exit::Exit;
use crate::folder::SelfTest;
use crate::{priority, selftest};

/// `natmeter selftest`.
pub fn selftest(global: &Global) -> Exit {
    let process = match process() {
        Ok(process) => process,
        Err(error) => {
            err(&format!("error: handling signals: {error}\n"));
            return Exit::Failed;
        }
    };
    let _raised = priority::raise();
    let verdict = selftest::thorough(&process);
    if global.json {
        out(&format!("{}\n", serde_json::to_string(&verdict).unwrap_or_default()));
    } else {
        out(&text(&verdict));
    }
    if verdict.passed { Exit::Done } else { Exit::Failed }
}

fn text(verdict: &SelfTest) -> String {
    let width = verdict.checks.iter().map(|c| c.name.chars().count()).max().unwrap_or(0);
    let mut text = String::new();
    for c in &verdict.checks {
        let mark = match (c.passed, c.inconclusive) {
            (true, _) => "ok  ",
            (false, true) => "?   ",
            (false, false) => "FAIL",
        };
        text += &format!("{mark} {:<width$}  truth {}; measured {}\n", c.name, c.truth, c.measured);
    }
    let summary =
        if verdict.passed { "every injected truth was recovered" } else { "the tester cannot be trusted here" };
    text + &summary + "\n"
}
