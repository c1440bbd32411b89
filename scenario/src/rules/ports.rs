//! Each inside address and port finds an outside one, and customers with a port set fit the set.

use super::shares::ports_in_use;
use super::{Check, dut_at};
use crate::nat::{Nat, usable};
use crate::quantity::show_grouped;
use crate::{Dut, Scenario};
use key::{At, Fault};
use tech::{Flows, Mapping, Ports};
use wire::{PortRange, PortSet};

/// Customers with their source ports, as far as there are connections for them.
fn clients(scenario: &Scenario, flows: &Flows, hosts: u64) -> (u64, u64) {
    let clients = hosts * u64::from(flows.source_ports.count());
    (clients, clients.min(scenario.most_connections()))
}

/// Why an inside address and port takes an outside port.
fn why(mapping: Mapping) -> &'static str {
    match mapping {
        Mapping::EndpointIndependent => "with endpoint-independent mapping each of them takes one outside port",
        Mapping::AddressAndPortDependent => "towards one destination each of them takes one outside port",
    }
}

impl Check<'_> {
    pub(super) fn nats(&mut self) {
        for dut in &self.scenario.duts {
            let Some(nat) = dut.nat() else { continue };
            match &nat.outside.ports {
                Ports::Range(range, path) => {
                    self.kept_ports(dut, *range, path);
                    self.pool(dut, &nat, *range, path);
                }
                Ports::Set(set, from) => self.port_set(dut, &nat, *set, from),
            }
        }
    }

    /// A NAT can keep every source port.
    fn kept_ports(&mut self, dut: &Dut, pool: PortRange, path: &str) {
        let sources = self.scenario.traffic.flows.source_ports;
        if !dut.is_stateful() || (pool.contains(sources.first) && pool.contains(sources.last)) {
            return;
        }
        let written = self.spans.has("traffic.source-ports");
        let label = if written { "the pool's ports" } else { "does not contain the source ports" };
        let fault = Fault::new(format!("source ports {sources} lie outside the pool ports {pool} of `{}`", dut.name()))
            .at("traffic.source-ports", "not all of them are ports of the pool")
            .at(path, label);
        self.fault(fault.instead(
            "choose source ports inside the pool's, or widen pool-ports: \
             a NAT that cannot keep a port searches for another, which is another measurement",
        ));
    }

    /// A NAT's pool has an outside port for every inside address and port (RFC 4787, section 4.1).
    fn pool(&mut self, dut: &Dut, nat: &Nat, ports: PortRange, ports_path: &str) {
        let Some(state) = &nat.state else { return };
        let (flows, hosts) = match dut.technology() {
            Some(_) => {
                let flows = self.scenario.most_sources();
                let hosts = flows.hosts();
                (flows, hosts)
            }
            None => (self.scenario.traffic.flows.clone(), self.scenario.traffic.flows.inside.count.into()),
        };
        let (clients, needed) = clients(self.scenario, &flows, hosts);
        let needed = needed.min(match dut.technology() {
            Some(_) => ports_in_use(&flows, state.mapping, self.scenario.most_connections()),
            None => needed,
        });
        let outside = nat.addresses() * u64::from(ports.count());
        if needed <= outside {
            return;
        }
        let [clients_shown, outside_shown] = [clients, outside].map(show_grouped);
        let title = format!(
            "the pool of `{}` runs out: {clients_shown} inside addresses × ports, {outside_shown} outside",
            dut.name()
        );
        let addresses = clients.div_ceil(u64::from(ports.count()));
        let pool = nat.outside.pool.first().map_or_else(|| dut_at(dut), |(path, _)| path.as_str().into());
        let first =
            At::first([pool, ports_path.into(), "traffic.inside".into(), "traffic.source-ports".into(), dut_at(dut)]);
        let inside = At::first(["traffic.inside".into(), "traffic.subscribers".into()]);
        self.refuse(title)
                .at(first, why(state.mapping))
                .at(ports_path, format!("{} outside ports per address", ports.count()))
                .at_if(hosts > 1, inside, format!("{hosts} inside addresses"))
                .at("traffic.source-ports", format!("{} source ports", flows.source_ports.count()))
                .instead(format!(
                    "give the pool {addresses} addresses, or fewer inside addresses or source ports (and more destination ports)"
                ));
    }

    /// The port set of a customer that shares an address holds what comes out of it (RFC 7597,
    /// section 5.1): of a CE an outside port for each inside address and port, of a provider edge's
    /// subscribers the source ports.
    fn port_set(&mut self, dut: &Dut, nat: &Nat, set: PortSet, from: &At) {
        if nat.outside.pool.is_empty() {
            return;
        }
        let flows = self.scenario.most_sources();
        let words = At::first(["traffic.source-ports".into(), dut_at(dut)]);
        let Some(state) = &nat.state else {
            let ports = u64::from(set.count());
            let each = self.scenario.all_flows().into_iter().map(|flows| u64::from(flows.source_ports.count()));
            let sources = each.max().unwrap_or(0);
            if sources > ports {
                let [have, want] = [ports, sources].map(show_grouped);
                self.refuse(format!("a subscriber of `{}` has {have} ports, not {want}", dut.name()))
                    .at(words, format!("{want} source ports"))
                    .at(from.clone(), "the port sets follow from this")
                    .instead(format!("use at most {have} source ports, or a shorter PSID"));
            }
            return;
        };
        let (hosts, sources) = (flows.hosts(), u64::from(flows.source_ports.count()));
        let outside = nat.addresses() * usable(set);
        let (clients, needed) = clients(self.scenario, &flows, hosts);
        if needed <= outside {
            return;
        }
        let title = format!(
            "the port set of `{}` is too small for the flows: {} inside addresses × ports, {} outside",
            dut.name(),
            show_grouped(clients),
            show_grouped(outside)
        );
        let least = flows.source_ports.first;
        let last = u64::from(least) + (outside / 2 / hosts).max(1) - 1;
        let said = self.default_words("traffic.source-ports");
        let way_out = if last > 65_535 || hosts > outside / 2 {
            "give fewer inside addresses, or a shorter PSID".to_owned()
        } else {
            format!(
                "write source-ports = \"{least}-{last}\", half of the set, and more destination ports; or a shorter PSID"
            )
        };
        self.refuse(title)
            .at(words, format!("{} source ports{said}", show_grouped(sources)))
            .at(from.clone(), "the port set follows from this")
            .at(state.path("mapping"), why(state.mapping))
            .at_if(hosts > 1, "traffic.inside", format!("{hosts} inside addresses"))
            .instead(way_out);
    }
}

/// Warns of a port set of a customer edge that is more than half in use: the search for a free port
/// takes ever longer, and the trial would measure that.
pub(super) fn advice(scenario: &Scenario) -> Vec<String> {
    let full = |dut: &Dut| {
        let nat = dut.nat()?;
        let (Ports::Set(set, _), Some(_)) = (&nat.outside.ports, &nat.state) else { return None };
        let outside = nat.addresses() * usable(*set);
        let flows = scenario.most_sources();
        let (clients, _) = clients(scenario, &flows, flows.hosts());
        (outside > 0 && clients > outside / 2).then(|| {
            let [clients, outside] = [clients, outside].map(show_grouped);
            format!(
                "{clients} inside addresses × ports share the {outside} outside ports of `{}`: with more than half of a set in use a \
                 search for free ones slows a customer's edge down; use fewer source ports and more destination ports",
                dut.name()
            )
        })
    };
    scenario.duts.iter().filter_map(full).collect()
}
