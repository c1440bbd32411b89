//! The hooks of a device, in the order in which they first run.

/// Lines for `sh -c`, in which `{name}` is a quoted value of the point, and `{{` and `}}` are braces.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hooks {
    /// Command that configures the device for a point.
    pub prepare: Option<String>,
    /// Command that empties the connection tracking table.
    pub clear: Option<String>,
    /// Command that prints the number of connections last.
    pub count: Option<String>,
    /// Sets the number of cores in use.
    pub cores: Option<String>,
    /// Command that restores the device; may run more than once, and after a failed `prepare`.
    pub restore: Option<String>,
    /// Succeeds if the device is alive.
    pub alive: Option<String>,
    /// Prints the octets of memory in use last.
    pub memory: Option<String>,
    /// Command for a reset in mid-trial.
    pub reset: Option<String>,
    /// Switches over to the standby device, in mid-trial.
    pub failover: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hook {
    Alive,
    Prepare,
    Cores,
    Clear,
    Count,
    Memory,
    Reset,
    Failover,
    Restore,
}

impl Hook {
    pub(super) const ALL: [Hook; 9] = [
        Hook::Alive,
        Hook::Prepare,
        Hook::Cores,
        Hook::Clear,
        Hook::Count,
        Hook::Memory,
        Hook::Reset,
        Hook::Failover,
        Hook::Restore,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Hook::Alive => "alive",
            Hook::Prepare => "prepare",
            Hook::Cores => "cores",
            Hook::Clear => "clear",
            Hook::Count => "count",
            Hook::Memory => "memory",
            Hook::Reset => "reset",
            Hook::Failover => "failover",
            Hook::Restore => "restore",
        }
    }

    pub(super) fn why(self) -> &'static str {
        match self {
            Hook::Alive => "hook `alive`: check that the device is alive",
            Hook::Prepare => "hook `prepare`: configure the device",
            Hook::Cores => "hook `cores`: set its cores",
            Hook::Clear => "hook `clear`: empty its table before a trial",
            Hook::Count => "hook `count`: count its connections after a trial",
            Hook::Memory => "hook `memory`: read its memory in use",
            Hook::Reset => "hook `reset`: reset the device in mid-trial",
            Hook::Failover => "hook `failover`: switch over to the standby device in mid-trial",
            Hook::Restore => "hook `restore`: restore the device",
        }
    }

    pub(super) fn line(self, hooks: &Hooks) -> Option<&str> {
        let line = match self {
            Hook::Alive => &hooks.alive,
            Hook::Prepare => &hooks.prepare,
            Hook::Cores => &hooks.cores,
            Hook::Clear => &hooks.clear,
            Hook::Count => &hooks.count,
            Hook::Memory => &hooks.memory,
            Hook::Reset => &hooks.reset,
            Hook::Failover => &hooks.failover,
            Hook::Restore => &hooks.restore,
        };
        line.as_deref()
    }
}
