//! The scenarios of `scenarios/reproduce/` show what their pages say, on the simulated clock.

use crate::simulated::{self, folder_of, header_of, run_of};
use record::read::Record;
use scenario::Options;
use std::collections::BTreeMap;

const ALPHA: &str = include_str!("../../../scenarios/reproduce/alpha.toml");
const MAP_T: &str = include_str!("../../../scenarios/reproduce/map-t-tolerance.toml");

fn laptop(set: &[&str]) -> Options {
    Options { scale: Some("laptop".to_owned()), ..simulated::set(set) }
}

/// Runs the laptop form of a scenario and returns the median of each metric, by metric and connections.
fn medians(text: &str, set: &[&str]) -> BTreeMap<(String, u64), u64> {
    let dir = tempfile::tempdir().unwrap();
    let (_, outcomes) = run_of(dir.path(), text, &header_of(text, laptop(set)));
    let mut rates: BTreeMap<_, Vec<u64>> = BTreeMap::new();
    for outcome in outcomes {
        let of = (outcome.measurement.metric.clone(), outcome.measurement.point.connections);
        rates.entry(of).or_default().push(outcome.result.rate.0);
    }
    let median = |mut rates: Vec<u64>| {
        rates.sort_unstable();
        rates[rates.len() / 2]
    };
    rates.into_iter().map(|(of, rates)| (of, median(rates))).collect()
}

/// The scale of a run is among its options, with which its scenario is read again.
#[test]
fn a_run_folder_knows_its_scale() {
    let header = header_of(ALPHA, laptop(&[]));
    let dir = tempfile::tempdir().unwrap();
    let (path, _) = folder_of(dir.path(), ALPHA, &header);
    let record = Record::read(&path, tech::ALL).unwrap();
    assert_eq!(record.header.options.scale.as_deref(), Some("laptop"));
    assert_eq!(record.header.scenario, header.scenario);
}

fn is_near(found: u64, expected: u64, ppm: u64) -> bool {
    found.abs_diff(expected) <= expected * ppm / 1_000_000
}

/// Where alpha limits the rate, alpha times the rate is the capacity from right to left; otherwise alpha changes nothing. All rates
/// are within 0.5 % of the published ones.
#[test]
fn alpha_limits_the_rate_where_validation_exceeds_the_reverse_capacity() {
    for (alpha, published) in [(80, 323_534), (60, 429_491), (50, 479_296), (25, 479_199)] {
        let found = medians(ALPHA, &[&format!("alpha={alpha} %")]);
        let of = |metric: &str| found[&(metric.to_owned(), 4_000_000)];
        let (plain, validated) = (of("max_conn_est_rate"), of("max_conn_est_rate_validated"));
        assert!(is_near(plain, 478_417, 5_000), "{plain}");
        assert!(is_near(validated, published, 5_000), "alpha {alpha} %: {validated}");
        let is_limited = is_near(validated * alpha / 100, 258_300, 5_000);
        assert_eq!(is_limited, alpha > 50, "alpha {alpha} %: {validated}");
    }
}

/// Published rates from 1M connections on, doubled each time, in connections per second.
const PUBLISHED: [u64; 9] =
    [534_680, 754_826, 1_150_865, 1_822_311, 2_004_725, 2_005_831, 2_005_818, 2_006_344, 2_006_614];

#[test]
fn a_tolerance_lets_the_rate_rise_and_strict_trials_do_not() {
    let found = medians(MAP_T, &[]);
    let rates: Vec<u64> = found.values().copied().collect();
    assert!(found.keys().map(|of| of.1).is_sorted());
    assert!(rates[..4].windows(2).all(|pair| pair[0] < pair[1]), "{rates:?}");
    for (rate, published) in rates.iter().zip(PUBLISHED) {
        assert!(is_near(*rate, published, 110_000), "{rate}, published {published}");
    }
    let strict = medians(MAP_T, &["phase1-acceptance=100 %"]);
    let (least, most) = (strict.values().min().unwrap(), strict.values().max().unwrap());
    assert!(is_near(*most, *least, 2_000) && is_near(*least, 317_000, 5_000), "{strict:?}");
}
