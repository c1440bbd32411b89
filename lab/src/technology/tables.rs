//! The tables that a technology loads and does not learn: binding table and mapping rules, from their parameters or a file.
//! Apart from the functions that use them, because the tester plays their subscribers and needs them too.

use super::words;
use crate::scenario::technology::{Lw4o6, Map, MapRule, Siit, Softwires};
use plane::lw4o6;
use plane::map::Rule;
use plane::translate::{Eam, Pair};
use std::fmt::Display;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use wire::{PortSet, Prefix4, Prefix6};

/// The rules of a MAP domain, as they are written or as the one is cut.
pub(super) fn rules(map: &Map) -> Vec<Rule> {
    if map.further.is_empty() { cut(&map.rule.rule(), map.rules) } else { map.written().map(MapRule::rule).collect() }
}

/// As many rules in the place of one: the first EA bits of each, which continue the IPv4 address, become part of its prefixes
/// (RFC 7597, section 5.2), so that customers and their addresses stay what they are. Where the number is no power of two,
/// the first rules are one bit longer than the others.
fn cut(whole: &Rule, rules: u64) -> Vec<Rule> {
    let bits = rules.max(1).ilog2();
    let longer = rules.max(1) - (1 << bits);
    let part = |bits: u32, i: u64| Rule {
        ipv6: Prefix6 {
            addr: Ipv6Addr::from_bits(whole.ipv6.addr.to_bits() | part_of(i, 128 - u32::from(whole.ipv6.len) - bits)),
            len: whole.ipv6.len + bits as u8,
        },
        ipv4: Prefix4 {
            addr: Ipv4Addr::from_bits(
                whole.ipv4.addr.to_bits() | part_of(i, 32 - u32::from(whole.ipv4.len) - bits) as u32,
            ),
            len: whole.ipv4.len + bits as u8,
        },
        ea_bits: whole.ea_bits - bits as u8,
        ..*whole
    };
    let long = (0..2 * longer).map(|i| part(bits + 1, i));
    long.chain((longer..1 << bits).map(|i| part(bits, i))).collect()
}

fn part_of(i: u64, shift: u32) -> u128 {
    u128::from(i).checked_shl(shift).unwrap_or(0)
}

/// The explicit address maps of SIIT (RFC 7757), if it has any.
///
/// # Errors
/// A file that cannot be read, or maps that do not fit each other.
pub fn explicit_maps(siit: &Siit) -> Result<Option<Eam>, String> {
    let Some(path) = &siit.eam_file else { return listed_maps(&siit.eam) };
    let wrong = |why: &dyn Display| format!("eam-file = \"{}\": {why}", path.display());
    let mut text = BufReader::with_capacity(1 << 20, File::open(path).map_err(|e| wrong(&e))?);
    let mut unread = None;
    let lines = (1..).map_while(|number| {
        line(&mut text, number).unwrap_or_else(|why| {
            unread = Some(why);
            None
        })
    });
    let pairs = plane::translate::eam::parse(lines).map_err(|e| wrong(&e))?;
    if let Some(why) = unread {
        return Err(wrong(&why));
    }
    Eam::new(&pairs, true).map(Some).map_err(|e| wrong(&e))
}

/// The next line of a file, as it streams in; none at its end.
fn line(text: &mut impl BufRead, number: u64) -> Result<Option<String>, String> {
    let mut line = Vec::new();
    let octets = text.take(LONGEST_LINE + 1).read_until(b'\n', &mut line).map_err(|e| format!("line {number}: {e}"))?;
    if octets as u64 > LONGEST_LINE {
        return Err(format!("line {number}: longer than {LONGEST_LINE} octets"));
    }
    let text = String::from_utf8(line).map_err(|_| format!("line {number}: this is no text"))?;
    Ok(Some(text).filter(|_| octets > 0))
}

/// Longest line that a pair of prefixes can need, with room for a comment.
const LONGEST_LINE: u64 = 1024;

/// Explicit address maps that stand in the table itself.
///
/// # Errors
/// Maps that do not fit each other.
pub fn listed_maps(eam: &[(Prefix4, Prefix6)]) -> Result<Option<Eam>, String> {
    let pairs: Vec<_> = eam.iter().enumerate().map(|(i, &(v4, v6))| (i + 1, Pair { v4, v6 })).collect();
    if pairs.is_empty() { Ok(None) } else { Eam::new(&pairs, true).map(Some).map_err(words) }
}

/// The binding table of a lwAFTR.
///
/// # Errors
/// A file that cannot be read, or softwires that do not fit each other.
pub fn binding_table(l: &Lw4o6) -> Result<lw4o6::Table, String> {
    binding_table_at(l, &[])
}

/// The same in a gateway that has these addresses, which no softwire may have.
pub(super) fn binding_table_at(l: &Lw4o6, gateway: &[IpAddr]) -> Result<lw4o6::Table, String> {
    let builder = |name: &str| lw4o6::Builder::new(name, l.lwaftr).at(gateway);
    match &l.softwires {
        Softwires::File(path) => {
            let name = path.display().to_string();
            let file = File::open(path).map_err(|e| format!("softwires = \"{name}\": {e}"))?;
            lw4o6::read_into(builder(&name), BufReader::with_capacity(1 << 20, file)).map_err(words)
        }
        Softwires::Row { ipv4, b4, psid_len, psid_offset, .. } => {
            let mut builder = builder("the softwires in a row");
            let shared = 1u64 << psid_len;
            for i in 0..l.softwires.count() {
                let ports = PortSet::new(*psid_offset, *psid_len, (i % shared) as u16).map_err(words)?;
                let addr = u32::from(ipv4.addr).wrapping_add((i / shared) as u32);
                let softwire = lw4o6::Softwire { b4: b4_in_row(*b4, i), ipv4: addr.into(), ports, own: None };
                builder.add(&softwire).map_err(words)?;
            }
            builder.build().map_err(words)
        }
    }
}

/// The address of B4 number `i` of a row: one /64 each.
pub fn b4_in_row(first: Ipv6Addr, i: u64) -> Ipv6Addr {
    Ipv6Addr::from_bits(first.to_bits().wrapping_add(u128::from(i) << 64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use plane::map::Domain;

    /// A domain that is cut has the customers of the one rule, each once and with the same addresses.
    #[test]
    fn cutting_a_rule_changes_no_customer() {
        let ipv6 = Prefix6 { addr: "2001:db8:1::".parse().unwrap(), len: 48 };
        let ipv4 = Prefix4 { addr: [203, 0, 113, 0].into(), len: 27 };
        for ea_bits in [3, 5, 9] {
            let whole = Rule { offset: 4, ..Rule::new(ipv6, ipv4, ea_bits) };
            let one = whole.prepare().unwrap();
            for rules in (1..=1 << ea_bits.min(5)).filter(|n| [1, 2, 3, 5, 8, 31, 32].contains(n)) {
                let cut = cut(&whole, rules);
                assert_eq!(cut.len() as u64, rules);
                let customers: Vec<_> = cut.iter().map(|r| r.prepare().unwrap()).collect();
                let all: Vec<_> = customers.iter().flat_map(|m| (0..m.customers()).map(|i| m.nth(i))).collect();
                let wanted: Vec<_> = (0..one.customers()).map(|i| one.nth(i)).collect();
                assert_eq!(all, wanted, "{ea_bits} EA bits, {rules} rules");
                Domain::new(cut).unwrap();
            }
        }
    }
}
