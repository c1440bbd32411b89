//! Measures the run delay of the kernel threads (`ksoftirqd/N`) that forward the DUT's packets.
//! While one is preempted, frames are lost that the device would have forwarded.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

pub struct PacketThreads {
    /// `/proc/PID` of each, and its last statistics.
    accounts: Vec<(PathBuf, Account)>,
}

#[derive(Clone, Copy, PartialEq)]
struct Account {
    /// Nanoseconds.
    ran: u64,
    /// Run delay: nanoseconds, runnable without a core.
    waited: u64,
    turns: u64,
}

/// Run delay per time slice, in nanoseconds, that counts as wake-up and not as preemption: the
/// thread sleeps whenever no packet waits.
const WAKE_UP: u64 = 20_000;
/// A preempted thread's statistics include the delay only after it runs again.
const BACK_WITHIN: Duration = Duration::from_secs(1);

impl PacketThreads {
    /// Threads of the cores; none in a container, which hides them.
    pub fn of(cores: &[usize]) -> PacketThreads {
        PacketThreads::under(Path::new("/proc"), cores)
    }

    fn under(proc: &Path, cores: &[usize]) -> PacketThreads {
        let names: Vec<String> = cores.iter().map(|core| format!("ksoftirqd/{core}")).collect();
        let processes = std::fs::read_dir(proc).into_iter().flatten().flatten().map(|entry| entry.path());
        // An empty command line identifies a kernel thread.
        let threads = processes.filter(|p| {
            read(&p.join("comm")).is_some_and(|name| names.iter().any(|n| n == name.trim_end()))
                && read(&p.join("cmdline")).is_some_and(|line| line.is_empty())
        });
        let accounts = threads.filter_map(|path| account(&path).map(|now| (path, now)));
        PacketThreads { accounts: accounts.collect() }
    }

    /// Longest of a visible thread since the last call, in nanoseconds without wake-ups.
    pub fn run_delay(&mut self) -> Option<u64> {
        let since = |(path, last): &mut (PathBuf, Account)| {
            let now = settled(path)?;
            let before = std::mem::replace(last, now);
            let waking = now.turns.saturating_sub(before.turns).saturating_mul(WAKE_UP);
            Some(now.waited.saturating_sub(before.waited).saturating_sub(waking))
        };
        self.accounts.iter_mut().filter_map(since).max()
    }
}

fn settled(thread: &Path) -> Option<Account> {
    let (first, end) = (account(thread)?, Instant::now() + BACK_WITHIN);
    loop {
        let wants_its_core = is_runnable(thread);
        let now = account(thread)?;
        if !wants_its_core || now != first || Instant::now() > end {
            return Some(now);
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn is_runnable(thread: &Path) -> bool {
    // The name in parentheses may contain parentheses.
    read(&thread.join("stat")).is_some_and(|text| text.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('R')))
}

fn account(thread: &Path) -> Option<Account> {
    let text = read(&thread.join("schedstat"))?;
    let mut figures = text.split_ascii_whitespace().map(|figure| figure.parse().ok());
    let mut next = || figures.next()?;
    Some(Account { ran: next()?, waited: next()?, turns: next()? })
}

fn read(path: &Path) -> Option<String> {
    std::fs::read_to_string(path).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(proc: &Path, number: u32, name: &str, line: &str, [waited, turns]: [u64; 2]) {
        let folder = proc.join(number.to_string());
        std::fs::create_dir_all(&folder).unwrap();
        for (file, text) in [
            ("comm", format!("{name}\n")),
            ("cmdline", line.to_owned()),
            ("schedstat", format!("77 {waited} {turns}\n")),
        ] {
            std::fs::write(folder.join(file), text).unwrap();
        }
    }

    #[test]
    fn the_thread_that_waited_longest_counts_and_no_program_of_its_name() {
        let proc = tempfile::tempdir().unwrap();
        process(proc.path(), 14, "ksoftirqd/0", "", [1_000, 5]);
        process(proc.path(), 22, "ksoftirqd/1", "", [2_000, 5]);
        process(proc.path(), 30, "ksoftirqd/11", "", [3_000, 5]);
        process(proc.path(), 99, "ksoftirqd/1", "/tmp/ksoftirqd/1", [4_000, 5]);
        let mut threads = PacketThreads::under(proc.path(), &[0, 1]);
        assert_eq!(threads.run_delay(), Some(0));
        process(proc.path(), 14, "ksoftirqd/0", "", [1_007, 5]);
        process(proc.path(), 22, "ksoftirqd/1", "", [2_500, 5]);
        process(proc.path(), 30, "ksoftirqd/11", "", [9_000, 5]);
        process(proc.path(), 99, "ksoftirqd/1", "/tmp/ksoftirqd/1", [9_000, 5]);
        assert_eq!(threads.run_delay(), Some(500));
        assert_eq!(threads.run_delay(), Some(0));
    }

    #[test]
    fn a_thread_that_wakes_often_was_not_preempted() {
        let proc = tempfile::tempdir().unwrap();
        process(proc.path(), 14, "ksoftirqd/0", "", [0, 0]);
        let mut threads = PacketThreads::under(proc.path(), &[0]);
        process(proc.path(), 14, "ksoftirqd/0", "", [10_000_000, 5_000]);
        assert_eq!(threads.run_delay(), Some(0));
        process(proc.path(), 14, "ksoftirqd/0", "", [14_000_000, 5_001]);
        assert_eq!(threads.run_delay(), Some(3_980_000));
    }

    #[test]
    fn a_thread_that_waits_for_its_core_is_waited_for() {
        let proc = tempfile::tempdir().unwrap();
        process(proc.path(), 14, "ksoftirqd/0", "", [0, 0]);
        let thread = proc.path().join("14");
        std::fs::write(thread.join("stat"), "14 (ksoftirqd/0) R 2 0").unwrap();
        let mut threads = PacketThreads::under(proc.path(), &[0]);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(Duration::from_millis(5));
                std::fs::write(thread.join("next"), "77 5000000 1\n").unwrap();
                std::fs::rename(thread.join("next"), thread.join("schedstat")).unwrap();
            });
            assert_eq!(threads.run_delay(), Some(4_980_000));
        });
    }

    #[test]
    fn without_visible_threads_there_is_no_run_delay() {
        let proc = tempfile::tempdir().unwrap();
        assert_eq!(PacketThreads::under(proc.path(), &[0]).run_delay(), None);
    }
}
