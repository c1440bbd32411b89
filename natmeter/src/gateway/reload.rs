//! Reloads the file of a running gateway: builds the new configuration while packets flow, and
//! gives it to all workers, or refuses it as a whole.

use super::next_hops::Watches;
use super::running::{Removal, RunningGateway};
use super::table_file::{Changes, TableFile};
use super::{build, limited, next_hops, owns};
use plane::lw4o6::BindingTable;
use std::fmt::Write;
use std::net::IpAddr;
use std::sync::Arc;

impl RunningGateway<'_> {
    /// Returns the changes of the binding table, and the next hops that do not answer. Fails for a
    /// wrong file or table, for what cannot change, and when the gateway is stopping.
    pub(super) fn reload(&mut self, removal: Removal) -> Result<String, String> {
        let new = scenario::gateway::read(self.file, tech::ALL).map_err(|e| e.to_string())?;
        self.gateway.can_become(&new)?;
        let table_file = TableFile::of(new.technology.as_ref())?;
        let (watches, workers) = (&mut self.watches, &self.workers);
        let silent = next_hops::ask_again(&new, &self.next_hops, &self.macs, workers, watches, self.stop);
        self.is_going_on()?;
        let macs = next_hops::known(&new, &self.next_hops, &self.macs);
        let built =
            build(&new.without_tables(), macs, new.workers, 0, self.live.as_ref()).map_err(|e| e.to_string())?;
        let (functions, table) = (limited(&new, built.functions), built.table);
        self.is_going_on()?;
        table_file.as_ref().map_or(Ok(()), TableFile::is_unchanged)?;
        let changes = self.changes(table.as_ref())?;
        if let (Some(file), Some(changes), Removal::Few) = (&table_file, &changes, removal) {
            file.keeps_most(changes)?;
        }
        self.workers.adopt(functions, removal == Removal::Any)?;
        if let (Some(live), Some(table)) = (&self.live, table) {
            live.replace(table);
        }
        let silent_worker = |worker| format!("worker {worker} does not answer");
        if next_hops::have_changed(&new, &self.next_hops) {
            self.next_hops = Arc::new(next_hops::learnt(&new, &macs));
            self.watches = Watches::new();
            self.workers.learn(&self.next_hops).map_err(silent_worker)?;
        } else {
            next_hops::built_with(&self.next_hops, &macs);
        }
        let owns = new.answer.then(|| owns(&new, macs));
        self.workers.answer_for(owns).map_err(silent_worker)?;
        (self.gateway, self.macs) = (new, macs);
        Ok(told(changes, &silent))
    }

    fn changes(&self, new: Option<&BindingTable>) -> Result<Option<Changes>, String> {
        let (Some(live), Some(new)) = (&self.live, new) else { return Ok(None) };
        let old = live.current();
        if new.is_empty() && !old.is_empty() {
            let kept = old.len();
            return Err(format!(
                "the new binding table has no softwire; the gateway keeps the old one with {kept} softwires"
            ));
        }
        Ok(Some(Changes::between(&old, new)))
    }
}

/// Answer to a successful reload.
fn told(changes: Option<Changes>, silent: &[IpAddr]) -> String {
    let mut text = changes.map_or_else(|| "reloaded".into(), |c| format!("reloaded: {c}"));
    for address in silent {
        let _ = write!(text, "; next hop {address} does not answer, so its Ethernet address stays as it was");
    }
    text + "\n"
}
