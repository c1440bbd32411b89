//! Beds for DNS: client, device and authoritative server in namespaces of this machine, or client
//! and server at the ports of a test bed.

use super::external::facts_of;
use super::place::Place;
use super::{Rig, RigError, RunContext, TrialRunner, Words, boxes, doubts_of, failed};
use dns::answer::ExpectedAnswer;
use dns::client::{Client, ClientSockets, Observation};
use dns::load::Load;
use dns::names::{PREFIX, ZONE};
use dns::tester::wait_for_answers;
use dns::{Device, Names, QueryPlan, Tester};
use dut::RunDir;
use dut::dns::{DnsBed, Interface, Port, Program, QueryPath, Record, Zone};
use method::{Count, Nanos, Rate, TrialError};
use procedure::dns::{self as queries, DNS64_RESOLUTION_RATE, Dns};
use record::folder::FactTable;
use scenario::quantity::show_duration;
use scenario::{Plays, Point, Scenario, Setup, Technology};
use std::fmt::Write;
use std::sync::{Arc, Mutex};
use wire::Mac;

// `scenario` refuses what `dns` would refuse, without a dependency on it.
const _: () = assert!(
    queries::WARM_NAMES == dns::plan::WARM
        && queries::MOST_QUERY_PORTS == dns::client::MOST_PORTS
        && queries::MOST_NAMES == dns::names::MOST
);

/// Counted by the kernel for a small packet in the queue of a socket.
const TRUE_SIZE: u64 = 768;

/// The device between client and server; `None` for the boxes of a bed, and for one that gets test frames.
pub(crate) fn between(scenario: &Scenario, point: &Point) -> Option<QueryPath> {
    match scenario.duts[point.dut].setup() {
        Setup::Dns64 => Some(QueryPath::Dns64 { threads: point.cores, prefix: PREFIX }),
        _ if !scenario.sends_queries() => None,
        Setup::Gateway { technology, .. } => Some(QueryPath::Program(gateway(scenario, technology))),
        _ => None,
    }
}

/// A gateway with packet sockets on the interfaces of the bed, and with the parameters of the scenario's technology.
fn gateway(scenario: &Scenario, technology: &dyn Technology) -> Program {
    let natmeter = std::env::current_exe().unwrap_or_else(|_| "natmeter".into());
    let line = format!("exec '{}' gateway --config ./{}", natmeter.display(), dut::dns::PROGRAM_CONFIG);
    let pool = technology.outside(Plays::Dual).map_or_else(Vec::new, |outside| outside.pool);
    let config = gateway_file(scenario, technology);
    Program { line, config, pool: pool.into_iter().map(|(_, range)| range).collect() }
}

fn gateway_file(scenario: &Scenario, technology: &dyn Technology) -> String {
    let mut config = "[gateway]\nplays = \"dual\"\nanswer = false\nsocket = \"device.sock\"\n".to_owned();
    for (side, Interface { name, address, neighbour }) in ["left", "right"].into_iter().zip(dut::dns::interfaces()) {
        let _ = writeln!(
            config,
            "[gateway.{side}]\ninterface = \"{name}\"\naddress = \"{address}\"\nnext-hop = \"{}\"",
            Mac(neighbour)
        );
    }
    let _ = writeln!(config, "[technology.{}]", technology.name());
    let parameters = scenario.parameters.get(technology.name()).map_or(&[][..], Vec::as_slice);
    let defaults = defaults(technology);
    let absent = defaults.iter().filter(|(key, _)| !parameters.iter().any(|(given, _)| given == key));
    for (key, value) in parameters.iter().chain(absent) {
        let _ = writeln!(config, "{key} = {value}");
    }
    config
}

/// Keys for which a gateway's file has other defaults than a scenario.
fn defaults(technology: &dyn Technology) -> Vec<(String, String)> {
    let mut defaults = Vec::new();
    // If the scenario names no customers, the gateway's file must name the client.
    if technology.name() == "nat44" {
        defaults.push(("inside", format!("[\"{}/32\"]", dut::dns::client())));
    }
    if let Some(state) = technology.state() {
        defaults.push(("table", state.sessions().to_string()));
        defaults.push(("udp-timeout", format!("\"{}\"", show_duration(state.udp_timeout()))));
        // The client is one subscriber with all sessions.
        defaults.push(("session-quota", "\"none\"".to_owned()));
    }
    defaults.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

/// Builds the rig. If a program or a privilege is missing, or no query is answered, it restores everything first.
pub(super) fn build(
    scenario: &Scenario,
    between: QueryPath,
    point: &Point,
    process: &RunContext,
) -> Result<Rig, RigError> {
    let is_dns64 = matches!(between, QueryPath::Dns64 { .. });
    let bed = stand(between, names(scenario, is_dns64), process, scenario.duts[point.dut].name())?;
    joined(scenario, point, bed, None, Box::new(Vec::new), process)
}

/// Builds the rig with client and server at the ports of a test bed.
pub(super) fn build_over(
    scenario: &Scenario,
    bed: &scenario::bed::Bed,
    point: &Point,
    process: &RunContext,
) -> Result<Rig, RigError> {
    let mut place = Place::of(bed, process)?;
    place.boot(scenario, bed, point, process)?;
    let mut boxes = boxes::prepare(scenario, bed, point, &place, process)?;
    place.start(bed, |role| boxes::values(scenario, role, point), process)?;
    let between = QueryPath::Ports(Box::new(ends(scenario, bed, &place)?));
    let stood = stand(between, names(scenario, false), process, "dns");
    let stood = stood.map_err(|error| place.ended().map_or(error, RigError::Ended))?;
    let facts = facts_of(scenario, bed, &boxes, &place);
    let doubts: Vec<String> = boxes.doubts().into_iter().chain(place.doubts()).collect();
    let (restore, spread) = (boxes.restore(), boxes.spread());
    let restore = Box::new(move || {
        let left = restore();
        drop(place);
        left
    });
    let mut rig = joined(scenario, point, stood, Some(Box::new(boxes)), restore, process)?;
    rig.facts.extend(facts);
    rig.doubts.extend(doubts);
    rig.afterwards = Some(spread);
    Ok(rig)
}

/// Ports with the first addresses of the test traffic.
fn ends(scenario: &Scenario, bed: &scenario::bed::Bed, place: &Place) -> Result<[Port; 2], RigError> {
    let tested = scenario.traffic.flows.ends();
    let macs = place.macs();
    let port = |at: usize| -> Result<Port, RigError> {
        let (name, keys) = bed.ports()[at];
        let (namespace, interface) = place.interface(name, keys);
        let neighbour = keys.mac.or(macs.map(|macs| macs[at])).map(|mac| mac.0);
        let gateway =
            keys.gateway.and_then(|gateway| if let std::net::IpAddr::V4(four) = gateway { Some(four) } else { None });
        if neighbour.is_none() && gateway.is_none() {
            return Err(RigError::Bed(format!(
                "DNS queries are IPv4: [bed.{name}] needs an IPv4 `gateway`, or `mac`, the Ethernet address of the box"
            )));
        }
        Ok(Port {
            namespace: namespace.clone(),
            interface: interface.to_owned(),
            vlan: keys.vlan,
            own: keys.addresses.clone(),
            address: tested[at].first,
            gateway,
            neighbour,
        })
    };
    Ok([port(0)?, port(1)?])
}

/// Returns the rig of a bed for DNS. `restore` restores the boxes.
fn joined(
    scenario: &Scenario,
    point: &Point,
    bed: DnsBed,
    boxes: Option<Box<dyn engine::Device>>,
    restore: Words,
    process: &RunContext,
) -> Result<Rig, RigError> {
    let is_dns64 = matches!(bed.between(), QueryPath::Dns64 { .. });
    let names = names(scenario, is_dns64);
    let expected = if is_dns64 { ExpectedAnswer::Dns64 } else { ExpectedAnswer::Zone };
    let ports = ports(scenario, point);
    let client = client(&bed, ports)?;
    if !is_dns64 {
        wait_for_answers(&client, &names, expected, &process.interrupted)?;
    }
    let (doubts, mut facts) = (doubts_of(bed.facts()), FactTable::new());
    facts.extend(bed.facts().iter().map(|f| (f.name.clone(), f.value.clone())));
    facts.insert(
        "client".to_owned(),
        format!("{} thread pairs × {} source ports", ports.threads, ports.ports_per_thread),
    );
    facts.insert("zone".to_owned(), format!("{} names below {ZONE}", names.count));
    let running = Arc::new(Mutex::new(Some(bed)));
    let tester = Tester {
        client,
        device: BedDevice { bed: Arc::clone(&running), boxes },
        names,
        expected,
        names_wear_out: is_dns64,
        queue: queue(),
        settle: scenario.measure.settle,
        interrupted: Arc::clone(&process.interrupted),
    };
    let mut rig = Rig::of(TrialRunner::Client(Box::new(tester)));
    (rig.facts, rig.doubts) = (facts, doubts);
    rig.shares_core = port::host::cores().len() < 2 * ports.threads as usize + point.cores as usize + 1;
    rig.teardown = Some(Box::new(move || {
        let bed = running.lock().expect("no panic while held").take();
        let left = bed.map(|bed| bed.teardown().left).unwrap_or_default();
        left.into_iter().chain(restore()).collect()
    }));
    Ok(rig)
}

fn names(scenario: &Scenario, is_dns64: bool) -> Names {
    let keys = scenario.procedures.get::<Dns>();
    Names { count: keys.names, existing_ppm: keys.existing_ppm(is_dns64) }
}

fn ports(scenario: &Scenario, point: &Point) -> ClientSockets {
    let keys = scenario.procedures.get::<Dns>();
    ClientSockets { threads: keys.threads, ports_per_thread: keys.ports(point.connections) }
}

/// Waits until the bed's authoritative server has loaded the zone.
fn stand(between: QueryPath, names: Names, process: &RunContext, whose: &str) -> Result<DnsBed, RigError> {
    let records = || -> Box<dyn Iterator<Item = Record>> {
        let text = |label: [u8; dns::names::LABEL]| label.map(char::from).iter().collect::<String>();
        Box::new(names.records().map(move |(label, a, aaaa)| (text(label), a, aaaa)))
    };
    let zone = Zone { name: ZONE, records: &records };
    let mut bed = DnsBed::build(between, &zone, &RunDir::of_this_user(), &process.commands.sink(whose))?;
    let (one, server) = (ClientSockets { threads: 1, ports_per_thread: 1 }, bed.between().server());
    let beside = bed.server().run_in(|| Client::open(server.ip(), server, one))?.map_err(|error| unopened(&error))?;
    // The server's own answer has the AAAA record of the zone, or none.
    let expected = if names.aaaa(names.probe()).is_some() { ExpectedAnswer::Zone } else { ExpectedAnswer::Nothing };
    let answered = wait_for_answers(&beside, &names, expected, &process.interrupted);
    // The reason why a program has ended is a better error than that it does not answer.
    bed.see_that_programs_run()?;
    answered?;
    Ok(bed)
}

fn client(bed: &DnsBed, ports: ClientSockets) -> Result<Client, RigError> {
    let (own, to) = bed.between().ends();
    Ok(bed.client().run_in(|| Client::open(own, to, ports))?.map_err(|error| unopened(&error))?)
}

fn unopened(error: &std::io::Error) -> TrialError {
    TrialError::Tester(format!(
        "the source ports of the DNS client cannot be opened: {error}; use fewer `threads` or `ports`, or raise the limit on open files \
         (ulimit -n)"
    ))
}

/// Queries that fit into a socket's receive queue of default size.
fn queue() -> Option<Count> {
    let octets: u64 = std::fs::read_to_string("/proc/sys/net/core/rmem_default").ok()?.trim().parse().ok()?;
    Some(octets / TRUE_SIZE)
}

/// A tester in a test bed, which may have been torn down.
pub(crate) struct BedDevice {
    bed: Arc<Mutex<Option<DnsBed>>>,
    /// Boxes between the ports of a test bed.
    boxes: Option<Box<dyn engine::Device>>,
}

impl Device for BedDevice {
    fn clear(&mut self) -> Result<bool, TrialError> {
        if let Some(boxes) = &mut self.boxes {
            boxes.clear()?;
        }
        let mut running = self.bed.lock().expect("no panic while held");
        let bed = running.as_mut().ok_or_else(|| TrialError::Device("the device has been torn down".to_owned()))?;
        bed.clear().map_err(|e| failed(&e))?;
        Ok(bed.between().is_program())
    }
}

/// The ceiling of client and server without a device: the highest rate of a measurement in queries per second, and the
/// CPU time of a query and of an answer in picoseconds.
pub(crate) struct Ceiling {
    pub(crate) rate: Rate,
    pub(crate) send_ps: u64,
    pub(crate) receive_ps: u64,
}

/// Length of a trial of the self-test.
const SELF_TEST: Nanos = Nanos::from_millis(200);
/// First rate, which any machine should reach.
const FIRST: Rate = Rate(2_000);
const LAST: Rate = Rate(16_000_000);
/// Host noise is no limit of the tester.
const TRIES: u32 = 3;
/// Halvings between the last rate that passed and the first that failed.
const HALVINGS: u32 = 4;
/// Answers must arrive within this part of the time-out (RFC 8219, section 9.2.1).
const PART_OF_TIMEOUT: u64 = 4;
/// Names in the self-test's zone.
const NAMES: u32 = 65_536;

/// Self-test of RFC 8219, section 9.2.1: the client asks the server, without a device. For a DNS64
/// server, the rate is half of that, because one query may cost the server two.
pub(crate) fn ceiling(scenario: &Scenario, point: &Point, process: &RunContext) -> Result<Ceiling, RigError> {
    let keys = scenario.procedures.get::<Dns>();
    let names = Names { count: NAMES, existing_ppm: 1_000_000 };
    let bed = stand(QueryPath::Nothing, names, process, "tester")?;
    let client = client(&bed, ports(scenario, point))?;
    let try_at = |rate: Rate| -> Result<Option<Observation>, TrialError> {
        let timeout = Nanos(keys.timeout.0 / PART_OF_TIMEOUT);
        let plan = QueryPlan::new(NAMES, 0);
        let load = Load { rate, queries: rate.frames_in(SELF_TEST), timeout, plan, expected: ExpectedAnswer::Zone };
        for _ in 0..TRIES {
            let seen = client.run(&load, &names, &process.interrupted)?;
            if seen.answers.valid == load.queries && seen.timing.finished_late.0 < SELF_TEST.0 / 100 {
                return Ok(Some(seen));
            }
        }
        Ok(None)
    };
    let found = search(try_at)?;
    // Errors have gone to the sink.
    bed.teardown();
    let Some((rate, seen)) = found else {
        return Err(RigError::Bed(format!(
            "without a device, the DNS server does not answer {FIRST} queries/s within {} ms; stop other programs, or use another machine",
            keys.timeout.0 / PART_OF_TIMEOUT / 1_000_000
        )));
    };
    let is_dns64 = scenario.measure.metrics.iter().any(|key| key == DNS64_RESOLUTION_RATE.key);
    let each = |nanos: Nanos| nanos.0 * 1_000 / seen.sent.max(1);
    Ok(Ceiling {
        rate: Rate(if is_dns64 { rate.0 / 2 } else { rate.0 }),
        send_ps: each(seen.send_cpu),
        receive_ps: each(seen.receive_cpu),
    })
}

/// Doubles the rate until it fails, and then halves the interval. Returns the highest rate that passed.
fn search<T>(mut try_at: impl FnMut(Rate) -> Result<Option<T>, TrialError>) -> Result<Option<(Rate, T)>, TrialError> {
    let (mut best, mut rate) = (None, FIRST);
    while rate < LAST
        && let Some(seen) = try_at(rate)?
    {
        best = Some((rate, seen));
        rate = rate.scaled(2, 1);
    }
    let Some((mut low, mut seen)) = best else { return Ok(None) };
    let mut high = rate;
    for _ in 0..HALVINGS {
        let middle = Rate(low.0.midpoint(high.0));
        match try_at(middle)? {
            Some(passed) => (low, seen) = (middle, passed),
            None => high = middle,
        }
    }
    Ok(Some((low, seen)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use scenario::Options;
    use scenario::gateway::Gateway;

    fn gateway_of(device: &str, more: &str) -> (String, Gateway) {
        let text =
            format!("name = \"dns\"\n{device}\n[measure]\nmetrics = \"dns_queries_resolved\"\nrepetitions = 1\n{more}");
        let loaded = scenario::parse("x.toml", &text, &Options::default(), tech::ALL).unwrap_or_else(|e| panic!("{e}"));
        let point = loaded.scenario.points().next().unwrap();
        let Some(QueryPath::Program(program)) = between(&loaded.scenario, &point) else { panic!("no program: {text}") };
        let gateway = scenario::gateway::parse("device.toml", &program.config, tech::ALL);
        (program.config.clone(), gateway.unwrap_or_else(|e| panic!("{e}")))
    }

    /// Regression: the only client had a quarter of the table, which had a gateway's size, and sessions ended after 300 s.
    #[test]
    fn the_gateway_has_table_time_out_and_quota_of_a_scenario() {
        let devices = [
            "[dut.embedded]",
            "[dut.embedded]\n[technology.ds-lite]\nb4 = \"2001:2:0:4000::1\"\naftr = \"2001:2:0:100::2\"\npool = \"198.19.0.1\"",
            "[dut.embedded]\n[technology.464xlat]\npref64 = \"2001:2:0:1000::/96\"\nclat = \"2001:2:0:2::/96\"\npool = \"198.19.0.1\"",
        ];
        for device in devices {
            let (text, gateway) = gateway_of(device, "[sweep]\nconnections = 50000");
            let state = gateway.technology.state().unwrap();
            let read = (state.sessions(), state.udp_timeout(), state.session_quota());
            assert_eq!(read, (50_000, Nanos::from_secs(10_000), None), "{text}");
            assert!(text.contains("table = 50000\nudp-timeout = \"10000 s\"\nsession-quota = \"none\"\n"), "{text}");
        }
    }

    /// Queries of other addresses than the default of `inside` would get no answer.
    #[test]
    fn the_client_of_the_bed_is_a_customer_of_a_nat44() {
        let (text, gateway) = gateway_of("[dut.embedded]", "[sweep]\nconnections = 100");
        let prefixes = format!("inside = [\"{}/32\"]", dut::dns::client());
        assert!(text.contains(&prefixes), "{text}");
        assert_eq!(gateway.technology.name(), "nat44");
    }

    #[test]
    fn what_the_scenario_sets_remains() {
        let nat44 = "[dut.embedded]\n[technology.nat44]\npool = \"198.19.0.1\"\ninside = \"198.18.0.0/15\"\ntable = \"2k\"\n\
                     udp-timeout = \"600 s\"\nsession-quota = 100\n";
        let (text, gateway) = gateway_of(nat44, "[sweep]\nconnections = 100");
        let state = gateway.technology.state().unwrap();
        let read = (state.sessions(), state.udp_timeout(), state.session_quota());
        assert_eq!(read, (2_000, Nanos::from_secs(600), Some(100)), "{text}");
        for key in ["inside", "table", "udp-timeout", "session-quota"] {
            assert_eq!(text.matches(&format!("\n{key} = ")).count(), 1, "{key} in {text}");
        }
    }

    #[test]
    fn the_ceiling_is_below_the_first_rate_that_fails() {
        let limit = 100_000;
        let (rate, ()) = search(|rate| Ok((rate.0 <= limit).then_some(()))).unwrap().unwrap();
        assert!(rate.0 <= limit && rate.0 + rate.0 / 10 > limit, "{rate}");
        assert!(search(|_| Ok(None::<()>)).unwrap().is_none());
    }
}
