//! Each key that a text of natmeter names exists: "`KEY` of [TABLE]" in sources and documents, and `KEY = …` in documents.

use scenario::bed;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Keys by table, as the pages of keys list them.
fn known() -> BTreeMap<String, BTreeSet<String>> {
    let pages = [scenario::book(tech::ALL).page(2, |_| true), bed::book().page(2, |_| true)].concat();
    let mut known: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut tables: Vec<&str> = Vec::new();
    for line in pages.lines() {
        if let Some(heading) = line.strip_prefix("## ") {
            let mut words: Vec<&str> = heading.split('`').collect();
            // Keys above all tables stand below a heading without names.
            words.drain(..usize::from(words.len() > 1));
            tables = words.into_iter().step_by(2).map(|table| table.trim_matches(['[', ']'])).collect();
        }
        let Some(key) = line.strip_prefix("| `").and_then(|row| row.split_once('`')) else { continue };
        for table in &tables {
            known.entry((*table).to_owned()).or_default().insert(key.0.to_owned());
        }
    }
    known
}

/// Files below a folder of this kind, without those of tests.
fn files(folder: &Path, extension: &str, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let name = entry.file_name();
        if path.is_dir() {
            files(&path, extension, found);
        } else if path.extension().is_some_and(|of| of == extension) && !name.to_string_lossy().contains("tests") {
            found.push(path);
        }
    }
}

fn table(behind: &str) -> Option<&str> {
    let behind = [" of [", " in [", " into ["].iter().find_map(|words| behind.strip_prefix(words))?;
    Some(behind.split_once(']')?.0).filter(|table| !table.contains(' '))
}

/// Key and table of "`KEY` of [TABLE]"; the table has braces where a program fills it in.
fn named(text: &str) -> Vec<(&str, &str)> {
    let pairs = text.split('`').skip(1).zip(text.split('`').skip(2));
    let is_key =
        |key: &&str| !key.is_empty() && key.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
    pairs.filter(|(key, _)| is_key(key)).filter_map(|(key, behind)| Some((key, table(behind)?))).collect()
}

#[test]
fn keys_that_texts_name_exist() {
    let known = known();
    let all: BTreeSet<&String> = known.values().flatten().collect();
    assert!(known["bed.left"].contains("gateway") && known["measure"].contains("drain"), "{known:?}");
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let (mut sources, mut pages) = (Vec::new(), Vec::new());
    for folder in std::fs::read_dir(&top).unwrap().flatten() {
        files(&folder.path().join("src"), "rs", &mut sources);
    }
    files(&top.join("docs"), "md", &mut pages);
    pages.extend([top.join("README.md"), top.join("METHODOLOGY.md")]);
    let mut unknown = Vec::new();
    let mut seen = 0;
    for path in sources.iter().chain(&pages) {
        let text = std::fs::read_to_string(path).unwrap();
        let text = text.split("#[cfg(test)]").next().unwrap();
        for (key, table) in named(text) {
            seen += 1;
            let exists = match known.get(table) {
                Some(keys) => keys.contains(key),
                None => table.contains(['{', '…']) && all.contains(&key.to_owned()),
            };
            unknown.extend((!exists).then(|| format!("{}: `{key}` of [{table}]", path.display())));
        }
    }
    for path in &pages {
        let text = std::fs::read_to_string(path).unwrap();
        for span in text.split('`').skip(1).step_by(2).filter(|span| !span.contains(['\n', '$'])) {
            let Some((key, _)) = span.split_once(" = ") else { continue };
            let key = key.rsplit('.').next().unwrap_or(key);
            let is_key = key.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
            let is_metric = procedure::metric::by_key(key).is_some();
            unknown.extend(
                (is_key && !is_metric && !all.contains(&key.to_owned()))
                    .then(|| format!("{}: `{span}`", path.display())),
            );
        }
    }
    assert!(seen > 30, "{seen}");
    assert_eq!(unknown, Vec::<String>::new());
}
