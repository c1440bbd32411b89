//! The outcome of a hook: its record, judgement and number.

use super::hook::Hook;
use super::hook_host::{On, shown};
use crate::DutError;
use crate::error::FailedHook;
use crate::host::runner::{Limits, Ran};
use crate::step::{Event, Executed, Sink, Target};

/// Records a hook that ran, or could not run.
pub(super) fn record(sink: &Sink, hook: Hook, on: &On, line: &str, ran: &Result<Ran, DutError>) {
    record_as(sink, hook.why(), on, line, ran);
}

pub(super) fn record_as(sink: &Sink, why: &str, on: &On, line: &str, ran: &Result<Ran, DutError>) {
    let (why, command) = (why.to_owned(), shown(on, line).to_string());
    sink(&Event::Executed(match ran {
        Ok(Ran { output, timed_out, took }) => Executed {
            why,
            target: Target::Dut,
            command,
            status: output.status,
            stdout: output.stdout.clone(),
            stderr: output.stderr.clone(),
            ok: output.ok() && !timed_out,
            micros: took.as_micros() as u64,
        },
        Err(error) => Executed {
            why,
            target: Target::Dut,
            command,
            status: None,
            stdout: String::new(),
            stderr: error.to_string(),
            ok: false,
            micros: 0,
        },
    }));
}

pub(super) fn judged(hook: Hook, on: &On, line: &str, ran: Ran, limits: &Limits) -> Result<Ran, DutError> {
    if ran.timed_out {
        let outcome = format!(
            "ran longer than its time limit, {} s, and was killed: raise `timeout`; if it leaves a process behind, redirect \
             the output of that process to a file",
            limits.time.as_secs_f32()
        );
        return Err(failure(hook, on, line, &ran, &outcome));
    }
    if ran.output.ok() {
        return Ok(ran);
    }
    let code = ran.output.status.unwrap_or(-1);
    let outcome = format!("exited with code {code} after {:.1} s", ran.took.as_secs_f64());
    Err(failure(hook, on, line, &ran, &outcome))
}

pub(super) fn failure(hook: Hook, on: &On, line: &str, ran: &Ran, outcome: &str) -> DutError {
    DutError::Hook(Box::new(FailedHook {
        hook: hook.name(),
        on: on.to_string(),
        // natmeter's own scripts are long, and in the record of commands.
        command: line.split_once('\n').map_or_else(|| line.to_owned(), |(first, _)| format!("{first} …")),
        outcome: outcome.to_owned(),
        lines: FailedHook::last_lines(&[&ran.output.stdout, &ran.output.stderr]),
        undone: Vec::new(),
        left: Vec::new(),
    }))
}

/// The last number of a text, if it is whole.
pub(super) fn last_number(text: &str) -> Option<u64> {
    let separates = |c: char| c.is_whitespace() || "=:;()[]{}\"'".contains(c);
    let mut words = text.split(separates).map(|word| word.trim_end_matches(['.', ',']));
    let is_number = |word: &&str| word.trim_start_matches(['-', '+']).starts_with(|c: char| c.is_ascii_digit());
    words.rfind(is_number)?.parse().ok()
}
