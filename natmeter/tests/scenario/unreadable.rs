//! Files that are no scenario: natmeter names them at once, and neither waits for them nor reads all of them.

use scenario::{Options, ScenarioError, read};
use std::path::Path;
use std::process::Command;

fn error(path: &Path) -> String {
    match read(path, &Options::default(), tech::ALL) {
        Err(error @ ScenarioError::Unreadable { .. }) => error.to_string(),
        Err(error) => panic!("{}: {error}", path.display()),
        Ok(_) => panic!("{} was read", path.display()),
    }
}

/// The error is about this file, says why and what to do.
fn assert_says(path: &Path, why: &str) {
    let expected =
        format!("reading {}: {why}; name a file that you may read, such as scenarios/quickstart.toml", path.display());
    assert_eq!(error(path), expected);
}

#[test]
fn a_pipe_is_no_scenario() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe.toml");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    assert_says(&pipe, "this is not a regular file");
}

#[test]
fn devices_and_folders_are_no_scenarios() {
    let folder = tempfile::tempdir().unwrap();
    let link = folder.path().join("zero.toml");
    std::os::unix::fs::symlink("/dev/zero", &link).unwrap();
    for path in [link.as_path(), Path::new("/dev/zero"), folder.path()] {
        assert_says(path, "this is not a regular file");
    }
}

#[test]
fn a_scenario_has_1_mib_at_most() {
    const MOST: usize = 1 << 20;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("long.toml");
    let text = include_str!("../../../scenarios/quickstart.toml");
    let comment = |octets: usize| format!("{text}#{}\n", "-".repeat(octets - text.len() - 2));
    std::fs::write(&path, comment(MOST)).unwrap();
    read(&path, &Options::default(), tech::ALL).unwrap_or_else(|error| panic!("{error}"));
    std::fs::write(&path, comment(MOST + 1)).unwrap();
    assert_says(&path, "the file is longer than 1 MiB");
}

#[test]
fn a_file_in_utf_16_is_called_so() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("wide.toml");
    let octets: Vec<u8> = "\u{feff}name = \"wide\"\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    std::fs::write(&path, octets).unwrap();
    let error = error(&path);
    assert!(error.ends_with("save it as UTF-8, not as UTF-16 (iconv -f utf-16 -t utf-8)"), "{error}");
}

#[test]
fn a_gateway_file_is_a_regular_file() {
    let error = scenario::gateway::read(Path::new("/dev/zero"), tech::ALL).err().unwrap().to_string();
    assert!(error.starts_with("reading /dev/zero: this is not a regular file"), "{error}");
}
