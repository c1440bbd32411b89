//! How the command ends: exit codes with names, so that scripts can tell a wrong scenario from a device that
//! does not answer. Its own file because every command and `--help` need the same list.

use std::process::ExitCode;

/// The end of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Everything was done.
    Done = 0,
    /// Something went wrong that is none of the others.
    Failed = 1,
    /// The command line or the scenario is wrong; nothing was touched.
    Usage = 2,
    /// The tester was the limit, or trials stayed invalid: there is no number of the device.
    TesterLimit = 3,
    /// The device under test does not answer.
    DutUnreachable = 4,
    /// Interrupted; `natmeter resume` goes on.
    Interrupted = 5,
    /// Measurements are missing, for lack of time or because a device could not be brought to where they begin.
    Incomplete = 6,
    /// An interface of the gateway was deleted or switched off.
    InterfaceLost = 7,
}

impl Exit {
    /// All of them, by code.
    pub const ALL: [Exit; 8] = [
        Exit::Done,
        Exit::Failed,
        Exit::Usage,
        Exit::TesterLimit,
        Exit::DutUnreachable,
        Exit::Interrupted,
        Exit::Incomplete,
        Exit::InterfaceLost,
    ];

    /// Its name, for scripts and reports.
    pub fn name(self) -> &'static str {
        match self {
            Exit::Done => "done",
            Exit::Failed => "failed",
            Exit::Usage => "usage",
            Exit::TesterLimit => "tester-limit",
            Exit::DutUnreachable => "dut-unreachable",
            Exit::Interrupted => "interrupted",
            Exit::Incomplete => "incomplete",
            Exit::InterfaceLost => "interface-lost",
        }
    }

    /// What it means, in a line.
    pub fn about(self) -> &'static str {
        match self {
            Exit::Done => "success",
            Exit::Failed => "any other failure",
            Exit::Usage => "wrong command line or scenario; nothing was touched",
            Exit::TesterLimit => "the tester was the limit, or trials remained invalid",
            Exit::DutUnreachable => "the device under test does not answer",
            Exit::Interrupted => "interrupted; `natmeter resume` continues the run",
            Exit::Incomplete => "measurements are missing; `natmeter resume` continues the run",
            Exit::InterfaceLost => "an interface of the gateway was deleted or switched off",
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit as u8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_stand_in_order() {
        for (code, exit) in Exit::ALL.into_iter().enumerate() {
            assert_eq!(exit as usize, code);
        }
    }
}
