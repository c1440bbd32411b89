//! Every file in `scenarios/` is valid, its quick plan is short, and it conforms with `--full`.

use dut::software::boxes;
use method::Nanos;
use natmeter::forecast::{self, text};
use record::plan::Plan;
use scenario::bed::software::{self, Evidence};
use scenario::{Link, Options, Scenario, SearchError, conformance, parse, read};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

const QUICKSTART: &str = include_str!("../../../scenarios/quickstart.toml");

fn files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scenarios");
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.is_file());
    files.sort();
    files
}

fn load(path: &Path, full: bool) -> Scenario {
    read(path, &Options { full, ..Options::default() }, tech::ALL).unwrap_or_else(|error| panic!("{error}")).scenario
}

fn scenario_of(text: &str, full: bool, set: &[&str]) -> Scenario {
    let set = set.iter().map(|&text| text.to_owned()).collect();
    let options = Options { full, set, ..Options::default() };
    parse("x.toml", text, &options, tech::ALL).unwrap_or_else(|error| panic!("{error}")).scenario
}

#[test]
fn all_are_valid_and_named_like_their_file() {
    assert!(files().len() >= 4);
    for path in files() {
        let scenario = load(&path, false);
        assert_eq!(scenario.name, path.file_stem().unwrap().to_str().unwrap());
        assert!(!scenario.about.is_empty(), "{}", path.display());
        assert!(!Plan::new(&scenario).measurements.is_empty());
    }
}

/// A departure of every run of phase 2, unless the scenario says otherwise.
const STATE_TABLE: &str = "phase 2 leaves the Responder's state table as phase 1 filled it";
/// What `--full` does not change: how natmeter measures, and which metrics, frames and connections a scenario has.
const NOT_OF_FULL: [&str; 8] = [
    STATE_TABLE,
    "delays begin at the call",
    "100 % of the figure's load",
    "bursts leave at the upper end",
    "the time to empty the empty table is subtracted",
    "frames of 1 size",
    "ports 1024-",
    "the rate of phase 1 is given",
];

/// The departures of a scenario that are those of its settings.
fn of_settings(scenario: &Scenario) -> Vec<String> {
    let all = conformance(scenario).departures.into_iter().map(|departure| departure.words);
    all.filter(|departure| !NOT_OF_FULL.iter().any(|known| departure.starts_with(known))).collect()
}

#[test]
fn all_conform_with_full() {
    for path in files() {
        let full = load(&path, true);
        assert_eq!(of_settings(&full), Vec::<String>::new(), "{}", path.display());
        let with_data = ["throughput", "latency", "frame_loss_rate"];
        let has_phase2 = full.measure.metrics.iter().any(|metric| with_data.contains(&metric.as_str()));
        let phase2 = has_phase2 && full.is_stateful();
        let departures = conformance(&full).departures;
        let state_table = departures.iter().any(|departure| departure.words.starts_with(STATE_TABLE));
        assert_eq!(state_table, phase2, "{}", path.display());
        assert!(!conformance(&load(&path, false)).conforms(), "{}", path.display());
    }
}

/// The fenced TOML files of docs/scenario.md.
fn files_of_the_page() -> Vec<&'static str> {
    let page = include_str!("../../../docs/scenario.md");
    page.split("```toml\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect()
}

#[test]
fn the_example_of_the_page_is_valid_and_quick() {
    let text = files_of_the_page()[0];
    let example = scenario_of(text, false, &[]);
    assert!(forecast::plan(&example).predicted() < Nanos::from_secs(120));
    assert_eq!(of_settings(&scenario_of(text, true, &[])), Vec::<String>::new());
}

/// Several workers of the tester share the connections that fill the rings.
#[test]
fn workers_of_the_tester_are_counted() {
    let with = |set: &[&str]| scenario_of(files_of_the_page()[1], false, set);
    let (one, two) = (with(&[]), with(&["workers=2", "connections=300k"]));
    assert_eq!((one.tester.workers, two.tester.workers), (1, 2));
    // One percent of the connections is more than all rings hold.
    let depth = |link: &Link| if let Link::InProcess { depth } = link { *depth } else { 0 };
    assert_eq!([&with(&["connections=300k"]), &two].map(|s| depth(&s.link)), [2048, 1024]);
}

/// Where a schema refuses a file, as paths such as `/traffic/ttl`.
fn refused(schema: &jsonschema::Validator, text: &str) -> Vec<String> {
    let table: toml::Table = text.parse().unwrap_or_else(|error| panic!("{error}: {text}"));
    let document = serde_json::to_value(table).unwrap();
    schema.iter_errors(&document).map(|error| error.instance_path().to_string()).collect()
}

fn validator(schema: &serde_json::Value) -> jsonschema::Validator {
    jsonschema::draft7::meta::validate(schema).unwrap_or_else(|error| panic!("{error}"));
    jsonschema::draft7::new(schema).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn the_schema_accepts_what_the_reader_accepts() {
    let schema = validator(&scenario::book(tech::ALL).json_schema("x"));
    let gateways = include_str!("../../../docs/gateway.md").split("```toml\n").skip(1);
    let gateways = gateways.map(|rest| rest.split("```").next().unwrap().to_owned());
    let reproduced =
        std::fs::read_dir(files()[0].with_file_name("reproduce")).unwrap().map(|entry| entry.unwrap().path());
    let reproduced = reproduced.filter(|path| !path.file_name().unwrap().to_str().unwrap().starts_with("bed-"));
    let scenarios = files().into_iter().chain(reproduced).map(|path| std::fs::read_to_string(path).unwrap());
    for text in scenarios.chain(gateways).chain(files_of_the_page().into_iter().map(str::to_owned)) {
        assert_eq!(refused(&schema, &text), Vec::<String>::new(), "{text}");
    }
}

#[test]
fn the_schema_of_beds_accepts_the_beds_of_the_project() {
    let schema = validator(&scenario::bed::book().json_schema("x"));
    let files = std::fs::read_dir(files()[0].with_file_name("reproduce")).unwrap().map(|entry| entry.unwrap().path());
    let beds: Vec<PathBuf> =
        files.filter(|path| path.file_name().unwrap().to_str().unwrap().starts_with("bed-")).collect();
    assert!(beds.len() >= 9);
    for bed in beds {
        let text = std::fs::read_to_string(&bed).unwrap();
        assert_eq!(refused(&schema, &text), Vec::<String>::new(), "{}", bed.display());
    }
}

/// Of a wrong type, out of range, not of the pattern; unknown and missing keys.
#[test]
fn the_schema_refuses_what_editors_should_mark() {
    const WRONG: [(&str, &str); 16] = [
        ("nam = 1", ""),
        ("name = 1", "/name"),
        ("name = \"two words\"", "/name"),
        ("traffic = 1", "/traffic"),
        ("[traffic]\nttl = 1", "/traffic/ttl"),
        ("[traffic]\nttl = 256", "/traffic/ttl"),
        ("[traffic]\nttl = true", "/traffic/ttl"),
        ("[traffic]\nttl = \"ten\"", "/traffic/ttl"),
        ("[traffic]\nframe-size = 63", "/traffic/frame-size"),
        ("[traffic]\nforeground = \"5\"", "/traffic/foreground"),
        ("[traffic]\nresponder-order = \"sideways\"", "/traffic/responder-order"),
        ("[measure]\nduration = \"1 week\"", "/measure/duration"),
        ("[[technology.map-t.rule]]\nipv6-prefix = \"2001:db8::/40\"", "/technology/map-t/rule/0"),
        ("[gateway.left]\ninterface = \"left\"", "/gateway/left"),
        ("[scale.laptop]\nnam = 1", "/scale/laptop"),
        ("[scale.laptop.traffic]\nttl = 1", "/scale/laptop/traffic/ttl"),
    ];
    let schema = validator(&scenario::book(tech::ALL).json_schema("x"));
    for (text, path) in WRONG {
        let found = refused(&schema, text);
        assert!(!found.is_empty() && found.iter().all(|at| at == path), "{text}: {found:?}");
    }
}

/// The part of a page before its generated part.
const GENERATED: &str = "<!-- From here on generated: WRITE_PAGES=1 cargo test -p natmeter --test scenario -->\n\n";

/// Pages of keys with the tables that they have. `keys-scenario` has all others.
const TABLES: [(&str, &[&str]); 3] =
    [("keys-devices", &["dut"]), ("keys-gateway", &["gateway"]), ("keys-measure", &["measure", "full"])];
/// Technologies that share a page.
const NATXY: [&str; 2] = ["nat46", "nat66"];

fn pages_of_keys() -> Vec<(String, String)> {
    let book = scenario::book(tech::ALL);
    let has = |tables: &[&str], path: &str| path.split('.').next().is_some_and(|first| tables.contains(&first));
    let is_elsewhere = |path: &str| TABLES.iter().any(|(_, tables)| has(tables, path)) || has(&["technology"], path);
    let mut pages = vec![
        ("keys-bed".to_owned(), scenario::bed::book().page(2, |_| true)),
        ("keys-scenario".to_owned(), book.page(2, |path| !is_elsewhere(path))),
    ];
    pages.extend(TABLES.map(|(page, tables)| (page.to_owned(), book.page(2, |path| has(tables, path)))));
    let own = tech::ALL.iter().map(|entry| entry.name()).filter(|name| !NATXY.contains(name));
    for (page, names) in own.map(|name| (name, vec![name])).chain([("natxy", NATXY.to_vec())]) {
        let is_own = |path: &str| path.strip_prefix("technology.").is_some_and(|rest| has(&names, rest));
        pages.push((format!("technologies/{page}"), book.page(2, is_own)));
    }
    pages
}

#[test]
fn the_pages_of_keys_and_software_are_made_of_the_tables() {
    for (name, tables) in pages_of_keys().into_iter().chain(pages_of_software()) {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../docs/{name}.md"));
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        let (written, generated) =
            text.split_once(GENERATED).unwrap_or_else(|| panic!("docs/{name}.md: {GENERATED} is missing"));
        if std::env::var_os("WRITE_PAGES").is_some() {
            std::fs::write(&path, format!("{written}{GENERATED}{tables}")).unwrap();
        } else {
            let how = "WRITE_PAGES=1 cargo test -p natmeter --test scenario writes it anew";
            assert!(generated == tables, "docs/{name}.md: {how}");
        }
    }
}

/// What each software does and where that was seen, its script, and the functions that scripts share.
fn pages_of_software() -> Vec<(String, String)> {
    let mut page = "## What is supported\n\n| software | technology | seen working |\n| --- | --- | --- |\n".to_owned();
    for known in software::KNOWN {
        for (at, does) in known.does.iter().enumerate() {
            let name =
                if at == 0 { format!("[`{0}`](duts/{0}.md): {1}", known.name, known.about) } else { String::new() };
            let names = tech::ALL.iter().find(|entry| entry.name() == does.technology).map(|entry| entry.names);
            let part = names.map_or_else(|| does.technology.to_owned(), |names| does.part.in_words(&names));
            let seen = match does.seen {
                Evidence::WithFrames(on) => format!("with test frames: {on}"),
                Evidence::Rendered => "no: only written".to_owned(),
            };
            let _ = writeln!(page, "| {name} | {part} | {seen} |");
        }
    }
    let mut pages = vec![("duts".to_owned(), page)];
    for (name, text, shared) in boxes::texts() {
        let shared: Vec<String> = shared.iter().map(|shared| format!("[`{0}`](shared.md#{0})", shared.name)).collect();
        let shared = if shared.is_empty() { String::new() } else { format!("Behind {}:\n\n", shared.join(", ")) };
        pages.push((format!("duts/{name}"), format!("{shared}```sh\n{text}```\n")));
    }
    let shared = boxes::SHARED.iter().map(|shared| format!("## {}\n\n```sh\n{}```\n", shared.name, shared.text));
    pages.push(("duts/shared".to_owned(), shared.collect::<Vec<_>>().join("\n")));
    pages
}

/// Both crates know the same software.
#[test]
fn every_software_of_a_box_has_its_script() {
    let known: Vec<&str> = software::KNOWN.iter().map(|known| known.name).collect();
    assert_eq!(known, boxes::texts().map(|(name, ..)| name).collect::<Vec<_>>());
}

/// Rows of docs/scenario.md whose first cell has words in code marks name tables and keys that exist; keys stand in the table
/// of the heading above.
#[test]
fn the_page_on_scenarios_has_no_key_that_is_gone() {
    let book = scenario::book(tech::ALL);
    let is_variant = |path: &str| book.variants.is_some_and(|of| path.split('.').next() == Some(of.table));
    let is_table = |path: &str| book.chapter(path).is_some() || book.kinds(path).next().is_some() || is_variant(path);
    let (mut table, mut rows) = ("", 0);
    for line in include_str!("../../../docs/scenario.md").lines() {
        if let Some(heading) = line.strip_prefix("## ") {
            table = heading.strip_prefix("`[").and_then(|rest| rest.split(']').next()).unwrap_or_default();
        }
        let Some(cell) = line.strip_prefix("| ").and_then(|row| row.split(" | ").next()) else { continue };
        rows += u32::from(cell.starts_with('`'));
        for word in cell.split('`').skip(1).step_by(2) {
            if let Some(path) = word.strip_prefix('[') {
                let path = path.trim_end_matches(']').trim_end_matches(".…");
                assert!(is_table(path), "there is no table {word}");
            } else {
                let path = if table.is_empty() { word.to_owned() } else { format!("{table}.{word}") };
                assert!(book.key(&path).is_some(), "`{word}` is no key of [{table}]");
            }
        }
    }
    assert!(rows >= 11, "{rows}");
}

#[test]
fn the_form_of_the_page_has_the_defaults() {
    let [_, short, form] = files_of_the_page()[..] else { panic!("an example, and two files that mean the same") };
    // The text differs; the meaning is the same.
    let meaning = |text| Scenario {
        parameters: BTreeMap::new(),
        following: scenario::DerivedRanges::default(),
        ..scenario_of(text, false, &[])
    };
    assert_eq!(meaning(short), meaning(form));
}

#[test]
fn plans() {
    for path in files() {
        for full in [false, true] {
            let scenario = load(&path, full);
            let name = format!("plan_{}{}", scenario.name, if full { "_full" } else { "" });
            insta::assert_snapshot!(name, text(&scenario, &forecast::plan(&scenario)));
        }
    }
}

#[test]
fn quick_runs_keep_their_promise() {
    for (name, most) in [("quickstart", 90), ("kernel-nat44", 15 * 60)] {
        let path = files().into_iter().find(|path| path.file_stem().unwrap() == name).unwrap();
        let predicted = forecast::plan(&load(&path, false)).predicted();
        assert!(predicted < Nanos::from_secs(most), "{name}: {} s", predicted.as_secs_f64());
    }
}

/// Throughput alone needs no establishment rate if the rate of phase 1 is given.
#[test]
fn throughput_alone_with_a_rate_of_phase_1() {
    for full in [false, true] {
        let scenario = scenario_of(QUICKSTART, full, &["metrics=throughput", "phase1-rate=100k"]);
        assert_eq!(scenario.phase1_rate(), Some(100_000));
        assert!(forecast::plan(&scenario).measurements.iter().all(|m| m.metric == "throughput"));
    }
}

/// A run folder of an earlier version may have shares without a unit: they were parts of 1.
#[test]
fn shares_of_recorded_scenarios_need_no_unit() {
    let text = "name = \"x\"\n[dut.embedded]\n[link.impair]\nloss = 0.1\ncorrupt = \"5 %\"\n[sweep]\nconnections = \"1M\"\n\
                [measure]\nacceptance = 1\n[full]\nacceptance = \"0.9\"\n";
    let options = |full| Options { full, set: vec!["error=0.02".to_owned()], ..Options::default() };
    let defaults = scenario::RecordedDefaults { has_fixed_ranges: true, inside_is_port: true };
    let recorded =
        |full| scenario::parse_recorded(defaults, "x.toml", text, &options(full), tech::ALL).unwrap().scenario;
    let impair = recorded(false).impair.unwrap();
    assert_eq!((impair.loss_ppm, impair.corrupt_ppm), (100_000, 50_000));
    assert_eq!(
        (recorded(false).measure.error, recorded(false).measure.acceptance_ppm),
        (SearchError::Share(20_000), 1_000_000)
    );
    assert_eq!(recorded(true).measure.acceptance_ppm, 900_000);
    assert_eq!(
        recorded(false).traffic.flows.inside.first,
        std::net::Ipv4Addr::new(198, 18, 0, 2),
        "before version 5 of the rules"
    );
    assert!(parse("x.toml", text, &options(false), tech::ALL).is_err());
}

/// Earlier versions refused such a trial in the run, not in the scenario.
#[test]
fn a_recorded_scenario_may_have_a_trial_with_too_few_frames() {
    let text = "name = \"x\"\n[dut.embedded]\n[sweep]\nconnections = 10000\n[measure]\nphase1-rate = \"100k\"\n\
                metrics = [\"throughput\", \"pdv\"]\n[measure.pdv]\nrate = \"1\"\nduration = \"1 s\"\n";
    let defaults = scenario::RecordedDefaults { has_fixed_ranges: false, inside_is_port: false };
    let recorded = scenario::parse_recorded(defaults, "x.toml", text, &Options::default(), tech::ALL);
    assert!(recorded.is_ok(), "{}", recorded.unwrap_err());
    let refusal = parse("x.toml", text, &Options::default(), tech::ALL).unwrap_err().to_string();
    assert!(refusal.contains("the trial of `pdv` has too few frames"), "{refusal}");
}

/// A description stays true whatever `--set` changes: no numbers.
#[test]
fn descriptions_name_no_values() {
    const NUMBERS: [&str; 12] =
        ["one", "two", "three", "four", "five", "six", "seven", "eight", "ten", "hundred", "thousand", "million"];
    for path in files() {
        let about = scenario::about(&std::fs::read_to_string(&path).unwrap()).unwrap();
        let words: Vec<&str> = about.split([' ', ',', '.', ':']).collect();
        let is_number = |word: &&&str| NUMBERS.contains(*word) || word.starts_with(|c: char| c.is_ascii_digit());
        // The name of a technology may have digits.
        let numbers: Vec<&&str> = words.iter().filter(is_number).filter(|word| **word != "464XLAT").collect();
        assert!(numbers.is_empty(), "{}: {about}: {numbers:?}", path.display());
    }
}

#[test]
fn memory_of_a_sweep_is_that_of_its_largest_point() {
    let text = include_str!("../../../scenarios/kernel-nat44.toml");
    let with = |set: &[&str]| {
        let scenario = scenario_of(text, false, set);
        let plan = forecast::plan(&scenario);
        (scenario.sweep.connections, plan.dut_memory, plan.tester_memory)
    };
    let (sweep, smallest, largest) = (with(&[]), with(&["connections=50k"]), with(&["connections=200k"]));
    assert_eq!(sweep.0, [50_000, 200_000]);
    assert_eq!((sweep.1, sweep.2), (largest.1, largest.2));
    assert!(smallest.1 < largest.1 && smallest.2 < largest.2);
}

/// Lines and columns count from 1, in characters.
#[test]
fn marks_of_faults_have_a_line_and_a_column() {
    let mark_of = |text: &str, key: &str| {
        let json = parse("x.toml", text, &Options::default(), tech::ALL).unwrap_err().to_json();
        let title = format!("unknown key `{key}` at the top level");
        let fault = json.as_array().unwrap().iter().find(|fault| fault["title"] == title.as_str()).unwrap();
        [&fault["marks"][0]["line"], &fault["marks"][0]["column"]].map(|number| number.as_u64().unwrap())
    };
    assert_eq!(mark_of("nam = 1\n", "nam"), [1, 1]);
    assert_eq!(mark_of("name = \"µµ\"\n   nam = 1\n", "nam"), [2, 4]);
}

#[test]
fn order_in_the_file_does_not_matter() {
    let text =
        std::fs::read_to_string(files().into_iter().find(|path| path.ends_with("kernel-nat44.toml")).unwrap()).unwrap();
    let mut tables: Vec<String> = Vec::new();
    for line in text.lines() {
        if line.starts_with('[') || tables.is_empty() {
            tables.push(String::new());
        }
        tables.last_mut().unwrap().extend([line, "\n"]);
    }
    let top = tables.remove(0);
    let expected = scenario_of(&text, false, &[]);
    for _ in 0..tables.len() {
        tables.rotate_left(1);
        let shuffled = top.clone() + &tables.concat();
        assert_eq!(scenario_of(&shuffled, false, &[]), expected);
    }
    tables.reverse();
    let backwards: String = tables.iter().map(|table| reversed(table)).collect();
    assert_eq!(scenario_of(&(top + &backwards), false, &[]), expected);
}

fn reversed(table: &str) -> String {
    let mut lines: Vec<&str> = table.lines().collect();
    lines[1..].reverse();
    lines.join("\n") + "\n"
}

#[test]
fn the_in_process_link_is_no_deeper_than_the_connections_allow() {
    let depth = |set: &[&str]| scenario_of(QUICKSTART, false, set).link;
    assert_eq!(depth(&[]), Link::InProcess { depth: 2048 });
    assert_eq!(depth(&["connections=100k,1M"]), Link::InProcess { depth: 512 });
    assert_eq!(depth(&["connections=51200"]), Link::InProcess { depth: 512 });
    assert_eq!(depth(&["connections=3200"]), Link::InProcess { depth: 32 });
    assert_eq!(depth(&["cores=1,2"]), Link::InProcess { depth: 1024 });
    assert_eq!(depth(&["depth=256"]), Link::InProcess { depth: 256 });
}

/// A line rate is computed with the longest frames on the path (RFC 8219, section 5.1).
#[test]
fn a_line_rate_is_that_of_the_longest_frames() {
    let of = |text: &str| scenario_of(text, false, &["max-rate=10 Gbit/s"]).max_rate();
    assert_eq!(of(QUICKSTART), Some(14_880_952));
    for text in [include_str!("../../../scenarios/plat.toml"), include_str!("../../../scenarios/map-t.toml")] {
        assert_eq!(of(text), Some(12_019_230));
    }
    for text in [include_str!("../../../scenarios/lwaftr.toml"), include_str!("../../../scenarios/ds-lite.toml")] {
        assert_eq!(of(text), Some(10_080_645));
    }
}

/// Published tables name both sizes of the kernel's table (draft-lencse-v6ops-transition-scalability).
#[test]
fn the_kernels_table_is_sized_as_the_scenario_says() {
    let text = include_str!("../../../scenarios/kernel-nat44-xdp.toml");
    let config = |set: &[&str]| {
        let scenario = scenario_of(text, false, set);
        let plan = Plan::new(&scenario);
        let point = plan.measurements.iter().map(|m| &m.point).find(|p| p.dut_name == "nftables").unwrap();
        let bed = scenario.bed_with(&scenario.duts[point.dut]).expect("a kernel");
        let (role, keys) = &bed.boxes[0];
        natmeter::rig::configuration::of(&scenario, &bed, (role, keys), point).expect("it has steps").config
    };
    let usual = config(&[]);
    assert_eq!((usual.table_size, usual.hash_size), (None, None));
    let sized = config(&["dut.nftables.table=4M", "dut.nftables.hash-size=8388608"]);
    assert_eq!((sized.table_size, sized.hash_size), (Some(4_000_000), Some(8_388_608)));
}

#[test]
fn overrides() {
    let with = |full, set: &[&str]| scenario_of(QUICKSTART, full, set);
    assert_eq!(with(false, &["connections=4M"]).sweep.connections, [4_000_000]);
    assert_eq!(with(false, &["connections=100k,1M"]).sweep.connections, [100_000, 1_000_000]);
    assert_eq!(with(false, &["cores = [1, 2]"]).sweep.cores.values, [1, 2]);
    assert_eq!(with(false, &["measure.repetitions=3", "repetitions=4"]).measure.repetitions.most, 4);
    assert_eq!(with(false, &["traffic.frame-size=128"]).traffic.frame_size, 128);
    assert_eq!(with(false, &["duration=1 s"]).measure.duration, Nanos::from_secs(1));
    assert_eq!(with(true, &["duration=61 s"]).measure.duration, Nanos::from_secs(61));
    assert_eq!(with(true, &[]).measure.duration, Nanos::from_secs(60));
    assert_eq!(with(true, &["connections=4M"]).sweep.connections, [4_000_000]);
    assert_eq!(with(true, &["verify=3"]).measure.verify, Some(3));
    assert_eq!(with(false, &["max-rate=10 Gbit/s"]).max_rate(), Some(14_880_952));
    let search = with(false, &["min-rate=1k", "verify=3", "phase1-share=50 %", "validate-at-most=200k"]);
    let measure = &search.measure;
    assert_eq!((search.min_rate(), search.validate_at_most()), (Some(1_000), Some(200_000)));
    assert_eq!((measure.verify, measure.phase1_share_ppm), (Some(3), Some(500_000)));
    assert!(conformance(&search).sentences().iter().any(|d| d.starts_with("a rate fails only after 3 failed trials")));
    assert_eq!(
        with(false, &["mapping=endpoint-independent"]).duts,
        with(false, &["dut.embedded.mapping=\"endpoint-independent\""]).duts
    );
}

/// Overrides set booleans of technologies. A short name that is both an axis and a key means the axis, if the scenario sweeps
/// it.
#[test]
fn overrides_of_technologies_and_axes() {
    let with = |text: &str, set: &str| scenario_of(text, false, &[set]);
    let plat = |set| with(include_str!("../../../scenarios/plat.toml"), set).duts;
    assert_eq!(plat("hairpinning=true"), plat("technology.464xlat.hairpinning = true"));
    assert_ne!(plat("hairpinning=true"), plat("hairpinning=false"));
    let lwaftr = include_str!("../../../scenarios/lwaftr.toml");
    assert_eq!(with(lwaftr, "subscribers=1k").traffic.flows.subscribers, 1_000);
    let swept = with(include_str!("../../../scenarios/lwaftr-softwires.toml"), "softwires=1k,1M,10M");
    assert_eq!(swept.axes[0].values, [1_000, 1_000_000, 10_000_000]);
    let swept = with(include_str!("../../../scenarios/aftr-subscribers.toml"), "subscribers=100,1k");
    assert_eq!(swept.axes[0].values, [100, 1_000]);
}

#[test]
fn full_takes_what_conforms_from_full_or_the_defaults() {
    let text = "name = \"x\"\n[dut.simulated]\n[sweep]\nconnections = \"100k\"\n[measure]\nduration = \"1 s\"\nrepetitions = 2\n\
                max-rate = \"5M\"\n[full]\nrepetitions = 20\nconnections = [\"200k\", \"400k\"]\n";
    let [quick, full] = [false, true].map(|full| scenario_of(text, full, &[]));
    assert_eq!((quick.measure.repetitions.most, quick.measure.duration), (2, Nanos::from_secs(1)));
    assert_eq!((full.measure.repetitions.most, full.measure.duration), (20, Nanos::from_secs(60)));
    assert_eq!(full.measure.max_rate, quick.measure.max_rate);
    assert_eq!(full.sweep.connections, [200_000, 400_000]);
    assert!(full.full && !quick.full);
}
