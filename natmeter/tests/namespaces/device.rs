//! Procedures that look at a box or act on it by hooks, over real ports and a kernel that the test configured.

use super::beds::{Bed, folder_of};
use serde_json::Value;

/// A kernel's NAT44 whose hook `reset` takes its right interface down for half a second, and whose hook `failover` empties its
/// table.
#[test]
#[ignore = "needs root"]
fn a_box_is_reset_switched_over_sampled_and_emptied() {
    let bed = Bed::nat44();
    let down = bed.inside("ip link set d-right down");
    let up = bed.inside("ip link set d-right up");
    let empty = bed.inside("conntrack -F");
    let hooks = format!("{}\nreset = \"{down} && sleep 0.5 && {up}\"\nfailover = \"{empty}\"", bed.kernel_hooks());
    bed.file("", "", &format!("{hooks}\nmemory = \"grep SUnreclaim /proc/meminfo\""));
    let text = r#"
name = "device"
[dut.external]
[technology.nat44]
mapping = "address-and-port-dependent"
[sweep]
connections = 2000
[measure]
metrics = ["conn_tear_down_rate", "cpu_idle", "reset", "failover"]
phase1-rate = "10k"
repetitions = 1
start-delay = "10 ms"
drain = "100 ms"
settle = "10 ms"
phase1-drain = "50 ms"
[measure.cpu-idle]
rate = "1k"
duration = "1 s"
interval = "200 ms"
[measure.reset]
rate = "1k"
at = "1 s"
duration = "5 s"
[measure.failover]
rate = "1k"
at = "1 s"
duration = "3 s"
"#;
    std::fs::write(bed.folder.path().join("device.toml"), text).unwrap();
    let args = ["run", "device.toml", "--bed", "bed.toml", "--beside", "--quiet", "--skip-self-test", "--runs", "runs"];
    let output = bed.natmeter(&args);
    assert!([0, 3].contains(&output.status.code().unwrap()), "{}", String::from_utf8_lossy(&output.stderr));
    let run = folder_of(&bed).unwrap();
    let results = std::fs::read_to_string(run.join("results.jsonl")).unwrap();
    let of = |metric: &str| -> Value {
        let result = results.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let mut result = result.filter(|line| line["measurement"]["metric"] == metric);
        result.next_back().unwrap_or_else(|| panic!("{metric}: {results}"))
    };
    let emptied = &of("conn_tear_down_rate")["observed"]["emptied"];
    assert_eq!((&emptied["clock"], &emptied["entries"]), (&"device".into(), &2000.into()), "{emptied}");
    let cores = &of("cpu_idle")["observed"]["cpu"][0]["cores"];
    assert!(cores.as_object().is_some_and(|cores| !cores.is_empty()), "{cores}");
    let reset = of("reset");
    // Half a second, and what the link and the kernel's neighbours need to come back.
    let gap = reset["parts"]["reset_gap_forward"].as_i64().unwrap();
    assert!((450_000_000..4_000_000_000).contains(&gap), "{reset}");
    assert_eq!(reset["observed"]["action"]["connections"]["all"], 2000);
    let failover = of("failover");
    // The kernel sets a forgotten connection up again with the next frame. It has another port if a frame in reverse took that of
    // before.
    let connections = &failover["observed"]["action"]["connections"];
    let count = |name: &str| connections[name].as_u64().unwrap();
    assert_eq!((count("all"), count("same") + count("moved")), (2000, 2000), "{connections}");
}
