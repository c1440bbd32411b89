//! The kernel of this machine has the same evidence as a device of the scenario and as a box of a bed.

use super::beds::{quick, quick_run, reported};
use super::guests::{LEFT, RIGHT, SOME, bed_of, natmeter};
use serde_json::{Value, json};
use std::fs;

const MEASURED: &str = "[sweep]\nconnections = 500\n[measure]\nmetrics = [\"max_conn_est_rate\", \"throughput\"]\n\
    repetitions = 1\nmax-rate = \"2k\"\n";

/// What a report says about the path, without figures: test bed and shared cores, and of each result loop, null device before and
/// after, shared cores, and sizes of tables.
fn evidence(report: &Value, device: &str) -> Value {
    let of_result = |result: &Value| {
        let sizes: Vec<&String> = result["extra"].as_object().unwrap().keys().collect();
        json!({
            "closed loop": result["in_closed_loop"],
            "null": result["null"].as_array().map_or(0, Vec::len),
            "shares core": result["shares_core"],
            "sizes": sizes,
        })
    };
    let results: Vec<Value> = report["results"].as_array().unwrap().iter().map(of_result).collect();
    let facts = &report["facts"]["duts"][device];
    json!({
        "test bed": report["conformance"]["test_bed"],
        "cores": facts["cores"],
        "shared": facts["cores shared with the tester"],
        "table": facts["nf_conntrack_max"],
        "results": results,
    })
}

#[test]
#[ignore = "needs root"]
fn a_nat44_of_this_kernel_has_the_same_evidence_as_a_box() {
    let kernel = quick_run(&format!("name = \"kernel\"\n[dut.nftables]\n[link.veth]\n{MEASURED}"));
    let folder = bed_of([LEFT, RIGHT], "[dut]\non = \"namespace\"\nsoftware = \"nftables\"\n");
    let text = format!("name = \"box\"\n[dut.nftables]\n[link.veth]\n{MEASURED}");
    fs::write(folder.path().join("box.toml"), text).unwrap();
    let report = reported(folder.path(), &quick("box.toml", &SOME), |args| natmeter(folder.path(), args));
    let of_box = evidence(&report, "external");
    assert_eq!(of_box, evidence(&kernel, "nftables"));
    assert_eq!(of_box["test bed"], json!(["same-machine"]));
    for result in of_box["results"].as_array().unwrap() {
        assert_eq!((&result["null"], &result["shares core"]), (&json!(2), &json!(true)), "{of_box}");
    }
}
