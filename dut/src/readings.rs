//! What the kernel's files say about this machine or one that a host reaches.

use crate::host::Host;
use crate::step::{Action, Target};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::Path;

/// Readings for every run; a `*` stands for any part of one name.
pub const OF_FACTS: &[&str] =
    &[PROCESSORS, GOVERNORS, SMT_CONTROL, CLOCK_SOURCE, MITIGATIONS, HUGE_PAGES, MEMORY, LOAD];

pub const PROCESSORS: &str = "/proc/cpuinfo";
pub const GOVERNORS: &str = "/sys/devices/system/cpu/cpufreq/policy*/scaling_governor";
/// Several threads of a core in use: 1 or 0.
pub const SMT_ACTIVE: &str = "/sys/devices/system/cpu/smt/active";
const SMT_CONTROL: &str = "/sys/devices/system/cpu/smt/control";
/// File with the clock source in use.
pub const CLOCK_SOURCE: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
pub const MITIGATIONS: &str = "/sys/devices/system/cpu/vulnerabilities/*";
pub const HUGE_PAGES: &str = "/sys/kernel/mm/transparent_hugepage/enabled";
pub const MEMORY: &str = "/proc/meminfo";
pub const LOAD: &str = "/proc/loadavg";

/// Texts of files, by path, without final newline, as far as files exist.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Readings {
    files: BTreeMap<String, String>,
}

impl Readings {
    /// Reads files below `root`; `/` is this machine.
    pub fn below(root: &Path, patterns: &[&str]) -> Readings {
        let mut files = BTreeMap::new();
        for pattern in patterns {
            let names: Vec<&str> = pattern.split('/').filter(|name| !name.is_empty()).collect();
            read(root, String::new(), &names, &mut files);
        }
        Readings { files }
    }

    /// Readings of a machine that a host reaches, with one command.
    pub fn over(host: &mut dyn Host, patterns: &[&str]) -> io::Result<Readings> {
        // The shell resolves the patterns, and `grep` prints what exists.
        let script = format!("grep -sH '' {}", patterns.join(" "));
        let action = Action::Command { program: "sh".into(), args: vec!["-c".into(), script], stdin: None };
        let output = host.perform(Target::Dut, "read the settings of the machine", &action)?;
        Ok(Readings::of_grep(&output.stdout))
    }

    fn of_grep(text: &str) -> Readings {
        let mut files: BTreeMap<String, String> = BTreeMap::new();
        for (path, line) in text.lines().filter_map(|line| line.split_once(':')) {
            files
                .entry(path.to_owned())
                .and_modify(|text| {
                    text.push('\n');
                    text.push_str(line);
                })
                .or_insert_with(|| line.to_owned());
        }
        Readings { files: files.into_iter().map(|(path, text)| (path, text.trim().to_owned())).collect() }
    }

    pub fn text(&self, path: &str) -> Option<&str> {
        self.files.get(path).map(String::as_str)
    }

    pub fn all<'a>(&'a self, pattern: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.files.iter().filter(|(path, _)| is_of(path, pattern)).map(|(path, text)| (path.as_str(), text.as_str()))
    }

    pub fn number(&self, path: &str) -> Option<u64> {
        self.text(path)?.parse().ok()
    }

    pub fn value(&self, path: &str, key: &str) -> Option<&str> {
        self.text(path)?
            .lines()
            .filter_map(|line| line.split_once(':'))
            .find(|(name, _)| name.trim() == key)
            .map(|(_, value)| value.trim())
    }

    pub fn governors(&self) -> BTreeSet<&str> {
        self.all(GOVERNORS).map(|(_, governor)| governor).collect()
    }

    /// Control of SMT: `on`, `off`, `notsupported`, …
    pub fn smt_control(&self) -> Option<&str> {
        self.text(SMT_CONTROL)
    }

    /// The vulnerabilities of this processor, with the kernel's answer to each.
    pub fn vulnerabilities(&self) -> impl Iterator<Item = (&str, &str)> {
        let name = |path: &'_ str| path.rfind('/').map_or(0, |slash| slash + 1);
        let affects = self.all(MITIGATIONS).filter(|(_, state)| *state != "Not affected");
        affects.map(move |(path, state)| (&path[name(path)..], state))
    }

    /// Mitigations, if the kernel tells.
    pub fn mitigations(&self) -> Option<Vec<&str>> {
        self.all(MITIGATIONS).next()?;
        let active = self.vulnerabilities().filter(|(_, state)| state.starts_with("Mitigation"));
        Some(active.map(|(name, _)| name).collect())
    }

    /// The load average of the last minute.
    pub fn load(&self) -> Option<f64> {
        self.text(LOAD)?.split(' ').next()?.parse().ok()
    }
}

/// Files whose path continues `path` with these names.
fn read(root: &Path, path: String, names: &[&str], files: &mut BTreeMap<String, String>) {
    let here = root.join(path.trim_start_matches('/'));
    let Some((name, rest)) = names.split_first() else {
        files.extend(fs::read_to_string(here).ok().map(|text| (path, text.trim().to_owned())));
        return;
    };
    if !name.contains('*') {
        return read(root, format!("{path}/{name}"), rest, files);
    }
    for entry in fs::read_dir(here).into_iter().flatten().flatten() {
        if let Some(found) = entry.file_name().to_str().filter(|found| matches(found, name)) {
            read(root, format!("{path}/{found}"), rest, files);
        }
    }
}

fn is_of(path: &str, pattern: &str) -> bool {
    let (mut names, mut patterns) = (path.split('/'), pattern.split('/'));
    loop {
        match (names.next(), patterns.next()) {
            (None, None) => return true,
            (Some(name), Some(pattern)) if matches(name, pattern) => {}
            _ => return false,
        }
    }
}

/// A pattern has at most one `*`.
fn matches(name: &str, pattern: &str) -> bool {
    match pattern.split_once('*') {
        None => name == pattern,
        Some((before, after)) => {
            name.len() >= before.len() + after.len() && name.starts_with(before) && name.ends_with(after)
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::host::LocalHost;

    pub(crate) fn machine(files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let file = root.path().join(&path[1..]);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, format!("{text}\n")).unwrap();
        }
        root
    }

    #[test]
    fn files_are_read_by_patterns() {
        let root = machine(&[
            ("/sys/devices/system/cpu/cpufreq/policy0/scaling_governor", "performance"),
            ("/sys/devices/system/cpu/cpufreq/policy12/scaling_governor", "powersave"),
            ("/sys/devices/system/cpu/cpufreq/boost", "1"),
            ("/sys/devices/system/cpu/vulnerabilities/meltdown", "Mitigation: PTI"),
            ("/sys/devices/system/cpu/vulnerabilities/mds", "Not affected"),
            ("/proc/loadavg", "0.25 0.50 0.75 1/234 5678"),
            ("/proc/meminfo", "MemTotal:        8000 kB\nMemAvailable:    4000 kB"),
        ]);
        let readings = Readings::below(root.path(), OF_FACTS);
        assert_eq!(readings.governors(), BTreeSet::from(["performance", "powersave"]));
        assert_eq!(readings.vulnerabilities().collect::<Vec<_>>(), [("meltdown", "Mitigation: PTI")]);
        assert_eq!((readings.mitigations(), Readings::default().mitigations()), (Some(vec!["meltdown"]), None));
        assert_eq!((readings.load(), readings.value(MEMORY, "MemAvailable")), (Some(0.25), Some("4000 kB")));
        assert_eq!(readings.text("/sys/devices/system/cpu/cpufreq/boost"), None, "no pattern names it");
    }

    #[test]
    fn a_host_reads_the_same_files() {
        let patterns = ["/proc/sys/net/core/*_max_backlog", "/proc/meminfo", "/proc/sys/net/no/such/file"];
        let over = Readings::over(&mut LocalHost::new(), &patterns).unwrap();
        let here = Readings::below(Path::new("/"), &patterns);
        let named = |readings: &Readings| readings.files.keys().cloned().collect::<Vec<_>>();
        assert_eq!(named(&over), named(&here));
        assert_eq!(over.value(MEMORY, "MemTotal"), here.value(MEMORY, "MemTotal"));
    }
}
