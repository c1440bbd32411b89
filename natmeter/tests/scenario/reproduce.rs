//! The scenarios of `scenarios/reproduce/`: each is valid over its beds and in its laptop form, and together they name all published
//! series that a run can measure.

use method::Nanos;
use natmeter::forecast;
use record::published;
use scenario::{Options, Scenario, bed, read};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../scenarios/reproduce")
}

/// The names of the scenarios, without the beds beside them.
fn names() -> Vec<String> {
    let entries = std::fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path());
    let mut names: Vec<String> = entries.map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned()).collect();
    names.retain(|name| !name.starts_with("bed-"));
    names.sort();
    names
}

fn load(name: &str, options: &Options) -> Result<Scenario, String> {
    let read = read(&folder().join(name).with_extension("toml"), options, tech::ALL);
    read.map(|loaded| loaded.scenario).map_err(|error| error.to_string())
}

fn laptop() -> Options {
    Options { scale: Some("laptop".to_owned()), ..Options::default() }
}

fn commands(name: &str) -> Vec<String> {
    let text = std::fs::read_to_string(folder().join(name).with_extension("toml")).unwrap();
    let comment = text.lines().map_while(|line| line.strip_prefix('#'));
    comment.filter(|line| line.starts_with("   ")).map(|line| line.trim().to_owned()).collect()
}

fn beds(name: &str) -> BTreeSet<String> {
    let bed =
        |command: String| Some(command.split(" --bed scenarios/reproduce/").nth(1)?.split(' ').next()?.to_owned());
    commands(name).into_iter().filter_map(bed).collect()
}

fn over(bed: &str, options: Options) -> Options {
    Options { bed: Some(bed::read(&folder().join(bed)).unwrap().1), ..options }
}

#[test]
fn each_is_valid_over_its_beds_and_named_like_its_file() {
    let mut all = BTreeSet::new();
    for name in names() {
        let beds = beds(&name);
        assert!(!beds.is_empty(), "{name}");
        for bed in &beds {
            let full = load(&name, &over(bed, Options::default())).unwrap_or_else(|e| panic!("{name}, {bed}: {e}"));
            assert_eq!(full.name, format!("reproduce-{name}"));
            assert!(!full.about.is_empty() && !full.compare.is_empty(), "{name}");
            assert!(full.measure.duration >= Nanos::from_secs(60) && full.measure.repetitions.least() >= 10, "{name}");
            assert!(!forecast::plan(&full).measurements.is_empty(), "{name}");
        }
        all.extend(beds);
    }
    let entries = std::fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    assert_eq!(all, entries.filter(|name| name.starts_with("bed-")).collect(), "a bed that no scenario names");
}

/// The clock of a simulated device is simulated too.
#[test]
fn each_laptop_form_takes_less_than_five_minutes() {
    for name in names() {
        let laptop = load(&name, &laptop()).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert!(laptop.bed.is_none() && !laptop.compare.is_empty(), "{name}");
        let is_simulated = laptop.is_simulated(0);
        let predicted = forecast::plan(&laptop).predicted();
        assert!(is_simulated || predicted < Nanos::from_secs(300), "{name}: {} s", predicted.as_secs_f64());
    }
}

/// The commands in the comment of each file name the file itself, and overrides that it accepts.
#[test]
fn the_commands_of_each_comment_are_valid() {
    for name in names() {
        let commands = commands(&name);
        assert!(commands.iter().any(|command| command.ends_with(" --scale laptop")), "{name}");
        for command in commands {
            let file = format!("natmeter run scenarios/reproduce/{name}.toml");
            assert!(command.trim_start_matches("sudo ").starts_with(&file), "{command}");
            let set = command.split(" --set ").skip(1).map(|set| set.replace('"', "")).collect();
            let form = if command.contains(" --scale laptop") { laptop() } else { Options::default() };
            let form = Options { set, ..form };
            let bed = command.split(" --bed scenarios/reproduce/").nth(1).map(|rest| rest.split(' ').next().unwrap());
            let options = bed.map_or(form.clone(), |bed| over(bed, form));
            load(&name, &options).unwrap_or_else(|e| panic!("{command}: {e}"));
        }
    }
}

/// Tables that say nothing that a run measures: the size of the hash table in memory, and the defaults of a kernel.
const NOT_MEASURED: [&str; 2] = ["004-tab4", "004-tab6"];

/// Documents whose figures are also in a later one.
const REPEATED: [&str; 2] = ["transition-scalability-02", "v6ops-slides-2022"];

#[test]
fn each_published_series_has_a_scenario() {
    let named: BTreeSet<String> = names().iter().flat_map(|name| load(name, &laptop()).unwrap().compare).collect();
    let all = published::TABLES.iter().filter(|table| !REPEATED.contains(&table.document().id.as_str()));
    let missing: Vec<&str> = all.map(|table| table.number.as_str()).filter(|number| !named.contains(*number)).collect();
    assert_eq!(missing, NOT_MEASURED);
}

/// No box can take the place of numbers.
#[test]
fn a_bed_does_not_replace_a_simulated_device() {
    let error = load("alpha", &over("bed-jool.toml", laptop())).unwrap_err();
    assert!(error.contains("[scale.laptop.dut.simulated]") && error.contains("run it without --bed"), "{error}");
}
