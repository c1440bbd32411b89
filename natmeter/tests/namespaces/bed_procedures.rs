//! Procedures beside the search for a rate, over a bed of existing interfaces: each recovers what the test gave the box or the link.

use super::beds::{Bed, of_lab, reported};
use super::run;
use serde_json::Value;

/// Runs a scenario over a bed, and returns the medians of these results of its metrics.
fn medians<const N: usize>(
    bed: &Bed,
    (metrics, results): (&[&str], [&str; N]),
    tables: &str,
    measure: &str,
) -> [f64; N] {
    let text = format!(
        "name = \"procedures\"\n[dut.external]\n{tables}\n[measure]\nmetrics = {metrics:?}\nrepetitions = 1\nerror = \"5 %\"\n\
         max-rate = \"10k\"\nduration = \"500 ms\"\nstart-delay = \"5 ms\"\nsettle = \"0 s\"\ndrain = \"200 ms\"\n\
         phase1-drain = \"200 ms\"\n{measure}"
    );
    std::fs::write(bed.folder.path().join("procedures.toml"), text).unwrap();
    let args = ["run", "procedures.toml", "--bed", "bed.toml", "--beside", "--quiet", "--skip-self-test"];
    let report = reported(bed.folder.path(), &args, |args| bed.natmeter(args));
    assert_eq!(report["audit"]["findings"].as_array().map_or(0, Vec::len), 0, "{}", report["audit"]);
    let all = report["results"].as_array().unwrap();
    let median = |result: &Value| result["summary"]["median"].as_f64();
    results.map(|name| {
        let result = all.iter().find(|result| result["metric"] == name);
        result.and_then(median).unwrap_or_else(|| panic!("{name}: {all:?}"))
    })
}

/// The frames of a link that delays each by 3 ms have this latency, and little variation.
#[test]
#[ignore = "needs root"]
fn delays_of_a_link_are_measured() {
    let bed = Bed::forwarding();
    bed.file("silence = \"10 ms\"", "", "");
    let keys = "[measure.latency]\nduration = \"1 s\"\nfrom = \"0 s\"\ntags = 200\nrate = \"1k\"\n\
        [measure.pdv]\nduration = \"500 ms\"\nrate = \"1k\"\n[measure.ipdv]\nduration = \"500 ms\"\nrate = \"1k\"\n";
    let results = ["latency_typical_forward", "latency_typical_reverse", "pdv_forward", "ipdv_median_forward"];
    let delayed = "[link.impair]\ndelay = \"3 ms\"\n";
    let [there, back, pdv, ipdv] = medians(&bed, (&["latency", "pdv", "ipdv"], results), delayed, keys);
    for nanos in [there, back] {
        assert!((3e6..100e6).contains(&nanos), "latency: {nanos} ns");
    }
    assert!(pdv > 0.0 && ipdv.abs() < 1e6, "PDV {pdv} ns, IPDV {ipdv} ns");
}

/// A box that forwards 4,000 frames a second, and 100 at once, gets 10,000 a second. It loses half of 8,000 a second but for
/// those 100; the longest burst takes 100 tokens, and four for each ten of its frames come in meanwhile.
#[test]
#[ignore = "needs root"]
fn losses_of_a_box_of_known_rate_are_measured() {
    let bed = Bed::forwarding();
    bed.filter(&["limit rate over 4000/second burst 100 packets drop"]);
    bed.file("silence = \"10 ms\"", "", "");
    let keys = "[measure.frame-loss]\nloads = [\"8k\"]\n[measure.back-to-back]\nrate = \"4k\"\nlongest = \"500 ms\"\n\
        [measure.system-recovery]\nrate = \"3k\"\noverload = \"500 ms\"\nafter = \"500 ms\"\n";
    let metrics = ["frame_loss_rate", "back_to_back_frames", "system_recovery_time"];
    let [loss, burst, recovery] = medians(&bed, (&metrics, metrics), "[traffic]\ndirection = \"forward\"\n", keys);
    assert!((450e3..=500e3).contains(&loss), "{loss} ppm");
    assert!((150.0..=185.0).contains(&burst), "{burst} frames");
    assert!((0.0..500e6).contains(&recovery), "{recovery} ns");
}

const NAT44: &str = "[technology.nat44]\nmapping = \"address-and-port-dependent\"\n[traffic]\ndirection = \"forward\"\n\
    [sweep]\nconnections = 4000\n";

#[test]
#[ignore = "needs root"]
fn churn_of_a_nat44_is_measured() {
    let bed = Bed::nat44();
    bed.file("silence = \"10 ms\"", "", &bed.kernel_hooks());
    let churn = "phase1-rate = \"4k\"\n[measure.churn]\nheld = \"25 %\"\nheld-rate = \"1k\"\n";
    let [rate] = medians(&bed, (&["churn_rate"], ["churn_rate"]), NAT44, churn);
    assert!(rate > 0.0);
}

/// A box that keeps 1,500 connections, and refuses others.
#[test]
#[ignore = "needs root"]
fn the_capacity_of_a_table_is_measured() {
    let bed = Bed::nat44();
    bed.file("silence = \"10 ms\"", "", &bed.kernel_hooks());
    bed.filter(&["ct state new ct count over 1500 drop"]);
    let metric = ["conn_table_capacity"];
    let [capacity] = medians(&bed, (&metric, metric), NAT44, "alpha = \"50 %\"\ncapacity-from = 500\n");
    assert!((1400.0..=1500.0).contains(&capacity), "{capacity}");
}

/// A box that forwards 1,000 frames of 1,024 octets a second, and 25 at once, forwards four times as many of a mix in which each fourth
/// frame is as large: an IP packet lacks the 18 octets of header and FCS of Ethernet.
#[test]
#[ignore = "needs root"]
fn a_mix_of_frame_sizes_is_measured() {
    let bed = Bed::forwarding();
    bed.filter(&["ip length 1006 limit rate over 1000/second burst 25 packets drop"]);
    bed.file("silence = \"10 ms\"", "", "");
    let traffic = "[traffic]\ndirection = \"forward\"\nframe-sizes = \"imix:ccce\"\n";
    let [rate] = medians(&bed, (&["throughput"], ["ipv4_forwarding_throughput"]), traffic, "");
    assert!((3_700.0..=4_500.0).contains(&rate), "{rate} frames/s");
}

/// natmeter configures the NAT44 of a box over ssh, which translates TCP, too. The box accepts 1,000 SYN segments a second, and 100
/// at once: 600 in a trial of half a second.
#[test]
#[ignore = "needs root"]
fn tcp_connections_through_a_box_that_is_configured_over_ssh_are_measured() {
    let (lab, bed) = Bed::over_ssh();
    let keys = "software = \"nftables\"\ninterfaces = [\"d-left\", \"d-right\"]\n";
    bed.file("silence = \"10 ms\"", "", &of_lab(&lab, keys));
    bed.filter(&["tcp flags & (syn|ack) == syn limit rate over 1000/second burst 100 packets drop"]);
    let tables = "[technology.nat44]\nmapping = \"address-and-port-dependent\"\n[sweep]\nconnections = 4000\n";
    let [rate] = medians(&bed, (&["max_tcp_conn_rate"], ["max_tcp_conn_rate"]), tables, "phase1-rate = \"800\"\n");
    assert!((1_000.0..=1_300.0).contains(&rate), "{rate} connections/s");
}

/// Ten TCP connections over a link that delays each frame by 5 ms: 1,000 exchanges a second, if requests waited for answers. The
/// kernel, which passes no segment outside a window, sees none.
#[test]
#[ignore = "needs root"]
fn segments_on_tcp_connections_are_more_than_one_a_round_trip() {
    let bed = Bed::nat44();
    run(&bed.device, "nft add rule ip user post oifname d-right meta l4proto tcp snat to 198.19.0.1:1024-65535");
    bed.filter(&["ct state invalid counter drop", "meta l4proto tcp counter"]);
    for (key, value) in [("be_liberal", 0), ("loose", 0)] {
        run(&bed.device, &format!("sysctl -qw net.netfilter.nf_conntrack_tcp_{key}={value}"));
    }
    bed.file("silence = \"10 ms\"", "", &bed.kernel_hooks());
    let tables = "[technology.nat44]\nmapping = \"address-and-port-dependent\"\n[traffic]\ndirection = \"both\"\n\
        [link.impair]\ndelay = \"5 ms\"\n[sweep]\nconnections = 10\n";
    let [rate] = medians(&bed, (&["tcp_throughput"], ["tcp_throughput"]), tables, "phase1-rate = \"1k\"\n");
    assert!(rate > 3_000.0, "{rate}");
    let [invalid, all] = packets(&bed)[..] else { panic!("two rules count") };
    assert!(invalid == 0 && all > 2 * 1_500, "{invalid} of {all} segments are invalid");
}

fn packets(bed: &Bed) -> Vec<u64> {
    let output = bed.device.command("nft", port::netns::Sight::Network).args(["list", "table", "ip", "user"]).output();
    let text = String::from_utf8(output.unwrap().stdout).unwrap();
    let after = text.split("counter packets ").skip(1);
    after.map(|rest| rest.split(' ').next().unwrap().parse().unwrap()).collect()
}
