//! Reads the scenario, or finds the run folder, of the command line, and prints errors as text or JSON.

use super::usage;
use crate::cli::{Changes, Output};
use crate::did_you_mean;
use crate::exit::Exit;
use crate::facts;
use crate::forecast;
use crate::installed::{self, QUICKSTART, QUICKSTART_WORD};
use crate::listing::RUNS;
use crate::rig;
use crate::term::{self, err, err_lines};
use record::plan::Plan;
use record::{merge, store};
use scenario::{LoadedScenario, Options, Scenario, ScenarioError};
use serde_json::json;
use std::path::Path;

const QUICKSTART_NAME: &str = "the built-in quickstart";

pub(super) fn name(file: Option<&Path>) -> String {
    file.map_or_else(|| QUICKSTART_NAME.to_owned(), |path| path.display().to_string())
}

/// Loads a scenario and checks the files that it names. Returns the exit code after printing all
/// errors.
pub(super) fn load(file: Option<&Path>, changes: &Changes, output: Output) -> Result<LoadedScenario, Exit> {
    let Some(path) = file.filter(|path| *path != Path::new(QUICKSTART_WORD) || path.exists()) else {
        return given(QUICKSTART_NAME, QUICKSTART, changes, output);
    };
    let path = installed::find(path).unwrap_or_else(|| path.to_path_buf());
    checked(output, options(changes).and_then(|options| scenario::read(&path, &options, tech::ALL)))
}

/// Reads a scenario for a text of natmeter's own.
pub(super) fn given(name: &str, text: &str, changes: &Changes, output: Output) -> Result<LoadedScenario, Exit> {
    checked(output, options(changes).and_then(|options| Ok(scenario::parse(name, text, &options, tech::ALL)?)))
}

fn checked(output: Output, loaded: Result<LoadedScenario, ScenarioError>) -> Result<LoadedScenario, Exit> {
    let checked = loaded.and_then(|loaded| {
        rig::files::check(&loaded)?;
        Ok(loaded)
    });
    checked.map_err(|error| {
        let exit = unusable(&error, output);
        if let ScenarioError::Unreadable { path, .. } = &error
            && let Some(meant) = did_you_mean::scenario(path).filter(|_| !output.json)
        {
            err(&format!("{meant}\n"));
        }
        exit
    })
}

/// Returns the exit code after printing why a file cannot be used.
pub(super) fn unusable(error: &ScenarioError, output: Output) -> Exit {
    match error {
        _ if output.json => term::json(&error_event(error)),
        ScenarioError::Wrong(complaints) => err(&format!("{}\n", complaints.render(true))),
        ScenarioError::Unreadable { .. } => err(&format!("error: {error}\n")),
    }
    Exit::Usage
}

/// Returns the exit code after printing why the scenario cannot be carried out.
pub(super) fn planned(scenario: &Scenario, output: Output) -> Result<Plan, Exit> {
    let plan = forecast::plan(scenario);
    match forecast::refused(scenario, &plan) {
        None => Ok(plan),
        Some(why) => Err(refuse(&why, output)),
    }
}

/// Returns the exit code after printing which points do not fit into the memory of this machine.
pub(super) fn fits(scenario: &Scenario, plan: &Plan, output: Output) -> Result<(), Exit> {
    let beyond = facts::memory().and_then(|memory| forecast::beyond(scenario, plan, memory));
    beyond.map_or(Ok(()), |why| Err(refuse(&why, output)))
}

fn refuse(refused: &str, output: Output) -> Exit {
    if output.json {
        let errors = json!([{ "title": refused, "marks": [], "help": [] }]);
        term::json(&refusal(&errors, 0));
    } else {
        err_lines(&format!("error: {refused}"));
    }
    Exit::Usage
}

/// Options with the text of the bed file.
fn options(changes: &Changes) -> Result<Options, ScenarioError> {
    let mut options = changes.options();
    if let Some(path) = &changes.bed {
        options.bed = Some(scenario::bed::read(path)?.1);
    }
    Ok(options)
}

pub(super) fn tell(advice: &[String], output: Output) {
    if !output.quiet && !output.json {
        for note in advice {
            err_lines(&format!("note: {note}"));
        }
    }
}

/// Returns the exit code after printing the error and the runs that are probably meant.
pub(super) fn is_run(path: &Path) -> Result<(), Exit> {
    if store::is_run(path) || merge::is_merged(path) {
        return Ok(());
    }
    let what = if path.is_dir() {
        format!("is not a run folder: it has no {}", store::HEADER)
    } else if path.exists() {
        "is not a folder".to_owned()
    } else {
        "does not exist".to_owned()
    };
    let instead = did_you_mean::run(path).unwrap_or_else(|| {
        format!("name the folder that `natmeter run` printed, below `{RUNS}` unless --runs was given")
    });
    Err(usage(format_args!("{} {what}; {instead}", path.display())))
}

fn error_event(error: &ScenarioError) -> serde_json::Value {
    let (errors, further) = match error {
        ScenarioError::Unreadable { path, .. } => {
            let help: Vec<String> = did_you_mean::scenario(path).into_iter().collect();
            (json!([{ "title": error.to_string(), "marks": [{ "source": path }], "help": help }]), 0)
        }
        ScenarioError::Wrong(complaints) => (complaints.to_json(), complaints.further()),
    };
    refusal(&errors, further)
}

/// A JSON event with the number of errors that it leaves out.
fn refusal(errors: &serde_json::Value, further: usize) -> serde_json::Value {
    json!({ "event": "refused", "exit": Exit::Usage.name(), "errors": errors, "further_errors": further })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_that_the_event_leaves_out_are_counted() {
        let event = |keys: u32| {
            let unknown: Vec<String> = (0..keys).map(|n| format!("unknown-{n} = 1\n")).collect();
            let text = unknown.concat() + "name = \"x\"\n[dut.embedded]\n[sweep]\nconnections = \"100k\"\n";
            let error = scenario::parse("x.toml", &text, &scenario::Options::default(), tech::ALL).err().unwrap();
            let event = error_event(&ScenarioError::Wrong(error));
            (event["errors"].as_array().unwrap().len(), event["further_errors"].clone())
        };
        assert_eq!(event(1), (1, json!(0)));
        assert_eq!(event(25), (20, json!(5)));
    }

    #[test]
    fn the_built_in_quickstart_is_valid() {
        for full in [false, true] {
            assert!(load(None, &Changes { full, ..Changes::default() }, Output::default()).is_ok());
        }
    }
}
