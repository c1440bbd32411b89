//! TCP connections: rates and times of a device of known truth.

use crate::fixture::up_to;
use method::search::Phase2;
use method::simulated::{SimulatedDut, Truth};
use method::trial::{Tcp, TcpClose};
use method::{Nanos, Rate, ResultKind, SearchResult, SearchSettings, TrialError};
use procedure::tcp::{MAX_TCP_CONN_RATE, TCP_THROUGHPUT, TcpKeys};
use procedure::{Context, Keys, Metric};

const ALL: u64 = 10_000_000;
const HELD: u64 = 30_000;

fn life(data: u64, close: TcpClose) -> TcpKeys {
    TcpKeys { held_ppm: 3_000, data, close, watch: None }
}

/// Searches with a total number of connections, a frame size, and a duration of trials in seconds.
fn measure(
    metric: &'static Metric,
    truth: Truth,
    keys: TcpKeys,
    connections: u64,
    (octets, seconds): (usize, u64),
) -> Result<SearchResult, TrialError> {
    let settings = SearchSettings { duration: Nanos::from_secs(seconds), ..up_to(8_000_000) };
    let keys = Keys::of_table(keys);
    let context = Context::new(metric, &keys, &settings).with(Phase2 { connections, phase1_rate: Rate(10_000) });
    Context { frame: [octets; 2], ..context }.measure(&mut SimulatedDut::new(truth, 1))
}

fn search(truth: Truth, keys: TcpKeys) -> Result<SearchResult, TrialError> {
    measure(&MAX_TCP_CONN_RATE, truth, keys, ALL, (64, 1))
}

#[test]
fn the_slowest_of_set_up_and_both_directions_counts() {
    // Of 4 and 2 segments a connection.
    for (forward, reverse, set_up, rate) in [
        (4_000_000, 4_000_000, 20_000, 20_000),
        (400_000, 400_000, 500_000, 100_000),
        (400_000, 100_000, 500_000, 50_000),
    ] {
        let truth = Truth { reverse_capacity: Rate(reverse), ..Truth::new(Rate(forward), Rate(set_up)) };
        let found = search(truth, life(0, TcpClose::Fin)).unwrap();
        assert_eq!(found.kind, ResultKind::Exact);
        assert!((rate * 999 / 1_000..=rate).contains(&found.rate.0), "{} of {rate}", found.rate);
        assert_eq!(found.parts["tcp_entries"], (HELD + found.rate.0).cast_signed());
        assert_eq!(found.table_changes, 0, "connections come and go in these trials");
    }
}

#[test]
fn segments_of_a_connection_depend_on_its_course() {
    let segments = |exchanges, close| Tcp::Life { exchanges, close, different: 1, watch: None }.segments();
    assert_eq!(segments(0, TcpClose::Fin), [4, 2]);
    assert_eq!(segments(0, TcpClose::Rst), [3, 1]);
    assert_eq!(segments(0, TcpClose::None), [2, 1]);
    assert_eq!(segments(5, TcpClose::None), [8, 6]);
}

#[test]
fn a_device_that_does_not_hold_all_connections_has_no_rate() {
    let small = Truth { table_size: HELD - 1, ..Truth::new(Rate(1_000_000), Rate(100_000)) };
    let error = search(small, life(1, TcpClose::Rst)).unwrap_err();
    assert!(matches!(error, TrialError::Phase1(_)), "{error}");
}

#[test]
fn the_time_to_forget_closed_connections_is_that_of_the_device() {
    let truth = || Truth { tcp_transitory: Nanos::from_secs(10), ..Truth::new(Rate(1_000_000), Rate(50_000)) };
    let watched = |close, seconds| TcpKeys { watch: Some(Nanos::from_secs(seconds)), ..life(0, close) };
    let found = search(truth(), watched(TcpClose::Rst, 60)).unwrap();
    assert_eq!(found.parts["tcp_transitory_time"], 10_000_000_000);
    // One that is not over when the watch ends is no value, and neither is one that never begins.
    for life in [watched(TcpClose::Fin, 5), watched(TcpClose::None, 60)] {
        let found = search(truth(), life).unwrap();
        assert!(!found.parts.contains_key("tcp_transitory_time"));
        assert!(found.observed.tcp.unwrap().emptying.unwrap().emptied.is_none());
    }
}

#[test]
fn no_new_connection_is_used_twice_in_a_trial() {
    let with_new = |new: u64| {
        let keys = TcpKeys { held_ppm: (1_000_000 * HELD / (HELD + new)) as u32, ..life(0, TcpClose::Fin) };
        let truth = Truth::new(Rate(100_000_000), Rate(10_000_000));
        measure(&MAX_TCP_CONN_RATE, truth, keys, HELD + new, (64, 1))
    };
    let found = with_new(90_000).unwrap();
    assert_eq!((found.kind, found.rate), (ResultKind::AtUpperLimit, Rate(90_000)));
    let error = with_new(0).unwrap_err();
    assert!(matches!(&error, TrialError::Refused(text) if text.contains("more connections")), "{error}");
}

#[test]
fn segments_on_held_connections_are_limited_by_the_slower_direction() {
    let truth = Truth { reverse_capacity: Rate(300_000), ..Truth::new(Rate(700_000), Rate(50_000)) };
    let found = measure(&TCP_THROUGHPUT, truth, life(0, TcpClose::Fin), HELD, (64, 1)).unwrap();
    assert!((299_700..=300_000).contains(&found.rate.0), "{}", found.rate);
}

#[test]
fn a_connection_has_no_more_exchanges_than_its_sequence_numbers_tell() {
    // 44 of 1,460 octets each.
    for (connections, seconds, rate) in [(HELD, 1, 44 * HELD), (1_000, 2, 22_000)] {
        let truth = Truth::new(Rate(10_000_000), Rate(50_000));
        let found = measure(&TCP_THROUGHPUT, truth, life(0, TcpClose::Fin), connections, (1_518, seconds)).unwrap();
        assert_eq!((found.kind, found.rate), (ResultKind::AtUpperLimit, Rate(rate)), "{connections} connections");
    }
}

#[test]
fn a_dead_device_is_no_rate_of_0() {
    let error = search(Truth::dead(), life(0, TcpClose::Fin)).unwrap_err();
    assert!(matches!(error, TrialError::DutDead(_) | TrialError::Phase1(_)), "{error}");
}
