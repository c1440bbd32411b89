//! Reading `[technology.…]`: the table of one technology, key by key, into its parameters. Apart from the parameters
//! themselves, because gateways, rigs and axes need these and know no files.

use super::options::Limits;
use super::{Lw4o6, Nat, Nat6, Siit, Softwires, State, Technology};
use crate::scenario::diagnostic::{Diagnostic, Place};
use crate::scenario::schema;
use crate::scenario::section::{self, Given, Section, Spot};
use crate::scenario::tree::{Entry, Node, Table, Value};
use method::Nanos;
use plane::nat44::config::{Filtering, Mapping};
use std::net::Ipv6Addr;
use wire::{PortRange, Prefix4, Prefix6};

/// The technology that a file has; complaints about having none only if `needed`.
pub fn technology(root: &Table, needed: bool, log: &mut Vec<Diagnostic>) -> Option<Technology> {
    let all = || schema::kinds("technology").map(|k| format!("[technology.{k}]")).collect::<Vec<_>>().join(", ");
    let table = match root.get("technology") {
        Some(Entry { node: Node { value: Value::Table(table), .. }, .. }) => Some(table),
        _ => None,
    };
    let found = table.map_or(&[][..], |t| &t.entries);
    let Some(entry) = found.first() else {
        if needed {
            let diagnostic = Diagnostic::new("the gateway has no technology");
            log.push(diagnostic.instead(format!("add a table for one: {}", all())));
        }
        return None;
    };
    if let Some(second) = found.get(1) {
        let diagnostic = Diagnostic::new("there is one technology at a time").at(second.key, "the second");
        log.push(diagnostic.at(entry.key, "the first").instead("keep one of the tables"));
        return None;
    }
    let Some(kind) = schema::kinds("technology").find(|k| *k == entry.name) else {
        let diagnostic = Diagnostic::new(format!("unknown technology `{}`", entry.name)).at(entry.key, "no such kind");
        log.push(diagnostic.instead(format!("known are {}", all())));
        return None;
    };
    let path = format!("technology.{kind}");
    let mut reading = Reading { section: Section::new(table?, kind, &path, log), missing: Vec::new() };
    let read = reading.technology(kind);
    let Reading { section, missing, .. } = reading;
    section.finish();
    for (key, example) in missing {
        let diagnostic = Diagnostic::new(format!("[{path}] has no `{key}`")).at(entry.key, "this table");
        log.push(diagnostic.instead(format!("add {key} = {example}")));
    }
    read
}

/// How remote addresses are known on the other side: explicit maps, and a prefix.
type Remotes = (Vec<(Prefix4, Prefix6)>, Option<Prefix6>);

/// One technology's table while it is read.
pub(super) struct Reading<'a> {
    pub(super) section: Section<'a>,
    /// Keys that must be there and are not, with an example.
    pub(super) missing: Vec<(&'static str, &'static str)>,
}

/// Own addresses of customers when nobody says (RFC 1918, and those of the test networks).
const INSIDE: [([u8; 4], u8); 4] =
    [([10, 0, 0, 0], 8), ([172, 16, 0, 0], 12), ([192, 168, 0, 0], 16), ([198, 18, 0, 0], 16)];

/// A B4's own address in its tunnel (RFC 6333, section 5.7).
const B4: ([u8; 4], u8) = ([192, 0, 0, 2], 32);

impl Reading<'_> {
    fn technology(&mut self, kind: &str) -> Option<Technology> {
        match kind {
            "nat44" => {
                let (inside, options, nat) = (self.inside(), self.options(), self.nat());
                Some(Technology::Nat44 { inside, options, nat: nat? })
            }
            "siit" => self.siit().map(Technology::Siit),
            "nat64" => {
                let (pref64, private, options, nat) =
                    (self.prefix("pref64"), self.private(), self.options(), self.nat());
                Some(Technology::Nat64 { pref64: pref64?, private, options, nat: nat? })
            }
            "nat46" => self.nat46(),
            "nat66" => {
                let inside = self.section.list("inside", section::prefix6).value.map(values).unwrap_or_default();
                Some(Technology::Nat66 { inside, options: self.options(), nat: self.nat6()? })
            }
            "464xlat" => {
                let (pref64, clat) = (self.prefix("pref64"), self.prefix("clat"));
                let (private, options, inside, nat) = (self.private(), self.options(), self.inside(), self.nat());
                Some(Technology::Xlat464 { pref64: pref64?, private, options, clat: clat?, inside, nat: nat? })
            }
            "ds-lite" => {
                let (b4, aftr) = (self.address("b4"), self.address("aftr"));
                let any = Prefix6 { addr: Ipv6Addr::UNSPECIFIED, len: 0 };
                let b4s = self.section.get("b4s", section::prefix6).value.unwrap_or(any);
                let inside = self.inside_or(&[&INSIDE[..], &[B4]].concat());
                let (options, nat) = (self.tunnel_options(), self.nat());
                Some(Technology::DsLite { b4: b4?, b4s, aftr: aftr?, inside, options, nat: nat? })
            }
            "lw4o6" => self.lw4o6().map(Technology::Lw4o6),
            "map-e" => {
                let br = self.address("br");
                let map = self.map(("br", br.map(|addr| Prefix6 { addr, len: 128 })));
                Some(Technology::MapE { map: map?, br: br?, options: self.tunnel_options() })
            }
            _ => {
                let dmr = self.prefix("dmr");
                let map = self.map(("dmr", dmr));
                let (private, options) = (self.private(), self.options());
                Some(Technology::MapT { map: map?, dmr: dmr?, private, options })
            }
        }
    }

    /// A value that must be there.
    fn needed<T>(&mut self, given: Given<T>, key: &'static str, example: &'static str) -> Option<T> {
        if given.place.is_none() {
            self.missing.push((key, example));
        }
        given.value
    }

    fn address(&mut self, key: &'static str) -> Option<Ipv6Addr> {
        let given = self.section.get(key, section::ip6);
        let example = if key == "b4" { "\"2001:2:0:4000::1\"" } else { "\"2001:2:0:100::2\"" };
        self.needed(given, key, example)
    }

    fn prefix(&mut self, key: &'static str) -> Option<Prefix6> {
        let given = self.section.get(key, section::prefix6);
        let example = if key == "clat" { "\"2001:2:0:2::/96\"" } else { "\"2001:2:0:1000::/96\"" };
        self.needed(given, key, example)
    }

    fn private(&mut self) -> bool {
        self.section.get("private-behind-well-known", section::yes_or_no).value.unwrap_or(false)
    }

    pub(super) fn inside(&mut self) -> Vec<Prefix4> {
        self.inside_or(&INSIDE)
    }

    fn inside_or(&mut self, usual: &[([u8; 4], u8)]) -> Vec<Prefix4> {
        let given = self.section.list("inside", section::prefix4);
        let usual = || usual.iter().map(|&(addr, len)| Prefix4 { addr: addr.into(), len }).collect();
        given.value.map_or_else(usual, values)
    }

    fn nat(&mut self) -> Option<Nat> {
        let pool = self.section.list("pool", section::addresses);
        let pool_ports = self.section.get("pool-ports", section::ports).value;
        let state = self.state();
        let pool = self.needed(pool, "pool", "\"198.19.0.1\"");
        let pool_ports = pool_ports.unwrap_or(PortRange { first: 1024, last: 65_535 });
        Some(Nat { pool: values(pool?), pool_ports, state })
    }

    /// A NAT whose outside addresses are IPv6 addresses.
    fn nat6(&mut self) -> Option<Nat6> {
        let pool = self.section.get("pool", section::pool6);
        let pool_ports = self.section.get("pool-ports", section::ports).value;
        let state = self.state();
        let pool = self.needed(pool, "pool", "\"2001:2:0:200::/120\"");
        let pool_ports = pool_ports.unwrap_or(PortRange { first: 1024, last: 65_535 });
        Some(Nat6 { pool: pool?, pool_ports, state })
    }

    fn nat46(&mut self) -> Option<Technology> {
        let (inside, remotes, options) = (self.inside(), self.remotes(), self.options());
        let nat = self.nat6();
        let (eam, pref64) = remotes?;
        Some(Technology::Nat46 { inside, eam, pref64, options, nat: nat? })
    }

    /// Explicit maps, a prefix, or both.
    fn remotes(&mut self) -> Option<Remotes> {
        let eam = self.section.list("eam", section::eam);
        let pref64 = self.section.get("pref64", section::prefix6);
        if eam.place.is_none() && pref64.place.is_none() {
            self.missing.push(("eam", "[\"198.18.0.0/24 2001:2::/120\"], or pref64 = \"2001:2:0:1000::/96\""));
            return None;
        }
        Some((eam.value.map(values).unwrap_or_default(), pref64.value))
    }

    pub(super) fn state(&mut self) -> State {
        let mappings = [
            ("endpoint-independent", Mapping::EndpointIndependent),
            ("address-and-port-dependent", Mapping::AddressAndPortDependent),
        ];
        let filters = [
            ("endpoint-independent", Filtering::EndpointIndependent),
            ("address-dependent", Filtering::AddressDependent),
            ("address-and-port-dependent", Filtering::AddressAndPortDependent),
        ];
        let section = &mut self.section;
        let given = section.get("mapping", section::choice(&mappings));
        let mapping = given.value.unwrap_or_default();
        // Without mappings of its own an outside port serves many customers, so that only the whole four-tuple tells.
        let usual = match mapping {
            Mapping::EndpointIndependent => Filtering::EndpointIndependent,
            Mapping::AddressAndPortDependent => Filtering::AddressAndPortDependent,
        };
        let state = State {
            mapping,
            filtering: section.get("filtering", section::choice(&filters)).value.unwrap_or(usual),
            table: section.get("table", section::count_in(1..=1 << 32)).value.unwrap_or(0),
            // RFC 4787, REQ-5.
            udp_timeout: section.get("udp-timeout", at_least(120)).value.unwrap_or(Nanos::from_secs(300)),
            hairpinning: section.get("hairpinning", section::yes_or_no).value.unwrap_or(true),
            limits: Limits::default(),
        };
        State { limits: self.limits(mapping, given.place), ..state }
    }

    /// The least times are those of RFC 5382, REQ-5, and RFC 5508, REQ-2.
    fn limits(&mut self, mapping: Mapping, mapping_place: Option<Place>) -> Limits {
        let section = &mut self.section;
        let poolings = [("paired", false), ("arbitrary", true)];
        let quota = || section::count_in(1..=u32::MAX.into());
        let pooling = section.get("pooling", section::choice(&poolings));
        let session_quota = section.get("session-quota", quota());
        let port_quota = section.get("port-quota", quota());
        let size = section.get("port-block", section::one_of(&[64, 128, 256, 512, 1024, 2048, 4096]));
        let blocks = section.get("port-blocks", section::count_in(1..=8));
        let prefix = section.get("subscriber-prefix", section::prefix_length);
        let limits = Limits {
            tcp_timeout: section.get("tcp-timeout", at_least(7440)).value,
            tcp_transitory_timeout: section.get("tcp-transitory-timeout", at_least(240)).value,
            icmp_timeout: section.get("icmp-timeout", at_least(60)).value,
            session_quota: session_quota.value.map(|n| n as u32),
            port_quota: port_quota.value.map(|n| n as u32),
            port_blocks: size.value.map(|size| (size as u16, blocks.value.unwrap_or(1) as u16)),
            subscriber_prefix: prefix.value,
            arbitrary_pooling: pooling.value.unwrap_or(false),
        };
        // Whose words are wrong counts them, too.
        let counted = [session_quota.place, port_quota.place, size.place].iter().any(Option::is_some);
        if let (Some(place), Some(_), false) = (prefix.place, prefix.value, counted) {
            let diagnostic = Diagnostic::new("`subscriber-prefix` says who is a subscriber, but nobody counts them");
            let ways = "add a session-quota, a port-quota or a port-block, or leave it out";
            section.complain(diagnostic.at(place, "nothing to count by it").instead(ways));
        }
        if let (Some(place), None) = (blocks.place, size.place) {
            let diagnostic = Diagnostic::new("`port-blocks` says how many blocks a subscriber has, but there are none");
            section.complain(diagnostic.at(place, "of no size").instead("write port-block = 256, or leave it out"));
        }
        for (key, place) in [("port-quota", port_quota.place), ("port-block", size.place)] {
            if let (Some(place), Mapping::AddressAndPortDependent) = (place, mapping) {
                let title = format!("`{key}` needs ports that belong to one subscriber");
                let diagnostic = Diagnostic::new(title).at(place, "cannot be counted");
                let diagnostic = diagnostic.at(mapping_place, "ports serve several subscribers at once");
                section.complain(diagnostic.instead("use mapping = \"endpoint-independent\", or session-quota"));
            }
        }
        if let (Some(place), Some(words), true) = (size.place, pooling.place, limits.arbitrary_pooling) {
            let diagnostic = Diagnostic::new("blocks of ports need one outside address a subscriber");
            let diagnostic = diagnostic.at(place, "blocks").at(words, "any outside address for any mapping");
            section.complain(diagnostic.instead("use pooling = \"paired\", or no port-block"));
        }
        limits
    }

    fn siit(&mut self) -> Option<Siit> {
        let eam = self.section.list("eam", section::eam);
        let eam_file = self.section.get("eam-file", section::text);
        let icmp_sources = self.section.list("icmp-sources", section::addresses);
        let options = self.siit_options();
        let pref64 = self.section.get("pref64", section::prefix6);
        let private = self.private();
        let sides = [("left", true), ("right", false)];
        let ipv6_left = self.section.get("ipv6", section::choice(&sides)).value.unwrap_or(true);
        if let (Some(list), Some(file)) = (eam.place, eam_file.place) {
            let diagnostic = Diagnostic::new("explicit address maps stand in one place");
            let diagnostic = diagnostic.at(file, "in a file").at(list, "and here");
            self.section.complain(diagnostic.instead("write these into the file, too, or leave the file out"));
        }
        if eam.place.is_none() && eam_file.place.is_none() && pref64.place.is_none() {
            self.missing.push((
                "eam",
                "[\"198.18.0.0/24 2001:2::/120\"], or eam-file = \"FILE\", or pref64 = \"2001:2:0:1000::/96\"",
            ));
            return None;
        }
        Some(Siit {
            eam: eam.value.map(values).unwrap_or_default(),
            eam_file: eam_file.value.map(Into::into),
            pref64: pref64.value,
            private,
            options,
            icmp_sources: icmp_sources.value.map(values).unwrap_or_default(),
            ipv6_left,
        })
    }

    fn lw4o6(&mut self) -> Option<Lw4o6> {
        let lwaftr = self.address("lwaftr");
        let file = self.section.get("softwires", section::text);
        let ipv4 = self.section.get("ipv4", section::prefix4);
        let b4 = self.section.get("b4", section::ip6);
        let psid_len = self.section.get("psid-length", section::count_in(0..=16)).value.unwrap_or(6) as u8;
        let psid_offset = self.section.get("psid-offset", section::count_in(0..=16)).value.unwrap_or(0) as u8;
        let ce = self.section.get("ce", section::count).value.unwrap_or(0);
        let (inside, options, state) = (self.inside(), self.tunnel_options(), self.state());
        let softwires = if let Some(path) = file.value {
            Softwires::File(path.into())
        } else {
            let ipv4 = self.needed(ipv4, "ipv4", "\"192.0.2.0/24\" (or softwires = \"FILE\")");
            let b4 = self.needed(b4, "b4", "\"2001:2:0:4000::1\"");
            Softwires::Row { ipv4: ipv4?, b4: b4?, psid_len, psid_offset, count: None }
        };
        Some(Lw4o6 { lwaftr: lwaftr?, softwires, ce, inside, options, state })
    }
}

/// A time that an RFC wants to be no shorter; no timer runs longer than a year.
fn at_least(seconds: u64) -> impl Fn(&Value) -> Result<Nanos, section::Wrong> {
    section::duration_in(Nanos::from_secs(seconds)..=Nanos::from_secs(365 * 86_400))
}

fn values<T>(all: Vec<Spot<T>>) -> Vec<T> {
    all.into_iter().map(|s| s.value).collect()
}
