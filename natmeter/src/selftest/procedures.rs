//! Checks of the procedures: each measures simulated devices of known truth, on a simulated clock, so that no host noise is in
//! the figures. A new procedure is one row in [`KNOWN`] for each of its metrics.

use method::search::Phase2;
use method::search::bottleneck::Limit;
use method::simulated::{ControlTruth, SimulatedDut, Truth, WhenFull};
use method::trial::{Action, Disruption, Queries, Stamps, TcpClose};
use method::{Direction, Nanos, Precision, Rate, Ratio, ResultKind, SearchResult, SearchSettings, TrialError};
use procedure::back_to_back::{self, Bursts};
use procedure::capacity::{self, Limits};
use procedure::cpu_idle::Sampling;
use procedure::delay::{self, Timed, Values};
use procedure::disruption::{self, Outage};
use procedure::profiling::{self, Profiling};
use procedure::recovery::{self, Overload};
use procedure::{churn, cpu_idle, dns, establishment, frame_loss, overload, tcp, tear_down, throughput};
use record::folder::SelfTestCheck;
use record::report::number::grouped;

/// What a procedure must measure.
struct Known {
    /// Key of the metric.
    metric: &'static str,
    /// The simulated device in words.
    device: &'static str,
    /// The injected value; none where the tester limits every rate, so that nothing is known of the device.
    truth: Option<i64>,
    unit: &'static str,
    /// How far below and above the truth a right value may be.
    error: (i64, i64),
    /// Measures a new device.
    measure: fn() -> Result<SearchResult, TrialError>,
}

const CAPACITY: Rate = Rate(600_000);
const SET_UP_RATE: Rate = Rate(300_000);
const FRAMES: &str = "frames/s";
const CONNECTIONS: &str = "connections/s";
/// The error of a search, as a part of the rate: one in so many.
const PRECISION: i64 = 1_000;

/// The largest difference of a search below a truth.
const fn of_search(truth: i64) -> (i64, i64) {
    (truth / PRECISION + 1, 0)
}

/// All checks. Delays are drawn evenly from 10 to 20 µs: the largest of N lies within about 10 µs / N of the end.
const KNOWN: &[Known] = &[
    Known {
        metric: "throughput",
        device: "forwards 600,000 frames/s each way",
        truth: Some(600_000),
        unit: FRAMES,
        error: of_search(600_000),
        measure: || throughput::measure(&mut device(simulated()), &settings(), None, &mut |_| ()),
    },
    Known {
        metric: "throughput",
        device: "faster than a slow tester",
        truth: None,
        unit: FRAMES,
        error: (0, 0),
        measure: || {
            let slow = Truth { tester_ceiling: Rate(100_000), ..simulated() };
            throughput::measure(&mut device(slow), &settings(), None, &mut |_| ())
        },
    },
    Known {
        metric: "max_conn_est_rate",
        device: "sets up 300,000 connections/s",
        truth: Some(300_000),
        unit: CONNECTIONS,
        error: of_search(300_000),
        measure: || establish(simulated(), None),
    },
    Known {
        metric: "max_conn_est_rate_validated",
        device: "forwards 100,000 frames/s in reverse, alpha = 50 %",
        truth: Some(200_000),
        unit: CONNECTIONS,
        error: of_search(200_000),
        measure: || establish(Truth { reverse_capacity: Rate(100_000), ..simulated() }, Some(500_000)),
    },
    Known {
        metric: "conn_table_capacity",
        device: "refuses new connections",
        truth: Some(123_457),
        unit: "connections",
        error: (0, 0),
        measure: || table(WhenFull::KeepOld),
    },
    Known {
        metric: "conn_table_capacity",
        device: "replaces the oldest connection",
        truth: Some(123_457),
        unit: "connections",
        error: (0, 0),
        measure: || table(WhenFull::ReplaceOldest),
    },
    Known {
        metric: "conn_table_capacity",
        device: "collects 64 connections",
        truth: Some(123_457),
        unit: "connections",
        error: (0, 0),
        measure: || table(WhenFull::Collect(64)),
    },
    Known {
        metric: "frame_loss_rate",
        device: "forwards 600,000 of 800,000 frames/s",
        truth: Some(250_000),
        unit: "ppm",
        error: (0, 0),
        measure: || frame_loss::measure(&mut device(simulated()), &settings(), None, &[Rate(800_000)], &mut |_| ()),
    },
    Known {
        metric: "churn_rate",
        device: "sets up 300,000 connections/s beside 30,000",
        truth: Some(300_000),
        unit: CONNECTIONS,
        error: of_search(300_000),
        measure: || {
            let limits =
                churn::Limits { different: 100_000_000, frames: 1, timeout: Nanos::from_secs(9), held_rate: Rate(0) };
            let phase2 = Phase2 { connections: 30_000, phase1_rate: Rate(10_000) };
            churn::measure(&mut device(simulated()), &forward(), phase2, limits, &mut |_| ())
        },
    },
    Known {
        metric: "latency_typical_forward",
        device: "delays each frame by 12,345 ns",
        truth: Some(12_345),
        unit: "ns",
        error: (0, 0),
        measure: || {
            let tags = Stamps::Some { frames: 50_000, from: Nanos::SECOND };
            delays(Values::Latency, tags, Truth { delay: Nanos(12_345), ..simulated() })
        },
    },
    Known {
        metric: "latency_worst_case_forward",
        device: "delays frames by 10 to 20 µs",
        truth: Some(19_990),
        unit: "ns",
        error: (5, 5),
        measure: || delays(Values::Latency, Stamps::Some { frames: 50_000, from: Nanos::SECOND }, uneven()),
    },
    Known {
        metric: "pdv_forward",
        device: "delays frames by 10 to 20 µs",
        truth: Some(9_990),
        unit: "ns",
        error: (5, 5),
        measure: || delays(Values::Pdv, ALL, uneven()),
    },
    Known {
        metric: "ipdv_max_forward",
        device: "delays frames by 10 to 20 µs",
        truth: Some(10_000),
        unit: "ns",
        error: (100, 0),
        measure: || delays(Values::Ipdv, ALL, uneven()),
    },
    Known {
        metric: "back_to_back_frames",
        device: "holds 4,000 frames in its buffer",
        truth: Some(10_000),
        unit: "frames",
        error: of_search(10_000),
        measure: || {
            let bursts = Bursts { throughput: CAPACITY, longest: Nanos::from_secs(30) };
            back_to_back::measure(
                &mut device(Truth { queue: 4_000, ..simulated() }),
                &settings(),
                None,
                bursts,
                &mut |_| (),
            )
        },
    },
    Known {
        metric: "system_recovery_time",
        device: "loses frames for 20 ms after an overload",
        truth: Some(20_000_000),
        unit: "ns",
        // The distance of two frames at 55 % of the throughput.
        error: (3_031, 3_031),
        measure: || {
            let overload = Overload { throughput: CAPACITY, overload: Nanos::from_secs(2), after: Nanos::SECOND };
            let slow = Truth { recovery: Nanos::from_millis(20), ..simulated() };
            recovery::measure(&mut device(slow), &settings(), None, overload, &mut |_| ())
        },
    },
    Known {
        metric: "tcp_throughput",
        device: "forwards 300,000 segments/s in reverse",
        truth: Some(300_000),
        unit: FRAMES,
        error: of_search(300_000),
        measure: || {
            let slow = Truth { reverse_capacity: Rate(300_000), ..simulated() };
            tcp::measure_throughput(&mut device(slow), &settings(), HELD, 6, &mut |_| ())
        },
    },
    Known {
        metric: "max_tcp_conn_rate",
        device: "forwards 600,000 segments/s, 4 a connection",
        truth: Some(150_000),
        unit: CONNECTIONS,
        error: of_search(150_000),
        measure: || tcp_life(None, simulated()),
    },
    Known {
        metric: "tcp_transitory_time",
        device: "forgets closed connections after 10 s",
        truth: Some(10_000_000_000),
        unit: "ns",
        error: (0, 0),
        measure: || {
            let forgets = Truth { tcp_transitory: Nanos::from_secs(10), ..simulated() };
            tcp_life(Some(Nanos::from_secs(60)), forgets)
        },
    },
    Known {
        metric: "overload_degradation",
        device: "needs four times as long for 99 of 100 flows",
        truth: Some(748_120),
        unit: "ppm",
        // Both searches have an error of their own.
        error: (1_000, 1_000),
        measure: || {
            let cache = Some((1_000, Ratio::from_ppm(250_000)));
            let all = Phase2 { connections: 100_000, phase1_rate: Rate(100_000) };
            let mut device = device(Truth { cache, ..Truth::new(Rate(100_000), Rate(1_000_000)) });
            overload::measure(&mut device, &settings(), overload::Flows { few: 1, all, interval: None }, &mut |_| ())
        },
    },
    Known {
        metric: "conn_tear_down_rate",
        device: "removes 7,000,000 connections/s, and an empty table in 2 s",
        truth: Some(7_000_000),
        unit: CONNECTIONS,
        error: (70_000, 70_000),
        measure: || {
            let control = ControlTruth {
                tear_down_rate: Rate(7_000_000),
                tear_down_empty: Nanos::from_secs(2),
                tear_down_spread: Nanos::from_millis(5),
                ..ControlTruth::default()
            };
            let all = Phase2 { connections: 7_000_000, ..HELD };
            let emptying = tear_down::Emptying { fills: 3, empty: 5 };
            tear_down::measure(&mut controlled(control), &settings(), all, emptying, &mut |_| ())
        },
    },
    Known {
        metric: "memory_per_conntrack_entry",
        device: "takes 385 octets a connection",
        truth: Some(385),
        unit: "octets",
        error: (0, 0),
        measure: || {
            let control = ControlTruth { entry_bytes: 385, ..ControlTruth::default() };
            tear_down::memory(&mut controlled(control), &settings(), HELD, &mut |_| ())
        },
    },
    Known {
        metric: "cpu_idle",
        device: "has cores that are idle for 60, 2 and 30 %",
        truth: Some(20_000),
        unit: "ppm",
        error: (0, 0),
        measure: || {
            let idle = [600_000, 20_000, 300_000].map(Ratio::from_ppm).to_vec();
            let sampling = Sampling {
                rate: CAPACITY,
                limit: Limit::Device,
                duration: Nanos::from_secs(10),
                interval: Nanos::SECOND,
                boxes: 1,
            };
            let mut device = controlled(ControlTruth { idle, ..ControlTruth::default() });
            cpu_idle::measure(&mut device, &settings(), Some(HELD), sampling, &mut |_| ())
        },
    },
    Known {
        metric: "lock_wait",
        device: "waits for locks in 12.5 % of its time",
        truth: Some(125_000),
        unit: "ppm",
        error: (0, 0),
        measure: || {
            let profiling =
                Profiling { rate: CAPACITY, limit: Limit::Unknown, duration: Nanos::from_secs(10), frequency: 1_000 };
            let mut device = controlled(ControlTruth { waiting: Ratio::from_ppm(125_000), ..ControlTruth::default() });
            profiling::measure(&mut device, &settings(), Some(HELD), profiling, &mut |_| ())
        },
    },
    Known {
        metric: "reset_gap_forward",
        device: "is dark for 1.7 s after a reset",
        truth: Some(1_700_000_000),
        unit: "ns",
        // Frames are 10 µs apart.
        error: (10_000, 10_000),
        measure: || {
            outage(Disruption::Reset, ControlTruth { reset: Nanos::from_millis(1_700), ..ControlTruth::default() })
        },
    },
    Known {
        metric: "failover_reverse",
        device: "is dark for 400 ms in reverse after a failover",
        truth: Some(400_000_000),
        unit: "ns",
        error: (10_000, 10_000),
        measure: || failover(),
    },
    Known {
        metric: "failover_survived",
        device: "keeps 90 % of the connections in a failover",
        truth: Some(900_000),
        unit: "ppm",
        error: (0, 0),
        measure: || failover(),
    },
    Known {
        metric: "dns64_resolution_rate",
        device: "answers 12,345 queries/s",
        truth: Some(12_345),
        unit: "queries/s",
        error: of_search(12_345),
        measure: || queries(Rate(12_345)),
    },
    Known {
        metric: "dns_queries_resolved",
        device: "lets 54,321 queries/s pass",
        truth: Some(54_321),
        unit: "queries/s",
        error: of_search(54_321),
        measure: || queries(Rate(54_321)),
    },
];

const ALL: Stamps = Stamps::All { timeout: None };

fn simulated() -> Truth {
    Truth::new(CAPACITY, SET_UP_RATE)
}

fn uneven() -> Truth {
    Truth { delay: Nanos(10_000), delay_spread: Nanos(10_000), ..simulated() }
}

fn device(truth: Truth) -> SimulatedDut {
    SimulatedDut::new(truth, 1)
}

fn settings() -> SearchSettings {
    let precision = Precision::Relative(Ratio::from_ppm(1_000_000 / PRECISION as u64));
    SearchSettings { hi: Rate(1_000_000), precision, duration: Nanos::SECOND, ..SearchSettings::default() }
}

fn forward() -> SearchSettings {
    SearchSettings { direction: Direction::Forward, ..settings() }
}

fn establish(truth: Truth, alpha: Option<u64>) -> Result<SearchResult, TrialError> {
    let phase1 = establishment::Phase1 { connections: 1_000_000, buffered: 0, validate_at_most: None };
    let settings = SearchSettings { alpha: alpha.map(Ratio::from_ppm), ..forward() };
    establishment::measure(&mut device(truth), &settings, phase1, &mut |_| ())
}

fn table(when_full: WhenFull) -> Result<SearchResult, TrialError> {
    let limits = Limits {
        from: 10_000,
        most: 1_000_000,
        beta: Ratio::from_ppm(200_000),
        gamma: Ratio::from_ppm(400_000),
        error: 1,
        buffered: 0,
        validate_at_most: None,
    };
    let settings = SearchSettings { alpha: Some(Ratio::from_ppm(500_000)), ..forward() };
    let mut device = device(Truth { table_size: 123_457, when_full, ..simulated() });
    capacity::measure(&mut device, &settings, limits, &mut |_| ())
}

fn delays(values: Values, stamps: Stamps, truth: Truth) -> Result<SearchResult, TrialError> {
    let timed = Timed { values, rate: Rate(100_000), duration: Nanos::from_secs(2), stamps };
    delay::measure(&mut device(truth), &settings(), None, &timed, &mut |_| ())
}

/// Connections of a phase 2, or those that are held beside new ones.
const HELD: Phase2 = Phase2 { connections: 30_000, phase1_rate: Rate(10_000) };

fn controlled(control: ControlTruth) -> SimulatedDut {
    device(Truth { control, ..simulated() })
}

fn tcp_life(watch: Option<Nanos>, truth: Truth) -> Result<SearchResult, TrialError> {
    let life = tcp::Life { different: 10_000_000, exchanges: 0, close: TcpClose::Fin, watch };
    tcp::measure(&mut device(truth), &settings(), HELD, life, &mut |_| ())
}

fn outage(what: Disruption, control: ControlTruth) -> Result<SearchResult, TrialError> {
    let action = Action { what, at: Nanos::from_secs(2) };
    let (rate, duration, off) = (Rate(100_000), Nanos::from_secs(10), Nanos(0));
    let outage = Outage { action, rate, duration, off, churn: None };
    disruption::measure(&mut controlled(control), &settings(), Some(HELD), outage, &mut |_| ())
}

fn failover() -> Result<SearchResult, TrialError> {
    let control = ControlTruth {
        failover: [Nanos::from_millis(150), Nanos::from_millis(400)],
        survive: Ratio::from_ppm(900_000),
        ..ControlTruth::default()
    };
    outage(Disruption::Failover, control)
}

fn queries(rate: Rate) -> Result<SearchResult, TrialError> {
    let queries = Queries { timeout: Nanos::SECOND, cached: Ratio::from_ppm(0) };
    dns::measure(&mut device(Truth::new(rate, Rate(1))), &settings(), queries, &mut |_| ())
}

/// All checks, in the order of the list.
pub(super) fn checks() -> impl Iterator<Item = Box<dyn Fn() -> SelfTestCheck>> {
    KNOWN.iter().map(|known| Box::new(|| known.check()) as Box<dyn Fn() -> SelfTestCheck>)
}

impl Known {
    fn check(&self) -> SelfTestCheck {
        let found = (self.measure)().map(|result| self.value(&result));
        let error = match (&found, self.truth) {
            (Ok(Some(found)), Some(truth)) => Some(found - truth),
            _ => None,
        };
        SelfTestCheck {
            name: format!("{}: {}", self.metric, self.device),
            truth: self.words(self.truth) + &self.tolerance(),
            measured: found.as_ref().map_or_else(ToString::to_string, |found| self.words(*found)),
            error: error.map(|error| format!("{}{} {}", sign(error), grouped(error.unsigned_abs()), self.unit)),
            passed: match (&found, error) {
                (Ok(_), Some(error)) => (-self.error.0..=self.error.1).contains(&error),
                (Ok(found), None) => *found == self.truth,
                (Err(_), _) => false,
            },
            ..SelfTestCheck::default()
        }
    }

    /// The value of the device; none if the result bounds it from one side only.
    fn value(&self, result: &SearchResult) -> Option<i64> {
        let is_known = matches!(result.kind, ResultKind::Exact | ResultKind::Observed);
        is_known.then(|| result.parts.get(self.metric).copied().unwrap_or(result.rate.0.cast_signed()))
    }

    fn words(&self, value: Option<i64>) -> String {
        value.map_or("nothing of the device".to_owned(), |value| {
            format!("{}{} {}", if value < 0 { "-" } else { "" }, grouped(value.unsigned_abs()), self.unit)
        })
    }

    fn tolerance(&self) -> String {
        match (self.truth, self.error) {
            (None, _) => String::new(),
            (_, (0, 0)) => " exactly".to_owned(),
            (_, (below, 0)) => format!(" or up to {} less", grouped(below.unsigned_abs())),
            (_, (below, _)) => format!(" within {}", grouped(below.unsigned_abs())),
        }
    }
}

fn sign(error: i64) -> &'static str {
    match error.signum() {
        -1 => "-",
        0 => "",
        _ => "+",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use procedure::metric::Origin;

    #[test]
    fn every_procedure_recovers_its_truth() {
        let failed: Vec<_> = KNOWN.iter().map(Known::check).filter(|check| !check.passed).collect();
        assert!(failed.is_empty(), "{failed:#?}");
    }

    /// The metric of which this one is a part, or the metric itself.
    fn whole(metric: &'static str) -> &'static str {
        match procedure::metric::METRICS.iter().find(|known| known.key == metric).map(|known| known.origin) {
            Some(Origin::Part { of }) => of,
            _ => metric,
        }
    }

    #[test]
    fn every_procedure_has_a_check() {
        for procedure in procedure::PROCEDURES {
            let has = |metric: &str| KNOWN.iter().any(|known| [known.metric, whole(known.metric)].contains(&metric));
            assert!(procedure.metrics.iter().any(|metric| has(metric)), "{}", procedure.key);
        }
    }

    #[test]
    fn a_value_beyond_the_error_fails() {
        let off = |truth| Known { truth, ..Known { measure: KNOWN[0].measure, ..KNOWN[0] } }.check();
        assert!(!off(Some(601_000)).passed && !off(Some(598_000)).passed && !off(None).passed);
        assert_eq!(off(Some(599_000)).error.as_deref().map(|error| error.starts_with('+')), Some(true));
    }
}
