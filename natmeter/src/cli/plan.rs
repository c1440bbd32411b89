//! The command-line arguments of `natmeter plan`.

use super::ScenarioArgs;
use crate::steps::Steps;
use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// `natmeter plan FILE`
#[derive(Args, Debug)]
#[command(after_help = "Example: natmeter plan scenarios/kernel-nat44.toml --full")]
pub(crate) struct PlanArgs {
    /// Also print the commands that set up devices; without `full`, scripts by their first lines
    #[arg(long, value_name = "HOW", num_args = 0..=1, require_equals = true, default_missing_value = "short")]
    pub(crate) steps: Option<Steps>,
    /// Print the points as cells for a scheduler, for make, or as JSON
    #[arg(long, value_name = "FORMAT", conflicts_with = "steps")]
    pub(crate) cells: Option<CellFormat>,
    /// Bed files among which the cells are spread, as HOST:FILE if only that host has the bed; no bed measures two at a time
    #[arg(long, value_name = "BED,…", value_delimiter = ',', requires = "cells", conflicts_with = "bed")]
    pub(crate) beds: Vec<String>,
    /// Folder of earlier runs, from which natmeter corrects its predictions; default: runs
    #[arg(long, value_name = "DIR")]
    pub(crate) runs: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) scenario: ScenarioArgs,
}

/// What `natmeter plan --cells` prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum CellFormat {
    /// A job array for Slurm: sbatch FILE
    Slurm,
    /// A makefile: make -f FILE -j BEDS
    Make,
    /// Cells with their points, predicted seconds and commands
    Json,
}
