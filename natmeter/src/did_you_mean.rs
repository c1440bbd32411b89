//! Suggestions ("did you mean …?") for an unknown command, a missing scenario file and a missing run folder.

use crate::installed;
use crate::listing::{self, RUNS};
use record::store;
use scenario::LONGEST_FILE;
use scenario::did_you_mean as nearest;
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Most scenarios in a question.
const MOST: usize = 3;

const FOLDER: &str = "scenarios";

pub(crate) fn command(word: &str, commands: &[String]) -> Option<String> {
    let path = Path::new(word);
    let one = |arguments: String| question(&[format!("`natmeter {arguments}`")]);
    if store::is_run(path) {
        return one(format!("report {word}"));
    }
    if path.is_file() {
        return one(format!("run {word}"));
    }
    let files = scenarios(word);
    let named = |file: &&PathBuf| plain(&stem(file)) == plain(&stem(path));
    if let Some(file) = files.iter().find(named) {
        return one(format!("run {}", file.display()));
    }
    if let Some(command) = nearest(word, commands.iter().map(String::as_str)) {
        return one(command.to_owned());
    }
    if let Some(list) = nearest(word, listing::names()) {
        return one(format!("list {list}"));
    }
    let runs: Vec<String> = files.iter().map(|file| format!("`natmeter run {}`", file.display())).collect();
    question(&runs).or_else(|| path.extension().and_then(|_| one(format!("run {word}"))))
}

pub(crate) fn scenario(path: &Path) -> Option<String> {
    let files: Vec<String> = scenarios(&path.to_string_lossy()).iter().map(|file| file.display().to_string()).collect();
    let installed = || nearest(&stem(path), installed::all().keys().map(String::as_str)).map(str::to_owned);
    question(&files).or_else(|| question(installed().as_slice()))
}

/// The suggestion for a path that is not a run folder: runs of that name in the usual folder, or
/// similar ones beside it.
pub(crate) fn run(path: &Path) -> Option<String> {
    let word = path.file_name()?.to_string_lossy();
    // A folder of runs was named instead of one of its runs.
    let mut inside = runs_of(path);
    if let Some(last) = inside.pop() {
        return Some(format!("its last run is {}", last.display()));
    }
    let runs: Vec<PathBuf> = beside_or_in(path, RUNS).into_iter().flat_map(runs_of).collect();
    let name = |run: &Path| run.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let names: Vec<String> = runs.iter().map(|run| name(run)).collect();
    let similar = nearest(&word, names.iter().map(String::as_str));
    let begins = runs.iter().rfind(|run| word.len() > 2 && name(run).starts_with(&*word));
    let meant = begins.or_else(|| runs.iter().find(|run| similar == Some(name(run).as_str())));
    question(meant.map(|run| run.display().to_string()).as_slice())
}

fn beside_or_in<'a>(path: &'a Path, usual: &'a str) -> Vec<&'a Path> {
    let beside = path.parent().filter(|parent| *parent != Path::new("")).unwrap_or(Path::new("."));
    let mut folders = vec![beside, Path::new(usual)];
    folders.dedup();
    folders
}

fn entries(folder: &Path, is_wanted: impl Fn(&Path) -> bool) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let here = |path: PathBuf| path.strip_prefix(".").map(Path::to_path_buf).unwrap_or(path);
    let mut wanted: Vec<PathBuf> = entries.map(|entry| here(entry.path())).filter(|path| is_wanted(path)).collect();
    wanted.sort();
    wanted
}

fn runs_of(folder: &Path) -> Vec<PathBuf> {
    entries(folder, store::is_run)
}

/// Scenario files similar to a word or path:
///
/// - those of the same name;
/// - else one of a similar name;
/// - else those whose name, device or technology begins with it.
///
/// The file of that path itself is never among them: it exists, but cannot be read.
fn scenarios(word: &str) -> Vec<PathBuf> {
    let path = Path::new(word);
    let name = plain(&stem(path));
    if name.is_empty() {
        return Vec::new();
    }
    let itself = identity(path);
    let mut files: Vec<PathBuf> = beside_or_in(path, FOLDER).into_iter().flat_map(files_of).collect();
    files.retain(|file| itself.is_none() || identity(file) != itself);
    let stems: Vec<String> = files.iter().map(|file| stem(file)).collect();
    let meant = nearest(&stem(path), stems.iter().map(String::as_str));
    let same = |file: &Path| plain(&stem(file)) == name;
    let similar = |file: &Path| meant == Some(stem(file).as_str());
    let begins = |file: &Path| name.len() > 2 && (plain(&stem(file)).starts_with(&name) || has(file, &name));
    // Files are only read if no name is similar.
    let kinds: [&dyn Fn(&Path) -> bool; 3] = [&same, &similar, &begins];
    let found = kinds.into_iter().map(|kind| files.iter().filter(|file| kind(file)).take(MOST).cloned().collect());
    found.into_iter().find(|found: &Vec<PathBuf>| !found.is_empty()).unwrap_or_default()
}

/// Device and number of a file.
fn identity(path: &Path) -> Option<(u64, u64)> {
    path.metadata().ok().map(|found| (found.dev(), found.ino()))
}

/// `None` without names.
fn question(names: &[String]) -> Option<String> {
    let (last, others) = names.split_last()?;
    Some(match others {
        [] => format!("did you mean {last}?"),
        _ => format!("did you mean {} or {last}?", others.join(", ")),
    })
}

/// Regular files that can be read and are not too long. Opening anything else, such as a named
/// pipe, could block for ever.
fn files_of(folder: &Path) -> Vec<PathBuf> {
    let is_toml = |file: &Path| file.extension().is_some_and(|extension| extension == "toml");
    let is_short = |file: &Path| file.metadata().is_ok_and(|found| found.is_file() && found.len() <= LONGEST_FILE);
    entries(folder, |file| is_toml(file) && is_short(file) && File::open(file).is_ok())
}

/// Whether the file has a device or a technology whose name begins with `name`.
fn has(file: &Path, name: &str) -> bool {
    let mut text = String::new();
    let read = File::open(file).and_then(|file| file.take(LONGEST_FILE).read_to_string(&mut text));
    if read.is_err() {
        return false;
    }
    let tables = text.lines().filter_map(|line| line.strip_prefix("[dut.").or(line.strip_prefix("[technology.")));
    tables.map(plain).any(|table| table.starts_with(name))
}

fn stem(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.strip_suffix(".toml").unwrap_or(&name).to_owned()
}

/// The name without case and separators.
fn plain(name: &str) -> String {
    name.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{CWD, Mode, mkfifoat};
    use std::fs::{Permissions, set_permissions, write};
    use std::os::unix::fs::{PermissionsExt, symlink};

    const NAT44: &str = "[dut.embedded]\n[technology.nat44]\n";

    /// A folder with a scenario whose text names a technology.
    fn folder() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path().join("first.toml"), NAT44).unwrap();
        folder
    }

    /// The suggestion for a name in a folder, without the folder.
    fn meant(folder: &tempfile::TempDir, name: &str) -> Option<String> {
        let beside = format!("{}/", folder.path().display());
        scenario(&folder.path().join(name)).map(|meant| meant.replace(&beside, ""))
    }

    #[test]
    fn a_scenario_is_found_by_its_name_and_its_technology() {
        let folder = folder();
        assert_eq!(meant(&folder, "frist.toml").as_deref(), Some("did you mean first.toml?"));
        assert_eq!(meant(&folder, "nat44.toml").as_deref(), Some("did you mean first.toml?"));
        assert_eq!(meant(&folder, "unlike.toml"), None);
    }

    /// Regression: natmeter read a named pipe for ever, and /dev/zero until memory was full.
    #[test]
    fn neighbours_that_are_no_files_are_not_read() {
        let folder = folder();
        let at = |name: &str| folder.path().join(name);
        mkfifoat(CWD, at("pipe.toml"), Mode::from_raw_mode(0o644)).unwrap();
        symlink("/dev/zero", at("zero.toml")).unwrap();
        symlink("pipe.toml", at("link-to-pipe.toml")).unwrap();
        std::fs::create_dir(at("folder.toml")).unwrap();
        File::create(at("long.toml")).unwrap().set_len(LONGEST_FILE + 1).unwrap();
        assert_eq!(meant(&folder, "nat44.toml").as_deref(), Some("did you mean first.toml?"));
        for name in ["pipes.toml", "zeros.toml", "folders.toml", "longs.toml"] {
            assert_eq!(meant(&folder, name), None, "{name}");
        }
        symlink("first.toml", at("seconds.toml")).unwrap();
        assert_eq!(meant(&folder, "second.toml").as_deref(), Some("did you mean seconds.toml?"));
    }

    /// Regression: natmeter suggested the file that it could not read.
    #[test]
    fn a_file_is_not_suggested_in_place_of_itself() {
        let folder = folder();
        let at = |name: &str| folder.path().join(name);
        mkfifoat(CWD, at("pipe.toml"), Mode::from_raw_mode(0o644)).unwrap();
        File::create(at("long.toml")).unwrap().set_len(LONGEST_FILE + 1).unwrap();
        write(at("secret.toml"), NAT44).unwrap();
        symlink("secret.toml", at("secrets.toml")).unwrap();
        set_permissions(at("secret.toml"), Permissions::from_mode(0o000)).unwrap();
        for name in ["pipe.toml", "long.toml", "secret.toml", "first.toml"] {
            assert_eq!(meant(&folder, name), None, "{name}");
        }
    }

    #[test]
    fn a_neighbour_is_suggested_if_it_can_be_read() {
        let folder = folder();
        let secret = folder.path().join("secret.toml");
        write(&secret, NAT44).unwrap();
        set_permissions(&secret, Permissions::from_mode(0o000)).unwrap();
        // Root reads files of every mode.
        let readable = File::open(&secret).is_ok();
        let expected = readable.then_some("did you mean secret.toml?");
        assert_eq!(meant(&folder, "secrte.toml").as_deref(), expected);
    }
}
