//! Boxes in guests that natmeter boots. They need a guest of User-Mode Linux, which `natmeter guest build` builds, and those
//! with `qemu` in their names one of QEMU; `./check guests` builds both before it runs these tests, and leaves them out where it cannot.

use super::bed_technologies::technology;
use super::beds::{has_rates, quick, reported, scenario, until};
use super::program::NATMETER;
use super::{address, bare, cable, config};
use port::Netns;
use port::netns::Sight;
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use tempfile::TempDir;

/// A folder with a bed whose box is a guest: its addresses with prefix lengths and those of the tester, left and right, and keys of the
/// box.
fn bed(ends: [(&str, &str); 2], of_box: &str) -> TempDir {
    bed_of(ends, &format!("[dut]\non = \"guest\"\n{of_box}\n"))
}

pub(super) fn bed_of([left, right]: [(&str, &str); 2], boxes: &str) -> TempDir {
    let port = |side: &str, (gateway, tester): (&str, &str)| {
        format!("[bed.{side}]\ninterface = \"t-{side}\"\naddresses = [\"{tester}\"]\ngateway = \"{gateway}\"\n")
    };
    let folder = tempfile::tempdir().unwrap();
    let text = format!("[bed]\nname = \"guests\"\n{}{}{boxes}", port("left", left), port("right", right));
    fs::write(folder.path().join("bed.toml"), text).unwrap();
    folder
}

pub(super) const LEFT: (&str, &str) = ("198.18.0.1", "198.18.0.2/24");
pub(super) const RIGHT: (&str, &str) = ("198.19.0.1", "198.19.0.2/24");
pub(super) const LEFT6: (&str, &str) = ("2001:2:0:1800::2", "2001:2:0:1800::1/64");

pub(super) fn natmeter(folder: &Path, args: &[&str]) -> Output {
    // The interfaces of a bed must not meet those of another test.
    let mut command = Netns::new().unwrap().command(NATMETER, Sight::NetworkAndSysfs);
    command.args(args).current_dir(folder).output().unwrap()
}

/// Runs a scenario, and checks that it has rates and that each count of the guest is that of the connections.
fn is_measured_and_counted(folder: &Path, scenario: &str) {
    let facts = measured_and_counted(folder, scenario);
    assert_eq!(facts["host"], "guest:uml");
    assert!(facts["guest"].as_str().unwrap().starts_with("User-Mode Linux; processors: 1; memory: 256 MiB"), "{facts}");
}

/// The same for any boxes. Returns the facts about them.
pub(super) fn measured_and_counted(folder: &Path, scenario: &str) -> Value {
    counted_by(&|args| natmeter(folder, args), folder, scenario, &SOME, 500)
}

/// The same with these arguments by this natmeter, where the box counts so many connections.
fn counted_by(natmeter: Natmeter<'_>, folder: &Path, scenario: &str, more: &[&str], counted: u32) -> Value {
    let more = [&["--set", "sweep.connections=500"], more].concat();
    measured_by(natmeter, folder, scenario, &more, 2, &|commands, says| {
        let counts: Vec<&str> = commands.lines().filter(|line| line.contains("hook `count`")).collect();
        let is_right = |line: &&str| line.contains(&format!("\"output\":\"{counted}\""));
        assert!(counts.iter().any(is_right), "{counts:?} {says}");
        assert!(commands.contains("hook `clear`"));
    })
}

/// Runs a scenario, and checks that it has rates and that steps emptied the table. Returns the facts about the box.
pub(super) fn measured_and_emptied_by_steps(folder: &Path, scenario: &str) -> Value {
    let more = ["--set", "sweep.connections=500", SOME[0], SOME[1]];
    measured_by(&|args| natmeter(folder, args), folder, scenario, &more, 2, &|commands, says| {
        assert!(commands.contains("\"conntrack -F\""), "{says}");
    })
}

/// Runs a scenario, and checks that it has so many rates and that its boxes are restored. Returns the facts about the boxes.
pub(super) fn measured(folder: &Path, scenario: &str, rates: usize) -> Value {
    measured_by(&|args| natmeter(folder, args), folder, scenario, &SOME, rates, &|_, _| ())
}

type Natmeter<'a> = &'a dyn Fn(&[&str]) -> Output;

/// A rate that every guest of User-Mode Linux forwards.
pub(super) const SOME: [&str; 2] = ["--set", "measure.max-rate=2k"];

/// A rate that a program in user space of such a guest forwards: several hundred frames a second of this machine.
const FEW: [&str; 2] = ["--set", "measure.max-rate=100"];

/// The same as [`measured`] for a program in user space of a guest.
pub(super) fn measured_in_user_space(folder: &Path, scenario: &str) -> Value {
    measured_by(&|args| natmeter(folder, args), folder, scenario, &FEW, 1, &|_, _| ())
}

/// The same; looks at the record of commands, beside what natmeter said.
fn measured_by(
    natmeter: Natmeter<'_>,
    folder: &Path,
    scenario: &str,
    more: &[&str],
    rates: usize,
    look: &dyn Fn(&str, &str),
) -> Value {
    let args = quick(scenario, more);
    let report = reported(folder, &args, |args| {
        let output = natmeter(args);
        let commands =
            Command::new("sh").args(["-c", "cat runs/*/commands.jsonl"]).current_dir(folder).output().unwrap();
        let commands = String::from_utf8(commands.stdout).unwrap();
        let says = String::from_utf8_lossy(&output.stderr);
        look(&commands, &says);
        let undoes = ["hook `restore`", "undo: forward IPv"];
        assert!(undoes.iter().any(|undo| commands.contains(undo)), "{says}");
        output
    });
    has_rates(&report, rates);
    report["facts"]["duts"]["external"].clone()
}

#[test]
#[ignore = "needs root and a guest"]
fn the_kernel_nat44_of_a_guest_is_measured() {
    let folder = bed([LEFT, RIGHT], "software = \"nftables\"");
    is_measured_and_counted(folder.path(), &scenario("kernel-nat44.toml"));
}

#[test]
#[ignore = "needs root and a guest"]
fn jool_in_a_guest_is_measured() {
    let folder = bed([LEFT6, RIGHT], "software = \"jool\"");
    is_measured_and_counted(folder.path(), nat64(folder.path()));
}

fn nat64(folder: &Path) -> &'static str {
    let text = "name = \"jool\"\n[dut.external]\n[technology.nat64]\npref64 = \"2001:2:0:1000::/96\"\npool = \"198.19.0.1\"\n\
        mapping = \"address-and-port-dependent\"\nudp-timeout = \"10000 s\"\n[sweep]\nconnections = 500\n\
        [measure]\nmetrics = [\"max_conn_est_rate\", \"throughput\"]\n";
    fs::write(folder.join("jool.toml"), text).unwrap();
    "jool.toml"
}

/// A guest of QEMU without KVM forwards a few thousand frames a second, and may stop for a second while it translates its
/// kernel.
pub(super) const SLOW: [&str; 8] = [
    "--set",
    "measure.max-rate=1k",
    "--set",
    "measure.error=60 %",
    "--set",
    "measure.drain=1 s",
    "--set",
    "measure.phase1-drain=2 s",
];

/// Measures boxes that need time for each frame: a guest of QEMU, or three programs on the cores of this machine.
pub(super) fn slowly_measured(folder: &Path, scenario: &str) -> Value {
    counted_by(&|args| natmeter(folder, args), folder, scenario, &SLOW, 500)
}

#[test]
#[ignore = "needs root and a guest of QEMU"]
fn jool_in_a_qemu_guest_is_measured() {
    let folder = bed_of([LEFT6, RIGHT], "[dut]\non = \"guest:qemu\"\nsoftware = \"jool\"\n");
    slowly_measured(folder.path(), nat64(folder.path()));
}

/// Two edges that natmeter makes, each at its own place.
fn two_edges(ce: &str, pe: &str) -> TempDir {
    bed_of([LEFT, RIGHT], &format!("[dut.ce]\n{ce}\n[dut.pe]\n{pe}\n"))
}

/// Hooks that make a guest a CLAT by Jool, for 464xlat.toml.
const CLAT: &str = r#"prepare = """
sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1; modprobe jool_siit
jool_siit instance add clat --netfilter --pool6 2001:2:0:1000::/96
jool_siit -i clat eamt add 198.18.0.0/24 2001:2:0:2::c612:0/120
""""#;

/// Hooks that make a guest a PLAT by Jool, with pool, count and clear.
const PLAT: &str = r#"prepare = """
sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1; modprobe jool
jool instance add plat --netfilter --pool6 2001:2:0:1000::/96
jool -i plat pool4 add 198.19.0.1 1024-65535 --udp
"""
count = "jool -i plat session display --udp --numeric --csv --no-headers | wc -l"
clear = """
jool instance remove plat; jool instance add plat --netfilter --pool6 2001:2:0:1000::/96
jool -i plat pool4 add 198.19.0.1 1024-65535 --udp
"""
restore = "jool instance remove plat"
"#;

#[test]
#[ignore = "needs root and a guest"]
fn two_guests_with_464xlat_are_measured() {
    let folder = two_edges(&format!("on = \"guest\"\n{CLAT}"), &format!("on = \"guest\"\n{PLAT}"));
    let facts = measured_and_counted(folder.path(), &scenario("464xlat.toml"));
    for role in ["ce", "pe"] {
        assert_eq!(facts[format!("{role} host")], "guest:uml");
        assert!(facts[format!("{role} guest")].as_str().unwrap().starts_with("User-Mode Linux"), "{facts}");
    }
}

/// A TAP connects both guests: its interface is the end of User-Mode Linux.
#[test]
#[ignore = "needs root and a guest of QEMU"]
fn a_qemu_guest_beside_another_guest_is_measured() {
    let ce = format!("on = \"guest:qemu\"\nguest-cpus = 2\n{CLAT}");
    let folder = two_edges(&ce, &format!("on = \"guest\"\n{PLAT}"));
    let facts = slowly_measured(folder.path(), &scenario("464xlat.toml"));
    assert_eq!((&facts["ce host"], &facts["pe host"]), (&"guest:qemu".into(), &"guest:uml".into()));
}

fn pe_in_namespace(folder: &Path, technology: &str) {
    let ends = [("left", "2001:2:0:100::2", "2001:2:0:100::1"), ("right", "198.19.0.1", "198.19.0.2")];
    let socket = folder.join("pe.sock").display().to_string();
    fs::write(folder.join("pe.toml"), config("pe", ends[0], ends[1], technology).replace("SOCKET", &socket)).unwrap();
}

/// The provider edge is a program that natmeter starts in a namespace behind the guest.
#[test]
#[ignore = "needs root and a guest"]
fn a_guest_before_a_program_in_a_namespace_is_measured() {
    let pe = format!(
        "on = \"namespace\"\nstart = \"{NATMETER} gateway --config ./pe.toml\"\n\
         clear = \"{NATMETER} gateway clear --socket pe.sock\"\nrestore = \"true\"\n\
         count = \"{NATMETER} gateway status --socket pe.sock | grep -o '\\\"sessions\\\":[0-9]*' | grep -o '[0-9]*$'\""
    );
    let folder = two_edges(&format!("on = \"guest\"\n{CLAT}"), &pe);
    pe_in_namespace(folder.path(), &technology("464xlat.toml"));
    let facts = measured_and_counted(folder.path(), &scenario("464xlat.toml"));
    assert_eq!((&facts["ce host"], &facts["pe host"]), (&"guest:uml".into(), &"namespace".into()));
}

/// MAP-T with a customer edge of two guests: NAT44 to the ports of customer 3, and stateless translation. Address and ports follow
/// from the rule of map-t.toml by RFC 7597, sections 5.1 and 5.2: suffix 0, PSID 3 of 3 bits without offset, and the interface
/// identifier of section 6.
#[test]
#[ignore = "needs root and a guest"]
fn three_boxes_with_a_customer_edge_of_two_guests_are_measured() {
    let nat44 = r#"prepare = """
sysctl -qw net.ipv4.ip_forward=1
nft 'table ip user {{ chain post {{ type nat hook postrouting priority srcnat; }}; }}'
nft add rule ip user post oifname right meta l4proto udp snat to 203.0.113.0:24576-32767
"""
count = "cat /proc/sys/net/netfilter/nf_conntrack_count"
clear = "conntrack -F"
restore = "nft delete table ip user""#;
    let nat46 = r#"prepare = """
sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1; modprobe jool_siit
jool_siit instance add ce --netfilter --pool6 2001:2:0:1000::/96
jool_siit -i ce eamt add 203.0.113.0/32 2001:db8:1:3:0:cb00:7100:3/128
""""#;
    map_t_of_three_boxes(nat44, nat46);
}

/// MAP-T whose customer edge is two guests with these keys, and whose border relay is a program in a namespace.
pub(super) fn map_t_of_three_boxes(nat44: &str, nat46: &str) {
    let boxes = format!(
        "[dut.ce-nat44]\non = \"guest\"\n{nat44}\n[dut.ce-nat46]\non = \"guest\"\n{nat46}\n\
         [dut.pe]\non = \"namespace\"\nstart = \"{NATMETER} gateway --config ./pe.toml\"\n"
    );
    let folder = bed_of([LEFT, RIGHT], &boxes);
    pe_in_namespace(folder.path(), &technology("map-t.toml"));
    let facts = slowly_measured(folder.path(), &scenario("map-t.toml"));
    assert_eq!(facts["ce-nat46 host"], "guest:uml");
}

/// Two namespaces in a row forward IPv6: each routes the tester's networks through its neighbour.
#[test]
#[ignore = "needs root"]
fn two_namespaces_in_a_row_forward() {
    let of_box = "on = \"namespace\"\nsoftware = \"linux-ipv6-forwarding\"";
    let right = ("2001:2:0:1900::2", "2001:2:0:1900::1/64");
    let folder = bed_of([LEFT6, right], &format!("[dut.ce]\n{of_box}\n[dut.pe]\n{of_box}\n"));
    let text = "name = \"two-routers\"\n[dut.external]\n[technology.ipv6-forwarding]\nleft = \"2001:2:0:1::/64\"\n\
        right = \"2001:2:0:8001::/64\"\n[measure]\nmetrics = \"throughput\"\n";
    fs::write(folder.path().join("routers.toml"), text).unwrap();
    let report = reported(folder.path(), &quick("routers.toml", &[]), |args| natmeter(folder.path(), args));
    has_rates(&report, 1);
}

/// A box like a machine of its own: a guest at the ends of three cables in the tester's namespace, one of them for ssh.
pub(super) struct OverSsh {
    tester: Netns,
    pub(super) folder: TempDir,
    guest: Child,
}

impl OverSsh {
    /// Boots the guest, and runs these commands in it by ssh. The bed file has these ends and these keys of the box.
    pub(super) fn new(ends: [(&str, &str); 2], software: &str, commands: &[&str]) -> OverSsh {
        let tester = Netns::new().unwrap();
        for name in ["t-left", "t-right", "t-control"] {
            let far = name.replacen('t', "g", 1);
            cable(&tester, name, &tester, &far);
            bare(&tester, name);
            bare(&tester, &far);
        }
        address(&tester, "t-control", "10.98.0.1/24");
        let of_box = format!(
            "[dut]\non = \"ssh:dut\"\nssh-config = \"ssh_config\"\nsoftware = \"{software}\"\n\
             interfaces = [\"left\", \"right\"]\n"
        );
        let folder = bed_of(ends, &of_box);
        let path = {
            let folder = folder.path().to_owned();
            move |name: &str| folder.join(name).display().to_string()
        };
        let made = Command::new("ssh-keygen").args(["-q", "-t", "ed25519", "-N", "", "-f", &path("user")]).status();
        assert!(made.unwrap().success());
        let config = format!(
            "Host dut\n HostName 10.98.0.2\n User root\n IdentityFile {}\n IdentitiesOnly yes\n IdentityAgent none\n \
             UserKnownHostsFile {}\n GlobalKnownHostsFile /dev/null\n StrictHostKeyChecking yes\n",
            path("user"),
            path("known_hosts")
        );
        fs::write(path("ssh_config"), config).unwrap();
        let mut guest = tester.command(NATMETER, Sight::NetworkAndSysfs);
        guest.args(["guest", "run", "--left", "g-left", "--right", "g-right", "--control", "g-control"]);
        guest.args(["--address", "10.98.0.2/24", "--ssh-key", &path("user.pub"), "--quiet"]);
        let mut guest = guest.stdout(Stdio::piped()).spawn().unwrap();
        let mut key = String::new();
        BufReader::new(guest.stdout.take().unwrap()).read_line(&mut key).unwrap();
        assert!(key.starts_with("10.98.0.2 ssh-ed25519 "), "{key}");
        fs::write(path("known_hosts"), key).unwrap();
        let bed = OverSsh { tester, folder, guest };
        for command in commands {
            let mut ssh = bed.tester.command("ssh", Sight::NetworkAndSysfs);
            let ran = ssh.args(["-F", &path("ssh_config"), "dut", command]).output().unwrap();
            assert!(ran.status.success(), "{command}: {}", String::from_utf8_lossy(&ran.stderr));
        }
        bed
    }

    /// Measures the guest, which counts so many connections.
    pub(super) fn is_measured_and_counted(&self, scenario: &str, counted: u32) {
        OverSsh::has_facts(&counted_by(&|args| self.natmeter(args), self.folder.path(), scenario, &SOME, counted));
    }

    /// Measures the guest, whose program in user space keeps no connections.
    pub(super) fn is_measured(&self, scenario: &str) {
        let natmeter = |args: &[&str]| self.natmeter(args);
        OverSsh::has_facts(&measured_by(&natmeter, self.folder.path(), scenario, &FEW, 1, &|_, _| ()));
    }

    fn natmeter(&self, args: &[&str]) -> Output {
        let mut command = self.tester.command(NATMETER, Sight::NetworkAndSysfs);
        command.args(args).current_dir(self.folder.path()).output().unwrap()
    }

    fn has_facts(facts: &Value) {
        assert_eq!(facts["host"], "ssh:dut");
        assert!(facts["kernel of the DUT's host"].as_str().unwrap().starts_with("Linux 6."), "{facts}");
    }
}

impl Drop for OverSsh {
    fn drop(&mut self) {
        let _ = self.guest.kill();
        let _ = self.guest.wait();
    }
}

#[test]
#[ignore = "needs root and a guest"]
fn the_kernel_nat44_of_a_guest_over_ssh_is_measured() {
    let addresses = ["ip addr add 198.18.0.1/24 dev left", "ip addr add 198.19.0.1/24 dev right"];
    let bed = OverSsh::new([LEFT, RIGHT], "nftables", &addresses);
    // The kernel also tracks the connection of ssh, which does not count.
    bed.is_measured_and_counted(&scenario("kernel-nat44.toml"), 500);
}

#[test]
#[ignore = "needs root and a guest"]
fn jool_in_a_guest_over_ssh_is_measured() {
    let addresses = [
        "ip addr add 2001:2:0:1800::2/64 dev left",
        "ip addr add 198.19.0.1/24 dev right",
        "ip route add default via 2001:2:0:1800::1",
    ];
    let bed = OverSsh::new([LEFT6, RIGHT], "jool", &addresses);
    bed.is_measured_and_counted(nat64(bed.folder.path()), 500);
}

#[test]
#[ignore = "needs root and a guest"]
fn a_hook_that_hangs_in_a_guest_is_killed() {
    let folder = bed(
        [LEFT, RIGHT],
        "prepare = \"echo waits; sleep 1000\"\nclear = \"true\"\ntimeout = \"1 s\"\nrestore = \"echo back\"",
    );
    let output = natmeter(folder.path(), &quick(&scenario("kernel-nat44.toml"), &[]));
    let says = String::from_utf8(output.stderr).unwrap();
    assert!(says.contains("(guest:uml): `echo waits; sleep 1000` ran longer than its time limit, 1 s"), "{says}");
    assert!(says.contains("    waits") && says.contains("restored by `echo back`"), "{says}");
}

#[test]
#[ignore = "needs root and a guest"]
fn a_guest_that_dies_is_named() {
    let folder = bed([LEFT, RIGHT], "prepare = \"echo the end >/dev/console; poweroff -f\"\nclear = \"true\"");
    let output = natmeter(folder.path(), &quick(&scenario("kernel-nat44.toml"), &[]));
    let says = String::from_utf8(output.stderr).unwrap();
    assert!(says.contains("the guest (uml) ended by itself; last lines of its console:"), "{says}");
    assert!(says.contains("    natmeter: the guest ended with exit code "), "{says}");
    assert_eq!(output.status.code(), Some(6), "{says}");
}

#[test]
#[ignore = "needs root and a guest"]
fn a_guest_that_is_not_built_is_named_with_the_command_that_builds_it() {
    let folder = bed([LEFT, RIGHT], "software = \"nftables\"");
    let mut command = Netns::new().unwrap().command(NATMETER, Sight::NetworkAndSysfs);
    command.args(quick(&scenario("kernel-nat44.toml"), &[])).current_dir(folder.path());
    command.env("NATMETER_GUESTS", folder.path());
    let says = String::from_utf8(command.output().unwrap().stderr).unwrap();
    assert!(says.contains("no guest of the kind uml is in "), "{says}");
    assert!(says.contains("build it with `natmeter guest build uml`"), "{says}");
}

/// The kernel ends a guest with natmeter, also after a kill.
#[test]
#[ignore = "needs root and a guest"]
fn a_killed_natmeter_leaves_no_guest() {
    let mut shell = Command::new(NATMETER)
        .args(["guest", "shell", "uml"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    shell.stdin.as_mut().unwrap().write_all(b"echo it runs\n").unwrap();
    let mut line = String::new();
    BufReader::new(shell.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "it runs\n");
    let all = below(shell.id());
    assert!(all.len() >= 3, "{all:?}");
    shell.kill().unwrap();
    shell.wait().unwrap();
    until(|| all.iter().all(|pid| !Path::new(&format!("/proc/{pid}/fd/0")).exists()));
}

fn below(pid: u32) -> Vec<u32> {
    let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    children
        .split_whitespace()
        .map(|pid| pid.parse().unwrap())
        .flat_map(|pid| [vec![pid], below(pid)].concat())
        .collect()
}
