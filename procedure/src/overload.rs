//! Overload scalability (RFC 8219 section 10.2): how much lower the throughput with all flows,
//! which begin at once (10.2.1) or one after the other (10.2.2), is than with a few, in parts per
//! million.

use crate::prelude::*;
use crate::{Keys, Results, throughput};
use document::number;
use key::kind::number;
use key::quantity::show_count;
use method::trial::Ramp;
use std::collections::BTreeMap;

/// Entry in the list.
pub static PROCEDURE: Procedure = Procedure {
    key: "overload-scalability",
    summary: "a search for the throughput with one flow, or with a few, and one with all flows",
    metrics: &[OVERLOAD_SCALABILITY, OVERLOAD_FEW, OVERLOAD_ALL, OVERLOAD_DEGRADATION],
    stateful: true,
    tables: &[KeyTable::of::<OverloadScalability>("overload-scalability")],
    longest: |keys, duration, connections| {
        let ramp = keys.get::<OverloadScalability>().ramp(connections);
        Nanos(duration.0.saturating_add(ramp.map_or(0, |ramp| ramp.lasts().0)))
    },
    check,
    search,
    sections: &[section],
    known: KNOWN,
    ..Procedure::of(&OVERLOAD_SCALABILITY)
};

/// How much less a device forwards with many flows.
pub const OVERLOAD_SCALABILITY: Metric = Metric {
    key: "overload_scalability",
    title: "Overload scalability",
    reference: "RFC 8219 section 10.2",
    higher_is_better: false,
    definition: "The throughput with one flow, or with a few, the throughput with all flows, and how much less that is.",
    trials: TrialKind::Searched,
    ..Metric::USUAL
};

/// Throughput with a few flows.
pub const OVERLOAD_FEW: Metric = Metric {
    higher_is_better: true,
    ..OVERLOAD_SCALABILITY.part(
        "overload_throughput_few",
        "Throughput with a few flows",
        Unit::FramesPerSecond,
        "The throughput with one flow, or with as many as the scenario says.",
    )
};

/// Throughput with all flows.
pub const OVERLOAD_ALL: Metric = Metric {
    higher_is_better: true,
    ..OVERLOAD_SCALABILITY.part(
        "overload_throughput_all",
        "Throughput with all flows",
        Unit::FramesPerSecond,
        "The throughput with all flows of the point, which begin together or one after the other.",
    )
};

/// The degradation.
pub const OVERLOAD_DEGRADATION: Metric = OVERLOAD_SCALABILITY.part(
    "overload_degradation",
    "Degradation with all flows",
    Unit::PartsPerMillion,
    "The difference of both throughputs, as a share of that with a few flows; below 0 if the DUT forwards more with all.",
);

key::table! {
    /// What the throughput with all flows is compared with, and how these begin.
    pub struct OverloadScalability {
        /// Flows of the first search; RFC 8219 has one.
        flows: Count = "flows", number(1..=1 << 32), or("1");
        /// Time between the beginnings of two flows (RFC 8219, section 10.2.2).
        interval: Option<Nanos> = "interval", maybe(duration(Nanos(1_000)..=Nanos::from_secs(3600))), computed("all flows begin at once");
    }
}

impl OverloadScalability {
    /// Most flows that can begin one after the other: each has a part of the schedule.
    pub const MOST: Count = 65_536;

    /// How all flows begin, if not at once.
    pub fn ramp(&self, all: Count) -> Option<Ramp> {
        self.interval.map(|interval| Ramp { flows: all, interval })
    }
}

/// Demands fewer flows to compare with all, and no ramp: flows that begin one after the other are
/// few.
fn check(asked: &mut MeasureRequest<'_>) {
    let Some(at) = asked.metric_at(&OVERLOAD_SCALABILITY) else { return };
    let keys = asked.keys.get::<OverloadScalability>();
    let few = keys.flows;
    for (place, &all) in asked.connections.iter().enumerate().filter(|(_, all)| **all <= few) {
        let title = format!("overload scalability compares {} flows with {}", show_count(few), show_count(all));
        let fault = Fault::new(title)
            .at(format!("{}[{place}]", asked.connections_at), "these are all flows")
            .at(at.clone(), "needs fewer flows first, and more then")
            .needs(asked.at("overload-scalability.flows"));
        asked.refuse(fault.instead("use more connections, or fewer `flows` in [measure.overload-scalability]"));
    }
    if let Some(ramp) = keys.ramp(asked.connections.iter().copied().max().unwrap_or(0)) {
        check_ramp(asked, ramp);
    }
}

/// Each flow that begins alone has a part of the schedule, and is drawn no more often than others.
fn check_ramp(asked: &mut MeasureRequest<'_>, ramp: Ramp) {
    let at = asked.at("overload-scalability.interval");
    if ramp.flows > OverloadScalability::MOST {
        let most = show_count(OverloadScalability::MOST);
        let fault = Fault::new(format!("at most {most} flows begin one after the other"))
            .at(asked.connections_at, format!("the most are {}", show_count(ramp.flows)))
            .at(at.clone(), "the time between two of them");
        let way_out = format!("use at most {most} connections, or remove `interval`: all flows begin at once");
        asked.refuse(fault.instead(way_out));
    }
    if !asked.is_whole[0] {
        let fault = Fault::new("frames lost while flows begin would count less than with all flows")
            .at(asked.at("acceptance"), "accepts a part of all frames")
            .at(at.clone(), "the trial also has frames below its rate");
        asked.refuse(fault.instead("remove `interval`, or write acceptance = \"100 %\""));
    }
    if !asked.is_uniform {
        let fault = Fault::new("flows that begin one after the other have the same popularity")
            .at("traffic.popularity", "some are more popular")
            .at(at, "the time between the beginnings of two flows");
        asked.refuse(fault.instead("remove `interval`, or the popularity"));
    }
}

/// Measures the throughput with a few connections and with all, in this order.
fn search(context: &Context<'_>, trials: &mut dyn Trials, watch: Watch<'_>) -> Result<SearchResult, TrialError> {
    let OverloadScalability { flows: few, interval } = *context.keys.get();
    let (all, settings) = (context.connected("overload scalability needs connections")?, context.settings);
    let mut search = |connections: Count, ramp: Option<Ramp>| {
        let options = TrialOptions { ramp, ..settings.options.clone() };
        let settings = SearchSettings { options, ..settings.clone() };
        let mut found = throughput::measure(trials, &settings, Some(Phase2 { connections, ..all }), watch)?;
        found.trace.iter_mut().for_each(|step| step.connections = Some(connections));
        Ok(found)
    };
    let first = search(few, None)?;
    let ramp = interval.map(|interval| Ramp { flows: all.connections, interval });
    Ok(compare(first, search(all.connections, ramp)?))
}

/// Compares two exact rates, as only these have a degradation.
fn compare(first: SearchResult, second: SearchResult) -> SearchResult {
    let signed = |rate: Rate| i64::try_from(rate.0).unwrap_or(i64::MAX);
    let mut parts = BTreeMap::new();
    let is_exact = [&first, &second].iter().all(|found| found.kind == ResultKind::Exact);
    if is_exact {
        parts.insert(OVERLOAD_FEW.key.to_owned(), signed(first.rate));
        parts.insert(OVERLOAD_ALL.key.to_owned(), signed(second.rate));
        parts.insert(OVERLOAD_DEGRADATION.key.to_owned(), degradation_ppm(first.rate, second.rate));
    }
    let mut trace = first.trace;
    trace.extend(second.trace);
    SearchResult {
        kind: if is_exact { ResultKind::Observed } else { ResultKind::NothingMeasured },
        parts,
        trace,
        error: first.error.max(second.error),
        one_sided: first.one_sided || second.one_sided,
        closed_loop: first.closed_loop || second.closed_loop,
        trials: first.trials + second.trials,
        invalid_repeats: first.invalid_repeats + second.invalid_repeats,
        spoiled_by_host: first.spoiled_by_host + second.spoiled_by_host,
        phase1_lost: first.phase1_lost.saturating_add(second.phase1_lost),
        table_changes: first.table_changes + second.table_changes,
        tester_limit: first.tester_limit.or(second.tester_limit),
        strict: None,
        ..second
    }
}

/// 100 × (X1 − Xn) / X1 of RFC 8219, section 10.2.1, in parts per million: above 0 if all flows have less.
fn degradation_ppm(few: Rate, all: Rate) -> i64 {
    let (few, all) = (i128::from(few.0.max(1)), i128::from(all.0));
    ((few - all) * 1_000_000 / few) as i64
}

fn section(results: &Results<'_>) -> Option<Section> {
    let all = results.of(&[OVERLOAD_DEGRADATION.key]);
    section_of(
        &all,
        "Overload scalability",
        format!(
            "Medians of the throughput with a few flows (X1) and with all flows (Xn), {}, and the degradation in percent: \
             100 × (X1 − Xn) / X1.",
            beginning(results.keys)
        ),
        |named| Section { tables: vec![table(results, &all)], ..named },
    )
}

fn beginning(keys: &Keys) -> String {
    match keys.get::<OverloadScalability>().interval {
        None => "which begin together (RFC 8219, section 10.2.1)".to_owned(),
        Some(interval) => {
            let interval = number::duration(interval.0);
            format!("which begin one after the other, one every {interval} (RFC 8219, section 10.2.2)")
        }
    }
}

fn table(results: &Results<'_>, all: &[&MetricResult<'_>]) -> Table {
    let rate = |metric: &Metric| {
        line("throughput with these, frames/s per direction", all, |result| results.beside(result, metric))
    };
    let percent = |ppm: f64| Quantity::new(ppm / 10_000.0, Form::Decimals(2, " %"));
    Table::new("Flows", "device", names(all)).with_parameters([
        line("a few flows", all, |result| few(result).map(Quantity::count)),
        rate(&OVERLOAD_FEW),
        line("all flows", all, |result| Quantity::count(result.connections)),
        rate(&OVERLOAD_ALL),
        line("degradation", all, |result| result.median.map(percent)),
    ])
}

fn few(result: &MetricResult<'_>) -> Option<u64> {
    result.steps().filter_map(|step| step.connections).min()
}

const KNOWN: &[KnownValue] = &[KnownValue {
    metric: OVERLOAD_DEGRADATION.key,
    device: "needs four times as long for 99 of 100 flows",
    truth: Some(748_120),
    // Both searches have an error of their own.
    error: (1_000, 1_000),
    point: || {
        let cache = Some((1_000, Ratio::from_ppm(250_000)));
        let device = Truth { cache, ..Truth::new(Rate(100_000), Rate(1_000_000)) };
        let phase2 = Some(Phase2 { connections: 100_000, phase1_rate: Rate(100_000) });
        KnownPoint { phase2, ..KnownPoint::new(OverloadScalability { flows: 1, interval: None }, device) }
    },
}];
