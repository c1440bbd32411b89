//! What is wrong with a scenario, and where: places in the texts a scenario came from (its file and the
//! `--set` overrides), and complaints that are shown under the offending words. Its own file because it
//! knows nothing of scenarios: only of texts, places and how to draw them.

use annotate_snippets::{AnnotationKind, Group, Level, Origin, Renderer, Snippet, normalize_untrusted_str};
use std::fmt;
use std::ops::Range;

/// Some words in one of the [`Source`]s.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// Position of the source in [`Complaints::sources`].
    pub source: usize,
    /// First byte.
    pub start: usize,
    /// Byte after the last.
    pub end: usize,
}

impl Place {
    /// A byte range of a source.
    pub fn new(source: usize, range: Range<usize>) -> Place {
        Place { source, start: range.start, end: range.end }
    }
}

/// A text that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// What people call it: a path, or `--set`.
    pub name: String,
    /// All of it.
    pub text: String,
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// What is wrong, in a sentence.
    pub title: String,
    /// Where, and what stands there; the first is the words at fault. None when something is missing.
    pub marks: Vec<(Place, String)>,
    /// What to write instead.
    pub ways_out: Vec<String>,
}

impl Diagnostic {
    /// Something is wrong.
    pub fn new(title: impl Into<String>) -> Diagnostic {
        Diagnostic { title: title.into(), marks: Vec::new(), ways_out: Vec::new() }
    }
    /// Add the words at fault, or words that explain them. `None` is a default, which stands nowhere.
    pub fn at(mut self, place: impl Into<Option<Place>>, label: impl Into<String>) -> Diagnostic {
        if let Some(place) = place.into() {
            self.marks.push((place, label.into()));
        }
        self
    }
    /// Add what to write instead.
    pub fn instead(mut self, way_out: impl Into<String>) -> Diagnostic {
        self.ways_out.push(way_out.into());
        self
    }
}

/// Everything that is wrong with one scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Complaints {
    /// The scenario file first, then the overrides.
    pub sources: Vec<Source>,
    /// In the order of the places; never empty.
    pub diagnostics: Vec<Diagnostic>,
}

impl Complaints {
    /// Sorted by place and without repetitions.
    pub fn new(sources: Vec<Source>, diagnostics: Vec<Diagnostic>) -> Complaints {
        let mut kept: Vec<Diagnostic> = Vec::new();
        for diagnostic in diagnostics {
            if !kept.contains(&diagnostic) {
                kept.push(diagnostic);
            }
        }
        // What is missing comes last: it often follows from what is misspelt.
        kept.sort_by_key(|d| (d.marks.is_empty(), d.marks.first().map(|&(place, _)| place)));
        Complaints { sources, diagnostics: kept }
    }

    /// As text for people; `styled` with colours.
    pub fn render(&self, styled: bool) -> String {
        let renderer = if styled { Renderer::styled() } else { Renderer::plain() };
        let shown: String = self.diagnostics.iter().map(|d| renderer.render(&[self.group(d)]) + "\n\n").collect();
        let count = self.diagnostics.len();
        let errors = if count == 1 { "1 error".to_owned() } else { format!("{count} errors") };
        format!("{shown}{errors} in {}; nothing was touched.", self.sources[0].name)
    }

    /// Line and column (from 1, in characters) of a place, for machines.
    pub fn line_and_column(&self, place: Place) -> (usize, usize) {
        let before = &self.sources[place.source].text[..place.start];
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
    }

    fn group<'a>(&'a self, diagnostic: &'a Diagnostic) -> Group<'a> {
        let mut group = Group::with_title(Level::ERROR.primary_title(normalize_untrusted_str(&diagnostic.title)));
        if diagnostic.marks.is_empty() {
            group = group.element(Origin::path(self.sources[0].name.as_str()));
        }
        for (at, source) in self.sources_of(diagnostic) {
            let marks = diagnostic.marks.iter().enumerate().filter(|(_, (place, _))| place.source == at);
            let annotations = marks.map(|(i, (place, label))| {
                let kind = if i == 0 { AnnotationKind::Primary } else { AnnotationKind::Context };
                kind.span(place.start..place.end).label(normalize_untrusted_str(label))
            });
            let snippet = Snippet::source(source.text.as_str()).path(source.name.as_str());
            group = group.element(snippet.annotations(annotations.collect::<Vec<_>>()));
        }
        let help = diagnostic.ways_out.iter().map(|way_out| Level::HELP.message(normalize_untrusted_str(way_out)));
        group.elements(help)
    }

    /// The sources that a diagnostic marks, that of the words at fault first.
    fn sources_of(&self, diagnostic: &Diagnostic) -> Vec<(usize, &Source)> {
        let mut seen: Vec<usize> = Vec::new();
        for (place, _) in &diagnostic.marks {
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

/// The candidate that a mistyped word was most probably meant to be.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let plain = |text: &str| text.to_lowercase().replace(['_', ' '], "-");
    let word = plain(word);
    let allowed = (word.chars().count() / 3).max(1);
    candidates
        .into_iter()
        .map(|candidate| (distance(&word, &plain(candidate)), candidate))
        .filter(|&(distance, _)| distance <= allowed)
        .min_by_key(|&(distance, _)| distance)
        .map(|(_, candidate)| candidate)
}

/// Edits (insert, delete, replace, swap neighbours) between two words.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut table = vec![vec![0; b.len() + 1]; a.len() + 1];
    for (i, row) in table.iter_mut().enumerate() {
        row[0] = i;
    }
    table[0] = (0..=b.len()).collect();
    for i in 1..=a.len() {
        for j in 1..=b.len() {
            let replaced = table[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = replaced.min(table[i - 1][j] + 1).min(table[i][j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(table[i - 2][j - 2] + 1);
            }
            table[i][j] = best;
        }
    }
    table[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_word() {
        let known = ["repetitions", "duration", "drain", "settle"];
        assert_eq!(nearest("repetition", known), Some("repetitions"));
        assert_eq!(nearest("darin", known), Some("drain"));
        assert_eq!(nearest("Settle", known), Some("settle"));
        assert_eq!(nearest("frobnicate", known), None);
    }

    #[test]
    fn a_place_has_a_line_and_a_column() {
        let source = Source { name: "x".to_owned(), text: "a = 1\nµ = 2\n".to_owned() };
        let complaints = Complaints::new(vec![source], vec![Diagnostic::new("bad")]);
        assert_eq!(complaints.line_and_column(Place::new(0, 0..1)), (1, 1));
        assert_eq!(complaints.line_and_column(Place::new(0, 11..12)), (2, 5));
    }
}
