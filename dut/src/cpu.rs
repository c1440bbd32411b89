//! CPU times of cores: Linux in `/proc/stat`, OpenBSD in `kern.cp_time`.

/// Nanoseconds of a tick at 100 a second: `USER_HZ` of `/proc/stat`, and usually `stathz` of OpenBSD.
const TICK: u64 = 10_000_000;

/// Times of a core since the host started, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CoreTimes {
    pub core: usize,
    /// Waiting for input or output included.
    pub idle: u64,
    pub total: u64,
}

/// Times of all cores, from the text of `/proc/stat`.
pub fn core_times(stat: &str) -> Vec<CoreTimes> {
    stat.lines().filter_map(line_times).collect()
}

/// Linux supports fewer cores.
const CORES_AT_MOST: u32 = 1 << 16;

/// Returns the cores of a list such as `0-2,5`, without numbers that no core has.
pub fn cores_in_list(list: &str) -> Vec<u32> {
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u32, u32) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        (last < CORES_AT_MOST).then_some(first..=last)
    };
    list.split(',').filter_map(range).flatten().collect()
}

/// Times of this machine's cores; none if the kernel does not tell.
pub fn this_machine_times() -> Vec<CoreTimes> {
    std::fs::read_to_string("/proc/stat").map(|stat| core_times(&stat)).unwrap_or_default()
}

/// Idle and total time of an OpenBSD machine, in nanoseconds, averaged over its cores, from the text
/// of `kern.cp_time`; `None` for any other text.
///
/// sysctl(8) prints user, nice, sys, spin, intr and idle, no spin before OpenBSD 6.4, and cannot
/// print the times of each core (`kern.cp_time2`). Shares of time do not depend on `stathz`.
pub fn openbsd_times(cp_time: &str) -> Option<(u64, u64)> {
    let ticks: Vec<u64> = cp_time.trim().split(',').map(|word| word.parse().ok()).collect::<Option<_>>()?;
    let idle = ticks.last().filter(|_| [5, 6].contains(&ticks.len()))?;
    Some((idle * TICK, ticks.iter().sum::<u64>() * TICK))
}

fn line_times(line: &str) -> Option<CoreTimes> {
    let mut words = line.split_ascii_whitespace();
    let core = words.next()?.strip_prefix("cpu")?.parse().ok()?;
    // user, nice, system, idle, iowait, irq, softirq, steal; guest times are part of user and nice.
    let ticks: Vec<u64> = words.take(8).map_while(|word| word.parse().ok()).collect();
    let idle = ticks.get(3)? + ticks.get(4)?;
    Some(CoreTimes { core, idle: idle * TICK, total: ticks.iter().sum::<u64>() * TICK })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cores_of_a_list_of_the_kernel() {
        assert_eq!(cores_in_list("0-2,5\n"), [0, 1, 2, 5]);
        assert!(cores_in_list("").is_empty());
    }

    /// Recorded on OpenBSD 7.3 (`sysctl -n kern.cp_time`), and on another one by the author of OSHI
    /// (`OpenBsdCentralProcessor.querySystemCpuLoadTicks`).
    #[test]
    fn openbsd_tells_the_average_of_its_cores() {
        assert_eq!(openbsd_times("2391,0,1987,60,117,976656\n"), Some((976_656 * TICK, 981_211 * TICK)));
        assert_eq!(openbsd_times("765981,576,193424,42002,3534,3819889"), Some((3_819_889 * TICK, 4_825_406 * TICK)));
        assert_eq!(openbsd_times("1,2,3,4,5"), Some((5 * TICK, 15 * TICK)), "before 6.4");
        for text in ["", "1,2", "user=1,nice=2,sys=3,spin=4,intr=5,idle=6", "cpu0 1 2 3 4 5"] {
            assert_eq!(openbsd_times(text), None, "{text}");
        }
    }

    #[test]
    fn each_core_has_its_times_and_the_sum_of_all_is_none() {
        let stat = "cpu  9 9 9 9 9 9 9\ncpu1 1 2 3 400 5 6 7 8 100 0\ncpu10 1 2 3 4 5\nintr 1 2 3\n";
        let of = |core, idle: u64, all: u64| CoreTimes { core, idle: idle * TICK, total: all * TICK };
        assert_eq!(core_times(stat), [of(1, 405, 432), of(10, 9, 15)]);
    }
}
