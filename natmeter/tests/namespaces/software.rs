//! The software that natmeter configures on a box, each measured in a guest or in a namespace, and counted and emptied there.

use super::beds::quick;
use super::guests::{
    LEFT, LEFT6, OverSsh, RIGHT, bed_of, map_t_of_three_boxes, measured, measured_and_counted,
    measured_and_emptied_by_steps, measured_in_user_space, natmeter, slowly_measured,
};
use std::fs;
use std::path::Path;

/// Addresses of the box and of the tester on a right side with IPv6.
const RIGHT6: (&str, &str) = ("2001:2:0:1900::2", "2001:2:0:1900::1/64");

/// Commands that give a box addresses and a route.
const IPV6_ON_THE_LEFT: [&str; 3] = [
    "ip addr add 2001:2:0:1800::2/64 dev left",
    "ip addr add 198.19.0.1/24 dev right",
    "ip route add default via 2001:2:0:1800::1",
];

fn scenario(folder: &Path, plays: &str, technology: &str, counts: bool) {
    // tayga writes UDP checksum 0 for 0xffff, in three of the first 64 frames.
    let (more, sweep, acceptance) = if counts {
        ("\"max_conn_est_rate\", ", "[sweep]\nconnections = 500", "")
    } else {
        ("", "", "acceptance = \"95 %\"\n")
    };
    let text = format!(
        "name = \"box\"\n[dut.external]\n{plays}\n[technology.{technology}\n{sweep}\n\
         [measure]\nmetrics = [{more}\"throughput\"]\n{acceptance}"
    );
    fs::write(folder.join("box.toml"), text).unwrap();
}

/// A box with this software at a place plays a part of a technology. `counts` says whether it has connections.
fn plays(on: &str, software: &str, (plays, technology): (&str, &str), ends: [(&str, &str); 2], counts: bool) {
    let folder = bed_of(ends, &format!("[dut]\non = \"{on}\"\nsoftware = \"{software}\"\n"));
    scenario(folder.path(), plays, technology, counts);
    let facts =
        if counts { measured_and_counted(folder.path(), "box.toml") } else { measured(folder.path(), "box.toml", 1) };
    assert!(facts["host"].as_str().unwrap().starts_with(on), "{facts}");
}

const STATE: &str = "mapping = \"address-and-port-dependent\"\nudp-timeout = \"10000 s\"";

fn nat44(on: &str, software: &str) {
    let technology = format!("nat44]\npool = \"198.19.0.1\"\n{STATE}");
    plays(on, software, ("", &technology), [LEFT, RIGHT], true);
}

fn xlat464() -> String {
    format!("464xlat]\npref64 = \"2001:2:0:1000::/96\"\nclat = \"2001:2:0:2::/96\"\npool = \"198.19.0.1\"\n{STATE}")
}

fn ds_lite() -> String {
    format!("ds-lite]\nb4 = \"2001:2:0:4000::1\"\naftr = \"2001:2:0:100::2\"\npool = \"198.19.0.1\"\n{STATE}")
}

fn lw4o6() -> String {
    format!(
        "lw4o6]\nlwaftr = \"2001:2:0:100::2\"\nipv4 = \"203.0.113.0/24\"\nb4 = \"2001:db8:1:0::1\"\npsid-length = 4\n\
         psid-offset = 2\nce = 3\n{STATE}"
    )
}

const CE: &str = "plays = \"ce\"";
const PE: &str = "plays = \"pe\"";
const DUAL: &str = "plays = \"dual\"";

/// A router of IPv4, and one of IPv6.
fn forwards(on: &str) {
    let folder = bed_of([LEFT, RIGHT], &format!("[dut]\non = \"{on}\"\nsoftware = \"linux-forwarding\"\n"));
    let text = "name = \"box\"\n[dut.external]\n[measure]\nmetrics = [\"throughput\"]\n";
    fs::write(folder.path().join("box.toml"), text).unwrap();
    let facts = measured(folder.path(), "box.toml", 1);
    assert!(facts["host"].as_str().unwrap().starts_with(on), "{facts}");
    let networks = "ipv6-forwarding]\nleft = \"2001:2:0:1::/64\"\nright = \"2001:2:0:8001::/64\"";
    plays(on, "linux-ipv6-forwarding", ("", networks), [LEFT6, RIGHT6], false);
}

checks! { "needs root";
    forwarding_of_this_kernel_as_a_box_in_a_namespace: forwards("namespace");
    a_clat_by_tayga_in_a_namespace: plays("namespace", "tayga", (CE, &xlat464()), [LEFT, RIGHT6], false);
}

checks! { "needs root and a guest";
    forwarding_in_a_guest: forwards("guest");
    iptables_legacy_in_a_guest: nat44("guest", "iptables-legacy");
    iptables_nft_in_a_guest: nat44("guest", "iptables-nft");
    an_nft_flowtable_in_a_guest: nat44("guest", "nft-flowtable");
    siit_by_jool_in_a_guest: plays("guest", "jool-siit", ("", MAPS), [LEFT6, RIGHT], false);
}

#[test]
#[ignore = "needs root"]
fn nat44_of_this_kernel_as_a_box_in_a_namespace() {
    for software in ["nftables", "iptables-legacy", "iptables-nft"] {
        let folder = bed_of([LEFT, RIGHT], &format!("[dut]\non = \"namespace\"\nsoftware = \"{software}\"\n"));
        scenario(folder.path(), "", &format!("nat44]\npool = \"198.19.0.1\"\n{STATE}"), true);
        let facts = measured_and_emptied_by_steps(folder.path(), "box.toml");
        assert_eq!((&facts["host"], &facts["software"]), (&"namespace".into(), &software.into()));
    }
}

const MAPS: &str = "siit]\neam = [\"198.19.0.0/24 2001:2:0:8000::/120\", \"198.18.0.0/24 2001:2:0:2::/120\"]";
/// A stateless NAT64: hosts with IPv6 are mapped, and a prefix stands for the Internet.
const MAP_AND_PREFIX: &str = "siit]\neam = \"198.18.0.0/24 2001:2:0:2::/120\"\npref64 = \"2001:2:0:1000::/96\"";

#[test]
#[ignore = "needs root"]
fn siit_by_tayga_in_a_namespace() {
    for technology in [MAPS, MAP_AND_PREFIX] {
        plays("namespace", "tayga", ("", technology), [LEFT6, RIGHT], false);
    }
}

#[test]
#[ignore = "needs root and a guest"]
fn siit_and_clat_by_tayga_in_a_guest() {
    for (part, technology, ends) in [("", MAP_AND_PREFIX, [LEFT6, RIGHT]), (CE, &xlat464(), [LEFT, RIGHT6])] {
        let folder = bed_of(ends, "[dut]\non = \"guest\"\nsoftware = \"tayga\"\n");
        scenario(folder.path(), part, technology, false);
        assert_eq!(measured_in_user_space(folder.path(), "box.toml")["host"], "guest:uml");
    }
}

#[test]
#[ignore = "needs root and a guest"]
fn siit_by_tayga_in_a_guest_over_ssh() {
    let bed = OverSsh::new([LEFT6, RIGHT], "tayga", &IPV6_ON_THE_LEFT);
    scenario(bed.folder.path(), "", MAPS, false);
    bed.is_measured("box.toml");
}

#[test]
#[ignore = "needs root and a guest"]
fn clat_and_plat_by_jool_in_guests() {
    plays("guest", "jool-siit", (CE, &xlat464()), [LEFT, RIGHT6], false);
    plays("guest", "jool", (PE, &xlat464()), [LEFT6, RIGHT], true);
}

#[test]
#[ignore = "needs root and a guest"]
fn b4_and_aftr_of_the_kernel_in_guests() {
    plays("guest", "ip6tnl", (CE, &ds_lite()), [LEFT, RIGHT6], false);
    plays("guest", "ip6tnl", (PE, &format!("{}\n[traffic]\nsubscribers = 10", ds_lite())), [LEFT6, RIGHT], true);
}

#[test]
#[ignore = "needs root and a guest"]
fn an_aftr_of_the_kernel_in_a_guest_over_ssh() {
    let bed = OverSsh::new([LEFT6, RIGHT], "ip6tnl", &IPV6_ON_THE_LEFT);
    scenario(bed.folder.path(), PE, &ds_lite(), true);
    // The kernel also tracks the connection of ssh, which does not count.
    bed.is_measured_and_counted("box.toml", 500);
}

#[test]
#[ignore = "needs root and a guest"]
fn lwb4_and_lwaftr_of_the_kernel_in_guests() {
    plays("guest", "ip6tnl", (CE, &lw4o6()), [LEFT, RIGHT6], true);
    plays(
        "guest",
        "ip6tnl",
        (PE, &format!("{}\n[traffic]\nsubscribers = 10\nsource-ports = \"1024-3071\"", lw4o6())),
        [LEFT6, RIGHT],
        false,
    );
}

#[test]
#[ignore = "needs root and a guest"]
fn a_map_e_ce_of_the_kernel_in_a_guest() {
    let technology = format!(
        "map-e]\nbr = \"2001:2:0:100::2\"\nipv6-prefix = \"2001:db8:1::/53\"\nipv4-prefix = \"203.0.113.0/24\"\nea-bits = 11\n\
         psid-offset = 4\nce = 3\n{STATE}"
    );
    plays("guest", "ip6tnl", (CE, &technology), [LEFT, RIGHT6], true);
}

fn map_t(psid_offset: u8) -> String {
    format!(
        "map-t]\ndmr = \"2001:2:0:1000::/96\"\nipv6-prefix = \"2001:db8:1::/53\"\nipv4-prefix = \"203.0.113.0/24\"\n\
         ea-bits = 11\npsid-offset = {psid_offset}\nce = 3\n{STATE}"
    )
}

/// The CE has a namespace for its NAT44, which has several blocks of ports.
#[test]
#[ignore = "needs root and a guest of QEMU"]
fn a_map_t_ce_by_jool_in_a_qemu_guest() {
    let folder = bed_of([LEFT, RIGHT6], "[dut]\non = \"guest:qemu\"\nsoftware = \"jool-siit\"\n");
    scenario(folder.path(), CE, &map_t(4), true);
    let facts = slowly_measured(folder.path(), "box.toml");
    assert_eq!(facts["host"], "guest:qemu");
}

/// Its left interface cannot move to a namespace.
#[test]
#[ignore = "needs root and a guest"]
fn a_map_t_ce_in_a_guest_of_user_mode_linux_is_refused() {
    let folder = bed_of([LEFT, RIGHT6], "[dut]\non = \"guest\"\nsoftware = \"jool-siit\"\n");
    scenario(folder.path(), CE, &map_t(4), true);
    let output = natmeter(folder.path(), &quick("box.toml", &[]));
    let says = String::from_utf8(output.stderr).unwrap();
    assert!(says.contains("write on = \"guest:qemu\", or describe the CE as two boxes"), "{says}");
}

/// The CE is two boxes: a NAT44 of the kernel, and the translator of Jool.
#[test]
#[ignore = "needs root and a guest"]
fn a_map_t_ce_of_two_guests_by_the_kernel_and_jool() {
    for nat44 in ["nftables", "iptables-legacy", "iptables-nft"] {
        map_t_of_three_boxes(&format!("software = \"{nat44}\""), "software = \"jool-siit\"");
    }
}

/// 464XLAT, DS-Lite and lw4o6 of two guests in a row.
fn both_edges(software: [&str; 2], technology: &str) {
    let box_of = |role: &str, software: &str| format!("[dut.{role}]\non = \"guest\"\nsoftware = \"{software}\"\n");
    let folder = bed_of([LEFT, RIGHT], &(box_of("ce", software[0]) + &box_of("pe", software[1])));
    let text = format!(
        "name = \"boxes\"\n[dut.external]\n{DUAL}\n[technology.{technology}\n[sweep]\nconnections = 500\n\
         [measure]\nmetrics = [\"max_conn_est_rate\", \"throughput\"]\n"
    );
    fs::write(folder.path().join("boxes.toml"), text).unwrap();
    measured_and_counted(folder.path(), "boxes.toml");
}

checks! { "needs root and a guest";
    chained_464xlat_by_jool_in_two_guests: both_edges(["jool-siit", "jool"], &xlat464());
    ds_lite_of_the_kernel_in_two_guests: both_edges(["ip6tnl", "ip6tnl"], &ds_lite());
    lw4o6_of_the_kernel_in_two_guests: both_edges(["ip6tnl", "ip6tnl"], &lw4o6());
}
