//! Checks that the imports between the files of a crate have no cycles. A file may import the modules that contain it:
//! what they define belongs to the whole folder.
//!
//! The check reads paths: `use`, and paths in code. It does not see calls of methods that another file implements,
//! globs of the crate's root, or inline modules.

use proc_macro2::{TokenStream, TokenTree};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// The parts of a path. Those of a module begin at the root of the crate, those of an import are as written.
type Names = Vec<String>;

/// The paths that a file contains.
#[derive(Default)]
struct Named {
    paths: Vec<Names>,
    /// Paths of `use` items, each with the name that it gets in the module of the file.
    exports: Vec<(String, Names)>,
}

#[test]
fn files_import_each_other_one_way() {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut cycles = Vec::new();
    for entry in fs::read_dir(workspace).unwrap() {
        let root = entry.unwrap().path().join("src");
        if root.parent().unwrap().join("Cargo.toml").is_file() && root.is_dir() {
            let mut files = BTreeMap::new();
            read(&root, &Names::new(), &mut files);
            cycles.extend(self::cycles(&edges(&files)).into_iter().map(|line| format!("{}: {line}", root.display())));
        }
    }
    assert!(cycles.is_empty(), "files whose imports form a cycle:\n{}", cycles.join("\n"));
}

#[test]
fn cycles_are_found_also_through_exports_and_folders() {
    let cycles_of = |sources: &[(&str, &str)]| {
        let names = |path: &str| path.split('/').filter(|name| !name.is_empty()).map(str::to_owned).collect::<Names>();
        let files: BTreeMap<_, _> = sources.iter().map(|(path, source)| (names(path), named(source))).collect();
        cycles(&edges(&files)).len()
    };
    assert_eq!(cycles_of(&[("a", "use crate::b::X;"), ("b", "struct X;")]), 0);
    assert_eq!(cycles_of(&[("a", "use crate::b::X;"), ("b", "fn f() { super::a::g() }")]), 2);
    let export = "mod a; mod b; pub use b::X;";
    assert_eq!(cycles_of(&[("", export), ("a", "use crate::{X as Y};"), ("b", "use super::a::*;")]), 2);
    let test = "#[cfg(test)] mod tests { use crate::a::Z; }";
    assert_eq!(cycles_of(&[("a", "use crate::b::X;"), ("b", test)]), 0);
    // The folder `a` imports `b`, which imports a file of the folder; that file imports what its folder defines.
    assert_eq!(cycles_of(&[("a", "mod c; use crate::b::X; use c::Z;"), ("b", "use crate::a::c::Z;"), ("a/c", "")]), 0);
    assert_eq!(cycles_of(&[("a", "use c::Z;"), ("a/c", "use crate::b::X;"), ("b", "use crate::a::W;")]), 3);
}

fn read(folder: &Path, module: &Names, files: &mut BTreeMap<Names, Named>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let stem = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let inner = || module.iter().cloned().chain([stem.clone()]).collect::<Names>();
        if stem == "tests" {
            continue;
        }
        if path.is_dir() {
            read(&path, &inner(), files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let of = if ["lib", "main", "mod"].contains(&stem.as_str()) { module.clone() } else { inner() };
            files.insert(of, named(&fs::read_to_string(&path).unwrap()));
        }
    }
}

fn named(source: &str) -> Named {
    let (mut words, mut named) = (Vec::new(), Named::default());
    flatten(source.parse::<TokenStream>().unwrap(), &mut words);
    let mut rest = &words[..];
    while !rest.is_empty() {
        rest = next(rest, &mut named);
    }
    named
}

/// Appends the words of a source to `words`, except items for tests only (`#[cfg(test)]`).
fn flatten(source: TokenStream, words: &mut Vec<String>) {
    let mut is_for_tests = false;
    for token in source {
        match token {
            TokenTree::Group(group) if is_for_tests => {
                is_for_tests = group.delimiter() != proc_macro2::Delimiter::Brace;
            }
            TokenTree::Group(group) => {
                let text = group.to_string();
                is_for_tests = text.replace(' ', "") == "[cfg(test)]";
                let is_brace = group.delimiter() == proc_macro2::Delimiter::Brace;
                words.push(if is_brace { "{" } else { "(" }.to_owned());
                flatten(group.stream(), words);
                words.push(if is_brace { "}" } else { ")" }.to_owned());
            }
            TokenTree::Punct(punct) if is_for_tests => is_for_tests = punct.as_char() != ';',
            _ if is_for_tests => {}
            other => words.push(other.to_string()),
        }
    }
}

/// Adds the paths of the next words to `named`, and returns the words after them.
fn next<'a>(words: &'a [String], named: &mut Named) -> &'a [String] {
    match words {
        [word, rest @ ..] if word == "use" => {
            let mut paths = Vec::new();
            let rest = tree(rest, &Names::new(), &mut paths);
            named.exports.extend(paths.iter().cloned());
            named.paths.extend(paths.into_iter().map(|(_, path)| path));
            rest
        }
        [word, colon, ..] if word.starts_with(|c: char| c.is_alphabetic()) && colon == ":" => {
            let (path, rest) = path(words);
            named.paths.push(path);
            rest
        }
        words => &words[1..],
    }
}

/// Returns the path with which the words begin, and the words after it.
fn path(mut words: &[String]) -> (Names, &[String]) {
    let mut names = Names::new();
    while let [name, rest @ ..] = words {
        if !name.starts_with(|c: char| c.is_alphabetic() || c == '_') {
            break;
        }
        names.push(name.clone());
        words = rest;
        match words {
            [a, b, rest @ ..] if a == ":" && b == ":" => words = rest,
            _ => break,
        }
    }
    (names, words)
}

/// Adds the paths of a `use` to `paths`, each with the name that it gets, and returns the words after it.
fn tree<'a>(words: &'a [String], before: &Names, paths: &mut Vec<(String, Names)>) -> &'a [String] {
    let (names, mut rest) = path(words);
    let mut full: Names = before.iter().cloned().chain(names).collect();
    if full.last().is_some_and(|last| last == "self") && full.len() > 1 {
        full.pop();
    }
    match rest {
        [open, inner @ ..] if open == "{" => {
            rest = inner;
            while rest.first().is_some_and(|word| word != "}") {
                rest = tree(rest, &full, paths);
                rest = rest.strip_prefix(&[",".to_owned()]).unwrap_or(rest);
            }
            &rest[1..]
        }
        [as_, name, rest @ ..] if as_ == "as" => {
            paths.push((name.clone(), full));
            rest
        }
        rest => {
            paths.push((full.last().cloned().unwrap_or_default(), full));
            rest.strip_prefix(&["*".to_owned()]).unwrap_or(rest)
        }
    }
}

/// Returns the modules that each module imports, except those that contain it.
fn edges(files: &BTreeMap<Names, Named>) -> BTreeMap<&Names, BTreeSet<Names>> {
    let of = |(module, named): (_, &Named)| {
        let targets = named.paths.iter().filter_map(|path| target(files, module, path, 0));
        (module, targets.filter(|to| !module.starts_with(to)).collect())
    };
    files.iter().map(of).collect()
}

/// Returns the module that defines the item at a path in a module; `None` for another crate, and for a
/// name that is no module in this one.
fn target(files: &BTreeMap<Names, Named>, module: &Names, path: &Names, depth: usize) -> Option<Names> {
    let mut at = module.clone();
    let mut names = &path[..];
    match names.first()?.as_str() {
        "crate" => (at, names) = (Names::new(), &names[1..]),
        "self" => names = &names[1..],
        "super" => {
            while names.first().is_some_and(|name| name == "super") {
                at.pop();
                names = &names[1..];
            }
        }
        first => {
            at.push(first.to_owned());
            files.get(&at)?;
            names = &names[1..];
        }
    }
    while let Some(name) = names.first() {
        at.push(name.clone());
        if !files.contains_key(&at) {
            at.pop();
            let exported = files.get(&at)?.exports.iter().find(|(exported, _)| exported == name);
            return exported
                .filter(|_| depth < 8 && at != *module)
                .and_then(|(_, path)| target(files, &at, path, depth + 1))
                .or(Some(at));
        }
        names = &names[1..];
    }
    Some(at)
}

/// Returns the files that cycles contain, each with those of these files that it imports.
fn cycles(edges: &BTreeMap<&Names, BTreeSet<Names>>) -> Vec<String> {
    let mut left: BTreeSet<&Names> = edges.keys().copied().collect();
    // A file that imports none of the remaining files, or that none of them imports, is in no cycle.
    let imports = |left: &BTreeSet<&Names>, file| edges[file].iter().any(|to| left.contains(to));
    let is_imported = |left: &BTreeSet<&Names>, file| left.iter().any(|from| edges[from].contains(file));
    while let Some(end) = left.iter().copied().find(|file| !imports(&left, *file) || !is_imported(&left, *file)) {
        left.remove(end);
    }
    let named = |file: &Names| edges[file].iter().filter(|to| left.contains(to)).map(|to| to.join("::"));
    left.iter().map(|file| format!("{} -> {}", file.join("::"), named(file).collect::<Vec<_>>().join(", "))).collect()
}
