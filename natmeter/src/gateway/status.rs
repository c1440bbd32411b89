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
