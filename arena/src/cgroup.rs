//! Limits of the control groups (cgroups, version 2 or 1) of this process: what a container may use of its machine.

use std::fs;
use std::path::Path;

/// A controller, and a file of its groups in versions 2 and 1.
#[derive(Clone, Copy)]
pub struct GroupFile<'a> {
    /// Controller, such as `memory`.
    pub controller: &'a str,
    /// File name in version 2.
    pub v2: &'a str,
    /// File name in version 1.
    pub v1: &'a str,
}

/// Memory of the narrowest group, in octets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryLimit {
    /// The most that the group may use.
    pub most: u64,
    /// What it does not use now. Its cache of files counts as free.
    pub free: u64,
}

/// Share of the processors of the narrowest group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuQuota {
    /// Microseconds of processor time that it may use in each period.
    pub quota: u64,
    /// Microseconds.
    pub period: u64,
    /// Periods in which it had to wait, since the group was made.
    pub throttled: u64,
}

impl CpuQuota {
    /// Cores that the group can keep busy.
    pub fn cores(&self) -> f64 {
        self.quota as f64 / self.period.max(1) as f64
    }
}

/// The memory limit of this process; files are read below `root`.
pub fn memory(root: &Path) -> Option<MemoryLimit> {
    let of = |v2, v1| each_group(root, GroupFile { controller: "memory", v2, v1 });
    let groups = of("memory.max", "memory.limit_in_bytes").into_iter();
    let groups = groups.zip(of("memory.current", "memory.usage_in_bytes")).zip(of("memory.stat", "memory.stat"));
    let limit = |((most, used), stat): ((Option<String>, Option<String>), Option<String>)| {
        // Version 1 writes the largest number of pages for no limit.
        let most = most?.trim().parse::<u64>().ok().filter(|most| *most < 1 << 60)?;
        let stat = stat.unwrap_or_default();
        let cache = key(&stat, "total_inactive_file").or_else(|| key(&stat, "inactive_file")).unwrap_or(0);
        let used = used?.trim().parse::<u64>().ok()?.saturating_sub(cache);
        Some(MemoryLimit { most, free: most.saturating_sub(used) })
    };
    groups.filter_map(limit).min_by_key(|limit| limit.free)
}

/// The processor quota of this process; files are read below `root`.
pub fn cpu(root: &Path) -> Option<CpuQuota> {
    let of = |v2, v1| each_group(root, GroupFile { controller: "cpu", v2, v1 });
    let groups = of("cpu.max", "cpu.cfs_quota_us").into_iter();
    let groups = groups.zip(of("", "cpu.cfs_period_us")).zip(of("cpu.stat", "cpu.stat"));
    let quota = |((quota, period), stat): ((Option<String>, Option<String>), Option<String>)| {
        // Version 2 writes both into one file. No quota is `max` or -1.
        let (quota, period) = (quota?, period.unwrap_or_default());
        let mut numbers = quota.split_whitespace().chain(period.split_whitespace()).map(|word| word.parse().ok());
        let (quota, period) = (numbers.next()??, numbers.next()??);
        Some(CpuQuota { quota, period, throttled: key(&stat?, "nr_throttled").unwrap_or(0) })
    };
    groups.filter_map(quota).min_by_key(|quota| quota.quota * 1000 / quota.period.max(1))
}

/// The file of each group from that of this process to the outermost that is visible.
fn each_group(root: &Path, file: GroupFile<'_>) -> Vec<Option<String>> {
    let own = fs::read_to_string(root.join("proc/self/cgroup")).unwrap_or_default();
    let mut found = Vec::new();
    for line in own.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(group)) = (parts.next(), parts.next()) else { continue };
        let (mount, name) = match controllers {
            "" => ("sys/fs/cgroup".to_owned(), file.v2),
            _ if controllers.split(',').any(|c| c == file.controller) => (mount_of(root, controllers, file), file.v1),
            _ => continue,
        };
        // A container may see its group at the mount point, and the path of the host in its list.
        let mount = root.join(mount);
        let groups = Path::new(group.trim_start_matches('/')).ancestors();
        found.extend(groups.map(|group| fs::read_to_string(mount.join(group).join(name)).ok()));
    }
    found
}

/// Version 1 mounts each set of controllers at a folder of its own, with a link for each name.
fn mount_of(root: &Path, controllers: &str, file: GroupFile<'_>) -> String {
    let whole = format!("sys/fs/cgroup/{controllers}");
    if root.join(&whole).is_dir() { whole } else { format!("sys/fs/cgroup/{}", file.controller) }
}

fn key(stat: &str, name: &str) -> Option<u64> {
    stat.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        root
    }

    /// Files as podman with version 2, Docker with version 1 and a systemd slice write them.
    #[test]
    #[cfg_attr(miri, ignore = "makes folders")]
    fn the_narrowest_group_of_both_versions_counts() {
        let limit = |most, free| Some(MemoryLimit { most, free });
        let quota = |quota, throttled| Some(CpuQuota { quota, period: 100_000, throttled });
        let container: &[(&str, &str)] = &[
            ("proc/self/cgroup", "0::/\n"),
            ("sys/fs/cgroup/memory.max", "2147483648\n"),
            ("sys/fs/cgroup/memory.current", "1073741824\n"),
            ("sys/fs/cgroup/memory.stat", "anon 9\ninactive_file 1000\nactive_file 7\n"),
            ("sys/fs/cgroup/cpu.max", "150000 100000\n"),
            ("sys/fs/cgroup/cpu.stat", "usage_usec 5\nnr_periods 90\nnr_throttled 57\nthrottled_usec 8\n"),
        ];
        let first: &[(&str, &str)] = &[
            ("proc/self/cgroup", "4:memory:/docker/5f\n3:cpu,cpuacct:/docker/5f\n0::/\n"),
            ("sys/fs/cgroup/memory/memory.limit_in_bytes", "2000\n"),
            ("sys/fs/cgroup/memory/memory.usage_in_bytes", "500\n"),
            ("sys/fs/cgroup/memory/memory.stat", "inactive_file 0\ntotal_inactive_file 100\n"),
            ("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "50000\n"),
            ("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n"),
            ("sys/fs/cgroup/cpu,cpuacct/cpu.stat", "nr_periods 1\nnr_throttled 0\n"),
        ];
        let slice: &[(&str, &str)] = &[
            ("proc/self/cgroup", "0::/a.slice/b.scope\n"),
            ("sys/fs/cgroup/a.slice/memory.max", "3000\n"),
            ("sys/fs/cgroup/a.slice/memory.current", "1000\n"),
            ("sys/fs/cgroup/a.slice/b.scope/memory.max", "max\n"),
            ("sys/fs/cgroup/a.slice/b.scope/memory.current", "900\n"),
            ("sys/fs/cgroup/a.slice/b.scope/cpu.max", "max 100000\n"),
        ];
        let none: &[(&str, &str)] = &[
            ("proc/self/cgroup", "4:memory:/\n3:cpu:/\n"),
            ("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"),
            ("sys/fs/cgroup/memory/memory.usage_in_bytes", "500\n"),
            ("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n"),
            ("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n"),
        ];
        for (files, memory_limit, cpu_quota) in [
            (container, limit(2_147_483_648, 1_073_742_824), quota(150_000, 57)),
            (first, limit(2_000, 1_600), quota(50_000, 0)),
            (slice, limit(3_000, 2_000), None),
            (none, None, None),
            (&[], None, None),
        ] {
            let root = machine(files);
            assert_eq!((memory(root.path()), cpu(root.path())), (memory_limit, cpu_quota), "{files:?}");
        }
        assert_eq!(quota(150_000, 0).unwrap().cores(), 1.5);
    }
}
