//! A procedure that does not ship: what natmeter knows of a procedure stands in one entry, whichever list a caller passes. From
//! the text of a scenario to every format of a report, nothing else names it.

use key::kind::share;
use key::or;
use method::simulated::{SimulatedDut, Truth};
use method::{Rate, ResultKind, SearchResult, TrialError, TrialOutcome, TrialRecord, TrialSpec, Trials, judge};
use procedure::metric::Unit;
use procedure::{Context, KeyTable, List, Metric, Procedure, Watch};
use record::audit::Basis;
use record::folder::{Calibration, Facts, Header, Outcome};
use record::plan::Plan;
use record::report::{KNOWN, Report};
use record::search::Search;
use record::store::{CALIBRATION, FACTS, RunFolder, write_whole};
use scenario::{Lists, Options, Scenario, Summary, book, parse};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

key::table! {
    /// The one trial of the toy.
    pub struct Toy {
        /// Its rate, as a share of the highest.
        share_ppm: u32 = "share", share(), or("50 %");
    }
}

const TOY_RATE: Metric = Metric {
    key: "toy_rate",
    title: "Toy rate",
    unit: Unit::FramesPerSecond,
    reference: "nowhere",
    definition: "A share of the highest rate, whether frames are lost or not.",
    ..Metric::USUAL
};

static TOY: Procedure = Procedure {
    key: "toy",
    summary: "one trial at a share of the highest rate",
    tables: &[KeyTable::of::<Toy>("toy")],
    check: |asked| {
        if let Some(at) = asked.metric_at(&TOY_RATE).filter(|_| asked.keys.get::<Toy>().share_ppm == 1_000_000) {
            let fault = key::Fault::new("a toy is no whole").at(at, "needs a part").needs(asked.at("toy.share"));
            asked.refuse(fault.instead("write a smaller share"));
        }
    },
    search,
    ..Procedure::of(&TOY_RATE)
};

fn search(context: &Context<'_>, trials: &mut dyn Trials, watch: Watch<'_>) -> Result<SearchResult, TrialError> {
    let rate = context.settings.hi.scaled(context.keys.get::<Toy>().share_ppm.into(), 1_000_000);
    let spec = TrialSpec { rate, ..method::search::data_trial(context.settings, context.phase2()?)? };
    watch(&method::Progress { lo: rate, hi: rate, rate, steps_left: 1 });
    let mut decider = method::search::Decider::new(trials, context.settings);
    let judgement = decider.decide(&spec, &method::search::probe(&spec), method::Patience::Repeat)?;
    let mut result = SearchResult::empty();
    result.note(rate, &judgement);
    Ok(SearchResult { rate, kind: ResultKind::Observed, ..result })
}

/// All procedures, and the toy.
fn lists() -> Lists {
    let procedures: List = Vec::leak(procedure::ALL.iter().copied().chain([&TOY]).collect());
    Lists { procedures, ..tech::ALL.into() }
}

const SCENARIO: &str = "name = \"toy\"\n[dut.simulated]\n[sweep]\nconnections = \"100k\"\n[measure]\nmetrics = \"toy_rate\"\n\
                        repetitions = 1\nphase1-rate = \"100k\"\nmax-rate = \"1M\"\n[measure.toy]\nshare = \"40 %\"\n";

fn loaded(text: &str) -> Result<Scenario, String> {
    parse("toy.toml", text, &Options::default(), lists()).map(|loaded| loaded.scenario).map_err(|e| e.to_string())
}

/// Writes each trial of a device of known truth to the run folder, as a run does.
struct Recorded<'a> {
    device: SimulatedDut,
    folder: &'a mut RunFolder,
    measurement: String,
    next_seq: u64,
}

impl Trials for Recorded<'_> {
    fn run(&mut self, spec: &TrialSpec) -> Result<TrialOutcome, TrialError> {
        let outcome = self.device.run(spec)?;
        let record = TrialRecord {
            seq: self.next_seq,
            measurement: self.measurement.clone(),
            spec: spec.clone(),
            outcome: outcome.clone(),
            verdict: judge(spec, &outcome, &method::Criteria::default()),
        };
        self.next_seq += 1;
        self.folder.append_trial(&record).map_err(|e| TrialError::Store(e.to_string()))?;
        Ok(outcome)
    }
}

fn record_run(parent: &Path) -> PathBuf {
    let scenario = loaded(SCENARIO).unwrap_or_else(|e| panic!("{e}"));
    let plan = Plan::new(&scenario);
    let header = Header::new("2026-01-12T10:15:30Z".into(), scenario, Options::default(), plan);
    let mut folder = RunFolder::create(parent, "toy", SystemTime::UNIX_EPOCH, SCENARIO, &header).unwrap();
    let calibration = Calibration::default();
    let write =
        |file, text: serde_json::Result<String>| write_whole(&folder.path().join(file), &text.unwrap()).unwrap();
    write(CALIBRATION, serde_json::to_string(&calibration));
    write(FACTS, serde_json::to_string(&Facts::default()));
    let [m] = &header.plan.measurements[..] else { panic!("{:?}", header.plan.measurements) };
    let search = Search::new(m, &header.scenario, &calibration, &[]).unwrap();
    let device = SimulatedDut::new(Truth::new(Rate(3_000_000), Rate(700_000)), 1);
    let mut trials = Recorded { device, folder: &mut folder, measurement: m.key(), next_seq: 0 };
    let result = search.run(&mut trials, &mut |_| {}).unwrap();
    let outcome = Outcome::new(m.clone(), search.direction(), result);
    folder.append_outcome(&outcome).unwrap();
    folder.path().to_path_buf()
}

#[test]
fn a_scenario_asks_for_it_by_its_keys_and_its_rules_are_checked() {
    let scenario = loaded(SCENARIO).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(scenario.procedures.get::<Toy>().share_ppm, 400_000);
    assert!(Summary::new(&scenario).to_string().contains("toy_rate"));
    let whole = loaded(&SCENARIO.replace("40 %", "100 %")).unwrap_err();
    assert!(whole.contains("a toy is no whole") && whole.contains("write a smaller share"), "{whole}");
    let misspelt = loaded(&SCENARIO.replace("share =", "shar =")).unwrap_err();
    assert!(misspelt.contains("did you mean `share`?"), "{misspelt}");
    let others = parse("toy.toml", SCENARIO, &Options::default(), tech::ALL).unwrap_err().to_string();
    assert!(others.contains("unknown metric `toy_rate`") && others.contains("[measure.toy]"), "{others}");
    let book = book(lists());
    assert!(book.page(2, |path| path == "measure.toy").contains("| `share` |"));
    let schema = book.json_schema("scenario");
    assert!(schema["properties"]["measure"]["properties"]["toy"]["properties"]["share"].is_object(), "{schema}");
}

#[test]
fn a_run_folder_and_every_report_have_it() {
    let parent = tempfile::tempdir().unwrap();
    let report = Report::from_folder(&record_run(parent.path()), lists()).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!((report.audit.basis, &report.audit.findings[..]), (Basis::DerivedAgain, &[][..]));
    assert_eq!(report.results[0].median(), Some(400_000.0));
    for format in KNOWN {
        // LaTeX and Markdown escape the underscore.
        let text = report.render(format.name).unwrap().replace('\\', "");
        assert!(text.to_lowercase().contains("toy rate") || text.contains("toy_rate"), "{}: {text}", format.name);
        assert!(text.contains("frames/s") || text.contains("400"), "{}: {text}", format.name);
    }
}
