//! The text of a scenario and its `--set` overrides as one tree in which every key and value knows the words
//! it came from. Its own file because nothing here knows what a key means; and a tree of our own, not serde,
//! because serde stops at the first mistake and cannot hold values of several sources.

use super::diagnostic::{Diagnostic, Place, Source, nearest};
use super::schema;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A value and where it stands.
#[derive(Clone, Debug)]
pub struct Node {
    /// The words.
    pub place: Place,
    /// What they say.
    pub value: Value,
}

/// A value as far as TOML knows it; numbers stay text so that nothing is rounded.
#[derive(Clone, Debug)]
pub enum Value {
    /// "text"
    Text(String),
    /// A whole number, in decimal.
    Integer(String),
    /// A number with a point.
    Float(String),
    /// A list.
    List(Vec<Node>),
    /// A table.
    Table(Table),
    /// true or false
    Bool(bool),
    /// What no scenario has (a date), by its name.
    Other(&'static str),
}

impl Value {
    /// What people call a value of this kind.
    pub fn kind(&self) -> &'static str {
        match self {
            Value::Text(_) => "a text",
            Value::Integer(_) => "a whole number",
            Value::Float(_) => "a number",
            Value::List(_) => "a list",
            Value::Table(_) => "a table",
            Value::Bool(_) => "a truth value",
            Value::Other(name) => name,
        }
    }
}

/// A table; sorted by name, so that the order in the file can never matter.
#[derive(Clone, Debug, Default)]
pub struct Table {
    /// Its entries.
    pub entries: Vec<Entry>,
}

/// A key and its value.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The key.
    pub name: String,
    /// Where the key stands.
    pub key: Place,
    /// Its value.
    pub node: Node,
}

impl Table {
    /// The entry with this key.
    pub fn get(&self, name: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.name == name)
    }

    /// Put an entry in, in the place of one that has its name.
    fn put(&mut self, entry: Entry) {
        match self.entries.binary_search_by(|e| e.name.cmp(&entry.name)) {
            Ok(at) => self.entries[at] = entry,
            Err(at) => self.entries.insert(at, entry),
        }
    }
}

/// Parse the first source as TOML.
///
/// # Errors
/// Every syntax error that the parser finds.
pub fn parse(source: &Source) -> Result<Table, Vec<Diagnostic>> {
    let (root, errors) = DeTable::parse_recoverable(&source.text);
    if errors.is_empty() {
        return Ok(table(root.get_ref(), 0, 0));
    }
    let diagnostic = |error: &toml::de::Error| {
        let span = error.span().unwrap_or(source.text.len()..source.text.len());
        Diagnostic::new("this is not TOML")
            .at(Place::new(0, span), error.message())
            .instead("texts stand in quotes, lists in [brackets], one `key = value` a line")
    };
    Err(errors.iter().map(diagnostic).collect())
}

/// Apply one override, the text of source number `at`, to the tree.
///
/// # Errors
/// When it is no `KEY=VALUE` or its short name is unknown or ambiguous.
pub fn apply(root: &mut Table, source: &Source, at: usize, full: bool) -> Result<(), Box<Diagnostic>> {
    let text = &source.text;
    let whole = Place::new(at, 0..text.len());
    let Some((key, value)) = text.split_once('=') else {
        let diagnostic = Diagnostic::new("an override needs a key and a value").at(whole, "no `=` here");
        return Err(Box::new(diagnostic.instead("write KEY=VALUE, for example --set connections=4M")));
    };
    let name = key.trim();
    let start = key.len() - key.trim_start().len();
    let place = Place::new(at, start..start + name.len());
    let path = resolve(root, name, place, full)?;
    let last = path.rsplit('.').next().unwrap_or(&path);
    let node = override_value(value, at, key.len() + 1, schema::LISTS.contains(&last));
    insert(root, &path, place, node);
    Ok(())
}

/// The dotted path that an override's key means.
fn resolve(root: &Table, name: &str, place: Place, full: bool) -> Result<String, Box<Diagnostic>> {
    if full && name.strip_prefix("measure.").is_some_and(|key| schema::CONFORMITY.contains(&key)) {
        let key = name.trim_start_matches("measure.");
        let diagnostic =
            Diagnostic::new(format!("--full does not use `{name}`")).at(place, "has no effect with --full");
        return Err(Box::new(diagnostic.instead(format!("write {key}=… or full.{key}=…, or leave out --full"))));
    }
    if name.contains('.') || schema::keys("").contains(&name) {
        return Ok(name.to_owned());
    }
    let mut tables: Vec<&str> = schema::tables_with(name).filter(|table| is_used(root, table)).collect();
    // `measure` and `full` hold the same keys: which of them counts is known, so the short name is not ambiguous.
    // The same holds for `connections`, of which [full] may have its own.
    let full_counts = full
        && (schema::CONFORMITY.contains(&name) || find(root, "full").is_some_and(|table| table.get(name).is_some()));
    if tables.contains(&"full") {
        tables.retain(|table| (*table == "full") == full_counts);
    }
    // An axis may have the name of a key elsewhere: it is meant where the scenario sweeps it.
    if tables.len() > 1 && tables.contains(&"sweep") {
        let swept = find(root, "sweep").is_some_and(|table| table.get(name).is_some());
        tables.retain(|table| (*table == "sweep") == swept);
    }
    match tables[..] {
        [table] => Ok(schema::path(table, name)),
        [] => {
            let used = schema::TABLES.iter().filter(|(table, _)| is_used(root, table));
            let known = used.flat_map(|(_, groups)| groups.concat());
            let diagnostic = Diagnostic::new(format!("unknown key `{name}`")).at(place, "no such key in this scenario");
            Err(Box::new(match nearest(name, known) {
                Some(meant) => diagnostic.instead(format!("did you mean `{meant}`?")),
                None => diagnostic.instead("write a key of the scenario, or its whole path as in measure.repetitions"),
            }))
        }
        _ => {
            let paths: Vec<String> = tables.iter().map(|table| format!("`{}`", schema::path(table, name))).collect();
            let diagnostic = Diagnostic::new(format!("`{name}` could be several keys")).at(place, "ambiguous");
            Err(Box::new(diagnostic.instead(format!("write one of {}", paths.join(", ")))))
        }
    }
}

/// Whether a table takes part in short names: DUTs and links only when the scenario has them, and what is a gateway's and
/// not a scenario's.
fn is_used(root: &Table, table: &str) -> bool {
    (!table.contains('.') && table != "gateway") || find(root, table).is_some()
}

/// The table at a dotted path.
fn find<'a>(root: &'a Table, path: &str) -> Option<&'a Table> {
    path.split('.').try_fold(root, |table, name| match &table.get(name)?.node.value {
        Value::Table(inner) => Some(inner),
        _ => None,
    })
}

/// The value of an override: TOML where it is TOML, a list with commas, else the bare words.
fn override_value(text: &str, source: usize, offset: usize, is_list: bool) -> Node {
    let trimmed = text.trim();
    let offset = offset + text.len() - text.trim_start().len();
    if is_list && trimmed.contains(',') && !trimmed.starts_with('[') {
        let mut at = offset;
        let mut items = Vec::new();
        for part in trimmed.split(',') {
            items.push(override_value(part, source, at, false));
            at += part.len() + 1;
        }
        return Node { place: Place::new(source, offset..offset + trimmed.len()), value: Value::List(items) };
    }
    match DeValue::parse(trimmed) {
        Ok(value) if !matches!(value.get_ref(), DeValue::Datetime(_)) => node(&value, source, offset),
        _ => Node { place: Place::new(source, offset..offset + trimmed.len()), value: Value::Text(trimmed.to_owned()) },
    }
}

/// Put a value at a dotted path; where something that is no table stands in the way, the reader will complain.
fn insert(root: &mut Table, path: &str, key: Place, node: Node) {
    let mut names: Vec<&str> = path.split('.').collect();
    let last = names.pop().unwrap_or(path);
    let mut table = root;
    for name in names {
        if table.get(name).is_none() {
            let empty = Node { place: key, value: Value::Table(Table::default()) };
            table.put(Entry { name: name.to_owned(), key, node: empty });
        }
        let entry = table.entries.iter_mut().find(|entry| entry.name == name);
        match entry.map(|entry| &mut entry.node.value) {
            Some(Value::Table(inner)) => table = inner,
            _ => return,
        }
    }
    table.put(Entry { name: last.to_owned(), key, node });
}

fn table(from: &DeTable<'_>, source: usize, offset: usize) -> Table {
    let mut table = Table::default();
    for (key, value) in from {
        let span = key.span();
        let key_place = Place::new(source, span.start + offset..span.end + offset);
        let node = node(value, source, offset);
        table.put(Entry { name: key.get_ref().to_string(), key: key_place, node });
    }
    table
}

fn node(from: &Spanned<DeValue<'_>>, source: usize, offset: usize) -> Node {
    let span = from.span();
    let value = match from.get_ref() {
        DeValue::String(text) => Value::Text(text.to_string()),
        DeValue::Integer(n) => match i128::from_str_radix(n.as_str(), n.radix()) {
            Ok(n) => Value::Integer(n.to_string()),
            Err(_) => Value::Integer(n.as_str().to_owned()),
        },
        DeValue::Float(n) => Value::Float(n.as_str().to_owned()),
        DeValue::Array(items) => Value::List(items.iter().map(|item| node(item, source, offset)).collect()),
        DeValue::Table(inner) => Value::Table(table(inner, source, offset)),
        DeValue::Boolean(yes) => Value::Bool(*yes),
        DeValue::Datetime(_) => Value::Other("a date or time"),
    };
    Node { place: Place::new(source, span.start + offset..span.end + offset), value }
}
