//! Samples the call stacks of this machine's cores with Linux perf, into memory. perf records while
//! a program waits for the end of its input, so that it ends with natmeter, also after a kill.

mod kernel;
pub mod script;

use crate::DutError;
use crate::tool;
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::time::{ClockId, clock_gettime};
use script::{Script, Stacks};
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read, Seek};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

/// Virtual machines often have no cycle counters.
pub const EVENT: &str = "cpu-clock";

/// Value above which users other than root cannot sample a core.
const PARANOID: &str = "/proc/sys/kernel/perf_event_paranoid";

/// Command that runs beside perf and ends with its input.
const BESIDE: &str = "echo started >&2; exec cat";
const STARTED: &str = "started\n";

/// Checks that perf is installed and this user may sample cores.
///
/// # Errors
/// The package to install, or what to do without root.
pub fn see_that_it_works(is_root: bool) -> Result<(), DutError> {
    tool::require(&[tool::PERF])?;
    let paranoid = fs::read_to_string(PARANOID).unwrap_or_default();
    let may = paranoid.trim().parse::<i32>().is_ok_and(|level| level <= 0);
    if is_root || may {
        return Ok(());
    }
    Err(DutError::Refused {
        what: format!(
            "`profile` samples the cores of the device, which {PARANOID} ({}) allows only to root",
            paranoid.trim()
        ),
        way_out: "run natmeter as root, or without `profile`".to_owned(),
    })
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
        let perf = tool::find(tool::PERF.program).ok_or_else(|| io::Error::other("perf is not installed"))?;
        let data = File::from(memfd_create("natmeter-profile", MemfdFlags::CLOEXEC)?);
        let cores: Vec<String> = cores.iter().map(usize::to_string).collect();
        let mut command = Command::new(perf);
        command
            .args(["record", "-q", "-a", "-g", "-k", "CLOCK_MONOTONIC", "-e", EVENT, "-o", "-"])
            .args(["-C", &cores.join(","), "-F", &frequency.to_string(), "--", "sh", "-c", BESIDE])
            .env("PATH", tool::search_path())
            .env("LC_ALL", "C")
            .stdin(Stdio::piped())
            .stdout(data.try_clone()?)
            .stderr(Stdio::piped())
            .process_group(0);
        let perf = spawn_on_all_cores(&mut command)?;
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

/// The tester's core would have no time for perf.
fn spawn_on_all_cores(command: &mut Command) -> io::Result<Child> {
    let spawn = || {
        port::host::place(None).map_err(io::Error::other)?;
        command.spawn()
    };
    std::thread::scope(|scope| {
        let spawned = port::host::spawn_in(scope, spawn).map_err(io::Error::other)?;
        spawned.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

fn read(data: File, script: &mut Script) -> io::Result<()> {
    let perf = tool::find(tool::PERF.program).ok_or_else(|| io::Error::other("perf is not installed"))?;
    let mut command = Command::new(perf);
    command
        .args(["script", "-i", "-", "--ns", "-F", "comm,pid,cpu,time,ip,sym"])
        .env("PATH", tool::search_path())
        .env("LC_ALL", "C")
        .stdin(data)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .process_group(0);
    let mut printing = spawn_on_all_cores(&mut command)?;
    let mut lines = BufReader::new(printing.stdout.take().expect("it is a pipe"));
    let mut line = Vec::new();
    while lines.read_until(b'\n', &mut line)? > 0 {
        script.line(&String::from_utf8_lossy(&line));
        line.clear();
    }
    if printing.wait()?.success() { Ok(()) } else { Err(io::Error::other("`perf script` failed")) }
}
