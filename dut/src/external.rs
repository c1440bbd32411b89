//! A device that only hooks change: optional command lines of the user, run by `sh -c` in the
//! folder of the bed on this machine, in a namespace, or by ssh on the device. The files (`./…`)
//! that hooks name are copied to the host first.
//!
//! The hook `restore` runs at teardown, on errors and on drop. A `note` on disk names it before
//! `prepare` runs, so that the next run or `natmeter clean` can run it after a kill. So `restore`
//! must be safe to run twice.

mod hook;
mod hook_host;
mod line;
mod note;
mod outcome;
mod profile;
mod proof;
mod timed;

use crate::DutError;
use crate::changes::UndoResult;
use crate::facts::Fact;
use crate::host::runner::Ran;
use crate::lock::RunDir;
use crate::memory::Memory;
use crate::queues::{self, Queues};
use crate::software::configured::{Configuration, ConfiguredSoftware};
use crate::software::conntrack::Cleared;
use crate::step::{Action, Event, Sink, Step, quoted};
use hook_host::{HookHost, shown};
use note::{DeviceLock, Note};
use outcome::last_number;
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

pub use hook::{Hook, Hooks};
pub use hook_host::On;
pub(crate) use line::fill;
pub use note::{clean, is_left};
pub use profile::OnBox;

#[derive(Clone, Debug)]
pub struct ExternalConfig {
    pub name: String,
    pub on: On,
    /// A file that ssh reads instead of `~/.ssh/config`.
    pub ssh_config: Option<PathBuf>,
    pub hooks: Hooks,
    /// Folder of the bed: hooks name files as `./…`.
    pub folder: PathBuf,
    pub timeout: Duration,
    pub values: Vec<(String, String)>,
    /// Software that steps configure; only in a namespace.
    pub software: Option<Configuration>,
}

impl ExternalConfig {
    /// Only these hooks, each with a minute.
    pub fn of(name: &str, on: On, hooks: Hooks, folder: &Path) -> ExternalConfig {
        let (name, folder, timeout) = (name.to_owned(), folder.to_owned(), Duration::from_secs(60));
        ExternalConfig { name, on, ssh_config: None, hooks, folder, timeout, values: Vec::new(), software: None }
    }
}

/// Word in place of a hook that the bed file does not have.
const NONE: &str = "none";

/// Replaces the placeholders of hooks. Returns the hooks and the files that they name.
fn filled(config: &ExternalConfig) -> Result<(Hooks, Vec<String>), DutError> {
    let mut hooks = Hooks::new();
    let mut files: Vec<String> = Vec::new();
    for (hook, line) in &config.hooks {
        let refused =
            |wrong: String| DutError::refused(format!("hook `{}` of the DUT {}", hook.name(), config.name), wrong);
        let line = fill(line, &config.values).map_err(refused)?;
        for named in line::files(&line) {
            let file = config.folder.join(&named.path);
            if named.is_program {
                see_that_it_can_run(&file).map_err(refused)?;
            } else if !file.is_file() {
                // The hook may create it.
                continue;
            }
            let leaves = Path::new(&named.path).components().any(|part| part == Component::ParentDir);
            if leaves && matches!(config.on, On::Ssh(_) | On::Guest(_)) {
                let path = named.path;
                return Err(refused(format!(
                    "{path} is not in the folder of the bed: move it there to have it copied"
                )));
            }
            if !files.contains(&named.path) {
                files.push(named.path);
            }
        }
        hooks.insert(*hook, line);
    }
    Ok((hooks, files))
}

fn see_that_it_can_run(file: &Path) -> Result<(), String> {
    let found = std::fs::metadata(file).map_err(|e| format!("{}: {e}", file.display()))?;
    if found.is_file() && found.permissions().mode() & 0o111 != 0 {
        return Ok(());
    }
    Err(format!("{0} is not an executable file: run `chmod +x {0}`", file.display()))
}

/// Returns what hooks [`External::prepare`] and later calls would run, and checks the files of hooks. Fails if a hook
/// has an unknown placeholder, or names a file that does not exist or cannot be executed.
pub fn plan(config: &ExternalConfig) -> Result<Vec<Step>, DutError> {
    let (hooks, files) = filled(config)?;
    let mut steps = Vec::new();
    if let On::Ssh(host) = &config.on {
        for file in &files {
            let args = vec![host.clone(), format!("cat >FOLDER/{}", file.trim_start_matches("./"))];
            let copy = Action::Command { program: "ssh".into(), args, stdin: None };
            steps.push(Step::dut("copy a file of the hooks", copy));
        }
    }
    steps.extend(hooks.iter().map(|(hook, line)| Step::dut(hook.why(), shown(&config.on, line))));
    Ok(steps)
}

/// A device that steps and hooks have prepared. Dropping it restores it; the sink receives the failures.
pub struct External {
    /// The configuration; its hooks have no placeholders left.
    config: ExternalConfig,
    files: Vec<String>,
    place: HookHost,
    facts: Vec<Fact>,
    configured: Option<ConfiguredSoftware>,
    /// Cores that the hook `cores` is asked for.
    cores: Option<u64>,
    /// Entries before the hook `prepare`, if they can be counted, and the most since.
    entries: Option<[u64; 2]>,
    /// The hook `restore` must run.
    is_changed: bool,
    is_standing: bool,
    // Dropped after all others.
    lock: DeviceLock,
}

impl External {
    /// Checks the hooks, restores the device if an earlier run left it changed, copies the files of hooks, and runs
    /// `alive`, `prepare` and `cores`. Fails for a wrong hook before anything runs; if a hook fails, after it has tried
    /// `restore`.
    pub fn prepare(config: &ExternalConfig, dir: &RunDir, sink: &Sink) -> Result<External, DutError> {
        let (hooks, files) = filled(config)?;
        let cores = proof::cores_asked(config);
        let folder = std::path::absolute(&config.folder).unwrap_or_else(|_| config.folder.clone());
        let config = ExternalConfig { hooks, folder, ..config.clone() };
        let lock = DeviceLock::take(dir, &config.name, &config.on)?;
        let ended = note::restore_ended(dir, &config.name, &config.on, sink)?;
        for what in lock.restore_left(dir, sink)?.into_iter().chain(ended) {
            sink(&Event::Cleaned { what });
        }
        let place = HookHost::of(&config, dir, sink)?;
        let (facts, configured, entries, is_changed, is_standing) = (Vec::new(), None, None, false, true);
        let mut external =
            External { config, files, place, facts, configured, cores, entries, is_changed, is_standing, lock };
        external.restored_on_error(|external| external.bring_up(dir))?;
        Ok(external)
    }

    fn bring_up(&mut self, dir: &RunDir) -> Result<(), DutError> {
        let copies = self.place.make_folder()?;
        if copies.is_some() {
            self.lock.write(&self.note(copies.clone(), None))?;
        }
        self.place.copy(&self.files)?;
        self.collect_facts()?;
        self.must(Hook::Alive).map_err(|error| match error {
            DutError::Hook(failed) => DutError::Dead(failed.to_string()),
            other => other,
        })?;
        let restore = self.line(Hook::Restore);
        // Changes in a namespace or a guest end with natmeter.
        if restore.is_some() && !matches!(self.config.on, On::Namespace(_) | On::Guest(_)) {
            self.lock.write(&self.note(copies, restore))?;
        }
        self.entries = self.count_quietly().map(|before| [before; 2]);
        self.is_changed = true;
        if let (Some(software), On::Namespace(namespace)) = (&self.config.software, &self.config.on) {
            let configured = ConfiguredSoftware::prepare(software, namespace, dir, &self.place.sink)?;
            let hooks = self.hook_facts().into_iter().filter(|fact| fact.value != NONE);
            self.facts = configured.facts().iter().cloned().chain(hooks).collect();
            self.configured = Some(configured);
        }
        self.must(Hook::Prepare)?;
        if let Some(ran) = self.must(Hook::Cores)? {
            self.read_cores_back(&ran)?;
        }
        Ok(())
    }

    fn note(&self, copies: Option<String>, restore: Option<String>) -> Note {
        let ExternalConfig { name, on, ssh_config, folder, timeout, .. } = self.config.clone();
        let host = if let On::Ssh(host) = on { Some(host) } else { None };
        let (files, timeout_ms) = (self.files.clone(), timeout.as_millis() as u64);
        Note { name, host, ssh_config, folder, files, copies, restore, timeout_ms }
    }

    fn collect_facts(&mut self) -> Result<(), DutError> {
        let ExternalConfig { name, on, .. } = &self.config;
        self.facts = vec![Fact::new("device", &**name), Fact::new("host", on.to_string())];
        let output = self.place.recorded("the kernel of the DUT's host", "uname -srvm")?.output;
        if output.ok() {
            self.facts.push(Fact::new("kernel of the DUT's host", output.stdout));
        }
        self.facts.extend(self.hook_facts());
        Ok(())
    }

    fn hook_facts(&self) -> Vec<Fact> {
        let of_hook = |(hook, name, _)| {
            let is_of_some_procedures = matches!(hook, Hook::Memory | Hook::Reset | Hook::Failover);
            let line = self.line(hook).or_else(|| (!is_of_some_procedures).then(|| NONE.to_owned()))?;
            Some(Fact::new(&format!("hook {name}"), line))
        };
        Hook::ALL.into_iter().filter_map(of_hook).collect()
    }

    pub fn is_configured(&self) -> bool {
        self.configured.is_some()
    }

    /// The software that steps have configured, unless a hook does its work.
    fn without(&mut self, hook: Hook) -> Option<&mut ConfiguredSoftware> {
        self.configured.as_mut().filter(|_| !self.config.hooks.contains_key(&hook))
    }

    /// Empties the table, by the hook `clear` if there is one. If the hook fails, it tries `restore`.
    pub fn clear(&mut self) -> Result<Option<Cleared>, DutError> {
        self.restored_on_error(|external| {
            if let Some(configured) = external.without(Hook::Clear) {
                return configured.clear();
            }
            let ran = external.must(Hook::Clear)?;
            let how = external.line(Hook::Clear).unwrap_or_default();
            Ok(ran.map(|ran| Cleared { how, nanos: ran.took.as_nanos() as u64, by_own_clock: false }))
        })
    }

    /// Returns the number of connections in the table: the last number that the hook `count` prints, if there is one.
    pub fn count(&mut self) -> Result<Option<u64>, DutError> {
        let count = self.restored_on_error(|external| match external.without(Hook::Count) {
            Some(configured) => configured.count(),
            None => external.number(Hook::Count),
        })?;
        if let (Some([_, most]), Some(count)) = (&mut self.entries, count) {
            *most = count.max(*most);
        }
        Ok(count)
    }

    /// Returns the memory in use: the last number that the hook `memory` prints, in octets, if there is one.
    pub fn memory(&mut self) -> Result<Option<Memory>, DutError> {
        self.restored_on_error(|external| {
            if let Some(configured) = external.without(Hook::Memory) {
                return configured.memory();
            }
            let octets = external.number(Hook::Memory)?;
            Ok(octets.map(|octets| Memory { octets, table: None, source: "hook `memory`" }))
        })
    }

    /// Empties the table between two readings of the host's clock. Without nanoseconds in the host's `date`, the time is
    /// that of this machine, with the round trip.
    pub fn clear_timed(&mut self) -> Result<Option<Cleared>, DutError> {
        if self.without(Hook::Clear).is_some() {
            return self.clear();
        }
        let Some(how) = self.line(Hook::Clear) else { return Ok(None) };
        let ran = self.restored_on_error(|external| external.place.must(Hook::Clear, &timed::line(&how)))?;
        let of_host = timed::nanos(&ran.output.stdout);
        let nanos = of_host.unwrap_or(ran.took.as_nanos() as u64);
        Ok(Some(Cleared { how, nanos, by_own_clock: of_host.is_some() }))
    }

    /// Runs the hook `reset` or `failover`; returns false without the hook.
    pub fn disrupt(&mut self, hook: Hook) -> Result<bool, DutError> {
        self.restored_on_error(|external| Ok(external.must(hook)?.is_some()))
    }

    /// Reads `/proc/stat` of the host, if it exists.
    pub fn proc_stat(&mut self) -> Result<Option<String>, DutError> {
        self.printed("cat /proc/stat")
    }

    /// Reads `kern.cp_time` of a box with OpenBSD, if it has it.
    pub fn cp_time(&mut self) -> Result<Option<String>, DutError> {
        self.printed("sysctl -n kern.cp_time")
    }

    fn printed(&mut self, line: &str) -> Result<Option<String>, DutError> {
        let output = self.place.run(line)?.output;
        Ok(Some(output.stdout).filter(|_| output.status == Some(0)))
    }

    /// Reads the received packets of each queue of a box's interfaces, as far as `ethtool` counts them.
    pub fn queues(&mut self, interfaces: [&str; 2]) -> Result<[Queues; 2], DutError> {
        let mut of = |interface: &str| {
            let ran = self.place.run(&format!("ethtool -S {}", quoted(interface)))?;
            Ok::<_, DutError>(queues::received(&ran.output.stdout))
        };
        Ok([of(interfaces[0])?, of(interfaces[1])?])
    }

    fn number(&mut self, hook: Hook) -> Result<Option<u64>, DutError> {
        let Some(ran) = self.must(hook)? else { return Ok(None) };
        let line = self.line(hook).unwrap_or_default();
        let number = last_number(&ran.output.stdout);
        let missing = || self.place.failure(hook, &line, &ran, "printed no whole number at its end");
        number.ok_or_else(missing).map(Some)
    }

    /// Returns whether the hook `alive` succeeds in time, if there is one.
    pub fn is_alive(&mut self) -> Result<Option<bool>, DutError> {
        let Some(line) = self.line(Hook::Alive) else { return Ok(None) };
        let ran = self.place.recorded(&Hook::Alive.why(), &line)?;
        Ok(Some(!ran.timed_out && ran.output.ok()))
    }

    pub fn name(&self) -> &str {
        &self.config.name
    }

    pub fn facts(&self) -> Vec<Fact> {
        self.facts.clone()
    }

    /// Runs the hook `restore`, removes the copies, and closes the connection.
    pub fn teardown(mut self) -> UndoResult {
        self.down()
    }

    fn line(&self, hook: Hook) -> Option<String> {
        self.config.hooks.get(&hook).cloned()
    }

    /// Runs a hook that must succeed; `None` if the device has no such hook.
    fn must(&mut self, hook: Hook) -> Result<Option<Ran>, DutError> {
        self.config.hooks.get(&hook).map(|line| self.place.must(hook, line)).transpose()
    }

    fn restored_on_error<T>(&mut self, work: impl FnOnce(&mut External) -> Result<T, DutError>) -> Result<T, DutError> {
        work(self).map_err(|mut error| {
            let after = self.down();
            if let DutError::Hook(failed) = &mut error {
                failed.undone = after.done;
                failed.left = after.left;
            }
            error
        })
    }

    fn down(&mut self) -> UndoResult {
        let mut undone = UndoResult::default();
        if !std::mem::take(&mut self.is_standing) {
            return undone;
        }
        // Those of a guest end with it.
        let is_changed = self.is_changed && !matches!(&self.config.on, On::Guest(guest) if !guest.is_running());
        match if is_changed { self.must(Hook::Restore) } else { Ok(None) } {
            Ok(ran) => {
                let line = self.line(Hook::Restore).filter(|_| ran.is_some());
                undone.left.extend(line.is_some().then(|| self.left_by_restore()).flatten());
                undone.done.extend(line.map(|line| format!("restored by `{line}`")));
                match self.place.remove_folder() {
                    Ok(()) => self.lock.forget(),
                    Err(error) => undone.left.push(self.noted("its copies of hooks are not removed", &error, false)),
                }
            }
            Err(error) => undone.left.push(self.noted("it is not restored", &error, true)),
        }
        let configured = self.configured.take().map(ConfiguredSoftware::teardown).unwrap_or_default();
        undone.done.extend(configured.done);
        self.place.close();
        for what in &undone.left {
            (self.place.sink)(&Event::Left { what: what.clone() });
        }
        // The sink has received these.
        undone.left.extend(configured.left);
        undone
    }

    fn noted(&mut self, what: &str, error: &DutError, with_restore: bool) -> String {
        let text = format!("{} ({}): {what}: {error}", self.config.name, self.config.on);
        let path = self.lock.note();
        if !path.exists() {
            return text;
        }
        if let (false, Some(copies)) = (with_restore, &self.place.copies) {
            // If this fails, the note still names `restore`, which does no harm.
            let _ = self.lock.write(&self.note(Some(copies.clone()), None));
        }
        format!("{text}. {} keeps it in mind: `natmeter clean` tries again", path.display())
    }
}

impl Drop for External {
    fn drop(&mut self) {
        self.down();
    }
}

#[cfg(test)]
mod tests;
