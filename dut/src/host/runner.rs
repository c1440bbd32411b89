//! Runs one local program within limits on the time of its process group and on its output.

use super::Output;
use crate::child::{self, is_readable, never_block};
use rustix::event::{PollFd, PollFlags};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};
use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::{Duration, Instant};

/// Time for leftover processes that keep the output open.
const GRACE: Duration = Duration::from_secs(1);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Time limit, after which the process group is killed.
    pub time: Duration,
    /// Octets kept of each output: the first and the last half, with the number of those missing in between.
    pub octets: usize,
}

impl Limits {
    /// Limits for a step's command: freeing a table of 2^28 buckets takes tens of seconds.
    pub const STEP: Limits = Limits { time: Duration::from_secs(300), octets: 64 << 20 };

    /// Limits for a hook: 1 MiB of each output.
    pub fn of_hook(time: Duration) -> Limits {
        Limits { time, octets: 1 << 20 }
    }

    /// Keeps this many octets of each output.
    pub fn keeping(self, octets: usize) -> Limits {
        Limits { octets, ..self }
    }
}

#[derive(Debug)]
pub enum Input<'a> {
    Nothing,
    Text(&'a str),
    /// The contents of a file.
    Contents(File),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ran {
    pub output: Output,
    pub timed_out: bool,
    pub took: Duration,
}

/// Runs a program to its end, or kills its process group at the time limit.
pub fn run(command: &mut Command, input: Input, limits: &Limits) -> io::Result<Ran> {
    let (stdin, text) = match input {
        Input::Nothing => (Stdio::null(), ""),
        Input::Text(text) => (Stdio::piped(), text),
        Input::Contents(file) => (Stdio::from(file), ""),
    };
    let begun = Instant::now();
    let command = port::host::with_ordinary_priority(command);
    let mut child = child::apart(command, [stdin, Stdio::piped(), Stdio::piped()]).env("LC_ALL", "C").spawn()?;
    let mut running = match ChildProgram::of(&mut child, text, limits.octets) {
        Ok(running) => running,
        Err(error) => {
            kill_group(&child);
            let _ = child.wait();
            return Err(error);
        }
    };
    let in_time = running.until(begun + limits.time)?;
    if !in_time {
        kill_group(&child);
    }
    let status = child.wait()?;
    // What was written before the end is still in the pipes.
    running.drain();
    let ChildProgram { out, err, .. } = running;
    let mut stderr = err.kept.text();
    if !in_time {
        stderr = format!("{stderr}\nkilled after {} s", limits.time.as_secs_f32());
    }
    let status = status.code().or(status.signal().map(|s| 128 + s));
    let output = Output { status, stdout: out.kept.text(), stderr };
    Ok(Ran { output, timed_out: !in_time, took: begun.elapsed() })
}

fn kill_group(child: &Child) {
    let _ = kill_process_group(Pid::from_child(child), Signal::KILL);
}

struct ChildProgram<'a> {
    input: Option<ChildStdin>,
    unsent: &'a [u8],
    out: Stream,
    err: Stream,
    /// Readable once the program has ended; none after that.
    end: Option<OwnedFd>,
}

impl<'a> ChildProgram<'a> {
    fn of(child: &mut Child, text: &'a str, octets: usize) -> io::Result<ChildProgram<'a>> {
        let (out, err) = (child.stdout.take().map(OwnedFd::from), child.stderr.take().map(OwnedFd::from));
        let input = child.stdin.take();
        if let Some(pipe) = &input {
            never_block(pipe)?;
        }
        let end = Some(pidfd_open(Pid::from_child(child), PidfdFlags::empty())?);
        let (out, err) = (Stream::of(out, octets)?, Stream::of(err, octets)?);
        Ok(ChildProgram { input, unsent: text.as_bytes(), out, err, end })
    }

    /// Waits until the program has ended and its output is complete; false if it runs longer.
    fn until(&mut self, mut deadline: Instant) -> io::Result<bool> {
        loop {
            if self.unsent.is_empty() {
                self.input = None;
            }
            if self.end.is_none() && self.out.pipe.is_none() && self.err.pipe.is_none() {
                return Ok(true);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(self.end.is_none());
            }
            self.wait(left)?;
            if self.end.as_ref().is_some_and(|end| is_readable(end, Duration::ZERO)) {
                self.end = None;
                deadline = deadline.min(Instant::now() + GRACE);
            }
            self.send();
            self.drain();
        }
    }

    /// Waits for output, at most until the time limit.
    fn wait(&self, left: Duration) -> io::Result<()> {
        let mut fds: Vec<PollFd> = Vec::with_capacity(4);
        fds.extend(self.input.as_ref().map(|pipe| PollFd::new(pipe, PollFlags::OUT)));
        let readable = [&self.out.pipe, &self.err.pipe, &self.end].into_iter().flatten();
        fds.extend(readable.map(|fd| PollFd::new(fd, PollFlags::IN)));
        // The time limit has passed when the wait returns nothing.
        child::wait(&mut fds, left + Duration::from_nanos(1)).map(drop)
    }

    fn send(&mut self) {
        let Some(pipe) = &mut self.input else { return };
        match pipe.write(self.unsent) {
            Ok(sent) => self.unsent = &self.unsent[sent..],
            Err(e) if [ErrorKind::WouldBlock, ErrorKind::Interrupted].contains(&e.kind()) => {}
            // A program may stop reading its input: its exit status counts.
            Err(_) => self.unsent = &[],
        }
    }

    fn drain(&mut self) {
        self.out.drain();
        self.err.drain();
    }
}

struct Stream {
    /// The pipe, none after its end.
    pipe: Option<OwnedFd>,
    kept: Excerpt,
}

impl Stream {
    fn of(pipe: Option<OwnedFd>, octets: usize) -> io::Result<Stream> {
        if let Some(pipe) = &pipe {
            never_block(pipe)?;
        }
        Ok(Stream { pipe, kept: Excerpt::at_most(octets) })
    }

    /// Reads at most what a pipe holds, so that the time limit is checked in between.
    fn drain(&mut self) {
        let Some(pipe) = self.pipe.take() else { return };
        let mut file = File::from(pipe);
        let mut buffer = [0; 1 << 14];
        for _ in 0..64 {
            match file.read(&mut buffer) {
                // What was read before the end or an error counts.
                Ok(0) => return,
                Ok(read) => self.kept.take(&buffer[..read]),
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) if e.kind() == ErrorKind::WouldBlock => break,
                Err(_) => return,
            }
        }
        self.pipe = Some(OwnedFd::from(file));
    }
}

#[derive(Debug)]
pub(crate) struct Excerpt {
    half: usize,
    head: Vec<u8>,
    tail: VecDeque<u8>,
    dropped: u64,
}

impl Excerpt {
    pub(crate) fn at_most(octets: usize) -> Excerpt {
        Excerpt { half: octets / 2, head: Vec::new(), tail: VecDeque::new(), dropped: 0 }
    }

    pub(crate) fn take(&mut self, bytes: &[u8]) {
        let (first, rest) = bytes.split_at(bytes.len().min(self.half - self.head.len()));
        self.head.extend(first);
        self.tail.extend(rest);
        let over = self.tail.len().saturating_sub(self.half);
        self.tail.drain(..over);
        self.dropped += over as u64;
    }

    pub(crate) fn text(self) -> String {
        let Excerpt { mut head, tail, dropped, .. } = self;
        if dropped > 0 {
            head.extend(format!("\n[natmeter does not keep the next {dropped} octets]\n").bytes());
        }
        head.extend(tail);
        String::from_utf8_lossy(&head).trim_end().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(line: &str, time: Duration) -> Ran {
        let limits = Limits::of_hook(time);
        run(Command::new("sh").args(["-c", line]), Input::Nothing, &limits).unwrap()
    }

    const LONG: Duration = Duration::from_secs(300);

    #[test]
    fn a_command_that_hangs_is_killed_with_its_children() {
        let ran = sh("sleep 1000 & wait", Duration::from_millis(20));
        assert!(ran.timed_out);
        assert_eq!(ran.output.status, Some(137));
        assert!(ran.output.stderr.contains("killed after 0.02 s"), "{}", ran.output.stderr);
    }

    #[test]
    fn of_a_long_output_the_first_and_the_last_octets_are_kept() {
        let ran = sh("echo first; head -c 100000000 /dev/zero | tr '\\0' x; echo; echo last", LONG);
        let text = ran.output.stdout;
        assert!(text.starts_with("first\nxxx") && text.ends_with("xxx\nlast"));
        let dropped = 100_000_000 + "first\n\nlast\n".len() - (1 << 20);
        assert!(text.contains(&format!("\n[natmeter does not keep the next {dropped} octets]\n")));
        assert!(text.len() < (1 << 20) + 100 && ran.output.status == Some(0));
    }

    #[test]
    fn a_process_left_behind_does_not_hold_the_command() {
        // It ignores the end of its group's leader, and keeps the output open.
        let ran = sh("echo done; sleep 300 & echo $!", LONG);
        assert!(!ran.timed_out && ran.output.ok() && ran.took < LONG / 2);
        let pid: i32 = ran.output.stdout.lines().last().unwrap().parse().unwrap();
        rustix::process::kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL).unwrap();
    }

    #[test]
    fn a_long_input_reaches_a_command_that_writes_meanwhile() {
        let text = "x".repeat(1 << 20);
        let limits = Limits::STEP;
        let ran = run(&mut Command::new("cat"), Input::Text(&text), &limits).unwrap();
        assert_eq!(ran.output.stdout, text);
        let ran = run(Command::new("sh").args(["-c", "exec <&-; exit 3"]), Input::Text(&text), &limits).unwrap();
        assert_eq!(ran.output.status, Some(3), "it does not read its input");
    }
}
