//! Every file in `scenarios/` runs over a bed, or is refused with the key that does not fit and the hook that serves it.

use scenario::bed::BedText;
use scenario::{Options, read};
use std::path::{Path, PathBuf};

/// A bed whose box has these keys.
fn bed(of_box: &str) -> BedText {
    let port = |side: &str, net: u8| {
        format!(
            "[bed.{side}]\ninterface = \"{side}\"\naddresses = [\"198.{net}.0.2/24\", \"2001:2:0:{net}00::1/64\"]\n\
             gateway = \"198.{net}.0.1\"\n"
        )
    };
    let text = format!("{}{}[dut]\n{of_box}", port("left", 18), port("right", 19));
    BedText { name: "bed.toml".to_owned(), text, t0: Vec::new() }
}

fn files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scenarios");
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.is_file());
    files.sort();
    files
}

/// The complaints about a file over a bed; `None` if it runs.
fn complaint(file: &Path, full: bool, of_box: &str) -> Option<String> {
    let options = Options { full, bed: Some(bed(of_box)), ..Options::default() };
    read(file, &options, tech::ALL).err().map(|error| error.to_string())
}

/// Files that a box without this hook cannot serve, with the key that does not fit.
const REFUSED: [(&str, &str, &str); 4] = [
    ("gateway-cores", "cores = [1, 2]", "`cores` or `prepare`"),
    ("kernel-cores", "cores = [1, 2]", "`cores` or `prepare`"),
    ("lwaftr-softwires", "softwires = [", "the hook `prepare`"),
    ("map-e-br-rules", "rules = [", "the hook `prepare`"),
];

#[test]
fn every_file_runs_or_is_refused_with_key_and_hook() {
    let hooks = "clear = \"true\"\nprepare = \"./set {cores}\"\n";
    for (file, full) in files().into_iter().flat_map(|file| [(file.clone(), false), (file, true)]) {
        let name = file.file_stem().unwrap().to_str().unwrap();
        let said = complaint(&file, full, "clear = \"true\"\n");
        match REFUSED.iter().find(|(refused, ..)| *refused == name) {
            None => assert_eq!(said, None, "{name}"),
            Some((_, key, hook)) => {
                let said = said.unwrap_or_default();
                assert!(said.contains(key) && said.contains(hook), "{name}: {said}");
            }
        }
        assert_eq!(complaint(&file, full, hooks), None, "{name} with its hook");
    }
}

/// Without `clear` a box must forget connections itself, in a time for which natmeter waits.
#[test]
fn a_box_that_never_forgets_needs_a_hook() {
    let nat44 = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scenarios/plat.toml");
    let said = complaint(&nat44, false, "").unwrap_or_default();
    assert!(said.contains("nothing empties the box's table") && said.contains("the hook `clear`"), "{said}");
}
