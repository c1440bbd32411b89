//! Permanently drops privileges of the calling thread.

use rustix::io::Errno;
use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, capability_is_in_bounding_set, clear_ambient_capability_set,
    remove_capability_from_bounding_set, set_capabilities, set_no_new_privs,
};

/// Drops all capabilities of the calling thread except `keep`, and prevents it and its later
/// threads from regaining any (PR_SET_NO_NEW_PRIVS).
///
/// # Errors
/// The kernel refuses.
pub fn keep_only(keep: CapabilitySet) -> Result<(), Errno> {
    for one in CapabilitySet::all() {
        if capability_is_in_bounding_set(one) == Ok(true) {
            match remove_capability_from_bounding_set(one) {
                // Without the privilege to shrink the bounding set, none can be regained.
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

/// Limits a measuring thread to the capability to set its priority (CAP_SYS_NICE), with two system
/// calls, as a thread starts for each phase; the bounding set gives nothing (PR_SET_NO_NEW_PRIVS).
///
/// # Errors
/// The kernel refuses.
pub fn limit_measuring_thread() -> Result<(), Errno> {
    let keep = capabilities(None)?.permitted & CapabilitySet::SYS_NICE;
    set_capabilities(None, CapabilitySets { effective: keep, permitted: keep, inheritable: CapabilitySet::empty() })?;
    set_no_new_privs(true)
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
        let priority = u64::from_str_radix(&line("CapPrm"), 16).unwrap() & 1 << 23;
        std::thread::spawn(move || {
            limit_measuring_thread().unwrap();
            let set = |name| u64::from_str_radix(&line(name), 16).unwrap();
            // Only CAP_SYS_NICE, if it was there.
            assert_eq!(["CapInh", "CapPrm", "CapEff", "CapAmb"].map(set), [0, priority, priority, 0]);
            assert_eq!(line("NoNewPrivs"), "1");
            if priority != 0 {
                assert!(crate::host::enter_real_time() && crate::host::leave_real_time());
            }
        })
        .join()
        .unwrap();
        assert_eq!(line("CapEff"), before);
    }
}
