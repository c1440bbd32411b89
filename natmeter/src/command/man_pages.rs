//! `natmeter man-pages DIR`: a manual page for each command.

use crate::cli::Cli;
use crate::exit::Exit;
use crate::term::err;
use clap::CommandFactory;
use std::path::Path;

pub(super) fn man_pages(dir: &Path) -> Exit {
    let written = std::fs::create_dir_all(dir).and_then(|()| clap_mangen::generate_to(Cli::command(), dir));
    match written {
        Ok(()) => Exit::Done,
        Err(error) => {
            err(&format!(
                "error: cannot write manual pages to {}: {error}; name a folder that you can write to\n",
                dir.display()
            ));
            Exit::Failed
        }
    }
}
