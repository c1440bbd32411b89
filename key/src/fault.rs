//! Errors in a file, printed under the source text of the keys.

use crate::source::{Source, SourceSpan};
use crate::spans::Spans;
use annotate_snippets::{AnnotationKind, Group, Level, Origin, Renderer, Snippet, normalize_untrusted_str};
use serde_json::json;
use std::collections::HashSet;
use std::fmt;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum At {
    /// The value of a key, by its path; a leading dot stands for the fault's table.
    Value(String),
    /// The key itself, or the name of a table.
    Key(String),
    First(Vec<At>),
    /// A part of the text, by its position.
    Words(SourceSpan),
}

impl From<&str> for At {
    fn from(path: &str) -> At {
        At::Value(path.to_owned())
    }
}

impl From<String> for At {
    fn from(path: String) -> At {
        At::Value(path)
    }
}

impl From<SourceSpan> for At {
    fn from(place: SourceSpan) -> At {
        At::Words(place)
    }
}

impl At {
    /// The key at a path, or the name of a table.
    pub fn key(path: impl Into<String>) -> At {
        At::Key(path.into())
    }

    pub fn first<const N: usize>(all: [At; N]) -> At {
        At::First(all.into())
    }

    #[must_use]
    pub fn in_table(mut self, table: &str) -> At {
        self.below(table);
        self
    }

    fn below(&mut self, table: &str) {
        match self {
            At::Value(path) | At::Key(path) if path.starts_with('.') => *path = format!("{table}{path}"),
            At::First(all) => all.iter_mut().for_each(|at| at.below(table)),
            At::Value(_) | At::Key(_) | At::Words(_) => {}
        }
    }

    fn place(&self, spans: &Spans) -> Option<SourceSpan> {
        match self {
            At::Value(path) => spans.value(path),
            At::Key(path) => spans.key(path),
            At::First(all) => all.iter().find_map(|at| at.place(spans)),
            At::Words(place) => Some(*place),
        }
    }

    fn is_wrong(&self, spans: &Spans) -> bool {
        match self {
            At::Value(path) => spans.is_wrong(path),
            At::First(all) => all.iter().any(|at| at.is_wrong(spans)),
            At::Key(_) | At::Words(_) => false,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Fault {
    title: String,
    marks: Vec<(At, String)>,
    needs: Vec<At>,
    instead: Vec<String>,
}

impl Fault {
    /// What is wrong, in a sentence.
    pub fn new(title: impl Into<String>) -> Fault {
        Fault { title: title.into(), marks: Vec::new(), needs: Vec::new(), instead: Vec::new() }
    }

    /// Adds a label at a place in the file.
    pub fn at(mut self, at: impl Into<At>, label: impl Into<String>) -> Fault {
        self.marks.push((at.into(), label.into()));
        self
    }

    /// Hides the fault if the value at this place is itself refused.
    pub fn needs(mut self, at: impl Into<At>) -> Fault {
        self.needs.push(at.into());
        self
    }

    pub fn instead(mut self, way_out: impl Into<String>) -> Fault {
        self.instead.push(way_out.into());
        self
    }

    /// Completes paths that begin with a dot.
    pub fn below(mut self, table: &str) -> Fault {
        self.marks.iter_mut().for_each(|(at, _)| at.below(table));
        self.needs.iter_mut().for_each(|at| at.below(table));
        self
    }

    fn follows_from_another(&self, spans: &Spans) -> bool {
        self.marks.iter().map(|(at, _)| at).chain(&self.needs).any(|at| at.is_wrong(spans))
    }
}

/// A fault in a list of faults, to which labels and ways out are added.
pub struct Refusal<'a>(&'a mut Fault);

impl Refusal<'_> {
    /// Adds a fault. `title` says in a sentence what is wrong.
    pub fn among(faults: &mut Vec<Fault>, title: impl Into<String>) -> Refusal<'_> {
        faults.push(Fault::new(title));
        Refusal(faults.last_mut().expect("it was added"))
    }

    /// Adds a label at a place in the file.
    pub fn at(self, at: impl Into<At>, label: impl Into<String>) -> Self {
        self.0.marks.push((at.into(), label.into()));
        self
    }

    pub fn at_if(self, holds: bool, at: impl Into<At>, label: impl Into<String>) -> Self {
        if holds { self.at(at, label) } else { self }
    }

    /// Hides the fault if the value at this place is itself refused.
    pub fn needs(self, at: impl Into<At>) -> Self {
        self.0.needs.push(at.into());
        self
    }

    pub fn instead(self, way_out: impl Into<String>) -> Self {
        self.0.instead.push(way_out.into());
        self
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct FaultView {
    title: String,
    marks: Vec<(SourceSpan, String)>,
    instead: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Complaints {
    sources: Vec<Source>,
    shown: Vec<FaultView>,
}

const MOST_SHOWN: usize = 20;

impl Complaints {
    /// Faults of values, and of rules that follow from none of these.
    pub fn new(sources: Vec<Source>, spans: &Spans, values: Vec<Fault>, rules: Vec<Fault>) -> Complaints {
        let rules = rules.into_iter().filter(|fault| !fault.follows_from_another(spans));
        let mut seen = HashSet::new();
        let mut shown: Vec<FaultView> = Vec::new();
        for fault in values.into_iter().chain(rules) {
            let Fault { title, marks, instead, .. } = fault;
            let mut marked: Vec<(SourceSpan, String)> = Vec::new();
            for (place, label) in marks.into_iter().filter_map(|(at, label)| Some((at.place(spans)?, label))) {
                if marked.iter().all(|(other, _)| *other != place) {
                    marked.push((place, label));
                }
            }
            // A value that `[full]` takes from `[measure]` is refused twice.
            let known = if marked.is_empty() { (Some(title.clone()), Vec::new()) } else { (None, marked.clone()) };
            if seen.insert((known, instead.clone())) {
                shown.push(FaultView { title, marks: marked, instead });
            }
        }
        // Missing keys come last: they often follow from misspelt ones.
        shown.sort_by_key(|fault| (fault.marks.is_empty(), fault.marks.first().map(|&(place, _)| place)));
        Complaints { sources, shown }
    }

    pub fn is_empty(&self) -> bool {
        self.shown.is_empty()
    }

    pub fn further(&self) -> usize {
        self.shown.len().saturating_sub(MOST_SHOWN)
    }

    /// Text for people, with colours if `styled`.
    pub fn render(&self, styled: bool) -> String {
        let renderer = if styled { Renderer::styled() } else { Renderer::plain() };
        let first = self.shown.iter().take(MOST_SHOWN);
        let mut text: String = first.map(|fault| renderer.render(&[self.group(fault)]) + "\n\n").collect();
        let count = self.shown.len();
        if self.further() > 0 {
            let more = crate::quantity::show_grouped(self.further() as u64);
            text = text + "… and " + &more + " more\n\n";
        }
        let errors = if count == 1 {
            "1 error".to_owned()
        } else {
            format!("{} errors", crate::quantity::show_grouped(count as u64))
        };
        format!("{text}{errors} in {}; nothing was changed.", self.sources[0].name)
    }

    /// JSON for machines: title, help, and the line and column (from 1, in characters) of every mark.
    pub fn to_json(&self) -> serde_json::Value {
        let fault = |fault: &FaultView| {
            let marks = fault.marks.iter().map(|(place, label)| {
                let (line, column) = self.line_and_column(*place);
                json!({ "source": self.sources[place.source].name, "line": line, "column": column, "label": label })
            });
            json!({ "title": fault.title, "marks": marks.collect::<Vec<_>>(), "help": fault.instead })
        };
        self.shown.iter().take(MOST_SHOWN).map(fault).collect()
    }

    fn line_and_column(&self, place: SourceSpan) -> (usize, usize) {
        let before = &self.sources[place.source].text[..place.start];
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
    }

    fn group<'a>(&'a self, fault: &'a FaultView) -> Group<'a> {
        let mut group = Group::with_title(Level::ERROR.primary_title(normalize_untrusted_str(&fault.title)));
        if fault.marks.is_empty() {
            group = group.element(Origin::path(self.sources[0].name.as_str()));
        }
        for (at, source) in self.sources_of(fault) {
            let marks = fault.marks.iter().enumerate().filter(|(_, (place, _))| place.source == at);
            let annotations = marks.map(|(i, (place, label))| {
                let kind = if i == 0 { AnnotationKind::Primary } else { AnnotationKind::Context };
                kind.span(place.start..place.end).label(normalize_untrusted_str(label))
            });
            let snippet = Snippet::source(source.text.as_str()).path(source.name.as_str());
            group = group.element(snippet.annotations(annotations.collect::<Vec<_>>()));
        }
        let help = fault.instead.iter().map(|way_out| Level::HELP.message(normalize_untrusted_str(way_out)));
        group.elements(help)
    }

    fn sources_of(&self, fault: &FaultView) -> Vec<(usize, &Source)> {
        let mut seen: Vec<usize> = Vec::new();
        for (place, _) in &fault.marks {
            if !seen.contains(&place.source) {
                seen.push(place.source);
            }
        }
        seen.into_iter().map(|at| (at, &self.sources[at])).collect()
    }
}

impl fmt::Display for Complaints {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.render(false))
    }
}

impl std::error::Error for Complaints {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_has_a_line_and_a_column() {
        let source = Source { name: "x".to_owned(), text: "a = 1\nµ = 2\n".to_owned() };
        let fault = Fault::new("bad").at(SourceSpan::new(0, 11..12), "here");
        let complaints = Complaints::new(vec![source], &Spans::default(), vec![fault], Vec::new());
        let json = complaints.to_json();
        assert_eq!((&json[0]["marks"][0]["line"], &json[0]["marks"][0]["column"]), (&json!(2), &json!(5)));
    }
}
