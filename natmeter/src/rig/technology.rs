//! The embedded gateway with any technology, on an in-process link. In a dual DUT set-up the tester
//! sends IPv4 on both sides. In a single DUT set-up it plays the other edge; if that is the
//! customer edge, for many subscribers.

use super::cores::Cores;
use super::embedded::{MTU, Path, wired};
use super::files::open;
use super::known_truth;
use super::wires::Wires;
use super::{Rig, RigError, RunContext, check_frames_fit, mac, setting, settings, with_traffic};
use method::Loop;
use plane::router6;
use plane::{Hop, NativeIpv6, Router6, Side4, Side6};
use record::folder::{TABLE_ENTRIES, TABLE_LOAD_TIME, TABLE_MEMORY};
use scenario::{Link, Point, Scenario};
use std::net::Ipv6Addr;
use std::sync::Arc;
use tech::{GatewayBuild, Job, Links, Plays, TableLoad, Technology};
use wire::View;

/// Builds the rig of a technology. Fails for inconsistent parameters, too little memory, or cores that cannot be used.
pub fn build(
    scenario: &Scenario,
    plays: Plays,
    technology: &dyn Technology,
    point: &Point,
    process: &RunContext,
) -> Result<Rig, RigError> {
    let cores = match scenario.duts[point.dut].injected() {
        Some(_) => Cores::one_thread(1),
        None => Cores::at(scenario, point),
    };
    build_on(scenario, plays, technology, point, process, &cores)
}

/// As [`build`], with threads on these cores.
pub fn build_on(
    scenario: &Scenario,
    plays: Plays,
    technology: &dyn Technology,
    point: &Point,
    process: &RunContext,
    cores: &Cores,
) -> Result<Rig, RigError> {
    let view = Arc::new(with_traffic(view(scenario, plays, technology, point)?, hops(), scenario)?);
    check_frames_fit(&view, MTU.into())?;
    let workers = point.cores as usize;
    let job = Job { plays, links: links(), workers, seed: scenario.traffic.seed, open: &open, live: None };
    let GatewayBuild { functions, loaded, .. } = technology
        .build(&job)
        .map_err(|why| RigError::Gateway(format!("[technology.{}]: {why}", technology.name())))?;
    let steering = technology.steering(plays, workers, &open);
    let mut functions = functions.boxed();
    if let Some(keys) = scenario.duts[point.dut].injected() {
        functions = known_truth::around(keys, scenario, functions)?;
    }
    let depth = match scenario.link {
        Link::InProcess { depth } => depth,
        // The scenario parser refuses other links for the embedded gateway.
        Link::Tap | Link::Veth { .. } | Link::Ports => 512,
    };
    let beside = || {
        let router = || Router6::new(router6::Config::new(links().left6, links().right6));
        scenario.native_networks().map(|networks| NativeIpv6::new(router(), networks))
    };
    let path = Path { depth, wires: Wires::of(scenario, process.clock), steering, beside: &beside };
    let mut rig = wired(view, functions, path, settings(scenario, Loop::Open), cores, process)?;
    if let Some(TableLoad { entries, octets, took }) = loaded {
        let figures = [
            (TABLE_ENTRIES, entries as f64),
            (TABLE_LOAD_TIME, took.as_secs_f64() * 1e3),
            (TABLE_MEMORY, octets as f64 / 1024.0),
        ];
        rig.figures.extend(figures.map(|(name, value)| (name.to_owned(), value)));
    }
    rig.facts.insert("software".into(), format!("natmeter embedded gateway {}", env!("CARGO_PKG_VERSION")));
    rig.facts.insert("technology".into(), technology.names().words(plays).into());
    let parameters = scenario.parameters_of(&scenario.duts[point.dut]).iter();
    let parameters = parameters.map(|(key, value)| (format!("parameter {key}"), value.clone()));
    rig.facts.extend(parameters);
    Ok(rig)
}

/// Host 1 on each (RFC 2544, appendix C.2.2.1), with an MTU for every frame size.
pub fn links() -> Links {
    let side4 =
        |n: u8, address: [u8; 4]| Side4 { mac: mac(n, 1), next_hop: mac(n, 2), address: address.into(), mtu: MTU };
    let side6 = |n: u8, host: u16| Side6 {
        mac: mac(n, 1),
        next_hop: mac(n, 2),
        address: Ipv6Addr::new(0x2001, 2, 0, 0x100, 0, 0, 0, host),
        mtu: MTU,
    };
    Links {
        left4: side4(1, [198, 18, 0, 1]),
        left6: side6(1, 0x2),
        right4: side4(2, [198, 19, 0, 1]),
        right6: side6(2, 0x1),
    }
}

/// Frames of the tester's two sides.
pub fn view(scenario: &Scenario, plays: Plays, technology: &dyn Technology, point: &Point) -> Result<View, RigError> {
    view_between(hops(), scenario, plays, technology, point)
}

/// Addresses of host 2 on each side.
fn hops() -> [Hop; 2] {
    [1, 2].map(|side| Hop { own: mac(side, 2), next: mac(side, 1) })
}

/// As [`view`], between these Ethernet addresses.
pub(super) fn view_between(
    hops: [Hop; 2],
    scenario: &Scenario,
    plays: Plays,
    technology: &dyn Technology,
    point: &Point,
) -> Result<View, RigError> {
    let setting = setting(scenario, hops, &scenario.traffic.flows, point.connections);
    technology.view(plays, &setting).map_err(RigError::Gateway)
}
