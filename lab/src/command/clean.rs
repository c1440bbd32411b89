//! `natmeter clean`: put back what a killed run left behind, from its journal and nothing else.

use crate::cli::{err, out};
use crate::exit::Exit;
use dut::RunDir;
use dut::host::Here;

/// `natmeter clean`.
pub fn clean() -> Exit {
    match dut::journal::clean(&RunDir::of_this_user(), &mut Here::new()) {
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
