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
fn procedures_refuse_what_has_no_result() {
    let latency = "metrics = [\"throughput\", \"latency\"]\n[measure.latency]\nduration = \"20 s\"";
    for (measure, said, way_out) in [
        (
            "metrics = [\"throughput\", \"reset\"]\n[measure.reset]\nat = \"5 s\"\nduration = \"5 s\"",
            "the reset begins after the end of its trial",
            "write a smaller `at`, or a longer duration",
        ),
        (
            "metrics = [\"throughput\", \"failover\"]\n[measure.failover]\nat = \"20 s\"\nduration = \"10 s\"",
            "the failover begins after the end of its trial",
            "write a smaller `at`, or a longer duration",
        ),
        ("metrics = \"conn_table_capacity\"", "the capacity needs alpha", "write alpha = \"50 %\""),
        (
            "metrics = \"conn_table_capacity\"\nalpha = \"50 %\"\ncapacity-from = 1001",
            "begins above its upper end",
            "write fewer, or remove capacity-from",
        ),
        (
            "metrics = \"conn_table_capacity\"\nalpha = \"50 %\"\ncapacity-from = 0",
            "wrong value of `measure.capacity-from`",
            "write a number from 1",
        ),
        (
            "metrics = \"conn_table_capacity\"\nalpha = \"50 %\"\ncapacity-error = 0",
            "wrong value of `measure.capacity-error`",
            "write a number from 1",
        ),
        (
            "metrics = \"conn_table_capacity\"\nalpha = \"50 %\"\nbeta = \"0 %\"",
            "wrong value of `measure.beta`",
            "help: write",
        ),
        ("metrics = \"conn_table_capacity\"\nalpha = \"50 %\"\npolicy = \"collect-0\"", "collect-0", "collect-8"),
        (
            "metrics = \"overload_scalability\"\n[measure.overload-scalability]\nflows = 1000",
            "overload scalability compares 1k flows with 1k",
            "use more connections, or fewer `flows`",
        ),
        (
            "metrics = \"dns64_resolution_rate\"\n[measure.dns]\ntimeout = \"0 s\"",
            "wrong value of `measure.dns.timeout`",
            "help: write",
        ),
        (
            "metrics = \"conn_table_capacity\"\nalpha = \"50 %\"\ngamma = \"0 %\"",
            "wrong value of `measure.gamma`",
            "write",
        ),
        (
            "metrics = \"overload_scalability\"\n[measure.overload-scalability]\nflows = 0",
            "wrong value of `measure.overload-scalability.flows`",
            "write a number from 1",
        ),
        (&format!("{latency}\nfrom = \"20 s\""), "due after the end of the trial", "use a longer trial"),
        (
            &format!("{latency}\nfrom = \"10 s\"\nrate = \"100\"\ntags = 1001"),
            "after `from`, 1000 frames remain in the trial, fewer than 1001 tags",
            "use fewer `tags`",
        ),
        (
            "max-rate = \"10\"\nmetrics = [\"throughput\", \"pdv\"]\n[measure.pdv]\nduration = \"100 ms\"",
            "the trial of `pdv` has too few frames",
            "use a higher rate",
        ),
        (
            "metrics = [\"throughput\", \"ipdv\"]\n[measure.ipdv]\nrate = \"1\"\nduration = \"1 s\"",
            "the trial of `ipdv` has too few frames",
            "use a higher rate",
        ),
    ] {
        let refusal = simulated(measure);
        assert!(refusal.contains(said) && refusal.contains(way_out), "{measure}\n{refusal}");
        assert!(refusal.contains("device.toml:"), "{refusal}");
    }
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
