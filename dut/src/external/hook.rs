//! The hooks of a device, in the order in which they first run.

use std::collections::BTreeMap;

/// Lines for `sh -c`, in which `{name}` is a quoted value of the point, and `{{` and `}}` are braces.
pub type Hooks = BTreeMap<Hook, String>;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Hook {
    Alive,
    Prepare,
    Cores,
    Clear,
    /// Counts connections; the number is the last output.
    Count,
    /// Reads the memory in use; the number of octets is the last output.
    Memory,
    Reset,
    Failover,
    /// Restores the device. It may run more than once, and after a failed `prepare`.
    Restore,
}

impl Hook {
    pub(super) const ALL: [(Hook, &str, &str); 9] = [
        (Hook::Alive, "alive", "check that the device is alive"),
        (Hook::Prepare, "prepare", "configure the device"),
        (Hook::Cores, "cores", "set its cores"),
        (Hook::Clear, "clear", "empty its table before a trial"),
        (Hook::Count, "count", "count its connections after a trial"),
        (Hook::Memory, "memory", "read its memory in use"),
        (Hook::Reset, "reset", "reset the device in mid-trial"),
        (Hook::Failover, "failover", "switch over to the standby device in mid-trial"),
        (Hook::Restore, "restore", "restore the device"),
    ];

    pub fn name(self) -> &'static str {
        Hook::ALL[self as usize].1
    }

    pub(super) fn why(self) -> String {
        let (_, name, does) = Hook::ALL[self as usize];
        format!("hook `{name}`: {does}")
    }
}
