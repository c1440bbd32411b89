//! A cable between both ports of the tester, without a device: a test bed for the tester ceiling of a back-end.

use crate::DutError;
use crate::bed::{BedConfig, Ports};
use crate::changes::{Changes, Undone};
use crate::host::{DryRun, Here, Host, Log, Namespace, Order};
use crate::lock::{Lock, RunDir, What};
use crate::side::{LEFT, RIGHT};
use crate::step::{Sink, no_sink};
use crate::tool;
use port::{Clock, Pool};
use std::sync::Arc;

/// A cable in place. Dropping it removes it; the sink receives the failures.
pub struct Cable {
    bed: BedConfig,
    changes: Changes,
    host: Namespace,
    // Last field: dropped after all others.
    _lock: Lock,
}

impl Cable {
    /// Builds a cable with the back-end, rings, cores and backlog of this test bed, but without a device.
    ///
    /// # Errors
    /// For a TAP, or when a step fails and everything has been undone.
    pub fn lay(bed: &BedConfig, dir: &RunDir, sink: &Sink) -> Result<Cable, DutError> {
        check(bed)?;
        tool::require(bed.tools())?;
        let lock = Lock::take(dir, What::Bed)?;
        let host = Namespace::new()?;
        let logged: Box<dyn Host> = Box::new(Log::over(host.clone(), Arc::clone(sink)));
        let mut changes = Changes::on(logged, dir.clone(), Arc::clone(sink));
        lay(&mut changes, bed)?;
        Ok(Cable { bed: bed.clone(), changes, host, _lock: lock })
    }

    /// Opens both ends for one worker: left, right.
    pub fn open_ports(&self, clock: Clock, pool: &mut Pool) -> Result<Ports, DutError> {
        let mut open = |side| self.bed.open(&self.host, side, clock, pool);
        Ok((open(&LEFT)?, open(&RIGHT)?))
    }

    /// Its namespaces, for inspection.
    pub fn host(&self) -> &Namespace {
        &self.host
    }

    /// Removes the cable, except interfaces of ports that are still open.
    pub fn take_up(mut self) -> Undone {
        self.changes.undo_all()
    }
}

/// Returns the actions of [`Cable::lay`], in order, without carrying them out.
///
/// # Errors
/// For a TAP.
pub fn plan(bed: &BedConfig) -> Result<Vec<Order>, DutError> {
    check(bed)?;
    let host = DryRun::over(Here::new());
    let orders = host.orders();
    // A dry run keeps no journal, so that the folder is never read.
    lay(&mut Changes::on(Box::new(host), RunDir::of_this_user(), no_sink()), bed)?;
    let orders = orders.lock().expect("no panic while held").clone();
    Ok(orders)
}

fn check(bed: &BedConfig) -> Result<(), DutError> {
    if !bed.back_end.has_cables() {
        return Err(DutError::Refused {
            what: "a TAP cannot connect both ports of the tester: its other end is the kernel".to_owned(),
            way_out: "measure the tester ceiling over af-packet or af-xdp".to_owned(),
        });
    }
    bed.check()
}

fn lay(changes: &mut Changes, bed: &BedConfig) -> Result<(), DutError> {
    if bed.is_machine_wide() || changes.is_journal_left() {
        // Restores the settings that a killed run left behind before the old values are read.
        changes.begin_journal()?;
    }
    changes.carry_out(&bed.cable_steps())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bed::BackEnd;
    use crate::step::listing;

    #[test]
    fn a_cable_between_both_ends_with_the_cores_of_the_bed() {
        let bed = BedConfig {
            back_end: BackEnd::AfXdpNative,
            dut_cores: vec![1],
            tester_cores: vec![0],
            ..BedConfig::default()
        };
        insta::assert_snapshot!(listing(&bed.cable_steps()));
    }

    #[test]
    fn a_tap_is_refused() {
        let error = plan(&BedConfig::default()).unwrap_err().to_string();
        assert_eq!(
            error,
            "a TAP cannot connect both ports of the tester: its other end is the kernel: measure the tester ceiling over af-packet or af-xdp"
        );
    }
}
