//! Suggestions ("did you mean …?") for an unknown command, a missing scenario file and a missing run folder.

use crate::listing::{self, RUNS};
use record::store;
use scenario::did_you_mean as nearest;
use std::path::{Path, PathBuf};

/// Maximum number of suggested scenarios.
const MOST: usize = 3;

/// The folder where scenarios usually are.
const FOLDER: &str = "scenarios";

/// Returns the suggestion for a first word that is not a command.
pub fn command(word: &str, commands: &[String]) -> Option<String> {
    let path = Path::new(word);
    let one = |arguments: String| question(&[format!("`natmeter {arguments}`")]);
    if path.join(store::HEADER).exists() {
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

/// Returns the suggestion for a path without a scenario file.
pub fn scenario(path: &Path) -> Option<String> {
    let files: Vec<String> = scenarios(&path.to_string_lossy()).iter().map(|file| file.display().to_string()).collect();
    question(&files)
}

/// Returns the suggestion for a path that is not a run folder: runs of that name in the usual folder, or similar ones beside it.
pub fn run(path: &Path) -> Option<String> {
    let word = path.file_name()?.to_string_lossy();
    let beside = path.parent().filter(|parent| *parent != Path::new("")).unwrap_or(Path::new("."));
    let mut folders = vec![beside, Path::new(RUNS)];
    folders.dedup();
    // A folder of runs was named instead of one of its runs.
    let mut inside = runs_of(path);
    if let Some(last) = inside.pop() {
        return Some(format!("its last run is {}", last.display()));
    }
    let runs: Vec<PathBuf> = folders.into_iter().flat_map(runs_of).collect();
    let name = |run: &Path| run.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let begins: Vec<&PathBuf> = runs.iter().filter(|run| word.len() > 2 && name(run).starts_with(&*word)).collect();
    let names: Vec<String> = runs.iter().map(|run| name(run)).collect();
    let similar = nearest(&word, names.iter().map(String::as_str));
    let meant = match begins.last() {
        Some(last) => Some(last.display().to_string()),
        None => runs.iter().find(|run| similar == Some(name(run).as_str())).map(|run| run.display().to_string()),
    };
    question(meant.as_slice())
}

/// The run folders of a folder, in order.
fn runs_of(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let here = |path: PathBuf| path.strip_prefix(".").map(Path::to_path_buf).unwrap_or(path);
    let mut runs: Vec<PathBuf> =
        entries.map(|entry| here(entry.path())).filter(|path| path.join(store::HEADER).is_file()).collect();
    runs.sort();
    runs
}

/// Returns the scenario files similar to a word or path:
///
/// - those of the same name;
/// - else one of a similar name;
/// - else those whose name, device or technology begins with it.
fn scenarios(word: &str) -> Vec<PathBuf> {
    let path = Path::new(word);
    let mut folders = vec![path.parent().filter(|p| *p != Path::new("")).unwrap_or(Path::new(".")), Path::new(FOLDER)];
    folders.dedup();
    let files: Vec<PathBuf> = folders.into_iter().flat_map(files_of).collect();
    let name = plain(&stem(path));
    if name.is_empty() {
        return Vec::new();
    }
    let same: Vec<PathBuf> = files.iter().filter(|file| plain(&stem(file)) == name).cloned().collect();
    let begins = |file: &&PathBuf| name.len() > 2 && (plain(&stem(file)).starts_with(&name) || has(file, &name));
    let having: Vec<PathBuf> = files.iter().filter(begins).cloned().collect();
    let stems: Vec<String> = files.iter().map(|file| stem(file)).collect();
    let meant = nearest(&stem(path), stems.iter().map(String::as_str));
    let similar: Vec<PathBuf> = files.into_iter().filter(|file| meant == Some(stem(file).as_str())).collect();
    [same, similar, having]
        .into_iter()
        .find(|found| !found.is_empty())
        .unwrap_or_default()
        .into_iter()
        .take(MOST)
        .collect()
}

/// Returns the question for these names; `None` without names.
fn question(names: &[String]) -> Option<String> {
    let (last, others) = names.split_last()?;
    Some(match others {
        [] => format!("did you mean {last}?"),
        _ => format!("did you mean {} or {last}?", others.join(", ")),
    })
}

/// The scenario files of a folder, in order.
fn files_of(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let here = |file: PathBuf| file.strip_prefix(".").map(Path::to_path_buf).unwrap_or(file);
    let mut files: Vec<PathBuf> =
        entries.map(|entry| here(entry.path())).filter(|file| file.extension().is_some_and(|e| e == "toml")).collect();
    files.sort();
    files
}

/// Whether a scenario has a device or a technology whose name begins with `name`.
fn has(file: &Path, name: &str) -> bool {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    let tables = text.lines().filter_map(|line| line.strip_prefix("[dut.").or(line.strip_prefix("[technology.")));
    tables.map(plain).any(|table| table.starts_with(name))
}

/// A file's name without its extension.
fn stem(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.strip_suffix(".toml").unwrap_or(&name).to_owned()
}

/// A name without case and separators, which users write in different ways.
fn plain(name: &str) -> String {
    name.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase()
}
