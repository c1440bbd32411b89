//! The scenarios of all technologies over a bed: each edge is a `natmeter gateway`, alone between the two ports or as a pair.

use super::beds::{Bed, LEFT, RIGHT, has_rates, of_lab, scenarios};
use super::lab::Lab;
use super::program::NATMETER;
use super::{Running, cable, config, run};
use port::Netns;
use serde_json::Value;

pub(super) fn technology(scenario: &str) -> String {
    let text = std::fs::read_to_string(scenarios().join(scenario)).unwrap();
    let from = text.find("[technology").unwrap();
    let upto = text[from..].find("\n[traffic").or_else(|| text[from..].find("\n[sweep")).unwrap();
    text[from..from + upto].to_owned()
}

/// Customer edge and provider edge are two boxes, each a `natmeter gateway`, with IPv6 between them.
fn two_boxes(scenario: &str) {
    has_rates(&between_two(scenario, &Bed::new(), &Netns::new().unwrap(), &[("ce", ""), ("pe", "")], "1"), 2);
}

#[test]
#[ignore = "needs root"]
fn three_boxes_with_map_t() {
    let bed = Bed::new();
    let prepared = |role: &str| bed.folder.path().join(format!("prepared-{role}"));
    let hook = |role: &str| format!("prepare = \"touch {}\"\n", prepared(role).display());
    let [nat44, nat46, pe] = ["ce-nat44", "ce-nat46", "pe"].map(hook);
    let boxes = [("ce-nat44", &*nat44), ("ce-nat46", &*nat46), ("pe", &*pe)];
    has_rates(&between_two("map-t.toml", &bed, &Netns::new().unwrap(), &boxes, "1"), 2);
    for (role, _) in boxes {
        assert!(prepared(role).exists(), "the hook of {role} was run");
    }
}

/// The same boxes are two hosts with sshd: each has its own hooks. The cores of one of them vary, and the report names it.
#[test]
#[ignore = "needs root"]
fn two_boxes_over_ssh() {
    let ce = Lab::new();
    let [tester, device] = ce.namespaces();
    let pe = Lab::beside(tester.clone(), 1);
    let [_, provider] = pe.namespaces();
    let ssh = |lab: &Lab, cores: &str| of_lab(lab, &format!("cores = \"{cores}\"\n"));
    let [of_ce, of_pe] = [ssh(&ce, "test {cores} = 32"), ssh(&pe, "test {cores} -le 2")];
    let boxes = [("ce", &*of_ce), ("pe", &*of_pe)];
    let cores = "{ pe = [1, 2], ce = 32 }";
    let report = between_two("map-t.toml", &Bed::between(tester, device), &provider, &boxes, cores);
    has_rates(&report, 4);
    let facts = &report["facts"]["duts"]["external"];
    assert_eq!((&facts["box whose cores vary"], &facts["ce cores"]), (&"pe".into(), &"32".into()));
}

/// Boxes with these names and keys; the last one is the provider edge, and all others are the customer edge.
fn between_two(scenario: &str, bed: &Bed, provider: &Netns, boxes: &[(&str, &str)], cores: &str) -> Value {
    // The box of the bed is the customer edge; its right end moves to the provider edge.
    run(&bed.device, &format!("ip link set d-right netns {}", provider.path().display()));
    cable(&bed.device, "access", provider, "access");
    for (ns, names) in [(&bed.device, ["d-left", "access"]), (provider, ["access", "d-right"])] {
        for name in names {
            run(ns, &format!("sysctl -qw net.ipv6.conf.{name}.disable_ipv6=1"));
            run(ns, &format!("ip addr flush dev {name}"));
            run(ns, &format!("ip link set {name} up"));
            run(ns, &format!("ethtool -K {name} tx off tso off gso off gro off"));
        }
    }
    let technology = technology(scenario);
    let (at_ce, at_pe) = ("2001:2:0:100::1", "2001:2:0:100::2");
    let left = ("d-left", "198.18.0.1", "198.18.0.2");
    let right = ("d-right", "198.19.0.1", "198.19.0.2");
    let ce_file = config("ce", left, ("access", at_ce, at_pe), &technology);
    let pe_file = config("pe", ("access", at_pe, at_ce), right, &technology);
    let edges = Running::both_edges(bed.folder.path(), (&bed.device, &ce_file), (provider, &pe_file));
    let hook = |name: &str, edge: &Running, keys: &str| {
        let socket = edge.socket.display();
        format!("[dut.{name}]\n{keys}clear = \"{NATMETER} gateway clear --socket {socket}\"\n")
    };
    let hooks: Vec<String> =
        boxes.iter().map(|(name, keys)| hook(name, &edges[usize::from(*name == "pe")], keys)).collect();
    bed.file("", "", &hooks.concat());
    let cores = format!("sweep.cores={cores}");
    let report = bed.run(&scenarios().join(scenario), &["--set", "sweep.connections=2000", "--set", &cores]);
    edges.into_iter().for_each(Running::stop);
    report
}

/// An address of a box, and the next hop: the tester's address, or its Ethernet address where the gateway cannot ask for it, because
/// the tester is not there yet.
type End = (&'static str, &'static str);
const IPV4: [End; 2] = [("198.18.0.1", "198.18.0.2"), ("198.19.0.1", "198.19.0.2")];
const IPV6: [End; 2] = [("2001:2:0:1800::2", "02:00:00:00:18:01"), ("2001:2:0:1900::2", "02:00:00:00:19:01")];

/// The box is one `natmeter gateway`; the tester plays what is missing on its other sides.
fn one_box(scenario: &str, plays: &str, [left, right]: [End; 2]) {
    let bed = Bed::new();
    for name in ["d-left", "d-right"] {
        run(&bed.device, &format!("ip addr flush dev {name}"));
    }
    for (name, (_, next)) in [(LEFT, IPV6[0]), (RIGHT, IPV6[1])] {
        run(&bed.tester, &format!("ip link set {name} address {next}"));
    }
    let (own, next) = ([left.0, right.0], [left.1, right.1]);
    let file = config(plays, ("d-left", own[0], next[0]), ("d-right", own[1], next[1]), &technology(scenario));
    let mut edge = Running::start(&bed.device, bed.folder.path(), plays, &file);
    edge.wait();
    let clear = format!("clear = \"{NATMETER} gateway clear --socket {}\"", edge.socket.display());
    bed.file_with(own, "", "", &clear);
    let text = std::fs::read_to_string(scenarios().join(scenario)).unwrap();
    // The NAT of 464XLAT and DS-Lite is in the provider edge.
    let is_stateless = plays == "ce" && ["464xlat.toml", "ds-lite.toml"].contains(&scenario);
    if is_stateless {
        let file = bed.folder.path().join("stateless.toml");
        let text = format!(
            "name = \"x\"\n[dut.embedded]\nplays = \"{plays}\"\n{}\n[measure]\nmetrics = \"throughput\"\n",
            technology(scenario)
        );
        std::fs::write(&file, text).unwrap();
        has_rates(&bed.run(&file, &[]), 1);
    } else {
        let plays = format!("dut.embedded.plays={plays}");
        let is_stateful = text.contains("\nconnections");
        let connections = ["--set", "sweep.connections=2000"].into_iter().filter(|_| is_stateful);
        let more: Vec<&str> = ["--set", &plays].into_iter().chain(connections).collect();
        has_rates(&bed.run(&scenarios().join(scenario), &more), 1 + usize::from(is_stateful));
    }
    edge.stop();
}

checks! { "needs root";
    a_map_t_relay_of_several_rules_as_box: one_box("map-t-br-several-rules.toml", "pe", [IPV6[0], IPV4[1]]);
    a_plat_as_box: one_box("plat.toml", "pe", [IPV6[0], IPV4[1]]);
    an_aftr_as_box: one_box("aftr.toml", "pe", [IPV6[0], IPV4[1]]);
    an_lwaftr_as_box: one_box("lwaftr.toml", "pe", [IPV6[0], IPV4[1]]);
    a_map_e_relay_as_box: one_box("map-e-br.toml", "pe", [IPV6[0], IPV4[1]]);
    a_map_t_relay_as_box: one_box("map-t-br.toml", "pe", [IPV6[0], IPV4[1]]);
    a_clat_as_box: one_box("464xlat.toml", "ce", [IPV4[0], IPV6[1]]);
    a_b4_as_box: one_box("ds-lite.toml", "ce", [IPV4[0], IPV6[1]]);
    an_lwb4_as_box: one_box("lw4o6.toml", "ce", [IPV4[0], IPV6[1]]);
    a_map_e_ce_as_box: one_box("map-e.toml", "ce", [IPV4[0], IPV6[1]]);
    a_map_t_ce_as_box: one_box("map-t.toml", "ce", [IPV4[0], IPV6[1]]);
    a_nat46_as_box: one_box("nat46.toml", "pe", [IPV4[0], IPV6[1]]);
    a_nat66_as_box: one_box("nat66.toml", "pe", IPV6);
    two_boxes_with_464xlat: two_boxes("464xlat.toml");
    two_boxes_with_ds_lite: two_boxes("ds-lite.toml");
    two_boxes_with_lw4o6: two_boxes("lw4o6.toml");
    two_boxes_with_map_e: two_boxes("map-e.toml");
    two_boxes_with_map_t: two_boxes("map-t.toml");
}
