//! CPU times of cores, as the kernel of a host tells them in `/proc/stat`.

/// Nanoseconds of a tick of `/proc/stat` (`USER_HZ` is 100).
const TICK: u64 = 10_000_000;

/// Times of one core since the host started, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CoreTimes {
    /// Number of the core.
    pub core: usize,
    /// Time in which it was idle, with input or output outstanding or not.
    pub idle: u64,
    /// All time.
    pub all: u64,
}

/// Returns the times of all cores that the text of `/proc/stat` names, in its order.
pub fn cores(stat: &str) -> Vec<CoreTimes> {
    stat.lines().filter_map(of_line).collect()
}

/// Returns the times of all cores of this machine; none if its kernel does not tell.
pub fn of_this_machine() -> Vec<CoreTimes> {
    std::fs::read_to_string("/proc/stat").map(|stat| cores(&stat)).unwrap_or_default()
}

fn of_line(line: &str) -> Option<CoreTimes> {
    let mut words = line.split_ascii_whitespace();
    let core = words.next()?.strip_prefix("cpu")?.parse().ok()?;
    // user, nice, system, idle, iowait, irq, softirq, steal; guest times are part of user and nice.
    let ticks: Vec<u64> = words.take(8).map_while(|word| word.parse().ok()).collect();
    let idle = ticks.get(3)? + ticks.get(4)?;
    Some(CoreTimes { core, idle: idle * TICK, all: ticks.iter().sum::<u64>() * TICK })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_core_has_its_times_and_the_sum_of_all_is_none() {
        let stat = "cpu  9 9 9 9 9 9 9\ncpu1 1 2 3 400 5 6 7 8 100 0\ncpu10 1 2 3 4 5\nintr 1 2 3\n";
        let of = |core, idle: u64, all: u64| CoreTimes { core, idle: idle * TICK, all: all * TICK };
        assert_eq!(cores(stat), [of(1, 405, 432), of(10, 9, 15)]);
    }
}
