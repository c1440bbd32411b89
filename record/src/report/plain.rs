//! Facts and checks of earlier versions in plain words. Those versions recorded parameters as JSON, and cores and faults in
//! the notation of a debugger; the record stays as it is.

use crate::folder::{Facts, SelfTestCheck};
use method::Fault;
use serde_json::Value;

pub(super) fn facts(facts: &mut Facts) {
    for table in std::iter::once(&mut facts.tester).chain(facts.duts.values_mut()) {
        for value in table.values_mut() {
            *value = fact(value);
        }
    }
}

fn fact(value: &str) -> String {
    match serde_json::from_str(value) {
        Ok(json @ Value::Object(_)) => {
            let mut parts = Vec::new();
            flatten("", &json, &mut parts);
            parts.join(", ")
        }
        Ok(json @ Value::Array(_)) => words(&json),
        _ if value.contains("[Some(") || value.contains("[None") => {
            value.replace("None", "any").replace("Some(", "").replace([')', '[', ']'], "")
        }
        _ => value.to_owned(),
    }
}

/// Lists the values of nested objects as `outer inner = value`.
fn flatten(name: &str, json: &Value, parts: &mut Vec<String>) {
    let Value::Object(map) = json else {
        parts.push(format!("{name} = {}", words(json)));
        return;
    };
    for (key, value) in map {
        let name = if name.is_empty() { key.clone() } else { format!("{name} {key}") };
        flatten(&name, value, parts);
    }
}

fn words(json: &Value) -> String {
    match json {
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(words).collect::<Vec<_>>().join(", "),
        Value::Object(map) => map.values().map(words).collect::<Vec<_>>().join(" "),
        other => other.to_string(),
    }
}

pub(super) fn check(check: &mut SelfTestCheck) {
    for text in [&mut check.truth, &mut check.measured] {
        for fault in Fault::ALL {
            // A count and a blank precede the name of a fault.
            *text = text.replace(&format!(" {fault:?}"), &format!(" {}", fault.name()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notations_of_earlier_versions_become_words() {
        assert_eq!(fact("tester [Some(0)], workers [Some(1), Some(2)]"), "tester 0, workers 1, 2");
        assert_eq!(fact("tester [None], workers [None]"), "tester any, workers any");
        assert_eq!(fact("[0, 1]"), "0, 1");
        let parameters = r#"{"map-t":{"ea-bits":11,"inside":[{"addr":"10.0.0.0","len":8}],"hairpinning":true}}"#;
        assert_eq!(fact(parameters), "map-t ea-bits = 11, map-t hairpinning = true, map-t inside = 10.0.0.0 8");
        for kept in ["always [madvise] never", "24684096 kB", "0.49 0.9 [x", ""] {
            assert_eq!(fact(kept), kept);
        }
    }

    #[test]
    fn faults_of_a_check_become_words() {
        let mut old = SelfTestCheck {
            truth: "200,000 right, 200 Duplicate".into(),
            measured: "99,998 + 100,000 right, 2 + 0 WrongPort".into(),
            ..SelfTestCheck::default()
        };
        check(&mut old);
        assert_eq!(old.truth, "200,000 right, 200 duplicate");
        assert_eq!(old.measured, "99,998 + 100,000 right, 2 + 0 with a wrong port");
    }
}
