//! A file and its overrides as a tree with source spans.

use crate::source::{Source, SourceSpan};
use std::fmt;

/// A value; numbers stay text, so that they are not rounded.
#[derive(Clone, Debug)]
pub enum Value {
    Text(String),
    Integer(String),
    Float(String),
    List(Vec<Node>),
    /// A table: inline, or an element of an array of tables.
    Table(TreeTable),
    Bool(bool),
    /// A type that no key has (a date).
    Other(&'static str),
}

impl Value {
    /// Returns the name of the type, with article.
    pub fn type_name(&self) -> &'static str {
        match self {
            Value::Text(_) => "a string",
            Value::Integer(_) => "an integer",
            Value::Float(_) => "a number",
            Value::List(_) => "a list",
            Value::Table(_) => "a table",
            Value::Bool(_) => "a boolean",
            Value::Other(name) => name,
        }
    }

    pub fn as_text(&self) -> Option<&str> {
        if let Value::Text(text) = self { Some(text) } else { None }
    }

    pub fn as_table(&self) -> Option<&TreeTable> {
        if let Value::Table(table) = self { Some(table) } else { None }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Text(text) => write!(f, "{text:?}"),
            Value::Integer(number) | Value::Float(number) => f.write_str(number),
            Value::Bool(yes) => write!(f, "{yes}"),
            Value::Other(name) => f.write_str(name),
            Value::List(items) => {
                let items: Vec<String> = items.iter().map(|item| item.value.to_string()).collect();
                write!(f, "[{}]", items.join(", "))
            }
            Value::Table(table) => {
                let entries = table.entries().iter().map(|entry| format!("{} = {}", entry.name, entry.node.value));
                write!(f, "{{ {} }}", entries.collect::<Vec<_>>().join(", "))
            }
        }
    }
}

#[derive(Clone, Debug)]
pub struct Node {
    pub place: SourceSpan,
    pub value: Value,
}

#[derive(Clone, Debug, Default)]
pub struct TreeTable {
    entries: Vec<TreeEntry>,
}

#[derive(Clone, Debug)]
pub struct TreeEntry {
    pub name: String,
    pub key: SourceSpan,
    pub node: Node,
}

#[derive(Clone, Debug, Default)]
pub struct Tree {
    /// The file first, then the overrides.
    pub sources: Vec<Source>,
    pub root: TreeTable,
}

impl TreeTable {
    pub fn entries(&self) -> &[TreeEntry] {
        &self.entries
    }

    pub fn get(&self, name: &str) -> Option<&TreeEntry> {
        self.at(name).ok().map(|at| &self.entries[at])
    }

    pub fn table(&self, name: &str) -> Option<&TreeTable> {
        self.get(name)?.node.value.as_table()
    }

    pub fn table_mut(&mut self, name: &str) -> Option<&mut TreeTable> {
        let at = self.at(name).ok()?;
        if let Value::Table(table) = &mut self.entries[at].node.value { Some(table) } else { None }
    }

    pub fn put(&mut self, entry: TreeEntry) {
        match self.at(&entry.name) {
            Ok(at) => self.entries[at] = entry,
            Err(at) => self.entries.insert(at, entry),
        }
    }

    pub fn take(&mut self, name: &str) -> Option<TreeEntry> {
        self.at(name).ok().map(|at| self.entries.remove(at))
    }

    /// Keeps the entries whose names `is_kept` accepts.
    pub fn retain(&mut self, is_kept: impl Fn(&str) -> bool) {
        self.entries.retain(|entry| is_kept(&entry.name));
    }

    fn at(&self, name: &str) -> Result<usize, usize> {
        self.entries.binary_search_by(|entry| entry.name.as_str().cmp(name))
    }
}

impl Tree {
    pub fn table(&self, path: &str) -> Option<&TreeTable> {
        if path.is_empty() {
            return Some(&self.root);
        }
        path.split('.').try_fold(&self.root, |table, name| table.table(name))
    }

    pub fn get(&self, path: &str) -> Option<&TreeEntry> {
        let (table, name) = path.rsplit_once('.').unwrap_or(("", path));
        self.table(table)?.get(name)
    }

    /// Inserts a value at a path, unless a part of it is no table, which reading reports.
    pub fn insert(&mut self, path: &str, key: SourceSpan, node: Node) {
        let (tables, last) = path.rsplit_once('.').unwrap_or(("", path));
        let mut table = &mut self.root;
        for name in tables.split('.').filter(|name| !name.is_empty()) {
            if table.get(name).is_none() {
                let empty = Node { place: key, value: Value::Table(TreeTable::default()) };
                table.put(TreeEntry { name: name.to_owned(), key, node: empty });
            }
            let Some(inner) = table.table_mut(name) else { return };
            table = inner;
        }
        table.put(TreeEntry { name: last.to_owned(), key, node });
    }
}
