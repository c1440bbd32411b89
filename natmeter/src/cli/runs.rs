//! The command lines of commands over several runs: compare, trend, merge, size.

use crate::listing::RUNS;
use clap::builder::PossibleValuesParser;
use clap::{ArgGroup, Args};
use record::compare::threshold::Condition;
use record::report::sizing::SIZING_FORMATS;
use record::size::demand::{number_of, share_of};
use std::path::PathBuf;

/// `natmeter compare RUN RUN …`
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:
  natmeter compare runs/nat44-20261120-090000 runs/nat44-20261121-090000 --fail-if-slower \"5 %\"
  natmeter compare runs/nat44-20261121-090000 --fail-under \"throughput < 3M\"

With --fail-under or --fail-if-slower the exit code is 1 if a value meets a condition, 3 if a
bound leaves a condition undecided, and 6 if a value is missing, or its interval contains the
limit.
With --bisect they are those of `git bisect run`: 0 good, 1 bad, 125 undecided.")]
#[command(group(ArgGroup::new("conditions").args(["fail_under", "fail_if_slower"]).multiple(true)))]
pub(crate) struct CompareArgs {
    /// Folders of runs; the first is the reference
    #[arg(required = true, value_name = "RUN")]
    pub(crate) runs: Vec<PathBuf>,
    /// Fail if the whole interval of a value meets this condition: "throughput < 3M" (may be repeated); of several runs, skip the reference
    #[arg(long, value_name = "CONDITION")]
    pub(crate) fail_under: Vec<Condition>,
    /// Fail if the whole interval of a difference is worse than this: "5 %"
    #[arg(long, value_name = "PERCENT", value_parser = scenario::quantity::share_ppm)]
    pub(crate) fail_if_slower: Option<u32>,
    /// Exit with the codes of `git bisect run`: 125 if the host decided, an interval contains the limit, or a run is damaged
    #[arg(long, requires = "conditions")]
    pub(crate) bisect: bool,
}

/// `natmeter trend DIR`
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:
  natmeter trend runs --scenario kernel-nat44
  natmeter trend runs --format html > trend.html")]
pub(crate) struct TrendArgs {
    /// Folder of run folders
    #[arg(default_value = RUNS)]
    pub(crate) dir: PathBuf,
    /// Take the runs of the scenario with this name, even if its text changed; default: the only scenario of the folder
    #[arg(long, value_name = "NAME")]
    pub(crate) scenario: Option<String>,
    /// Format of the trend; default: text, or json with --json
    #[arg(long, value_parser = PossibleValuesParser::new(["text", "json", "html"]))]
    pub(crate) format: Option<String>,
}

/// `natmeter merge INTO RUN RUN …`
#[derive(Args, Debug)]
#[command(after_help = "Example: natmeter merge runs/campaign runs/cell-1/* runs/cell-2/*")]
pub(crate) struct MergeArgs {
    /// The new folder
    pub(crate) into: PathBuf,
    /// Folders of the runs
    #[arg(required = true, num_args = 1..)]
    pub(crate) runs: Vec<PathBuf>,
    /// Treat all test beds as equal; default: keep the results of beds that differ apart
    #[arg(long)]
    pub(crate) alike: bool,
}

/// `natmeter size RUN…`
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  natmeter size runs/quickstart-20261121-101500 --subscribers 10k --sessions 100 --new-sessions 0.5 --mbit 2 --packet-size 700
  natmeter size runs/plat-20261121-101500 runs/aftr-20261121-113000 --demand demand.toml --format html > size.html")]
pub(crate) struct SizeArgs {
    /// Folders of runs
    #[arg(required = true, value_name = "RUN")]
    pub(crate) runs: Vec<PathBuf>,
    /// File with the values that have no option: subscribers = "10k", sessions = 100, …
    #[arg(long, value_name = "FILE")]
    pub(crate) demand: Option<PathBuf>,
    /// Subscribers: 10k
    #[arg(long, value_name = "N", value_parser = number_of)]
    pub(crate) subscribers: Option<f64>,
    /// Sessions that each subscriber holds at the busy hour
    #[arg(long, value_name = "N", value_parser = number_of)]
    pub(crate) sessions: Option<f64>,
    /// New sessions of each subscriber per second: 0.5
    #[arg(long, value_name = "RATE", value_parser = number_of)]
    pub(crate) new_sessions: Option<f64>,
    /// Mbit/s of each subscriber in the busier direction, of IPv4 packets
    #[arg(long, value_name = "RATE", value_parser = number_of)]
    pub(crate) mbit: Option<f64>,
    /// Mean size of an IPv4 packet in octets, without Ethernet
    #[arg(long, value_name = "OCTETS", value_parser = number_of)]
    pub(crate) packet_size: Option<f64>,
    /// Share of each limit that stays free; default: 30 %
    #[arg(long, value_name = "SHARE", value_parser = share_of)]
    pub(crate) headroom: Option<f64>,
    /// Format; default: text, or json with --json
    #[arg(long, value_parser = PossibleValuesParser::new(SIZING_FORMATS.iter().map(|f| f.name)))]
    pub(crate) format: Option<String>,
}
