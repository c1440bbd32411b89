//! `natmeter index`: a SQLite file of many runs, for questions in SQL.

use super::failed;
use crate::cli::{IndexArgs, Output};
use crate::exit::Exit;
use crate::term::{self, err, out};
use record::index::{FILE, IndexError, Indexed, index};
use record::report::number::plural;
use serde_json::json;

/// `natmeter index DIR`.
pub(super) fn index_of(args: &IndexArgs, output: Output) -> Result<Exit, Exit> {
    let file = args.file.clone().unwrap_or_else(|| args.dir.join(FILE));
    let indexed = index(&args.dir, &file, tech::ALL).map_err(|error| {
        let exit = failed(&error);
        // Nothing was changed, and another command line helps.
        if matches!(error, IndexError::Write { .. }) { exit } else { Exit::Usage }
    })?;
    let Indexed { runs, results, trials, skipped } = &indexed;
    for (_, why) in skipped {
        err(&format!("note: a run is left out: {why}\n"));
    }
    if output.json {
        let skipped: Vec<_> = skipped.iter().map(|(folder, why)| json!({ "folder": folder, "reason": why })).collect();
        term::json(&json!({
            "event": "indexed", "file": file, "runs": runs, "results": results, "trials": trials, "skipped": skipped,
        }));
    } else if !output.quiet {
        let count = |n: &usize, word| plural(*n as u64, word);
        let (runs, results, trials) = (count(runs, "run"), count(results, "result"), count(trials, "trial"));
        out(&format!("{}: {runs}, {results}, {trials}\n", file.display()));
    }
    Ok(Exit::Done)
}
