//! The last lines of a program's output.

use std::collections::VecDeque;
use std::io::{BufRead, Read};
use std::sync::{Arc, Mutex, PoisonError};

const LINES: usize = 100;

const WIDTH: u64 = 4096;

/// Clones are the same lines.
#[derive(Clone, Debug, Default)]
pub(crate) struct LastLines(Arc<Mutex<VecDeque<String>>>);

impl LastLines {
    pub(crate) fn keep(&self, mut output: impl BufRead) {
        loop {
            let mut line = Vec::new();
            match output.by_ref().take(WIDTH).read_until(b'\n', &mut line) {
                Ok(0) | Err(_) => return,
                Ok(_) => {}
            }
            let text = String::from_utf8_lossy(&line).trim_end().replace(char::is_control, " ");
            let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            if kept.len() == LINES {
                kept.pop_front();
            }
            kept.push_back(text);
        }
    }

    pub(crate) fn all(&self) -> Vec<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_last_lines_are_kept() {
        let long = "x".repeat(5000);
        let mut lines: Vec<String> = (0..150).map(|i| i.to_string()).collect();
        lines.extend([long, "end".to_owned()]);
        let last = LastLines::default();
        last.keep(lines.join("\n").as_bytes());
        let kept = last.all();
        assert_eq!((kept.len(), &*kept[0], kept[97].len(), kept[98].len(), &*kept[99]), (100, "53", 4096, 904, "end"));
    }
}
