//! `natmeter selftest`: does the instrument find what was injected?

use super::{process, turn};
use crate::cli::{Global, err, out};
use crate::exit::Exit;
use crate::folder::{SelfTest, SelfTestCheck};
use crate::{priority, selftest};

/// `natmeter selftest`.
pub fn selftest(global: &Global) -> Exit {
    let (_turn, beside) = match turn(global) {
        Ok(turn) => turn,
        Err(exit) => return exit,
    };
    if let Some(beside) = beside {
        err(&format!("{beside}\n"));
    }
    let process = match process() {
        Ok(process) => process,
        Err(error) => {
            err(&format!("error: handling signals: {error}\n"));
            return Exit::Failed;
        }
    };
    let _raised = priority::raise();
    let Some(verdict) = selftest::thorough(&process) else {
        err("error: interrupted; there is no verdict\n");
        return Exit::Interrupted;
    };
    if global.json {
        out(&format!("{}\n", serde_json::to_string(&verdict).unwrap_or_default()));
    } else {
        out(&text(&verdict));
    }
    if verdict.passed { Exit::Done } else { Exit::Failed }
}

fn text(verdict: &SelfTest) -> String {
    let width = verdict.checks.iter().map(|c| c.name.chars().count()).max().unwrap_or(0);
    let line = |c: &SelfTestCheck| {
        let mark = match (c.passed, c.inconclusive) {
            (true, _) => "ok  ",
            (false, true) => "?   ",
            (false, false) => "FAIL",
        };
        format!("{mark} {:<width$}  truth {}; measured {}\n", c.name, c.truth, c.measured)
    };
    let lines: String = verdict.checks.iter().map(line).collect();
    let open = verdict.checks.iter().filter(|c| c.inconclusive).count();
    let summary = match (verdict.passed, open) {
        (true, 0) => "every injected truth was recovered".to_owned(),
        (true, n) => format!("{n} inconclusive, because the host is too busy; all others were recovered"),
        (false, _) => "the tester cannot be trusted here".to_owned(),
    };
    format!("{lines}{summary}\n")
}
