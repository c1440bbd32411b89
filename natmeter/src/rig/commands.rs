//! A queue of device commands on their way to the run folder: `dut` adds them one by one, the run
//! takes them between measurements.

use dut::{CommandRecord, Event, Sink};
use record::folder::CommandLine;
use std::sync::{Arc, Mutex};
use std::time::SystemTime;

/// A queue of commands and notes.
#[derive(Clone, Default)]
pub struct Commands {
    waiting: Arc<Mutex<WaitingCommand>>,
}

#[derive(Default)]
pub struct WaitingCommand {
    pub commands: Vec<CommandLine>,
    /// Settings that could not be restored, or that were restored after an earlier run: sentences.
    pub notes: Vec<String>,
}

impl Commands {
    pub fn sink(&self, dut: &str) -> Sink {
        let (waiting, dut) = (Arc::clone(&self.waiting), dut.to_owned());
        Arc::new(move |event: &Event| {
            let mut waiting = waiting.lock().expect("no panic while held");
            match event {
                Event::Executed(e) => waiting.commands.push(line(&dut, e)),
                Event::Left { what } => waiting.notes.push(format!("left as it is: {what}")),
                Event::Cleaned { what } => waiting.notes.push(format!("restored after an earlier run: {what}")),
            }
        })
    }

    pub fn take(&self) -> WaitingCommand {
        std::mem::take(&mut *self.waiting.lock().expect("no panic while held"))
    }
}

fn line(dut: &str, e: &CommandRecord) -> CommandLine {
    CommandLine {
        at: record::store::date::rfc3339(SystemTime::now()),
        dut: dut.to_owned(),
        why: e.why.clone(),
        command: e.command.clone(),
        status: e.status,
        output: format!("{}{}", e.stdout, e.stderr),
    }
}
