//! `natmeter clean`: put back what a killed run left behind, from its journal and nothing else.

use crate::cli::{err, out};
use crate::exit::Exit;
use crate::priority;
use dut::RunDir;
use dut::host::Here;

/// `natmeter clean`.
pub fn clean() -> Exit {
    let dir = RunDir::of_this_user();
    let priority = priority::restore(&dir);
    if let Some(done) = &priority {
        out(&format!("{done}\n"));
    }
    match dut::journal::clean(&dir, &mut Here::new()) {
        Ok(restored) if restored.is_empty() && priority.is_some() => Exit::Done,
        Ok(restored) if restored.is_empty() => {
            out("nothing to clean: no run has left anything behind\n");
            Exit::Done
        }
        Ok(restored) => {
            for change in restored {
                out(&format!("{change}\n"));
            }
            Exit::Done
        }
        Err(error) => {
            err(&format!("error: {error}\n"));
            Exit::Failed
        }
    }
}
