//! What no RFC demands: the published practice of measurements with RFC 9693, and natmeter's own rules, which hold for every metric.

use super::Check::If;
use super::{Conditions, Document, EVERY, Finding, Nature, defines, should};
use crate::Metric;
use crate::capacity::CONN_TABLE_CAPACITY;
use crate::churn::CHURN_RATE;
use crate::disruption::{FAILOVER, RESET};
use crate::establishment::{MAX_CONN_EST_RATE, MAX_CONN_EST_RATE_VALIDATED};
use crate::frame_loss::FRAME_LOSS_RATE;
use crate::overload::OVERLOAD_SCALABILITY;
use crate::recovery::SYSTEM_RECOVERY_TIME;
use crate::tcp::{MAX_TCP_CONN_RATE, TCP_THROUGHPUT};
use crate::tear_down::{CONN_TEAR_DOWN_RATE, MEMORY_PER_CONNTRACK_ENTRY};
use crate::throughput::{IPV4_FORWARDING_THROUGHPUT, THROUGHPUT};
use key::quantity::show_duration;
use method::Nanos;

/// The metrics that are measured ten times.
const TEN_TIMES: &[Metric] = &[
    THROUGHPUT,
    IPV4_FORWARDING_THROUGHPUT,
    MAX_CONN_EST_RATE,
    MAX_CONN_EST_RATE_VALIDATED,
    CONN_TABLE_CAPACITY,
    FRAME_LOSS_RATE,
    CHURN_RATE,
    MAX_TCP_CONN_RATE,
    TCP_THROUGHPUT,
    SYSTEM_RECOVERY_TIME,
    CONN_TEAR_DOWN_RATE,
    MEMORY_PER_CONNTRACK_ENTRY,
    RESET,
    FAILOVER,
    OVERLOAD_SCALABILITY,
];

/// Why what is measured is no device that forwards frames as it can.
fn unreal(c: &Conditions) -> Option<String> {
    match c.device.nature {
        Nature::Real => None,
        Nature::Injected => Some("the device has known faults and limits, which the scenario injects".to_owned()),
        Nature::Simulated => Some("the device is simulated: no frame is sent".to_owned()),
    }
}

fn in_a_run(c: &Conditions, words: impl FnOnce(super::Run) -> Option<String>) -> Finding {
    c.run.map_or(Finding::NotApplicable, |run| Finding::unless(words(run)))
}

fn plural(n: u64, noun: &str, nouns: &str) -> String {
    format!("{} {}", key::quantity::show_grouped(n), if n == 1 { noun } else { nouns })
}

/// Published practice.
pub(super) const PRACTICE: Document = Document {
    name: "published practice",
    title: "Measurements of Lencse, Shima and others with siitperf",
    is_rfc: false,
    requirements: &[
        should("", TEN_TIMES, "Ten repetitions.", If(|c| Finding::unless(c.fewer_than(10)))),
        should(
            "",
            EVERY,
            "No repetition is left out.",
            If(|c| {
                Finding::unless(
                    c.repetitions.time_limit.map(|limit| {
                        format!("repetitions are skipped if {} do not suffice for all", show_duration(limit))
                    }),
                )
            }),
        ),
        should(
            "",
            EVERY,
            "Repetitions are independent.",
            If(|c| {
                Finding::met_if(!c.search.warm_start, || {
                    "searches begin at the bounds of earlier ones, so that repetitions are not independent".to_owned()
                })
            }),
        ),
        should(
            "",
            EVERY,
            "Phase 1 drains for 500 ms.",
            If(|c| {
                let drain = c.phase1.drain;
                Finding::where_it_applies(c.device.stateful, drain >= Nanos::from_millis(500), || {
                    format!("the drain of phase 1 is {}, below 500 ms", show_duration(drain))
                })
            }),
        ),
    ],
};

/// natmeter's rules.
pub(super) const RULES: Document = Document {
    name: "",
    title: "natmeter's rules (METHODOLOGY.md)",
    is_rfc: false,
    requirements: &[
        defines(
            "",
            EVERY,
            "The device forwards frames, as it can (RFC 2544, section 6).",
            If(|c| Finding::unless(unreal(c))),
        ),
        defines(
            "",
            EVERY,
            "Nothing impairs frames on purpose.",
            If(|c| {
                let impaired = c.path.impaired.as_ref();
                Finding::unless(impaired.map(|how| format!("frames are impaired on purpose: {how}")))
            }),
        ),
        defines(
            "",
            EVERY,
            "No frame is captured during the measurements.",
            If(|c| Finding::met_if(!c.path.captured, || "frames are captured during the measurements".to_owned())),
        ),
        defines(
            "",
            EVERY,
            "The tester's self-test passed.",
            If(|c| in_a_run(c, |run| run.self_test_failed.then(|| "the tester's self-test failed".to_owned()))),
        ),
        defines(
            "",
            EVERY,
            "No trial is discarded: RFC 2544 has no invalid trials.",
            If(|c| {
                in_a_run(c, |run| {
                    let of = plural(run.trials, "trial", "trials");
                    let discarded = key::quantity::show_grouped(run.discarded);
                    (run.discarded > 0).then(|| {
                        format!("{discarded} of {of} were discarded as invalid; RFC 2544 has no invalid trials")
                    })
                })
            }),
        ),
        defines(
            "",
            EVERY,
            "Each connection is opened once.",
            If(|c| {
                in_a_run(c, |run| {
                    let resent = plural(run.resent, "connection", "connections");
                    (run.resent > 0)
                        .then(|| format!("phase 1 before phase 2 opened {resent} again after losses in the host"))
                })
            }),
        ),
        defines(
            "",
            EVERY,
            "Each search reaches its precision.",
            If(|c| {
                in_a_run(c, |run| {
                    let searches = plural(run.ended_early, "search", "searches");
                    (run.ended_early > 0).then(|| format!("{searches} ended before reaching the requested precision"))
                })
            }),
        ),
        defines(
            "",
            EVERY,
            "Tester and device have cores of their own.",
            If(|c| in_a_run(c, |run| run.shares_core.then(|| "tester and device share a core".to_owned()))),
        ),
    ],
};
