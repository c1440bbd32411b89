//! Rules about a technology's own parameters against the tester's flows: what the device would rightly drop, or what the tester
//! cannot play. Without them such a scenario would report a device at 0.

use super::diagnostic::Diagnostic;
use super::draft::{Draft, DutKind};
use super::nat::Words;
use super::technology::{Plays, Technology};
use plane::Prefix6;
use plane::translate::prefix::{WELL_KNOWN, is_global};
use wire::AddrRange;

/// Apply them to all devices.
pub fn check(draft: &Draft, log: &mut Vec<Diagnostic>) {
    for dut in &draft.duts {
        if let DutKind::Technology { plays, technology, words } = &dut.kind {
            well_known(draft, technology, *plays, words, log);
            prefix_of_a_ce(technology, *plays, words, log);
        }
    }
}

/// Behind 64:ff9b::/96 there are global IPv4 addresses only (RFC 6052, section 3.1), and a laboratory has none.
fn well_known(draft: &Draft, technology: &Technology, plays: Plays, words: &Words, log: &mut Vec<Diagnostic>) {
    let t = &draft.traffic;
    let (inside, remote) = (("inside", &t.inside), ("remote", &t.remote));
    let (key, prefix, private, embedded) = match technology {
        Technology::Nat64 { pref64, private, .. } | Technology::Xlat464 { pref64, private, .. } => {
            ("pref64", *pref64, *private, vec![remote])
        }
        Technology::MapT { dmr, private, .. } => ("dmr", *dmr, *private, vec![remote]),
        Technology::Siit(siit) => {
            // What a file maps is not known yet.
            let Some(pref64) = siit.pref64.filter(|_| siit.eam_file.is_none()) else { return };
            let mapped = |a: AddrRange| {
                let within =
                    |p: &plane::nat44::config::Prefix| [a.first, a.last()].iter().all(|&a| p.contains(a.into()));
                siit.eam.iter().any(|(four, _)| within(four))
            };
            let others = [inside, remote].into_iter().filter(|(_, range)| !mapped(range.value));
            ("pref64", pref64, siit.private, others.collect())
        }
        _ => return,
    };
    let is_well_known = prefix == Prefix6 { addr: WELL_KNOWN.into(), len: 96 };
    let local = |a: AddrRange| [a.first, a.last()].iter().any(|&a| !is_global(a.into()));
    let Some((name, range)) = embedded.into_iter().find(|(_, range)| range.sound && local(range.value)) else { return };
    if !is_well_known || private {
        return;
    }
    let title = format!("`{}` drops packets with these addresses", technology.name_of(plays));
    let default = range.place.map_or(" (its default)", |_| "");
    let label = format!("the well-known prefix, behind which `{name}`{default} may not stand (RFC 6052, section 3.1)");
    log.push(
        Diagnostic::new(title).at(words.at(key), label).at(range.place, "not global: private, or for tests").instead(
            format!(
                "use a prefix of your own, for example {key} = \"2001:2:0:1000::/96\", or allow them: \
                 private-behind-well-known = true"
            ),
        ),
    );
}

/// In MAP-T the IPv4 address of a CE stands in its IPv6 address (RFC 7599, section 6), and the tester knows one: a CE with a
/// prefix may choose among many.
fn prefix_of_a_ce(technology: &Technology, plays: Plays, words: &Words, log: &mut Vec<Diagnostic>) {
    let (Technology::MapT { map, .. }, Plays::Ce) = (technology, plays) else { return };
    let (whole, length) = (32 - map.ipv4.len, map.ipv4.len + map.ea_bits);
    if map.ea_bits < whole {
        let diagnostic = Diagnostic::new("the tester can play the BR only for a CE with one IPv4 address")
            .at(words.at("ea-bits"), format!("gives the CE a prefix of length {length}"))
            .at(words.at("ipv4-prefix"), format!("{whole} bits of the address are left to the EA bits"));
        log.push(diagnostic.instead(format!("give {whole} EA bits or more, or measure it with plays = \"dual\"")));
    }
}
