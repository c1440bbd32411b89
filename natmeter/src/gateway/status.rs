//! Counters and table entries of a running gateway, as JSON and OpenMetrics text.

use gateway::control_queue::Account;
use serde_json::json;
use std::fmt::Write;
use wire::Mac;

/// Counters and entries of all workers, and next hops (left, right).
pub(super) struct Status {
    pub(super) workers: Vec<Account>,
    pub(super) next_hops: [Mac; 2],
    /// Ignored frames (left, right).
    pub(super) other_vlan: [u64; 2],
}

impl Status {
    fn counters(w: &gateway::worker::WorkerCounters) -> [(&'static str, u64); 9] {
        [
            ("received", w.received),
            ("sent", w.sent),
            ("refused", w.refused),
            ("dropped", w.dropped),
            ("held", w.held),
            ("handed-over", w.handed_over),
            ("inbox-full", w.inbox_full),
            ("answered", w.answered),
            ("local", w.local),
        ]
    }

    /// `None` for a stateless function.
    fn entries(&self, kind: impl Fn((u64, u64)) -> u64) -> Option<u64> {
        self.workers.iter().filter_map(|w| w.entries.map(&kind)).reduce(|sum, n| sum + n)
    }

    pub(super) fn json(&self) -> String {
        let map = |all: &[(&'static str, u64)]| -> serde_json::Map<String, serde_json::Value> {
            all.iter().map(|&(k, v)| (k.to_owned(), v.into())).collect()
        };
        let workers: Vec<_> = self
            .workers
            .iter()
            .map(|w| json!({ "frames": map(&Status::counters(&w.frames)), "events": map(&w.events) }))
            .collect();
        let [left, right] = self.next_hops.map(|mac| mac.to_string());
        let status = json!({ "sessions": self.entries(|e| e.0), "mappings": self.entries(|e| e.1), "workers": workers,
            "next-hops": { "left": left, "right": right },
            "other-vlan": { "left": self.other_vlan[0], "right": self.other_vlan[1] } });
        format!("{status}\n")
    }

    pub(super) fn open_metrics(&self) -> String {
        let mut text = String::new();
        for (name, help, value) in [
            ("natmeter_sessions", "Entries of the session table.", self.entries(|e| e.0)),
            ("natmeter_mappings", "Entries of the mapping table.", self.entries(|e| e.1)),
        ] {
            if let Some(value) = value {
                let _ = write!(text, "# TYPE {name} gauge\n# HELP {name} {help}\n{name} {value}\n");
            }
        }
        let _ = write!(text, "# TYPE natmeter_frames counter\n# HELP natmeter_frames Frames by what became of them.\n");
        for (i, w) in self.workers.iter().enumerate() {
            for (what, n) in Status::counters(&w.frames) {
                let _ = writeln!(text, "natmeter_frames_total{{worker=\"{i}\",what=\"{what}\"}} {n}");
            }
        }
        let _ =
            write!(text, "# TYPE natmeter_events counter\n# HELP natmeter_events Packets by what the function did.\n");
        for (i, w) in self.workers.iter().enumerate() {
            for (event, n) in &w.events {
                let _ = writeln!(text, "natmeter_events_total{{worker=\"{i}\",event=\"{event}\"}} {n}");
            }
        }
        let _ = write!(
            text,
            "# TYPE natmeter_other_vlan_frames counter\n# HELP natmeter_other_vlan_frames Frames not of the side's VLAN.\n"
        );
        for (side, n) in ["left", "right"].into_iter().zip(self.other_vlan) {
            let _ = writeln!(text, "natmeter_other_vlan_frames_total{{side=\"{side}\"}} {n}");
        }
        text.push_str("# EOF\n");
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gateway::worker::WorkerCounters;
    use record::report::Report;
    use std::collections::BTreeSet;
    use std::path::Path;

    fn status() -> Status {
        let account =
            Account { frames: WorkerCounters::default(), entries: Some((1, 2)), events: vec![("hairpin", 3)] };
        Status { workers: vec![account], next_hops: [Mac([0; 6]); 2], other_vlan: [4, 5] }
    }

    /// The names before `{` or a space in samples of a text.
    fn samples(text: &str) -> BTreeSet<String> {
        let name = |line: &str| line.split(['{', ' ']).next().unwrap_or_default().to_owned();
        text.lines().filter(|line| !line.starts_with('#')).map(name).collect()
    }

    /// The words of an expression that begin with `natmeter_`.
    fn named(expression: &str) -> impl Iterator<Item = &str> {
        expression.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').filter(|word| word.starts_with("natmeter_"))
    }

    /// OpenMetrics 1.0.0, sections 5.1 and 5.2: samples follow the type of their family, and counters end with `_total`.
    #[test]
    fn the_metrics_of_a_gateway_are_open_metrics() {
        let text = status().open_metrics();
        let (mut family, mut all) = ((String::new(), ""), BTreeSet::new());
        for line in text.strip_suffix("# EOF\n").unwrap().lines() {
            if let Some((name, of)) = line.strip_prefix("# TYPE ").and_then(|rest| rest.split_once(' ')) {
                family = (name.to_owned(), of);
                assert!(all.insert(name.to_owned()), "{name} twice");
            } else if !line.starts_with("# HELP ") {
                let end = if family.1 == "counter" { "_total" } else { "" };
                assert_eq!(samples(line).first(), Some(&format!("{}{end}", family.0)), "{line}");
                assert!(line.rsplit_once(' ').unwrap().1.parse::<u64>().is_ok(), "{line}");
            }
        }
    }

    #[test]
    fn each_query_of_the_dashboard_names_metrics_that_exist() {
        let run = Path::new(env!("CARGO_MANIFEST_DIR")).join("../record/tests/record/version1/embedded-nat44");
        let of_run = Report::from_folder(&run, tech::ALL).unwrap().render("openmetrics").unwrap();
        let known: BTreeSet<String> = samples(&of_run).into_iter().chain(samples(&status().open_metrics())).collect();
        let dashboard: serde_json::Value = serde_json::from_str(include_str!("../../../docs/grafana.json")).unwrap();
        let panels = dashboard["panels"].as_array().unwrap();
        assert!(panels.iter().all(|panel| panel["title"].is_string() && panel["gridPos"]["w"].is_u64()), "{panels:?}");
        let drawn = panels.iter().filter(|panel| panel["type"] != "row");
        let targets = drawn.clone().flat_map(|panel| panel["targets"].as_array().unwrap());
        let variables = dashboard["templating"]["list"].as_array().unwrap();
        let queries = targets.map(|target| &target["expr"]).chain(variables.iter().filter_map(|v| v.get("definition")));
        let queries: Vec<&str> = queries.map(|query| query.as_str().unwrap()).collect();
        assert!(drawn.count() > 0 && queries.iter().all(|query| named(query).count() > 0), "{queries:?}");
        let unknown: Vec<&str> =
            queries.iter().flat_map(|query| named(query)).filter(|name| !known.contains(*name)).collect();
        assert!(unknown.is_empty(), "{unknown:?}: {known:?}");
    }
}
