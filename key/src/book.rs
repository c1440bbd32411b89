//! All tables of a kind of file, for errors about unknown keys, the JSON Schema and the reference page.

use crate::declare::{Key, Table};
use crate::did_you_mean::did_you_mean;
use crate::fault::{Complaints, Fault};
use crate::section::{Sections, join};
use crate::tree::{Tree, TreeEntry, TreeTable, Value};

pub struct Chapter {
    /// Dotted path; empty at the top level.
    pub path: String,
    pub about: String,
    pub keys: Vec<&'static Key>,
    /// Whether the table is an array: `[[path]]`.
    pub is_array: bool,
    /// Whether another table may hold its required keys.
    pub is_lenient: bool,
}

impl Chapter {
    pub fn of<T: Table>(path: impl Into<String>) -> Chapter {
        Chapter::with(path, T::about(), T::keys())
    }

    pub fn with(path: impl Into<String>, about: impl Into<String>, keys: Vec<&'static Key>) -> Chapter {
        Chapter { path: path.into(), about: about.into(), keys, is_array: false, is_lenient: false }
    }

    /// Marks the table as an array of tables: `[[path]]`.
    #[must_use]
    pub fn as_array(self) -> Chapter {
        Chapter { is_array: true, ..self }
    }

    #[must_use]
    pub fn lenient(self) -> Chapter {
        Chapter { is_lenient: true, ..self }
    }

    fn has(&self, key: &str) -> bool {
        self.keys.iter().any(|known| known.name == key)
    }
}

#[derive(Default)]
pub struct Book {
    /// Chapters in the order of the reference page.
    pub chapters: Vec<Chapter>,
    pub slips: &'static [Slip],
    /// The table of other values for the same file, if any.
    pub variants: Option<Variants>,
}

/// A table of named tables, each of which may have the file's tables and keys.
#[derive(Clone, Copy, Debug)]
pub struct Variants {
    /// Name of the table, at the top level.
    pub table: &'static str,
    pub about: &'static str,
}

/// Words that are no keys, in lower case with `-`, and what to write instead.
pub type Slip = (&'static [&'static str], &'static str);

impl Book {
    /// Parses a text, called `name` in messages, and converts its tables with `read`. `rules` refuse inconsistent
    /// values.
    pub fn load<T>(
        &self,
        name: &str,
        text: &str,
        read: impl FnOnce(&mut Sections<'_>) -> Option<T>,
        rules: impl FnOnce(&T) -> Vec<Fault>,
    ) -> Result<T, Complaints> {
        let tree = crate::read(name, text)?;
        let mut faults = self.unknown(&tree);
        let mut sections = Sections::of(&tree);
        let read = read(&mut sections);
        let Sections { spans, faults: values, .. } = sections;
        faults.extend(values);
        let rules = read.as_ref().map(rules).unwrap_or_default();
        let complaints = Complaints::new(tree.sources, &spans, faults, rules);
        read.filter(|_| complaints.is_empty()).ok_or(complaints)
    }

    /// What to write instead of a word that is no key.
    pub fn slip(&self, word: &str) -> Option<&'static str> {
        let word = word.to_lowercase().replace('_', "-");
        self.slips.iter().find(|(words, _)| words.contains(&word.as_str())).map(|(_, instead)| *instead)
    }

    pub fn chapter(&self, path: &str) -> Option<&Chapter> {
        self.chapters.iter().find(|chapter| chapter.path == path)
    }

    pub fn key(&self, path: &str) -> Option<&'static Key> {
        let (table, name) = path.rsplit_once('.').unwrap_or(("", path));
        self.chapter(table)?.keys.iter().copied().find(|key| key.name == name)
    }

    pub fn tables_with<'a>(&'a self, key: &'a str) -> impl Iterator<Item = &'a Chapter> {
        self.chapters.iter().filter(move |chapter| chapter.has(key))
    }

    /// The tables below one, by their last names: `kinds("dut")`.
    pub fn kinds<'a>(&'a self, of: &'a str) -> impl Iterator<Item = &'a str> {
        let below = self.chapters.iter().filter_map(move |chapter| chapter.path.strip_prefix(of)?.strip_prefix('.'));
        below.filter(|kind| !kind.contains('.'))
    }

    /// A fault for every key and table that no chapter has.
    pub fn unknown(&self, tree: &Tree) -> Vec<Fault> {
        let mut faults = Vec::new();
        self.look_at("", "", &tree.root, &mut faults);
        faults
    }

    /// Looks at the table at a path, in the variant with this path, if any.
    fn look_at(&self, variant: &str, path: &str, table: &TreeTable, faults: &mut Vec<Fault>) {
        let chapter = self.chapter(path);
        for entry in table.entries() {
            let full = join(path, &entry.name);
            if chapter.is_some_and(|chapter| chapter.has(&entry.name)) {
                continue;
            }
            if variant.is_empty() && path.is_empty() && self.variants.is_some_and(|of| of.table == entry.name) {
                self.look_at_variants(entry, faults);
                continue;
            }
            if !self.is_table(&full) {
                faults.push(self.unknown_key(variant, path, chapter, entry));
                continue;
            }
            let is_array = self.chapter(&full).is_some_and(|chapter| chapter.is_array);
            match &entry.node.value {
                Value::Table(inner) if !is_array => self.look_at(variant, &full, inner, faults),
                Value::List(items) if is_array => {
                    for inner in items.iter().filter_map(|item| item.value.as_table()) {
                        self.look_at(variant, &full, inner, faults);
                    }
                }
                _ if is_array => {}
                other => faults.push(self.no_table(&full, entry, other)),
            }
        }
    }

    fn look_at_variants(&self, all: &TreeEntry, faults: &mut Vec<Fault>) {
        let no_table = |path: &str, entry: &TreeEntry| {
            let fault = Fault::new(format!("`{path}` must be a table"));
            let fault = fault.at(entry.node.place, format!("{} here", entry.node.value.type_name()));
            fault.instead(format!("write a table with a name, for example [{}.NAME.sweep]", all.name))
        };
        let Value::Table(variants) = &all.node.value else { return faults.push(no_table(&all.name, all)) };
        for variant in variants.entries() {
            let path = join(&all.name, &variant.name);
            match &variant.node.value {
                Value::Table(inner) => self.look_at(&path, "", inner, faults),
                _ => faults.push(no_table(&path, variant)),
            }
        }
    }

    fn is_table(&self, path: &str) -> bool {
        let below = |chapter: &Chapter| chapter.path.strip_prefix(path).is_some_and(|rest| rest.starts_with('.'));
        self.chapters.iter().any(|chapter| chapter.path == path || below(chapter))
    }

    fn no_table(&self, path: &str, entry: &TreeEntry, value: &Value) -> Fault {
        let fault =
            Fault::new(format!("`{path}` must be a table")).at(entry.node.place, format!("{} here", value.type_name()));
        let fault = if entry.node.place.source == entry.key.source { fault } else { fault.at(entry.key, "this key") };
        match self.kinds(path).next() {
            Some(kind) => fault.instead(format!("write a table for a kind, for example [{path}.{kind}]")),
            None => fault.instead(format!("write [{path}] on a separate line, and its keys below")),
        }
    }

    fn unknown_key(&self, variant: &str, path: &str, chapter: Option<&Chapter>, entry: &TreeEntry) -> Fault {
        let name = entry.name.as_str();
        let shown = if path.is_empty() { variant.to_owned() } else { join(variant, path) };
        let tables = || {
            let below = self.chapters.iter().filter_map(|chapter| {
                let rest =
                    if path.is_empty() { &chapter.path } else { chapter.path.strip_prefix(path)?.strip_prefix('.')? };
                rest.split('.').next().filter(|name| !name.is_empty())
            });
            let mut all: Vec<&str> = below.collect();
            all.dedup();
            all
        };
        let is_table = matches!(entry.node.value, Value::Table(_));
        let what = if is_table { "table" } else { "key" };
        let place = match shown.as_str() {
            "" => "at the top level".to_owned(),
            path => format!("in [{path}]"),
        };
        let title = if is_table {
            format!("unknown table [{}]", join(&shown, name))
        } else {
            format!("unknown key `{name}` {place}")
        };
        let fault = Fault::new(title).at(entry.key, format!("no such {what} here"));
        if let Some(instead) = self.slip(name).filter(|_| !is_table) {
            return fault.instead(instead);
        }
        let known: Vec<&str> = chapter.iter().flat_map(|chapter| &chapter.keys).map(|key| key.name).collect();
        if let Some(meant) = did_you_mean(name, known.iter().copied()).filter(|_| !is_table) {
            return fault.instead(format!("did you mean `{meant}`?"));
        }
        if let Some(meant) = did_you_mean(name, tables()) {
            return fault.instead(format!("did you mean [{}]?", join(path, meant)));
        }
        let others = || self.tables_with(name).map(|other| other.path.as_str());
        // An axis may have the name of other devices' key.
        let is_axis_of_others = others().any(|path| path == "sweep") && others().any(|path| path.starts_with("dut."));
        let elsewhere = self.tables_with(name).find(|other| !other.path.contains('.'));
        if let Some(other) = elsewhere.filter(|_| !is_table && !is_axis_of_others) {
            let other = match other.path.as_str() {
                "" => "the top level, above all tables".to_owned(),
                path => format!("[{path}]"),
            };
            return fault.instead(format!("`{name}` belongs to {other}"));
        }
        let mut ways = Vec::new();
        if !known.is_empty() {
            ways.push(format!("keys are {}", known.join(", ")));
        }
        if !tables().is_empty() {
            let all: Vec<String> = tables().iter().map(|name| format!("[{}]", join(path, name))).collect();
            ways.push(format!("tables are {}", all.join(", ")));
        }
        fault.instead(if ways.is_empty() { "this table has no keys".to_owned() } else { ways.join("; ") })
    }
}
