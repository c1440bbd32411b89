//! An ignored test of this program as a process that holds something, to be killed.

use std::ffi::{OsStr, OsString};
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

const GIVEN: &str = "NATMETER_TEST_HOLD";

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

pub(crate) fn given() -> Option<OsString> {
    std::env::var_os(GIVEN)
}

pub(crate) fn wait() {
    println!("\nholding");
    std::io::stdin().lines().for_each(drop);
}
