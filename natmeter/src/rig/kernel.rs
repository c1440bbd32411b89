//! The kernel of this machine as device, in a namespace that natmeter creates. The crate `dut` sets the device up and
//! tears it down; this module connects its ports to the engine.

use super::cores::{CoresHere, shared_out};
use super::cpu::OfCores;
use super::here::{self, Path};
use super::null::NullPath;
use super::wires::Wires;
use super::{Bed as TestBed, Process, Rig, RigError, failed, settings, view_of};
use dut::side::{LEFT, RIGHT};
use dut::software::conntrack;
use dut::{BackEnd, BedConfig, DeviceConfig, PacketThreads, RunDir, software};
use engine::{Away, Cleared, ClockAt, CpuTimes, Device, Engine, Lane, MemoryNow, Profiling};
use method::trial::{Buckets, Profiler};
use method::{Nanos, TrialError};
use plane::Hop;
use port::{Pool, Port};
use record::folder::{FactTable, Figures};
use scenario::{Link, Point, Scenario, Setup, VethIo};
use std::sync::{Arc, Mutex};
use wire::Mac;

/// Maximum number of the tester's frames in flight; more would only wait in the kernel's queues.
pub const FRAMES: usize = 4096;

// `scenario` refuses what `dut` would refuse, without a dependency on it.
const _: () = assert!(
    scenario::SLACK == conntrack::SLACK
        && scenario::MOST_ENTRIES == conntrack::MOST_ENTRIES
        && scenario::MOST_BUCKETS == conntrack::MOST_BUCKETS
);

/// Returns the configuration of the kernel at a point of a scenario, for `dut`; `None` for another device.
pub fn device_config(scenario: &Scenario, point: &Point) -> Option<DeviceConfig> {
    let Setup::Kernel { software, nat44 } = scenario.duts[point.dut].setup() else { return None };
    let config = match nat44 {
        Some(nat) => software::Config {
            // A search for the capacity fills a table that is too small for all connections.
            connections: match nat.table.filter(|_| scenario.fills_tables()) {
                Some(table) => point.connections.min(table.saturating_sub(conntrack::SLACK)),
                None => point.connections,
            },
            table_size: nat.table,
            hash_size: nat.hash_size,
            udp_timeout: nat.udp_timeout.0 / 1_000_000_000,
            tcp: scenario.sends(procedure::Sends::Segments),
            pool: software::Pool {
                first: nat.pool.first,
                last: nat.pool.last(),
                first_port: nat.pool_ports.first,
                last_port: nat.pool_ports.last,
            },
        },
        None => software::Config::default(),
    };
    // With cores as an axis the DUT has isolated cores; otherwise it works on the sender's core.
    let [tester_cores, dut_cores] =
        if scenario.sweep.cores.is_default() { [Vec::new(), Vec::new()] } else { shared_out(1, point.cores as usize) };
    let bed = BedConfig {
        back_end: back_end(&scenario.link),
        inside: scenario.traffic.flows.inside,
        remote: scenario.traffic.flows.remote,
        networks: scenario.traffic.flows.networks,
        ipv6: dut::software::named(software).is_ok_and(|software| software.ipv6),
        native: scenario.native_networks().is_some(),
        dut_cores,
        tester_cores,
        backlog: None,
    };
    Some(DeviceConfig { software: software.to_owned(), config, bed })
}

/// Returns the test bed of a kernel device at a point, if it uses cables: the tester can be calibrated over a cable of the same
/// kind, without the device.
pub fn bed_with_cables(scenario: &Scenario, point: &Point) -> Option<BedConfig> {
    let bed = device_config(scenario, point).filter(|_| !scenario.sends_queries())?.bed;
    bed.back_end.has_cables().then_some(bed)
}

/// Builds the rig.
///
/// # Errors
/// If the kernel or the machine lacks something; everything set up until then is restored.
pub fn build(scenario: &Scenario, point: &Point, process: &Process) -> Result<Rig, RigError> {
    let config = device_config(scenario, point).expect("the device is the kernel");
    let sink = process.commands.sink(&config.software);
    let device = dut::Device::prepare(&config, &RunDir::of_this_user(), &sink, process.clock)?;
    let view = Arc::new(view_of(scenario, hops(), point)?);
    let mut wires = Wires::of(scenario, process.clock);
    let mut pool = Pool::single(config.bed.pools(1, FRAMES + wires.frames(), view.left.len()))?;
    let (left, right) = device.open_ports(process.clock, &mut pool)?;
    let path = Path::behind(&left.facts(), &right.facts());
    let mut facts: FactTable = device.facts().iter().map(|f| (f.name.clone(), f.value.clone())).collect();
    let is_stateful = scenario.duts[point.dut].is_stateful();
    let figures = if is_stateful { here::table_sizes(&mut facts) } else { Figures::new() };
    for (side, port) in [("left", left.facts()), ("right", right.facts())] {
        facts.insert(format!("{side} port"), format!("{} {} {}", port.backend, port.name, port.mode).trim().to_owned());
    }
    // The facts of the tester, which runs on the same machine, have these doubts.
    let of_tester = |fact: &&dut::Fact| ["governor", "simultaneous multithreading"].contains(&fact.name.as_str());
    let of_device = device.facts().iter().filter(|fact| !of_tester(fact)).filter_map(|fact| fact.doubt.clone());
    let doubts = wires
        .doubts()
        .into_iter()
        .chain(of_device)
        .chain(here::no_null().filter(|_| config.bed.back_end.has_cables()))
        .collect();
    let own_cores = isolated(&config.bed);
    let cores = CoresHere::of_kernel(&config.bed.dut_cores);
    cores.note_in(&mut facts);
    let lane = Lane {
        core: port::host::cores().first().copied(),
        pool,
        left: Some(wires.wrap("left", left)),
        right: Some(wires.wrap("right", right)),
        companion: None,
        service: None,
    };
    let running = Arc::new(Mutex::new(Some(device)));
    let settings = settings(scenario, path.dut_loop);
    let price_of = Arc::clone(&running);
    let price = here::price(if own_cores == config.bed.dut_cores { &own_cores } else { &[] }, move |work| {
        price_of.lock().expect("no panic while held").as_mut()?.work(work)
    });
    let threads = PacketThreads::of(&own_cores);
    let handle = Box::new(Kernel { running: Arc::clone(&running), threads, cores: own_cores });
    let engine = Engine::new(process.clock, vec![lane], view, handle, settings, Arc::clone(&process.interrupted))?;
    Ok(Rig {
        bed: TestBed::Engine(Box::new(engine)),
        null: null(&config.bed, &running),
        buffered: path.buffered,
        facts,
        figures,
        doubts,
        shares_core: !cores.shared().is_empty(),
        price,
        afterwards: None,
        captures: wires.into_captures(),
        teardown: Some(Box::new(move || {
            let device = running.lock().expect("no panic while held").take();
            device.map(|d| d.teardown().left).unwrap_or_default()
        })),
    })
}

/// The tester's links.
fn hops() -> [Hop; 2] {
    [LEFT, RIGHT].map(|side| Hop { own: Mac(side.tester_mac()), next: Mac(side.dut_mac()) })
}

fn back_end(link: &Link) -> BackEnd {
    match link {
        // The scenario parser refuses other links for a kernel DUT.
        Link::Tap | Link::InProcess { .. } | Link::Ports => BackEnd::Tap,
        Link::Veth { io: VethIo::AfPacket } => BackEnd::AfPacket,
        Link::Veth { io: VethIo::AfXdpGeneric } => BackEnd::AfXdpGeneric,
        Link::Veth { io: VethIo::AfXdpNative } => BackEnd::AfXdpNative,
    }
}

/// A device that may have been torn down.
type Running = Arc<Mutex<Option<dut::Device>>>;

/// Returns the null device, if the device has cables: the write of a frame into a TAP forwards it, too.
fn null(bed: &BedConfig, running: &Running) -> Option<NullPath> {
    let running = Arc::clone(running);
    let set = move |on| with(&running, |device| device.set_null(on));
    (bed.back_end.has_cables() && dut::null::is_available()).then(|| NullPath::new(set))
}

/// The engine's handle of the device.
struct Kernel {
    running: Running,
    threads: PacketThreads,
    /// Cores on which it works and the tester does not.
    cores: Vec<usize>,
}

/// The device's cores that the tester does not use. Their packet threads are judged; on the tester's core they wait for the
/// tester, which is not noise.
fn isolated(bed: &BedConfig) -> Vec<usize> {
    bed.dut_cores.iter().copied().filter(|core| !bed.tester_cores.contains(core)).collect()
}

fn with<T>(running: &Running, f: impl FnOnce(&mut dut::Device) -> Result<T, dut::DutError>) -> Result<T, TrialError> {
    let mut running = running.lock().expect("no panic while held");
    let device = running.as_mut().ok_or_else(|| TrialError::Device("the device has been torn down".to_owned()))?;
    f(device).map_err(|e| failed(&e))
}

impl Device for Kernel {
    fn clear(&mut self) -> Result<(), TrialError> {
        with(&self.running, |d| d.clear().map(|_| ()))
    }
    fn entries(&mut self) -> Result<Option<u64>, TrialError> {
        with(&self.running, dut::Device::count)
    }
    fn away(&mut self) -> Result<Away, TrialError> {
        // The kernel's threads do not report single stalls.
        Ok(Away { run_delay: self.threads.run_delay().map(Nanos), ..Away::default() })
    }
    fn clear_timed(&mut self) -> Result<Cleared, TrialError> {
        let cleared = with(&self.running, dut::Device::clear)?;
        let none = || TrialError::NotMeasurable("this software keeps no table".to_owned());
        let cleared = cleared.ok_or_else(none)?;
        Ok(Cleared { took: Nanos(cleared.nanos), how: cleared.how, clock: ClockAt::Device })
    }
    fn cpu_times(&mut self, _of: u32) -> Result<Box<dyn CpuTimes>, TrialError> {
        if self.cores.is_empty() {
            return Err(TrialError::NotMeasurable(
                "device and tester share a core, whose idle time shows nothing: sweep the device's cores, such as cores = [2]"
                    .to_owned(),
            ));
        }
        Ok(Box::new(OfCores(self.cores.clone())))
    }
    /// A device that shares the tester's core is profiled with the tester.
    fn profile(&mut self, profiler: Profiler) -> Result<Box<dyn Profiling>, TrialError> {
        let shared = port::host::cores();
        super::profile::of_cores(if self.cores.is_empty() { &shared } else { &self.cores }, profiler)
    }
    fn memory(&mut self) -> Result<Option<MemoryNow>, TrialError> {
        let (used, table) = with(&self.running, |device| Ok((device.memory(), device.hash_table()?)))?;
        let buckets = table.map(|table| Buckets { count: table.buckets, bytes: table.bytes });
        let source = dut::memory::SOURCE.to_owned();
        Ok(used.map(|used| MemoryNow { used, reserved_for: None, buckets, source }))
    }
}
