//! Exit codes with names, so that scripts can distinguish a wrong scenario from a device that does not answer.

use std::process::ExitCode;

/// An exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Success.
    Done = 0,
    /// Any other failure.
    Failed = 1,
    /// The command line or the scenario is wrong; natmeter changed nothing.
    Usage = 2,
    /// The tester was the limit, or trials remained invalid, so the device's rate is unknown.
    TesterLimit = 3,
    /// The device under test does not answer.
    DutUnreachable = 4,
    /// Interrupted; `natmeter resume` continues the run.
    Interrupted = 5,
    /// Measurements are missing, because of the time limit or because a device could not be prepared for them.
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

    /// Its meaning, in one line.
    pub fn about(self) -> &'static str {
        match self {
            Exit::Done => "success",
            Exit::Failed => "any other failure",
            Exit::Usage => "wrong command line or scenario; nothing was changed",
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
