//! The command line: what can be said, and who does it. Arguments are types here; each command turns them into
//! a call of the library and its outcome into an exit code.

use crate::build_info;
use crate::command;
use crate::exit::Exit;
use crate::guess;
use crate::installed;
use crate::listing;
use crate::notes::{self, Machine};
use crate::plan::{self, Plan};
use crate::report;
use crate::rig;
use crate::scenario::{self, Complaints, Loaded, Options, ScenarioError, Summary};
use clap::builder::PossibleValuesParser;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Args, CommandFactory, Parser, Subcommand};
use clap_complete::Shell;
use serde_json::json;
use std::io::Write;
use std::path::{Path, PathBuf};

/// The quickstart scenario, which works without the repository.
pub const QUICKSTART: &str = include_str!("../../scenarios/quickstart.toml");

/// The quickstart scenario's name on the command line.
pub const QUICKSTART_WORD: &str = "quickstart";

/// What the quickstart is called in messages.
pub const QUICKSTART_NAME: &str = "the built-in quickstart";

/// natmeter measures NAT and IPv4-as-a-service gateways: connections set up per second, frames forwarded
/// without loss, by the methods of RFC 2544, RFC 8219 and RFC 9693.
#[derive(Debug, Parser)]
#[command(version = build_info::SHORT, long_version = build_info::LONG, after_help = after_help(), max_term_width = 100)]
pub struct Cli {
    /// What all commands have in common.
    #[command(flatten)]
    pub global: Global,
    /// What to do; without one, natmeter runs the quickstart.
    #[command(subcommand)]
    pub command: Option<Command>,
}

/// What all commands have in common.
#[allow(clippy::struct_excessive_bools, reason = "switches of a command line, each on its own")]
#[derive(Args, Clone, Debug, Default)]
pub struct Global {
    /// Change a value of the scenario: connections=4M, measure.repetitions=3, … (may be repeated)
    #[arg(long, global = true, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Conform to RFC 2544 and RFC 9693: the values of the table `full`, trials of 60 s, 10 repetitions
    #[arg(long, global = true)]
    pub full: bool,
    /// Folder in which runs are kept
    #[arg(long, global = true, value_name = "DIR", default_value = "runs")]
    pub runs: PathBuf,
    /// Measure although another natmeter measures on this machine: each may disturb the other
    #[arg(long, global = true)]
    pub beside: bool,
    /// Print events and results as JSON, one document a line
    #[arg(long, global = true)]
    pub json: bool,
    /// Print results and errors only
    #[arg(long, short, global = true)]
    pub quiet: bool,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Measure what a scenario says, and write a run folder with a report
    Run(RunArgs),
    /// Continue a run where it stopped
    Resume(ResumeArgs),
    /// Print the report of a run
    Report(ReportArgs),
    /// Measure the tester's own limits
    Calibrate(CalibrateArgs),
    /// Measure devices of known truth: does the instrument find what was injected?
    #[command(after_help = "Example: natmeter selftest && natmeter run scenarios/kernel-nat44.toml")]
    Selftest,
    /// Put back what a killed run left behind
    #[command(after_help = "Example: natmeter clean")]
    Clean,
    /// Run the gateway as a program: on interfaces, or between capture files
    Gateway(GatewayArgs),
    /// Check a scenario and say what it would do
    Check(CheckArgs),
    /// Print the measurements of a scenario, with predicted time and memory, and stop
    Plan(PlanArgs),
    /// List what is known: devices, software, hosts, back-ends, procedures, metrics
    List(ListArgs),
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
    /// Format; left out, text, or with --json the JSON report (a format that is given counts, also beside --json)
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
    /// Print the exact commands that kernel devices would be given, too
    #[arg(long)]
    pub steps: bool,
}

/// `natmeter list [WHAT]`
#[derive(Args, Debug)]
#[command(after_help = "Example: natmeter list metrics")]
pub struct ListArgs {
    /// Which list; left out, all of them
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
    /// Ask a running gateway
    #[arg(value_enum)]
    pub word: Option<Word>,
    /// File of the gateway
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Captures (pcap, pcapng; Ethernet) to take packets from instead of interfaces: left=FILE,right=FILE
    #[arg(long, value_name = "SIDE=FILE", value_delimiter = ',', requires = "config")]
    pub pcap_in: Vec<String>,
    /// Captures to write what comes out: left=FILE,right=FILE
    #[arg(long, value_name = "SIDE=FILE", value_delimiter = ',', requires = "pcap_in")]
    pub pcap_out: Vec<String>,
    /// Seed of the ports and identifications that the gateway draws; left out, nobody's guess on interfaces, 1 between
    /// files
    #[arg(long)]
    pub seed: Option<u64>,
    /// Time that passes after the last packet, for what waits for a time: 10s
    #[arg(long, value_name = "TIME", value_parser = scenario::quantity::duration, requires = "pcap_in")]
    pub linger: Option<method::Nanos>,
    /// Control socket of the gateway that is asked
    #[arg(long, value_name = "PATH")]
    pub socket: Option<PathBuf>,
}

/// What a running gateway can be asked.
#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Word {
    /// Counters and entries as JSON
    Status,
    /// Counters and entries as OpenMetrics text
    Metrics,
    /// Some entries of the state table, one JSON document a line
    Sessions,
    /// Read the file again and change what can be changed without losing state
    Reload,
    /// Forget all state
    Clear,
    /// Stop it
    Stop,
}

impl Word {
    /// As the control socket hears it.
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
    /// Whether it reads a scenario, so that `--set` and `--full` mean something.
    fn reads_scenario(&self) -> bool {
        match self {
            Command::Run(_) | Command::Calibrate(_) | Command::Check(_) | Command::Plan(_) => true,
            Command::Resume(_)
            | Command::Report(_)
            | Command::Selftest
            | Command::Clean
            | Command::Gateway(_)
            | Command::List(_)
            | Command::Completions(_)
            | Command::ManPages(_) => false,
        }
    }
}

/// What the command line says.
///
/// # Errors
/// The exit code, after it was said what is wrong, or what was asked for.
pub fn arguments() -> Result<Cli, Exit> {
    Cli::try_parse().map_err(|error| {
        let context = (error.kind(), error.get(ContextKind::InvalidSubcommand));
        let (ErrorKind::InvalidSubcommand, Some(ContextValue::String(word))) = context else { error.exit() };
        let commands: Vec<String> = Cli::command().get_subcommands().map(|c| c.get_name().to_owned()).collect();
        match guess::command(word, &commands) {
            Some(meant) => err(&format!("error: `{word}` is no command; {meant}\n")),
            None => err(&format!(
                "error: `{word}` is no command; commands are {}; `natmeter run FILE` measures what a scenario says\n",
                commands.join(", ")
            )),
        }
        Exit::Usage
    })
}

/// Do what the command line says.
pub fn dispatch(cli: Cli) -> Exit {
    let global = &cli.global;
    let changes = if global.full { Some("--full") } else { global.set.first().map(|_| "--set") };
    if let (Some(command), Some(option)) = (&cli.command, changes)
        && !command.reads_scenario()
    {
        err(&format!("error: {option} changes a scenario, and this command reads none; leave it out\n"));
        return Exit::Usage;
    }
    match cli.command {
        Some(Command::Run(args)) => command::run::run(args.file.as_deref(), global),
        Some(Command::Resume(args)) => command::run::resume(&args.run, global),
        Some(Command::Report(args)) => {
            let usual = if global.json { "json" } else { "text" };
            command::report::report(&args.run, args.format.as_deref().unwrap_or(usual))
        }
        Some(Command::Calibrate(args)) => command::calibrate::calibrate(args.file.as_deref(), global),
        Some(Command::Selftest) => command::selftest::selftest(global),
        Some(Command::Clean) => command::clean::clean(global),
        Some(Command::Gateway(args)) => command::gateway::gateway(&args, global),
        Some(Command::Check(args)) => check(args.file.as_deref(), global),
        Some(Command::Plan(args)) => plan(&args, global),
        Some(Command::List(args)) => list(args.what.as_deref(), global),
        Some(Command::Completions(args)) => completions(args.shell),
        Some(Command::ManPages(args)) => command::man_pages::man_pages(&args.dir),
        None => command::run::run(None, global),
    }
}

/// Read the scenario that the command line names, or the built-in quickstart, and the files that it names; when something is
/// wrong, say so.
///
/// # Errors
/// The exit code, after everything that is wrong was shown.
pub fn load(file: Option<&Path>, global: &Global) -> Result<Loaded, Exit> {
    let options = Options { full: global.full, set: global.set.clone() };
    let loaded = match file {
        Some(path) if path == Path::new(QUICKSTART_WORD) && !path.exists() => quickstart(&options),
        Some(path) => scenario::read(&installed::find(path).unwrap_or_else(|| path.to_path_buf()), &options),
        None => quickstart(&options),
    };
    let sound = loaded.and_then(|loaded| {
        rig::files::see_that_files_are_right(&loaded)?;
        Ok(loaded)
    });
    sound.map_err(|error| {
        match &error {
            _ if global.json => out(&format!("{}\n", error_event(&error))),
            ScenarioError::Wrong(complaints) => err(&format!("{}\n", complaints.render(true))),
            ScenarioError::Unreadable { path, .. } => {
                let meant = guess::scenario(path);
                err(&format!("error: {error}\n{}", meant.map(|meant| format!("{meant}\n")).unwrap_or_default()));
            }
        }
        Exit::Usage
    })
}

fn quickstart(options: &Options) -> Result<Loaded, ScenarioError> {
    scenario::parse(QUICKSTART_NAME, QUICKSTART, options).map_err(ScenarioError::from)
}

/// Print what is to be known of this machine before a run.
pub fn tell(notes: &[String], global: &Global) {
    if !global.quiet && !global.json {
        for note in notes {
            err(&format!("note: {note}\n"));
        }
    }
}

/// Print to stdout, without colours where they are not wanted (`NO_COLOR`, no terminal). A reader that has gone
/// away is no error of ours.
pub fn out(text: &str) {
    let mut stdout = anstream::stdout().lock();
    let _ = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
}

/// As [`out`], to stderr.
pub fn err(text: &str) {
    let mut stderr = anstream::stderr().lock();
    let _ = stderr.write_all(text.as_bytes()).and_then(|()| stderr.flush());
}

fn check(file: Option<&Path>, global: &Global) -> Exit {
    let loaded = match load(file, global) {
        Ok(loaded) => loaded,
        Err(exit) => return exit,
    };
    let plan = Plan::new(&loaded.scenario);
    let summary = Summary::new(&loaded.scenario);
    let notes = notes::notes(&loaded, &plan, Machine::here());
    if global.json {
        let event = json!({
            "event": "checked",
            "scenario": loaded.scenario,
            "departures": summary.departures,
            "notes": notes,
            "measurements": plan.measurements.len(),
            "predicted_ns": plan.predicted(),
        });
        out(&format!("{event}\n"));
    } else if !global.quiet {
        let name = file.map_or_else(|| QUICKSTART_NAME.to_owned(), |path| path.display().to_string());
        out(&format!("{name} is right.\n{summary}{}\n", plan::total(&plan)));
    }
    tell(&notes, global);
    Exit::Done
}

fn plan(args: &PlanArgs, global: &Global) -> Exit {
    let loaded = match load(args.file.as_deref(), global) {
        Ok(loaded) => loaded,
        Err(exit) => return exit,
    };
    let plan = Plan::new(&loaded.scenario);
    let notes = notes::notes(&loaded, &plan, Machine::here());
    if global.json {
        let event = json!({ "event": "planned", "plan": plan, "predicted_ns": plan.predicted(), "notes": notes });
        out(&format!("{event}\n"));
    } else {
        out(&plan::text(&loaded.scenario, &plan));
    }
    tell(&notes, global);
    if args.steps {
        match plan::steps(&loaded.scenario, &plan) {
            Ok(text) => out(&text),
            Err(error) => {
                err(&format!("error: {error}\n"));
                return Exit::Usage;
            }
        }
    }
    Exit::Done
}

fn list(what: Option<&str>, global: &Global) -> Exit {
    if global.json {
        for list in listing::select(what) {
            out(&format!("{}\n", json!({ "event": "list", "name": list.name, "rows": (list.rows)() })));
        }
    } else {
        out(&listing::text(listing::select(what)));
    }
    Exit::Done
}

fn completions(shell: Shell) -> Exit {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "natmeter", &mut script);
    out(&String::from_utf8_lossy(&script));
    Exit::Done
}

/// A refused scenario for machines.
fn error_event(error: &ScenarioError) -> serde_json::Value {
    let errors = match error {
        ScenarioError::Unreadable { path, .. } => {
            let help: Vec<String> = guess::scenario(path).into_iter().collect();
            json!([{ "title": error.to_string(), "marks": [{ "source": path }], "help": help }])
        }
        ScenarioError::Wrong(complaints) => complaints.diagnostics.iter().map(|d| diagnostic(complaints, d)).collect(),
    };
    json!({ "event": "refused", "exit": Exit::Usage.name(), "errors": errors })
}

fn diagnostic(complaints: &Complaints, diagnostic: &scenario::diagnostic::Diagnostic) -> serde_json::Value {
    let marks = diagnostic.marks.iter().map(|(place, label)| {
        let (line, column) = complaints.line_and_column(*place);
        let source = &complaints.sources[place.source].name;
        json!({ "source": source, "line": line, "column": column, "label": label })
    });
    json!({ "title": diagnostic.title, "marks": marks.collect::<Vec<_>>(), "help": diagnostic.ways_out })
}

/// Examples and exit codes, below `--help`.
fn after_help() -> String {
    const EXAMPLES: &str = "Examples:
  natmeter check scenarios/quickstart.toml            is this scenario right?
  natmeter plan scenarios/kernel-nat44.toml --full    what would a conforming run measure?
  natmeter plan --set connections=4M                  the built-in quickstart with another value
";
    let code = |exit: Exit| format!("  {} {:<15}  {}\n", exit as u8, exit.name(), exit.about());
    let codes: String = Exit::ALL.into_iter().map(code).collect();
    format!("{EXAMPLES}\nExit codes:\n{codes}\nNO_COLOR=1 prints without colours.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn the_built_in_quickstart_is_right() {
        assert!(load(None, &Global::default()).is_ok());
        assert!(load(None, &Global { full: true, ..Global::default() }).is_ok());
    }

    #[test]
    fn global_options_stand_anywhere() {
        let cli =
            Cli::try_parse_from(["natmeter", "--set", "a=1", "check", "x.toml", "--set", "b=2", "--full"]).unwrap();
        assert!(cli.global.full);
        assert!(cli.global.set.contains(&"b=2".to_owned()));
    }
}
