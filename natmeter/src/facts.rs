//! Facts of the tester's machine, and the doubts that follow from them.

use crate::build_info;
use dut::readings::{self, Readings};
use record::doubt::Doubt;
use record::folder::{self, Facts};
use std::path::Path;

pub(crate) fn of_this_machine() -> Facts {
    let mut tester = dut::facts::of_this_machine();
    tester.insert("natmeter".to_owned(), env!("CARGO_PKG_VERSION").to_owned());
    tester.insert(folder::BUILD.to_owned(), build_info::BUILD.trim().to_owned());
    let mut facts = Facts { tester, natmeter: Some(build_info::build()), ..Facts::default() };
    facts.doubts = doubts(&facts).into_iter().map(Doubt::Other).collect();
    facts
}

/// Memory in octets, as in `/proc/meminfo`, or the limit of this process if that is less.
pub(crate) fn memory() -> Option<u64> {
    let limit = port::cgroup::memory(Path::new("/")).map(|limit| limit.most);
    memory_of_machine().into_iter().chain(limit).min()
}

/// What to do for fewer invalid trials.
pub(crate) fn less_noise() -> String {
    quota().map_or_else(
        || "stop other programs".to_owned(),
        |quota| format!("give this process cores instead of a quota ({quota})"),
    )
}

/// The CPU quota of this process, in words.
fn quota() -> Option<String> {
    let quota = port::cgroup::cpu(Path::new("/"))?;
    let (cores, all) = (quota.cores(), port::host::cores().len());
    Some(format!("{cores:.1} of {all} cores, used up in {} periods so far", quota.throttled))
}

fn memory_of_machine() -> Option<u64> {
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
    if let Some(quota) = quota() {
        doubts.push(format!(
            "a CPU quota stops this process ({quota}), which makes trials invalid; give it cores instead (docker run --cpuset-cpus, \
             AllowedCPUs= of systemd)"
        ));
    }
    let load: f64 = fact("load at the start").split(' ').next().and_then(|l| l.parse().ok()).unwrap_or(0.0);
    if load > 0.5 {
        doubts.push(format!("other programs are running (load {load}); stop them for fewer invalid trials"));
    }
    doubts
}
