//! The commands of each software that natmeter configures on a box, for each technology, part and host: its scripts run here with
//! stubs in the place of the programs of a box, which write down what they are given.

use dut::external;
use dut::step::Action;
use natmeter::rig::boxes;
use natmeter::steps;
use natmeter::steps::Steps;
use record::plan::Plan;
use scenario::bed::BedText;
use scenario::bed::software::{Function, KNOWN, Software, TechnologyPart};
use scenario::{Options, Scenario};
use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;

/// The keys of each technology that a software does.
const TECHNOLOGIES: [(&str, &str); 9] = [
    ("ipv6-forwarding", ""),
    ("nat44", "pool = \"198.19.0.1\""),
    ("siit", "eam = [\"198.18.0.0/24 2001:2:0:2::/120\"]\npref64 = \"2001:2:0:1000::/96\""),
    ("nat64", "pref64 = \"2001:2:0:1000::/96\"\npool = \"198.19.0.1\""),
    ("464xlat", "pref64 = \"2001:2:0:1000::/96\"\nclat = \"2001:2:0:2::/96\"\npool = \"198.19.0.1\""),
    ("ds-lite", "b4 = \"2001:2:0:4000::1\"\naftr = \"2001:2:0:100::2\"\npool = \"198.19.0.1\""),
    (
        "lw4o6",
        "lwaftr = \"2001:2:0:100::2\"\nipv4 = \"203.0.113.0/24\"\nb4 = \"2001:db8:1:0::1\"\npsid-length = 12\npsid-offset = 2\nce = 3",
    ),
    (
        "map-e",
        "br = \"2001:2:0:100::2\"\nipv6-prefix = \"2001:db8:1::/49\"\nipv4-prefix = \"203.0.113.0/24\"\nea-bits = 15\n\
         psid-offset = 2\nce = 3",
    ),
    (
        "map-t",
        "dmr = \"2001:2:0:1000::/96\"\nipv6-prefix = \"2001:db8:1::/49\"\nipv4-prefix = \"203.0.113.0/24\"\nea-bits = 15\n\
         psid-offset = 2\nce = 3",
    ),
];

/// Hosts, with the names of the box's interfaces there.
const HOSTS: [(&str, [&str; 2]); 3] =
    [("namespace", ["left", "right"]), ("guest", ["left", "right"]), ("ssh:dut", ["eth1", "eth2"])];

const PROGRAMS: [&str; 15] = [
    "conntrack",
    "ip",
    "iptables-legacy",
    "iptables-nft",
    "jool",
    "jool_mapt",
    "jool_siit",
    "modprobe",
    "nft",
    "pfctl",
    "setsid",
    "snabb",
    "sysctl",
    "tayga",
    "vppctl",
];

/// The text of a scenario for what a software does, with connections if it keeps any.
fn text_of(does: &Function) -> String {
    let plays = match does.part {
        TechnologyPart::Whole => "",
        TechnologyPart::Ce => "plays = \"ce\"",
        TechnologyPart::Pe => "plays = \"pe\"\n[traffic]\nsubscribers = 2\nsource-ports = \"49152-49155\"",
        TechnologyPart::CeNat44 | TechnologyPart::CeNat46 | TechnologyPart::Dual => "plays = \"dual\"",
    };
    let keys = TECHNOLOGIES.iter().find(|(name, _)| *name == does.technology).map(|(_, keys)| keys);
    let technology = keys.map_or_else(String::new, |keys| format!("[technology.{}]\n{keys}\n", does.technology));
    let is_stateful = does.keeps || matches!(does.part, TechnologyPart::CeNat44 | TechnologyPart::CeNat46);
    let (sweep, metric) =
        if is_stateful { ("[sweep]\nconnections = 500\n", "max_conn_est_rate") } else { ("", "throughput") };
    format!("name = \"box\"\n[dut.external]\n{plays}\n{technology}{sweep}[measure]\nmetrics = \"{metric}\"\n")
}

/// The ports of a bed in front of a box, on whose sides there is IPv4 or IPv6.
fn ports(does: &Function) -> String {
    let between = does.part == TechnologyPart::Whole && ["nat64", "siit"].contains(&does.technology);
    let both = does.technology == "ipv6-forwarding";
    let is_ipv6 = [both || between || does.part == TechnologyPart::Pe, both || does.part == TechnologyPart::Ce];
    let port = |(side, net): (&str, u8), is_ipv6: bool| {
        let (tester, gateway) = if is_ipv6 {
            (format!("2001:2:0:{net}00::1/64"), format!("2001:2:0:{net}00::2"))
        } else {
            (format!("198.{net}.0.2/24"), format!("198.{net}.0.1"))
        };
        format!("[bed.{side}]\ninterface = \"t-{side}\"\naddresses = \"{tester}\"\ngateway = \"{gateway}\"\n")
    };
    port(("left", 18), is_ipv6[0]) + &port(("right", 19), is_ipv6[1])
}

/// A scenario over a bed whose box with a role has a software at a host.
fn scenario(software: &Software, does: &Function, (on, [left, right]): (&str, [&str; 2])) -> (Scenario, &'static str) {
    let (role, others): (_, &[&str]) = match does.part {
        TechnologyPart::CeNat44 => ("ce-nat44", &["ce-nat46", "pe"]),
        TechnologyPart::CeNat46 => ("ce-nat46", &["ce-nat44", "pe"]),
        TechnologyPart::Whole | TechnologyPart::Ce | TechnologyPart::Pe | TechnologyPart::Dual => ("dut", &[]),
    };
    let table = if role == "dut" { "dut".to_owned() } else { format!("dut.{role}") };
    let mut bed = format!(
        "{}[{table}]\non = \"{on}\"\nsoftware = \"{}\"\ninterfaces = [\"{left}\", \"{right}\"]\n",
        ports(does),
        software.name
    );
    for other in others {
        let _ = write!(bed, "[dut.{other}]\non = \"{on}\"\nclear = \"true\"\n");
    }
    let bed = BedText { name: "bed.toml".to_owned(), text: bed, t0: Vec::new() };
    let options = Options { bed: Some(bed), ..Options::default() };
    let read = scenario::parse("box.toml", &text_of(does), &options, tech::ALL);
    (read.unwrap_or_else(|error| panic!("{} as {does:?}: {error}", software.name)).scenario, role)
}

/// The hooks of the box, in order: why, and the line of the shell.
fn hooks(scenario: &Scenario, role: &str) -> Vec<(String, String)> {
    let bed = scenario.bed.as_ref().unwrap();
    let keys = bed.boxes.iter().find(|(name, _)| *name == role).map(|(_, keys)| keys).unwrap();
    let point = &Plan::new(scenario).measurements[0].point;
    let orders = external::plan(&boxes::config_of(scenario, bed, (role, keys), point, None).unwrap()).unwrap();
    let of_order = |order: &dut::Step| {
        let Action::Command { args, .. } = &order.action else { panic!("{order:?}") };
        (order.why.clone(), args.last().unwrap().clone())
    };
    orders.iter().map(of_order).collect()
}

/// The commands that hooks run, without hooks and commands that only read.
fn commands(hooks: &[(String, String)]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let [programs, log] = ["programs", "log"].map(|name| folder.path().join(name));
    fs::create_dir(&programs).unwrap();
    let stub = folder.path().join("stub");
    fs::write(&stub, include_str!("stub.sh")).unwrap();
    fs::set_permissions(&stub, fs::Permissions::from_mode(0o755)).unwrap();
    for name in PROGRAMS {
        symlink(&stub, programs.join(name)).unwrap();
    }
    let mut text = String::new();
    let reads = |why: &str| why.contains("`count`") || why.contains("`memory`");
    for (why, line) in hooks.iter().filter(|(why, _)| !reads(why)) {
        run(line, folder.path(), &programs, &log);
        let ran = fs::read_to_string(&log).unwrap_or_default();
        fs::write(&log, "").unwrap();
        let name = why.split('`').nth(1).unwrap();
        let _ = write!(text, "{name}:\n{}", shown(&ran, folder.path()));
    }
    text
}

fn run(line: &str, folder: &Path, programs: &Path, log: &Path) {
    let own = folder.join("natmeter-dut").display().to_string();
    let line = line.replace("/var/run/natmeter-dut", &own).replace("/run/natmeter-dut", &own);
    let path = format!("{}:/usr/bin:/bin", programs.display());
    let ran = Command::new("sh").args(["-c", &line]).env("PATH", path).env("STUB_LOG", log).output().unwrap();
    assert!(ran.status.success(), "{}\n{line}", String::from_utf8_lossy(&ran.stderr));
}

/// A log with the folder of a box, and without numbers of processes.
fn shown(log: &str, folder: &Path) -> String {
    let log = log.replace(&folder.display().to_string(), "/run");
    let is_read = |line: &&str| line.starts_with("sysctl -n") || line.starts_with("pfctl -s") || line.contains(" show");
    let line = |line: &str| match line.rsplit_once(" netns ") {
        Some((before, last)) if last.bytes().all(|b| b.is_ascii_digit()) => format!("  {before} netns PID\n"),
        _ => format!("  {line}\n"),
    };
    log.lines().filter(|line| !is_read(line)).map(line).collect()
}

/// What the script of a software runs at each host is the same but for the names of interfaces.
#[test]
fn commands_of_each_software() {
    for software in KNOWN {
        let mut text = String::new();
        for does in software.does {
            let at = |host| {
                let (scenario, role) = scenario(software, does, host);
                commands(&hooks(&scenario, role))
            };
            let [here, guest, ssh] = HOSTS.map(at);
            // Steps configure some software in a namespace.
            let scripted = if here.is_empty() { &guest } else { &here };
            assert_eq!(*scripted, guest, "{} {}", software.name, does.technology);
            assert_eq!(
                guest,
                ssh.replace("eth1", "left").replace("eth2", "right"),
                "{} {}",
                software.name,
                does.technology
            );
            let _ = write!(text, "# {} {}\n{guest}", does.technology, does.part.name());
        }
        insta::assert_snapshot!(software.name, text);
    }
}

/// Without `full`, a script has its first lines, so that the steps of a point fit a terminal of 80 columns and 24 lines.
#[test]
fn steps_name_what_they_leave_out() {
    let nat44 = KNOWN.iter().find(|software| software.name == "nftables").unwrap();
    let (scenario, _) = scenario(nat44, &nat44.does[0], HOSTS[2]);
    let plan = Plan::new(&scenario);
    let of = |how| steps::steps(&scenario, &plan, how).unwrap();
    let short = of(Steps::Short);
    assert!(short.lines().count() <= 24 && short.lines().all(|line| line.chars().count() <= 80), "{short}");
    // These lines name this process.
    let is_own = |line: &str| line.contains("set -C") || line.contains("restore '");
    let shown = short.lines().map(|line| if is_own(line) { &line[..24] } else { line });
    insta::assert_snapshot!(shown.collect::<Vec<_>>().join("\n"));
    let full = of(Steps::Full);
    assert!(full.contains("remove() { nft delete table ip natmeter; }") && !full.contains("more lines"), "{full}");
}

/// Each technology needs routes to the sources of the tester's frames, of IPv6 where the tester plays an edge.
#[test]
fn steps_name_the_routes_of_each_technology() {
    let of = |(software, does): (&Software, &Function)| {
        let (scenario, _) = scenario(software, does, HOSTS[2]);
        let text = steps::steps(&scenario, &Plan::new(&scenario), Steps::Full).unwrap();
        let routes: Vec<&str> =
            text.lines().filter_map(|line| line.strip_prefix("# the box needs a route on the ")).collect();
        format!("{} {}\n  {}\n", does.technology, does.part.name(), routes.join("\n  "))
    };
    let all = KNOWN.iter().flat_map(|software| software.does.iter().map(move |does| (software, does)));
    let routes: BTreeSet<String> = all.map(of).collect();
    insta::assert_snapshot!(String::from_iter(routes));
}
