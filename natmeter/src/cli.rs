//! The command line as types. `command` implements the commands.

use crate::build_info;
use crate::did_you_mean;
use crate::exit::Exit;
use crate::listing;
use crate::term::{err, out};
use clap::builder::PossibleValuesParser;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use record::report;
use scenario::Options;
use std::path::PathBuf;

/// natmeter benchmarks NAT and IPv4-as-a-service gateways: connection establishment rate and throughput, by the
/// methods of RFC 2544, RFC 8219 and RFC 9693.
#[derive(Debug, Parser)]
#[command(version = build_info::SHORT, long_version = build_info::LONG, after_help = after_help(), max_term_width = 100)]
pub struct Cli {
    /// Options common to all commands.
    #[command(flatten)]
    pub global: Global,
    /// The command; without one, natmeter runs the quickstart.
    #[command(subcommand)]
    pub command: Option<Command>,
}

/// Options common to all commands.
#[allow(clippy::struct_excessive_bools, reason = "switches of a command line, each on its own")]
#[derive(Args, Clone, Debug, Default)]
pub struct Global {
    /// Override a value of the scenario: connections=4M, measure.repetitions=3, … (may be repeated)
    #[arg(long, global = true, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Conform to RFC 2544 and RFC 9693: trials of 60 s, 10 repetitions, the values of the table `full`
    #[arg(long, global = true)]
    pub full: bool,
    /// Folder for run folders
    #[arg(long, global = true, value_name = "DIR", default_value = "runs")]
    pub runs: PathBuf,
    /// Measure even while another natmeter measures on this machine; they may disturb each other
    #[arg(long, global = true)]
    pub beside: bool,
    /// Wait until no other natmeter measures on this machine
    #[arg(long, global = true, conflicts_with = "beside")]
    pub wait: bool,
    /// Print events and results as JSON, one document a line
    #[arg(long, global = true)]
    pub json: bool,
    /// Print results and errors only
    #[arg(long, short, global = true)]
    pub quiet: bool,
}

impl Global {
    /// Returns the options that change a scenario.
    pub fn options(&self) -> Options {
        Options { full: self.full, set: self.set.clone() }
    }
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run a scenario, and write a run folder with a report
    Run(RunArgs),
    /// Continue a run where it stopped
    Resume(ResumeArgs),
    /// Print the report of a run
    Report(ReportArgs),
    /// Measure the tester's own limits
    Calibrate(CalibrateArgs),
    /// Test the tester on devices with exactly known faults and rates
    Selftest(SelftestArgs),
    /// Restore the settings that a killed run left changed
    #[command(after_help = "Example: natmeter clean")]
    Clean,
    /// Run the gateway as a program, on interfaces or between capture files
    Gateway(GatewayArgs),
    /// Check a scenario, and summarise what it measures
    Check(CheckArgs),
    /// Print the measurements of a scenario with predicted time and memory, without running them
    Plan(PlanArgs),
    /// List scenarios, devices, technologies, axes, software, hosts, back-ends, procedures and metrics
    List(ListArgs),
    /// Print the JSON Schema of scenario and gateway files, for editors, or of reports and events, for programs
    Schema(SchemaArgs),
    /// Print completions for a shell
    Completions(CompletionsArgs),
    /// Write the manual pages into a folder
    ManPages(ManPagesArgs),
}

/// `natmeter run FILE`
#[derive(Args, Debug)]
#[command(after_help = "Example: natmeter run scenarios/kernel-nat44.toml --set repetitions=3")]
pub struct RunArgs {
    /// Scenario file, or the name of an installed scenario (`natmeter list scenarios`); default: quickstart
    pub file: Option<PathBuf>,
}

/// `natmeter resume RUN`
#[derive(Args, Debug)]
#[command(after_help = "Example: natmeter resume runs/quickstart-20261121-101500")]
pub struct ResumeArgs {
    /// Folder of the run
    pub run: PathBuf,
}

/// `natmeter report RUN`
#[derive(Args, Debug)]
#[command(after_help = "Example: natmeter report runs/quickstart-20261121-101500 --format csv > quickstart.csv")]
pub struct ReportArgs {
    /// Folder of the run
    pub run: PathBuf,
    /// Format of the report; default: text, or json with --json
    #[arg(long, value_parser = PossibleValuesParser::new(report::KNOWN.iter().map(|f| f.name)))]
    pub format: Option<String>,
}

/// `natmeter calibrate FILE`
#[derive(Args, Debug)]
#[command(after_help = "Example: natmeter calibrate scenarios/lwaftr.toml --set frame-size=1280")]
pub struct CalibrateArgs {
    /// Scenario file, or the name of an installed scenario (`natmeter list scenarios`); default: quickstart
    pub file: Option<PathBuf>,
}

/// `natmeter selftest`
#[derive(Args, Debug)]
#[command(after_help = "Example: natmeter selftest && natmeter run scenarios/kernel-nat44.toml")]
pub struct SelftestArgs {
    /// Run only the self-test that precedes every run, in a few seconds
    #[arg(long)]
    pub quick: bool,
    /// Write the verdict, and all trials of the checks that did not pass, into this folder
    #[arg(long, value_name = "FOLDER")]
    pub keep: Option<PathBuf>,
}

/// `natmeter schema KIND`
#[derive(Args, Debug)]
#[command(after_help = "Example: natmeter schema > natmeter.schema.json")]
pub struct SchemaArgs {
    /// What it describes
    #[arg(value_enum, default_value_t = SchemaKind::Scenario)]
    pub kind: SchemaKind,
}

/// What a JSON Schema describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SchemaKind {
    /// Scenario and gateway files
    Scenario,
    /// `natmeter report --format json`
    Report,
    /// A line of `natmeter run --json`, and of `events.jsonl` in the run folder
    Event,
}

/// `natmeter check FILE`
#[derive(Args, Debug)]
#[command(after_help = "Example: natmeter check scenarios/quickstart.toml --set connections=4M")]
pub struct CheckArgs {
    /// Scenario file, or the name of an installed scenario (`natmeter list scenarios`); default: quickstart
    pub file: Option<PathBuf>,
}

/// `natmeter plan FILE`
#[derive(Args, Debug)]
#[command(after_help = "Example: natmeter plan scenarios/kernel-nat44.toml --full")]
pub struct PlanArgs {
    /// Scenario file, or the name of an installed scenario (`natmeter list scenarios`); default: quickstart
    pub file: Option<PathBuf>,
    /// Also print the exact commands that set up kernel devices
    #[arg(long)]
    pub steps: bool,
}

/// `natmeter list [WHAT]`
#[derive(Args, Debug)]
#[command(after_help = "Example: natmeter list metrics")]
pub struct ListArgs {
    /// List to print; default: all
    #[arg(value_parser = PossibleValuesParser::new(listing::names()))]
    pub what: Option<String>,
}

/// `natmeter gateway`
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  natmeter gateway --config gateway.toml
  natmeter gateway --config gateway.toml --pcap-in left=a.pcap,right=b.pcap --pcap-out left=c.pcap,right=d.pcap
  natmeter gateway status")]
pub struct GatewayArgs {
    /// Request to a running gateway
    #[arg(value_enum)]
    pub word: Option<Word>,
    /// Configuration file of the gateway
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Captures (pcap, pcapng; Ethernet) to read packets from, instead of interfaces: left=FILE,right=FILE
    #[arg(long, value_name = "SIDE=FILE", value_delimiter = ',', requires = "config")]
    pub pcap_in: Vec<String>,
    /// Captures to write sent packets to: left=FILE,right=FILE
    #[arg(long, value_name = "SIDE=FILE", value_delimiter = ',', requires = "pcap_in")]
    pub pcap_out: Vec<String>,
    /// Seed of the ports and identifications that the gateway draws; default: random on interfaces, 1 with capture
    /// files
    #[arg(long)]
    pub seed: Option<u64>,
    /// Time to simulate after the last packet, so that timeouts expire: 10s
    #[arg(long, value_name = "TIME", value_parser = scenario::quantity::duration, requires = "pcap_in")]
    pub linger: Option<method::Nanos>,
    /// Control socket of the running gateway
    #[arg(long, value_name = "PATH")]
    pub socket: Option<PathBuf>,
}

/// A request to a running gateway.
#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Word {
    /// Counters and entries as JSON
    Status,
    /// Counters and entries as OpenMetrics text
    Metrics,
    /// Entries of the state table, one JSON document a line
    Sessions,
    /// Read the configuration file again, and apply what can change without losing state
    Reload,
    /// Delete all state
    Clear,
    /// Stop the gateway
    Stop,
}

impl Word {
    /// Returns the request as the control socket reads it.
    pub fn text(self) -> &'static str {
        match self {
            Word::Status => "status",
            Word::Metrics => "metrics",
            Word::Sessions => "sessions",
            Word::Reload => "reload",
            Word::Clear => "clear",
            Word::Stop => "stop",
        }
    }
}

/// `natmeter completions SHELL`
#[derive(Args, Debug)]
#[command(after_help = "Example: natmeter completions bash > ~/.local/share/bash-completion/completions/natmeter")]
pub struct CompletionsArgs {
    /// Shell
    pub shell: Shell,
}

/// `natmeter man-pages DIR`
#[derive(Args, Debug)]
#[command(after_help = "Example: natmeter man-pages ~/.local/share/man/man1")]
pub struct ManPagesArgs {
    /// Folder for the pages, one for each command; created if it is missing
    pub dir: PathBuf,
}

impl Command {
    /// Whether it reads a scenario, so that `--set` and `--full` apply.
    pub fn reads_scenario(&self) -> bool {
        match self {
            Command::Run(_) | Command::Calibrate(_) | Command::Check(_) | Command::Plan(_) => true,
            Command::Resume(_)
            | Command::Report(_)
            | Command::Selftest(_)
            | Command::Clean
            | Command::Gateway(_)
            | Command::List(_)
            | Command::Schema(_)
            | Command::Completions(_)
            | Command::ManPages(_) => false,
        }
    }
}

/// Parses the command line.
///
/// # Errors
/// The exit code, after printing the error, the help or the version.
pub fn arguments() -> Result<Cli, Exit> {
    Cli::try_parse().map_err(|error| {
        if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
            out(&error.render().ansi().to_string());
            return Exit::Done;
        }
        let context = (error.kind(), error.get(ContextKind::InvalidSubcommand));
        let (ErrorKind::InvalidSubcommand, Some(ContextValue::String(word))) = context else { error.exit() };
        let commands: Vec<String> = Cli::command().get_subcommands().map(|c| c.get_name().to_owned()).collect();
        match did_you_mean::command(word, &commands) {
            Some(meant) => err(&format!("error: `{word}` is not a command; {meant}\n")),
            None => err(&format!(
                "error: `{word}` is not a command; commands are {}; to run a scenario, use `natmeter run FILE`\n",
                commands.join(", ")
            )),
        }
        Exit::Usage
    })
}

/// Examples and exit codes, below `--help`.
fn after_help() -> String {
    const EXAMPLES: &str = "Examples:
  natmeter check scenarios/quickstart.toml            check a scenario
  natmeter plan scenarios/kernel-nat44.toml --full    show the plan of a conforming run
  natmeter plan --set connections=4M                  plan the built-in quickstart with another value
";
    let code = |exit: Exit| format!("  {} {:<15}  {}\n", exit as u8, exit.name(), exit.about());
    let codes: String = Exit::ALL.into_iter().map(code).collect();
    format!("{EXAMPLES}\nExit codes:\n{codes}\nNO_COLOR=1 disables colours.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn global_options_stand_anywhere() {
        let cli =
            Cli::try_parse_from(["natmeter", "--set", "a=1", "check", "x.toml", "--set", "b=2", "--full"]).unwrap();
        assert!(cli.global.full);
        assert!(cli.global.set.contains(&"b=2".to_owned()));
    }
}
