//! The kernel's threads that do a device's work on cores of its own (`ksoftirqd/N`): how
//! long they waited for their cores. Whoever keeps them from their work loses frames that the device would have forwarded.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The packet threads of some cores.
pub struct PacketThreads {
    /// `/proc/PID` of each, and what its account said last.
    accounts: Vec<(PathBuf, Account)>,
}

/// What a thread's account says.
#[derive(Clone, Copy, PartialEq)]
struct Account {
    /// Nanoseconds that it had its core.
    ran: u64,
    /// Nanoseconds that it was runnable and waited for its core.
    waited: u64,
    /// How often it got it.
    turns: u64,
}

/// Nanoseconds that a thread may wait before each of its turns although nobody is in its way: it sleeps when there is nothing
/// to do, thousands of times a second, and a core takes some microseconds to wake it.
const WAKE_UP: u64 = 20_000;
/// For how long a thread that is kept from its core is waited for: its account does not say so before it is back.
const BACK_WITHIN: Duration = Duration::from_secs(1);

impl PacketThreads {
    /// Those of these cores that can be seen: none in a container, where the kernel's own threads are hidden.
    pub fn of(cores: &[usize]) -> PacketThreads {
        PacketThreads::under(Path::new("/proc"), cores)
    }

    fn under(proc: &Path, cores: &[usize]) -> PacketThreads {
        let names: Vec<String> = cores.iter().map(|core| format!("ksoftirqd/{core}")).collect();
        let processes = std::fs::read_dir(proc).into_iter().flatten().flatten().map(|entry| entry.path());
        // A program of the same name that waits for its core would be no harm to the device.
        let threads = processes.filter(|p| {
            read(&p.join("comm")).is_some_and(|name| names.iter().any(|n| n == name.trim_end()))
                && read(&p.join("cmdline")).is_some_and(|line| line.is_empty())
        });
        let accounts = threads.filter_map(|path| account(&path).map(|now| (path, now)));
        PacketThreads { accounts: accounts.collect() }
    }

    /// Nanoseconds since the last call that the one that waited longest was kept from its core, beyond what waking takes; none
    /// if none of them can be seen.
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

/// A thread's account when it does not wait for its core, or has had it meanwhile.
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

/// Whether a thread has its core or waits for it, which its state does not tell apart.
fn is_runnable(thread: &Path) -> bool {
    // The state follows the name, which is in parentheses and may hold any.
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
    fn a_thread_that_wakes_often_was_not_kept_from_its_core() {
        let proc = tempfile::tempdir().unwrap();
        process(proc.path(), 14, "ksoftirqd/0", "", [0, 0]);
        let mut threads = PacketThreads::under(proc.path(), &[0]);
        process(proc.path(), 14, "ksoftirqd/0", "", [10_000_000, 5_000]);
        assert_eq!(threads.run_delay(), Some(0));
        process(proc.path(), 14, "ksoftirqd/0", "", [14_000_000, 5_001]);
        assert_eq!(threads.run_delay(), Some(3_980_000));
    }

    /// Its account grows when it is back: until then it would seem never to have waited.
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
    fn what_cannot_be_seen_is_not_called_zero() {
        let proc = tempfile::tempdir().unwrap();
        assert_eq!(PacketThreads::under(proc.path(), &[0]).run_delay(), None);
    }
}
