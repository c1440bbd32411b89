//! A guest as the host of a device under test.

use super::Guest;
use crate::DutError;
use crate::host::runner::{Limits, Ran};
use crate::host::{Host, Output};
use crate::step::{Action, Target, quoted};
use std::fmt;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

/// A guest that hosts use in turn.
#[derive(Clone)]
pub struct SharedGuest(Arc<Mutex<Guest>>);

impl SharedGuest {
    pub fn of(guest: Guest) -> SharedGuest {
        SharedGuest(Arc::new(Mutex::new(guest)))
    }

    pub fn run(&self, script: &str, input: &[u8], limits: &Limits) -> Result<Ran, DutError> {
        self.with(|guest| guest.run(script, input, limits))
    }

    pub fn is_running(&self) -> bool {
        self.with(Guest::is_running)
    }

    fn with<T>(&self, work: impl FnOnce(&mut Guest) -> T) -> T {
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl fmt::Display for SharedGuest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "guest:{}", self.with(|guest| guest.kind().name()))
    }
}

impl fmt::Debug for SharedGuest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Host for SharedGuest {
    fn perform(&mut self, _: Target, _: &str, action: &Action) -> io::Result<Output> {
        let output = self.run(&action.to_string(), b"", &Limits::STEP).map_err(io::Error::other)?.output;
        match action {
            Action::Command { .. } => Ok(output),
            // As on other hosts, a setting that could not be written is an error.
            Action::Write { .. } | Action::Set { .. } if output.ok() => Ok(Output::default()),
            Action::Write { .. } | Action::Set { .. } => Err(io::Error::other(output.stderr)),
        }
    }

    fn read(&mut self, _: Target, path: &str) -> io::Result<String> {
        let ran = self.run(&format!("cat -- {}", quoted(path)), b"", &Limits::STEP).map_err(io::Error::other)?;
        if ran.output.ok() { Ok(ran.output.stdout) } else { Err(io::Error::other(ran.output.stderr)) }
    }
}
