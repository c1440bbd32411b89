//! `natmeter selftest`: tests the tester on devices with known truth.

use super::turn::MyTurn;
use super::{failed, show};
use crate::cli::{Output, SelftestArgs};
use crate::console::Console;
use crate::exit::Exit;
use crate::selftest::{self, SelfTestRecord};
use crate::term::err;
use gateway::KnownFault;
use record::folder::{SelfTest, SelfTestCheck};
use record::store::Dir;
use std::fmt::Write;
use std::path::Path;

pub(super) fn selftest(args: &SelftestArgs, output: Output) -> Result<Exit, Exit> {
    let mut turn = MyTurn::take(args.turn)?;
    if let Some(beside) = &turn.beside {
        err(&format!("{beside}\n"));
    }
    let process = turn.process()?;
    // Progress goes to a terminal on stderr; stdout has the verdict only.
    let mut console = Console::new(output);
    let tested = match args {
        SelftestArgs { faults: true, .. } => selftest::faults(&process, &mut console),
        SelftestArgs { quick: true, .. } => selftest::quick(&process, &mut console),
        _ => selftest::thorough(&process, &mut console),
    };
    drop(console);
    let Some(tested) = tested else {
        err("error: interrupted: the self-test has no verdict\n");
        return Err(Exit::Interrupted);
    };
    if let Some(folder) = &args.keep {
        keep(&tested, folder)?;
    }
    let verdict = tested.verdict;
    show(output, &verdict, || if args.faults { by_kind(&verdict) } else { text(&verdict) });
    Ok(exit(&verdict))
}

fn keep(tested: &SelfTestRecord, folder: &Path) -> Result<(), Exit> {
    let made = std::fs::create_dir_all(folder);
    let kept = || Dir::open(folder).and_then(|folder| tested.keep(&folder));
    let kept = made.map_err(|e| e.to_string()).and_then(|()| kept().map_err(|e| e.to_string()));
    kept.map_err(|error| failed(format_args!("the self-test cannot be written to {}: {error}", folder.display())))
}

/// The trial that contradicts the truth; one fact a line, indented by `margin`.
pub(super) fn deciding(check: &SelfTestCheck, margin: &str) -> String {
    let mut told = String::new();
    for line in check.deciding.iter().flat_map(|trial| selftest::in_words(trial)) {
        told.extend([margin, &line, "\n"]);
    }
    told
}

/// A fault of the tester fails the self-test. A host that is too busy makes it inconclusive.
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
        let error = c.error.as_ref().map(|error| format!("; error {error}")).unwrap_or_default();
        format!(
            "{mark} {:<width$}  truth {}; measured {}{error}\n{}",
            c.name,
            c.truth,
            c.measured,
            deciding(c, "       ")
        )
    };
    let lines: String = verdict.checks.iter().map(line).collect();
    let open = verdict.checks.iter().filter(|c| c.inconclusive).count();
    let summary = match (verdict.passed, open) {
        (true, 0) => "passed: every check measured the injected truth".to_owned(),
        (true, n) => format!("{n} inconclusive, because the host is too busy; all other checks passed"),
        (false, _) => "failed: do not use results of this tester on this machine".to_owned(),
    };
    format!("{lines}{summary}\n")
}

/// The gallery of faults: a line for each kind, and what was printed of faults that were not named.
fn by_kind(verdict: &SelfTest) -> String {
    let kind = |check: &&SelfTestCheck| KnownFault::named(&check.name).map_or("", |fault| fault.kind);
    let mut lines = String::new();
    for (kind, checks) in document::grouped_by(&verdict.checks, kind) {
        let named = checks.iter().filter(|check| check.passed).count();
        let _ = writeln!(lines, "{kind:<9} {named:>2} of {:>2} faults named", checks.len());
        for SelfTestCheck { name, truth, measured, inconclusive, .. } in
            checks.into_iter().filter(|check| !check.passed)
        {
            let mark = if *inconclusive { "?" } else { "FAIL" };
            let _ = writeln!(lines, "  {mark} {name}: must print {truth}; printed {measured}");
        }
    }
    let open = verdict.named("inconclusive").len();
    let summary = match (verdict.passed, open) {
        (true, 0) => "passed: natmeter prints the words of each fault; docs/faults.md has them".to_owned(),
        (true, n) => format!("{n} inconclusive, because the host is too busy; natmeter names all others"),
        (false, _) => "failed: natmeter does not name each fault here".to_owned(),
    };
    format!("{lines}{summary}\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use method::{Criteria, HostNoise, Leg, Nanos, Rate, TrialOutcome, TrialRecord, TrialSpec, judge};

    /// A failure can be analysed only with everything that the verdict of the trial depends on.
    #[test]
    fn the_deciding_trial_is_told() {
        let leg = Leg { planned: 30_000, sent: 30_000, received: 29_847, ..Leg::default() };
        let host =
            HostNoise { dut_stall: Nanos(1_500_000), queue_lasts: Some(Nanos(1_950_000)), ..HostNoise::default() };
        let spec = TrialSpec::establish(Rate(262_500), 30_000);
        let outcome = TrialOutcome { forward: leg, host, ..TrialOutcome::default() };
        let verdict = judge(&spec, &outcome, &Criteria::default());
        let trial = TrialRecord { seq: 4, measurement: "x".to_owned(), spec, outcome, verdict };
        let check = SelfTestCheck { deciding: Some(Box::new(trial)), ..SelfTestCheck::default() };
        let told = text(&SelfTest { passed: false, checks: vec![check] });
        for fact in [
            "trial 4 at 262,500/s: fail, Left to Right: 29847 of 30000 frames received",
            "30,000 planned, 30,000 sent (0 refused), 29,847 received correctly",
            "longest stall: tester 0 µs, device 1,500 µs; run delay: tester unknown",
            "the queues absorb 1,950 µs",
        ] {
            assert!(told.contains(fact), "{fact}: {told}");
        }
    }

    #[test]
    fn an_inconclusive_self_test_is_neither_done_nor_failed() {
        let check = |passed, inconclusive| SelfTestCheck { passed, inconclusive, ..SelfTestCheck::default() };
        let end = |checks: Vec<SelfTestCheck>| {
            exit(&SelfTest { passed: checks.iter().all(|c| c.passed || c.inconclusive), checks })
        };
        assert_eq!(end(vec![check(true, false)]), Exit::Done);
        assert_eq!(end(vec![check(true, false), check(false, true)]), Exit::TesterLimit);
        assert_eq!(end(vec![check(false, true), check(false, false)]), Exit::Failed);
    }
}
