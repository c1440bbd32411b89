//! What happens before each phase 1 on a box without the hook `clear`: a wait until the connections
//! of earlier ones have timed out, or a choice of source ports that are not in the box's table.

use super::{RigError, RunContext, failed};
use dut::RunDir;
use dut::used_ports::UsedPorts;
use method::TrialError;
use scenario::{Dut, Scenario};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};
use wire::{Mac, PortRange, View};

/// A box without the hook `clear`.
pub(super) struct UnclearedBox {
    /// Time-out of an idle connection, with a margin.
    keeps: Duration,
    ports: Option<FreshPorts>,
    interrupted: Arc<AtomicBool>,
}

/// Source ports of phases 1.
struct FreshPorts {
    ranges: Vec<PortRange>,
    used: UsedPorts,
    taken: Option<PortRange>,
    /// Uses ports whose connections may still be in the table rather than to wait.
    is_check: bool,
}

impl UnclearedBox {
    /// `None` if the box has the hook `clear`, and in the check of a bed without fresh ports, whose
    /// frames may meet connections of an earlier one. `own` is the box's Ethernet address on the
    /// left.
    pub(super) fn of(
        scenario: &Scenario,
        dut: &Dut,
        view: &View,
        own: Mac,
        process: &RunContext,
    ) -> Result<Option<UnclearedBox>, RigError> {
        let Some(keeps) = scenario.keeps(dut).map(Duration::from) else { return Ok(None) };
        let has_fresh_ports = scenario.has_fresh_ports(dut);
        if process.is_check && !has_fresh_ports {
            return Ok(None);
        }
        let ports = || {
            let mut ranges = view.flows.parts_of_source_ports(view.connections());
            ranges.truncate(scenario.parts_in_table(dut, view.connections()));
            if ranges.len() < 2 {
                return Err(RigError::Bed(format!(
                    "{} are not enough source ports for two phases 1 of {} connections: widen `source-ports`, or write \
                     without-clear = \"wait\"",
                    view.flows.inside_ports(),
                    view.connections()
                )));
            }
            let name = own.to_string().replace(':', "-");
            let used = UsedPorts::of_box(&RunDir::of_this_user(), &name, keeps, SystemTime::now())?;
            Ok(FreshPorts { ranges, used, taken: None, is_check: process.is_check })
        };
        let ports = has_fresh_ports.then(ports).transpose()?;
        Ok(Some(UnclearedBox { keeps, ports, interrupted: Arc::clone(&process.interrupted) }))
    }

    pub(super) fn in_words(&self) -> String {
        let (keeps, words) = (self.keeps.as_secs(), "No hook empties the table of the box");
        match &self.ports {
            None => format!("{words}: natmeter waits {keeps} s before each phase 1."),
            Some(ports) => format!(
                "{words}: each phase 1 has one of {} parts of the source ports, {} ports each, that no trial of the last {keeps} s \
                 used. The table also holds the connections of earlier trials.",
                ports.ranges.len(),
                ports.ranges[0].count()
            ),
        }
    }

    /// Waits until all connections that the next phase 1 could meet have timed out, and chooses its source ports.
    pub(super) fn before_phase1(&mut self) -> Result<(), TrialError> {
        let Some(ports) = &mut self.ports else { return wait(self.keeps, &self.interrupted) };
        let now = SystemTime::now();
        ports.used.leave(now).map_err(|e| failed(&e))?;
        let (next, time) = ports.used.first_free(&ports.ranges, now).expect("there are ranges");
        if !ports.is_check {
            wait(time, &self.interrupted)?;
        }
        ports.used.take(next, SystemTime::now()).map_err(|e| failed(&e))?;
        ports.taken = Some(next);
        Ok(())
    }

    /// Source ports of the next phase 1; `None` for all.
    pub(super) fn source_ports(&self) -> Option<PortRange> {
        self.ports.as_ref()?.taken
    }
}

impl Drop for UnclearedBox {
    fn drop(&mut self) {
        if let Some(ports) = self.ports.as_mut().filter(|ports| ports.taken.is_some()) {
            // Without this record, the next run assumes that the ports were in use until it begins.
            let _ = ports.used.leave(SystemTime::now());
        }
    }
}

fn wait(time: Duration, interrupted: &AtomicBool) -> Result<(), TrialError> {
    let end = Instant::now() + time;
    while let Some(left) = end.checked_duration_since(Instant::now()).filter(|left| !left.is_zero()) {
        if interrupted.load(Ordering::Relaxed) {
            return Err(TrialError::Interrupted);
        }
        std::thread::sleep(left.min(Duration::from_millis(50)));
    }
    Ok(())
}
