//! Signals that end a command: the first asks it to stop and to restore everything, a later one
//! ends it at once. Signals that were ignored at the start stay ignored, as `nohup` and the shell's
//! `trap ''` require.

use crate::exit::Exit;
use signal_hook::consts::{SIGALRM, SIGHUP, SIGINT, SIGTERM, SIGUSR1, SIGUSR2};
use signal_hook::flag;
use signal_hook::iterator::Signals;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// `timeout`, shells and service managers signal the process and its process group.
pub(crate) const ONE_REQUEST: Duration = Duration::from_secs(1);

/// Sets `stop` on the signals of [`handled`]; a later signal ends the process at once, with [`Exit::Interrupted`].
pub(crate) fn end_on(stop: &Arc<AtomicBool>) -> io::Result<()> {
    let handled = handled()?;
    // Before the flags, so that it sees every signal that sets one.
    let mut signals = Signals::new(&handled)?;
    let insists = Arc::new(AtomicBool::new(false));
    for signal in handled {
        flag::register_conditional_shutdown(signal, i32::from(Exit::Interrupted as u8), Arc::clone(&insists))?;
        flag::register(signal, Arc::clone(stop))?;
    }
    std::thread::Builder::new().name("signals".into()).spawn(move || {
        if signals.forever().next().is_some() {
            std::thread::sleep(ONE_REQUEST);
            insists.store(true, Ordering::Relaxed);
        }
    })?;
    Ok(())
}

/// The signals of users that end a process, SIGQUIT excepted, which asks for its memory; without those that were ignored at
/// the start.
pub(crate) fn handled() -> io::Result<Vec<i32>> {
    const STATUS: &str = "/proc/self/status";
    let status = std::fs::read_to_string(STATUS).map_err(|error| {
        io::Error::new(error.kind(), format!("reading {STATUS}: {error}; mount /proc, and see `ulimit -n`"))
    })?;
    let ignored = ignored(&status);
    Ok([SIGINT, SIGTERM, SIGHUP, SIGALRM, SIGUSR1, SIGUSR2]
        .into_iter()
        .filter(|signal| !ignored.contains(signal))
        .collect())
}

/// Ignored signals, from `/proc/PID/status`.
fn ignored(status: &str) -> Vec<i32> {
    let mask = status.lines().find_map(|line| u64::from_str_radix(line.strip_prefix("SigIgn:")?.trim(), 16).ok());
    (1..=64).filter(|signal| mask.unwrap_or(0) >> (signal - 1) & 1 == 1).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::process::{Pid, Signal, kill_process};
    use std::io::{BufRead, BufReader, Write};
    use std::process::{Child, Command, Stdio};

    #[test]
    fn ignored_signals_are_read_from_their_mask() {
        assert_eq!(ignored("Name:\tx\nSigIgn:\t0000000000001001\nSigCgt:\t0000000000000002\n"), [1, 13]);
        assert_eq!(ignored("SigIgn:\t0000000000000000\n"), [0; 0]);
    }

    /// Helper of the next test, which sends signals to it. Prints, for each line that it reads, whether it was asked to stop.
    #[test]
    #[ignore = "started by a_signal_that_was_ignored_stays_ignored"]
    fn say_whether_to_stop() {
        if std::env::var_os("NATMETER_TEST_SIGNALS").is_none() {
            return;
        }
        let stop = Arc::new(AtomicBool::new(false));
        end_on(&stop).unwrap();
        println!("\nready");
        for _ in std::io::stdin().lines() {
            println!("stop: {}", stop.load(Ordering::Relaxed));
        }
    }

    struct SignalledChild {
        child: Child,
        lines: std::io::Lines<BufReader<std::process::ChildStdout>>,
    }

    impl SignalledChild {
        /// Starts the helper in a shell that runs `before` first. Whatever started this test may ignore signals, as `nohup` does;
        /// the helper shall not.
        fn after(before: &str) -> SignalledChild {
            let line =
                format!("{before}; exec \"$0\" --ignored --exact signals::tests::say_whether_to_stop --nocapture");
            let mut child = Command::new("env")
                .args(["--default-signal=HUP,INT,TERM", "sh", "-c", &line])
                .arg(std::env::current_exe().unwrap())
                .env("NATMETER_TEST_SIGNALS", "")
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()
                .unwrap();
            let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
            assert!(lines.any(|line| line.unwrap() == "ready"));
            SignalledChild { child, lines }
        }
        fn send(&self, signal: Signal) {
            kill_process(Pid::from_child(&self.child), signal).unwrap();
        }
        fn is_to_stop(&mut self) -> bool {
            self.child.stdin.as_mut().unwrap().write_all(b"and now?\n").unwrap();
            let mut said = self.lines.by_ref().map(Result::unwrap);
            said.find(|line| line.starts_with("stop: ")).unwrap() == "stop: true"
        }
    }

    impl Drop for SignalledChild {
        fn drop(&mut self) {
            drop(self.child.stdin.take());
            let _ = self.child.wait();
        }
    }

    #[test]
    fn a_signal_that_was_ignored_stays_ignored() {
        for signal in [Signal::HUP, Signal::ALARM, Signal::USR1, Signal::USR2] {
            let mut usual = SignalledChild::after(":");
            usual.send(signal);
            // The signal may be delivered with a delay.
            while !usual.is_to_stop() {}
        }
        let mut nohup = SignalledChild::after("trap '' HUP INT");
        nohup.send(Signal::HUP);
        nohup.send(Signal::INT);
        assert!(!nohup.is_to_stop());
        nohup.send(Signal::TERM);
        while !nohup.is_to_stop() {}
    }
}
