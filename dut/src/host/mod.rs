//! The known places to run a device under test, one file each: a host carries out actions, whatever software they
//! configure. Hosts wrap hosts: [`dry_run`] collects instead of doing, [`log`] tells what was done.

pub mod dry_run;
pub mod here;
pub mod log;
pub mod namespace;

use crate::step::{Action, Place};
use std::io;

pub use dry_run::{DryRun, Order};
pub use here::Here;
pub use log::Log;
pub use namespace::Namespace;

/// Name and one line about every place a device under test can run.
pub const KNOWN: &[(&str, &str)] =
    &[("namespace", "network namespaces of this machine's kernel, made for the run; root, or a user namespace")];

/// What an action produced.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Output {
    /// Exit status of a command; a signal counts as 128 + its number. None for a written setting.
    pub status: Option<i32>,
    /// What it printed.
    pub stdout: String,
    /// What it complained about.
    pub stderr: String,
}

impl Output {
    /// The action did what it should.
    pub fn ok(&self) -> bool {
        self.status.unwrap_or(0) == 0
    }
}

/// Carries out actions at places.
pub trait Host: Send {
    /// Carry out one action and wait for its end. `why` is for the record.
    ///
    /// # Errors
    /// When a program cannot be started, or the kernel refuses a value. A program that fails is not an error here.
    fn perform(&mut self, place: Place, why: &str, action: &Action) -> io::Result<Output>;

    /// Read a file.
    ///
    /// # Errors
    /// When it is not there or may not be read.
    fn read(&mut self, place: Place, path: &str) -> io::Result<String>;

    /// Nothing is really done, so there is nothing to check or to journal.
    fn is_rehearsal(&self) -> bool {
        false
    }
}

impl<H: Host + ?Sized> Host for Box<H> {
    fn perform(&mut self, place: Place, why: &str, action: &Action) -> io::Result<Output> {
        (**self).perform(place, why, action)
    }
    fn read(&mut self, place: Place, path: &str) -> io::Result<String> {
        (**self).read(place, path)
    }
    fn is_rehearsal(&self) -> bool {
        (**self).is_rehearsal()
    }
}
