//! Carries out steps on a host, checks each, and undoes all in reverse order on failure, on request or on drop.

use crate::DutError;
use crate::error::FailedStep;
use crate::host::{DryRun, Host, LocalHost, Log, Output};
use crate::journal::{self, Journal, Restoration};
use crate::lock::RunDir;
use crate::step::{Action, Check, Event, Sink, Step, Target, no_sink};
use std::io;
use std::sync::Arc;

pub struct Changes {
    host: Box<dyn Host>,
    dir: RunDir,
    sink: Sink,
    journal: Option<Journal>,
    undos: Vec<Undo>,
}

enum Undo {
    Perform { target: Target, why: String, action: Action },
    Journalled { why: String, number: usize },
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UndoResult {
    pub done: Vec<String>,
    /// What is left, with the reason, also if deliberate.
    pub left: Vec<String>,
}

impl Changes {
    /// Machine-wide steps are journalled in `dir`.
    pub fn on(host: Box<dyn Host>, dir: RunDir, sink: Sink) -> Changes {
        Changes { host, dir, sink, journal: None, undos: Vec::new() }
    }

    /// Returns changes that also pass each action to the sink.
    pub fn logged(host: impl Host + 'static, dir: &RunDir, sink: &Sink) -> Changes {
        Changes::on(Box::new(Log::over(host, Arc::clone(sink))), dir.clone(), Arc::clone(sink))
    }

    /// Returns the actions of `work` without carrying them out.
    pub fn rehearsed(work: impl FnOnce(&mut Changes) -> Result<(), DutError>) -> Result<Vec<Step>, DutError> {
        let host = DryRun::over(LocalHost::new());
        let steps = host.steps();
        // A dry run keeps no journal: the folder is never read.
        let mut changes = Changes::on(Box::new(host), RunDir::of_this_user(), no_sink());
        work(&mut changes)?;
        let steps = std::mem::take(&mut *steps.lock().expect("no panic while held"));
        Ok(steps)
    }

    /// Carries out steps in order. If one fails, it undoes all steps so far.
    pub fn carry_out(&mut self, steps: &[Step]) -> Result<(), DutError> {
        for step in steps {
            if let Err(error) = self.take(step) {
                let after = self.undo_all();
                return Err(with_aftermath(error, after));
            }
        }
        Ok(())
    }

    /// Carries out a step; those before it stay if it fails.
    pub fn attempt(&mut self, step: &Step) -> Result<(), DutError> {
        self.take(step)
    }

    /// Undoes all steps, the last first; continues after a failure.
    pub fn undo_all(&mut self) -> UndoResult {
        let mut result = UndoResult::default();
        while let Some(undo) = self.undos.pop() {
            match self.undo(undo) {
                Ok(what) => result.done.push(what),
                Err(what) => {
                    (self.sink)(&Event::Left { what: what.clone() });
                    result.left.push(what);
                }
            }
        }
        self.journal = None;
        result
    }

    /// Performs an action that needs no undo.
    pub fn perform(&mut self, target: Target, why: &str, action: &Action) -> Result<Output, DutError> {
        let result = self.host.perform(target, why, action);
        succeeded(result).map_err(|outcome| failure(target, why, action, outcome))
    }

    pub fn read(&mut self, target: Target, path: &str) -> io::Result<String> {
        self.host.read(target, path)
    }

    pub fn is_rehearsal(&self) -> bool {
        self.host.is_rehearsal()
    }

    fn take(&mut self, step: &Step) -> Result<(), DutError> {
        if step.optional && self.value(step).is_some_and(|now| now.is_err()) {
            return Ok(());
        }
        if step.is_machine_wide() {
            self.take_machine_wide(step)?;
        } else {
            self.perform(step.target, &step.why, &step.action)?;
        }
        if let Some(action) = &step.undo {
            self.undos.push(Undo::Perform { target: step.target, why: step.why.clone(), action: action.clone() });
        }
        if self.host.is_rehearsal() { Ok(()) } else { self.check(step) }
    }

    fn take_machine_wide(&mut self, step: &Step) -> Result<(), DutError> {
        let Action::Set { setting, value } = &step.action else {
            unreachable!("only settings are machine-wide: {step:?}")
        };
        if self.host.is_rehearsal() {
            self.perform(step.target, &step.why, &step.action)?;
            return Ok(());
        }
        self.begin_journal()?;
        let journal = self.journal.as_mut().expect("begun above");
        let written = journal.write(&mut *self.host, &step.why, setting, value)?;
        match written {
            Ok(None) => {}
            Ok(Some(number)) => self.undos.push(Undo::Journalled { why: step.why.clone(), number }),
            Err(e) => return Err(failure(step.target, &step.why, &step.action, format!("refused: {e}"))),
        }
        Ok(())
    }

    /// Takes the lock of the machine-wide settings and opens the journal, unless done. Fails if another run has the
    /// lock, or an earlier run's settings cannot be restored.
    pub fn begin_journal(&mut self) -> Result<(), DutError> {
        if self.journal.is_none() && !self.host.is_rehearsal() {
            let (journal, restored) = Journal::begin(&self.dir, &mut *self.host)?;
            for what in &restored {
                (self.sink)(&Event::Cleaned { what: what.to_string() });
            }
            self.journal = Some(journal);
        }
        Ok(())
    }

    /// Reports restored settings of a killed run.
    pub fn is_journal_left(&self) -> bool {
        journal::is_left(&self.dir)
    }

    fn value(&mut self, step: &Step) -> Option<io::Result<String>> {
        match &step.action {
            Action::Command { .. } => None,
            Action::Write { path, .. } => Some(self.host.read(step.target, path)),
            Action::Set { setting, .. } => Some(self.host.read_setting(setting)),
        }
    }

    fn check(&mut self, step: &Step) -> Result<(), DutError> {
        match (&step.check, &step.action) {
            (None, _) | (Some(Check::Reads), Action::Command { .. }) => Ok(()),
            (Some(Check::Reads), Action::Write { value, .. } | Action::Set { value, .. }) => {
                let wrong = match self.value(step).expect("it is a setting") {
                    Ok(now) if journal::same(&now, value) || rounded(step, &now, value) => return Ok(()),
                    Ok(now) => format!("was accepted, but the setting reads {now}"),
                    Err(e) => format!("was accepted, but the setting cannot be read: {e}"),
                };
                Err(failure(step.target, &step.why, &step.action, wrong))
            }
            (Some(Check::Shows { action, contains }), _) => {
                let why = format!("check: {}", step.why);
                let output = self.perform(step.target, &why, action)?;
                match contains.iter().find(|c| !output.stdout.contains(c.as_str())) {
                    None => Ok(()),
                    Some(text) => {
                        let outcome = format!("does not show {text:?} but:\n{}", output.stdout);
                        Err(failure(step.target, &why, action, outcome))
                    }
                }
            }
        }
    }

    fn undo(&mut self, undo: Undo) -> Result<String, String> {
        match undo {
            Undo::Perform { target, why, action } => {
                let result = self.host.perform(target, &format!("undo: {why}"), &action);
                succeeded(result)
                    .map(|_| format!("{why}: {action}"))
                    .map_err(|outcome| format!("{why}: `{action}` {outcome}"))
            }
            Undo::Journalled { why, number } => {
                let journal = self.journal.as_mut().expect("it gave the number");
                match journal.undo(&mut *self.host, number) {
                    back @ (Restoration::Back { .. } | Restoration::Already { .. }) => Ok(format!("{why}: {back}")),
                    other => Err(format!("{why}: {other}")),
                }
            }
        }
    }
}

impl Drop for Changes {
    fn drop(&mut self) {
        self.undo_all();
    }
}

/// The kernel may round the size of a machine-wide table up; the journal has the rounded value.
fn rounded(step: &Step, now: &str, value: &str) -> bool {
    step.is_machine_wide() && matches!((now.parse::<u64>(), value.parse::<u64>()), (Ok(now), Ok(value)) if now >= value)
}

fn succeeded(result: io::Result<Output>) -> Result<Output, String> {
    match result {
        Ok(output) if output.ok() => Ok(output),
        Ok(Output { status, stdout, stderr }) => {
            let text = [stderr, stdout].into_iter().filter(|t| !t.is_empty()).collect::<Vec<_>>().join("\n");
            Err(format!("failed with status {}: {text}", status.unwrap_or(-1)))
        }
        Err(e) => Err(format!("failed: {e}")),
    }
}

fn failure(target: Target, why: &str, action: &Action, outcome: String) -> DutError {
    let (why, action) = (why.to_owned(), action.clone());
    DutError::Step(Box::new(FailedStep { why, target, action, outcome, undone: Vec::new(), left: Vec::new() }))
}

fn with_aftermath(mut error: DutError, after: UndoResult) -> DutError {
    if let DutError::Step(failed) = &mut error {
        failed.undone = after.done;
        failed.left = after.left;
    }
    error
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::{DryRun, LocalHost, Log};
    use crate::step::no_sink;
    use std::sync::{Arc, Mutex};

    const MAX: &str = "/proc/sys/net/netfilter/nf_conntrack_max";

    fn machine() -> (tempfile::TempDir, RunDir) {
        let root = tempfile::tempdir().unwrap();
        let file = root.path().join(&MAX[1..]);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, "262144\n").unwrap();
        let dir = RunDir::at(root.path().join("run"));
        (root, dir)
    }

    fn max(root: &tempfile::TempDir) -> String {
        LocalHost::below(root.path()).read(Target::Machine, MAX).unwrap()
    }

    fn touch(root: &tempfile::TempDir, name: &str) -> Step {
        let file = root.path().join(name).display().to_string();
        Step::dut(format!("make {name}"), Action::words(&format!("mkdir {file}")))
            .undone_by(Action::words(&format!("rmdir {file}")))
    }

    #[test]
    fn steps_are_undone_in_reverse_order_when_dropped() {
        let (root, dir) = machine();
        let mut changes = Changes::on(Box::new(LocalHost::below(root.path())), dir.clone(), no_sink());
        let steps = [
            touch(&root, "a"),
            Step::machine("room", &crate::software::conntrack::max(), 1_000_000),
            touch(&root, "a/b"),
        ];
        changes.carry_out(&steps).unwrap();
        assert!(root.path().join("a/b").exists());
        assert_eq!(max(&root), "1000000");
        drop(changes);
        assert!(!root.path().join("a").exists(), "b was removed before a");
        assert_eq!(max(&root), "262144");
        assert!(dir.is_empty());
    }

    #[test]
    fn a_step_that_fails_shows_its_output_and_undoes_the_others() {
        let (root, dir) = machine();
        let mut changes = Changes::on(Box::new(LocalHost::below(root.path())), dir, no_sink());
        let bad = Step::dut("break", Action::words("ls /natmeter-has-no-such-folder"));
        let steps = [touch(&root, "a"), Step::machine("room", &crate::software::conntrack::max(), 1_000_000), bad];
        let error = changes.carry_out(&steps).unwrap_err().to_string();
        assert!(error.contains("break: `ls /natmeter-has-no-such-folder` failed with status 2"), "{error}");
        assert!(error.contains("No such file"), "{error}");
        assert!(error.contains("undone afterwards (2): room"), "{error}");
        assert!(!root.path().join("a").exists());
        assert_eq!(max(&root), "262144");
    }

    #[test]
    fn an_undo_that_fails_is_reported_and_the_others_still_run() {
        let (root, dir) = machine();
        let told = Arc::new(Mutex::new(Vec::new()));
        let sink: Sink = {
            let told = Arc::clone(&told);
            Arc::new(move |e| told.lock().unwrap().push(e.clone()))
        };
        let mut changes = Changes::on(Box::new(Log::over(LocalHost::below(root.path()), Arc::clone(&sink))), dir, sink);
        changes.carry_out(&[touch(&root, "a"), touch(&root, "b")]).unwrap();
        std::fs::remove_dir(root.path().join("b")).unwrap();
        let undone = changes.undo_all();
        assert_eq!((undone.done.len(), undone.left.len()), (1, 1));
        assert!(undone.left[0].contains("rmdir"), "{undone:?}");
        let told = told.lock().unwrap();
        assert!(told.iter().any(|e| matches!(e, Event::Left { what } if what.contains("rmdir"))));
        let commands = told.iter().filter(|e| matches!(e, Event::Executed(_))).count();
        assert_eq!(commands, 4, "two made, two undone, each with its record");
    }

    #[test]
    fn a_check_that_does_not_hold_is_a_failure() {
        let (root, dir) = machine();
        let mut changes = Changes::on(Box::new(LocalHost::below(root.path())), dir, no_sink());
        let step = touch(&root, "a").shown_by(Action::words("echo something"), &["some", "else"]);
        let error = changes.carry_out(&[step]).unwrap_err().to_string();
        assert!(error.contains("does not show \"else\""), "{error}");
        assert!(!root.path().join("a").exists(), "it is undone all the same");
    }

    #[test]
    fn an_optional_setting_that_is_not_there_is_skipped() {
        let (root, dir) = machine();
        let mut changes = Changes::on(Box::new(LocalHost::below(root.path())), dir, no_sink());
        let step = Step::dut("quiet", Action::sysctl("net/ipv6/conf/all/disable_ipv6", 1));
        assert!(changes.carry_out(std::slice::from_ref(&step)).is_err());
        changes.carry_out(&[step.where_present()]).unwrap();
    }

    #[test]
    fn a_dry_run_changes_nothing() {
        let (root, dir) = machine();
        let host = DryRun::over(LocalHost::below(root.path()));
        let steps = host.steps();
        let mut changes = Changes::on(Box::new(host), dir.clone(), no_sink());
        changes
            .carry_out(&[touch(&root, "a"), Step::machine("room", &crate::software::conntrack::max(), 1_000_000)])
            .unwrap();
        assert_eq!(steps.lock().unwrap().len(), 2);
        assert_eq!(changes.read(Target::Machine, MAX).unwrap(), "1000000");
        drop(changes);
        assert!(!root.path().join("a").exists());
        assert_eq!(max(&root), "262144");
        assert!(dir.is_empty());
    }
}
