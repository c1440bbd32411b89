//! `natmeter selftest`: does the instrument find what was injected?

use super::{machine_lock, process};
use crate::cli::{Global, err, out};
use crate::console::Console;
use crate::exit::Exit;
use crate::folder::{SelfTest, SelfTestCheck};
use crate::{priority, selftest};

/// `natmeter selftest`.
pub fn selftest(global: &Global) -> Exit {
    let (_lock, beside) = match machine_lock(global) {
        Ok(lock) => lock,
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
    // What is going on goes to stderr, and only to a terminal: stdout is the verdict's.
    let mut console = Console::new(global.quiet);
    let verdict = selftest::thorough(&process, &mut console);
    drop(console);
    let Some(verdict) = verdict else {
        err("error: interrupted; there is no verdict\n");
        return Exit::Interrupted;
    };
    if global.json {
        out(&format!("{}\n", serde_json::to_string(&verdict).unwrap_or_default()));
    } else {
        out(&text(&verdict));
    }
    exit(&verdict)
}

/// A fault of the tester is a failure. A host that is too busy to say is no fault, but nothing was shown either.
fn exit(verdict: &SelfTest) -> Exit {
    match (verdict.passed, verdict.named("inconclusive").is_empty()) {
        (true, true) => Exit::Done,
        (true, false) => Exit::TesterLimit,
        (false, _) => Exit::Failed,
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_host_left_open_is_neither_done_nor_failed() {
        let check = |passed, inconclusive| SelfTestCheck { passed, inconclusive, ..SelfTestCheck::default() };
        let end = |checks: Vec<SelfTestCheck>| {
            exit(&SelfTest { passed: checks.iter().all(|c| c.passed || c.inconclusive), checks })
        };
        assert_eq!(end(vec![check(true, false)]), Exit::Done);
        assert_eq!(end(vec![check(true, false), check(false, true)]), Exit::TesterLimit);
        assert_eq!(end(vec![check(false, true), check(false, false)]), Exit::Failed);
    }
}
