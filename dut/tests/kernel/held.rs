//! A process of its own that holds something, for tests that kill it: an ignored test of the same program.

use std::ffi::{OsStr, OsString};
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

/// What the test gives to the process that it started.
const GIVEN: &str = "NATMETER_TEST_HOLD";

/// Starts this test of the same program, gives it a value, and waits until it holds what it should.
pub(crate) fn start(test: &str, given: impl AsRef<OsStr>) -> Child {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", test, "--nocapture"])
        .env(GIVEN, given)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.any(|l| l.unwrap() == "holding"), "{test} holds something");
    child
}

/// The value, in the process that `start` started.
pub(crate) fn given() -> Option<OsString> {
    std::env::var_os(GIVEN)
}

/// Says that it is held, and waits until the input ends.
pub(crate) fn wait() {
    println!("\nholding");
    std::io::stdin().lines().for_each(drop);
}
