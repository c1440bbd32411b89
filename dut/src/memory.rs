//! Kernel memory of connection tracking: unreclaimable slabs hold the entries, exact only while
//! nothing else allocates slabs. The hash table is in the list of mapped areas if larger than 4
//! MiB.

const MEMINFO: &str = "/proc/meminfo";
/// Areas with the function that allocated each; for root.
const MAPPED: &str = "/proc/vmallocinfo";
/// Allocates the hash table, and the much smaller list of its pages.
const ALLOCATES_TABLE: &str = "nf_ct_alloc_hashtable+";
/// What the value is, for reports.
pub(crate) const SOURCE: &str = "SUnreclaim of /proc/meminfo";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    pub octets: u64,
    /// The hash table of connection tracking, if known.
    pub table: Option<HashTable>,
    pub source: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HashTable {
    pub buckets: u64,
    /// Octets of all buckets.
    pub bytes: u64,
}

/// Octets of unreclaimable slabs, if the kernel tells.
pub(crate) fn of_kernel() -> Option<u64> {
    unreclaimable(&std::fs::read_to_string(MEMINFO).ok()?)
}

/// Octets of the hash table, if the kernel tells.
pub(crate) fn of_hash_table() -> Option<u64> {
    mapped_table(&std::fs::read_to_string(MAPPED).ok()?, rustix::param::page_size() as u64)
}

fn unreclaimable(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("SUnreclaim:"))?;
    line.split_ascii_whitespace().next()?.parse::<u64>().ok().map(|kib| kib * 1024)
}

/// The mapped table without its guard page.
fn mapped_table(areas: &str, page: u64) -> Option<u64> {
    let pages =
        |line: &str| line.split_ascii_whitespace().find_map(|word| word.strip_prefix("pages=")?.parse::<u64>().ok());
    areas.lines().filter(|line| line.contains(ALLOCATES_TABLE)).filter_map(pages).max().map(|pages| pages * page)
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

    /// Linux 6.18, 1,048,576 buckets: the list of pages, and the table.
    #[test]
    fn the_table_is_the_largest_area_of_its_function() {
        let areas = "0x0000000088923d9e-0x00000000c6744a66   20480 nf_ct_alloc_hashtable+0x56/0xd0 pages=4 vmalloc N0=4\n\
                     0x0000000033b30d75-0x00000000ff6ccd1a 8392704 nf_ct_alloc_hashtable+0x56/0xd0 pages=2048 vmalloc vpages N0=2048\n\
                     0x0000000033b30d75-0x00000000ff6ccd1a 99992704 other+0x56/0xd0 pages=24412 vmalloc\n";
        assert_eq!(mapped_table(areas, 4_096), Some(8 * 1_048_576));
        assert_eq!(mapped_table("", 4_096), None);
    }
}
