//! Every example run as JSON is valid by the JSON Schema of reports, and the schema refuses what a report never is.

use super::{examples, fixture, repeated, report};
use method::trial::Fault;
use method::{Rate, StoreFacts};
use record::folder::{Cost, NullDevice, SelfTestCheck, Spread};
use record::report::Report;
use record::versioned::{FORMAT_VERSION, schema_of};
use serde_json::{Value, json};

fn validator() -> jsonschema::Validator {
    let schema = schema_of::<Report>("report");
    jsonschema::draft202012::meta::validate(&schema).unwrap_or_else(|e| panic!("{e}"));
    jsonschema::draft202012::new(&schema).unwrap_or_else(|e| panic!("{e}"))
}

fn json_of(run: &fixture::Run) -> Value {
    serde_json::from_str(&report(run).render("json").unwrap()).unwrap()
}

/// A run that uses the parts of a report that most runs lack.
fn with_everything() -> fixture::Run {
    let mut run = fixture::kernel();
    run.inject(Fault::WrongPort, 3);
    run.trials[1].outcome.store = Some(StoreFacts { learned: 1_000, dut_entries: Some(999), ..StoreFacts::default() });
    run.trials[2].outcome.hop_limit = [None, Some(run.header.scenario.traffic.ttl)];
    let deciding = Some(Box::new(run.trials[0].clone()));
    run.self_test.checks.push(SelfTestCheck { name: "a".into(), deciding, ..SelfTestCheck::default() });
    let spread = Spread { median: 35.5, low: 34.0, high: 37.25, least: 33.0, n: 20 };
    for outcome in &mut run.outcomes {
        outcome.cost =
            Some(Cost { cpu_ns_per_frame: Some(spread), paired_ratio: None, one_thread_ns_per_frame: Some(spread) });
    }
    let point = run.outcomes[0].measurement.point.clone();
    run.nulls = [true, false]
        .map(|before| NullDevice {
            point: point.clone(),
            visit: None,
            before,
            after_s: 1.5,
            frames: Rate(7),
            set_up: None,
        })
        .into();
    run
}

#[test]
fn reports_are_valid_by_their_schema() {
    let validator = validator();
    for (name, run) in
        examples().into_iter().chain([("with_everything", with_everything()), ("repeated", repeated::repeated())])
    {
        let document = json_of(&run);
        let errors: Vec<String> =
            validator.iter_errors(&document).map(|e| format!("{}: {e}", e.instance_path())).collect();
        assert!(errors.is_empty(), "{name}: {errors:#?}");
        assert_eq!(document["format_version"], FORMAT_VERSION);
    }
}

#[test]
fn the_schema_refuses_other_documents() {
    let validator = validator();
    let good = json_of(&with_everything());
    let changes: [(&str, Value); 7] = [
        ("/format_version", json!(FORMAT_VERSION + 1)),
        ("/judged/faults", json!([["wrong-port", 3]])),
        ("/judged/worst_count", json!([999, 1_000])),
        ("/results/0/bound", json!("nearly")),
        ("/results/0/repetitions/0/rate", json!("7")),
        ("/self_test/checks/2/deciding/outcome/hop_limit", json!([null, 9])),
        ("/header/scenario", json!({})),
    ];
    for (pointer, value) in changes {
        let mut bad = good.clone();
        *bad.pointer_mut(pointer).unwrap_or_else(|| panic!("{pointer}")) = value;
        assert!(!validator.is_valid(&bad), "{pointer}");
    }
    let mut bad = good.clone();
    bad.as_object_mut().unwrap().remove("doubts");
    assert!(!validator.is_valid(&bad));
}

/// Fault counts, hop limits and other pairs have names: no array in a report holds bare numbers or arrays.
#[test]
fn reports_have_names_instead_of_bare_arrays() {
    fn bare(path: &str, value: &Value, found: &mut Vec<String>) {
        match value {
            Value::Array(items) => {
                if items.iter().any(|item| item.is_number() || item.is_array() || item.is_null()) {
                    found.push(path.to_owned());
                }
                for item in items {
                    bare(path, item, found);
                }
            }
            Value::Object(map) => map.iter().for_each(|(key, value)| bare(&format!("{path}/{key}"), value, found)),
            _ => {}
        }
    }
    let mut found = Vec::new();
    bare("", &json_of(&with_everything()), &mut found);
    assert_eq!(found, Vec::<String>::new());
}
