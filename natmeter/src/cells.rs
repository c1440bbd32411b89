//! `natmeter plan --cells`: the points of a matrix as cells, one run each, for a scheduler.
//! `natmeter merge` joins the runs.
//!
//! A killed cell continues where it stopped. A file lock beside the bed file prevents two cells
//! from using one bed, also if a scheduler knows only the number of beds.

use crate::cli::{CellFormat, Changes};
use crate::forecast;
use method::Nanos;
use record::plan::{Measurement, Plan};
use record::printable::in_shell;
use scenario::{Cell, Scenario};
use serde_json::json;
use std::fmt::Write;
use std::path::Path;

/// Inputs of the cells of a plan.
pub(crate) struct Cells<'a> {
    /// File, as on the command line.
    pub(crate) file: &'a Path,
    pub(crate) changes: &'a Changes,
    /// Each with its host and `:` before it if only that host has the bed; empty: the device is on this machine.
    pub(crate) beds: &'a [String],
    pub(crate) scenario: &'a Scenario,
    pub(crate) plan: &'a Plan,
}

/// Limit as a multiple of the predicted duration. A cell that exceeds it continues later.
const TIMES_PREDICTED: u64 = 3;
/// Minutes for start, self-test and calibration of every cell.
const MINUTES: u64 = 10;

impl Cells<'_> {
    pub(crate) fn text(&self, format: CellFormat) -> String {
        match format {
            CellFormat::Slurm => self.slurm(),
            CellFormat::Make => self.make(),
            CellFormat::Json => self.json(),
        }
    }

    fn count(&self) -> u32 {
        self.scenario.points().count() as u32
    }

    fn measurements(&self) -> Vec<(Cell, Vec<&Measurement>)> {
        let cells = Cell::all(self.count()).zip(self.scenario.points());
        cells
            .map(|(cell, point)| (cell, self.plan.measurements.iter().filter(|m| m.point == point).collect()))
            .collect()
    }

    fn arguments(&self) -> Vec<String> {
        let mut arguments = vec![self.file.display().to_string()];
        arguments.extend(self.changes.arguments());
        arguments
    }

    /// Folder for the runs of all cells.
    fn runs(&self) -> String {
        format!("runs/{}-cells", self.scenario.name)
    }

    /// `number` is an expression of the shell.
    fn shell(&self, number: &str) -> String {
        let arguments: Vec<String> = self.arguments().iter().map(|argument| in_shell(argument)).collect();
        let (of, runs) = (self.count(), in_shell(&self.runs()));
        // Exit code 3: every value has a figure, and some are bounds.
        let run = format!(
            "natmeter run {} --cell \"{number}/{of}\" --runs \"$cell\" --continue --wait --quiet",
            arguments.join(" ")
        );
        let mut text = format!("cell={runs}/{number}\n");
        if self.beds.is_empty() {
            let _ = writeln!(text, "{run} || [ $? -eq 3 ]");
            return text;
        }
        let beds: Vec<String> = self.beds.iter().map(|bed| in_shell(bed)).collect();
        // A continued cell waits for its own bed.
        let _ = writeln!(
            text,
            "mkdir -p \"$cell\"\n\
             bed=$(cat \"$cell/bed\" 2>/dev/null) || bed=\n\
             if [ -n \"$bed\" ]; then exec 9>\"$bed.lock\"; flock 9; else\n    \
                 for bed in {}; do\n        \
                     case $bed in *:*) [ \"${{bed%%:*}}\" = \"$(hostname)\" ] || {{ bed=; continue; }}; bed=${{bed#*:}};; esac\n        \
                     exec 9>\"$bed.lock\"; flock -n 9 && break; bed=\n    \
                 done\n\
             fi\n\
             [ -n \"$bed\" ] || {{ echo \"no bed is free\" >&2; exit 75; }}\n\
             echo \"$bed\" > \"$cell/bed\"\n\
             {run} --bed \"$bed\" || [ $? -eq 3 ]",
            beds.join(" ")
        );
        text
    }

    fn merge(&self) -> String {
        format!(
            "natmeter merge {} {}/*/*/",
            in_shell(&format!("runs/{}-merged", self.scenario.name)),
            in_shell(&self.runs())
        )
    }

    /// Predicted for the longest cell, with a margin.
    fn minutes(&self) -> u64 {
        let predicted = |(_, cell): &(Cell, Vec<&Measurement>)| time(cell.iter().copied()).0;
        let longest = self.measurements().iter().map(predicted).max().unwrap_or(0);
        (longest.saturating_mul(TIMES_PREDICTED) / Nanos::from_secs(60).0).saturating_add(MINUTES)
    }

    fn slurm(&self) -> String {
        let (name, count, merge) = (&self.scenario.name, self.count(), self.merge());
        let at_a_time = self.beds.len().max(1);
        format!(
            "#!/bin/sh\n\
             #SBATCH --job-name={name}\n\
             #SBATCH --array=1-{count}%{at_a_time}\n\
             #SBATCH --gres=natmeter-bed:1\n\
             #SBATCH --time={}\n\
             #SBATCH --requeue\n\
             #SBATCH --open-mode=append\n\
             #SBATCH --output={name}-cell-%a.log\n\
             # Each node has as many of the resource natmeter-bed as it has test beds; docs/campaigns.md describes it.\n\
             # At the end: {merge}\n\
             set -eu\n{}",
            self.minutes(),
            self.shell("$SLURM_ARRAY_TASK_ID")
        )
    }

    fn make(&self) -> String {
        let (count, at_a_time) = (self.count(), self.beds.len().max(1));
        let numbers: Vec<String> = (1..=count).map(|number| format!("cell-{number}")).collect();
        let recipe = self.shell("$*").replace('$', "$$").replace("$$*", "$*");
        let recipe: Vec<String> = recipe.lines().map(|line| format!("\t{line}\n")).collect();
        format!(
            "# make -f FILE -j {at_a_time}\n\
             # At the end: {}\n\
             .ONESHELL:\n.PHONY: all {cells}\n\
             all: {cells}\n\
             {cells}: cell-%:\n\t@set -eu\n{}",
            self.merge(),
            recipe.concat(),
            cells = numbers.join(" ")
        )
    }

    fn json(&self) -> String {
        let cell = |(cell, measurements): (Cell, Vec<&Measurement>)| {
            let mut command = vec!["natmeter".to_owned(), "run".to_owned()];
            command.extend(self.arguments());
            let runs = format!("{}/{}", self.runs(), cell.number());
            command.extend(["--cell", &cell.to_string(), "--runs", &runs, "--continue", "--wait"].map(str::to_owned));
            json!({
                "cell": cell,
                "point": measurements.first().map(|m| &m.point),
                "metrics": metrics(&measurements),
                "predicted_s": time(measurements.iter().copied()).0 / Nanos::SECOND.0,
                "command": command,
            })
        };
        let cells: Vec<_> = self.measurements().into_iter().map(cell).collect();
        let document =
            json!({ "scenario": self.scenario.name, "beds": self.beds, "cells": cells, "merge": self.merge() });
        serde_json::to_string_pretty(&document).unwrap_or_default() + "\n"
    }
}

fn metrics<'a>(measurements: &[&'a Measurement]) -> Vec<&'a str> {
    let mut metrics: Vec<&str> = measurements.iter().map(|m| m.metric.as_str()).collect();
    metrics.dedup();
    metrics
}

fn time<'a>(measurements: impl Iterator<Item = &'a Measurement> + Clone) -> Nanos {
    forecast::expected(measurements, None).time
}
