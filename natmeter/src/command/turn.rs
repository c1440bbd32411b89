//! One measurement at a time per machine: takes the machine's lock, or waits for it with `--wait`.

use super::{fail, failed};
use crate::cli::Turn;
use crate::exit::Exit;
use crate::priority::{self, RaisedPriority};
use crate::rig::{RigError, RunContext};
use crate::run::RunError;
use crate::signals;
use crate::term::err;
use dut::lock::Lock;
use dut::{DutError, Holder, MachineLock, RunDir, port_lock};
use scenario::Scenario;
use signal_hook::iterator::Signals;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Interval of attempts with `--wait`.
const ASK_AGAIN: Duration = Duration::from_millis(500);

/// The right to measure of this command on this machine, until it is dropped.
pub(super) struct MyTurn {
    /// Restored first, so that a process that waits for the locks below finds the session as it was.
    raised: Option<RaisedPriority>,
    waits: TurnWait,
    _lock: Option<MachineLock>,
    ports: Vec<Lock>,
    /// What another process measures at the same time.
    pub(super) beside: Option<String>,
}

impl MyTurn {
    /// Takes the machine's lock: with `--wait`, waits until the machine is free. With `--beside`,
    /// and for root if another user measures, continues without the lock. Returns the exit code
    /// after printing the holder of the lock, or the end of the wait by a signal.
    pub(super) fn take(turn: Turn) -> Result<MyTurn, Exit> {
        let mut waits = TurnWait { is_wanted: turn.wait, signals: None, told: None };
        loop {
            let (lock, holder) = match MachineLock::take() {
                Ok(mut lock) => {
                    let user = lock.disturbed_by();
                    (Some(lock), user)
                }
                Err(DutError::Busy { holder, .. }) if turn.beside || turn.wait => (None, Some(holder)),
                Err(_) if turn.beside => (None, None),
                Err(error @ DutError::Busy { .. }) => {
                    let ways = "or use --wait to start after it, or --beside to measure at the same time";
                    return Err(failed(format_args!("{error}; {ways}")));
                }
                Err(error) => return Err(fail(RigError::from(error))),
            };
            match holder {
                Some(holder) if turn.wait => waits.once_for(&holder, "measures on this machine")?,
                holder => {
                    let beside = holder.map(|h| format!("{h} measured on this machine at the same time"));
                    return Ok(MyTurn { waits, _lock: lock, ports: Vec::new(), raised: None, beside });
                }
            }
        }
    }

    /// Waits until another process no longer has what `ask` asks for; without `--wait`, once.
    pub(super) fn wait_for<T>(&mut self, ask: impl Fn() -> Result<T, DutError>) -> Result<T, Exit> {
        loop {
            match ask() {
                Ok(found) => return Ok(found),
                Err(DutError::Busy { holder, what }) if self.waits.is_wanted => {
                    self.waits.once_for(&holder, &format!("uses {what}"))?;
                }
                Err(error @ DutError::Busy { .. }) => {
                    return Err(failed(format_args!("{error}; or use --wait to start after it")));
                }
                Err(error) => return Err(fail(RigError::from(error))),
            }
        }
    }

    /// Also locks the interfaces of the scenario's test bed. Interfaces that natmeter makes itself need no lock.
    pub(super) fn at_ports(turn: Turn, scenario: &Scenario) -> Result<MyTurn, Exit> {
        let mut mine = MyTurn::take(turn)?;
        if let Some(bed) = scenario.bed.as_ref().filter(|bed| !bed.makes_links()) {
            let names = bed.ports().map(|(_, port)| port.interface.as_str());
            mine.ports = mine.wait_for(|| port_lock::take(&RunDir::of_this_user(), &names))?;
        }
        Ok(mine)
    }

    /// This process, which ends its trial and restores everything on Ctrl-C; a second Ctrl-C ends
    /// it at once. From then on the session has the priority of a measurement.
    pub(super) fn process(&mut self) -> Result<RunContext, Exit> {
        let process = RunContext::new();
        signals::end_on(&process.interrupted).map_err(|error| fail(RunError::Signals(error)))?;
        // A signal may have arrived after a wait.
        if self.waits.is_interrupted() {
            process.interrupted.store(true, Ordering::Relaxed);
        }
        self.raised.get_or_insert_with(priority::raise);
        Ok(process)
    }
}

struct TurnWait {
    is_wanted: bool,
    /// Caught from the first wait on. No thread reads them, because a process with threads cannot
    /// enter a user namespace.
    signals: Option<Signals>,
    /// Message that was printed last.
    told: Option<String>,
}

impl TurnWait {
    /// Tries once: names the holder, unless it did already, and waits a moment.
    fn once_for(&mut self, holder: &Holder, does: &str) -> Result<(), Exit> {
        if self.signals.is_none() {
            let caught = signals::handled().and_then(|signals| Signals::new(&signals));
            self.signals = Some(caught.map_err(|error| fail(RunError::Signals(error)))?);
        }
        let words = format!("waiting for {holder}, which {does}; Ctrl-C ends the wait\n");
        if self.told.as_ref() != Some(&words) {
            err(&words);
            self.told = Some(words);
        }
        std::thread::sleep(ASK_AGAIN);
        if self.is_interrupted() {
            err("error: interrupted while waiting: nothing was measured\n");
            return Err(Exit::Interrupted);
        }
        Ok(())
    }

    fn is_interrupted(&mut self) -> bool {
        self.signals.as_mut().is_some_and(|signals| signals.pending().next().is_some())
    }
}
