//! Labels of scenarios: what departs, what is recommended, and what natmeter defines.

use super::*;
use crate::test_scenarios::{load, load_full};
use procedure::requirement::Level;

const NAT44: &str = "[dut.embedded]\n[sweep]\nconnections = \"1M\"\n";
const FORWARDING: &str = "[dut.linux-forwarding]\n[measure]\nmetrics = \"throughput\"\n";

fn full(text: &str, set: &[&str]) -> Scenario {
    load_full(text, set).unwrap_or_else(|complaints| panic!("{complaints}"))
}

/// The sentences of one kind about a run with `--full`.
fn said(text: &str, set: &[&str], which: fn(Level) -> bool) -> Vec<String> {
    let assessment = conformance(&full(text, set));
    assessment.departures.into_iter().filter(|d| which(d.level)).map(|d| d.words).collect()
}

fn demanded(text: &str, set: &[&str]) -> Vec<String> {
    said(text, set, |level| level != Level::Should)
}

fn recommended(text: &str, set: &[&str]) -> Vec<String> {
    said(text, set, |level| level == Level::Should)
}

fn label_of(text: &str, set: &[&str]) -> String {
    conformance(&full(text, set)).label()
}

/// With other settings, exactly this sentence is added.
fn adds(text: &str, set: &[&str], more: &str, words: &str) {
    let before = conformance(&full(text, set)).sentences();
    let after = conformance(&full(text, &[set, &[more]].concat())).sentences();
    let added: Vec<&String> = after.iter().filter(|sentence| !before.contains(sentence)).collect();
    assert_eq!(added, [words], "{more}: {after:#?}");
}

#[test]
fn a_simulated_device_conforms_to_nothing() {
    let text = "[dut.simulated]\n[sweep]\nconnections = \"1M\"\n";
    let scenario = full(text, &[]);
    let assessment = conformance(&scenario);
    assert!(assessment.sentences().contains(&"the device is simulated: no frame is sent".to_owned()));
    assert!(!assessment.conforms());
    assert_eq!(label(&scenario, &assessment), "procedure with 3 departures; test bed: simulated device");
}

#[test]
fn procedure_and_test_bed_are_apart() {
    let phase1 = full(NAT44, &["metrics=max_conn_est_rate"]);
    assert_eq!(label(&phase1, &conformance(&phase1)), "procedure conforms; test bed: same process");
    let kernel =
        full(FORWARDING, &["sweep.frame-size=rfc2544", "source-ports=1024-65535", "destination-ports=1-49151"]);
    assert_eq!(label(&kernel, &conformance(&kernel)), "procedure conforms; test bed: same machine");
}

/// RFC 2544, section 5: conditionally compliant is what meets every MUST.
#[test]
fn what_meets_every_must_conforms_and_names_the_recommendations() {
    let assessment = conformance(&full(FORWARDING, &[]));
    assert!(assessment.conforms());
    assert_eq!(assessment.label(), "procedure conforms but for 2 recommendations");
    assert_eq!(
        assessment.sentences(),
        [
            "frames of 1 size, fewer than five (RFC 2544, section 9: SHOULD)",
            "ports 1024-41023 to 1-100, not 1024-65535 to 1-49151 (RFC 4814, section 4.5: SHOULD)",
        ]
    );
}

/// A quick run has no reason but haste not to do what is recommended.
#[test]
fn a_quick_run_conforms_only_if_it_does_what_is_recommended() {
    let assessment = conformance(&load(FORWARDING, &[]).unwrap());
    assert!(!assessment.conforms());
    assert_eq!(assessment.label(), "quick, not RFC 2544");
}

/// RFC 9693, sections 4.7 and 4.10.
#[test]
fn one_direction_and_round_robin_are_cases_of_rfc_9693() {
    assert_eq!(demanded(NAT44, &["direction=reverse", "responder-order=round-robin"]), Vec::<String>::new());
    let [table] = &demanded(NAT44, &["direction=forward"])[..] else { panic!("one departure") };
    assert!(table.contains("the Responder's state table"), "{table}");
    assert_eq!(demanded(NAT44, &["responder-table=update"]), Vec::<String>::new());
    let one_way = "one direction only (RFC 2544, section 14: SHOULD)";
    adds(FORWARDING, &[], "direction=forward", one_way);
    assert!(!recommended(NAT44, &["direction=forward"]).contains(&one_way.to_owned()));
}

#[test]
fn different_rates_depart_from_rfc_2544_with_and_without_connections() {
    for text in [FORWARDING, NAT44] {
        let words =
            "the rates of the directions differ, left to right : right to left = 1:10 (RFC 2544, section 14: SHOULD)";
        adds(text, &[], "direction=1:10", words);
    }
}

/// RFC 9971, section 4.10.2.
#[test]
fn the_goal_of_mlrsearch_has_trials_of_a_minute() {
    let short = "goals=1 s / 1 s / 0 / 0 / 0.5 %";
    adds(
        FORWARDING,
        &["search=mlr"],
        short,
        "trials of goal `1 s / 1 s / 0 % / 0 % / 0.5 %` last 1 s, below 60 s (RFC 2544, section 24: SHOULD)",
    );
}

/// RFC 2544, section 26.1.
#[test]
fn a_result_with_loss_is_no_throughput_of_rfc_2544() {
    let words = "the result is that of goal `pdr` of MLRsearch, which tolerates loss (RFC 2544, section 26.1)";
    assert_eq!(demanded(FORWARDING, &["search=mlr", "goals=[\"pdr\", \"rfc2544\"]"]), [words]);
    adds(FORWARDING, &[], "acceptance=99 %", "the acceptance is 99 %, below 100 % (RFC 2544, section 26.1)");
}

const LOSS: &[&str] = &["metrics=frame_loss_rate"];

/// RFC 2544, section 26.3.
#[test]
fn loads_of_the_frame_loss_rate_are_at_most_ten_percent_apart() {
    let words =
        |share: &str| format!("two loads differ by {share} of the highest, above 10 % (RFC 2544, section 26.3: MUST)");
    adds(FORWARDING, LOSS, "full.frame-loss.step=50 %", &words("50 %"));
    adds(FORWARDING, LOSS, "full.frame-loss.loads=100k, 50k, 45k, 40k", &words("50 %"));
}

/// RFC 2544, section 26.4.
#[test]
fn bursts_may_last_two_seconds() {
    let bursts = &["metrics=throughput, back_to_back_frames", "max-rate=1M"];
    let words = "bursts last at most 10 ms, below 2 s (RFC 2544, section 26.4: MUST)";
    adds(FORWARDING, bursts, "measure.back-to-back.longest=10 ms", words);
}

/// RFC 9004, sections 5 and 6.3.
#[test]
fn bursts_are_repeated_and_need_a_measured_throughput() {
    let bursts = &["metrics=back_to_back_frames", "max-rate=1M", "measure.back-to-back.rate=100k"];
    let given = "the throughput is given, not measured (RFC 9004, section 5: MUST)".to_owned();
    assert!(demanded(FORWARDING, bursts).contains(&given));
    let once = "1 repetition, below 2 (RFC 9004, section 6.3: MUST)";
    assert!(demanded(FORWARDING, &[bursts, &["repetitions=1"][..]].concat()).contains(&once.to_owned()));
}

/// RFC 9693, section 4.2.
#[test]
fn phase_2_comes_after_an_establishment_rate() {
    let given = "the rate of phase 1 is given, and no establishment rate is measured before phase 2 (RFC 9693, section \
                 4.2: MUST)";
    let set = ["metrics=throughput", "phase1-rate=100k"];
    assert!(demanded(NAT44, &set).contains(&given.to_owned()));
    assert!(!demanded(NAT44, &["phase1-rate=100k"]).contains(&given.to_owned()), "it is measured, too");
}

#[test]
fn what_no_rfc_defines_is_defined_by_natmeter() {
    for (metric, more) in [("churn_rate", "phase1-rate=100k"), ("max_tcp_conn_rate", "phase1-rate=100k")] {
        let assessment = conformance(&full(NAT44, &[&format!("metrics={metric}"), more]));
        assert_eq!(assessment.label(), "procedure defined by natmeter", "{metric}: {:#?}", assessment.departures);
        assert!(!assessment.conforms());
        assert_eq!(assessment.sentences(), [format!("{metric} is defined by natmeter: no RFC has it")]);
    }
    let both = label_of(NAT44, &["metrics=max_conn_est_rate, churn_rate"]);
    assert_eq!(both, "procedure conforms, churn_rate defined by natmeter");
}

/// RFC 8219, section 7.2.
#[test]
fn latency_at_a_given_rate_is_defined_by_natmeter() {
    let set = ["metrics=latency", "measure.latency.rate=10k"];
    let assessment = conformance(&full(FORWARDING, &set));
    assert_eq!(assessment.own.iter().map(|own| own.metric).collect::<Vec<_>>(), ["latency"]);
    assert!(assessment.label().starts_with("procedure defined by natmeter"), "{}", assessment.label());
    let words =
        "latency is defined by natmeter: frames have a given rate, not the measured throughput (RFC 8219, section 7.2)";
    assert!(assessment.sentences().contains(&words.to_owned()), "{:#?}", assessment.sentences());
}

/// RFC 8219, section 7.2.
#[test]
fn short_latency_trials_with_few_tags_are_named() {
    let set =
        ["metrics=throughput, latency", "full.latency.duration=10 s", "full.latency.from=1 s", "full.latency.tags=10"];
    let all = recommended(FORWARDING, &set);
    for words in [
        "latency trials last 10 s, below 120 s (RFC 8219, section 7.2: SHOULD)",
        "the first tagged frame leaves after 1 s, below 60 s (RFC 8219, section 7.2: SHOULD)",
        "10 tagged frames, below 500 (RFC 8219, section 7.2: SHOULD)",
    ] {
        assert!(all.contains(&words.to_owned()), "{words}: {all:#?}");
    }
    let few = [&set[..], &["repetitions=19"]].concat();
    let words = "19 repetitions, below 20 (RFC 2544, section 26.2: MUST)".to_owned();
    assert!(demanded(FORWARDING, &few).contains(&words));
}

/// What the record shows is held against the same requirements.
#[test]
fn the_record_is_assessed_as_the_settings_are() {
    let scenario = full(FORWARDING, &[]);
    let run = Run { trials: 1_200, discarded: 1, ended_early: 2, repetitions: Some(1), ..Run::default() };
    let departures = scenario.assess(|_| Some(run)).departures;
    let words = |words: &str| departures.iter().any(|departure| departure.words == words);
    assert!(words("1 of 1,200 trials were discarded as invalid; RFC 2544 has no invalid trials"), "{departures:#?}");
    assert!(words("2 searches ended before reaching the requested precision"), "{departures:#?}");
    assert!(words("1 repetition of a point, below 10 (published practice)"), "{departures:#?}");
}
