//! The failure of a guest, with the last lines of its console.

use std::fmt;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuestFailure {
    pub kind: &'static str,
    pub what: String,
    pub console: Vec<String>,
}

impl fmt::Display for GuestFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the guest ({}) {}", self.kind, self.what)?;
        if self.console.is_empty() {
            return write!(f, "; its console is empty");
        }
        write!(f, "; last lines of its console:")?;
        self.console.iter().try_for_each(|line| write!(f, "\n    {line}"))
    }
}
