//! Memory of this machine's kernel that grows with connection tracking: slabs that cannot be reclaimed hold the entries and their
//! extensions. The kernel tells it of the whole machine, so that it is exact only while nothing else allocates slabs.

/// Where the kernel tells it.
const MEMINFO: &str = "/proc/meminfo";
/// What the value is, for reports.
pub const SOURCE: &str = "SUnreclaim of /proc/meminfo";

/// Returns the octets of slabs that cannot be reclaimed; none if the kernel does not tell.
pub fn of_kernel() -> Option<u64> {
    unreclaimable(&std::fs::read_to_string(MEMINFO).ok()?)
}

fn unreclaimable(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("SUnreclaim:"))?;
    line.split_ascii_whitespace().next()?.parse::<u64>().ok().map(|kib| kib * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slabs_that_cannot_be_reclaimed_are_read() {
        let meminfo = "Slab:             279740 kB\nSReclaimable:     240812 kB\nSUnreclaim:        38928 kB\n";
        assert_eq!(unreclaimable(meminfo), Some(38_928 * 1024));
        assert_eq!(unreclaimable("MemTotal: 1 kB\n"), None);
    }
}
