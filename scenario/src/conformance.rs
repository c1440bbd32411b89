//! Lists the settings by which a run departs from the RFCs. Every result prints the list, so that a quick result is not
//! mistaken for a conforming one.

use crate::quantity::{show_duration, show_share};
use crate::summary::impair_in_words;
use crate::{Dut, Scenario};
use method::metric::{self, Origin};
use method::{Direction, Nanos, Order};

/// Departures from RFC 2544, RFC 9693 and their published practice, one sentence each; a run with any is
/// labelled *quick, not RFC 2544*.
pub fn conformance(scenario: &Scenario) -> Vec<String> {
    let measure = &scenario.measure;
    let mut departures = Vec::new();
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
    let required = measure.metrics.iter().filter_map(|key| match metric::by_key(key)?.origin {
        Origin::Measured { repetitions } => Some(repetitions),
        Origin::Derived => None,
    });
    if let Some(required) = required.max().filter(|&required| measure.repetitions < required) {
        let repetitions = match measure.repetitions {
            1 => "1 repetition".to_owned(),
            n => format!("{n} repetitions"),
        };
        departures.push(format!("{repetitions}, below {required} (published practice of RFC 9693)"));
    }
    if let Some(tries) = measure.verify.filter(|&tries| tries > 1) {
        departures.push(format!(
            "a rate fails only after {tries} failed trials (ETSI GS NFV-TST 009; RFC 2544, section 26.1)"
        ));
    }
    if let Some(limit) = scenario.time_limit {
        departures.push(format!("repetitions are skipped if {} do not suffice for all", show_duration(limit)));
    }
    if let Some(impair) = &scenario.impair {
        departures.push(format!("frames are impaired on purpose: {}", impair_in_words(impair)));
    }
    if scenario.traffic.direction != Direction::Both {
        departures.push("one direction only (RFC 2544, section 14 asks for both)".to_owned());
    }
    if scenario.traffic.responder_order != Order::Random && scenario.duts.iter().any(Dut::is_stateful) {
        departures
            .push("the Responder uses its state table in order (RFC 9693, section 4.10 recommends random)".to_owned());
    }
    departures
}
