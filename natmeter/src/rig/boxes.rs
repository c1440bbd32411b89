//! The boxes between the ports of a test bed, as the engine's device. Their hooks bring them into
//! the state of a point, empty and count their tables, and restore them.

mod cores;
mod profile;
mod spread;

use super::cpu::OfCores;
use super::files::{folder, open, ssh_config};
use super::place::{Place, named};
use super::uncleared::UnclearedBox;
use super::{RigError, RunContext, Words, configuration, doubts_of, failed, guest, ports};
use cores::{core_mask, cores_here, cores_of_boxes, steered};

pub(crate) use cores::on_this_machine;
use dut::external::{External, ExternalConfig, Hook, Hooks, On};
use dut::software::boxes;
use dut::{DutError, PacketThreads, RunDir};
use engine::{Clearing, ClockAt, CoreTime, CpuTimes, Device, DeviceStalls, MemoryNow, ProfileRun};
use method::trial::{Buckets, Disruption, Profiler};
use method::{Nanos, TrialError};
use record::folder::FactTable;
use scenario::bed::software::BoxPart;
use scenario::bed::{self, Bed, BoxKeys};
use scenario::{Point, Scenario, show_range};
use spread::ReceiveCounts;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use wire::PortRange;

/// The boxes; empty once they are restored.
type RunningBoxes = Arc<Mutex<Vec<External>>>;

pub(super) struct Boxes {
    running: RunningBoxes,
    /// Facts from the bed file, or found by natmeter.
    pub(super) facts: FactTable,
    doubts: Vec<String>,
    counts: bool,
    /// Queues of each box, before the trials.
    queues: Vec<ReceiveCounts>,
    /// Cores of this machine that forward packets of boxes in namespaces.
    cores: Vec<usize>,
    /// Which boxes are in namespaces of this machine.
    here: Vec<bool>,
    /// Those of `cores` that do nothing else; none if the tester uses them, too.
    pub(super) own_cores: Vec<usize>,
    threads: PacketThreads,
    /// Boxes with their own Linux kernel, which perf on the box profiles.
    profiled: Vec<bool>,
    pub(super) share_cores: bool,
    uncleared: Option<UnclearedBox>,
}

/// Runs the hooks that prepare the boxes for a point. If one fails, it restores the boxes.
pub(super) fn prepare(
    scenario: &Scenario,
    bed: &Bed,
    point: &Point,
    place: &Place,
    process: &RunContext,
) -> Result<Boxes, RigError> {
    let (cores, on_this_machine) = (cores_here(scenario, bed, point), on_this_machine(scenario, bed, point));
    let here: Vec<bool> = bed.boxes.iter().map(|(_, keys)| keys.on == bed::On::Namespace).collect();
    let is_steered = steered(scenario, bed).count() == here.iter().filter(|here| **here).count();
    let share_cores = on_this_machine.as_ref().is_some_and(|cores| !cores.shared().is_empty());
    let is_apart = on_this_machine.is_some() && !share_cores;
    let own_cores = if is_steered && is_apart { cores.clone() } else { Vec::new() };
    let (mut facts, mut doubts, mut counts, mut clears) = (FactTable::new(), Vec::new(), false, false);
    let (mut all, mut queues, mut profiled) = (Vec::new(), Vec::new(), Vec::new());
    for (at, (role, keys)) in bed.boxes.iter().enumerate() {
        let config = config_of(scenario, bed, (role, keys), point, place.device(at))?;
        let sink = process.commands.sink(role);
        let mut running = External::prepare(&config, &RunDir::of_this_user(), &sink)?;
        counts |= config.hooks.contains_key(&Hook::Count) || config.software.is_some();
        clears |= config.hooks.contains_key(&Hook::Clear) && point.connections > 0;
        let own = keys.facts.iter().flatten().cloned();
        doubts.extend(doubts_of(&running.facts()));
        let found = running.facts().into_iter().map(|fact| (fact.name, fact.value));
        facts.extend(own.chain(found).map(|(name, words)| (named(role, &name), words)));
        let has_perf = keys.can_be_profiled() && !keys.has_kernel_of_tester();
        if has_perf && scenario.is_profiled() {
            running.see_that_perf_works()?;
        }
        profiled.push(has_perf);
        queues.push(ReceiveCounts::by(role, keys, &mut running)?);
        all.push(running);
    }
    doubts.extend(
        (clears && !counts).then(|| {
            "Nothing shows that the hook `clear` empties the table of the box: set the hook `count`.".to_owned()
        }),
    );
    facts.extend(cores_of_boxes(scenario, bed));
    if let Some(cores) = on_this_machine {
        cores.note_in(&mut facts);
    }
    let (running, threads) = (Arc::new(Mutex::new(all)), PacketThreads::of(&own_cores));
    let uncleared = None;
    Ok(Boxes {
        running,
        facts,
        doubts,
        counts,
        queues,
        cores,
        here,
        own_cores,
        threads,
        profiled,
        share_cores,
        uncleared,
    })
}

/// Returns the configuration of a box at a point. `device` is the namespace or guest that natmeter made for it, if any.
/// Fails if a file of the technology cannot be used.
pub fn config_of(
    scenario: &Scenario,
    bed: &Bed,
    (role, keys): (&str, &BoxKeys),
    point: &Point,
    device: Option<On>,
) -> Result<ExternalConfig, RigError> {
    let on = match (&keys.on, device) {
        (bed::On::Ssh(to), _) => On::Ssh(to.clone()),
        (bed::On::Namespace | bed::On::Guest(_), Some(device)) => device,
        (bed::On::Local | bed::On::Namespace | bed::On::Guest(_), _) => On::Local,
    };
    let asked = scenario.duts[point.dut].asked(role);
    let values = placeholders(scenario, bed, (role, keys), point, &asked)?;
    let software = configuration::of(scenario, bed, (role, keys), point);
    let mut hooks = Hooks::new();
    if let (Some(software), Some(interfaces)) = (keys.software.filter(|_| software.is_none()), keys.both_interfaces()) {
        let (technology, part) = (asked.technology, asked.part.name());
        let known = |name: &str| values.iter().any(|(there, _)| there == name);
        // They share the file system of this machine.
        let apart = match &on {
            On::Namespace(_) => format!("-{}-{role}", std::process::id()),
            On::Local | On::Ssh(_) | On::Guest(_) => String::new(),
        };
        let cores = keys.cores_by().filter(|_| scenario.sweep.cores.sets(role)).and_then(|by| match by {
            bed::CoresBy::Hotplug => Some("cores {cores}"),
            bed::CoresBy::Steering => Some("steer {core-mask}"),
            bed::CoresBy::Boot => None,
        });
        let (keeps, is_of_linux) = (software.keeps(asked), software.is_of_linux());
        let of_box =
            boxes::Box { technology, part, interfaces, owner: &owner(), apart: &apart, keeps, is_of_linux, cores };
        hooks = boxes::hooks(software.name, &of_box, &known).unwrap_or_default();
    }
    // Hooks of the user replace those of the software.
    hooks.extend(hooks_of(keys));
    let (name, folder, ssh_config) = (role.to_owned(), folder(bed), ssh_config(bed, keys));
    Ok(ExternalConfig { name, on, ssh_config, hooks, folder, timeout: keys.timeout.into(), values, software })
}

/// Returns whether a box, prepared or not, is alive, and how many connections it has, as far as its hooks say. Fails if a hook fails or
/// the box cannot be reached.
pub(crate) fn asked(
    scenario: &Scenario,
    bed: &Bed,
    (role, keys): (&str, &BoxKeys),
    point: &Point,
    process: &RunContext,
) -> Result<(Option<bool>, Option<u64>), RigError> {
    let config = config_of(scenario, bed, (role, keys), point, None)?;
    let asks = |(hook, _): &(Hook, String)| matches!(hook, Hook::Alive | Hook::Count);
    let config = ExternalConfig { hooks: config.hooks.into_iter().filter(asks).collect(), ..config };
    let sink = process.commands.sink(role);
    let mut running = External::prepare(&config, &RunDir::of_this_user(), &sink)?;
    Ok((running.is_alive()?, running.count()?))
}

/// The mark of this tester on boxes that others may use.
fn owner() -> String {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    format!("{} {}", host.trim(), std::process::id())
}

pub(crate) fn hooks_of(keys: &BoxKeys) -> Hooks {
    let all = [
        (Hook::Alive, &keys.alive),
        (Hook::Prepare, &keys.prepare),
        (Hook::Cores, &keys.cores),
        (Hook::Clear, &keys.clear),
        (Hook::Count, &keys.count),
        (Hook::Memory, &keys.memory),
        (Hook::Reset, &keys.reset),
        (Hook::Failover, &keys.failover),
        (Hook::Restore, &keys.restore),
    ];
    all.into_iter().filter_map(|(hook, line)| Some((hook, line.clone()?))).collect()
}

fn placeholders(
    scenario: &Scenario,
    bed: &Bed,
    (role, keys): (&str, &BoxKeys),
    point: &Point,
    asked: &BoxPart,
) -> Result<Vec<(String, String)>, RigError> {
    let mut values = values(scenario, role, point);
    values.push(("technology".to_owned(), asked.technology.to_owned()));
    values.push(("part".to_owned(), asked.part.name().to_owned()));
    values.extend(addresses(bed, role));
    values.push(("neighbours".to_owned(), neighbours(bed, role)));
    if let Some((plays, technology)) = scenario.duts[point.dut].technology() {
        // Both edges of a Dual DUT have the same one customer.
        let rows = technology.customers(plays, &scenario.traffic.flows, &open).map_err(RigError::Gateway)?;
        values.push(("customers".to_owned(), lines(&rows)));
        values.push(("mapping-rules".to_owned(), lines(&technology.mapping_rules(asked.part.plays()))));
    }
    if scenario.sweep.cores.sets(role) && scenario.bed.is_some() {
        let cores = scenario.sweep.cores.of_box(role, point.cores);
        values.push(("core-mask".to_owned(), core_mask(bed, (role, keys), cores)?));
    }
    Ok(values)
}

/// Addresses of a box and of its next hops, where they are known.
fn addresses(bed: &Bed, role: &str) -> Vec<(String, String)> {
    let Some(at) = bed.boxes.iter().position(|(of_box, _)| *of_box == role) else { return Vec::new() };
    let of_side = |(side, ends): (&str, Option<guest::Ends>)| {
        ends.map(|((own, _), next)| {
            [(format!("{side}-address"), own.to_string()), (format!("{side}-next-hop"), next.to_string())]
        })
    };
    dut::links::ENDS.into_iter().zip(guest::addresses(bed, at)).filter_map(of_side).flatten().collect()
}

/// Lines with side, address and Ethernet address of the tester next to a box, if the ports are
/// interfaces of the user. On natmeter's links, the steps of the network have made the entries.
fn neighbours(bed: &Bed, role: &str) -> String {
    let of_tester = [bed.boxes.first(), bed.boxes.last()];
    let macs = (!bed.makes_links()).then(|| ports::macs(bed).ok()).flatten();
    let mut text = String::new();
    for (((side, keys), beside), mac) in bed.ports().into_iter().zip(of_tester).zip(macs.into_iter().flatten()) {
        for (address, _) in keys.addresses.iter().filter(|_| beside.is_some_and(|(of_box, _)| *of_box == role)) {
            let _ = writeln!(text, "{side} {address} {mac}");
        }
    }
    text.truncate(text.trim_end().len());
    text
}

fn lines<T: ToString>(rows: &[T]) -> String {
    rows.iter().map(T::to_string).collect::<Vec<_>>().join("\n")
}

/// Placeholders of a box at a point: the axes, and the technology's parameters.
pub(super) fn values(scenario: &Scenario, role: &str, point: &Point) -> Vec<(String, String)> {
    let dut = &scenario.duts[point.dut];
    let unquoted = |(name, value): &(String, String)| (name.clone(), value.trim_matches('"').to_owned());
    let mut values: Vec<_> = scenario.parameters_of(dut).iter().map(unquoted).collect();
    let mut set = |name: &str, value: String| {
        values.retain(|(there, _)| there != name);
        values.push((name.to_owned(), value));
    };
    set("connections", point.connections.to_string());
    set("cores", scenario.sweep.cores.of_box(role, point.cores).to_string());
    set("frame-size", scenario.traffic.frame_size.to_string());
    for (axis, value) in scenario::axis::in_order(&point.axes) {
        set(axis.name(), axis.plain(value));
    }
    if let Some(outside) = dut.technology().and_then(|(plays, technology)| technology.outside(plays)) {
        if let Some((_, pool)) = outside.pool.first() {
            set("pool", show_range(*pool).replace(' ', ""));
        }
        if let tech::Ports::Range(ports, _) = outside.ports {
            set("pool-ports", ports.to_string());
        }
    }
    if let Some(sizes) = dut.table_sizes() {
        set("table", sizes.entries.map(|n| n.to_string()).unwrap_or_default());
        set("hash-size", sizes.buckets.map(|n| n.to_string()).unwrap_or_default());
    }
    set("udp-timeout", Duration::from(dut.timeout_of_box()).as_secs().to_string());
    values
}

impl Boxes {
    /// Whether steps have configured the software of one.
    pub(super) fn are_configured(&self) -> bool {
        self.running.lock().expect("no panic while held").iter().any(External::is_configured)
    }

    /// Calls `ask` for each box in turn. Fails at the first failure.
    pub(super) fn each<T>(&self, ask: impl FnMut(&mut External) -> Result<T, DutError>) -> Result<Vec<T>, DutError> {
        self.running.lock().expect("no panic while held").iter_mut().map(ask).collect()
    }

    /// Does the same as [`Self::each`] in a trial, and fails with the error of a trial.
    fn in_trial<T>(&self, ask: impl FnMut(&mut External) -> Result<T, DutError>) -> Result<Vec<T>, TrialError> {
        self.each(ask).map_err(|error| failed(&error))
    }

    /// Returns the boxes with the failure to empty their tables before a phase 1, if any.
    pub(super) fn cleared_by(self, uncleared: Option<UnclearedBox>) -> Boxes {
        Boxes { uncleared, ..self }
    }

    pub(super) fn doubts(&self) -> Vec<String> {
        let uncleared = self.uncleared.as_ref();
        let uncounted = (!self.counts && uncleared.is_some())
            .then(|| "No hook counts the connections of the box: only the tester counted them.".to_owned());
        uncounted.into_iter().chain(uncleared.map(UnclearedBox::in_words)).chain(self.doubts.iter().cloned()).collect()
    }

    /// Returns a function that restores the boxes and returns what is left.
    pub(super) fn restore(&self) -> Words {
        let running = Arc::clone(&self.running);
        Box::new(move || {
            let all = std::mem::take(&mut *running.lock().expect("no panic while held"));
            all.into_iter().rev().flat_map(|running| running.teardown().left).collect()
        })
    }

    /// Returns a function that reads, after the trials, how frames were spread over the queues of the boxes.
    pub(super) fn spread(&mut self) -> Words {
        let (running, before) = (Arc::clone(&self.running), std::mem::take(&mut self.queues));
        Box::new(move || {
            let mut all = running.lock().expect("no panic while held");
            all.iter_mut().zip(before).flat_map(|(running, before)| before.lopsided(running)).collect()
        })
    }
}

impl Device for Boxes {
    /// The kernel's threads do not report single stalls.
    fn away(&mut self) -> Result<DeviceStalls, TrialError> {
        Ok(DeviceStalls { run_delay: self.threads.run_delay().map(Nanos), ..DeviceStalls::default() })
    }

    fn clear(&mut self) -> Result<(), TrialError> {
        // Earlier points and runs may have left connections, too.
        self.uncleared.as_mut().map_or(Ok(()), UnclearedBox::before_phase1)?;
        self.in_trial(External::clear).map(drop)
    }

    fn is_cleared_by_command(&self) -> bool {
        self.uncleared.is_none()
    }

    fn source_ports(&mut self) -> Option<PortRange> {
        self.uncleared.as_ref()?.source_ports()
    }

    fn entries(&mut self) -> Result<Option<u64>, TrialError> {
        // Only one of several boxes keeps the connections.
        Ok(self.in_trial(External::count)?.into_iter().flatten().max())
    }

    /// Clears the boxes one after the other.
    fn clear_timed(&mut self) -> Result<Clearing, TrialError> {
        let each: Vec<_> = self.in_trial(External::clear_timed)?.into_iter().flatten().collect();
        if each.is_empty() {
            return Err(TrialError::NotMeasurable("no hook `clear` empties the table of the box".to_owned()));
        }
        let took = Nanos(each.iter().map(|cleared| cleared.nanos).sum());
        let how = each.iter().map(|cleared| cleared.how.as_str()).collect::<Vec<_>>().join("; ");
        let by_own_clocks = each.iter().all(|cleared| cleared.by_own_clock);
        Ok(Clearing { took, how, clock: if by_own_clocks { ClockAt::Device } else { ClockAt::Tester } })
    }

    /// Disrupts each box that has the hook.
    fn disrupt(&mut self, what: Disruption) -> Result<(), TrialError> {
        let hook = match what {
            Disruption::Reset => Hook::Reset,
            Disruption::Failover => Hook::Failover,
        };
        if self.in_trial(|running| running.disrupt(hook))?.contains(&true) {
            return Ok(());
        }
        Err(TrialError::NotMeasurable(format!("no box of the bed has the hook `{}`", what.name())))
    }

    /// CPU times of a box in a namespace: the cores of this machine that forward its packets, if they are not
    /// those of the tester.
    fn cpu_times(&mut self, of: u32) -> Result<Box<dyn CpuTimes>, TrialError> {
        match self.here.get(of as usize) {
            Some(true) if !self.own_cores.is_empty() => Ok(Box::new(OfCores(self.own_cores.clone()))),
            Some(true) => Err(TrialError::NotMeasurable(
                "box and tester share cores, whose idle time shows nothing: sweep the cores of the box, such as cores = [1, 2]"
                    .to_owned(),
            )),
            _ => Ok(Box::new(OfBox { all: Arc::clone(&self.running), of: of as usize })),
        }
    }

    /// The kernels of the boxes that have their own; else that of this machine.
    fn profile(&mut self, profiler: Profiler) -> Result<Box<dyn ProfileRun>, TrialError> {
        match profile::on_boxes(&self.running, &self.profiled, profiler)? {
            Some(boxes) => Ok(boxes),
            None if self.cores.is_empty() => Err(TrialError::NotMeasurable(
                "no box has a kernel that natmeter profiles: write on = \"namespace\", on = \"ssh:…\" or on = \"guest:qemu\""
                    .to_owned(),
            )),
            None => super::profile::of_cores(&self.cores, profiler),
        }
    }

    /// Memory of all boxes that tell it, in octets.
    fn memory(&mut self) -> Result<Option<MemoryNow>, TrialError> {
        let each: Vec<_> = self.in_trial(External::memory)?.into_iter().flatten().collect();
        let used = each.iter().map(|memory| memory.octets).sum();
        let buckets = each.iter().find_map(|memory| memory.table);
        let buckets = buckets.map(|table| Buckets { count: table.buckets, bytes: table.bytes });
        Ok(each.first().map(|memory| MemoryNow { used, reserved_for: None, buckets, source: memory.source.to_owned() }))
    }
}

struct OfBox {
    all: RunningBoxes,
    of: usize,
}

impl CpuTimes for OfBox {
    fn read(&mut self) -> Result<Vec<CoreTime>, TrialError> {
        let mut all = self.all.lock().expect("no panic while held");
        let Some(running) = all.get_mut(self.of) else { return Ok(Vec::new()) };
        let stat = running.proc_stat().map_err(|e| failed(&e))?;
        let cores = stat.map(|stat| dut::cpu::core_times(&stat)).unwrap_or_default();
        if !cores.is_empty() {
            return Ok(super::cpu::named(&cores));
        }
        let of_openbsd = running.cp_time().map_err(|e| failed(&e))?.and_then(|text| dut::cpu::openbsd_times(&text));
        let Some((idle, all)) = of_openbsd else {
            return Err(TrialError::NotMeasurable(
                "the box has neither /proc/stat of Linux nor kern.cp_time of OpenBSD, from which natmeter reads CPU times"
                    .to_owned(),
            ));
        };
        Ok(vec![CoreTime { name: "all cores, averaged".to_owned(), idle: Nanos(idle), all: Nanos(all) }])
    }
}
