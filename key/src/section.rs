//! Reads the tables of a tree. A refused value becomes a fault and reading continues, so that all errors are shown at
//! once.

use crate::declare::{Absent, Default, Table};
use crate::fault::{At, Fault};
use crate::kind::Kind;
use crate::source::SourceSpan;
use crate::spans::Spans;
use crate::tree::{Node, Tree, TreeTable, default_value};
use crate::value::{Value, Wrong};

/// A tree while it is read.
pub struct Sections<'a> {
    tree: &'a Tree,
    /// Where its values stand, and which were refused.
    pub spans: Spans,
    /// Faults so far.
    pub faults: Vec<Fault>,
}

impl<'a> Sections<'a> {
    /// Begins to read a tree.
    pub fn of(tree: &'a Tree) -> Sections<'a> {
        Sections { tree, spans: Spans::of(tree), faults: Vec::new() }
    }

    /// Reads the table at a dotted path; an absent one has its defaults.
    pub fn table<T: Table>(&mut self, path: &str) -> Option<T> {
        T::read(&mut self.section(path))
    }

    /// The table at a dotted path; an absent one reads as empty.
    pub fn section(&mut self, path: &str) -> Section<'_> {
        Section {
            path: path.to_owned(),
            table: self.tree.table(path),
            spans: &mut self.spans,
            faults: &mut self.faults,
        }
    }

    /// Whether the file has a table or a key at a path.
    pub fn has(&self, path: &str) -> bool {
        self.spans.has(path)
    }
}

/// One table while it is read.
pub struct Section<'a> {
    path: String,
    table: Option<&'a TreeTable>,
    spans: &'a mut Spans,
    faults: &'a mut Vec<Fault>,
}

impl<'a> Section<'a> {
    /// Its dotted path.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Whether a key is there.
    pub fn has(&self, key: &str) -> bool {
        self.table.is_some_and(|table| table.get(key).is_some())
    }

    /// Reads a key. None where its value is refused, or where it must be there and is not: that is a fault then.
    pub fn get<T, K: Kind<Out = T>>(&mut self, key: &str, kind: &K, default: Default) -> Option<T> {
        let path = join(&self.path, key);
        let Some(entry) = self.table.and_then(|table| table.get(key)) else {
            return self.absent(key, kind, default);
        };
        let mut refused = Vec::new();
        let read =
            kind.read(&entry.node, &path, &mut |path, place, wrong| refused.push((path.to_owned(), place, wrong)));
        for (item, place, wrong) in refused {
            self.spans.refuse(&path);
            self.spans.refuse(&item);
            let fault = Fault::new(format!("wrong value of `{path}`")).at(place, wrong.what);
            self.faults.push(fault.instead(wrong.instead));
        }
        // A placeholder, so that the rest of the file is checked, too. Rules that need the value are skipped.
        read.or_else(|| default_of(kind, default))
    }

    fn absent<T, K: Kind<Out = T>>(&mut self, key: &str, kind: &K, default: Default) -> Option<T> {
        if let Absent::Needed(example) = default.absent {
            let title = match self.path.as_str() {
                "" => format!("the file has no `{key}`"),
                path => format!("{} has no `{key}`", heading(path)),
            };
            let fault = Fault::new(title).at(At::key(&self.path), "this table");
            self.faults.push(fault.instead(format!("add {key} = {example}")));
        }
        default_of(kind, default)
    }

    /// Reads the tables of an array, one after the other. None where the key is absent; something else there is a fault.
    pub fn each<T>(&mut self, key: &str, mut read: impl FnMut(&mut Section<'_>) -> T) -> Option<Vec<T>> {
        let entry = self.table?.get(key)?;
        let path = join(&self.path, key);
        let nodes = if let Value::List(nodes) = &entry.node.value { nodes.as_slice() } else { &[] };
        let table = |node: &'a Node| if let Value::Table(table) = &node.value { Some(table) } else { None };
        let tables: Vec<&TreeTable> = nodes.iter().map_while(table).collect();
        if tables.is_empty() || tables.len() < nodes.len() {
            let fault =
                Fault::new(format!("`{path}` must be an array of tables")).at(entry.key, "not an array of tables");
            self.faults.push(fault.instead(format!("write [[{path}]], with two brackets, above each table")));
            return Some(Vec::new());
        }
        let section = |(at, table)| {
            let path = format!("{path}[{at}]");
            read(&mut Section { path, table: Some(table), spans: &mut *self.spans, faults: &mut *self.faults })
        };
        Some(tables.into_iter().enumerate().map(section).collect())
    }

    /// Adds a fault; its paths that begin with a dot are of this table.
    pub fn fault(&mut self, fault: Fault) {
        self.faults.push(fault.below(&self.path));
    }
}

fn default_of<T, K: Kind<Out = T>>(kind: &K, default: Default) -> Option<T> {
    match default.absent {
        Absent::Written(text) => {
            let mut refused = None;
            let read = kind.read(&default_value(text), "", &mut |_, _, wrong| refused = Some(wrong));
            assert!(refused.is_none(), "the default `{text}` is refused: {refused:?}");
            read
        }
        Absent::Computed(_) => kind.absent(),
        Absent::Needed(_) => None,
    }
}

/// A value as TOML has it: bare words get quotes.
pub(crate) fn as_toml(text: &str) -> String {
    match default_value(text).value {
        Value::Text(words) if !text.starts_with('"') => format!("\"{words}\""),
        _ => text.to_owned(),
    }
}

/// A table as its heading has it; of an array of tables without the number.
fn heading(path: &str) -> String {
    path.rsplit_once('[').map_or_else(|| format!("[{path}]"), |(array, _)| format!("[[{array}]]"))
}

/// Dotted path of a key.
pub(crate) fn join(table: &str, key: &str) -> String {
    if table.is_empty() { key.to_owned() } else { format!("{table}.{key}") }
}

/// What a kind calls for every part of a value that it refuses: path, words, and why.
pub(crate) type Refuse<'a> = dyn FnMut(&str, SourceSpan, Wrong) + 'a;
