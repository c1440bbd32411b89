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
pub mod timed;

use crate::DutError;
use crate::changes::Undone;
use crate::cleared::Cleared;
use crate::facts::Fact;
use crate::host::Order;
use crate::host::runner::{Limits, Ran};
use crate::lock::RunDir;
use crate::memory::Memory;
use crate::queues::{self, Queues};
use crate::software::configured::{Configuration, Configured};
use crate::step::{Action, Event, Sink, Target, quoted};
use hook::Hook;
use hook_host::{HookHost, shown};
use note::{Held, Note};
use outcome::{failure, judged, last_number, record, record_as};
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

pub use hook::Hooks;
pub use hook_host::On;
pub(crate) use line::fill;
pub use note::{clean, is_left};
pub use profile::OnBox;

#[derive(Clone, Debug)]
pub struct ExternalConfig {
    pub name: String,
    pub on: On,
    pub hooks: Hooks,
    /// Folder of the bed: hooks name files as `./…`.
    pub folder: PathBuf,
    pub timeout: Duration,
    pub values: Vec<(String, String)>,
    /// Software that steps configure; only in a namespace.
    pub software: Option<Configuration>,
}

/// Word in place of a hook that the bed file does not have.
const NONE: &str = "none";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disruption {
    Reset,
    Failover,
}

#[derive(Debug, Default)]
struct Lines {
    lines: Vec<(Hook, String)>,
    files: Vec<String>,
}

impl Lines {
    fn of(config: &ExternalConfig) -> Result<Lines, DutError> {
        let mut lines = Lines::default();
        for hook in Hook::ALL {
            let Some(line) = hook.line(&config.hooks) else { continue };
            let refused = |wrong: String| DutError::Refused {
                what: format!("hook `{}` of the DUT {}", hook.name(), config.name),
                way_out: wrong,
            };
            let filled = fill(line, &config.values).map_err(refused)?;
            for named in line::files(&filled) {
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
                if !lines.files.contains(&named.path) {
                    lines.files.push(named.path);
                }
            }
            lines.lines.push((hook, filled));
        }
        Ok(lines)
    }

    fn get(&self, hook: Hook) -> Option<String> {
        self.lines.iter().find(|(of, _)| *of == hook).map(|(_, line)| line.clone())
    }
}

fn see_that_it_can_run(file: &Path) -> Result<(), String> {
    let found = std::fs::metadata(file).map_err(|e| format!("{}: {e}", file.display()))?;
    if found.is_file() && found.permissions().mode() & 0o111 != 0 {
        return Ok(());
    }
    Err(format!("{0} is not an executable file: run `chmod +x {0}`", file.display()))
}

/// Returns what hooks [`External::prepare`] and later calls would run, and checks the files of hooks.
///
/// # Errors
/// When a hook has an unknown placeholder, or names a file that does not exist or cannot be executed.
pub fn plan(config: &ExternalConfig) -> Result<Vec<Order>, DutError> {
    let lines = Lines::of(config)?;
    let order = |why: &str, action| Order { target: Target::Dut, why: why.to_owned(), action };
    let mut orders = Vec::new();
    if let On::Ssh(host) = &config.on {
        for file in &lines.files {
            let args = vec![host.clone(), format!("cat >FOLDER/{}", file.trim_start_matches("./"))];
            let copy = Action::Command { program: "ssh".into(), args, stdin: None };
            orders.push(order("copy a file of the hooks", copy));
        }
    }
    orders.extend(lines.lines.iter().map(|(hook, line)| order(hook.why(), shown(&config.on, line))));
    Ok(orders)
}

/// A device that steps and hooks have prepared. Dropping it restores it; the sink receives the failures.
pub struct External {
    name: String,
    on: On,
    lines: Lines,
    limits: Limits,
    folder: PathBuf,
    ssh_config: Option<PathBuf>,
    place: HookHost,
    sink: Sink,
    facts: Vec<Fact>,
    configured: Option<Configured>,
    /// The hook `restore` must run.
    is_changed: bool,
    is_standing: bool,
    // Dropped after all others.
    held: Held,
}

impl External {
    /// Checks the hooks, restores the device if an earlier run left it changed, copies the files of
    /// hooks, and runs `alive`, `prepare` and `cores`.
    ///
    /// # Errors
    /// [`DutError::Refused`] for a wrong hook, before anything runs. [`DutError::Busy`] while
    /// another run has the device. [`DutError::Dead`] when `alive` fails, [`DutError::Hook`] when
    /// another hook fails, after `restore` was tried. [`DutError::Ssh`] for the connection.
    /// [`DutError::StillChanged`] when an earlier run could not be undone.
    pub fn prepare(config: &ExternalConfig, dir: &RunDir, sink: &Sink) -> Result<External, DutError> {
        External::prepare_with(config, None, dir, sink)
    }

    /// Prepares as [`External::prepare`] does, with this file instead of `~/.ssh/config`.
    pub fn prepare_with(
        config: &ExternalConfig,
        ssh_config: Option<PathBuf>,
        dir: &RunDir,
        sink: &Sink,
    ) -> Result<External, DutError> {
        let lines = Lines::of(config)?;
        let folder = std::path::absolute(&config.folder).unwrap_or_else(|_| config.folder.clone());
        let held = Held::take(dir, &config.name, &config.on)?;
        let ended = note::restore_ended(dir, &config.name, &config.on, sink)?;
        for what in held.restore_left(dir, sink)?.into_iter().chain(ended) {
            sink(&Event::Cleaned { what });
        }
        let place = HookHost::of(&config.on, &folder, dir, ssh_config.clone())?;
        let mut external = External {
            name: config.name.clone(),
            on: config.on.clone(),
            lines,
            limits: Limits::of_hook(config.timeout),
            folder,
            ssh_config,
            place,
            sink: Arc::clone(sink),
            facts: Vec::new(),
            configured: None,
            is_changed: false,
            is_standing: true,
            held,
        };
        match external.bring_up(config.software.as_ref(), dir) {
            Ok(()) => Ok(external),
            Err(error) => Err(external.failed(error)),
        }
    }

    fn bring_up(&mut self, software: Option<&Configuration>, dir: &RunDir) -> Result<(), DutError> {
        let copies = self.place.make_folder(&self.limits)?;
        if copies.is_some() {
            self.held.write(&self.note(copies.clone(), None))?;
        }
        self.place.copy(&self.folder, &self.lines.files, &self.limits)?;
        self.collect_facts()?;
        if let Some(ran) = self.run(Hook::Alive)? {
            let line = self.lines.get(Hook::Alive).unwrap_or_default();
            judged(Hook::Alive, &self.on, &line, ran, &self.limits).map_err(|e| DutError::Dead(e.to_string()))?;
        }
        let restore = self.lines.get(Hook::Restore);
        // Changes in a namespace or a guest end with natmeter.
        if restore.is_some() && !matches!(self.on, On::Namespace(_) | On::Guest(_)) {
            self.held.write(&self.note(copies, restore))?;
        }
        self.is_changed = true;
        if let (Some(software), On::Namespace(namespace)) = (software, &self.on) {
            let configured = Configured::prepare(software, namespace, dir, &self.sink)?;
            let hooks = self.hook_facts().into_iter().filter(|fact| fact.value != NONE);
            self.facts = configured.facts().iter().cloned().chain(hooks).collect();
            self.configured = Some(configured);
        }
        self.must(Hook::Prepare)?;
        self.must(Hook::Cores)?;
        Ok(())
    }

    fn note(&self, copies: Option<String>, restore: Option<String>) -> Note {
        let host = if let On::Ssh(host) = &self.on { Some(host.clone()) } else { None };
        Note {
            name: self.name.clone(),
            host,
            ssh_config: self.ssh_config.clone(),
            folder: self.folder.clone(),
            files: self.lines.files.clone(),
            copies,
            restore,
            timeout_ms: self.limits.time.as_millis() as u64,
        }
    }

    fn collect_facts(&mut self) -> Result<(), DutError> {
        let mut facts = vec![Fact::new("device", &*self.name), Fact::new("host", self.on.to_string())];
        let line = "uname -srvm";
        let ran = self.place.run(line, &self.limits);
        record_as(&self.sink, "the kernel of the DUT's host", &self.on, line, &ran);
        let output = ran?.output;
        if output.ok() {
            facts.push(Fact::new("kernel of the DUT's host", output.stdout));
        }
        facts.extend(self.hook_facts());
        self.facts = facts;
        Ok(())
    }

    fn hook_facts(&self) -> Vec<Fact> {
        let of_hook = |hook: Hook| {
            let line = self.lines.get(hook);
            let is_of_some_procedures = matches!(hook, Hook::Memory | Hook::Reset | Hook::Failover);
            let line = line.or_else(|| (!is_of_some_procedures).then(|| NONE.to_owned()))?;
            Some(Fact::new(&format!("hook {}", hook.name()), line))
        };
        Hook::ALL.into_iter().filter_map(of_hook).collect()
    }

    pub fn is_configured(&self) -> bool {
        self.configured.is_some()
    }

    /// The software that steps have configured, unless a hook does its work.
    fn without(&mut self, hook: Hook) -> Option<&mut Configured> {
        let has_hook = self.lines.get(hook).is_some();
        self.configured.as_mut().filter(|_| !has_hook)
    }

    /// Empties the table, by the hook `clear` if there is one.
    ///
    /// # Errors
    /// When it fails, after `restore` was tried, or the connection is lost.
    pub fn clear(&mut self) -> Result<Option<Cleared>, DutError> {
        if let Some(configured) = self.without(Hook::Clear) {
            return configured.clear().map_err(|error| self.failed(error));
        }
        let ran = self.must(Hook::Clear).map_err(|error| self.failed(error))?;
        let how = self.lines.get(Hook::Clear).unwrap_or_default();
        Ok(ran.map(|ran| Cleared { how, nanos: ran.took.as_nanos() as u64 }))
    }

    /// Returns the number of connections in the table: the last number that the hook `count` prints, if there is one.
    pub fn count(&mut self) -> Result<Option<u64>, DutError> {
        if let Some(configured) = self.without(Hook::Count) {
            return configured.count().map_err(|error| self.failed(error));
        }
        self.number(Hook::Count)
    }

    /// Returns the memory in use: the last number that the hook `memory` prints, in octets, if there is one.
    pub fn memory(&mut self) -> Result<Option<Memory>, DutError> {
        if let Some(configured) = self.without(Hook::Memory) {
            return configured.memory().map_err(|error| self.failed(error));
        }
        let octets = self.number(Hook::Memory)?;
        Ok(octets.map(|octets| Memory { octets, table: None, source: "hook `memory`" }))
    }

    /// Empties the table between two readings of the host's clock. Without nanoseconds in the host's `date`, the time is
    /// that of this machine, with the round trip.
    pub fn clear_timed(&mut self) -> Result<Option<(Cleared, timed::Clock)>, DutError> {
        if self.without(Hook::Clear).is_some() {
            return Ok(self.clear()?.map(|cleared| (cleared, timed::Clock::Device)));
        }
        let Some(line) = self.lines.get(Hook::Clear) else { return Ok(None) };
        let ran = self.must_as(Hook::Clear, &timed::line(&line)).map_err(|error| self.failed(error))?;
        let of_host = timed::nanos(&ran.output.stdout);
        let clock = if of_host.is_some() { timed::Clock::Device } else { timed::Clock::Here };
        let nanos = of_host.unwrap_or(ran.took.as_nanos() as u64);
        Ok(Some((Cleared { how: line, nanos }, clock)))
    }

    /// Runs the hook `reset` or `failover`; returns false without the hook.
    pub fn disrupt(&mut self, what: Disruption) -> Result<bool, DutError> {
        let hook = match what {
            Disruption::Reset => Hook::Reset,
            Disruption::Failover => Hook::Failover,
        };
        self.must(hook).map(|ran| ran.is_some()).map_err(|error| self.failed(error))
    }

    /// Reads `/proc/stat` of the host, if it exists.
    pub fn proc_stat(&mut self) -> Result<Option<String>, DutError> {
        let ran = self.place.run("cat /proc/stat", &self.limits)?;
        Ok(Some(ran.output.stdout).filter(|_| ran.output.status == Some(0)))
    }

    /// Reads `kern.cp_time` of a box with OpenBSD, if it has it.
    pub fn cp_time(&mut self) -> Result<Option<String>, DutError> {
        let ran = self.place.run("sysctl -n kern.cp_time", &self.limits)?;
        Ok(Some(ran.output.stdout).filter(|_| ran.output.status == Some(0)))
    }

    /// Reads the received packets of each queue of a box's interfaces, as far as `ethtool` counts them.
    pub fn queues(&mut self, interfaces: [&str; 2]) -> Result<[Queues; 2], DutError> {
        let mut of = |interface: &str| {
            let ran = self.place.run(&format!("ethtool -S {}", quoted(interface)), &self.limits)?;
            Ok::<_, DutError>(queues::received(&ran.output.stdout))
        };
        Ok([of(interfaces[0])?, of(interfaces[1])?])
    }

    fn number(&mut self, hook: Hook) -> Result<Option<u64>, DutError> {
        let Some(ran) = self.must(hook).map_err(|error| self.failed(error))? else { return Ok(None) };
        if let Some(number) = last_number(&ran.output.stdout) {
            return Ok(Some(number));
        }
        let line = self.lines.get(hook).unwrap_or_default();
        let error = failure(hook, &self.on, &line, &ran, "printed no whole number at its end");
        Err(self.failed(error))
    }

    /// Returns whether the hook `alive` succeeds in time, if there is one.
    pub fn is_alive(&mut self) -> Result<Option<bool>, DutError> {
        Ok(self.run(Hook::Alive)?.map(|ran| !ran.timed_out && ran.output.ok()))
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn facts(&self) -> Vec<Fact> {
        self.facts.clone()
    }

    /// Runs the hook `restore`, removes the copies, and closes the connection.
    pub fn teardown(mut self) -> Undone {
        self.down()
    }

    fn run(&mut self, hook: Hook) -> Result<Option<Ran>, DutError> {
        let Some(line) = self.lines.get(hook) else { return Ok(None) };
        let ran = self.place.run(&line, &self.limits);
        record(&self.sink, hook, &self.on, &line, &ran);
        ran.map(Some)
    }

    fn must(&mut self, hook: Hook) -> Result<Option<Ran>, DutError> {
        let Some(line) = self.lines.get(hook) else { return Ok(None) };
        self.must_as(hook, &line).map(Some)
    }

    fn must_as(&mut self, hook: Hook, line: &str) -> Result<Ran, DutError> {
        let ran = self.place.run(line, &self.limits);
        record(&self.sink, hook, &self.on, line, &ran);
        judged(hook, &self.on, line, ran?, &self.limits)
    }

    fn failed(&mut self, mut error: DutError) -> DutError {
        let after = self.down();
        if let DutError::Hook(failed) = &mut error {
            failed.undone = after.done;
            failed.left = after.left;
        }
        error
    }

    fn down(&mut self) -> Undone {
        let mut undone = Undone::default();
        if !std::mem::take(&mut self.is_standing) {
            return undone;
        }
        // Those of a guest end with it.
        let is_changed = self.is_changed && !matches!(&self.on, On::Guest(guest) if !guest.is_running());
        let restored = if is_changed { self.must(Hook::Restore).map(|ran| ran.is_some()) } else { Ok(false) };
        match restored {
            Ok(ran) => {
                if ran {
                    undone.done.push(format!("restored by `{}`", self.lines.get(Hook::Restore).unwrap_or_default()));
                }
                match self.place.remove_folder(&self.limits) {
                    Ok(()) => self.held.forget(),
                    Err(error) => undone.left.push(self.noted("its copies of hooks are not removed", &error, false)),
                }
            }
            Err(error) => undone.left.push(self.noted("it is not restored", &error, true)),
        }
        let configured = self.configured.take().map(Configured::teardown).unwrap_or_default();
        undone.done.extend(configured.done);
        self.place.close();
        for what in &undone.left {
            (self.sink)(&Event::Left { what: what.clone() });
        }
        // The sink has received these.
        undone.left.extend(configured.left);
        undone
    }

    fn noted(&mut self, what: &str, error: &DutError, with_restore: bool) -> String {
        let text = format!("{} ({}): {what}: {error}", self.name, self.on);
        let path = self.held.path().to_owned();
        if !path.exists() {
            return text;
        }
        if let (false, HookHost::Ssh(_, Some(copies))) = (with_restore, &self.place) {
            // If this fails, the note still names `restore`, which does no harm.
            let _ = self.held.write(&self.note(Some(copies.clone()), None));
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
