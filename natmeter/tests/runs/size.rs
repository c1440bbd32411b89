//! `natmeter size` on the run folder of a simulated device.

use crate::program::{natmeter, stderr, stdout};
use crate::simulated;
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Output;

const DEMAND: &str = "subscribers = \"2k\"\nsessions = 100\nnew-sessions = 0.5\nmbit = 5\npacket-size = 700\n";

fn size(arguments: &[&str], folder: &Path) -> Output {
    natmeter(folder, &[&["size"], arguments].concat())
}

/// 200 k sessions, 1 k new sessions/s and 1.79 Mfps: one device of 3 Mfps with 1 M connections.
#[test]
fn a_demand_of_a_file_and_of_options_is_sized() {
    let dir = tempfile::tempdir().unwrap();
    let (path, _) = simulated::run(dir.path(), &simulated::header());
    let run = path.to_str().unwrap();
    fs::write(dir.path().join("demand.toml"), DEMAND).unwrap();
    let output = size(&[run, "--demand", "demand.toml", "--headroom", "20 %", "--json"], dir.path());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let sizing: Value = serde_json::from_slice(&output.stdout).unwrap();
    let choice = &sizing["devices"][0]["options"][0];
    assert_eq!((&choice["devices"], &choice["connections"]), (&1.into(), &1_000_000.into()));
    assert_eq!(choice["binding"], "both");
    let load = choice["limits"][0]["load"].as_f64().unwrap();
    assert!((load / (1.786 / 3.0) - 1.0).abs() < 0.03, "{load}");
    assert_eq!(choice["missing"], serde_json::json!(["memory"]));
    let text = size(&[run, "--demand", "demand.toml", "--subscribers", "20k"], dir.path());
    let text = stdout(&text);
    assert!(text.contains("20,000 subscribers") && text.contains("The device is simulated."), "{text}");
}

#[test]
fn what_is_wrong_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let (path, _) = simulated::run(dir.path(), &simulated::header());
    let run = path.to_str().unwrap();
    fs::write(dir.path().join("wrong.toml"), DEMAND.replace("mbit", "mbits")).unwrap();
    let refused = |arguments: &[&str], said: &str| {
        let output = size(arguments, dir.path());
        let error = stderr(&output);
        assert!(output.status.code() == Some(2) && output.stdout.is_empty() && error.contains(said), "{error}");
    };
    refused(
        &[run, "--subscribers", "10k"],
        "missing in the demand: sessions, new-sessions, mbit, packet-size; write --sessions VALUE",
    );
    refused(&[run, "--demand", "wrong.toml"], "unknown field `mbits`");
    refused(&[run, "--demand", "absent.toml"], "absent.toml");
    refused(&[run, "--subscribers", "ten"], "ten");
    fs::write(dir.path().join("demand.toml"), DEMAND).unwrap();
    refused(&["absent", "--demand", "demand.toml"], "absent does not exist");
}
