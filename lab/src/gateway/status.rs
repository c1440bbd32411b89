//! Counters and entries of a running gateway as text for programs. Apart from what is asked of it, because these are formats that
//! others rely on.

use serde_json::json;
use std::fmt::Write;

/// Entries and counters of all workers.
pub(super) struct Status {
    pub(super) sessions: Option<u64>,
    pub(super) mappings: Option<u64>,
    pub(super) workers: Vec<(gateway::worker::WorkerCounters, plane::Drops)>,
}

impl Status {
    /// Counters of one worker, with names.
    fn counters(w: &gateway::worker::WorkerCounters) -> [(&'static str, u64); 8] {
        [
            ("received", w.received),
            ("sent", w.sent),
            ("refused", w.refused),
            ("dropped", w.dropped),
            ("handed-over", w.handed_over),
            ("inbox-full", w.inbox_full),
            ("answered", w.answered),
            ("local", w.local),
        ]
    }

    /// As JSON.
    pub(super) fn json(&self) -> String {
        let map = |all: &[(&'static str, u64)]| -> serde_json::Map<String, serde_json::Value> {
            all.iter().map(|&(k, v)| (k.to_owned(), v.into())).collect()
        };
        let workers: Vec<_> = self
            .workers
            .iter()
            .map(|(w, events)| json!({ "frames": map(&Status::counters(w)), "events": map(events) }))
            .collect();
        format!("{}\n", json!({ "sessions": self.sessions, "mappings": self.mappings, "workers": workers }))
    }

    /// OpenMetrics text.
    pub(super) fn open_metrics(&self) -> String {
        let mut text = String::new();
        for (name, help, value) in [
            ("natmeter_sessions", "Entries of the session table.", self.sessions),
            ("natmeter_mappings", "Entries of the mapping table.", self.mappings),
        ] {
            if let Some(value) = value {
                let _ = write!(text, "# TYPE {name} gauge\n# HELP {name} {help}\n{name} {value}\n");
            }
        }
        let _ = write!(text, "# TYPE natmeter_frames counter\n# HELP natmeter_frames Frames by what became of them.\n");
        for (i, (w, _)) in self.workers.iter().enumerate() {
            for (what, n) in Status::counters(w) {
                let _ = writeln!(text, "natmeter_frames_total{{worker=\"{i}\",what=\"{what}\"}} {n}");
            }
        }
        let _ =
            write!(text, "# TYPE natmeter_events counter\n# HELP natmeter_events Packets by what the function did.\n");
        for (i, (_, events)) in self.workers.iter().enumerate() {
            for (event, n) in events {
                let _ = writeln!(text, "natmeter_events_total{{worker=\"{i}\",event=\"{event}\"}} {n}");
            }
        }
        text.push_str("# EOF\n");
        text
    }
}
