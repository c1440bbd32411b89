//! Plain forwarding of IPv6 by this machine's kernel in a namespace, by a box between two ports, and by `natmeter gateway`.

use super::beds::{Bed, has_rates, quick_run, scenarios};
use super::run;
use super::street::{LAN6, Street};
use super::traffic::traffic;
use serde_json::Value;

fn kernel(more: &str) -> String {
    format!(
        "name = \"routers\"\n[dut.linux-forwarding]\n[dut.linux-ipv6-forwarding]\n{more}[measure]\nmetrics = \"throughput\"\n"
    )
}

/// This kernel over every back-end: frames pass both ways, from several hosts of a network or between 256 networks.
#[test]
#[ignore = "needs root"]
fn this_kernel_forwards_both_ip_versions() {
    let networks = "[traffic]\nnetworks = 256\nsource-macs = 100\n";
    let hosts = "[traffic]\ninside = \"198.18.0.2 - 198.18.0.9\"\nremote = \"198.19.0.2 - 198.19.0.5\"\n";
    let links = ["[link.tap]\n", "[link.veth]\n", "[link.veth]\nio = \"af-xdp-native\"\n"];
    for (link, traffic) in links.into_iter().zip([networks, hosts, networks]) {
        let report = quick_run(&kernel(&format!("{link}{traffic}")));
        has_rates(&report, 2);
        let named = |dut: &str, metric: &str| {
            let results = report["results"].as_array().unwrap();
            assert!(results.iter().any(|r| r["dut_name"] == dut && r["metric"] == metric), "{dut}: {report}");
        };
        named("linux-forwarding", "ipv4_forwarding_throughput");
        named("linux-ipv6-forwarding", "throughput");
    }
}

/// Gives the box the IPv6 addresses of RFC 5180 and their routes, and lets it forward.
fn forward_ipv6(bed: &Bed) {
    for (end, own, network, tester) in [
        ("d-left", "2001:2::1/126", "2001:2::/64", "2001:2::2"),
        ("d-right", "2001:2:0:8000::1/126", "2001:2:0:8000::/64", "2001:2:0:8000::2"),
    ] {
        // Without link-local addresses the box sends nothing by itself.
        let conf = format!("net.ipv6.conf.{end}");
        run(&bed.device, &format!("sysctl -qw {conf}.addr_gen_mode=1 {conf}.disable_ipv6=0"));
        run(&bed.device, &format!("ip addr add {own} dev {end} nodad"));
        run(&bed.device, &format!("ip route add {network} via {tester} dev {end}"));
    }
    run(&bed.device, "sysctl -qw net.ipv6.conf.all.forwarding=1");
}

fn ipv6_file(bed: &Bed, of_box: &str) {
    let side = |side: &str, group: &str| {
        format!(
            "[bed.{side}]\ninterface = \"t-{side}\"\naddresses = [\"2001:2:0:{group}::2/64\"]\n\
             gateway = \"2001:2:0:{group}::1\"\n"
        )
    };
    let text = format!("[bed]\nname = \"IPv6\"\n{}{}[dut]\n{of_box}", side("left", "0"), side("right", "8000"));
    std::fs::write(bed.folder.path().join("bed.toml"), text).unwrap();
}

/// A box of the user: natmeter finds it by Neighbor Discovery, and answers its solicitations in trials.
#[test]
#[ignore = "needs root"]
fn a_box_that_forwards_ipv6_is_measured() {
    let bed = Bed::new();
    forward_ipv6(&bed);
    ipv6_file(&bed, "");
    let scenario = bed.folder.path().join("ipv6.toml");
    let traffic = "[traffic]\ninside = \"198.18.0.2 - 198.18.0.9\"\n[measure]\nmetrics = \"throughput\"\n";
    for device in ["[dut.external]\n[technology.ipv6-forwarding]\n", "[dut.linux-ipv6-forwarding]\n"] {
        std::fs::write(&scenario, format!("name = \"f\"\n{device}{traffic}")).unwrap();
        if device.contains("external") {
            let lines = bed.check(&["ipv6.toml"]);
            // The kernel of the box may send frames of its own, such as multicast reports. There is no T0.
            let good = |(name, grade, _): &(String, String, String)| {
                grade == "ok" || name.ends_with("silence") || name == "T0"
            };
            assert!(lines.iter().all(good), "{lines:?}");
        }
        has_rates(&bed.run(&scenario, &[]), 1);
    }
}

/// A NAT44 of the user that forwards native IPv6 besides (RFC 8219, section 5.3): both kinds pass, and `plan --steps` names the routes
/// of both.
#[test]
#[ignore = "needs root"]
fn a_box_translates_beside_native_ipv6() {
    let bed = Bed::nat44();
    forward_ipv6(&bed);
    let side = |side: &str, net: u8, group: &str| {
        format!(
            "[bed.{side}]\ninterface = \"t-{side}\"\naddresses = [\"198.{net}.0.2/24\", \"2001:2:0:{group}::2/64\"]\n\
             gateway = \"198.{net}.0.1\"\n"
        )
    };
    let ports = format!("{}{}", side("left", 18, "0"), side("right", 19, "8000"));
    let file = format!("[bed]\nname = \"both\"\nsilence = \"10 ms\"\n{ports}[dut]\n{}", bed.kernel_hooks());
    std::fs::write(bed.folder.path().join("bed.toml"), file).unwrap();
    let scenario = scenarios().join("kernel-nat44.toml");
    let set = ["--set", "foreground=50 %", "--set", "metrics=throughput", "--set", "phase1-rate=20k"];
    let more = [&set[..], &["--set", "sweep.connections=2000"]].concat();
    let plan =
        bed.natmeter(&[&["plan", scenario.to_str().unwrap(), "--bed", "bed.toml", "--steps"], &more[..]].concat());
    let plan = String::from_utf8(plan.stdout).unwrap();
    for route in ["198.18.0.3 through 198.18.0.2", "2001:2:0:8000::/64 through 2001:2:0:8000::2"] {
        assert!(plan.contains(route), "{route}: {plan}");
    }
    let report = bed.run(&scenario, &more);
    has_rates(&report, 1);
    let result = report["results"].as_array().unwrap().iter().find(|r| r["metric"] == "throughput").unwrap();
    let trace = result["repetitions"][0]["trace"].as_array().unwrap();
    let passed = trace.iter().rfind(|step| step["verdict"] == "pass").expect("a rate that passed");
    let count = |value: &Value| value.as_u64().expect("a count");
    let (sent, native) = (count(&passed["sent"]), &passed["native"]);
    // An odd number of frames of one direction has one native frame less.
    assert!((sent / 2 - 1..=sent / 2).contains(&count(&native["sent"])), "{passed}");
    assert_eq!(native["received"], native["sent"], "{passed}");
}

/// `natmeter gateway` as a router: ping, TCP with path MTU discovery, and fragments pass in both directions.
#[test]
#[ignore = "needs root"]
fn the_gateway_is_an_ipv6_router() {
    let street = Street::new(1, LAN6, ("g-wan", "2001:2:0:8000::1", "2001:2:0:8000::2"));
    let gateway = street.gateway("dual", "", "[technology.ipv6-forwarding]\n");
    traffic(&street.host, &street.server, "2001:2:0:8000::2", "2001:2:0:8000::2");
    traffic(&street.server, &street.host, LAN6.2, LAN6.2);
    gateway.stop();
}
