//! A process of its own that holds a device, for tests that kill it: the ignored test `hold_a_device` of the same program.

use std::ffi::OsString;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Names the folder of the test that started this process.
const FOLDER: &str = "NATMETER_TEST_HOLD";

/// Starts `hold_a_device` and waits until it holds its device.
pub(crate) fn start(folder: &Path) -> Child {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "hold_a_device", "--nocapture"])
        .env(FOLDER, folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.any(|l| l.unwrap() == "holding"), "the child holds a device");
    child
}

/// The folder of the test, in the process that `start` started.
pub(crate) fn folder() -> Option<OsString> {
    std::env::var_os(FOLDER)
}

/// Says that the device is held, and waits until the input ends.
pub(crate) fn wait() {
    println!("\nholding");
    std::io::stdin().lines().for_each(drop);
}
