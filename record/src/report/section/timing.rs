//! Latency and delay variations: the distribution of the delays of each direction, with what stamped the frames.

use super::Section;
use crate::report::figure::{self, Distribution};
use crate::report::result::{PointResult, Repetition};
use crate::report::table::{Table, row};
use crate::report::{Report, facts, number};
use method::Delays;

/// The parts of metrics whose repetitions have delays: one for each metric and direction, with its words in a legend.
const SHOWN: [(&str, &str, &str); 6] = [
    ("latency_typical_forward", "forward", "latency, left to right"),
    ("latency_typical_reverse", "reverse", "latency, right to left"),
    ("pdv_forward", "forward", "PDV, left to right"),
    ("pdv_reverse", "reverse", "PDV, right to left"),
    ("ipdv_median_forward", "forward", "IPDV, left to right"),
    ("ipdv_median_reverse", "reverse", "IPDV, right to left"),
];

/// The section of all points with delays.
pub(super) fn section(report: &Report) -> Option<Section> {
    let all: Vec<Distribution> = report.results.iter().filter_map(distribution).collect();
    if all.is_empty() {
        return None;
    }
    Some(Section {
        title: "Delays".to_owned(),
        about: "From the call that transmits a frame to its receive stamp (RFC 8219, sections 7.2 and 7.3), over all repetitions. Nothing \
                is subtracted: the tester's own floor without a device is printed beside."
            .to_owned(),
        tables: vec![table(report, &all)],
        figures: figure::delays(&all),
    })
}

fn distribution(result: &PointResult) -> Option<Distribution> {
    let (_, direction, words) = SHOWN.iter().find(|(part, ..)| *part == result.metric)?;
    let of = |repetition: &Repetition| {
        let delays = &repetition.observed.delays;
        if *direction == "forward" { delays.forward.clone() } else { delays.reverse.clone() }
    };
    let delays: Vec<Delays> = result.repetitions.iter().filter_map(of).collect();
    let rates = result.repetitions.iter().flat_map(|r| &r.trace).map(|step| step.rate.0);
    let rates = (rates.clone().min()?, rates.max()?);
    let label = format!("{}, {words}", facts::device_at(result));
    (!delays.is_empty()).then(|| Distribution { name: facts::place(result), label, delays, rates })
}

fn table(report: &Report, all: &[Distribution]) -> Table {
    let cells = |of: fn(&Distribution) -> String| all.iter().map(move |d| Some(of(d)));
    let floor = report.calibration.as_ref().map(facts::floor_in_words);
    let mut parameters = vec![
        row(
            "rate per direction",
            cells(|d| {
                let [low, high] = [d.rates.0, d.rates.1].map(|rate| number::si_unit(rate as f64, 3, "fps"));
                if low == high { low } else { format!("{low} to {high}") }
            }),
        ),
        row("frames with time stamps", cells(|d| number::grouped(d.sum(|delays| delays.frames)))),
        row("of these lost", cells(|d| number::grouped(d.sum(|delays| delays.lost)))),
        row("smallest delay", cells(|d| number::duration(d.delays.iter().map(|x| x.min.0).min().unwrap_or(0)))),
        row("largest delay received", cells(|d| number::duration(d.delays.iter().map(|x| x.max.0).max().unwrap_or(0)))),
        row(
            "received frames are stamped by",
            cells(|d| d.delays.first().map(|x| x.source.clone()).unwrap_or_default()),
        ),
    ];
    parameters.extend(floor.map(|floor| row("the tester's own floor", all.iter().map(|_| Some(floor.clone())))));
    Table {
        title: "Time stamps".to_owned(),
        axis: "delays",
        columns: all.iter().map(|d| d.name.clone()).collect(),
        parameters,
        groups: Vec::new(),
        notes: Vec::new(),
        same: Vec::new(),
    }
}
