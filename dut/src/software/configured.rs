//! Software that steps configure in a namespace of this machine: its rules, the size and time-outs of its table, and the
//! cores that forward its packets.

use super::conntrack::{self, Cleared, Situation};
use super::{Software, SoftwareConfig};
use crate::DutError;
use crate::backlog::Backlog;
use crate::changes::{Changes, UndoResult};
use crate::facts::{self, Fact};
use crate::host::Namespace;
use crate::interface::{is_online, steer};
use crate::lock::RunDir;
use crate::memory::{self, HashTable, Memory};
use crate::side::{LEFT, RIGHT};
use crate::step::{Sink, Step};
use crate::tool;
use port::netns::{Netns, in_user_namespace};

#[derive(Clone, Debug)]
pub struct Configuration {
    pub software: &'static Software,
    pub config: SoftwareConfig,
    /// Cores that forward its packets; if empty, the sender's.
    pub cores: Vec<usize>,
}

impl Configuration {
    /// Checks that this machine can have the configuration.
    pub fn check(&self) -> Result<(), DutError> {
        self.config.check(self.software)?;
        if let Some(refused) = self.pinning_takes_root().filter(|_| in_user_namespace()) {
            return Err(refused);
        }
        if let Some(core) = self.cores.iter().find(|core| !is_online(**core)) {
            let way_out = format!("choose among {:?}", port::host::cores());
            return Err(DutError::refused(format!("this machine has no core {core}"), way_out));
        }
        self.table(&Situation::now()).map(drop)
    }

    /// Returns the error for a part that only root can use; none if a user namespace is enough.
    pub fn what_takes_root(&self) -> Option<DutError> {
        self.takes_root(Situation { memory: u64::MAX, ..Situation::now() })
    }

    fn takes_root(&self, now: Situation) -> Option<DutError> {
        let table = |adjustable| self.table(&Situation { adjustable, ..now });
        // A table that root cannot have either does not need root.
        let refused = || table(false).err().filter(|_| table(true).is_ok());
        self.pinning_takes_root().or_else(refused)
    }

    /// Returns the error for its cores, which only root can choose.
    pub fn pinning_takes_root(&self) -> Option<DutError> {
        let what = "pinning the DUT to cores needs root; a user namespace is not enough";
        (!self.cores.is_empty()).then(|| DutError::refused(what, "run as root, or remove the cores"))
    }

    /// Returns the actions of [`ConfiguredSoftware::prepare`] without carrying them out.
    pub fn plan(&self) -> Result<Vec<Step>, DutError> {
        self.check()?;
        Changes::rehearsed(|changes| self.bring_up(changes).map(drop))
    }

    fn table(&self, situation: &Situation) -> Result<Vec<Step>, DutError> {
        if self.software.stateful { conntrack::steps(&self.config, situation) } else { Ok(Vec::new()) }
    }

    pub(crate) fn bring_up(&self, changes: &mut Changes) -> Result<Option<Backlog>, DutError> {
        let table_changes = self.table(&Situation::now())?.iter().any(Step::is_machine_wide);
        if table_changes || !self.cores.is_empty() || changes.is_journal_left() {
            // A second run must be refused, and settings of a killed run restored, before anything is read or changed.
            changes.begin_journal()?;
        }
        let backlog = if self.cores.is_empty() { None } else { Some(Backlog::raise(changes)?) };
        changes.carry_out(&self.placement())?;
        changes.carry_out(&(self.software.steps)(&self.config))?;
        // After the rules, because the first rule may make the kernel load connection tracking.
        let table = self.table(&Situation::now()).inspect_err(|_| drop(changes.undo_all()))?;
        changes.carry_out(&table)?;
        Ok(backlog)
    }

    fn placement(&self) -> Vec<Step> {
        let sides = if self.cores.is_empty() { &[][..] } else { &[LEFT, RIGHT] };
        let forward = |name: &str| format!("cores that forward frames from the {name}");
        sides.iter().map(|side| Step::dut(forward(side.name), steer(side.name, 0, &self.cores))).collect()
    }
}

/// Software in a known state. Dropping it undoes its steps; the sink receives the failures.
pub struct ConfiguredSoftware {
    software: &'static Software,
    changes: Changes,
    facts: Vec<Fact>,
    is_standing: bool,
}

impl ConfiguredSoftware {
    /// Configures the software in a namespace with both interfaces. Needs root, or a process that entered a user
    /// namespace.
    pub fn prepare(
        configuration: &Configuration,
        namespace: &Netns,
        dir: &RunDir,
        sink: &Sink,
    ) -> Result<ConfiguredSoftware, DutError> {
        let Configuration { software, config, .. } = configuration;
        configuration.check()?;
        tool::require(software.tools)?;
        let host = Namespace::between(namespace.clone(), namespace.clone());
        let mut changes = Changes::logged(host, dir, sink);
        let backlog = configuration.bring_up(&mut changes)?;
        let mut facts = facts::collect(&mut changes, software, config);
        if let Some(doubt) = backlog.and_then(|backlog| backlog.doubt()) {
            facts.push(Fact { doubt: Some(doubt), ..Fact::new("queue in front of each core", "not raised") });
        }
        Ok(ConfiguredSoftware { software, changes, facts, is_standing: true })
    }

    /// Empties the connection tracking table and checks that it is empty; none if the software keeps no table.
    pub fn clear(&mut self) -> Result<Option<Cleared>, DutError> {
        if self.software.stateful { conntrack::clear(&mut self.changes).map(Some) } else { Ok(None) }
    }

    /// Returns the number of connections in the table; none if the software keeps no table.
    pub fn count(&mut self) -> Result<Option<u64>, DutError> {
        if self.software.stateful { conntrack::count(&mut self.changes).map(Some) } else { Ok(None) }
    }

    /// Returns the kernel memory that grows with the table, if it has one and the kernel tells.
    pub fn memory(&mut self) -> Result<Option<Memory>, DutError> {
        let Some(octets) = memory::of_kernel().filter(|_| self.software.stateful) else { return Ok(None) };
        let table = match memory::of_hash_table() {
            Some(bytes) => Some(HashTable { buckets: conntrack::bucket_count(&mut self.changes)?, bytes }),
            None => None,
        };
        Ok(Some(Memory { octets, table, source: memory::SOURCE }))
    }

    pub fn facts(&self) -> &[Fact] {
        &self.facts
    }

    /// Empties the table and undoes the steps.
    pub fn teardown(mut self) -> UndoResult {
        self.down()
    }

    fn down(&mut self) -> UndoResult {
        if !std::mem::take(&mut self.is_standing) {
            return UndoResult::default();
        }
        // The kernel would free the entries for seconds, on the cores of the next measurement.
        let _ = self.clear();
        self.changes.undo_all()
    }
}

impl Drop for ConfiguredSoftware {
    fn drop(&mut self) {
        self.down();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::software::named;

    fn nftables(connections: u64, cores: Vec<usize>) -> Configuration {
        let config = SoftwareConfig { connections, ..SoftwareConfig::default() };
        Configuration { software: named("nftables").unwrap(), config, cores }
    }

    #[test]
    fn larger_tables_need_root_and_impossible_ones_do_not() {
        let now = Situation { max: Some(262_144), buckets: Some(262_144), adjustable: true, memory: u64::MAX };
        let with = |connections| nftables(connections, Vec::new()).takes_root(now).map(|refused| refused.to_string());
        assert_eq!(with(100_000), None);
        assert!(with(1_000_000).is_some_and(|words| words.contains("only root")), "{:?}", with(1_000_000));
        assert_eq!(with(1 << 31), None, "root cannot have it either");
        assert!(nftables(0, vec![0]).takes_root(now).unwrap().to_string().contains("needs root"));
    }

    #[test]
    fn a_plan_lists_the_cores_then_the_rule_then_the_timeouts() {
        let orders = nftables(0, vec![port::host::cores()[0]]).plan().unwrap();
        let at = |text: &str| orders.iter().position(|o| o.action.to_string().contains(text)).expect(text);
        let order = ["netdev_max_backlog", "rps_cpus", "nft -f", "udp_timeout_stream"].map(at);
        assert!(order.is_sorted(), "{order:?}");
    }

    #[test]
    fn an_unknown_core_is_named() {
        let error = nftables(0, vec![100_000]).check().unwrap_err().to_string();
        assert!(error.contains("no core 100000") || error.contains("needs root"), "{error}");
    }
}
