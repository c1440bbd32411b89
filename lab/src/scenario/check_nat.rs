//! Rules about a NAT's ports and customers: each inside address and port finds an outside one, and every subscriber that the
//! tester plays is a customer of the device. Apart from the other rules, because these do the arithmetic of pools and port sets.

use super::Mapping;
use super::axis::{self, Fit};
use super::check_axes;
use super::check_shares::ports_in_use;
use super::diagnostic::{Diagnostic, Place};
use super::draft::{Draft, DutDraft, DutKind};
use super::nat::{NatDraft, Ports};
use super::quantity::{show_count, show_grouped};
use super::section::Spot;
use wire::{PortRange, PortSet};

/// Apply them to all devices.
pub fn check(draft: &Draft, log: &mut Vec<Diagnostic>) {
    for (at, dut) in draft.duts.iter().enumerate() {
        if let Some(nat) = dut.kind.nat() {
            match &nat.ports {
                Ports::Range(range) => ports(draft, dut, &nat, range, log),
                Ports::Set(set, place) => port_set(draft, dut, &nat, (*set, *place), log),
            }
        }
        subscribers(draft, at, log);
    }
}

/// The customers of `inside`, each with its source ports, as far as there are connections for them.
fn clients(draft: &Draft, inside: u64) -> (u64, u64) {
    let clients = inside * u64::from(draft.traffic.source_ports.value.count());
    (clients, clients.min(largest(draft)))
}

/// The largest number of connections.
pub(super) fn largest(draft: &Draft) -> u64 {
    let all = [&draft.quick, &draft.full].into_iter().filter_map(|measure| measure.connections.value.as_ref());
    all.flatten().map(|n| n.value).max().unwrap_or(0)
}

/// Inside addresses, or subscribers, at most.
fn insides(draft: &Draft) -> u64 {
    check_axes::insides(&draft.build(false)).map_or(1, |(_, most)| most)
}

/// What makes it take an outside port.
fn why(mapping: Mapping) -> &'static str {
    match mapping {
        Mapping::EndpointIndependent => {
            "with endpoint-independent mapping each of them takes an outside port of its own"
        }
        Mapping::AddressAndPortDependent => "towards one destination each of them takes an outside port of its own",
    }
}

/// A NAT's pool has an outside port for every inside address and port (RFC 4787, section 4.1).
fn ports(draft: &Draft, dut: &DutDraft, nat: &NatDraft, range: &Spot<PortRange>, log: &mut Vec<Diagnostic>) {
    let t = &draft.traffic;
    let Some(state) = &nat.state else { return };
    if !(nat.pool.iter().all(|pool| pool.sound) && range.sound && t.inside.sound && t.source_ports.sound) {
        return;
    }
    let (sources, pool) = (t.source_ports.value, range.value);
    if !pool.contains(sources.first) || !pool.contains(sources.last) {
        let (words, default) = match (t.source_ports.place, range.place) {
            (Some(words), _) => (Some((words, "not all of them are ports of the pool")), range.place),
            (None, Some(words)) => (Some((words, "does not contain the source ports")), None),
            (None, None) => (None, None),
        };
        let title = format!("source ports {sources} lie outside the pool ports {pool} of `{}`", dut.name());
        log.push(
            Diagnostic::new(title)
                .at(words.map(|(place, _)| place), words.map_or("", |(_, label)| label))
                .at(default, "the pool's ports")
                .instead(
                    "choose source ports inside the pool's, or widen pool-ports: \
                          a NAT that cannot keep a port searches for another, which is another measurement",
                ),
        );
    }
    let played = matches!(dut.kind, DutKind::Technology { .. });
    let hosts = if played { insides(draft) } else { t.inside.value.count.into() };
    let (clients, mut needed) = clients(draft, hosts);
    if played {
        needed = ports_in_use(draft, state.mapping, hosts);
    }
    let outside = nat.pool.iter().map(|pool| u64::from(pool.value.count)).sum::<u64>() * u64::from(pool.count());
    if needed > outside {
        let [clients_shown, outside_shown] = [clients, outside].map(show_grouped);
        let title = format!(
            "the pool of `{}` runs out: {clients_shown} inside addresses × ports, {outside_shown} outside",
            dut.name()
        );
        let addresses = clients.div_ceil(u64::from(pool.count()));
        let inside = t.inside.place.or(t.subscribers.place).filter(|_| hosts > 1);
        let pool_place = nat.pool.first().and_then(|pool| pool.place);
        let places = [pool_place, range.place, inside, t.source_ports.place];
        let words = places.into_iter().flatten().next().unwrap_or(dut.key);
        let outside_words = range.place.filter(|&place| place != words);
        log.push(
            Diagnostic::new(title)
                .at(words, why(state.mapping))
                .at(outside_words, format!("{} outside ports an address", pool.count()))
                .at(inside.filter(|&place| place != words), format!("{hosts} inside addresses"))
                .at(t.source_ports.place.filter(|&place| place != words), format!("{} source ports", sources.count()))
                .instead(format!("give the pool {addresses} addresses, or fewer inside addresses or source ports (and more destination ports)")),
        );
    }
}

/// What is right and still unwise: a customer's edge whose port set is more than half in use. An edge that searches for a free port
/// takes ever longer there, and that is what is measured.
pub fn notes(draft: &Draft) -> Vec<String> {
    let full = |dut: &DutDraft| {
        let nat = dut.kind.nat()?;
        let (Ports::Set(set, _), Some(_)) = (&nat.ports, &nat.state) else { return None };
        let outside = nat.pool.iter().map(|pool| u64::from(pool.value.count)).sum::<u64>() * usable(*set);
        let (clients, _) = clients(draft, insides(draft));
        (outside > 0 && clients > outside / 2).then(|| {
            let [clients, outside] = [clients, outside].map(show_grouped);
            let name = dut.name();
            format!(
                "{clients} inside addresses × ports share the {outside} outside ports of `{name}`: with more than half of a set in use a \
                 search for free ones slows a customer's edge down; use fewer source ports and more destination ports"
            )
        })
    };
    draft.duts.iter().filter_map(full).collect()
}

/// The port set of a customer who shares an address holds what comes out of it (RFC 7597, section 5.1): of a CE an outside port for
/// each inside address and port, of a provider edge's subscribers the source ports.
fn port_set(draft: &Draft, dut: &DutDraft, nat: &NatDraft, set: (PortSet, Option<Place>), log: &mut Vec<Diagnostic>) {
    let t = &draft.traffic;
    if nat.pool.is_empty() || !(t.inside.sound && t.source_ports.sound) {
        return;
    }
    let ((set, place), sources) = (set, u64::from(t.source_ports.value.count()));
    let name = dut.name();
    match &nat.state {
        None if sources > u64::from(set.count()) => {
            let ports = u64::from(set.count());
            let title =
                format!("a subscriber of `{name}` has {} ports, not {}", show_grouped(ports), show_grouped(sources));
            log.push(
                Diagnostic::new(title)
                    .at(t.source_ports.place.or(Some(dut.key)), format!("{} source ports", show_grouped(sources)))
                    .at(place, "the port sets follow from this")
                    .instead(format!("use {} source ports at most, or a shorter PSID", show_grouped(ports))),
            );
        }
        None => {}
        Some(state) => {
            let addresses = nat.pool.iter().map(|pool| u64::from(pool.value.count)).sum::<u64>();
            let (hosts, outside) = (insides(draft), addresses * usable(set));
            let (clients, needed) = clients(draft, hosts);
            if needed <= outside {
                return;
            }
            let title = format!(
                "the port set of `{name}` is too small for the flows: {} inside addresses × ports, {} outside",
                show_grouped(clients),
                show_grouped(outside)
            );
            let least = t.source_ports.value.first;
            let last = u64::from(least) + (outside / 2 / hosts).max(1) - 1;
            let said = t.source_ports.place.map_or(" (the default)", |_| "");
            let diagnostic = Diagnostic::new(title)
                .at(t.source_ports.place.or(Some(dut.key)), format!("{} source ports{said}", show_grouped(sources)))
                .at(place, "the port set follows from this")
                .at(state.mapping_place, why(state.mapping))
                .at(t.inside.place.filter(|_| hosts > 1), format!("{hosts} inside addresses"));
            log.push(diagnostic.instead(if last > 65_535 || hosts > outside / 2 {
                "give fewer inside addresses, or a shorter PSID".to_owned()
            } else {
                format!("write source-ports = \"{least}-{last}\", half of the set, and more destination ports; or a shorter PSID")
            }));
        }
    }
}

/// Ports of a set that a customer's edge gives out: never port 0, and of a whole address none of the system's.
fn usable(set: PortSet) -> u64 {
    if set == PortSet::ALL { 65_536 - 1024 } else { u64::from(set.count()) - u64::from(set.contains(0)) }
}

/// Every subscriber is one of the device: frames of others would be dropped, and their loss taken for the device's.
fn subscribers(draft: &Draft, at: usize, log: &mut Vec<Diagnostic>) {
    let scenario = draft.build(false);
    let (dut, wanted) = (&draft.duts[at], &draft.traffic.subscribers);
    let Some(axis) = axis::by_name("subscribers") else { return };
    if let Fit::UpTo(most, why, wider) = (axis.fit)(&scenario.duts[at], &scenario.traffic)
        && wanted.sound
        && most > 0
        && wanted.value > most
    {
        let [have, want] = [most, wanted.value].map(show_grouped);
        let diagnostic = Diagnostic::new(format!("`{}` has room for {have} subscribers, not for {want}", dut.name()));
        let diagnostic = diagnostic.at(wanted.place, why);
        log.push(diagnostic.instead(format!("write {} at most, or {wider}", show_count(most))));
    }
}
