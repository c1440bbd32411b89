//! Scenarios whose device cannot do what their procedures ask are refused, with the words at fault and a way out.

use scenario::{Options, parse};

fn complaints(text: &str) -> String {
    let text = format!("name = \"device\"\n{text}");
    parse("device.toml", &text, &Options::default(), tech::ALL).expect_err("it is refused").to_string()
}

fn simulated(measure: &str) -> String {
    complaints(&format!("[dut.simulated]\n[sweep]\nconnections = 1000\n[measure]\nphase1-rate = \"100k\"\n{measure}\n"))
}

#[test]
fn a_disruption_begins_before_its_trial_ends() {
    let said = simulated("metrics = [\"throughput\", \"reset\"]\n[measure.reset]\nat = \"5 s\"\nduration = \"5 s\"");
    assert!(said.contains("the reset begins after the end of its trial"), "{said}");
    assert!(said.contains("write a smaller `at`, or a longer duration") && said.contains("device.toml:"), "{said}");
}

#[test]
fn a_reset_of_a_kernel_device_needs_a_hook() {
    let said = complaints(
        "[dut.nftables]\n[link.tap]\n[sweep]\nconnections = 1000\n[measure]\nmetrics = [\"max_conn_est_rate\", \"throughput\", \
         \"failover\"]\n",
    );
    assert!(said.contains("`nftables` has no hook for `failover`"), "{said}");
    assert!(said.contains("needs the hook `failover`") && said.contains("--bed FILE"), "{said}");
}

#[test]
fn a_failover_under_churn_has_connections_to_hold() {
    let measure = "metrics = [\"throughput\", \"failover\"]\n[measure.churn]\nheld = \"100 %\"\n[measure.failover]\nchurn = \"1k\"";
    let said = simulated(measure);
    assert!(said.contains("all 1,000 connections are held, and none is new"), "{said}");
}

#[test]
fn the_memory_of_the_embedded_gateway_is_reserved() {
    let said = complaints(
        "[dut.embedded]\n[link.in-process]\n[sweep]\nconnections = 1000\n[measure]\nmetrics = [\"max_conn_est_rate\", \
         \"memory_per_conntrack_entry\"]\n",
    );
    assert!(said.contains("the embedded gateway reserves its table before the run"), "{said}");
}

#[test]
fn what_runs_at_the_throughput_needs_one() {
    let said = simulated("metrics = [\"cpu_idle\"]");
    assert!(said.contains("cpu_idle is measured at the throughput") && said.contains("[measure.cpu-idle]"), "{said}");
}
