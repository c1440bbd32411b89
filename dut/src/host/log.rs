//! A host that reports each action of the wrapped host.

use super::{Host, Output};
use crate::step::{Action, CommandRecord, Event, Sink, Target};
use std::io;
use std::time::Instant;

pub struct Log<H> {
    behind: H,
    sink: Sink,
}

impl<H: Host> Log<H> {
    pub fn over(behind: H, sink: Sink) -> Log<H> {
        Log { behind, sink }
    }
}

impl<H: Host> Host for Log<H> {
    fn perform(&mut self, target: Target, why: &str, action: &Action) -> io::Result<Output> {
        let start = Instant::now();
        let result = self.behind.perform(target, why, action);
        let micros = start.elapsed().as_micros() as u64;
        let (output, refusal) = match &result {
            Ok(output) => (output.clone(), None),
            Err(error) => (Output::default(), Some(error.to_string())),
        };
        (self.sink)(&Event::Executed(CommandRecord {
            why: why.to_owned(),
            target,
            command: action.to_string(),
            ok: refusal.is_none() && output.ok(),
            status: output.status,
            stdout: output.stdout,
            stderr: refusal.unwrap_or(output.stderr),
            micros,
        }));
        result
    }

    fn read(&mut self, target: Target, path: &str) -> io::Result<String> {
        self.behind.read(target, path)
    }

    fn is_rehearsal(&self) -> bool {
        self.behind.is_rehearsal()
    }
}
