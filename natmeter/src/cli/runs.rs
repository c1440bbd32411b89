//! The command lines of commands over several runs: compare, trend, bisect, index, merge, size.

use super::{Changes, Turn};
use crate::listing::RUNS;
use clap::Args;
use clap::builder::PossibleValuesParser;
use record::compare::threshold::Threshold;
use record::report::sizing::SIZING_FORMATS;
use record::size::demand::{number_of, share_of};
use std::path::PathBuf;

/// `natmeter compare RUN RUN …`
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:
  natmeter compare runs/nat44-20261120-090000 runs/nat44-20261121-090000 --fail-if-slower \"5 %\"
  natmeter compare runs/nat44-20261121-090000 --fail-under \"throughput < 3M\"

With --fail-under or --fail-if-slower the exit code is 1 if a value meets a condition, 3 if a
bound leaves a condition undecided, and 6 if a value is missing or has too few repetitions.")]
pub struct CompareArgs {
    /// Folders of runs; the first is the reference
    #[arg(required = true, value_name = "RUN")]
    pub runs: Vec<PathBuf>,
    /// Fail if a value meets this condition: "throughput < 3M" (may be repeated); of several runs, skip the reference
    #[arg(long, value_name = "CONDITION")]
    pub fail_under: Vec<Threshold>,
    /// Fail if the whole interval of a difference is worse than this: "5 %"
    #[arg(long, value_name = "PERCENT", value_parser = scenario::quantity::share_ppm)]
    pub fail_if_slower: Option<u32>,
}

/// `natmeter trend DIR`
#[derive(Args, Clone, Debug)]
#[command(after_help = "Example: natmeter trend runs --scenario kernel-nat44")]
pub struct TrendArgs {
    /// Folder of run folders
    #[arg(default_value = RUNS)]
    pub dir: PathBuf,
    /// Take the runs of the scenario with this name, even if its text changed; default: the only scenario of the folder
    #[arg(long, value_name = "NAME")]
    pub scenario: Option<String>,
}

/// `natmeter index DIR`
#[derive(Args, Clone, Debug)]
#[command(after_help = "Example: natmeter index runs && sqlite3 runs/index.sqlite \"SELECT * FROM results\"")]
pub struct IndexArgs {
    /// Folder of run folders
    #[arg(default_value = RUNS)]
    pub dir: PathBuf,
    /// SQLite file to write; default: index.sqlite in the folder
    #[arg(long, value_name = "FILE")]
    pub file: Option<PathBuf>,
}

/// `natmeter bisect`
#[derive(Args, Clone, Debug)]
#[command(after_help = "Example:
  natmeter bisect --good v6.6 --bad v6.12 --git linux --fail-under \"throughput < 3M\" \\
      nat44.toml -- ./install-kernel

natmeter calls the command with a revision as its last argument, and in NATMETER_REVISION.
Exit code 0 means that the revision is installed, 125 that it cannot be tested; any other exit
code ends the bisection. The same command line continues a bisection that was interrupted.")]
pub struct BisectArgs {
    /// Revision whose results are good
    #[arg(long, value_name = "REV")]
    pub good: String,
    /// Later revision whose results are bad
    #[arg(long, value_name = "REV")]
    pub bad: String,
    /// Revisions from good to bad, in order, separated by commas
    #[arg(long, value_name = "REVS", value_delimiter = ',', conflicts_with = "git", required_unless_present = "git")]
    pub revisions: Vec<String>,
    /// Git repository with the revisions: those of `git rev-list --first-parent GOOD..BAD`, if GOOD is one of the first parents
    #[arg(long, value_name = "DIR")]
    pub git: Option<PathBuf>,
    /// A revision is bad if a value meets this condition: "throughput < 3M" (may be repeated)
    #[arg(long, value_name = "CONDITION", required = true)]
    pub fail_under: Vec<Threshold>,
    /// Largest number of runs of a revision, if values are bounds, missing or without interval, or an interval contains a limit
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    pub tries: u32,
    /// Folder for steps and runs
    #[arg(long, value_name = "DIR", default_value = "bisect")]
    pub folder: PathBuf,
    /// Scenario file, or the name of an installed scenario
    pub scenario: PathBuf,
    /// Options that change the scenario.
    #[command(flatten)]
    pub changes: Changes,
    /// Options about other runs.
    #[command(flatten)]
    pub turn: Turn,
    /// Command that installs a revision, with its arguments
    #[arg(last = true, required = true, value_name = "CMD")]
    pub command: Vec<String>,
}

/// `natmeter merge INTO RUN RUN …`
#[derive(Args, Debug)]
#[command(after_help = "Example: natmeter merge runs/campaign runs/cell-1/* runs/cell-2/*")]
pub struct MergeArgs {
    /// The new folder
    pub into: PathBuf,
    /// Folders of the runs
    #[arg(required = true, num_args = 1..)]
    pub runs: Vec<PathBuf>,
    /// Treat all test beds as equal; default: keep the results of beds that differ apart
    #[arg(long)]
    pub alike: bool,
}

/// `natmeter size RUN…`
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  natmeter size runs/quickstart-20261121-101500 --subscribers 10k --sessions 100 --new-sessions 0.5 --mbit 2 --packet-size 700
  natmeter size runs/plat-20261121-101500 runs/aftr-20261121-113000 --demand demand.toml --format html > size.html")]
pub struct SizeArgs {
    /// Folders of runs
    #[arg(required = true, value_name = "RUN")]
    pub runs: Vec<PathBuf>,
    /// File with the values that have no option: subscribers = "10k", sessions = 100, …
    #[arg(long, value_name = "FILE")]
    pub demand: Option<PathBuf>,
    /// Subscribers: 10k
    #[arg(long, value_name = "N", value_parser = number_of)]
    pub subscribers: Option<f64>,
    /// Sessions that each subscriber holds at the busy hour
    #[arg(long, value_name = "N", value_parser = number_of)]
    pub sessions: Option<f64>,
    /// New sessions of each subscriber per second: 0.5
    #[arg(long, value_name = "RATE", value_parser = number_of)]
    pub new_sessions: Option<f64>,
    /// Mbit/s of each subscriber in the busier direction, of IPv4 packets
    #[arg(long, value_name = "RATE", value_parser = number_of)]
    pub mbit: Option<f64>,
    /// Mean size of an IPv4 packet in octets, without Ethernet
    #[arg(long, value_name = "OCTETS", value_parser = number_of)]
    pub packet_size: Option<f64>,
    /// Share of each limit that stays free; default: 30 %
    #[arg(long, value_name = "SHARE", value_parser = share_of)]
    pub headroom: Option<f64>,
    /// Format; default: text, or json with --json
    #[arg(long, value_parser = PossibleValuesParser::new(SIZING_FORMATS.iter().map(|f| f.name)))]
    pub format: Option<String>,
}
