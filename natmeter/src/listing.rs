//! `natmeter list`: the kinds that natmeter supports, from the const lists of the crates. A new
//! list is one entry in [`KNOWN`].

use crate::installed;
use crate::term::in_columns;
use scenario::axis::{AXES, Axis};
use scenario::bed::software::{self, Software};
use scenario::quantity::show_count;
use scenario::{VETH_IO, VethIo, book};
use serde::Serialize;
use std::fmt::Write;
use tech::AxisKind;

/// Folder of the runs, unless `--runs` names another one.
pub(crate) const RUNS: &str = "runs";

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct ListRow {
    /// Name in scenarios, reports and commands.
    pub(crate) name: String,
    pub(crate) about: String,
}

pub(crate) struct List {
    /// Name in `natmeter list NAME`.
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    pub(crate) rows: fn() -> Vec<ListRow>,
}

fn scenarios() -> Vec<ListRow> {
    let row = |(name, about)| ListRow { name, about };
    installed::all().into_iter().map(row).collect()
}

fn technologies() -> Vec<ListRow> {
    tech::ALL.iter().map(|entry| ListRow { name: entry.name().into(), about: entry.about.into() }).collect()
}

pub(crate) const KNOWN: &[List] = &[
    List { name: "scenarios", title: "Scenarios for `natmeter run NAME`", rows: scenarios },
    List { name: "devices", title: "Devices under test, as tables of a scenario", rows: devices },
    List {
        name: "technologies",
        title: "Technologies, as tables of a scenario or a gateway's file",
        rows: technologies,
    },
    List { name: "axes", title: "Axes of [sweep] beside connections and cores", rows: axes },
    List { name: "software", title: "DUT software", rows: software },
    List { name: "hosts", title: "Places where a DUT can run", rows: || pairs(dut::host::KNOWN) },
    List { name: "back-ends", title: "Back-ends (packets in and out)", rows: back_ends },
    List { name: "procedures", title: "Procedures", rows: procedures },
    List { name: "metrics", title: "Metrics", rows: metrics },
];

pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    KNOWN.iter().map(|list| list.name)
}

pub(crate) fn select(name: Option<&str>) -> impl Iterator<Item = &'static List> {
    KNOWN.iter().filter(move |list| name.is_none_or(|name| name == list.name))
}

pub(crate) fn text(lists: impl Iterator<Item = &'static List>) -> String {
    let mut out = String::new();
    for list in lists {
        let rows: Vec<_> = (list.rows)().into_iter().map(|row| vec![row.name, row.about]).collect();
        let gap = if out.is_empty() { "" } else { "\n" };
        let _ = writeln!(out, "{gap}{}:", list.title);
        out.push_str(&in_columns("  ", &rows, |_| true));
    }
    out
}

fn pairs(known: &[(&str, &str)]) -> Vec<ListRow> {
    known.iter().map(|&(name, about)| ListRow { name: name.to_owned(), about: about.to_owned() }).collect()
}

/// Spelled as in `[link]` and in `io` of a gateway's file.
fn back_ends() -> Vec<ListRow> {
    let row = |name: &str, key: &str, kind: &str| {
        let about = port::backend::KNOWN.iter().find(|known| known.0 == kind).map_or("", |known| known.1);
        ListRow { name: name.to_owned(), about: format!("{key}: {about}") }
    };
    let veth = VETH_IO.iter().map(|&(name, io, _)| {
        let (kind, mode) = match io {
            VethIo::AfPacket => ("af_packet", ""),
            VethIo::AfXdpGeneric => ("af_xdp", ", generic XDP"),
            VethIo::AfXdpNative => ("af_xdp", ", native XDP"),
        };
        row(name, &format!("[link.veth] io = \"{name}\"{mode}"), kind)
    });
    let others = [row("in-process", "[link.in-process]", "link"), row("tap", "[link.tap]", "tap")];
    others.into_iter().chain(veth).collect()
}

fn devices() -> Vec<ListRow> {
    let about = |kind: &str| match kind {
        "embedded" => "the embedded gateway: stateful NAT44 in this process, on threads of its own",
        "unbound" => "Unbound as a DNS64 server, in a namespace of its own, with Knot DNS as the authoritative server",
        "external" => "a box between two ports of this machine; needs a bed file (`natmeter bed init`)",
        "simulated" => {
            "a simulated device with known capacity and set-up rate, without frames, to test natmeter itself"
        }
        "known-truth" => {
            "a NAT44 in this process with exactly injected faults and limits, to try procedures over frames"
        }
        name => software::KNOWN.iter().find(|known| known.name == name).map_or("", |known| known.about),
    };
    book(tech::ALL)
        .kinds("dut")
        .map(|kind| ListRow { name: format!("[dut.{kind}]"), about: about(kind).to_owned() })
        .collect()
}

fn axes() -> Vec<ListRow> {
    let about = |axis: &Axis| match axis.kind {
        AxisKind::Numbers(numbers) => format!("{}, up to {}: {}", axis.heading, show_count(numbers.most), axis.devices),
        AxisKind::Directions => format!("{}, `both`, `forward`, `reverse` or `N:M`: {}", axis.heading, axis.devices),
    };
    AXES.iter().map(|axis| ListRow { name: axis.name().to_owned(), about: about(axis) }).collect()
}

/// All software that natmeter configures, with the technologies that each does.
fn software() -> Vec<ListRow> {
    let row = |known: &Software| {
        let mut does: Vec<&str> = known.does.iter().map(|does| does.technology).collect();
        does.dedup();
        ListRow { name: known.name.to_owned(), about: format!("{}: {}", known.about, does.join(", ")) }
    };
    software::KNOWN.iter().map(row).chain(pairs(dut::dns::SERVERS)).collect()
}

fn procedures() -> Vec<ListRow> {
    let known = procedure::ALL.iter();
    known.map(|p| ListRow { name: p.key.to_owned(), about: format!("{} ({})", p.summary, p.reference) }).collect()
}

fn metrics() -> Vec<ListRow> {
    let known = procedure::metrics(procedure::ALL);
    known.map(|m| ListRow { name: m.key.to_owned(), about: format!("{} ({})", m.title, m.reference) }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_list_has_rows_and_every_row_says_something() {
        for list in KNOWN {
            let rows = (list.rows)();
            assert!(!rows.is_empty(), "{}", list.name);
            for row in rows {
                assert!(!row.about.is_empty(), "{}: {}", list.name, row.name);
            }
        }
    }

    #[test]
    fn every_software_is_a_device_of_scenarios() {
        let book = book(tech::ALL);
        let kinds: Vec<&str> = book.kinds("dut").collect();
        for software in dut::software::KNOWN {
            assert!(kinds.contains(&software.name), "{} has no table in scenarios", software.name);
        }
    }

    #[test]
    fn back_ends_are_spelled_as_in_scenarios() {
        let rows = back_ends();
        let names: Vec<&str> = rows.iter().map(|row| row.name.as_str()).collect();
        assert_eq!(names, ["in-process", "tap", "af-packet", "af-xdp-generic", "af-xdp-native"]);
        for (name, about) in port::backend::KNOWN {
            assert!(rows.iter().any(|row| row.about.contains(about)), "{name}");
        }
    }

    #[test]
    fn one_list_or_all() {
        assert_eq!(select(Some("hosts")).count(), 1);
        assert_eq!(select(None).count(), KNOWN.len());
    }
}
