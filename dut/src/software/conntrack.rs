//! The kernel's connection tracking table, which every NAT44 of Linux uses: its size, timeouts and entries.

use super::SoftwareConfig;
use crate::DutError;
use crate::changes::Changes;
use crate::setting::Setting;
use crate::step::{Action, Step, Target};
use std::time::{Duration, Instant};

/// File of the limit of entries, in each namespace.
pub const MAX: &str = "/proc/sys/net/netfilter/nf_conntrack_max";
/// File of the buckets, also `/sys/module/nf_conntrack/parameters/hashsize`.
pub const BUCKETS: &str = "/proc/sys/net/netfilter/nf_conntrack_buckets";
pub fn max() -> Setting {
    Setting::at(MAX).expect("a sysctl of the network")
}

pub fn buckets() -> Setting {
    Setting::at(BUCKETS).expect("a sysctl of the network")
}

/// Entries of a namespace's table.
pub const COUNT: &str = "/proc/sys/net/netfilter/nf_conntrack_count";

/// The kernel counts one for a packet in flight, too.
pub const SLACK: u64 = 2048;
/// Eight-byte list heads in a page.
const BUCKETS_A_PAGE: u64 = 512;
/// Largest limit, a signed 32-bit number.
pub const MOST_ENTRIES: u64 = 1 << 30;
/// Most buckets, which take 2 GiB.
pub const MOST_BUCKETS: u64 = 1 << 28;
/// Octets of an entry and a bucket, measured, with a margin.
const BYTES_AN_ENTRY: u64 = 400;
const BYTES_A_BUCKET: u64 = 8;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Situation {
    /// Limit of entries, once connection tracking is loaded.
    pub max: Option<u64>,
    pub buckets: Option<u64>,
    /// Whether this process may change both limit and buckets.
    pub adjustable: bool,
    /// Memory in bytes.
    pub memory: u64,
}

impl Situation {
    pub fn now() -> Situation {
        let number = |path: &str| std::fs::read_to_string(path).ok()?.trim().parse().ok();
        // Even root can write only from the initial network namespace.
        let adjustable = rustix::fs::access(MAX, rustix::fs::Access::WRITE_OK).is_ok();
        let meminfo = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
        let available = meminfo.lines().find_map(|l| l.strip_prefix("MemAvailable:")?.split_whitespace().next());
        let memory = available.and_then(|kb| kb.parse::<u64>().ok()).map_or(u64::MAX, |kb| kb * 1024);
        Situation { max: number(MAX), buckets: number(BUCKETS), adjustable, memory }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Size {
    entries: u64,
    buckets: u64,
}

/// Returns the steps that make the table large enough, machine-wide ones only if necessary, and its timeouts long.
pub fn steps(config: &SoftwareConfig, situation: &Situation) -> Result<Vec<Step>, DutError> {
    let mut steps = Vec::new();
    if let (Some(max), Some(buckets)) = (situation.max, situation.buckets) {
        let size = size(config, Size { entries: max, buckets }, situation)?;
        // The hash table grows before the limit rises, and shrinks after it falls.
        if size.buckets != buckets {
            let why = "a hash bucket for every connection";
            steps.push(Step::machine(why, &self::buckets(), size.buckets));
        }
        if size.entries != max {
            steps.push(Step::machine("a connection tracking entry for every connection", &self::max(), size.entries));
        }
    }
    for (name, which) in [("udp_timeout", "unreplied"), ("udp_timeout_stream", "replied")] {
        let why = format!("{which} UDP connections do not time out during a measurement");
        steps.push(Step::dut(why, Action::sysctl(&format!("net/netfilter/nf_conntrack_{name}"), config.udp_timeout)));
    }
    Ok(steps)
}

fn size(config: &SoftwareConfig, now: Size, situation: &Situation) -> Result<Size, DutError> {
    let n = config.connections;
    let refuse = |what: String, way_out: String| Err(DutError::refused(what, way_out));
    let needed = n + SLACK;
    let entries = config.table_size.unwrap_or(needed.max(now.entries));
    if entries < needed {
        return refuse(
            format!(
                "{n} connections do not fit into a table of {entries} entries ({SLACK} more are needed for connections that are not established yet)"
            ),
            format!("set a table size of at least {needed}, or at most {} connections", entries.saturating_sub(SLACK)),
        );
    }
    if entries > MOST_ENTRIES {
        let most = MOST_ENTRIES - SLACK;
        return refuse(
            format!("the kernel's table holds at most {MOST_ENTRIES} entries, not {entries}"),
            format!("ask for at most {most} connections"),
        );
    }
    let for_all = entries.max(now.buckets).min(MOST_BUCKETS);
    // An existing high limit is no reason to add buckets.
    let default = if needed <= now.buckets { now.buckets } else { for_all };
    let buckets = config.hash_size.unwrap_or(default).next_multiple_of(BUCKETS_A_PAGE).min(MOST_BUCKETS);
    let size = Size { entries, buckets };
    if situation.adjustable {
        return enough_memory(n, size, now, situation.memory).map(|()| size);
    }
    if entries != now.entries {
        return refuse(
            format!(
                "{n} connections need nf_conntrack_max = {entries}; it is {}, and only root in the initial network namespace \
                 can change it",
                now.entries
            ),
            format!(
                "run as root, or `sudo sysctl -w net.netfilter.nf_conntrack_max={entries}` first, or ask for at most {} \
                 connections",
                now.entries.saturating_sub(SLACK)
            ),
        );
    }
    if config.hash_size.is_some() && buckets != now.buckets {
        return refuse(
            format!(
                "hash-size = {buckets} differs from nf_conntrack_buckets = {}, which only root in the initial network namespace can change",
                now.buckets
            ),
            "run as root, or remove the hash size".into(),
        );
    }
    let size = Size { buckets: now.buckets, ..size };
    enough_memory(n, size, now, situation.memory).map(|()| size)
}

fn enough_memory(n: u64, size: Size, now: Size, available: u64) -> Result<(), DutError> {
    let needed = n * BYTES_AN_ENTRY + size.buckets.saturating_sub(now.buckets) * BYTES_A_BUCKET;
    if needed <= available {
        return Ok(());
    }
    let most = available / (BYTES_AN_ENTRY + BYTES_A_BUCKET);
    Err(DutError::refused(
        format!("{n} connections need about {} MiB, but {} MiB are free", needed >> 20, available >> 20),
        format!("ask for at most {most} connections, or use a machine with more memory"),
    ))
}

/// The method and duration of emptying a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cleared {
    pub how: String,
    pub nanos: u64,
    /// Whether the device's clock measured the time, without the round trip to its host.
    pub by_own_clock: bool,
}

/// Longest wait until the table is empty.
const PATIENCE: Duration = Duration::from_secs(60);

/// Empties the table of the DUT and checks that it is empty.
pub fn clear(changes: &mut Changes) -> Result<Cleared, DutError> {
    let action = Action::words("conntrack -F");
    let start = Instant::now();
    let mut returned = None;
    loop {
        changes.perform(Target::Dut, "empty the connection tracking table", &action)?;
        let waited = returned.get_or_insert_with(Instant::now).elapsed();
        let left = count(changes)?;
        if left == 0 {
            let nanos = start.elapsed().as_nanos() as u64;
            return Ok(Cleared { how: action.to_string(), nanos, by_own_clock: true });
        }
        if waited > PATIENCE {
            let (how, waited_ms) = (action.to_string(), waited.as_millis() as u64);
            return Err(DutError::NotEmpty { how, count: left, waited_ms });
        }
        // Entries in use are freed within a scheduler tick.
        std::thread::sleep(Duration::from_millis(1));
    }
}

pub fn count(changes: &mut Changes) -> Result<u64, DutError> {
    number(changes, Target::Dut, COUNT)
}

pub fn bucket_count(changes: &mut Changes) -> Result<u64, DutError> {
    number(changes, Target::Machine, BUCKETS)
}

fn number(changes: &mut Changes, target: Target, path: &str) -> Result<u64, DutError> {
    let text = changes.read(target, path);
    let number = text.and_then(|t| t.trim().parse().map_err(std::io::Error::other));
    number.map_err(|source| DutError::Journal { doing: "reading", path: path.into(), source })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::step::tests::listing;

    const DEBIAN: Situation =
        Situation { max: Some(262_144), buckets: Some(262_144), adjustable: true, memory: 16 << 30 };

    fn shown(connections: u64, situation: &Situation) -> String {
        let config = SoftwareConfig { connections, ..SoftwareConfig::default() };
        steps(&config, situation).map_or_else(|e| e.to_string(), |s| listing(&s))
    }

    #[test]
    fn a_table_that_is_large_enough_is_left_alone() {
        insta::assert_snapshot!(shown(100_000, &DEBIAN));
    }

    #[test]
    fn a_table_that_is_too_small_grows_buckets_first() {
        insta::assert_snapshot!(shown(4_000_000, &DEBIAN));
    }

    #[test]
    fn without_root_the_error_names_the_numbers_and_the_way_out() {
        let user = Situation { adjustable: false, ..DEBIAN };
        insta::assert_snapshot!(shown(4_000_000, &user));
        assert!(shown(262_144 - SLACK, &user).contains("udp_timeout"), "the limit itself is accepted");
        assert!(shown(262_145 - SLACK, &user).contains("at most 260096 connections"));
    }

    #[test]
    fn what_does_not_fit_the_memory_is_refused() {
        let text = shown(100_000_000, &DEBIAN);
        assert!(
            text.starts_with(
                "100000000 connections need about 38907 MiB, but 16384 MiB are free: ask for at most 42107522"
            ),
            "{text}"
        );
    }

    #[test]
    fn sizes_asked_for_are_taken_even_if_smaller_than_now() {
        let config = SoftwareConfig {
            connections: 1000,
            table_size: Some(4000),
            hash_size: Some(1000),
            ..SoftwareConfig::default()
        };
        let steps = steps(&config, &DEBIAN).unwrap();
        let written: Vec<String> = steps[..2].iter().map(|s| s.action.to_string()).collect();
        assert_eq!(written, [format!("echo 1024 > {BUCKETS}"), format!("echo 4000 > {MAX}")]);
    }

    #[test]
    fn a_table_smaller_than_the_connections_is_refused() {
        let config = SoftwareConfig { connections: 5000, table_size: Some(5000), ..SoftwareConfig::default() };
        let error = steps(&config, &DEBIAN).unwrap_err().to_string();
        assert!(error.contains("5000 connections do not fit into a table of 5000 entries"), "{error}");
        assert!(shown((1 << 30) + 1, &Situation { memory: u64::MAX, ..DEBIAN }).contains("at most 1073741824 entries"));
    }
}
