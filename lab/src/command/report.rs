//! `natmeter report`: print a run folder again, in any format.

use crate::cli::{err, out};
use crate::exit::Exit;
use crate::report::Report;
use std::path::Path;

/// `natmeter report RUN --format FORMAT`.
pub fn report(path: &Path, format: &str) -> Exit {
    match Report::from_folder(path).and_then(|r| r.render(format)) {
        Ok(text) => {
            out(&text);
            Exit::Done
        }
        Err(error) => {
            err(&format!("error: {error}\n"));
            Exit::Failed
        }
    }
}
