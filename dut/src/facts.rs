//! Facts that a result depends on and no scenario sets: kernel, processor, mitigations, offloads, versions.

use crate::changes::Changes;
use crate::readings::{self, Readings};
use crate::side::{LEFT, RIGHT};
use crate::software::{Software, SoftwareConfig, conntrack};
use crate::step::{Action, Target};
use crate::tool::{ETHTOOL, IP, Tool};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fact {
    pub name: String,
    pub value: String,
    /// Why it weakens results, if it does, with the remedy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub doubt: Option<String>,
}

impl Fact {
    pub(crate) fn new(name: &str, value: impl Into<String>) -> Fact {
        Fact { name: name.to_owned(), value: value.into(), doubt: None }
    }
    fn doubted_if(self, bad: bool, why: &str) -> Fact {
        Fact { doubt: bad.then(|| why.to_owned()), ..self }
    }
}

pub(crate) fn collect(changes: &mut Changes, software: &Software, config: &SoftwareConfig) -> Vec<Fact> {
    let mut facts = vec![Fact::new("software", software.name), Fact::new("host", "namespace")];
    facts.extend(machine());
    facts.extend(settings(changes, software, config));
    for side in [LEFT, RIGHT] {
        facts.extend(offloads(changes, side.name));
    }
    facts.extend([IP, ETHTOOL].iter().chain(software.tools).filter_map(|tool| version(changes, tool)));
    facts
}

pub(crate) fn of_dns(changes: &mut Changes, tools: &[Tool]) -> Vec<Fact> {
    let versions = tools.iter().filter_map(|tool| version(changes, tool));
    machine().into_iter().chain(versions).collect()
}

/// Facts of this machine by name, from files only.
pub fn of_this_machine() -> BTreeMap<String, String> {
    let readings = Readings::below(Path::new("/"), readings::OF_FACTS);
    let text = |path: &str| readings.text(path).map(str::to_owned);
    let listed = |all: Vec<&str>| Some(all.join(", ")).filter(|all| !all.is_empty());
    let active = |all| listed(all).unwrap_or_else(|| "none active".to_owned());
    let cores: Vec<String> = port::host::cores().iter().map(usize::to_string).collect();
    let uname = rustix::system::uname();
    let [system, release, machine] =
        [uname.sysname(), uname.release(), uname.machine()].map(|text| text.to_string_lossy().into_owned());
    let cpu = |key: &str| readings.value(readings::PROCESSORS, key);
    // aarch64 gives numbers instead of a name.
    let part = || cpu("CPU part").map(|part| format!("aarch64 part {part}"));
    let rows = [
        ("kernel", Some(format!("{system} {release}"))),
        ("architecture", Some(machine)),
        ("cpu", cpu("model name").map(str::to_owned).or_else(part)),
        ("cores", Some(cores.join(", "))),
        ("memory", readings.value(readings::MEMORY, "MemTotal").map(str::to_owned)),
        ("governor", listed(readings.governors().into_iter().collect())),
        ("smt", readings.smt_control().map(str::to_owned)),
        ("clock source", text(readings::CLOCK_SOURCE)),
        ("mitigations", readings.mitigations().map(active)),
        ("huge pages", text(readings::HUGE_PAGES)),
        ("load at the start", text(readings::LOAD)),
    ];
    rows.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
}

/// The same, with the build of the kernel and the vulnerabilities of the processor.
fn machine() -> Vec<Fact> {
    let readings = Readings::below(Path::new("/"), &[readings::MITIGATIONS]);
    let build = rustix::system::uname().version().to_string_lossy().into_owned();
    let states: Vec<String> = readings.vulnerabilities().map(|(name, state)| format!("{name}: {state}")).collect();
    let more = [("kernel build", build), ("vulnerabilities", states.join("; "))];
    let more = more.map(|(name, value)| (name.to_owned(), value));
    of_this_machine().into_iter().chain(more).map(|(name, value)| Fact { name, value, doubt: None }).collect()
}

fn settings(changes: &mut Changes, software: &Software, config: &SoftwareConfig) -> Vec<Fact> {
    let mut facts = Vec::new();
    let mut read = |name: &str, target, path: &str| -> Option<String> {
        let value = changes.read(target, path).ok()?;
        facts.push(Fact::new(name, &*value));
        Some(value)
    };
    read("netdev_max_backlog", Target::Machine, "/proc/sys/net/core/netdev_max_backlog");
    for side in [LEFT, RIGHT] {
        let path = format!("/sys/class/net/{}/queues/rx-0/rps_cpus", side.name);
        read(&format!("steering mask of {}", side.name), Target::Dut, &path);
    }
    if !software.stateful {
        return facts;
    }
    read("nf_conntrack_max", Target::Machine, conntrack::MAX);
    let buckets = read("nf_conntrack_buckets", Target::Machine, conntrack::BUCKETS).and_then(|b| b.parse::<f64>().ok());
    for name in ["udp_timeout", "udp_timeout_stream", "checksum", "acct", "events", "timestamp"] {
        let name = format!("nf_conntrack_{name}");
        read(&name, Target::Dut, &format!("/proc/sys/net/netfilter/{name}"));
    }
    if let Some(buckets) = buckets {
        let per_bucket = config.connections as f64 / buckets;
        let why = "more than one connection per hash bucket lowers every rate; raise the hash size (needs root)";
        facts.push(Fact::new("connections per bucket", format!("{per_bucket:.3}")).doubted_if(per_bucket > 1.0, why));
    }
    facts
}

/// Offloads in use; those that natmeter tried to switch off are a doubt.
fn offloads(changes: &mut Changes, interface: &str) -> Option<Fact> {
    let action = Action::words(&format!("{} -k {interface}", ETHTOOL.program));
    let output = changes.perform(Target::Dut, "which offloads are on", &action).ok()?;
    let on: Vec<&str> = output.stdout.lines().filter_map(|l| l.trim().strip_suffix(": on")).collect();
    let bad = ["checksumming", "segmentation-offload", "receive-offload", "scatter-gather"];
    let spoiled = on.iter().any(|name| bad.iter().any(|b| name.ends_with(b)));
    let why =
        "offloads that `ethtool -K` could not switch off may merge or split frames, or leave them without checksum";
    Some(Fact::new(&format!("offloads on at {interface}"), on.join(", ")).doubted_if(spoiled, why))
}

fn version(changes: &mut Changes, tool: &Tool) -> Option<Fact> {
    let args = tool.version.iter().map(|&a| a.to_owned()).collect();
    let action = Action::Command { program: tool.program.to_owned(), args, stdin: None };
    let output = changes.perform(Target::Machine, "its version", &action).ok()?;
    let line = output.stdout.lines().chain(output.stderr.lines()).next().unwrap_or_default().to_owned();
    Some(Fact::new(&format!("version of {}", tool.program), line))
}
