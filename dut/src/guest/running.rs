//! A running guest: boots it, runs commands in it, and ends it.
//!
//! Its process namespace begins with a shell that waits for the end of a pipe whose other end only
//! natmeter holds, so that the kernel ends the guest with natmeter, also after a kill.

use super::agent::Agent;
use super::config::{GuestConfig, Nic};
use super::{Hypervisor, Image, qemu, uml};
use crate::DutError;
use crate::child;
use crate::error::GuestFailure;
use crate::host::runner::{Limits, Ran};
use crate::last_lines::LastLines;
use crate::tool::{self, Tool};
use port::handover;
use std::fmt;
use std::io::{self, BufReader};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::{Duration, Instant};

const UNSHARE: Tool = Tool::of("unshare", "util-linux");

/// First process of the namespace, with the guest's memory in its own file system.
const GUARD: &str = r#"
trap 'exit 0' TERM
mount -t tmpfs -o size=100%,mode=0700 guest /dev/shm || exit
("$@" 2>&1 </dev/null; echo "natmeter: the guest ended with exit code $?"; kill -s TERM $$) &
read -r _"#;

const SHOWN: usize = 15;

/// A running guest, which ends when dropped.
pub struct Guest {
    kind: Hypervisor,
    child: Child,
    lives: Option<ChildStdin>,
    agent: Agent,
    console: LastLines,
}

impl Guest {
    /// Boots a guest and waits until it takes commands.
    pub fn boot(config: &GuestConfig, image: &Image, nics: Vec<Nic>) -> Result<Guest, DutError> {
        tool::require(match config.kind {
            Hypervisor::Uml => &[UNSHARE],
            Hypervisor::Qemu => &[UNSHARE, qemu::QEMU],
        })?;
        let (ours, theirs) = UnixStream::pair().map_err(|error| cannot_start(&error))?;
        let words = words(config, image, &nics, theirs.as_raw_fd());
        let descriptors = nics.into_iter().flat_map(|nic| nic.descriptors).chain([theirs.into()]).collect();
        let mut child = guarded(&words, descriptors).spawn().map_err(|error| cannot_start(&error))?;
        let console = LastLines::default();
        let (output, lives) = (child.stdout.take().expect("piped"), child.stdin.take());
        let mut guest =
            Guest { kind: config.kind, child, lives, agent: Agent::over(ours, config.kind), console: console.clone() };
        std::thread::Builder::new()
            .name("console of the guest".into())
            .spawn(move || console.keep(BufReader::new(output)))
            .map_err(|error| cannot_start(&error))?;
        guest.wait_until_ready(config.boot)?;
        Ok(guest)
    }

    fn wait_until_ready(&mut self, limit: Duration) -> Result<(), DutError> {
        let end = Instant::now() + limit;
        let child = &mut self.child;
        let mut goes_on = || Instant::now() < end && matches!(child.try_wait(), Ok(None));
        match self.agent.wait_until_ready(&mut goes_on) {
            Ok(()) => Ok(()),
            Err(_) if Instant::now() >= end => {
                Err(self.failure(format!("was not ready {} s after its start, and was ended", limit.as_secs())))
            }
            Err(_) => Err(self.failure("ended before it was ready".into())),
        }
    }

    pub fn kind(&self) -> Hypervisor {
        self.kind
    }

    /// Runs a shell script in the guest, and kills its process group at the time limit.
    pub fn run(&mut self, script: &str, input: &[u8], limits: &Limits) -> Result<Ran, DutError> {
        if self.lives.is_none() {
            return Err(self.failure("was ended before".into()));
        }
        self.agent.run(script, input, limits).map_err(|error| {
            let what = match error.kind() {
                io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => {
                    "does not answer, long after the time limit of a command, and was ended".to_owned()
                }
                io::ErrorKind::UnexpectedEof | io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset => {
                    "ended by itself".to_owned()
                }
                _ => format!("broke its control channel: {error}"),
            };
            self.failure(what)
        })
    }

    pub fn is_running(&mut self) -> bool {
        self.lives.is_some() && matches!(self.child.try_wait(), Ok(None))
    }

    pub fn wait(&mut self) -> DutError {
        let _ = self.child.wait();
        self.failure("ended by itself".into())
    }

    pub fn console(&self) -> Vec<String> {
        self.console.all()
    }

    /// Pid of the process that holds the guest.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    fn failure(&mut self, what: String) -> DutError {
        self.end();
        let console = self.console();
        let console = console[console.len().saturating_sub(SHOWN)..].to_vec();
        DutError::Guest(Box::new(GuestFailure { kind: self.kind.name(), what, console }))
    }

    fn end(&mut self) {
        self.lives = None;
        let _ = self.child.wait();
    }
}

impl fmt::Debug for Guest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "guest:{}", self.kind.name())
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        self.end();
    }
}

fn cannot_start(error: &io::Error) -> DutError {
    DutError::refused(
        format!("a guest cannot be started: {error}"),
        "natmeter needs root, or a user namespace, and free descriptors and threads",
    )
}

fn words(config: &GuestConfig, image: &Image, nics: &[Nic], control: i32) -> Vec<String> {
    match config.kind {
        Hypervisor::Uml => uml::words(config, image, nics, control),
        Hypervisor::Qemu => qemu::words(config, image, nics, control, qemu::has_kvm()),
    }
}

fn guarded(words: &[String], descriptors: Vec<OwnedFd>) -> Command {
    let unshare = tool::find(UNSHARE.program).unwrap_or_else(|| Path::new(UNSHARE.program).to_owned());
    let mut process = Command::new(unshare);
    process.args(["--pid", "--mount", "--fork", "--kill-child", "--", "sh", "-c", GUARD, "sh"]).args(words);
    process.env("TMPDIR", "/dev/shm").env("LC_ALL", "C");
    child::apart(&mut process, [Stdio::piped(), Stdio::piped(), Stdio::null()]);
    handover::inherit(&mut process, descriptors);
    process
}
