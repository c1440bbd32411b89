//! The command line as types.

mod gateway;
mod guest;
mod plan;
mod runs;

pub(crate) use gateway::{GatewayArgs, GatewayRequest};
pub(crate) use guest::{GuestArgs, GuestCommand, GuestRun, Hardware};
pub(crate) use plan::{CellFormat, PlanArgs};
pub(crate) use runs::{CompareArgs, MergeArgs, SizeArgs, TrendArgs};

use crate::build_info;
use crate::did_you_mean;
use crate::exit::Exit;
use crate::listing::{self, RUNS};
use crate::term::{err, out};
use clap::builder::PossibleValuesParser;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use record::report;
use scenario::{Cell, Options};
use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

/// natmeter benchmarks NAT and IPv4-as-a-service gateways: connection establishment rate and throughput, by the
/// methods of RFC 2544, RFC 8219 and RFC 9693.
#[derive(Debug, Parser)]
#[command(version = build_info::SHORT, long_version = build_info::LONG, after_help = after_help(), max_term_width = 100,
    args_override_self = true)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) output: Output,
    #[command(flatten)]
    pub(crate) quickstart: RunOptions,
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

/// Options of all commands.
#[derive(Args, Clone, Copy, Debug, Default)]
pub(crate) struct Output {
    /// Print events and results as JSON, one document a line
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Print results and errors only
    #[arg(long, short, global = true)]
    pub(crate) quiet: bool,
    /// Print everything as text: each result as it is found, departures, published values, terms, conditions, tester, judge
    #[arg(long, short, global = true, conflicts_with_all = ["quiet", "json"])]
    pub(crate) verbose: bool,
}

impl Output {
    /// Returns the default format of a report.
    pub(crate) fn format(self) -> &'static str {
        if self.json { "json" } else { "text" }
    }
}

/// Options of commands that read a scenario.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Changes {
    /// Override a value of the scenario: connections=4M, measure.repetitions=3, … (may be repeated)
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// Conform to RFC 2544 and RFC 9693: trials of 60 s, 10 repetitions, the values of the table `full`
    #[arg(long)]
    pub(crate) full: bool,
    /// Use the values of the scenario's table `scale.NAME`, for example for a smaller machine
    #[arg(long, value_name = "NAME")]
    pub(crate) scale: Option<String>,
    /// File of a test bed: measure the box between two ports of this machine instead of the scenario's device
    #[arg(long, value_name = "FILE")]
    pub(crate) bed: Option<PathBuf>,
    /// Measure only this part of the points: 3/8 is the third of eight parts; `natmeter merge` joins the runs
    #[arg(long, value_name = "NUMBER/OF")]
    pub(crate) cell: Option<Cell>,
}

impl Changes {
    /// The options that change a scenario, without the text of the bed file.
    pub(crate) fn options(&self) -> Options {
        let (full, scale, set) = (self.full, self.scale.clone(), self.set.clone());
        Options { full, scale, set, cell: self.cell, ..Options::default() }
    }

    /// Arguments that give these options.
    pub(crate) fn arguments(&self) -> Vec<String> {
        let valued = |option: &str, value: String| [option.to_owned(), value];
        let scale = self.scale.iter().flat_map(|scale| valued("--scale", scale.clone()));
        let full = self.full.then(|| "--full".to_owned());
        let set = self.set.iter().flat_map(|set| valued("--set", set.clone()));
        let bed = self.bed.iter().flat_map(|bed| valued("--bed", bed.display().to_string()));
        let cell = self.cell.iter().flat_map(|cell| valued("--cell", cell.to_string()));
        scale.chain(full).chain(set).chain(bed).chain(cell).collect()
    }
}

/// A scenario, and the options that change it.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct ScenarioArgs {
    /// Scenario file, or the name of an installed scenario (`natmeter list scenarios`); default: quickstart
    pub(crate) file: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) changes: Changes,
}

/// Options of commands that measure.
#[derive(Args, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Turn {
    /// Measure even while another natmeter measures on this machine; they may disturb each other
    #[arg(long)]
    pub(crate) beside: bool,
    /// Wait until no other natmeter measures on this machine; Ctrl-C ends the wait
    #[arg(long, conflicts_with = "beside")]
    pub(crate) wait: bool,
}

/// Options of commands that create a run folder.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Folder {
    /// Folder for run folders; default: runs
    #[arg(long, value_name = "DIR")]
    pub(crate) runs: Option<PathBuf>,
    /// Continue the latest run of this scenario with these options below --runs, if there is one
    #[arg(long = "continue")]
    pub(crate) go_on: bool,
    /// Skip the self-test, which takes a few seconds; reports then have a doubt
    #[arg(long)]
    pub(crate) skip_self_test: bool,
}

impl Folder {
    pub(crate) fn path(&self) -> &Path {
        self.runs.as_deref().unwrap_or(Path::new(RUNS))
    }
}

/// The options of `run`; without a command they are the quickstart's.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RunOptions {
    #[command(flatten)]
    pub(crate) changes: Changes,
    #[command(flatten)]
    pub(crate) turn: Turn,
    #[command(flatten)]
    pub(crate) folder: Folder,
    /// Judge the values by the table [limits] of this file, in place of the scenario's
    #[arg(long, value_name = "FILE")]
    pub(crate) limits: Option<PathBuf>,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a scenario, and write a run folder with a report
    #[command(after_help = after_run_help())]
    Run {
        /// Scenario file, or the name of an installed scenario (`natmeter list scenarios`); default: quickstart
        file: Option<PathBuf>,
        #[command(flatten)]
        options: RunOptions,
    },
    /// Continue a run where it stopped
    #[command(after_help = "Example: natmeter resume runs/quickstart-20261121-101500")]
    Resume {
        /// Folder of the run
        run: PathBuf,
        #[command(flatten)]
        turn: Turn,
    },
    /// Print the report of a run
    Report(ReportArgs),
    /// Join runs of one scenario, such as the cells of its matrix, into a new folder
    Merge(MergeArgs),
    /// Size measured gateways for subscribers, their sessions and their traffic
    Size(SizeArgs),
    /// Compare values of runs with the first run, with intervals, or check them against limits
    Compare(CompareArgs),
    /// Print the series of each value over many runs of a scenario, and where its level changed
    Trend(TrendArgs),
    /// Measure the tester's own limits
    #[command(after_help = "Example: natmeter calibrate scenarios/lwaftr.toml --set frame-size=1280")]
    Calibrate {
        #[command(flatten)]
        scenario: ScenarioArgs,
        #[command(flatten)]
        turn: Turn,
    },
    /// Test the tester on devices with exactly known faults and rates
    Selftest(SelftestArgs),
    /// Restore the settings that a killed run, or `natmeter doctor --fix`, left changed
    #[command(after_help = "Example: natmeter clean")]
    Clean,
    /// Look at this machine, the ports of a test bed and its boxes for what spoils results, and mend it
    Doctor(DoctorArgs),
    /// Describe and check a test bed: two ports of this machine, and the box between them
    #[command(subcommand)]
    Bed(BedCommand),
    /// Make a router in a namespace, and measure it as a box of your own, step by step
    #[command(after_help = "Example: natmeter try-box")]
    TryBox {
        /// Folder for the bed file, the scenario and the runs; files that are there are used as they are
        #[arg(default_value = "try-box")]
        folder: PathBuf,
        #[command(flatten)]
        turn: Turn,
    },
    /// Build and try guests: virtual machines that natmeter boots as devices under test
    Guest(GuestArgs),
    /// Run the gateway as a program, on interfaces or between capture files
    Gateway(GatewayArgs),
    /// Check a scenario, and summarise what it measures
    #[command(after_help = "Example: natmeter check scenarios/quickstart.toml --set connections=4M")]
    Check(ScenarioArgs),
    /// Print the measurements of a scenario with predicted time and memory, without running them
    Plan(PlanArgs),
    /// List scenarios, devices, technologies, axes, software, hosts, back-ends, procedures and metrics
    #[command(after_help = "Example: natmeter list metrics")]
    List {
        /// List to print; default: all
        #[arg(value_parser = PossibleValuesParser::new(listing::names()))]
        what: Option<String>,
    },
    /// Show the published results that ship with natmeter, and recompute their derived values
    #[command(subcommand)]
    Published(PublishedCommand),
    /// Show the runs of a folder as web pages, on localhost or with a token
    Serve(ServeArgs),
    /// Print the JSON Schema of scenario, gateway and bed files, for editors, or of JSON output, for programs
    #[command(after_help = "Example: natmeter schema > natmeter.schema.json")]
    Schema {
        /// What it describes
        #[arg(value_enum, default_value_t = SchemaKind::Scenario)]
        kind: SchemaKind,
    },
    /// Print completions for a shell
    #[command(after_help = "Example: natmeter completions bash > ~/.local/share/bash-completion/completions/natmeter")]
    Completions {
        /// Shell
        shell: Shell,
    },
    /// Write the manual pages into a folder
    #[command(after_help = "Example: natmeter man-pages ~/.local/share/man/man1")]
    ManPages {
        /// Folder for the pages, one for each command; created if it is missing
        dir: PathBuf,
    },
}

/// `natmeter published`
#[derive(Subcommand, Debug)]
pub(crate) enum PublishedCommand {
    /// List the documents with their tables and figures
    List,
    /// Print a table or figure
    #[command(after_help = "Example: natmeter published show 002-tab04")]
    Show {
        /// Its number in `natmeter published list`
        id: String,
    },
    /// Recompute the derived values, and list the errata
    Check,
    /// Print results of siitperf (rate.csv, ratetest.log) and CSIT (JSON); `natmeter report --compare-with` prints them beside a run
    #[command(after_help = "Example: natmeter published import results/*/rate.csv")]
    Import {
        /// Result files; those of the same tester and metric are one series
        #[arg(required = true)]
        files: Vec<PathBuf>,
    },
}

/// `natmeter report RUN`
#[derive(Args, Clone, Debug, Default)]
#[command(after_help = "Example: natmeter report runs/quickstart-20261121-101500 --format csv > quickstart.csv")]
pub(crate) struct ReportArgs {
    /// Folder of the run
    pub(crate) run: PathBuf,
    /// Format of the report; default: text, or json with --json
    #[arg(long, value_parser = PossibleValuesParser::new(report::KNOWN.iter().map(|f| f.name)))]
    pub(crate) format: Option<String>,
    /// Print results of other testers beside the run: rate.csv or ratetest.log of siitperf, JSON of CSIT (may be repeated)
    #[arg(long, value_name = "FILE")]
    pub(crate) compare_with: Vec<PathBuf>,
    /// Judge the values by the table [limits] of this file, in place of the scenario's
    #[arg(long, value_name = "FILE")]
    pub(crate) limits: Option<PathBuf>,
}

/// `natmeter selftest`
#[derive(Args, Debug)]
#[command(after_help = "Example: natmeter selftest && natmeter run scenarios/kernel-nat44.toml")]
pub(crate) struct SelftestArgs {
    /// Run only the self-test that precedes every run, in a few seconds
    #[arg(long)]
    pub(crate) quick: bool,
    /// Show that natmeter prints the words of each fault of the gallery (docs/faults.md) when a device has it
    #[arg(long, conflicts_with = "quick")]
    pub(crate) faults: bool,
    /// Write the verdict, and all trials of the checks that did not pass, into this folder
    #[arg(long, value_name = "FOLDER")]
    pub(crate) keep: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) turn: Turn,
}

/// `natmeter doctor`
#[derive(Args, Clone, Debug, Default)]
#[command(after_help = "Examples:
  natmeter doctor --bed bed.toml
  sudo natmeter doctor --bed bed.toml --fix
  sudo natmeter doctor --undo")]
pub(crate) struct DoctorArgs {
    /// Bed file, to look at its ports, and at boxes that ssh reaches
    #[arg(long, value_name = "FILE")]
    pub(crate) bed: Option<PathBuf>,
    /// Change the settings that can change without a boot: of this machine until --undo or `natmeter clean`, of boxes over ssh until --undo --bed FILE
    #[arg(long, conflicts_with = "undo")]
    pub(crate) fix: bool,
    /// Restore the settings that --fix has changed: of this machine, and with --bed also those of boxes
    #[arg(long)]
    pub(crate) undo: bool,
}

/// `natmeter serve DIR`
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  natmeter serve
  natmeter serve campaign/runs --listen 192.0.2.1:8064 --token-file token.txt")]
pub(crate) struct ServeArgs {
    /// Folder of run folders
    #[arg(value_name = "DIR", default_value = RUNS)]
    pub(crate) runs: PathBuf,
    /// Address and port; 0: a free port. At addresses other than localhost, each request needs a token
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:8064")]
    pub(crate) listen: SocketAddr,
    /// File with the token; default: none on localhost, else a new token, which natmeter prints
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
}

/// What a JSON Schema describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SchemaKind {
    /// Scenario and gateway files
    #[value(alias = "gateway")]
    Scenario,
    /// Bed files
    Bed,
    /// `natmeter report --format json`
    Report,
    /// `natmeter size --format json`
    Size,
    /// A line of `natmeter run --json`, and of `events.jsonl` in the run folder
    Event,
    /// `natmeter compare --json`
    Compare,
    /// `natmeter trend --json`
    Trend,
}

/// `natmeter bed …`
#[derive(clap::Subcommand, Debug)]
pub(crate) enum BedCommand {
    /// Write a commented bed file from the interfaces of this machine
    Init {
        /// File to write
        #[arg(default_value = "bed.toml")]
        file: PathBuf,
        /// Where the box is, such as ssh:root@HOST: natmeter writes the hooks that empty and count its table
        #[arg(long, value_name = "PLACE")]
        on: Option<String>,
    },
    /// Write a bed file from the configuration of siitperf, and list what has no counterpart
    Import {
        /// Configuration: siitperf.conf
        conf: PathBuf,
        /// File to write
        #[arg(default_value = "bed.toml")]
        file: PathBuf,
    },
    /// Measure T0, the forwarding rate of both ports cabled to each other, and write it to a file beside the bed file
    #[command(after_help = "Example: natmeter bed t0 bed.toml --set traffic.frame-size=512")]
    T0 {
        /// Bed file
        #[arg(default_value = "bed.toml")]
        file: PathBuf,
        #[command(flatten)]
        changes: Changes,
        #[command(flatten)]
        turn: Turn,
    },
    /// Check ports, silence, neighbours, translation and hooks
    #[command(
        after_help = "Examples:\n  natmeter bed check bed.toml\n  natmeter bed check bed.toml scenarios/lwaftr.toml"
    )]
    Check {
        /// Bed file
        #[arg(default_value = "bed.toml")]
        file: PathBuf,
        /// Scenario that defines the test frames; default: a stateful NAT44
        scenario: Option<PathBuf>,
        #[command(flatten)]
        changes: Changes,
        #[command(flatten)]
        turn: Turn,
    },
}

/// Moves the command before the options: `natmeter --set ttl=9 check` becomes `natmeter check --set ttl=9`.
fn command_first(mut words: Vec<OsString>) -> Vec<OsString> {
    let known = Cli::command();
    let takes_value = |word: &OsString| {
        let mut valued = known.get_arguments().filter(|option| option.get_action().takes_values());
        valued.any(|option| option.get_long().is_some_and(|long| *word == *format!("--{long}")))
    };
    let mut at = 1;
    while let Some(word) = words.get(at).filter(|word| word.to_string_lossy().starts_with('-')) {
        if ["--", "-h", "--help", "-V", "--version"].iter().any(|end| *word == **end) {
            return words;
        }
        at += if takes_value(word) { 2 } else { 1 };
    }
    if words.get(at).is_some_and(|word| word == "help") {
        words.drain(1..at);
    } else if at < words.len() {
        words[1..=at].rotate_right(1);
    }
    words
}

/// Parses the command line. Returns the exit code after printing an error, the help or the version.
pub(crate) fn arguments() -> Result<Cli, Exit> {
    Cli::try_parse_from(command_first(std::env::args_os().collect())).map_err(|error| {
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

/// Examples and exit codes.
fn after_help() -> String {
    const EXAMPLES: &str = "Examples:
  natmeter check scenarios/quickstart.toml            check a scenario
  natmeter plan scenarios/kernel-nat44.toml --full    show the plan of a conforming run
  natmeter plan --set connections=4M                  plan the built-in quickstart with another value
";
    format!("{EXAMPLES}\n{}\nNO_COLOR=1 disables colours.", exit_codes(Exit::all()))
}

fn after_run_help() -> String {
    const EXAMPLE: &str = "Example: natmeter run scenarios/kernel-nat44.toml --set repetitions=3";
    format!(
        "{EXAMPLE}\n\n{}\nNoise alone does not change 0 into 3 or 6 while more than half of the repetitions of each value\n\
         are figures. docs/exit-codes.md says what each code means for continuous integration.",
        exit_codes(Exit::all().filter(|exit| *exit != Exit::InterfaceLost))
    )
}

fn exit_codes(codes: impl Iterator<Item = Exit>) -> String {
    let code = |exit: Exit| format!("  {} {:<15}  {}\n", exit as u8, exit.name(), exit.about());
    format!("Exit codes:\n{}", codes.map(code).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_consistent() {
        Cli::command().debug_assert();
    }

    fn parsed(arguments: &[&str]) -> Result<Cli, ErrorKind> {
        let words = ["natmeter"].iter().chain(arguments).map(OsString::from).collect();
        Cli::try_parse_from(command_first(words)).map_err(|error| error.kind())
    }

    #[test]
    fn options_may_stand_before_the_command() {
        let cli =
            parsed(&["--set", "a=1", "--runs", "x", "--json", "run", "x.toml", "--set", "b=2", "--full"]).unwrap();
        let Some(Command::Run { options, .. }) = cli.command else { panic!() };
        assert_eq!(
            options.changes,
            Changes { set: vec!["a=1".into(), "b=2".into()], full: true, ..Changes::default() }
        );
        assert_eq!((options.folder.path(), cli.output.json), (Path::new("x"), true));
        assert!(parsed(&["--set", "a=1"]).unwrap().quickstart.changes.set == ["a=1"]);
        let cli = parsed(&["--full", "--bed", "a.toml", "check", "--bed", "b.toml", "--full", "x.toml"]).unwrap();
        let Some(Command::Check(scenario)) = cli.command else { panic!() };
        assert_eq!(scenario.changes.bed.as_deref(), Some(Path::new("b.toml")), "the later one counts");
    }

    #[test]
    fn help_and_version_before_a_command_are_those_of_natmeter() {
        for (words, kind) in [
            (&["--version", "list"][..], ErrorKind::DisplayVersion),
            (&["-V", "list"], ErrorKind::DisplayVersion),
            (&["--help", "plan"], ErrorKind::DisplayHelp),
            (&["--json", "help", "plan"], ErrorKind::DisplayHelp),
            (&["--set", "a=1", "help", "plan"], ErrorKind::DisplayHelp),
        ] {
            assert_eq!(parsed(words).unwrap_err(), kind, "{words:?}");
        }
    }

    /// Each command has the options that it uses, and no others.
    #[test]
    fn options_that_a_command_does_not_use_are_refused() {
        let all = ["set", "full", "scale", "cell", "runs", "continue", "skip-self-test", "beside", "wait"];
        for (command, used) in [
            ("run", &all[..]),
            ("resume", &["beside", "wait"]),
            ("calibrate", &["set", "full", "scale", "cell", "beside", "wait"]),
            ("compare", &[]),
            ("trend", &[]),
            ("merge", &[]),
            ("selftest", &["beside", "wait"]),
            ("try-box", &["beside", "wait"]),
            ("check", &["set", "full", "scale", "cell"]),
            ("plan", &["set", "full", "scale", "cell", "runs"]),
            ("list", &[]),
            ("report", &[]),
            ("size", &[]),
            ("clean", &[]),
            ("gateway", &[]),
            ("serve", &[]),
            ("schema", &[]),
            ("completions", &[]),
            ("man-pages", &[]),
        ] {
            let definition = Cli::command();
            let definition = definition.find_subcommand(command).unwrap();
            let has = |option: &&&str| definition.get_arguments().any(|argument| argument.get_long() == Some(**option));
            assert_eq!(all.iter().filter(has).copied().collect::<Vec<_>>(), used, "{command}");
        }
        assert_eq!(parsed(&["--full", "list"]).err(), Some(ErrorKind::UnknownArgument));
        assert_eq!(parsed(&["--wait", "plan"]).err(), Some(ErrorKind::UnknownArgument));
    }
}
