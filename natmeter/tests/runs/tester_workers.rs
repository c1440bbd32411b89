//! Several workers of the tester through a whole rig, with one and with several workers of the gateway: every frame of both
//! phases returns and is judged, whichever worker sent it. The tests do not check rates: the rings hold all frames of a trial,
//! so that a busy machine loses none.

use method::{Load, Nanos, Rate, TrialOutcome, TrialSpec, Trials};
use natmeter::rig::{Rig, RunContext, cores};
use natmeter::run::calibrate;
use record::plan::Plan;
use scenario::{Link, Options, Point, Scenario, parse};
use std::sync::Mutex;

/// Connections, and frames of phase 2 in each direction.
const N: u64 = 8192;

const NAT44: &str = "mapping = \"address-and-port-dependent\"";
/// Subscribers in a tunnel: frames differ in layout between left and right.
const AFTR: &str = "plays = \"pe\"\n[technology.ds-lite]\nb4 = \"2001:db8:0:1::1\"\naftr = \"2001:2:0:100::1\"\npool = \"203.0.113.1 - 203.0.113.8\"";
/// A stateless translator.
const MAP_T_BR: &str = "plays = \"pe\"\n[technology.map-t]\ndmr = \"2001:2:0:1000::/96\"\nipv6-prefix = \"2001:db8:1::/50\"\n\
                        ipv4-prefix = \"203.0.113.0/24\"\nea-bits = 12\npsid-offset = 0";

/// One test at a time, because each needs the machine's cores.
static TURN: Mutex<()> = Mutex::new(());

fn scenario(device: &str, traffic: &str, testers: u32, cores: u32) -> Scenario {
    let stateful = !device.contains("map-t");
    let connections = if stateful { "connections = \"1M\"\n" } else { "" };
    let text = format!(
        "name = \"t\"\n[dut.embedded]\n{device}\n[tester]\nworkers = {testers}\n[traffic]\nframe-size = 128\n{traffic}\n\
         [sweep]\n{connections}cores = {cores}\n[measure]\nmetrics = [{}]\nphase1-drain = \"500 ms\"\ndrain = \"500 ms\"\n\
         settle = \"0 s\"\nstart-delay = \"2 ms\"\n",
        if stateful { "\"max_conn_est_rate\", \"throughput\"" } else { "\"throughput\"" }
    );
    let loaded =
        parse("t.toml", &text, &Options::default(), tech::ALL).unwrap_or_else(|c| panic!("{}", c.render(false)));
    // Few connections, so that the rings hold all of them.
    let mut scenario = Scenario { link: Link::InProcess { depth: N as usize }, ..loaded.scenario };
    if stateful {
        scenario.sweep.connections = vec![N];
    }
    scenario
}

/// Both phases at 100,000 frames per second, or one stateless trial, with so many frames a direction.
pub(crate) fn trial_of(point: &Point, frames: u64) -> TrialSpec {
    TrialSpec::both_phases(Rate(100_000), Load::Frames(frames), point.connections)
}

/// Runs both phases, or one stateless trial; also returns the facts of the device.
fn passes(device: &str, traffic: &str, testers: u32, cores: u32) {
    let _turn = TURN.lock();
    let scenario = scenario(device, traffic, testers, cores);
    let point = Plan::new(&scenario).measurements[0].point.clone();
    let process = RunContext::new();
    let mut rig = Rig::build(&scenario, &point, &process).unwrap();
    let testers = cores::testers(&scenario, port::host::cores().len());
    assert_eq!(rig.facts["tester workers"], testers.to_string());
    assert_eq!(rig.buffered, N * testers as u64 * u64::from(cores));
    let stateful = point.connections > 0;
    let spec = trial_of(&point, N);
    // A thread that is descheduled for long gives up or is late; that says nothing about the distribution of frames.
    let was_descheduled =
        |o: &TrialOutcome| [o.host.tester_stall, o.host.dut_stall].iter().any(|&stall| stall > Nanos::from_millis(50));
    let mut attempts = (0..300).map(|_| rig.run(&spec).unwrap());
    let outcome = attempts.find(|o| !was_descheduled(o)).expect("host noise invalidated every attempt");
    if let (true, Some(store)) = (stateful, &outcome.store) {
        let entries = [store.learned, store.dut_entries.unwrap(), store.dut_entries_after.unwrap()];
        assert_eq!(entries, [N; 3], "connections; {outcome:?}");
    }
    for leg in [&outcome.forward, &outcome.reverse] {
        assert_eq!((leg.sent, leg.received, leg.faults.total()), (N, N, 0), "{outcome:?}");
    }
    assert_eq!((outcome.host.tester_drops, outcome.host.dut_queue), (0, Some(N)));
    assert_eq!(outcome.host.queue_lasts, Some(spec.rate.time_for(N * testers as u64)), "each has a share of the rate");
    assert!(rig.teardown().is_empty());
}

const PORTS: &str = "source-ports = \"1024-3023\"\ndestination-ports = \"1-1000\"";
const MANY: &str = "source-ports = \"1024-1143\"\ndestination-ports = \"1-20\"\nsubscribers = 500";

macro_rules! set_ups {
    ($($(#[$attribute:meta])* $name:ident: $device:ident $traffic:ident $testers:literal $cores:literal;)*) => {$(
        #[test]
        $(#[$attribute])*
        fn $name() {
            passes($device, $traffic, $testers, $cores);
        }
    )*};
}

set_ups! {
    two_workers_and_one_of_a_nat44: NAT44 PORTS 2 1;
    #[ignore = "slow: run by ./check slow-tests"]
    slow_two_workers_and_two_of_a_nat44: NAT44 PORTS 2 2;
    /// Frames, connections and rate do not divide evenly by three.
    #[ignore = "slow: run by ./check slow-tests"]
    slow_three_workers_and_two_of_a_nat44: NAT44 PORTS 3 2;
    #[ignore = "slow: run by ./check slow-tests"]
    slow_two_workers_and_two_of_an_aftr: AFTR MANY 2 2;
    #[ignore = "slow: run by ./check slow-tests"]
    slow_two_workers_and_one_of_a_map_t_border_relay: MAP_T_BR MANY 2 1;
}

/// The ceiling is that of all workers of the tester in the rig.
#[test]
fn the_tester_is_measured_with_its_workers() {
    let _turn = TURN.lock();
    let scenario = scenario(NAT44, PORTS, 2, 1);
    let point = Plan::new(&scenario).measurements[0].point.clone();
    let mut known = record::folder::Calibration::default();
    let ceiling = calibrate(&mut known, &scenario, &point, &RunContext::new()).unwrap().unwrap();
    assert_eq!(ceiling.workers as usize, cores::testers(&scenario, port::host::cores().len()));
    assert!(ceiling.frames.0 > 0 && ceiling.set_up.is_some_and(|rate| rate.0 > 0), "{ceiling:?}");
}
