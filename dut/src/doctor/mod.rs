//! The pre-flight of the tester, its ports and a box: settings and load that spoil results, and what mends them.

mod fix;
mod rows;

use crate::host::Host;
use crate::readings::Readings;
use crate::setting::Setting;
use crate::step::{Action, Target};
use port::cgroup;
use port::interface::LinkFacts;
use serde::Serialize;
use std::io;
use std::path::Path;

pub use fix::{SettingChange, fix};
pub use rows::FILES;
use rows::{DoctorRow, Mend, ROWS, Read, Want};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    Ok,
    /// Results may be weaker.
    Look,
    /// Results are spoilt.
    Bad,
}

impl Verdict {
    pub fn word(self) -> &'static str {
        match self {
            Verdict::Ok => "ok",
            Verdict::Look => "look",
            Verdict::Bad => "bad",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// `tester`, `left port t-left`, `box dut`.
    pub at: String,
    pub name: &'static str,
    pub value: String,
    pub verdict: Verdict,
    /// Reason, empty for a good value.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub why: &'static str,
    /// Command lines, or advice.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub mend: Vec<String>,
    /// Whether `mend` is a parameter of the kernel's command line.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub at_boot: bool,
    /// Settings for [`fix()`], with the new values.
    #[serde(skip)]
    pub settings: Vec<(Setting, String)>,
}

#[derive(Clone, Debug, Default)]
pub struct Port {
    /// `left` or `right`.
    pub side: &'static str,
    pub facts: LinkFacts,
    /// Number of queues wanted by the bed file.
    pub queues: u32,
    /// Whether it has XDP sockets, which see only frames of these queues.
    pub is_xdp: bool,
    /// Rings as `ethtool -g` prints them.
    pub rings: String,
    /// `ethtool -n … rx-flow-hash` for UDP over IPv4 and IPv6.
    pub hash: String,
    /// Queue of each hash value, as `ethtool -x` prints it.
    pub indirection: String,
}

impl Port {
    /// Reads an interface's facts from ethtool.
    pub fn of(side: &'static str, facts: LinkFacts, (queues, is_xdp): (u32, bool), host: &mut dyn Host) -> Port {
        let mut ask = |options: &str| {
            let words = options.replacen("{}", &facts.name, 1);
            let action = Action::words(&format!("{} {words}", crate::tool::ETHTOOL.program));
            let answer = host.perform(Target::Machine, "look at the port", &action);
            answer.map(|output| output.stdout).unwrap_or_default()
        };
        let rings = ask("-g {}");
        let several = facts.rx_queues > 1;
        let mut if_several = |options| if several { ask(options) } else { String::new() };
        let hash = [if_several("-n {} rx-flow-hash udp4"), if_several("-n {} rx-flow-hash udp6")].concat();
        let indirection = if_several("-x {}");
        Port { side, facts, queues, is_xdp, rings, hash, indirection }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Of {
    Tester,
    Box,
    Port,
}

pub fn tester(readings: &Readings) -> Vec<Finding> {
    examine(Of::Tester, "tester", readings, &Port::default())
}

/// Limits of a container or a unit (cgroups) to what this process may use of its machine, read below `root`.
pub fn limits(root: &Path) -> Vec<Finding> {
    let finding = |name, value, verdict: Verdict, why, mend: &str| {
        let is_good = verdict == Verdict::Ok;
        Finding {
            at: "tester".to_owned(),
            name,
            value,
            verdict,
            why: if is_good { "" } else { why },
            mend: if is_good { Vec::new() } else { vec![mend.to_owned()] },
            at_boot: false,
            settings: Vec::new(),
        }
    };
    let quota = cgroup::cpu(root).map(|quota| {
        finding(
            "processor quota",
            format!("{:.1} cores, used up in {} periods", quota.cores(), quota.throttled),
            Verdict::Bad,
            "The kernel stops the tester when the quota is used up, until the next period: trials become invalid.",
            "no quota, but cores: docker run --cpuset-cpus 2,3 instead of --cpus, AllowedCPUs= instead of CPUQuota= of systemd",
        )
    });
    let memory = cgroup::memory(root).map(|limit| {
        let is_enough = limit.free >= 1 << 30;
        finding(
            "memory limit",
            format!("{} MiB, {} MiB of them free", limit.most >> 20, limit.free >> 20),
            if is_enough { Verdict::Ok } else { Verdict::Look },
            "Tables of many connections need memory; natmeter refuses what does not fit.",
            "raise it (docker run --memory, MemoryMax= of systemd); `natmeter plan FILE` predicts the memory of a scenario",
        )
    });
    quota.into_iter().chain(memory).collect()
}

pub fn port(readings: &Readings, port: &Port) -> Vec<Finding> {
    examine(Of::Port, &format!("{} port {}", port.side, port.facts.name), readings, port)
}

/// Checks a box that a host reaches.
pub fn of_box(role: &str, host: &mut dyn Host) -> io::Result<Vec<Finding>> {
    let readings = Readings::over(host, FILES)?;
    Ok(examine(Of::Box, &format!("box {role}"), &readings, &Port::default()))
}

fn examine(of: Of, at: &str, readings: &Readings, port: &Port) -> Vec<Finding> {
    let rows = ROWS.iter().filter(|row| row.of.contains(&of));
    rows.filter_map(|row| row.finding(at, readings, port)).collect()
}

impl DoctorRow {
    /// The row's finding, if the machine shows the value.
    fn finding(&self, at: &str, readings: &Readings, port: &Port) -> Option<Finding> {
        let seen = self.seen(readings, port);
        if seen.is_empty() {
            return None;
        }
        let wrong: Vec<&(String, String)> = seen.iter().filter(|(_, value)| !self.want.takes(value)).collect();
        let finding = Finding {
            at: at.to_owned(),
            name: self.name,
            value: DoctorRow::in_words(&seen),
            verdict: if wrong.is_empty() { Verdict::Ok } else { self.verdict },
            why: if wrong.is_empty() { "" } else { self.why },
            mend: Vec::new(),
            at_boot: false,
            settings: Vec::new(),
        };
        if wrong.is_empty() { Some(finding) } else { Some(self.mended(finding, &wrong, readings, port)) }
    }

    /// Values seen, with the file if a value has a single one.
    fn seen(&self, readings: &Readings, port: &Port) -> Vec<(String, String)> {
        let alone = |value: Option<String>| value.map(|value| (String::new(), value)).into_iter().collect();
        match self.read {
            Read::Files(patterns) => patterns
                .iter()
                .flat_map(|pattern| {
                    let pattern = pattern.replace("{port}", &port.facts.name);
                    let of_pattern: Vec<_> =
                        readings.all(&pattern).map(|(path, value)| (path.to_owned(), value.to_owned())).collect();
                    of_pattern
                })
                .collect(),
            Read::Machine(value) => alone(value(readings)),
            Read::Port(value) => alone(value(port)),
        }
    }

    /// Lists each value once, with the names of files that differ.
    fn in_words(seen: &[(String, String)]) -> String {
        let name = |path: &'_ str| path.rfind('/').map_or(0, |slash| slash + 1);
        let named: Vec<(&str, &str)> = seen.iter().map(|(path, value)| (&path[name(path)..], value.as_str())).collect();
        let differ = named.iter().any(|(name, _)| *name != named[0].0);
        let mut words: Vec<String> = Vec::new();
        for (name, value) in named {
            let word = if differ { format!("{name} {value}") } else { value.to_owned() };
            if !words.contains(&word) {
                words.push(word);
            }
        }
        words.join(", ")
    }

    fn mended(&self, finding: Finding, wrong: &[&(String, String)], readings: &Readings, port: &Port) -> Finding {
        let settings: Vec<(Setting, String)> = match self.mend {
            Mend::Write(value) => {
                wrong.iter().filter_map(|(path, _)| Some((Setting::at(path).ok()?, value.to_owned()))).collect()
            }
            Mend::Set(settings) => settings(readings, port),
            Mend::Do(_) | Mend::Boot(_) => Vec::new(),
        };
        let words = |text: &str| vec![text.replace("{port}", &port.facts.name)];
        let mend = match self.mend {
            Mend::Do(text) | Mend::Boot(text) => words(text),
            _ => settings.iter().map(|(setting, value)| Action::set(setting, value.as_str()).to_string()).collect(),
        };
        Finding { mend, at_boot: matches!(self.mend, Mend::Boot(_)), settings, ..finding }
    }
}

impl Want {
    fn takes(&self, value: &str) -> bool {
        // A unit may follow a number.
        let number = || value.split(' ').next().and_then(|number| number.parse::<f64>().ok());
        match self {
            Want::One(words) => words.contains(&value),
            Want::AtLeast(least) => number().is_some_and(|number| number >= *least),
            Want::AtMost(most) => number().is_some_and(|number| number <= *most),
        }
    }
}

#[cfg(test)]
mod tests;
