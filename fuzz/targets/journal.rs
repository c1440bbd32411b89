//! Any bytes as the journal that a killed run left: settings are restored as the journal says or not at all, and no
//! other setting is changed.

#![no_main]

use dut::host::{Host, Output};
use dut::journal::clean;
use dut::{Action, RunDir, Setting, Target};
use libfuzzer_sys::fuzz_target;
use std::collections::BTreeMap;
use std::io;
use std::sync::LazyLock;

/// A machine made of names and values. Whatever is asked for is there.
#[derive(Default)]
struct Machine {
    settings: BTreeMap<String, String>,
    written: Vec<(String, String)>,
}

impl Host for Machine {
    fn perform(&mut self, _: Target, _: &str, action: &Action) -> io::Result<Output> {
        let Action::Set { setting, value } = action else {
            let Action::Command { program, args, .. } = action else { panic!("a journal holds no paths") };
            assert_eq!((program.as_str(), args[0].as_str(), args.len()), ("ethtool", "-k", 2), "it only looks");
            let stdout = "rx: on\n".to_owned();
            return Ok(Output { status: Some(0), stdout, ..Output::default() });
        };
        let path = setting.to_string();
        if path.contains("refuse") {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        self.settings.insert(path.clone(), value.clone());
        self.written.push((path.clone(), value.clone()));
        Ok(Output::default())
    }
    fn read(&mut self, _: Target, path: &str) -> io::Result<String> {
        if path.contains("missing") {
            return Err(io::ErrorKind::NotFound.into());
        }
        Ok(self.settings.get(path).cloned().unwrap_or_else(|| "1".to_owned()))
    }
}

static FOLDER: LazyLock<tempfile::TempDir> = LazyLock::new(natmeter_fuzz::folder);

fuzz_target!(|journal: &[u8]| {
    let dir = RunDir::at(FOLDER.path().join("run"));
    let _ = std::fs::create_dir(dir.path());
    std::fs::write(dir.path().join("machine.journal"), journal).expect("room for a file");
    let mut machine = Machine::default();
    if clean(&dir, &mut machine).is_ok() {
        assert!(!dir.path().exists(), "all is restored, so nothing is left");
    }
    let text = String::from_utf8_lossy(journal);
    let changes: Vec<serde_json::Value> = text.lines().filter_map(|l| serde_json::from_str(l).ok()).collect();
    for (path, value) in &machine.written {
        let setting = |v: &serde_json::Value| {
            let change = &v["change"];
            let written = change.get("setting").or(change.get("path"))?;
            serde_json::from_value::<Setting>(written.clone()).ok()
        };
        let named =
            |v: &serde_json::Value| setting(v).is_some_and(|s| s.to_string() == *path) && v["change"]["old"] == **value;
        assert!(changes.iter().any(named), "{path} was set to {value}");
        let allowed = ["/proc/sys/net/", "/sys/class/net/", "/proc/irq/", "/sys/devices/system/cpu/cpu", "feature "];
        assert!(allowed.iter().any(|folder| path.starts_with(folder)) && !path.contains("/../"), "{path}");
    }
    let _ = std::fs::remove_dir_all(dir.path());
});
