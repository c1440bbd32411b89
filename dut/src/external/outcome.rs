//! The outcome of a hook: its record, judgement and number.

use super::hook::Hook;
use super::hook_host::{HookHost, shown};
use crate::DutError;
use crate::error::FailedHook;
use crate::host::Output;
use crate::host::runner::Ran;
use crate::step::{CommandRecord, Event, Target};
use std::time::Duration;

impl HookHost {
    pub(super) fn recorded(&mut self, why: &str, line: &str) -> Result<Ran, DutError> {
        let ran = self.run(line);
        self.record(why, line, &ran);
        ran
    }

    pub(super) fn must(&mut self, hook: Hook, line: &str) -> Result<Ran, DutError> {
        let ran = self.recorded(&hook.why(), line)?;
        let outcome = if ran.timed_out {
            format!(
                "ran longer than its time limit, {} s, and was killed: raise `timeout`; if it leaves a process behind, redirect \
                 the output of that process to a file",
                self.limits.time.as_secs_f32()
            )
        } else if !ran.output.ok() {
            let code = ran.output.status.unwrap_or(-1);
            format!("exited with code {code} after {:.1} s", ran.took.as_secs_f64())
        } else {
            return Ok(ran);
        };
        Err(self.failure(hook, line, &ran, &outcome))
    }

    pub(super) fn record(&self, why: &str, line: &str, ran: &Result<Ran, DutError>) {
        let (output, ok, took) = match ran {
            Ok(ran) => (ran.output.clone(), ran.output.ok() && !ran.timed_out, ran.took),
            Err(error) => (Output { stderr: error.to_string(), ..Output::default() }, false, Duration::ZERO),
        };
        (self.sink)(&Event::Executed(CommandRecord {
            why: why.to_owned(),
            target: Target::Dut,
            command: shown(&self.on, line).to_string(),
            status: output.status,
            stdout: output.stdout,
            stderr: output.stderr,
            ok,
            micros: took.as_micros() as u64,
        }));
    }

    pub(super) fn failure(&self, hook: Hook, line: &str, ran: &Ran, outcome: &str) -> DutError {
        DutError::Hook(Box::new(FailedHook {
            hook: hook.name(),
            on: self.on.to_string(),
            // natmeter's own scripts are long, and in the record of commands.
            command: line.split_once('\n').map_or_else(|| line.to_owned(), |(first, _)| format!("{first} …")),
            outcome: outcome.to_owned(),
            lines: FailedHook::last_lines(&[&ran.output.stdout, &ran.output.stderr]),
            undone: Vec::new(),
            left: Vec::new(),
        }))
    }
}

pub(super) fn last_number(text: &str) -> Option<u64> {
    let separates = |c: char| c.is_whitespace() || "=:;()[]{}\"'".contains(c);
    let mut words = text.split(separates).map(|word| word.trim_end_matches(['.', ',']));
    let is_number = |word: &&str| word.trim_start_matches(['-', '+']).starts_with(|c: char| c.is_ascii_digit());
    words.rfind(is_number)?.parse().ok()
}
