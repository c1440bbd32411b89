//! A cable from one of the tester's ports to the other, with no device in between: over it the tester finds
//! out what it can do alone with a way of moving packets. Its own file because it is a test bed without a device, made,
//! journalled and taken up again like all others.

use crate::DutError;
use crate::bed::{BedConfig, LEFT, Ports, RIGHT};
use crate::changes::{Changes, Undone};
use crate::host::{DryRun, Here, Host, Log, Namespace, Order};
use crate::lock::{Lock, RunDir, What};
use crate::step::{Sink, no_sink};
use crate::tool;
use port::{Clock, Pool};
use std::sync::Arc;

/// A cable that is laid. It is taken up when dropped, machine-wide settings included; what could not be undone goes to the
/// sink then.
pub struct Cable {
    bed: BedConfig,
    changes: Changes,
    host: Namespace,
    // Last, so that it is given back when all else is done.
    _lock: Lock,
}

impl Cable {
    /// Lay one that is what the cables of this test bed are, but for the device: same back-end, rings, cores and backlog.
    ///
    /// # Errors
    /// For a TAP, which has no other end than the kernel; or when a step fails; nothing is left of it then.
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

    /// Take both ends for one worker: left, right.
    ///
    /// # Errors
    /// When one is taken.
    pub fn open_ports(&self, clock: Clock, pool: &mut Pool) -> Result<Ports, DutError> {
        let mut open = |side| self.bed.open(&self.host, side, clock, pool);
        Ok((open(&LEFT)?, open(&RIGHT)?))
    }

    /// Its namespaces, to look at.
    pub fn host(&self) -> &Namespace {
        &self.host
    }

    /// Take it up and tell how that went. Ports that are still open keep their interfaces until they are dropped.
    pub fn take_up(mut self) -> Undone {
        self.changes.undo_all()
    }
}

/// What [`Cable::lay`] would do, in order, without doing it.
///
/// # Errors
/// For a TAP.
pub fn plan(bed: &BedConfig) -> Result<Vec<Order>, DutError> {
    check(bed)?;
    let host = DryRun::over(Here::new());
    let orders = host.orders();
    // A rehearsal keeps no journal, so that the folder is never looked at.
    lay(&mut Changes::on(Box::new(host), RunDir::of_this_user(), no_sink()), bed)?;
    let orders = orders.lock().expect("no panic while held").clone();
    Ok(orders)
}

fn check(bed: &BedConfig) -> Result<(), DutError> {
    if !bed.back_end.has_cables() {
        return Err(DutError::Refused {
            what: "a TAP is no cable: its other end is the kernel's".to_owned(),
            way_out: "measure the tester alone over af-packet or af-xdp".to_owned(),
        });
    }
    bed.check()
}

fn lay(changes: &mut Changes, bed: &BedConfig) -> Result<(), DutError> {
    if bed.is_machine_wide() || changes.is_journal_left() {
        // What a killed run left behind is put back before the old values are looked at.
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
    fn a_tap_is_no_cable() {
        let error = plan(&BedConfig::default()).unwrap_err().to_string();
        assert_eq!(
            error,
            "a TAP is no cable: its other end is the kernel's: measure the tester alone over af-packet or af-xdp"
        );
    }
}
