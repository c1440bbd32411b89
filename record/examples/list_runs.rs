//! Prints how long it takes to list 1,000 runs, copies of a run folder: `cargo run --release -p natmeter-record --example list_runs RUN`.

#![allow(clippy::disallowed_methods)]

use record::runs::Runs;
use std::path::Path;
use std::time::Instant;
use std::{env, fs, io};

/// Runs of the list.
const RUNS: usize = 1_000;

fn main() -> io::Result<()> {
    let run = env::args_os().nth(1).ok_or_else(|| io::Error::other("name a run folder"))?;
    let dir = tempfile::tempdir()?;
    for number in 0..RUNS {
        let copy = dir.path().join(format!("run-{number}"));
        fs::create_dir(&copy)?;
        for file in fs::read_dir(Path::new(&run))? {
            let file = file?;
            fs::copy(file.path(), copy.join(file.file_name()))?;
        }
    }
    let mut runs = Runs::of(dir.path());
    for round in ["first", "second"] {
        let began = Instant::now();
        let listed = runs.list().map_err(io::Error::other)?.len();
        println!("{round} list of {listed} runs: {:.1} ms", began.elapsed().as_secs_f64() * 1e3);
    }
    Ok(())
}
