//! Samples the call stacks of this machine's cores with Linux perf, into memory. perf records while
//! a program waits for the end of its input, so that it ends with natmeter, also after a kill.

mod kernel;
pub mod script;

use crate::DutError;
use crate::child;
use crate::tool;
use rustix::time::{ClockId, clock_gettime};
use script::{Script, Stacks};
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read, Seek};
use std::process::{Child, Command, Stdio};
use std::time::Instant;

/// Virtual machines often have no cycle counters.
pub const EVENT: &str = "cpu-clock";

/// Value above which users other than root cannot sample a core.
const PARANOID: &str = "/proc/sys/kernel/perf_event_paranoid";

/// Command that runs beside perf and ends with its input.
const BESIDE: &str = "echo started >&2; exec cat";
const STARTED: &str = "started\n";

/// Checks that perf is installed and this user may sample cores. The error names the package to install, or what to do
/// without root.
pub fn see_that_it_works(is_root: bool) -> Result<(), DutError> {
    tool::require(&[tool::PERF])?;
    let paranoid = fs::read_to_string(PARANOID).unwrap_or_default();
    let may = paranoid.trim().parse::<i32>().is_ok_and(|level| level <= 0);
    if is_root || may {
        return Ok(());
    }
    let level = paranoid.trim();
    Err(DutError::refused(
        format!("`profile` samples the cores of the device, which {PARANOID} ({level}) allows only to root"),
        "run natmeter as root, or without `profile`",
    ))
}

pub struct Recording {
    perf: Child,
    data: File,
    began: Instant,
    /// Start of the recording on the clock of the samples, in nanoseconds.
    began_at: u64,
    said: String,
}

impl Recording {
    /// Samples these cores at this frequency per second.
    pub fn start(cores: &[usize], frequency: u32) -> io::Result<Recording> {
        let data = child::in_memory("")?;
        let cores: Vec<String> = cores.iter().map(usize::to_string).collect();
        let mut command = perf()?;
        command.args(["record", "-q", "-a", "-g", "-k", "CLOCK_MONOTONIC", "-e", EVENT, "-o", "-"]).args([
            "-C",
            &cores.join(","),
            "-F",
            &frequency.to_string(),
            "--",
            "sh",
            "-c",
            BESIDE,
        ]);
        let streams = [Stdio::piped(), data.try_clone()?.into(), Stdio::piped()];
        let perf = spawn_on_all_cores(&mut command, streams)?;
        let now = clock_gettime(ClockId::Monotonic);
        let began_at = now.tv_sec.cast_unsigned() * 1_000_000_000 + now.tv_nsec.cast_unsigned();
        let mut recording = Recording { perf, data, began: Instant::now(), began_at, said: String::new() };
        recording.wait_for_start()?;
        Ok(recording)
    }

    /// perf starts the program after its events.
    fn wait_for_start(&mut self) -> io::Result<()> {
        let Some(stderr) = self.perf.stderr.as_mut() else { return Ok(()) };
        let mut octet = [0];
        while !self.said.ends_with(STARTED) && stderr.read(&mut octet)? > 0 {
            self.said.push(octet[0].into());
        }
        match self.said.strip_suffix(STARTED) {
            Some(said) => {
                self.said = said.to_owned();
                Ok(())
            }
            None => Err(io::Error::other(format!("`perf record` did not start: {}", self.said.trim()))),
        }
    }

    /// Stops, and returns at most `most` different stacks of each core between two moments.
    pub fn finish(mut self, from: Instant, to: Instant, most: usize) -> io::Result<Stacks> {
        drop(self.perf.stdin.take());
        if let Some(mut stderr) = self.perf.stderr.take() {
            stderr.read_to_string(&mut self.said)?;
        }
        if !self.perf.wait()?.success() {
            return Err(io::Error::other(format!("`perf record` failed: {}", self.said.trim())));
        }
        let at = |moment: Instant| self.began_at + moment.saturating_duration_since(self.began).as_nanos() as u64;
        let mut script = Script::between(at(from), at(to), std::process::id());
        self.data.rewind()?;
        read(self.data.try_clone()?, &mut script)?;
        Ok(script.stacks(most))
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        drop(self.perf.stdin.take());
        let _ = self.perf.wait();
    }
}

fn perf() -> io::Result<Command> {
    tool::find(tool::PERF.program).map(Command::new).ok_or_else(|| io::Error::other("perf is not installed"))
}

/// The tester's core would have no time for perf.
fn spawn_on_all_cores(command: &mut Command, streams: [Stdio; 3]) -> io::Result<Child> {
    let command = child::apart(command, streams).env("LC_ALL", "C");
    let spawn = || {
        port::host::pin_or_release(None).map_err(io::Error::other)?;
        command.spawn()
    };
    std::thread::scope(|scope| {
        let spawned = port::host::spawn_in(scope, spawn).map_err(io::Error::other)?;
        spawned.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

fn read(data: File, script: &mut Script) -> io::Result<()> {
    let mut command = perf()?;
    command.args(["script", "-i", "-", "--ns", "-F", "comm,pid,cpu,time,ip,sym"]);
    let mut printing = spawn_on_all_cores(&mut command, [data.into(), Stdio::piped(), Stdio::null()])?;
    let mut lines = BufReader::new(printing.stdout.take().expect("it is a pipe"));
    let mut line = Vec::new();
    while lines.read_until(b'\n', &mut line)? > 0 {
        script.line(&String::from_utf8_lossy(&line));
        line.clear();
    }
    if printing.wait()?.success() { Ok(()) } else { Err(io::Error::other("`perf script` failed")) }
}
