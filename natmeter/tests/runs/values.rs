//! Runs of the program over a scenario's text, and the values in their reports.

use crate::program::{natmeter, only_run, stderr, stdout};
use method::TrialRecord;
use record::store::{Dir, TRIALS};
use std::path::PathBuf;
use tempfile::TempDir;

pub(crate) struct Ended {
    folder: TempDir,
}

impl Ended {
    pub(crate) fn of(scenario: &str) -> Ended {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("scenario.toml"), scenario).unwrap();
        let args = ["run", "scenario.toml", "--beside", "--quiet", "--skip-self-test", "--runs", "runs"];
        let output = natmeter(folder.path(), &args);
        // The current speed of this machine decides whether a value is only a bound; a device may have no rate.
        assert!(matches!(output.status.code(), Some(0 | 3 | 6)), "{}", stderr(&output));
        Ended { folder }
    }

    fn run(&self) -> PathBuf {
        only_run(&self.folder.path().join("runs")).unwrap()
    }

    pub(crate) fn trials(&self) -> Vec<TrialRecord> {
        Dir::open(&self.run()).unwrap().lines(TRIALS).unwrap().values
    }

    pub(crate) fn report(&self, format: &str) -> String {
        let path = self.run();
        let report = natmeter(self.folder.path(), &["report", "--format", format, path.to_str().unwrap()]);
        assert!(report.status.success(), "{}", stderr(&report));
        stdout(&report)
    }
}

pub(crate) fn median(csv: &str, metric: &str) -> f64 {
    let line = csv.lines().find(|line| line.contains(&format!(",{metric},median,")));
    let line = line.unwrap_or_else(|| panic!("{metric}: {csv}"));
    let header: Vec<&str> = csv.lines().next().unwrap().split(',').collect();
    let at = header.iter().position(|name| *name == "value").unwrap();
    // Fields with a comma are before the value only in quotes.
    let mut quoted = false;
    let plain: String = line
        .chars()
        .filter(|c| {
            quoted ^= *c == '"';
            !(quoted && *c == ',')
        })
        .collect();
    plain.split(',').nth(at).unwrap().parse().unwrap()
}

/// A value that was injected, and how far from it a right value may be.
pub(crate) type Injected = (&'static str, f64, f64);

pub(crate) fn finds(scenario: &str, injected: &[Injected]) {
    let csv = Ended::of(scenario).report("csv");
    for (metric, truth, error) in injected {
        let found = median(&csv, metric);
        assert!((found - truth).abs() <= *error, "{metric}: {found}, injected {truth}\n{scenario}\n{csv}");
    }
}
