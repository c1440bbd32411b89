//! The connection to a host: one ssh process (the control master) that all commands share. Its
//! remote end reads a pipe of this process, so that it closes with natmeter, even after a kill.

use super::failure::{SshFailure, SshKind};
use crate::child::{apart, ends_within, is_readable, never_block};
use rustix::process::{Pid, Signal, kill_process_group};
use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::os::fd::OwnedFd;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Prints [`READY`], then waits for the end of its input.
pub(super) const COMMAND: &str = "echo natmeter-ready && exec cat >/dev/null";
const READY: &[u8] = b"natmeter-ready";

/// ssh limits only parts of this time.
const OPENING: Duration = Duration::from_secs(30);

const CLOSING: Duration = Duration::from_secs(2);

#[derive(Debug)]
pub(super) struct Master {
    child: Child,
    errors: File,
}

impl Master {
    pub(super) fn open(command: &mut Command, destination: &str) -> Result<Master, SshFailure> {
        let failed = |e: io::Error| SshFailure {
            destination: destination.to_owned(),
            kind: SshKind::Other,
            said: format!("ssh could not be started: {e}"),
        };
        let streams = [Stdio::piped(), Stdio::piped(), Stdio::piped()];
        let mut child = apart(command, streams).spawn().map_err(failed)?;
        let (out, errors) = (child.stdout.take().map(OwnedFd::from), child.stderr.take().map(OwnedFd::from));
        let (out, errors) = (File::from(out.expect("piped above")), File::from(errors.expect("piped above")));
        let mut master = Master { child, errors };
        let begun = Instant::now();
        let ready = never_block(&out).and_then(|()| never_block(&master.errors)).and_then(|()| is_ready(&out, begun));
        match ready {
            Ok(true) => Ok(master),
            Ok(false) if begun.elapsed() < OPENING => Err(SshFailure::from_words(destination, &master.last_words())),
            Ok(false) => {
                let said = format!("nothing for {} s", OPENING.as_secs());
                Err(SshFailure { destination: destination.to_owned(), kind: SshKind::TimedOut, said })
            }
            Err(e) => Err(failed(e)),
        }
    }

    pub(super) fn is_running(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    pub(super) fn last_words(&mut self) -> String {
        self.end();
        let mut text = Vec::new();
        // A leftover process may still hold the pipe, which does not block.
        let _ = self.errors.read_to_end(&mut text);
        String::from_utf8_lossy(&text).into_owned()
    }

    fn end(&mut self) {
        drop(self.child.stdin.take());
        let pid = Pid::from_child(&self.child);
        // Nothing has waited for the process, so its pid is valid.
        if self.is_running() && !ends_within(pid, CLOSING) {
            let _ = kill_process_group(pid, Signal::KILL);
        }
        let _ = self.child.wait();
    }
}

impl Drop for Master {
    fn drop(&mut self) {
        self.end();
    }
}

/// Waits for the master; false if it ends or takes too long.
fn is_ready(mut out: &File, begun: Instant) -> io::Result<bool> {
    let (mut text, mut buffer) = (Vec::<u8>::new(), [0; 1 << 10]);
    while !text.windows(READY.len()).any(|part| part == READY) {
        let left = OPENING.saturating_sub(begun.elapsed());
        if left.is_zero() {
            return Ok(false);
        }
        if !is_readable(out, left) {
            continue;
        }
        match out.read(&mut buffer) {
            Ok(0) => return Ok(false),
            Ok(read) => text.extend(&buffer[..read]),
            Err(e) if [ErrorKind::WouldBlock, ErrorKind::Interrupted].contains(&e.kind()) => {}
            Err(e) => return Err(e),
        }
    }
    Ok(true)
}
