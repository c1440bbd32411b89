//! A device under test in this machine's kernel: prepares it, opens its ports, counts its table, and tears it down.

use crate::DutError;
use crate::bed::{BedConfig, Ports};
use crate::changes::{Changes, Undone};
use crate::facts::{self, Fact};
use crate::host::{DryRun, Here, Host, Log, Namespace, Order};
use crate::lock::{Lock, RunDir, What};
use crate::memory;
use crate::null::{self, Done, Work};
use crate::probe::{self, Seen};
use crate::side::{LEFT, RIGHT, Side};
use crate::software::conntrack::{self, Cleared, Situation};
use crate::software::{self, Software};
use crate::step::{Sink, Step, no_sink};
use crate::tool::{self, Tool};
use port::{Clock, Pool, Port};
use serde::{Deserialize, Serialize};
use std::net::IpAddr;
use std::sync::Arc;

/// A device and the state in which it is prepared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeviceConfig {
    /// Name of its software, as in [`software::KNOWN`].
    pub software: String,
    #[serde(default)]
    pub config: software::Config,
    #[serde(default)]
    pub bed: BedConfig,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HashTable {
    pub buckets: u64,
    /// Octets of all of them.
    pub bytes: u64,
}

/// A device in a known state. Dropping it tears it down; the sink receives the failures.
pub struct Device {
    software: &'static Software,
    bed: BedConfig,
    changes: Changes,
    host: Namespace,
    facts: Vec<Fact>,
    standing: bool,
    // Last field: dropped after all others.
    _lock: Lock,
}

impl Device {
    /// Builds the test bed, configures the software, checks that the device translates as configured, and empties its
    /// table. Needs root, or a process that entered a user namespace.
    ///
    /// # Errors
    /// When the configuration is unsupported or a step fails; all steps have been undone.
    pub fn prepare(config: &DeviceConfig, dir: &RunDir, sink: &Sink, clock: Clock) -> Result<Device, DutError> {
        let (software, tools) = check(config)?;
        tool::require(&tools)?;
        config.bed.see_that_ports_can_be_made()?;
        let lock = Lock::take(dir, What::Bed)?;
        let host = Namespace::new()?;
        let logged: Box<dyn Host> = Box::new(Log::over(host.clone(), Arc::clone(sink)));
        let mut changes = Changes::on(logged, dir.clone(), Arc::clone(sink));
        bring_up(&mut changes, software, config)?;
        let facts = facts::collect(&mut changes, software, &config.config, &tools);
        let bed = config.bed.clone();
        let mut device = Device { software, bed, changes, host, facts, standing: true, _lock: lock };
        device.see_that_it_works(config, clock)?;
        Ok(device)
    }

    /// Opens the tester's end of one side, again if the port has been dropped.
    pub fn open(&self, side: &Side, clock: Clock, pool: &mut Pool) -> Result<Box<dyn Port>, DutError> {
        self.bed.open(&self.host, side, clock, pool)
    }

    /// Opens both ends for one worker: left, right.
    pub fn open_ports(&self, clock: Clock, pool: &mut Pool) -> Result<Ports, DutError> {
        Ok((self.open(&LEFT, clock, pool)?, self.open(&RIGHT, clock, pool)?))
    }

    /// Empties the connection tracking table and checks that it is empty; none if the software keeps no table.
    pub fn clear(&mut self) -> Result<Option<Cleared>, DutError> {
        if self.software.stateful { conntrack::clear(&mut self.changes).map(Some) } else { Ok(None) }
    }

    /// Returns the octets of kernel memory that grow with the table, if it has one and the kernel tells.
    pub fn memory(&self) -> Option<u64> {
        memory::of_kernel().filter(|_| self.software.stateful)
    }

    /// Returns the hash table of connection tracking, if any and known (see [`memory`]).
    pub fn hash_table(&mut self) -> Result<Option<HashTable>, DutError> {
        let Some(bytes) = memory::of_hash_table().filter(|_| self.software.stateful) else { return Ok(None) };
        Ok(Some(HashTable { buckets: conntrack::bucket_count(&mut self.changes)?, bytes }))
    }

    /// Returns the number of connections in the table; none if the software keeps no table.
    pub fn count(&mut self) -> Result<Option<u64>, DutError> {
        if self.software.stateful { conntrack::count(&mut self.changes).map(Some) } else { Ok(None) }
    }

    /// Checks with a few frames, which add one connection, that the device answers.
    ///
    /// # Errors
    /// When a frame is missing or wrong.
    pub fn alive(&self, left: &mut dyn Port, right: &mut dyn Port, pool: &mut Pool) -> Result<Seen, DutError> {
        probe::probe(left, right, pool, self.bed.ipv6)
    }

    /// Puts the null device in place of the device, or restores the device.
    ///
    /// # Errors
    /// When the command fails: the kernel may lack `nf_tables` at the ingress of an interface.
    pub fn set_null(&mut self, on: bool) -> Result<(), DutError> {
        null::set(&mut self.changes, self.bed.back_end, on)
    }

    /// Reads what the cores of the device did, if the kernel tells.
    pub fn work(&mut self, of: &Work) -> Option<Done> {
        of.read(&mut self.changes)
    }

    /// Returns the facts that a result on this device depends on.
    pub fn facts(&self) -> &[Fact] {
        &self.facts
    }

    pub fn software(&self) -> &'static Software {
        self.software
    }

    /// Its namespaces, for inspection.
    pub fn host(&self) -> &Namespace {
        &self.host
    }

    /// Tears the device down, except interfaces of ports that are still open.
    pub fn teardown(mut self) -> Undone {
        self.down()
    }

    fn down(&mut self) -> Undone {
        if !std::mem::take(&mut self.standing) {
            return Undone::default();
        }
        // The kernel would free the entries for seconds, on the cores of the next measurement.
        let _ = self.clear();
        self.changes.undo_all()
    }

    fn see_that_it_works(&mut self, config: &DeviceConfig, clock: Clock) -> Result<(), DutError> {
        let mut pool = Pool::single(self.bed.pools(1, 256, 1514))?;
        let (mut left, mut right) = self.open_ports(clock, &mut pool)?;
        let seen = self.alive(&mut *left, &mut *right, &mut pool)?;
        let inside = probe::tester(&LEFT, self.bed.ipv6);
        let right_source = match seen.address {
            IpAddr::V4(address) if self.software.stateful => config.config.pool.contains(address, seen.port),
            address => address == inside,
        };
        if !right_source {
            let Seen { address, port } = seen;
            return Err(DutError::Dead(format!(
                "{} translates the source {inside} to {address}:{port}, which contradicts its configuration",
                self.software.name
            )));
        }
        self.clear().map(drop)
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        self.down();
    }
}

/// Returns the actions of [`Device::prepare`] without carrying them out, which needs neither privilege nor programs.
pub fn plan(config: &DeviceConfig) -> Result<Vec<Order>, DutError> {
    let (software, _) = check(config)?;
    let host = DryRun::over(Here::new());
    let orders = host.orders();
    // A dry run keeps no journal, so that the folder is never read.
    let mut changes = Changes::on(Box::new(host), RunDir::of_this_user(), no_sink());
    bring_up(&mut changes, software, config)?;
    let orders = orders.lock().expect("no panic while held").clone();
    Ok(orders)
}

/// Checks that the programs and kernel interfaces for all these devices are installed.
///
/// # Errors
/// All missing programs with their packages, or a missing /dev/net/tun.
pub fn see_that_tools_are_there(configs: &[DeviceConfig]) -> Result<(), DutError> {
    let mut needed: Vec<Tool> = Vec::new();
    for config in configs {
        let software = software::named(&config.software)?;
        let new = [config.bed.tools(), software.tools].concat().into_iter().filter(|tool| !needed.contains(tool));
        needed.extend(new.collect::<Vec<_>>());
    }
    tool::require(&needed)?;
    configs.iter().try_for_each(|config| config.bed.see_that_ports_can_be_made())
}

/// Returns the error for a part of the configuration that only root can use; none if a user namespace is enough.
pub fn what_takes_root(config: &DeviceConfig) -> Option<DutError> {
    takes_root(config, Situation { memory: u64::MAX, ..Situation::now() })
}

fn takes_root(config: &DeviceConfig, now: Situation) -> Option<DutError> {
    let software = software::named(&config.software).ok()?;
    let table = |adjustable| table(software, config, &Situation { adjustable, ..now });
    // A table that root cannot have either does not need root.
    let refused = || table(false).err().filter(|_| table(true).is_ok());
    config.bed.what_takes_root().or_else(refused)
}

fn check(config: &DeviceConfig) -> Result<(&'static Software, Vec<Tool>), DutError> {
    let software = software::named(&config.software)?;
    config.config.check(software)?;
    config.bed.check()?;
    table(software, config, &Situation::now())?;
    Ok((software, [config.bed.tools(), software.tools].concat()))
}

fn table(software: &Software, config: &DeviceConfig, situation: &Situation) -> Result<Vec<Step>, DutError> {
    if software.stateful { conntrack::steps(&config.config, situation) } else { Ok(Vec::new()) }
}

fn bring_up(changes: &mut Changes, software: &Software, config: &DeviceConfig) -> Result<(), DutError> {
    let table_changes = table(software, config, &Situation::now())?.iter().any(Step::is_machine_wide);
    if table_changes || config.bed.is_machine_wide() || changes.is_journal_left() {
        // A second run must be refused, and settings of a killed run restored, before anything is read or changed.
        changes.begin_journal()?;
    }
    changes.carry_out(&config.bed.steps())?;
    changes.carry_out(&(software.steps)(&config.config))?;
    // After the rules, because the first rule may make the kernel load connection tracking.
    match table(software, config, &Situation::now()) {
        Ok(steps) => changes.carry_out(&steps),
        Err(error) => {
            changes.undo_all();
            Err(error)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(software: &str) -> DeviceConfig {
        DeviceConfig { software: software.into(), config: software::Config::default(), bed: BedConfig::default() }
    }

    #[test]
    fn larger_tables_need_root_and_impossible_ones_do_not() {
        let now = Situation { max: Some(262_144), buckets: Some(262_144), adjustable: true, memory: u64::MAX };
        let with = |connections| {
            let config = software::Config { connections, ..software::Config::default() };
            let config = DeviceConfig { config, ..self::config("nftables") };
            takes_root(&config, now).map(|refused| refused.to_string())
        };
        assert_eq!(with(100_000), None);
        assert!(with(1_000_000).is_some_and(|words| words.contains("only root")), "{:?}", with(1_000_000));
        assert_eq!(with(1 << 31), None, "root cannot have it either");
        let bed = BedConfig { dut_cores: vec![0], ..BedConfig::default() };
        let config = DeviceConfig { bed, ..config("nftables") };
        assert!(takes_root(&config, now).is_some_and(|refused| refused.to_string().contains("needs root")));
    }

    #[test]
    fn a_plan_lists_the_bed_then_the_rule_then_the_timeouts() {
        let orders = plan(&config("nftables")).unwrap();
        let at = |text: &str| orders.iter().position(|o| o.action.to_string().contains(text)).expect(text);
        let order = ["ip tuntap add dev left", "ip addr add 198.19.0.1/24", "nft -f", "udp_timeout_stream"].map(at);
        assert!(order.is_sorted(), "{order:?}");
    }

    #[test]
    fn an_unknown_software_is_refused_in_the_plan() {
        assert!(matches!(plan(&config("no-such-software")), Err(DutError::Refused { .. })));
    }
}
