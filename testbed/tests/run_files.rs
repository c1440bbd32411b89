//! Checks that natmeter opens the files of a run folder through `store::Dir` alone, which follows no links: no other code joins the
//! name of such a file to a path. In the crate `record`, its clippy.toml forbids what opens files otherwise.

use std::fs;
use std::path::{Path, PathBuf};

#[test]
fn no_name_of_a_run_file_is_joined_to_a_path() {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let store = fs::read_to_string(workspace.join("record/src/store.rs")).unwrap();
    let names: Vec<&str> = store
        .lines()
        .filter_map(|line| line.strip_prefix("pub const ")?.split_once(": &str = "))
        .map(|of| of.0)
        .collect();
    assert!(names.contains(&"TRIALS"), "{names:?}");
    let mut sources = Vec::new();
    for folder in ["natmeter/src", "record/src"] {
        read(&workspace.join(folder), &mut sources);
    }
    for (path, text) in sources {
        for (place, _) in text.match_indices(".join(") {
            let argument = text[place + ".join(".len()..].split(')').next().unwrap_or_default();
            let last = argument.rsplit("::").next().unwrap_or_default();
            assert!(!names.contains(&last), "{}: join({argument}): use `store::Dir`", path.display());
        }
    }
}

/// Reads the sources below a folder, without tests.
fn read(folder: &Path, sources: &mut Vec<(PathBuf, String)>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            read(&path, sources);
        } else if path.file_stem().is_some_and(|stem| stem != "tests") {
            let text = fs::read_to_string(&path).unwrap();
            let without_tests = text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default().to_owned();
            sources.push((path, without_tests));
        }
    }
}
