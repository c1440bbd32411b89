//! Texts of a file and its `--set` overrides, and places in them.

use std::ops::Range;

/// A range of bytes in one of the [`Source`]s.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SourceSpan {
    /// Index of the source: 0 is the file.
    pub source: usize,
    pub start: usize,
    pub end: usize,
}

impl SourceSpan {
    pub fn new(source: usize, range: Range<usize>) -> SourceSpan {
        SourceSpan { source, start: range.start, end: range.end }
    }

    /// Whether it is empty: no source contains the value.
    pub fn is_empty(&self) -> bool {
        self.start == self.end
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// Name in messages: a path, or `--set`.
    pub name: String,
    pub text: String,
}
