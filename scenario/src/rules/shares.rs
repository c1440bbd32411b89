//! Shares: what a worker has of a table, and a customer of a NAT: ports of its outside address at
//! its worker, quotas, port blocks. A device rightly refuses connections beyond them.

use super::{Check, dut_at};
use crate::nat::technology_path;
use crate::quantity::{show_count, show_grouped};
use crate::settle::{SLACK, fullest};
use crate::{Dut, Plays, Scenario, Technology};
use key::{At, Fault};
use method::Count;
use tech::{Flows, Mapping, PortPool, State, share_of_a_worker};

impl Check<'_> {
    /// Rules about customers of each device at each point; the first fault of a device is shown.
    pub(super) fn shares(&mut self) {
        let scenario = self.scenario;
        for (at, dut) in scenario.duts.iter().enumerate() {
            let found = scenario.combinations(dut).into_iter().find_map(|values| {
                let point = scenario.at(at, scenario.most_connections(), &values);
                let (plays, technology) = point.duts[at].technology()?;
                let state = technology.state().filter(|_| technology.is_stateful(plays))?;
                let pool = values.get("outside-addresses").map(|&n| swept(scenario, "outside-addresses", n));
                let flows = &point.traffic.flows;
                let device = Device { scenario, flows, dut, technology, plays, state, pool };
                device.with(flows.hosts())
            });
            self.faults.extend(found);
        }
    }
}

fn swept(scenario: &Scenario, axis: &str, value: u64) -> At {
    let values = scenario.swept(axis).map_or(&[][..], |swept| &swept.values);
    let at = values.iter().position(|&n| n == value).unwrap_or(0);
    format!("sweep.{axis}[{at}]").into()
}

/// The table of a device has room for so many connections, also the part of the fullest worker.
pub(super) fn table(scenario: &Scenario, dut: &Dut, connections: &str, n: Count) -> Option<Fault> {
    let state = dut.nat_state()?;
    let (size, table) = (state.sessions?, state.path("table"));
    let title = format!("{} connections do not fit into the table of `{}`", show_count(n), dut.name());
    let leave = "or remove `table`: it is then as large as needed";
    if !dut.has_workers() {
        let needed = n + SLACK;
        let besides = format!("{} more entries are needed for packets in flight", show_grouped(SLACK));
        let fault = Fault::new(title).at(connections, besides).at(table, "the table");
        return (size < needed).then(|| fault.instead(format!("write table = {needed} or more, {leave}")));
    }
    if n > size {
        let fault = Fault::new(title).at(connections, "more than the table holds").at(table, "the table");
        return Some(fault.instead(format!("make the table larger, {leave}")));
    }
    let workers = scenario.most_workers().max(1);
    let needed = scenario.sessions(dut, n);
    let (each, most) = (share_of_a_worker(size, workers as usize), needed.div_ceil(workers));
    (needed > n && most > each).then(|| {
        let (each, most) = (show_grouped(each), show_grouped(most));
        Fault::new(format!("{title} with {workers} workers"))
            .at(connections, format!("spread at random: one worker may have {most} of them"))
            .at(table, format!("a worker's part has room for {each}"))
            .at("sweep.cores", "workers")
            .needs("traffic.inside")
            .needs("traffic.subscribers")
            .needs("traffic.source-ports")
            .instead(format!("write table = {needed} or more, {leave}"))
    })
}

/// Outside ports in use where so many connections are spread by chance over all flows.
pub(super) fn ports_in_use(flows: &Flows, mapping: Mapping, connections: Count) -> u64 {
    let destinations = u64::from(flows.remote.count) * u64::from(flows.destination_ports.count());
    let clients = flows.hosts().saturating_mul(flows.source_ports.count().into());
    let ports = match mapping {
        // As many as inside addresses and ports with a connection.
        Mapping::EndpointIndependent => {
            let each = connections as f64 / clients.max(1) as f64;
            (clients as f64 * (1.0 - (-each).exp())).ceil() as u64
        }
        // As many as connections to one destination: some have more than their share, by four
        // standard deviations at most.
        Mapping::AddressAndPortDependent => {
            let share = connections as f64 / destinations.max(1) as f64;
            clients.min((share + 4.0 * share.sqrt()).ceil() as u64)
        }
    };
    ports.min(connections)
}

struct Device<'a> {
    scenario: &'a Scenario,
    flows: &'a Flows,
    dut: &'a Dut,
    technology: &'a dyn Technology,
    plays: Plays,
    state: &'a State,
    /// The number of outside addresses, where it is swept.
    pool: Option<At>,
}

impl Device<'_> {
    /// What is wrong with so many inside addresses, or subscribers.
    fn with(&self, hosts: u64) -> Option<Fault> {
        let connections = self.scenario.most_connections();
        if connections == 0 {
            return None;
        }
        let needed = ports_in_use(self.flows, self.state.mapping, connections);
        let fault = self.quotas(hosts, connections, needed).or_else(|| self.ports(hosts, needed))?;
        let flows = ["inside", "source-ports", "destination-ports", "remote"];
        Some(flows.into_iter().fold(fault, |fault, key| fault.needs(format!("traffic.{key}"))))
    }

    /// Workers that share the pool out; the cores of a box are none.
    fn workers(&self) -> u64 {
        if self.dut.has_workers() { self.scenario.most_workers().max(1) } else { 1 }
    }

    fn key(&self, key: &str) -> String {
        format!("{}.{key}", technology_path(self.technology))
    }

    /// Part of the help where several customers of a prefix are one subscriber.
    fn one_subscriber(&self) -> bool {
        self.technology.counts_by_prefix().is_some_and(|len| len < 128)
    }

    /// Quotas and blocks suffice for the subscribers (RFC 6888, REQ-4 and 14).
    fn quotas(&self, hosts: u64, connections: u64, needed: u64) -> Option<Fault> {
        let subscribers = self.technology.subscribers(self.plays, hosts);
        let state = self.state;
        let all = [
            ("session-quota", state.session_quota().map(u64::from), connections, "connections"),
            ("port-quota", state.port_quota.map(u64::from), needed, "outside ports in use"),
            ("port-block", state.block_ports(), needed, "outside ports in use"),
        ];
        let (key, each, needed, what) = all
            .into_iter()
            .find(|(_, each, needed, _)| each.is_some_and(|each| each.saturating_mul(subscribers) < *needed))?;
        let played = match subscribers {
            1 => "the tester is one subscriber".to_owned(),
            n => format!("the tester plays {} subscribers", show_grouped(n)),
        };
        let title =
            format!("`{key}` of `{}` is too small: {played}, with {} {what}", self.dut.name(), show_grouped(needed));
        let label = format!("{} each", show_grouped(each.unwrap_or_default()));
        let mut help = format!("allow each {} or more", show_grouped(needed.div_ceil(subscribers)));
        if self.one_subscriber() && hosts > 1 {
            help += ", or make each address a subscriber: subscriber-prefix = 128";
        }
        Some(Fault::new(title).at(self.key(key), label).instead(help))
    }

    /// Outside ports of the whole pool, and of one customer, which has one address and worker.
    fn ports(&self, hosts: u64, needed: u64) -> Option<Fault> {
        let PortPool { addresses, ports, is_ipv6 } = self.technology.port_pool()?;
        let (workers, outside) = (self.workers(), addresses.saturating_mul(ports));
        if is_ipv6 && needed > outside {
            let title = format!("the pool of `{}` runs out: {} outside", self.dut.name(), show_grouped(outside));
            let label = format!("{} outside ports are in use at once", show_grouped(needed));
            let help = format!("give the pool {} addresses, or fewer source ports", needed.div_ceil(ports));
            return Some(Fault::new(title).at(self.pool_at(), label).instead(help));
        }
        let wholes = self.technology.wholes(self.plays, hosts)?;
        let (own, each) = (ports / workers, needed.div_ceil(wholes));
        if !self.state.arbitrary_pooling && each > own {
            return Some(self.one_address(own, each, wholes));
        }
        let wanted = fullest(needed, wholes, workers);
        (needed <= outside && wanted > outside).then(|| {
            let share = show_grouped(outside / workers);
            let title = format!(
                "the pool of `{}` runs out with {workers} workers: each has {share} ports of it",
                self.dut.name()
            );
            let label = format!("{wholes} customers are spread over workers at random: one worker may need more");
            Fault::new(title).at(self.pool_at(), label).at("sweep.cores", "workers").instead(format!(
                "give the pool {} addresses, or fewer source ports (and more destination ports)",
                wanted.div_ceil(ports)
            ))
        })
    }

    fn pool_at(&self) -> At {
        let keys = At::first([self.key("pool").into(), self.key("pool-ports").into(), dut_at(self.dut)]);
        self.pool.clone().map_or(keys.clone(), |swept| At::first([swept, keys]))
    }

    /// A customer needs more than its address has at its worker (RFC 4787, REQ-2: paired pooling).
    fn one_address(&self, own: u64, each: u64, wholes: u64) -> Fault {
        let several = self.workers() > 1;
        let at = if several { " at one worker" } else { "" };
        let title = format!(
            "a customer of `{}` has {} ports: those of one outside address{at}",
            self.dut.name(),
            show_grouped(own)
        );
        let mut help = "use fewer source ports (and more destination ports)".to_owned();
        if several {
            help += ", or fewer workers";
        }
        if wholes == 1 && self.one_subscriber() {
            help += ", or make each address a customer: subscriber-prefix = 128";
        }
        Fault::new(title)
            .at(self.pool_at(), format!("{} are in use at once", show_grouped(each)))
            .at("sweep.cores", "workers")
            .at("traffic.source-ports", "source ports")
            .instead(help)
    }
}
