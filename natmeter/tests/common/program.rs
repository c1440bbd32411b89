//! The program as its users start it. The test programs of this crate share this file.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

pub(crate) const NATMETER: &str = env!("CARGO_BIN_EXE_natmeter");

pub(crate) fn top() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

pub(crate) fn command(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(NATMETER);
    command.current_dir(folder).args(args);
    command
}

pub(crate) fn natmeter(folder: &Path, args: &[&str]) -> Output {
    command(folder, args).output().expect("the program starts")
}

pub(crate) fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Measures, and returns what the program printed. The current speed of this machine decides whether a value is only a bound.
pub(crate) fn measured(folder: &Path, args: &[&str]) -> String {
    let output = natmeter(folder, args);
    assert!(matches!(output.status.code(), Some(0 | 3)), "{args:?}: {}", stderr(&output));
    stdout(&output)
}

pub(crate) fn only_run(runs: &Path) -> Option<PathBuf> {
    let paths = std::fs::read_dir(runs).unwrap().map(|entry| entry.unwrap().path());
    let is_draft = |path: &PathBuf| path.file_name().unwrap().to_str().unwrap().starts_with('.');
    let mut found = paths.filter(|path| !is_draft(path));
    let run = found.next();
    assert_eq!(found.next(), None, "a second run beside {run:?}");
    run
}
