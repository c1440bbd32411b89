//! Reads the tables of a tree; a refused value becomes a fault and reading continues.

use crate::default::{Absent, Default};
use crate::fault::{At, Fault, Refusal};
use crate::kind::ValueKind;
use crate::read::default_value;
use crate::source::SourceSpan;
use crate::spans::Spans;
use crate::tree::{Tree, TreeTable, Value};

pub struct Sections<'a> {
    pub tree: &'a Tree,
    pub spans: Spans,
    pub faults: Vec<Fault>,
    /// How to give several values, where a key takes one.
    pub several: Option<ListAdvice>,
}

/// What to write instead of a list, at a path.
pub type ListAdvice = fn(&str) -> String;

impl<'a> Sections<'a> {
    pub fn of(tree: &'a Tree) -> Sections<'a> {
        Sections { tree, spans: Spans::of(tree), faults: Vec::new(), several: None }
    }

    /// The table at a path, empty if absent.
    pub fn section(&mut self, path: &str) -> Section<'_> {
        Section {
            path: path.to_owned(),
            table: self.tree.table(path),
            spans: &mut self.spans,
            faults: &mut self.faults,
            several: self.several,
            part: None,
        }
    }

    pub fn refuse(&mut self, title: impl Into<String>) -> Refusal<'_> {
        Refusal::among(&mut self.faults, title)
    }

    /// Whether the file has a table or a key at a path.
    pub fn has(&self, path: &str) -> bool {
        self.spans.has(path)
    }
}

pub struct Section<'a> {
    path: String,
    table: Option<&'a TreeTable>,
    spans: &'a mut Spans,
    faults: &'a mut Vec<Fault>,
    several: Option<ListAdvice>,
    /// The only part of a technology that the table is for.
    pub part: Option<&'static str>,
}

impl Section<'_> {
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Whether the file or a `--set` gives the key.
    pub fn has(&self, key: &str) -> bool {
        self.table.is_some_and(|table| table.get(key).is_some())
    }

    /// Reads a key; none with a fault, or if a needed one is absent.
    pub fn get<T, K: ValueKind<Out = T>>(&mut self, key: &str, kind: &K, default: Default) -> Option<T> {
        let path = join(&self.path, key);
        let Some(entry) = self.table.and_then(|table| table.get(key)) else {
            return self.absent(key, kind, default);
        };
        let mut refused = Vec::new();
        let read =
            kind.read(&entry.node, &path, &mut |path, place, wrong| refused.push((path.to_owned(), place, wrong)));
        let several = if kind.shape().is_list { None } else { values_of(&entry.node.value) };
        for (item, place, wrong) in refused {
            self.spans.refuse(&path);
            self.spans.refuse(&item);
            let fault = Fault::new(format!("wrong value of `{path}`"));
            self.faults.push(match &several {
                Some(values) => self.one_value(fault, place, &path, key, values),
                None => fault.at(place, wrong.what).instead(wrong.instead),
            });
        }
        // A placeholder, so that the rest of the file is checked.
        read.or_else(|| default_of(kind, default))
    }

    fn one_value(&self, fault: Fault, place: SourceSpan, path: &str, key: &str, values: &[String]) -> Fault {
        let fault = fault.at(place, format!("{} values here; `{key}` takes one", values.len()));
        let joined = crate::quantity::without_thousands_commas(&values.join(","));
        let fault = match joined {
            Some(number) => fault.instead(format!("write {number} if the comma separates thousands")),
            None => fault.instead(format!("write one value, such as {}", values[0])),
        };
        match self.several {
            Some(several) => fault.instead(several(path)),
            None => fault,
        }
    }

    fn absent<T, K: ValueKind<Out = T>>(&mut self, key: &str, kind: &K, default: Default) -> Option<T> {
        if let Absent::Needed(example) = default.absent {
            if default.without.is_some() && default.without == self.part {
                // A placeholder: no code of this part reads the value.
                return default_of(kind, crate::or(example));
            }
            let title = match self.path.as_str() {
                "" => format!("the file has no `{key}`"),
                path => format!("{} has no `{key}`", heading(path)),
            };
            let refusal = Refusal::among(self.faults, title).at(At::key(&self.path), "this table");
            refusal.instead(format!("add {key} = {example}"));
        }
        default_of(kind, default)
    }

    /// Reads the tables of an array, if present.
    pub fn each<T>(&mut self, key: &str, mut read: impl FnMut(&mut Section<'_>) -> T) -> Option<Vec<T>> {
        let entry = self.table?.get(key)?;
        let path = join(&self.path, key);
        let nodes = if let Value::List(nodes) = &entry.node.value { nodes.as_slice() } else { &[] };
        let tables: Vec<&TreeTable> = nodes.iter().map_while(|node| node.value.as_table()).collect();
        if tables.is_empty() || tables.len() < nodes.len() {
            Refusal::among(self.faults, format!("`{path}` must be an array of tables"))
                .at(entry.key, "not an array of tables")
                .instead(format!("write [[{path}]], with two brackets, above each table"));
            return Some(Vec::new());
        }
        let section = |(at, table)| {
            let path = format!("{path}[{at}]");
            let (spans, faults) = (&mut *self.spans, &mut *self.faults);
            read(&mut Section { path, table: Some(table), spans, faults, several: self.several, part: self.part })
        };
        Some(tables.into_iter().enumerate().map(section).collect())
    }

    pub fn fault(&mut self, fault: Fault) {
        self.faults.push(fault.below(&self.path));
    }
}

/// Values of a list, perhaps of words that commas separate.
fn values_of(value: &Value) -> Option<Vec<String>> {
    let values: Vec<String> = match value {
        Value::List(nodes) => nodes.iter().map(|node| node.value.to_string()).collect(),
        Value::Text(words) => words.split(',').map(|word| word.trim().to_owned()).collect(),
        _ => return None,
    };
    (values.len() > 1).then_some(values)
}

fn default_of<T, K: ValueKind<Out = T>>(kind: &K, default: Default) -> Option<T> {
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

/// A table as its heading has it, without an array's number.
fn heading(path: &str) -> String {
    path.rsplit_once('[').map_or_else(|| format!("[{path}]"), |(array, _)| format!("[[{array}]]"))
}

pub(crate) fn join(table: &str, key: &str) -> String {
    if table.is_empty() { key.to_owned() } else { format!("{table}.{key}") }
}
