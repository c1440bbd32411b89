//! The events and the report of whole runs are valid by the JSON Schemas that `natmeter schema` prints.

use crate::simulated;
use jsonschema::Validator;
use natmeter::event::{Event, EventLine};
use record::folder::{SelfTest, SelfTestCheck};
use record::report::Report;
use record::store::{EVENTS, RunFolder, TRIALS};
use record::versioned::{FORMAT_VERSION, VersionedDocument, schema_of};
use schemars::JsonSchema;
use serde_json::{Value, json};
use std::fs;

fn validator<T: JsonSchema>() -> Validator {
    jsonschema::draft202012::new(&schema_of::<T>("test")).unwrap_or_else(|e| panic!("{e}"))
}

fn assert_valid(validator: &Validator, document: &Value) {
    let errors: Vec<String> = validator.iter_errors(document).map(|e| format!("{}: {e}", e.instance_path())).collect();
    assert!(errors.is_empty(), "{document}: {errors:#?}");
    assert_eq!(document["format_version"], FORMAT_VERSION);
}

#[test]
fn events_and_report_of_a_run_are_valid() {
    let dir = tempfile::tempdir().unwrap();
    let (path, outcomes) = simulated::run(dir.path(), &simulated::header());
    let mut trials = fs::read_to_string(path.join(TRIALS)).unwrap();
    trials.push_str("{\"seq\":");
    fs::write(path.join(TRIALS), trials).unwrap();
    // Opening the folder removes the incomplete line, which is an event, too.
    drop(RunFolder::open_for_resume(&path).unwrap());
    let events = fs::read_to_string(path.join(EVENTS)).unwrap();
    let line = validator::<EventLine>();
    let events: Vec<Value> = events.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for event in &events {
        assert_valid(&line, event);
    }
    for kind in ["run-started", "measurement-started", "trial", "measurement-done", "finished", "torn-line"] {
        assert!(events.iter().any(|event| event["event"] == kind), "{kind}");
    }
    let times: Vec<f64> = outcomes.iter().map(|o| o.after_s.unwrap()).collect();
    assert!(times.is_sorted() && times[0] > 0.0, "{times:?}");
    let report = Report::from_folder(&path, tech::ALL).unwrap().render("json").unwrap();
    assert_valid(&validator::<Report>(), &serde_json::from_str(&report).unwrap());
}

/// Events that a run on the simulated device does not have.
#[test]
fn other_events_are_valid() {
    let check = SelfTestCheck { name: "a".into(), ..SelfTestCheck::default() };
    let events = [
        Event::SelfTesting { number: 1, of: 2, check: check.clone() },
        Event::SelfTested(SelfTest { passed: false, checks: vec![check] }),
        Event::Calibrated(record::folder::Ceiling::default()),
        Event::Doubt { text: "a".into() },
        Event::NullMeasured { before: true, frames: method::Rate(1), set_up: None },
        Event::LeftOut { measurement: "a".into() },
        Event::PointRepeated { point: simulated::header().plan.measurements[0].point.clone(), change: 0.33 },
        Event::Repaired { text: "a".into() },
    ];
    let line = validator::<EventLine>();
    for event in events {
        assert_valid(&line, &serde_json::to_value(VersionedDocument::of(&event)).unwrap());
    }
}

#[test]
fn other_lines_are_refused() {
    let line = validator::<EventLine>();
    for wrong in [
        json!({ "format_version": FORMAT_VERSION, "event": "no-such-event" }),
        json!({ "format_version": FORMAT_VERSION, "event": "doubt" }),
        json!({ "format_version": FORMAT_VERSION + 1, "event": "doubt", "text": "a" }),
        json!({ "event": "doubt", "text": "a" }),
    ] {
        assert!(!line.is_valid(&wrong), "{wrong}");
    }
}
