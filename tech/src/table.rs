//! Files that technologies load, line by line because they may have millions.

use std::fmt::Display;
use std::io::{self, BufRead, Read};
use std::path::Path;

/// Opens a file of a technology.
pub type Open<'a> = &'a dyn Fn(&Path) -> io::Result<Box<dyn BufRead>>;

/// Enough for any pair of prefixes and a comment.
const LONGEST_LINE: u64 = 1024;

/// Up to the first that cannot be read.
pub(crate) struct Lines {
    text: Box<dyn BufRead>,
    number: u64,
    pub(crate) unread: Option<String>,
}

impl Lines {
    pub(crate) fn of(text: Box<dyn BufRead>) -> Lines {
        Lines { text, number: 0, unread: None }
    }

    fn line(&mut self) -> Result<Option<String>, String> {
        self.number += 1;
        let mut line = Vec::new();
        let octets = (&mut self.text)
            .take(LONGEST_LINE + 1)
            .read_until(b'\n', &mut line)
            .map_err(|e| format!("line {}: {e}", self.number))?;
        if octets as u64 > LONGEST_LINE {
            return Err(format!("line {}: longer than {LONGEST_LINE} octets", self.number));
        }
        let text = String::from_utf8(line).map_err(|_| format!("line {}: this is not UTF-8 text", self.number))?;
        Ok(Some(text).filter(|_| octets > 0))
    }
}

impl Iterator for Lines {
    type Item = String;
    fn next(&mut self) -> Option<String> {
        self.line().unwrap_or_else(|why| {
            self.unread = Some(why);
            None
        })
    }
}

pub(crate) fn in_file(key: &str, path: &Path, why: impl Display) -> String {
    format!("{key} = \"{}\": {why}", path.display())
}
