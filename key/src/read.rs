//! Reads a file or an override into a tree; serde would stop at the first error.

use crate::fault::{Complaints, Fault};
use crate::source::{Source, SourceSpan};
use crate::spans::Spans;
use crate::tree::{Node, Tree, TreeEntry, TreeTable, Value};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Parses a text, called `name` in messages.
pub fn read(name: &str, text: &str) -> Result<Tree, Complaints> {
    let sources = vec![Source { name: name.to_owned(), text: text.to_owned() }];
    let (root, errors) = DeTable::parse_recoverable(text);
    if errors.is_empty() {
        return Ok(Tree { sources, root: table(root.get_ref(), 0, 0) });
    }
    let fault = |error: &toml::de::Error| {
        let span = error.span().unwrap_or(text.len()..text.len());
        let instead = quoted_quantity(text, span.start)
            .unwrap_or_else(|| "write strings in quotes, lists in [brackets], and one `key = value` per line".into());
        Fault::new("this is not TOML").at(SourceSpan::new(0, span), error.message()).instead(instead)
    };
    Err(Complaints::new(sources, &Spans::default(), errors.iter().map(fault).collect(), Vec::new()))
}

fn quoted_quantity(text: &str, at: usize) -> Option<String> {
    let at = text.floor_char_boundary(at);
    let start = text[..at].rfind('\n').map_or(0, |newline| newline + 1);
    let line = text[start..].lines().next()?;
    let (key, rest) = line.split_once('=')?;
    let value = rest.split('#').next()?.trim();
    let unit = value.trim_start_matches(|c: char| c.is_ascii_digit() || "._ ".contains(c));
    let has_unit = value.starts_with(|c: char| c.is_ascii_digit())
        && !unit.is_empty()
        && unit.chars().all(|c| c.is_alphabetic() || "%/".contains(c));
    // A bare `m` is taken for minutes.
    let value = match value.strip_suffix('m').map(str::trim_end) {
        Some(number) if unit == "m" => format!("{number} min"),
        _ => value.to_owned(),
    };
    has_unit.then(|| format!("write {} = \"{value}\": a value with a unit needs quotes", key.trim()))
}

/// Parses an override at byte `offset` of its source: with `is_list`, commas make a list; else TOML if it parses,
/// otherwise a string, as is a date.
pub fn override_value(text: &str, source: usize, offset: usize, is_list: bool) -> Node {
    let trimmed = text.trim();
    let offset = offset + text.len() - text.trim_start().len();
    let place = SourceSpan::new(source, offset..offset + trimmed.len());
    if is_list && trimmed.contains(',') && !trimmed.starts_with(['[', '{']) {
        let mut at = offset;
        let mut items = Vec::new();
        for part in trimmed.split(',') {
            items.push(override_value(part, source, at, false));
            at += part.len() + 1;
        }
        return Node { place, value: Value::List(items) };
    }
    match DeValue::parse(trimmed) {
        Ok(value) if !matches!(value.get_ref(), DeValue::Datetime(_)) => node(&value, source, offset),
        _ => Node { place, value: Value::Text(trimmed.to_owned()) },
    }
}

impl Tree {
    /// Inserts a default, which the file does not contain, unless the path has a value. `written` has the form of a
    /// value after `--set KEY=`.
    pub fn insert_default(&mut self, path: &str, key: SourceSpan, written: &str) {
        if self.get(path).is_none() {
            let place = SourceSpan::new(key.source, key.start..key.start);
            self.insert(path, key, Node { place, ..default_value(written) });
        }
    }
}

pub(crate) fn default_value(text: &str) -> Node {
    override_value(text, 0, 0, false)
}

fn table(from: &DeTable<'_>, source: usize, offset: usize) -> TreeTable {
    let mut table = TreeTable::default();
    for (key, value) in from {
        let span = key.span();
        let key_place = SourceSpan::new(source, span.start + offset..span.end + offset);
        let node = node(value, source, offset);
        table.put(TreeEntry { name: key.get_ref().to_string(), key: key_place, node });
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
    Node { place: SourceSpan::new(source, span.start + offset..span.end + offset), value }
}
