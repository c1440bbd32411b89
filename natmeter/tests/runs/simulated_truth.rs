//! Each procedure finds what the keys of `[dut.simulated]` inject, from a scenario to its report.

use crate::values::{Ended, Injected, finds};

/// A scenario of a simulated device without noise.
fn scenario(device: &str, metrics: &str, measure: &str) -> String {
    format!(
        "name = \"truth\"\n[dut.simulated]\nhost-noise = \"0\"\njitter = \"0\"\n{device}\n[sweep]\nconnections = \"100k\"\n\
         [measure]\nmetrics = [{metrics}]\nphase1-rate = \"100k\"\nrepetitions = 1\nduration = \"1 s\"\nerror = \"0.1 %\"\n\
         {measure}\n"
    )
}

/// Rates end at most one part in a thousand below the truth, as their search does. A quarter of the connections is held while others
/// are set up, and half of the load is lost where the other direction has half the capacity.
#[test]
fn rates_and_losses() {
    let device = "capacity = \"600k\"\nreverse-capacity = \"400k\"\nset-up-rate = \"300k\"";
    let metrics = "\"max_conn_est_rate\", \"max_conn_est_rate_validated\", \"throughput\", \"frame_loss_rate\"";
    let trials = "alpha = \"50 %\"\nmax-rate = \"800k\"\n[measure.frame-loss]\nloads = [\"800k\"]";
    let truth: [Injected; 4] = [
        ("max_conn_est_rate", 300e3, 600.0),
        ("max_conn_est_rate_validated", 300e3, 600.0),
        ("throughput", 400e3, 800.0),
        // 200,000 and 400,000 of 800,000 each.
        ("frame_loss_rate", 375_000.0, 0.0),
    ];
    finds(&scenario(device, metrics, trials), &truth);
}

#[test]
fn new_connections_beside_others() {
    let trials = "[measure.churn]\ntimeout = \"9 s\"";
    let scenario = scenario("set-up-rate = \"30k\"", "\"churn_rate\"", trials);
    finds(&scenario.replace("phase1-rate = \"100k\"", "phase1-rate = \"20k\""), &[("churn_rate", 30e3, 60.0)]);
}

#[test]
fn delays() {
    const TRUTH: [Injected; 4] = [
        ("latency_typical_forward", 25_000.0, 100.0),
        ("latency_worst_case_reverse", 29_990.0, 10.0),
        ("pdv_forward", 9_990.0, 10.0),
        ("ipdv_max_forward", 10_000.0, 100.0),
    ];
    let trials = "[measure.latency]\nrate = \"100k\"\nduration = \"2 s\"\nfrom = \"1 s\"\n[measure.pdv]\nrate = \"100k\"\n\
        duration = \"2 s\"\n[measure.ipdv]\nrate = \"100k\"\nduration = \"2 s\"";
    let device = "delay = \"20 us\"\ndelay-spread = \"10 us\"";
    finds(&scenario(device, "\"latency\", \"pdv\", \"ipdv\"", trials), &TRUTH);
}

#[test]
fn bursts_and_recovery() {
    let trials = "max-rate = \"1M\"\n[measure.back-to-back]\nrate = \"600k\"\n[measure.system-recovery]\nrate = \"600k\"\n\
        overload = \"2 s\"\nafter = \"1 s\"";
    let metrics = "\"back_to_back_frames\", \"system_recovery_time\"";
    // A burst of 1 M frames/s fills the buffer at 400,000 frames/s; frames are 3 µs apart in the recovery.
    let truth = [("back_to_back_frames", 10_000.0, 20.0), ("system_recovery_time", 20e6, 3_400.0)];
    finds(&scenario("capacity = \"600k\"\nqueue = 4000\nrecovery-time = \"20 ms\"", metrics, trials), &truth);
}

#[test]
fn the_size_of_a_table_of_each_policy() {
    for policy in ["refuse", "drop-oldest", "collect"] {
        let device = format!("table = 12345\nwhen-full = \"{policy}\"\ncollect = 64");
        let scenario = scenario(&device, "\"conn_table_capacity\"", "alpha = \"50 %\"");
        finds(&scenario, &[("conn_table_capacity", 12_345.0, 0.0)]);
    }
}

#[test]
fn the_time_that_closed_tcp_connections_stay() {
    let trials = "[measure.tcp]\nwatch = \"60 s\"";
    let device = "capacity = \"80k\"\ntcp-transitory-time = \"10 s\"";
    // Four segments of each connection come from the Initiator.
    let truth = [("max_tcp_conn_rate", 20e3, 40.0), ("tcp_transitory_time", 10e9, 0.0)];
    finds(&scenario(device, "\"max_tcp_conn_rate\"", trials), &truth);
}

#[test]
fn outages_of_each_direction() {
    let device = "failover-time = \"150 ms\"\nreverse-failover-time = \"400 ms\"\nreset-time = \"1700 ms\"";
    let trials = "[measure.failover]\nrate = \"100k\"\n[measure.reset]\nrate = \"100k\"";
    let truth: [Injected; 3] = [
        ("failover_forward", 150e6, 10_000.0),
        ("failover_reverse", 400e6, 10_000.0),
        ("reset_gap_forward", 1_700e6, 20_000.0),
    ];
    finds(&scenario(device, "\"failover\", \"reset\"", trials), &truth);
}

/// A failover that takes no time, and one that takes 100 ms; all connections survive both.
#[test]
fn an_action_without_a_trace_is_doubted() {
    for (time, is_doubted) in [("0 s", true), ("100 ms", false)] {
        let trials = "[measure.failover]\nrate = \"100k\"";
        let text = Ended::of(&scenario(&format!("failover-time = {time:?}"), "\"failover\"", trials)).report("text");
        assert_eq!(text.contains("Nothing shows that the hook `failover` took effect"), is_doubted, "{time}: {text}");
    }
}

#[test]
fn memory_of_each_bucket_and_tear_down() {
    let device = "buckets = 4096\nbucket-octets = 16\nentry-octets = 384\ntear-down-rate = \"2M\"\ntear-down-empty = \"2 s\"\n\
        tear-down-spread = \"0 s\"";
    let truth: [Injected; 3] = [
        ("memory_per_conntrack_entry", 384.0, 0.0),
        ("memory_per_hash_bucket", 16.0, 0.0),
        ("conn_tear_down_rate", 2e6, 1.0),
    ];
    finds(&scenario(device, "\"memory_per_conntrack_entry\", \"conn_tear_down_rate\"", ""), &truth);
}

#[test]
fn queries() {
    for metric in ["dns_queries_resolved", "dns64_resolution_rate"] {
        finds(&scenario("capacity = \"12345\"", &format!("\"{metric}\""), ""), &[(metric, 12_345.0, 25.0)]);
    }
}

/// The rate of a tester that is slower than the device is never the device's.
#[test]
fn a_slow_tester_is_the_limit() {
    let text = Ended::of(&scenario("tester-ceiling = \"100k\"", "\"throughput\"", "")).report("text");
    assert!(text.contains("The tester was the limit"), "{text}");
}
