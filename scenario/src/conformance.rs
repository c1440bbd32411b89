//! The label of a scenario: the settings by which its procedure departs from the RFCs, and the test bed. Every result prints
//! both, so that a quick result is not mistaken for a conforming one, and a device in the same process not for one between
//! two cables.

use crate::quantity::{show_duration, show_share};
use crate::{Scenario, TestBed, WarmStart};
use method::search::mlr::Goal;
use method::{Direction, Nanos, ResponderTable};
use procedure::Sends;
use procedure::delay::{Ipdv, Latency, Pdv};
use procedure::disruption::Reset;
use procedure::dns::Dns;
use procedure::metric::Origin;
use procedure::recovery::SystemRecovery;

/// The label of a run with so many departures of its procedure: procedure and test bed in a few words.
pub fn label(scenario: &Scenario, departures: usize) -> String {
    let beds: Vec<&str> = TestBed::all(scenario).into_iter().map(TestBed::words).collect();
    format!("{}; test bed: {}", procedure(scenario, departures), beds.join(", "))
}

fn procedure(scenario: &Scenario, departures: usize) -> String {
    match (scenario.full, departures) {
        (_, 0) => "procedure conforms".to_owned(),
        (false, _) => "quick, not RFC 2544".to_owned(),
        (true, 1) => "procedure with 1 departure".to_owned(),
        (true, n) => format!("procedure with {n} departures"),
    }
}

/// Departures of the procedure from RFC 2544, RFC 9693 and their published practice, one sentence each; a run with any does
/// not conform.
pub fn conformance(scenario: &Scenario) -> Vec<String> {
    let measure = &scenario.measure;
    let mut departures = Vec::new();
    if TestBed::all(scenario).contains(&TestBed::Simulated) {
        departures.push("the device is simulated: no frame is sent".to_owned());
    }
    if scenario.duts.iter().any(|dut| dut.injected().is_some()) {
        departures.push("the device has known faults and limits, which the scenario injects".to_owned());
    }
    let mut at_least = |what: &str, is: Nanos, least: Nanos, reference: &str| {
        if is < least {
            departures.push(format!("{what} {}, below {} ({reference})", show_duration(is), show_duration(least)));
        }
    };
    at_least("trials last", measure.duration, Nanos::from_secs(60), "RFC 2544, section 24");
    at_least("the wait before sending is", measure.start_delay, Nanos::from_secs(2), "RFC 2544, section 23");
    at_least("the drain after the last frame is", measure.drain, Nanos::from_secs(2), "RFC 2544, section 23");
    at_least("the pause between trials is", measure.settle, Nanos::from_secs(5), "RFC 2544, section 23");
    at_least("the drain of phase 1 is", measure.phase1_drain, Nanos::from_millis(500), "published practice");
    for (what, ppm) in [("", measure.acceptance_ppm), (" of phase 1", measure.phase1_acceptance_ppm)] {
        if ppm < 1_000_000 {
            departures
                .push(format!("the acceptance{what} is {}, below 100 % (RFC 2544, section 26.1)", show_share(ppm)));
        }
    }
    let required = measure.metrics.iter().filter_map(|key| match scenario.procedures.metric(key)?.origin {
        Origin::Measured { repetitions } => Some((repetitions, required_by(scenario, key))),
        Origin::Part { .. } | Origin::Derived => None,
    });
    if let Some((required, by)) = required.max().filter(|&(required, _)| measure.repetitions.least() < required) {
        let repetitions = measure.repetitions.counted();
        departures.push(format!("{repetitions}, below {required} ({by})"));
    }
    let goals = scenario.goals();
    let is_strict = |goal: &Goal| goal.loss.is_zero() && goal.exceed.is_zero();
    if !goals.is_empty() && !goals.iter().any(is_strict) {
        departures.push("MLRsearch has no goal without loss (RFC 9971; RFC 2544, section 26.1)".to_owned());
    }
    if let Some(tries) = scenario.tries().filter(|&tries| tries > 1) {
        departures.push(format!(
            "a rate fails only after {tries} failed trials (ETSI GS NFV-TST 009; RFC 2544, section 26.1)"
        ));
    }
    departures.extend(of_searches(scenario));
    if let Some(warm_up) = measure.warm_up {
        departures.push(format!(
            "{} of traffic that is not counted precede each trial (RFC 2544, section 23: learning frames and routing updates alone)",
            show_duration(warm_up)
        ));
    }
    if let Some(limit) = scenario.time_limit {
        departures.push(format!("repetitions are skipped if {} do not suffice for all", show_duration(limit)));
    }
    if let Some(impair) = &scenario.impair {
        departures.push(format!("frames are impaired on purpose: {}", impair.in_words()));
    }
    let directions = scenario.directions();
    // RFC 9693, section 4.7, has one direction as one of three cases.
    let ratios: Vec<String> = directions.iter().filter_map(|d| d.ratio()).map(|ratio| ratio.to_string()).collect();
    if !ratios.is_empty() {
        departures.push(format!(
            "the rates of the directions differ, left to right : right to left = {} (RFC 2544, section 14, and RFC 8219 \
             ask for the same rate)",
            ratios.join(", ")
        ));
    }
    if directions.iter().any(|d| d.count() == 1)
        && !scenario.sends_queries()
        && scenario.duts.iter().any(|dut| !dut.is_stateful())
    {
        departures.push("one direction only (RFC 2544, section 14 asks for both)".to_owned());
    }
    if let Some(imix) = &scenario.traffic.frame_sizes {
        departures.push(format!(
            "frames of several sizes in one trial, {imix} (RFC 6985; RFC 2544, section 9, has one size)"
        ));
    }
    let popularity = scenario.traffic.popularity;
    if !popularity.is_uniform() {
        departures.push(format!(
            "connections are drawn by Zipf's law, {popularity} (RFC 4814, section 4.5, and RFC 9693, section 4.10, draw all alike)"
        ));
    }
    departures.extend(of_procedures(scenario));
    departures.extend(of_connections(scenario));
    departures
}

/// Departures of searches that save time.
fn of_searches(scenario: &Scenario) -> Vec<String> {
    let measure = &scenario.measure;
    let mut departures = Vec::new();
    let mut departs = |departs: bool, words: &str| departures.extend(departs.then(|| words.to_owned()));
    departs(
        measure.warm_start != WarmStart::Off,
        "searches begin at the bounds of earlier ones, so that repetitions are not independent (published practice of RFC 9693)",
    );
    departs(
        measure.early_end,
        "trials that have failed beyond doubt end before their full length (RFC 2544, section 24)",
    );
    departs(
        measure.keep_table,
        "the trials of a search in phase 2 share one phase 1 (RFC 9693, section 4.4: an empty table for each)",
    );
    departs(
        scenario.procedures.get::<procedure::capacity::Capacity>().policy.is_some(),
        "the capacity is the count of one trial, because the policy of the table is given (RFC 9693, section 4.9, searches)",
    );
    departures
}

/// What requires the repetitions of a metric.
fn required_by(scenario: &Scenario, metric: &str) -> &'static str {
    match scenario.procedures.metric(metric) {
        Some(metric) if metric.reference.starts_with("RFC 8219") => metric.reference,
        _ => "published practice of RFC 9693",
    }
}

/// Departures of the trials of single procedures from their standards, one sentence each.
fn of_procedures(scenario: &Scenario) -> Vec<String> {
    let keys = &scenario.procedures;
    let (latency, reset, dns) = (keys.get::<Latency>(), keys.get::<Reset>(), keys.get::<Dns>());
    let times = [
        ("latency", "latency trials last", latency.duration, 120),
        ("latency", "the first tagged frame leaves after", latency.from, 60),
        ("pdv", "PDV trials last", keys.get::<Pdv>().duration, 60),
        ("ipdv", "IPDV trials last", keys.get::<Ipdv>().duration, 60),
        ("system_recovery_time", "the overload lasts", keys.get::<SystemRecovery>().overload, 60),
    ];
    let short =
        times.into_iter().filter(|(metric, _, is, least)| scenario.measures(metric) && *is < Nanos::from_secs(*least));
    let mut departures: Vec<String> = short
        .map(|(metric, what, is, least)| {
            let reference = keys.metric(metric).map_or("", |metric| metric.reference);
            format!("{what} {}, below {least} s ({reference})", show_duration(is))
        })
        .collect();
    if scenario.measures("latency") && latency.tags < 500 {
        departures.push(format!("{} tagged frames, below 500 (RFC 8219 section 7.2)", latency.tags));
    }
    if scenario.measures("reset") && reset.at < Nanos::from_secs(15) {
        let at = show_duration(reset.at);
        departures.push(format!("the device forwards for {at} before a reset, below 15 s (RFC 6201, section 4)"));
    }
    if scenario.sends_queries() && dns.timeout > Nanos::from_secs(1) {
        let timeout = show_duration(dns.timeout);
        departures.push(format!("answers may take {timeout}, above 1 s (RFC 8219, section 9.2)"));
    }
    departures
}

/// Departures of a scenario whose devices keep connections.
fn of_connections(scenario: &Scenario) -> Vec<String> {
    let mut departures = Vec::new();
    if !scenario.is_stateful() {
        return departures;
    }
    if let Some(words) = scenario.subsets_in_words() {
        departures.push(format!(
            "the connections are a part of the flows that the ranges give: {words} (RFC 9693, section 4.4 enumerates all)"
        ));
    }
    // The trials of these update the table, whatever the scenario says.
    let updates = ["reset", "failover"];
    let sends = |key: &str| scenario.sent(key) == Some(Sends::Frames) && !updates.contains(&key);
    let phase2 = scenario.measure.metrics.iter().any(|key| sends(key));
    let kept = scenario.traffic.responder_table == ResponderTable::Keep;
    if phase2 && kept && scenario.directions() != [Direction::Reverse] {
        departures.push(
            "phase 2 leaves the Responder's state table as phase 1 filled it (RFC 9693, sections 4.7 and 4.10 update it)"
                .to_owned(),
        );
    }
    departures
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Options, parse};

    fn full(text: &str, set: &[&str]) -> Scenario {
        let set = set.iter().map(|&text| text.to_owned()).collect();
        let loaded = parse("x.toml", text, &Options { full: true, set, ..Options::default() }, tech::ALL);
        loaded.unwrap_or_else(|complaints| panic!("{}", complaints.render(false))).scenario
    }

    const NAT44: &str = "name = \"x\"\n[dut.embedded]\n[sweep]\nconnections = \"1M\"\n";

    #[test]
    fn a_simulated_device_conforms_to_nothing() {
        let scenario = full("name = \"x\"\n[dut.simulated]\n[sweep]\nconnections = \"1M\"\n", &[]);
        let departures = conformance(&scenario);
        assert!(departures.contains(&"the device is simulated: no frame is sent".to_owned()));
        assert_eq!(label(&scenario, departures.len()), "procedure with 2 departures; test bed: simulated device");
    }

    #[test]
    fn procedure_and_test_bed_are_apart() {
        let phase1 = full(NAT44, &["metrics=max_conn_est_rate"]);
        assert_eq!(conformance(&phase1), Vec::<String>::new());
        assert_eq!(label(&phase1, 0), "procedure conforms; test bed: same process");
        let kernel = full("name = \"x\"\n[dut.linux-forwarding]\n[measure]\nmetrics = \"throughput\"\n", &[]);
        assert_eq!(label(&kernel, conformance(&kernel).len()), "procedure conforms; test bed: same machine");
    }

    /// RFC 9693, sections 4.7 and 4.10.
    #[test]
    fn one_direction_and_round_robin_are_cases_of_rfc_9693() {
        let reverse = full(NAT44, &["direction=reverse", "responder-order=round-robin"]);
        assert_eq!(conformance(&reverse), Vec::<String>::new());
        let [table] = &conformance(&full(NAT44, &["direction=forward"]))[..] else { panic!("one departure") };
        assert!(table.contains("the Responder's state table"), "{table}");
        assert_eq!(conformance(&full(NAT44, &["responder-table=update"])), Vec::<String>::new());
        let stateless = "name = \"x\"\n[dut.linux-forwarding]\n[measure]\nmetrics = \"throughput\"\n";
        let [direction] = &conformance(&full(stateless, &["direction=forward"]))[..] else { panic!("one departure") };
        assert!(direction.starts_with("one direction only"), "{direction}");
    }

    #[test]
    fn different_rates_depart_from_rfc_2544_with_and_without_connections() {
        let stateless = "name = \"x\"\n[dut.linux-forwarding]\n[measure]\nmetrics = \"throughput\"\n";
        for (text, set) in [(stateless, "direction=1:10"), (NAT44, "direction=10:1")] {
            let [rates] =
                &conformance(&full(text, &[set, "responder-table=update"][..=usize::from(text == NAT44)]))[..]
            else {
                panic!("one departure")
            };
            assert!(rates.starts_with("the rates of the directions differ"), "{rates}");
        }
        assert_eq!(conformance(&full(stateless, &["direction=1:1"])), Vec::<String>::new());
    }
}
