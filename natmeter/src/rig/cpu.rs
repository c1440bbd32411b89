//! CPU times of devices on this machine: of cores, as the kernel reports them, and of the embedded gateway's workers.

use dut::cpu::CoreTimes;
use engine::{CoreTime, CpuTimes};
use gateway::EmbeddedError;
use method::{Nanos, TrialError};
use std::time::Instant;

pub(super) fn named(cores: &[CoreTimes]) -> Vec<CoreTime> {
    let of = |times: &CoreTimes| CoreTime {
        name: format!("core {}", times.core),
        idle: Nanos(times.idle),
        all: Nanos(times.total),
    };
    cores.iter().map(of).collect()
}

pub(super) struct OfCores(pub Vec<usize>);

impl CpuTimes for OfCores {
    fn read(&mut self) -> Result<Vec<CoreTime>, TrialError> {
        let mut cores = dut::cpu::this_machine_times();
        cores.retain(|times| self.0.contains(&times.core));
        if cores.is_empty() {
            return Err(TrialError::NotMeasurable("the kernel of this machine does not tell CPU times".to_owned()));
        }
        Ok(named(&cores))
    }
}

/// Nanoseconds of each worker in rounds with frames, since the last call.
pub(super) type Busy = Box<dyn FnMut() -> Result<Vec<u64>, EmbeddedError> + Send>;

/// The kernel counts polling workers as busy all the time, so their idle time is that of rounds without frames.
pub(super) struct OfWorkers {
    busy: Busy,
    began: Instant,
    /// Sums of all calls.
    sums: Vec<u64>,
}

impl OfWorkers {
    pub(super) fn new(busy: Busy) -> OfWorkers {
        OfWorkers { busy, began: Instant::now(), sums: Vec::new() }
    }
}

impl CpuTimes for OfWorkers {
    fn read(&mut self) -> Result<Vec<CoreTime>, TrialError> {
        let each = (self.busy)().map_err(|e| TrialError::Device(e.to_string()))?;
        self.sums.resize(each.len(), 0);
        self.sums.iter_mut().zip(&each).for_each(|(sum, busy)| *sum += busy);
        let all = self.began.elapsed().as_nanos() as u64;
        let of = |(at, busy): (usize, &u64)| CoreTime {
            name: format!("worker {at}"),
            idle: Nanos(all.saturating_sub(*busy)),
            all: Nanos(all),
        };
        Ok(self.sums.iter().enumerate().map(of).collect())
    }
}
