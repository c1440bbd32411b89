//! Scenarios that a package installs: `natmeter run NAME` finds them from any folder. The
//! quickstart is part of the program.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Works without the repository.
pub(crate) const QUICKSTART: &str = include_str!("../../scenarios/quickstart.toml");

pub(crate) const QUICKSTART_WORD: &str = "quickstart";

/// Below the parent of `bin`, which is `/usr` for a Debian package and the unpacked folder for an archive.
const FOLDER: &str = "share/natmeter/scenarios";

/// `None` for a path, or if the working directory has a file of this name.
pub(crate) fn find(name: &Path) -> Option<PathBuf> {
    find_in(&folder()?, name)
}

/// Name and description of every scenario that can be run by name.
pub(crate) fn all() -> BTreeMap<String, String> {
    let mut known = folder().map(|folder| all_in(&folder)).unwrap_or_default();
    known.entry(QUICKSTART_WORD.to_owned()).or_insert_with(|| about(QUICKSTART));
    known
}

fn folder() -> Option<PathBuf> {
    let program = std::env::current_exe().ok()?;
    Some(program.parent()?.parent()?.join(FOLDER))
}

fn find_in(folder: &Path, name: &Path) -> Option<PathBuf> {
    let is_bare = name.parent() == Some(Path::new(""));
    if !is_bare || name.exists() {
        return None;
    }
    let file = folder.join(name).with_extension("toml");
    file.is_file().then_some(file)
}

fn all_in(folder: &Path) -> BTreeMap<String, String> {
    let files = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let scenarios = files.filter(|file| file.extension().is_some_and(|extension| extension == "toml"));
    scenarios
        .filter_map(|file| {
            let name = file.file_stem()?.to_string_lossy().into_owned();
            Some((name, about(&std::fs::read_to_string(&file).ok()?)))
        })
        .collect()
}

fn about(text: &str) -> String {
    scenario::about(text).unwrap_or_else(|| "no description".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bare_name_names_an_installed_scenario() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("map-t.toml");
        std::fs::write(&file, "about = \"MAP-T\"\n").unwrap();
        let find = |name: &str| find_in(folder.path(), Path::new(name));
        assert_eq!(find("map-t"), Some(file.clone()));
        assert_eq!(find("map-t.toml"), Some(file));
        assert_eq!(find("map-e"), None);
        assert_eq!(find("./map-t"), None, "a path is a path");
        assert_eq!(find("Cargo.toml"), None, "a file that is here");
        assert_eq!(all_in(folder.path()), BTreeMap::from([("map-t".to_owned(), "MAP-T".to_owned())]));
    }

    #[test]
    fn the_quickstart_needs_no_package() {
        let about = &all()[QUICKSTART_WORD];
        assert_ne!(about, "no description");
    }
}
