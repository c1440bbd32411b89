//! Procedures beside the search for a rate, over a bed of existing interfaces: each recovers what the test gave the box or the link.

use super::beds::{Bed, reported};
use super::run;
use serde_json::Value;

/// Runs a scenario over a bed, and returns the medians of a metric's results.
fn medians(bed: &Bed, metrics: &[&str], tables: &str, measure: &str) -> Vec<f64> {
    let text = format!(
        "name = \"procedures\"\n[dut.external]\n{tables}\n[measure]\nmetrics = {metrics:?}\nrepetitions = 1\nerror = \"5 %\"\n\
         max-rate = \"20k\"\nduration = \"500 ms\"\nstart-delay = \"5 ms\"\nsettle = \"0 s\"\ndrain = \"200 ms\"\n\
         phase1-drain = \"200 ms\"\n{measure}"
    );
    std::fs::write(bed.folder.path().join("procedures.toml"), text).unwrap();
    let args = ["run", "procedures.toml", "--bed", "bed.toml", "--beside", "--quiet"];
    let report = reported(bed.folder.path(), &args, |args| bed.natmeter(args));
    let of = |metric: &&str| {
        let results = report["results"].as_array().unwrap();
        let result = results.iter().find(|result| result["metric"] == **metric);
        let median = |result: &Value| result["summary"]["median"].as_f64();
        result.and_then(median).unwrap_or_else(|| panic!("{metric}: {report}"))
    };
    metrics.iter().map(of).collect()
}

/// A box that forwards 4,000 frames a second, and 100 at once. Without `{` in the rule no shell is needed.
fn limited() -> Bed {
    let bed = Bed::forwarding();
    run(&bed.device, "nft add table ip user");
    run(&bed.device, "nft add chain ip user pass {type filter hook forward priority 0;}");
    run(&bed.device, "nft add rule ip user pass limit rate over 4000/second burst 100 packets drop");
    bed.file("silence = \"10 ms\"", "", "");
    bed
}

/// The frames of a link that delays them by 3 ms have at least this latency.
#[test]
#[ignore = "needs root"]
fn delays_of_a_link_are_measured() {
    let bed = Bed::forwarding();
    bed.file("silence = \"10 ms\"", "", "");
    let keys = "[measure.latency]\nduration = \"1 s\"\nfrom = \"0 s\"\ntags = 200\nrate = \"1k\"\n\
        [measure.pdv]\nduration = \"500 ms\"\nrate = \"1k\"\n[measure.ipdv]\nduration = \"500 ms\"\nrate = \"1k\"\n";
    let found = medians(&bed, &["latency", "pdv", "ipdv"], "[link.impair]\ndelay = \"3 ms\"\n", keys);
    let milliseconds = found[0] / 1e6;
    assert!((3.0..100.0).contains(&milliseconds), "latency: {milliseconds} ms");
    assert!(found[1] > 0.0 && found[2] >= 0.0, "{found:?}");
}

/// At twice the rate of the box it loses half of the frames; a burst empties its tokens while they are refilled at half the rate.
#[test]
#[ignore = "needs root"]
fn losses_of_a_box_of_known_rate_are_measured() {
    let bed = limited();
    let keys = "[measure.frame-loss]\nloads = [\"8k\"]\n[measure.back-to-back]\nrate = \"8k\"\nlongest = \"500 ms\"\n\
        [measure.system-recovery]\nrate = \"4k\"\noverload = \"500 ms\"\nafter = \"500 ms\"\n";
    let metrics = ["frame_loss_rate", "back_to_back_frames", "system_recovery_time"];
    let found = medians(&bed, &metrics, "[traffic]\ndirection = \"forward\"\n", keys);
    println!("{found:?}");
    assert!((0.44..0.52).contains(&found[0]), "loss: {}", found[0]);
    assert!((180.0..230.0).contains(&found[1]), "burst: {}", found[1]);
}

/// A box that keeps 1,500 connections, and refuses others.
#[test]
#[ignore = "needs root"]
fn churn_and_the_capacity_of_a_table_are_measured() {
    let bed = Bed::nat44();
    bed.file("silence = \"10 ms\"", "", &bed.kernel_hooks());
    let nat44 = "[technology.nat44]\nmapping = \"address-and-port-dependent\"\n[traffic]\ndirection = \"forward\"\n\
        [sweep]\nconnections = 4000\n";
    let churn = "phase1-rate = \"4k\"\n[measure.churn]\nheld = \"25 %\"\nheld-rate = \"1k\"\n";
    assert!(medians(&bed, &["churn_rate"], nat44, churn)[0] > 0.0);
    run(&bed.device, "nft add chain ip user pass {type filter hook forward priority 0;}");
    run(&bed.device, "nft add rule ip user pass ct count over 1500 drop");
    let capacity = medians(&bed, &["conn_table_capacity"], nat44, "alpha = \"50 %\"\ncapacity-from = 500\n")[0];
    assert!((1450.0..=1500.0).contains(&capacity), "{capacity}");
}
