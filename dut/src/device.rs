//! A device under test of this machine's kernel, from nothing to a known state and back: what the command line uses.

use crate::DutError;
use crate::bed::{BedConfig, LEFT, Ports, RIGHT, Side};
use crate::changes::{Changes, Undone};
use crate::facts::{self, Fact};
use crate::host::{DryRun, Here, Host, Log, Namespace, Order};
use crate::lock::{Lock, RunDir, What};
use crate::probe::{self, Seen};
use crate::software::conntrack::{self, Cleared, Situation};
use crate::software::{self, Software};
use crate::step::{Sink, Step, no_sink};
use crate::tool::{self, Tool};
use port::{Clock, Pool, Port};
use serde::{Deserialize, Serialize};
use std::net::Ipv4Addr;
use std::sync::Arc;

/// Which device, in which state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeviceConfig {
    /// Name of its software, as in [`software::KNOWN`].
    pub software: String,
    /// What is asked of the software.
    #[serde(default)]
    pub config: software::Config,
    /// The test bed around it.
    #[serde(default)]
    pub bed: BedConfig,
}

/// A device in a known state. It is taken down when dropped, machine-wide settings included; what could not be undone
/// goes to the sink then.
pub struct Device {
    software: &'static Software,
    bed: BedConfig,
    changes: Changes,
    host: Namespace,
    facts: Vec<Fact>,
    standing: bool,
    // Last, so that it is given back when all else is done.
    _lock: Lock,
}

impl Device {
    /// Build the test bed, configure the software, see that the device is alive and does what it should, and empty
    /// its table. Needs root, or a process that entered a user namespace.
    ///
    /// # Errors
    /// When something asked for cannot be had or fails; nothing is left of it then.
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

    /// Take the tester's end of one side. It can be taken again when the port has been dropped.
    ///
    /// # Errors
    /// When it is taken.
    pub fn open(&self, side: &Side, clock: Clock, pool: &mut Pool) -> Result<Box<dyn Port>, DutError> {
        self.bed.open(&self.host, side, clock, pool)
    }

    /// Take both for one worker: left, right.
    ///
    /// # Errors
    /// When one is taken.
    pub fn open_ports(&self, clock: Clock, pool: &mut Pool) -> Result<Ports, DutError> {
        Ok((self.open(&LEFT, clock, pool)?, self.open(&RIGHT, clock, pool)?))
    }

    /// Empty its table, and see that it is empty; none if it keeps none.
    ///
    /// # Errors
    /// When the command fails, or entries remain.
    pub fn clear(&mut self) -> Result<Option<Cleared>, DutError> {
        if self.software.stateful { conntrack::clear(&mut self.changes).map(Some) } else { Ok(None) }
    }

    /// Connections in its table; none if it keeps none.
    ///
    /// # Errors
    /// When the kernel does not tell.
    pub fn count(&mut self) -> Result<Option<u64>, DutError> {
        if self.software.stateful { conntrack::count(&mut self.changes).map(Some) } else { Ok(None) }
    }

    /// Is it alive? A few frames over ports that were opened here; makes one connection in its table.
    ///
    /// # Errors
    /// What is missing.
    pub fn alive(&self, left: &mut dyn Port, right: &mut dyn Port, pool: &mut Pool) -> Result<Seen, DutError> {
        probe::probe(left, right, pool)
    }

    /// What a result on this device depends on.
    pub fn facts(&self) -> &[Fact] {
        &self.facts
    }

    /// Its software.
    pub fn software(&self) -> &'static Software {
        self.software
    }

    /// Its namespaces, to look at.
    pub fn host(&self) -> &Namespace {
        &self.host
    }

    /// Take it down and tell how that went. Ports that are still open keep their interfaces until they are dropped.
    pub fn teardown(mut self) -> Undone {
        self.down()
    }

    fn down(&mut self) -> Undone {
        if !std::mem::take(&mut self.standing) {
            return Undone::default();
        }
        // Entries that are left to the end of the namespace are freed by the kernel in the background, for seconds,
        // on the cores of the next measurement. Should it fail, they are freed that way all the same.
        let _ = self.clear();
        self.changes.undo_all()
    }

    fn see_that_it_works(&mut self, config: &DeviceConfig, clock: Clock) -> Result<(), DutError> {
        let mut pool = Pool::single(self.bed.pools(1, 256, 1514))?;
        let (mut left, mut right) = self.open_ports(clock, &mut pool)?;
        let seen = self.alive(&mut *left, &mut *right, &mut pool)?;
        let inside = Ipv4Addr::from(LEFT.tester);
        let right_source = if self.software.stateful {
            config.config.pool.contains(seen.address, seen.port)
        } else {
            seen.address == inside
        };
        if !right_source {
            let Seen { address, port } = seen;
            return Err(DutError::Dead(format!(
                "{} makes {address}:{port} out of the source {inside}, which is not what its configuration says",
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

/// What [`Device::prepare`] would do, in order, without doing it; `natmeter plan --steps`. Needs neither privilege nor
/// the programs that the steps run.
///
/// # Errors
/// When something asked for cannot be had.
pub fn plan(config: &DeviceConfig) -> Result<Vec<Order>, DutError> {
    let (software, _) = check(config)?;
    let host = DryRun::over(Here::new());
    let orders = host.orders();
    // A rehearsal keeps no journal, so that the folder is never looked at.
    let mut changes = Changes::on(Box::new(host), RunDir::of_this_user(), no_sink());
    bring_up(&mut changes, software, config)?;
    let orders = orders.lock().expect("no panic while held").clone();
    Ok(orders)
}

/// See that everything that these devices need is installed: asked before a run, so that nobody waits for the first device
/// to learn what the last one lacks.
///
/// # Errors
/// All programs that are missing, with their packages; or what TAP interfaces are made through.
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

/// What of a device root alone can have, as it is refused to others; none where a user namespace suffices.
pub fn what_takes_root(config: &DeviceConfig) -> Option<DutError> {
    takes_root(config, Situation { memory: u64::MAX, ..Situation::now() })
}

fn takes_root(config: &DeviceConfig, now: Situation) -> Option<DutError> {
    let software = software::named(&config.software).ok()?;
    let table = |adjustable| table(software, config, &Situation { adjustable, ..now });
    // What nobody can have is no matter of root.
    let refused = || table(false).err().filter(|_| table(true).is_ok());
    config.bed.what_takes_root().or_else(refused)
}

/// Refuse what cannot be had before anything is touched.
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

/// All steps, in order.
fn bring_up(changes: &mut Changes, software: &Software, config: &DeviceConfig) -> Result<(), DutError> {
    let table_changes = table(software, config, &Situation::now())?.iter().any(Step::is_machine_wide);
    if table_changes || config.bed.is_machine_wide() || changes.is_journal_left() {
        // Before the first step, so that a second run refuses before it has done anything; and what a killed run
        // left behind is put back before the old values are looked at.
        changes.begin_journal()?;
    }
    changes.carry_out(&config.bed.steps())?;
    changes.carry_out(&(software.steps)(&config.config))?;
    // Only now: the first rule may have made the kernel load connection tracking.
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
    fn larger_tables_take_root_and_impossible_ones_do_not() {
        let now = Situation { max: Some(262_144), buckets: Some(262_144), adjustable: true, memory: u64::MAX };
        let with = |connections| {
            let config = software::Config { connections, ..software::Config::default() };
            let config = DeviceConfig { config, ..self::config("nftables") };
            takes_root(&config, now).map(|refused| refused.to_string())
        };
        assert_eq!(with(100_000), None);
        assert!(with(1_000_000).is_some_and(|words| words.contains("only root")), "{:?}", with(1_000_000));
        assert_eq!(with(1 << 31), None, "nobody can have it");
        let bed = BedConfig { dut_cores: vec![0], ..BedConfig::default() };
        let config = DeviceConfig { bed, ..config("nftables") };
        assert!(takes_root(&config, now).is_some_and(|refused| refused.to_string().contains("takes root")));
    }

    #[test]
    fn a_plan_lists_the_bed_then_the_rule_then_the_timeouts() {
        let orders = plan(&config("nftables")).unwrap();
        let at = |text: &str| orders.iter().position(|o| o.action.to_string().contains(text)).expect(text);
        let order = ["ip tuntap add dev left", "ip addr add 198.19.0.1/24", "nft -f", "udp_timeout_stream"].map(at);
        assert!(order.is_sorted(), "{order:?}");
    }

    #[test]
    fn a_device_that_cannot_be_had_is_refused_in_the_plan() {
        assert!(matches!(plan(&config("no-such-software")), Err(DutError::Refused { .. })));
    }
}
