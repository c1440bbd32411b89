//! The place of each value by path: `traffic.inside`, `sweep.connections[2]`, `technology.map-e.rule[1].ea-bits`.

use crate::source::SourceSpan;
use crate::tree::{Node, Tree, TreeEntry, TreeTable, Value};
use std::collections::HashSet;

#[derive(Clone, Debug, Default)]
pub struct Spans {
    root: TreeTable,
    /// Lists with a range, searched only once.
    with_ranges: HashSet<SourceSpan>,
    wrong: HashSet<String>,
}

impl Spans {
    pub fn of(tree: &Tree) -> Spans {
        let mut with_ranges = HashSet::new();
        for entry in tree.root.entries() {
            note_ranges(&entry.node, &mut with_ranges);
        }
        Spans { root: tree.root.clone(), with_ranges, wrong: HashSet::new() }
    }

    /// The words of a value, unless a default; a single value is item 0 of a list.
    pub fn value(&self, path: &str) -> Option<SourceSpan> {
        self.node(path).map(|node| node.place).filter(|place| !place.is_empty())
    }

    /// Where a key or the name of a table stands.
    pub fn key(&self, path: &str) -> Option<SourceSpan> {
        match split_index(path) {
            (_, Some(_)) => self.value(path),
            (path, None) => self.entry(path).map(|entry| entry.key),
        }
    }

    /// Whether the file or an override gives this value.
    pub fn has(&self, path: &str) -> bool {
        self.node(path).is_some_and(|node| !node.place.is_empty() || matches!(node.value, Value::Table(_)))
    }

    pub fn texts(&self, path: &str) -> Vec<(&str, SourceSpan)> {
        fn below<'a>(node: &'a Node, all: &mut Vec<(&'a str, SourceSpan)>) {
            match &node.value {
                Value::Text(text) => all.push((text, node.place)),
                Value::List(list) => list.iter().for_each(|node| below(node, all)),
                Value::Table(table) => table.entries().iter().for_each(|entry| below(&entry.node, all)),
                _ => {}
            }
        }
        let mut all = Vec::new();
        if let Some(node) = self.node(path) {
            below(node, &mut all);
        }
        all
    }

    pub fn refuse(&mut self, path: &str) {
        self.wrong.insert(path.to_owned());
    }

    /// Whether a path, or its list, was refused.
    pub fn is_wrong(&self, path: &str) -> bool {
        self.wrong.contains(path) || path.rsplit_once('[').is_some_and(|(list, _)| self.wrong.contains(list))
    }

    fn node(&self, path: &str) -> Option<&Node> {
        let (names, index) = split_index(path);
        let node = &self.entry(names)?.node;
        match (index, &node.value) {
            // A range stands for several values.
            (Some(_), Value::List(_)) if self.with_ranges.contains(&node.place) => Some(node),
            (Some(_), one) if is_range(one) => Some(node),
            (Some(at), Value::List(items)) => items.get(at),
            (Some(at), _) => Some(node).filter(|_| at == 0),
            (None, _) => Some(node),
        }
    }

    fn entry(&self, path: &str) -> Option<&TreeEntry> {
        let (tables, last) = path.rsplit_once('.').unwrap_or(("", path));
        let mut table = &self.root;
        for name in tables.split('.').filter(|name| !name.is_empty()) {
            let (name, index) = split_index(name);
            table = match (&table.get(name)?.node.value, index) {
                (Value::List(items), Some(at)) => items.get(at)?.value.as_table()?,
                (value, None | Some(0)) => value.as_table()?,
                _ => return None,
            };
        }
        table.get(last)
    }
}

fn note_ranges(node: &Node, found: &mut HashSet<SourceSpan>) {
    match &node.value {
        Value::List(items) => {
            if items.iter().any(|item| is_range(&item.value)) {
                found.insert(node.place);
            }
            for item in items {
                note_ranges(item, found);
            }
        }
        Value::Table(table) => {
            for entry in table.entries() {
                note_ranges(&entry.node, found);
            }
        }
        _ => {}
    }
}

fn is_range(value: &Value) -> bool {
    matches!(value, Value::Text(text) if text.contains(".."))
}

fn split_index(name: &str) -> (&str, Option<usize>) {
    let index = |name: &str| {
        let (list, rest) = name.rsplit_once('[')?;
        Some((list.len(), rest.strip_suffix(']')?.parse().ok()?))
    };
    match index(name) {
        Some((end, at)) => (&name[..end], Some(at)),
        None => (name, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spans_of(text: &str) -> Spans {
        Spans::of(&crate::read("f", text).unwrap())
    }

    /// The items of a range have no words of their own.
    #[test]
    fn items_of_a_list_with_a_range_are_the_list() {
        let text = "[t]\nranges = [\"1\", \"2..8 double\"]\nnumbers = [1, 2]\n[[t.rule]]\nlist = [\"1..2\"]\n";
        let spans = spans_of(text);
        let words = |path: &str| spans.value(path).map(|p| &text[p.start..p.end]);
        assert_eq!((words("t.ranges[0]"), words("t.ranges[3]")), (words("t.ranges"), words("t.ranges")));
        assert_eq!((words("t.numbers[1]"), words("t.numbers[2]")), (Some("2"), None));
        assert_eq!(words("t.rule[0].list[1]"), Some("[\"1..2\"]"));
    }

    #[test]
    fn paths_find_words() {
        let text = "a = 1\n[t]\nlist = [\"x\", \"y\"]\none = 7\n[[t.rule]]\nk = 2\n[[t.rule]]\nk = 3\n";
        let spans = spans_of(text);
        let words = |path: &str| spans.value(path).map(|p| &text[p.start..p.end]);
        assert_eq!(words("a"), Some("1"));
        assert_eq!(words("t.list[1]"), Some("\"y\""));
        assert_eq!((words("t.one[0]"), words("t.one[1]")), (Some("7"), None));
        assert_eq!((words("t.rule[1].k"), words("t.rule[2].k")), (Some("3"), None));
        assert_eq!((words("t[0].one"), words("t[1].one")), (Some("7"), None));
        assert_eq!(spans.key("t.one").map(|p| &text[p.start..p.end]), Some("one"));
        assert_eq!(spans.texts("t").into_iter().map(|(text, _)| text).collect::<Vec<_>>(), ["x", "y"]);
    }
}
