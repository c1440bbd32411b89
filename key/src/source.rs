//! The texts that a file's values come from, the file itself and the `--set` overrides, and places in them.

use std::ops::Range;

/// Some words in one of the [`Source`]s.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SourceSpan {
    /// Number of the source: 0 is the file, the overrides follow.
    pub source: usize,
    /// First byte.
    pub start: usize,
    /// Byte after the last.
    pub end: usize,
}

impl SourceSpan {
    /// A byte range of a source.
    pub fn new(source: usize, range: Range<usize>) -> SourceSpan {
        SourceSpan { source, start: range.start, end: range.end }
    }

    /// Whether it has no words: that of a value which stands in no source.
    pub fn is_empty(&self) -> bool {
        self.start == self.end
    }
}

/// A text that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// Its name in messages: a path, or `--set`.
    pub name: String,
    /// All of it.
    pub text: String,
}
