//! A host that records actions without carrying them out, for `natmeter plan --steps`. Settings
//! read as if written; others are read from the wrapped host.

use super::{Host, Output};
use crate::step::{Action, Step, Target};
use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex};

pub struct DryRun<H> {
    behind: H,
    written: HashMap<String, String>,
    steps: Arc<Mutex<Vec<Step>>>,
}

impl<H: Host> DryRun<H> {
    /// A host that only reads the wrapped one.
    pub fn over(behind: H) -> DryRun<H> {
        DryRun { behind, written: HashMap::new(), steps: Arc::default() }
    }

    /// Returns the list in which every action is recorded as a step.
    pub fn steps(&self) -> Arc<Mutex<Vec<Step>>> {
        Arc::clone(&self.steps)
    }
}

impl<H: Host> Host for DryRun<H> {
    fn perform(&mut self, target: Target, why: &str, action: &Action) -> io::Result<Output> {
        let status = match action {
            Action::Write { path, value } => {
                self.written.insert(path.clone(), value.clone());
                None
            }
            Action::Set { setting, value } => {
                self.written.insert(setting.to_string(), value.clone());
                None
            }
            Action::Command { .. } => Some(0),
        };
        let step = Step { target, ..Step::dut(why, action.clone()) };
        self.steps.lock().expect("no panic while held").push(step);
        Ok(Output { status, ..Output::default() })
    }

    fn read(&mut self, target: Target, path: &str) -> io::Result<String> {
        self.written.get(path).map_or_else(|| self.behind.read(target, path), |value| Ok(value.clone()))
    }

    fn is_rehearsal(&self) -> bool {
        true
    }
}
