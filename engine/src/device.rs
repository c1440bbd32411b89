//! The device under test, as the engine uses it.

use method::trial::{Buckets, Disruption, Profile, Profiler};
use method::{Count, Nanos, TrialError};
use std::time::Instant;
use wire::PortRange;

/// The device under test, as the engine uses it.
pub trait Device: Send {
    /// Empties the connection tracking table.
    ///
    /// # Errors
    /// [`TrialError::Device`], [`TrialError::Unreachable`], or [`TrialError::Interrupted`] during a wait.
    fn clear(&mut self) -> Result<(), TrialError>;
    /// Whether a user's command empties the table, so that its effect is checked by [`Device::entries`].
    fn is_cleared_by_command(&self) -> bool {
        false
    }
    /// Returns the source ports of the next phase 1, if not the view's: a table that nothing
    /// empties may hold connections of other ports. Called after [`Device::clear`].
    fn source_ports(&mut self) -> Option<PortRange> {
        None
    }
    /// Returns the entries of the connection tracking table, if the device counts them.
    ///
    /// # Errors
    /// As [`Device::clear`].
    fn entries(&mut self) -> Result<Option<Count>, TrialError>;
    /// Returns how long threads of the device were stalled or preempted since the last call.
    ///
    /// # Errors
    /// As [`Device::clear`].
    fn away(&mut self) -> Result<DeviceStalls, TrialError> {
        Ok(DeviceStalls::default())
    }
    /// Announces a trial of about this duration, from which on a device on the tester's machine polls.
    fn wake(&mut self, _lasts: Nanos) {}
    /// Announces a pause until the next [`Device::wake`], in which such a device yields its cores,
    /// or the scheduler would serve starved threads in the middle of a trial.
    fn rest(&mut self) {}
    /// Empties the connection tracking table and returns how long that took, on the device's clock
    /// if it has one, else with the way to the device.
    ///
    /// # Errors
    /// As [`Device::clear`]; [`TrialError::NotMeasurable`] if nothing empties the table at once.
    fn clear_timed(&mut self) -> Result<Clearing, TrialError> {
        let began = Instant::now();
        self.clear()?;
        Ok(Clearing { took: began.elapsed().into(), how: "the device's own means".to_owned(), clock: ClockAt::Tester })
    }
    /// Resets the device or switches it over, on a thread beside a phase.
    ///
    /// # Errors
    /// As [`Device::clear`]; [`TrialError::NotMeasurable`] without a command for it.
    fn disrupt(&mut self, what: Disruption) -> Result<(), TrialError> {
        Err(TrialError::NotMeasurable(format!("this device has no hook `{}`", what.name())))
    }
    /// Returns a reader of the CPU times of a box, numbered from 0 on the left.
    ///
    /// # Errors
    /// As [`Device::clear`]; [`TrialError::NotMeasurable`] if the device does not tell them.
    fn cpu_times(&mut self, _of: u32) -> Result<Box<dyn CpuTimes>, TrialError> {
        Err(TrialError::NotMeasurable("this device does not tell the CPU times of its cores".to_owned()))
    }
    /// Samples call stacks until [`ProfileRun::finish`].
    ///
    /// # Errors
    /// As [`Device::clear`]; [`TrialError::NotMeasurable`] if the device cannot be profiled.
    fn profile(&mut self, _profiler: Profiler) -> Result<Box<dyn ProfileRun>, TrialError> {
        Err(TrialError::NotMeasurable(
            "this device cannot be profiled: `profile` needs a device of this machine's kernel".to_owned(),
        ))
    }
    /// Returns the memory of the connection tracking table, if the device tells it.
    ///
    /// # Errors
    /// As [`Device::clear`].
    fn memory(&mut self) -> Result<Option<MemoryNow>, TrialError> {
        Ok(None)
    }
}

/// Host noise on a device's threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeviceStalls {
    /// Longest time between two rounds.
    pub stall: Nanos,
    /// Sum of the stalls of all threads.
    pub stalled: Nanos,
    /// Total, unless unknown or included in stalls.
    pub run_delay: Option<Nanos>,
}

/// How a table was emptied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clearing {
    /// Time that clearing took.
    pub took: Nanos,
    /// Command that cleared the table, or what stands for a command.
    pub how: String,
    /// Clock that measured the time.
    pub clock: ClockAt,
}

method::worded! {
    /// Place of a clock.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum ClockAt: name {
        /// A clock on the device's side.
        Device = "device",
        /// Tester's side, the way to the device included.
        Tester = "tester",
    }
}

/// Reads the CPU times of a device's cores.
pub trait CpuTimes: Send {
    /// Returns the times of all cores, in a constant order.
    ///
    /// # Errors
    /// As [`Device::clear`].
    fn read(&mut self) -> Result<Vec<CoreTime>, TrialError>;
}

/// Samples call stacks until dropped.
pub trait ProfileRun {
    /// Stops, and returns the samples between two moments.
    ///
    /// # Errors
    /// As [`Device::clear`].
    fn finish(self: Box<Self>, from: Instant, to: Instant) -> Result<Profile, TrialError>;
}

/// CPU time of one core or worker, since some past time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CoreTime {
    /// Name of the core.
    pub name: String,
    /// Time that the core was idle.
    pub idle: Nanos,
    /// Time of the core, idle or not.
    pub all: Nanos,
}

/// Memory of a connection tracking table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryNow {
    /// Bytes in use.
    pub used: u64,
    /// Entries for which memory is reserved, if it does not grow with them.
    pub reserved_for: Option<Count>,
    /// The hash table, if the device tells.
    pub buckets: Option<Buckets>,
    /// What the bytes are.
    pub source: String,
}

/// A stateless device: nothing to clear or to count.
pub struct NoDevice;

impl Device for NoDevice {
    fn clear(&mut self) -> Result<(), TrialError> {
        Ok(())
    }
    fn entries(&mut self) -> Result<Option<Count>, TrialError> {
        Ok(None)
    }
}
