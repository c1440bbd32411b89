//! Facts of the tester's machine, and the doubts that follow from them.

use crate::build_info;
use dut::readings::{self, Readings};
use record::doubt::Doubt;
use record::folder::{self, Facts};
use std::fs::read_to_string;
use std::path::Path;

/// Kernel, processor, memory, governor, mitigations, load, from files only.
pub(crate) fn of_this_machine() -> Facts {
    let readings = Readings::below(Path::new("/"), readings::OF_FACTS);
    let text = |path: &str| readings.text(path).map(str::to_owned);
    let listed = |all: Vec<&str>| Some(all.join(", ")).filter(|all| !all.is_empty());
    let cores: Vec<String> = port::host::cores().iter().map(usize::to_string).collect();
    let uname = rustix::system::uname();
    let rows = [
        ("kernel", Some(format!("{} {}", uname.sysname().to_string_lossy(), uname.release().to_string_lossy()))),
        ("architecture", Some(uname.machine().to_string_lossy().into_owned())),
        ("cpu", cpu_model()),
        ("cores", Some(cores.join(", "))),
        ("memory", readings.value(readings::MEMORY, "MemTotal").map(str::to_owned)),
        ("governor", listed(readings.governors().into_iter().collect())),
        ("smt", readings.smt_control().map(str::to_owned)),
        ("clock source", text(readings::CLOCK_SOURCE)),
        (
            "mitigations",
            readings.mitigations().map(|active| listed(active).unwrap_or_else(|| "none active".to_owned())),
        ),
        ("huge pages", read_to_string("/sys/kernel/mm/transparent_hugepage/enabled").ok()),
        ("load at the start", text(readings::LOAD)),
        ("natmeter", Some(env!("CARGO_PKG_VERSION").to_owned())),
        (folder::BUILD, Some(build_info::BUILD.to_owned())),
    ];
    let known = rows.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?.trim().to_owned())));
    let mut facts = Facts { tester: known.collect(), natmeter: Some(build_info::build()), ..Facts::default() };
    facts.doubts = doubts(&facts).into_iter().map(Doubt::Other).collect();
    facts
}

/// Memory in octets, as in `/proc/meminfo`.
pub(crate) fn memory() -> Option<u64> {
    let readings = Readings::below(Path::new("/"), &[readings::MEMORY]);
    let kib = readings.value(readings::MEMORY, "MemTotal")?.split_whitespace().next()?.parse::<u64>().ok()?;
    Some(kib * 1024)
}

fn doubts(facts: &Facts) -> Vec<String> {
    let mut doubts = Vec::new();
    let fact = |name: &str| facts.tester.get(name).map_or("", String::as_str);
    let governor = fact("governor");
    if !governor.is_empty() && governor != "performance" {
        doubts.push(format!("the frequency governor is {governor}: rates follow the load; set it with `cpupower frequency-set -g performance`"));
    }
    if fact("smt") == "on" {
        doubts.push("simultaneous multithreading is on: threads of one core slow each other; boot with `nosmt`, or use one thread of each core".to_owned());
    }
    let cores = port::host::cores().len();
    if cores < 2 {
        doubts.push("this machine has one core: tester and device take turns on it".to_owned());
    }
    let load: f64 = fact("load at the start").split(' ').next().and_then(|l| l.parse().ok()).unwrap_or(0.0);
    if load > 0.5 {
        doubts.push(format!("other programs are running (load {load}); stop them for fewer invalid trials"));
    }
    doubts
}

fn cpu_model() -> Option<String> {
    let text = read_to_string("/proc/cpuinfo").ok()?;
    let value = |key: &str| {
        text.lines().find(|l| l.starts_with(key)).and_then(|l| l.split_once(':')).map(|(_, v)| v.trim().to_owned())
    };
    // aarch64 gives numbers instead of a name.
    value("model name").or_else(|| value("CPU part").map(|part| format!("aarch64 part {part}")))
}
