//! Privileges of the calling thread: what it needs no longer is given up for good.

use rustix::io::Errno;
use rustix::thread::{
    CapabilitySet, CapabilitySets, capability_is_in_bounding_set, clear_ambient_capability_set,
    remove_capability_from_bounding_set, set_capabilities, set_no_new_privs,
};

/// Drops all capabilities of the calling thread except those in `keep`, and those that it could regain (PR_SET_NO_NEW_PRIVS).
/// Threads that it starts later inherit this; other threads keep what they have.
///
/// # Errors
/// When the kernel refuses.
pub fn keep_only(keep: CapabilitySet) -> Result<(), Errno> {
    for one in CapabilitySet::all() {
        if capability_is_in_bounding_set(one) == Ok(true) {
            match remove_capability_from_bounding_set(one) {
                // Without the privilege to shrink the bounding set, the thread cannot regain a capability either.
                Ok(()) | Err(Errno::PERM) => {}
                Err(error) => return Err(error),
            }
        }
    }
    // Kernels before 4.3 have no ambient set.
    match clear_ambient_capability_set() {
        Ok(()) | Err(Errno::INVAL) => {}
        Err(error) => return Err(error),
    }
    set_capabilities(None, CapabilitySets { effective: keep, permitted: keep, inheritable: CapabilitySet::empty() })?;
    set_no_new_privs(true)
}

/// Limits a thread that measures: it keeps the right to its own priority (CAP_SYS_NICE) if it has it, and nothing else.
///
/// # Errors
/// When the kernel refuses.
pub fn limit_measuring_thread() -> Result<(), Errno> {
    let has = rustix::thread::capabilities(None)?.permitted;
    keep_only(has & CapabilitySet::SYS_NICE)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status() -> String {
        std::fs::read_to_string("/proc/thread-self/status").unwrap()
    }

    fn line(name: &str) -> String {
        status().lines().find_map(|l| l.strip_prefix(name)?.strip_prefix(":\t").map(str::to_owned)).unwrap()
    }

    #[test]
    fn a_measuring_thread_is_limited_and_no_other_one() {
        let before = line("CapEff");
        std::thread::spawn(|| {
            limit_measuring_thread().unwrap();
            let left = u64::from_str_radix(&line("CapEff"), 16).unwrap();
            assert_eq!(left & !(1 << 23), 0, "only CAP_SYS_NICE may be left: {left:x}");
            assert_eq!(line("NoNewPrivs"), "1");
        })
        .join()
        .unwrap();
        assert_eq!(line("CapEff"), before);
    }
}
