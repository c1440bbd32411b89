//! Programs that natmeter starts: environment, pipes and termination.

use crate::tool;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{MemfdFlags, OFlags, fcntl_getfl, fcntl_setfl, memfd_create};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use std::fs::File;
use std::io::{self, Seek, Write};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::Duration;

/// Sets the streams of a command, a search path that includes administrators' programs, and a process group of its own:
/// Ctrl-C reaches natmeter only, which ends its programs in order.
pub(crate) fn apart(command: &mut Command, streams: [Stdio; 3]) -> &mut Command {
    let [input, output, errors] = streams;
    let command = command.env("PATH", tool::search_path()).stdin(input).stdout(output).stderr(errors);
    command.process_group(0)
}

pub(crate) fn never_block(fd: impl AsFd) -> io::Result<()> {
    let flags = fcntl_getfl(&fd)?;
    Ok(fcntl_setfl(&fd, flags | OFlags::NONBLOCK)?)
}

pub(crate) fn wait(fds: &mut [PollFd], time: Duration) -> io::Result<usize> {
    let time = Timespec { tv_sec: time.as_secs().cast_signed(), tv_nsec: time.subsec_nanos().into() };
    match poll(fds, Some(&time)) {
        Err(rustix::io::Errno::INTR) => Ok(0),
        other => Ok(other?),
    }
}

pub(crate) fn is_readable(fd: impl AsFd, within: Duration) -> bool {
    wait(&mut [PollFd::new(&fd, PollFlags::IN)], within).is_ok_and(|ready| ready > 0)
}

pub(crate) fn ends_within(pid: Pid, time: Duration) -> bool {
    pidfd_open(pid, PidfdFlags::empty()).is_ok_and(|end| is_readable(end, time))
}

/// Returns a file in memory that has no name and contains `text`.
pub(crate) fn in_memory(text: &str) -> io::Result<File> {
    let mut file = File::from(memfd_create("natmeter", MemfdFlags::CLOEXEC)?);
    file.write_all(text.as_bytes())?;
    file.rewind()?;
    Ok(file)
}
