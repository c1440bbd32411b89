//! Rules about shares: what a worker has of a table, and what a customer of a technology's NAT may have: ports of its outside
//! address at its worker, quotas, blocks of ports. Apart from the rules about whole pools, because these ask who is a customer,
//! and whose. Without them a device would be reported that rightly refuses connections.

use super::Dut;
use super::Mapping;
use super::check_axes;
use super::check_nat::largest;
use super::diagnostic::{Diagnostic, Place};
use super::draft::{Draft, DutDraft, DutKind, fullest};
use super::nat::Words;
use super::quantity::{show_count, show_grouped};
use super::section::Spot;
use super::technology::{Plays, State, Technology};
use dut::software::conntrack::SLACK;
use method::Count;
use plane::nat44::config::share_of_a_worker;

/// Apply those about customers to all devices, as they are at each point of the matrix; the first fault of a device is shown.
pub fn check(draft: &Draft, log: &mut Vec<Diagnostic>) {
    let scenario = draft.build(false);
    for (at, dut) in draft.duts.iter().enumerate() {
        let DutKind::Technology { plays, words, .. } = &dut.kind else { continue };
        let found = scenario.combinations(&scenario.duts[at]).into_iter().find_map(|values| {
            let point = scenario.at(at, &values);
            let Dut::Technology { technology, .. } = &point.duts[at] else { return None };
            let state = technology.state().filter(|_| technology.is_stateful(*plays))?;
            let pool = values.get("outside-addresses").and_then(|&n| swept(draft, "outside-addresses", n));
            let device = Device { draft, dut, technology, plays: *plays, state, words, pool };
            device.with(check_axes::inside(&point.traffic))
        });
        log.extend(found);
    }
}

/// Where a value of an axis stands.
fn swept(draft: &Draft, axis: &str, value: u64) -> Option<Place> {
    let axis = draft.axes.iter().find(|a| a.axis.name == axis)?;
    axis.values.iter().find(|n| n.value == value)?.place
}

/// The table of a device has room for so many connections, and so has the part of it that the fullest worker has.
pub fn table(draft: &Draft, dut: &DutDraft, connections: &Spot<Count>) -> Option<Diagnostic> {
    let (table, t) = (dut.kind.nat()?.state?.table, &draft.traffic);
    let (size, n) = (table.value?, connections.value);
    let shown = show_count(n);
    let title = format!("{shown} connections do not fit the table of `{}`", dut.name());
    let leave = "or leave `table` out: it is then as large as needed";
    if let DutKind::KernelNat44(..) = dut.kind {
        let needed = n + SLACK;
        return (size < needed).then(|| {
            Diagnostic::new(title)
                .at(
                    connections.place,
                    format!("{} entries are needed besides, for what is in flight", show_grouped(SLACK)),
                )
                .at(table.place, "the table")
                .instead(format!("write table = {needed} at least, {leave}"))
        });
    }
    if n > size {
        let diagnostic = Diagnostic::new(title).at(connections.place, "more than the table holds");
        return Some(diagnostic.at(table.place, "the table").instead(format!("make the table larger, {leave}")));
    }
    let workers = draft.most_workers().max(1);
    let needed = draft.sessions(dut, n);
    let (each, most) = (share_of_a_worker(size, workers as usize), needed.div_ceil(workers));
    let sound = t.inside.sound && t.subscribers.sound && t.source_ports.sound && draft.axes_sound;
    (sound && needed > n && most > each).then(|| {
        let (each, most) = (show_grouped(each), show_grouped(most));
        Diagnostic::new(format!("{title} with {workers} workers"))
            .at(connections.place, format!("spread by chance: the fullest worker may have {most} of them"))
            .at(table.place, format!("a worker's part has room for {each}"))
            .at(draft.cores.place, "workers")
            .instead(format!("write table = {needed} at least, {leave}"))
    })
}

/// Outside ports in use at once where the connections are spread by chance over all flows of so many inside addresses.
pub fn ports_in_use(draft: &Draft, mapping: Mapping, hosts: u64) -> u64 {
    let (t, connections) = (&draft.traffic, largest(draft));
    let destinations = u64::from(t.remote.value.count) * u64::from(t.destination_ports.value.count());
    let clients = hosts.saturating_mul(t.source_ports.value.count().into());
    let ports = match mapping {
        // As many as inside addresses and ports have a connection at all.
        Mapping::EndpointIndependent => {
            let each = connections as f64 / clients.max(1) as f64;
            (clients as f64 * (1.0 - (-each).exp())).ceil() as u64
        }
        // As many as connections go to one destination: some have more than their share, by four standard deviations at most.
        Mapping::AddressAndPortDependent => {
            let share = connections as f64 / destinations.max(1) as f64;
            clients.min((share + 4.0 * share.sqrt()).ceil() as u64)
        }
    };
    ports.min(connections)
}

struct Device<'a> {
    draft: &'a Draft,
    dut: &'a DutDraft,
    technology: &'a Technology,
    plays: Plays,
    state: &'a State,
    words: &'a Words,
    /// Of the number of outside addresses, where it is swept.
    pool: Option<Place>,
}

impl Device<'_> {
    /// What is wrong with so many inside addresses, or subscribers.
    fn with(&self, hosts: u64) -> Option<Diagnostic> {
        let t = &self.draft.traffic;
        let connections = largest(self.draft);
        if connections == 0 || !(t.inside.sound && t.source_ports.sound && t.destination_ports.sound && t.remote.sound)
        {
            return None;
        }
        let needed = ports_in_use(self.draft, self.state.mapping.into(), hosts);
        self.quotas(hosts, connections, needed).or_else(|| self.ports(hosts, needed))
    }

    /// Quotas and blocks suffice for the subscribers (RFC 6888, REQ-4 and 14).
    fn quotas(&self, hosts: u64, connections: u64, needed: u64) -> Option<Diagnostic> {
        let limits = &self.state.limits;
        let subscribers = self.technology.subscribers(self.plays, hosts);
        let blocks = limits.port_blocks.map(|(size, each)| u64::from(size) * u64::from(each));
        let all = [
            ("session-quota", limits.session_quota.map(u64::from), connections, "connections"),
            ("port-quota", limits.port_quota.map(u64::from), needed, "outside ports in use"),
            ("port-block", blocks, needed, "outside ports in use"),
        ];
        let (key, each, needed, what) = all
            .into_iter()
            .find(|(_, each, needed, _)| each.is_some_and(|each| each.saturating_mul(subscribers) < *needed))?;
        let who = match subscribers {
            1 => "the tester is one subscriber".to_owned(),
            n => format!("the tester plays {} subscribers", show_grouped(n)),
        };
        let title =
            format!("`{key}` of `{}` stops the test: {who}, for {} {what}", self.dut.name(), show_grouped(needed));
        let label = format!("{} each", show_grouped(each.unwrap_or_default()));
        let least = show_grouped(needed.div_ceil(subscribers));
        let mut help = format!("allow each {least} or more");
        if self.technology.counts_by_prefix().is_some_and(|len| len < 128) && hosts > 1 {
            help += ", or make each address a subscriber: subscriber-prefix = 128";
        }
        Some(Diagnostic::new(title).at(self.words.at(key), label).instead(help))
    }

    /// The outside ports of the whole pool, and of one customer, who has an address of it and a worker.
    fn ports(&self, hosts: u64, needed: u64) -> Option<Diagnostic> {
        let (addresses, ports) = match (self.technology.nat(), self.technology.nat6()) {
            (Some(nat), _) => {
                (nat.pool.iter().map(|pool| u64::from(pool.count)).sum::<u64>(), u64::from(nat.pool_ports.count()))
            }
            (_, Some(nat)) => (nat.addresses(), u64::from(nat.pool_ports.count())),
            _ => return None,
        };
        let (workers, outside) = (self.draft.most_workers().max(1), addresses.saturating_mul(ports));
        let place = self.pool.or(self.words.at("pool")).or(self.words.at("pool-ports")).or(Some(self.dut.key));
        if self.technology.nat6().is_some() && needed > outside {
            let title = format!("the pool of `{}` runs out: {} outside", self.dut.name(), show_grouped(outside));
            let label = format!("{} outside ports are in use at once", show_grouped(needed));
            let help = format!("give the pool {} addresses, or fewer source ports", needed.div_ceil(ports));
            return Some(Diagnostic::new(title).at(place, label).instead(help));
        }
        let wholes = self.technology.wholes(self.plays, hosts)?;
        let (own, each) = (ports / workers, needed.div_ceil(wholes));
        if !self.state.limits.arbitrary_pooling && each > own {
            return Some(self.one_address(place, own, each, wholes));
        }
        let wanted = fullest(needed, wholes, workers);
        (needed <= outside && wanted > outside).then(|| {
            let share = show_grouped(outside / workers);
            let title = format!(
                "the pool of `{}` runs out with {workers} workers: each has {share} ports of it",
                self.dut.name()
            );
            let label =
                format!("{wholes} customers are spread by chance, each whole: the fullest worker may need more");
            Diagnostic::new(title).at(place, label).at(self.draft.cores.place, "workers").instead(format!(
                "give the pool {} addresses, or fewer source ports (and more destination ports)",
                wanted.div_ceil(ports)
            ))
        })
    }

    /// A customer needs more than its outside address has at its worker (RFC 4787, REQ-2: paired pooling).
    fn one_address(&self, place: Option<Place>, own: u64, each: u64, wholes: u64) -> Diagnostic {
        let at = if self.draft.most_workers() > 1 { " at one worker" } else { "" };
        let title = format!(
            "a customer of `{}` has {} ports: those of one outside address{at}",
            self.dut.name(),
            show_grouped(own)
        );
        let mut help = "use fewer source ports (and more destination ports)".to_owned();
        if self.draft.most_workers() > 1 {
            help += ", or fewer workers";
        }
        if wholes == 1 && self.technology.counts_by_prefix().is_some_and(|len| len < 128) {
            help += ", or make each address a customer: subscriber-prefix = 128";
        }
        let diagnostic = Diagnostic::new(title).at(place, format!("{} are in use at once", show_grouped(each)));
        diagnostic
            .at(self.draft.cores.place, "workers")
            .at(self.draft.traffic.source_ports.place, "source ports")
            .instead(help)
    }
}
