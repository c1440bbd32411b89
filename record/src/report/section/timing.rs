//! Latency and delay variations: the distribution of the delays of each direction, with what stamped the frames.

use crate::report::figure::{self, Distribution};
use crate::report::result::{PointResult, Repetition};
use crate::report::{Report, facts, number};
use document::{Cell, Quantity, Section, Table, row};
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
        about: "From the call that transmits a frame to its receive stamp (RFC 8219, sections 7.2 and 7.3), over all repetitions. Latency \
                is that of store and forward devices (RFC 1242, section 3.8). Nothing is subtracted: the tester's own floor without \
                a device is printed beside."
            .to_owned(),
        tables: vec![table(report, &all)],
        figures: figure::delays(&all),
        ..Section::default()
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
    let line = |label: &str, of: fn(&Distribution) -> Cell| row(label, all.iter().map(of));
    let floor = report.calibration.as_ref().map(facts::floor_in_words);
    let rows = [
        line("rate per direction", |d| {
            let [low, high] = [d.rates.0, d.rates.1].map(|rate| number::si_unit(rate as f64, 3, "fps"));
            if low == high { low.into() } else { format!("{low} to {high}").into() }
        }),
        line("frames with time stamps", |d| Quantity::count(d.sum(|delays| delays.frames)).into()),
        line("of these lost", |d| Quantity::count(d.sum(|delays| delays.lost)).into()),
        line("smallest delay", |d| number::duration(d.delays.iter().map(|x| x.min.0).min().unwrap_or(0)).into()),
        line("largest delay received", |d| {
            number::duration(d.delays.iter().map(|x| x.max.0).max().unwrap_or(0)).into()
        }),
        line("received frames are stamped by", |d| d.delays.first().map_or("", |x| x.source.as_str()).into()),
    ];
    let floor = floor.map(|floor| row("the tester's own floor", all.iter().map(|_| floor.as_str())));
    Table::new("Time stamps", "delays", all.iter().map(|d| d.name.as_str())).rows(rows.into_iter().chain(floor))
}
