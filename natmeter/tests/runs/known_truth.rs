//! Each procedure finds what the keys of `[dut.known-truth]` inject into frames, from a scenario to its report. Tester and device run
//! on one thread, so that no queue overflows when other programs run.

use crate::values::{Ended, Injected, finds};
use method::{Fault, Leg, Rate, TrialOutcome, TrialRecord};

fn scenario(device: &str, metrics: &str, measure: &str) -> String {
    format!(
        "name = \"truth\"\n[dut.known-truth]\n{device}\n[sweep]\nconnections = \"4000\"\n[measure]\nmetrics = [{metrics}]\n\
         phase1-rate = \"40k\"\nmax-rate = \"40k\"\nrepetitions = 1\nduration = \"200 ms\"\nerror = \"10 %\"\n\
         start-delay = \"5 ms\"\ndrain = \"20 ms\"\nsettle = \"20 ms\"\nphase1-drain = \"20 ms\"\n{measure}\n"
    )
}

const LOAD: &str = "[measure.frame-loss]\nloads = [\"20k\"]";

/// The trial that other programs disturbed least. Noise that rule 3 leaves aside still changes how many frames are lost.
fn least_disturbed(device: &str) -> TrialOutcome {
    let scenario = scenario(device, "\"frame_loss_rate\"", LOAD);
    let trials: Vec<TrialRecord> = [(); 5].iter().flat_map(|()| Ended::of(&scenario).trials()).collect();
    let sent_all = |outcome: &&TrialOutcome| {
        [&outcome.forward, &outcome.reverse].iter().all(|leg| leg.planned > 0 && leg.sent == leg.planned)
    };
    let least = trials
        .iter()
        .map(|trial| &trial.outcome)
        .filter(sent_all)
        .min_by_key(|outcome| (outcome.host.tester_stalled, outcome.host.tester_stall));
    least.unwrap_or_else(|| panic!("{trials:?}")).clone()
}

/// Of 8,000 frames in both directions.
#[test]
fn every_fault_is_counted_in_the_frame_loss_rate() {
    let outcome = least_disturbed(
        "spares = 4000\nloss = \"2 %\"\nduplicated = \"0.11 %\"\nmisrouted = \"0.5 %\"\ncorrupted = \"0.3 %\"\n\
         reordered = \"0.23 %\"",
    );
    let both = |count: fn(&Leg) -> u64| count(&outcome.forward) + count(&outcome.reverse);
    // 160 are lost, and so 7,840 are forwarded: of these, every 909th, 200th, 333rd and 435th.
    let counted = [
        both(|leg| leg.faults.get(Fault::Duplicate)),
        both(|leg| leg.faults.get(Fault::WrongPort)),
        both(|leg| leg.faults.get(Fault::BadChecksum)),
        both(|leg| leg.reordered),
    ];
    assert_eq!(counted, [8, 39, 23, 18], "{outcome:?}");
}

#[test]
fn frame_loss() {
    let device = "loss = \"2 %\"\nspares = 4000";
    finds(&scenario(device, "\"frame_loss_rate\"", LOAD), &[("frame_loss_rate", 20_000.0, 300.0)]);
}

/// 20 ms of a trial of 200 ms: 800 of 8,000 frames. Those that the tester's own stalls delayed pass an end of the device's stall
/// or do not.
#[test]
fn frame_loss_of_a_stall() {
    let outcome = least_disturbed("stall = \"20 ms\"\nstall-at = \"50 ms\"\nspares = 4000");
    let legs = [&outcome.forward, &outcome.reverse];
    let [lost, crowded] = [|leg: &Leg| leg.lost(), |leg: &Leg| leg.timing.crowded].map(|of| legs.map(of).iter().sum());
    let stalled = outcome.host.tester_stalled.max(outcome.host.tester_stall);
    let touched = 2 * (Rate(20_000).frames_in(stalled) + 2) + crowded;
    assert!(800_u64.abs_diff(lost) <= touched, "{lost} lost, {touched} touched: {outcome:?}");
}

/// A tenth of the frames arrives 200 ms late, in the phase 1 of the next trial.
#[test]
fn late_frames_are_no_rate() {
    let scenario = scenario("fault = \"late\"\nfault-share = \"10 %\"\nspares = 4000", "\"throughput\"", "")
        .replace("phase1-drain = \"20 ms\"", "phase1-drain = \"300 ms\"");
    let said = Ended::of(&scenario).report("text");
    let words = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("after the end of their trial"), "{said}");
}

/// Most frames are not disturbed by the host. Each waits for the device, and then for the tester to receive it.
#[test]
#[ignore = "needs a machine without other work"]
fn quiet_latency() {
    let trials = "[measure.latency]\nrate = \"500\"\nduration = \"1 s\"\nfrom = \"100 ms\"\ntags = 400\n\
        [traffic]\ndirection = \"forward\"";
    let truth = [("latency_typical_forward", 410_000.0, 10_000.0)];
    finds(&scenario("delay = \"400 us\"", "\"latency\"", trials), &truth);
}

/// A uniform random delay of up to 400 µs: the 99.9th percentile of 1,000 frames is near the largest, and the difference of two
/// frames in sequence is above 340 µs for one in 88, in both directions of time.
#[test]
#[ignore = "needs a machine without other work"]
fn quiet_delay_variations() {
    let trials = "[measure.pdv]\nrate = \"500\"\nduration = \"2 s\"\n[measure.ipdv]\nrate = \"500\"\nduration = \"2 s\"\n\
        [traffic]\ndirection = \"forward\"";
    let truth = [
        ("pdv_forward", 399_600.0, 20_000.0),
        ("ipdv_min_forward", -370_000.0, 30_000.0),
        ("ipdv_median_forward", 0.0, 30_000.0),
        ("ipdv_max_forward", 370_000.0, 30_000.0),
    ];
    finds(&scenario("delay = \"100 us\"\ndelay-spread = \"400 us\"", "\"pdv\", \"ipdv\"", trials), &truth);
}

/// Its search begins with rates, which other programs lower.
#[test]
#[ignore = "needs a machine without other work"]
fn quiet_the_size_of_a_table() {
    for policy in ["refuse", "collect"] {
        let device = format!("table = 1234\nwhen-full = \"{policy}\"\ncollect = 64");
        let scenario = scenario(&device, "\"conn_table_capacity\"", "alpha = \"50 %\"");
        finds(&scenario, &[("conn_table_capacity", 1_234.0, 0.0)]);
    }
}

#[test]
#[ignore = "needs a machine without other work"]
fn quiet_recovery_from_an_overload() {
    let trials = "[measure.system-recovery]\nrate = \"30k\"\noverload = \"200 ms\"\nafter = \"400 ms\"";
    let device = "capacity = \"30k\"\nrecovery-time = \"100 ms\"\nspares = 4000";
    let scenario =
        scenario(device, "\"system_recovery_time\"", trials).replace("phase1-rate = \"40k\"", "phase1-rate = \"20k\"");
    finds(&scenario, &[("system_recovery_time", 100e6, 5e6)]);
}

/// Rates of searches, which other programs lower.
#[test]
#[ignore = "needs a machine without other work"]
fn quiet_rates() {
    let cases: [(&str, &str, &str, &[Injected]); 5] = [
        (
            "capacity = \"30k\"\nset-up-rate = \"20k\"",
            "\"max_conn_est_rate\", \"max_conn_est_rate_validated\", \"throughput\"",
            "alpha = \"50 %\"",
            &[("max_conn_est_rate", 20e3, 2e3), ("max_conn_est_rate_validated", 20e3, 2e3), ("throughput", 30e3, 3e3)],
        ),
        // The 3,000 connections that are not held are new ones for 200 ms at 15,000 a second.
        (
            "capacity = \"30k\"\nset-up-rate = \"12k\"",
            "\"throughput\", \"churn_rate\"",
            "[measure.churn]\ntimeout = \"9 s\"",
            &[("churn_rate", 12e3, 12e2)],
        ),
        (
            "capacity = \"30k\"",
            "\"back_to_back_frames\"",
            "[measure.back-to-back]\nrate = \"30k\"",
            // The bucket lends 512 frames and takes them back within 32 ms, while 10,000 a second come above the capacity.
            &[("back_to_back_frames", 750.0, 150.0)],
        ),
        ("capacity = \"30k\"", "\"max_tcp_conn_rate\"", "", &[("max_tcp_conn_rate", 7_500.0, 750.0)]),
        ("capacity = \"20k\"", "\"overload_scalability\"", "", &[("overload_degradation", 0.0, 50_000.0)]),
    ];
    for (device, metrics, trials, truth) in cases {
        let scenario = scenario(device, metrics, trials).replace("phase1-rate = \"40k\"", "phase1-rate = \"10k\"");
        finds(&scenario, truth);
    }
}
