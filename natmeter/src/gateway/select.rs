//! The frames that a gateway takes from its interfaces if the kernel handles neighbour discovery
//! and multicast groups.

use port::backend::af_xdp::{Condition, Select, Width};
use std::ops::RangeInclusive;
use wire::VlanId;

/// EtherType, next header, and the end of the IPv6 header.
const TYPE: u16 = 12;
const NEXT: u16 = 20;
const BEHIND: u16 = 54;
const HOP_BY_HOP: u8 = 0;
const ICMPV6: u8 = 58;
/// ICMPv6 between a host and its link (IANA's list): Multicast Listener Discovery and Neighbor
/// Discovery with redirects, inverse Neighbor Discovery and MLDv2, secure Neighbor Discovery,
/// multicast router discovery.
const OF_THE_LINK: [RangeInclusive<u8>; 4] = [130..=137, 141..=143, 148..=149, 151..=153];

/// Selects all IP packets but the ICMPv6 messages of the link.
pub(super) fn without_the_link() -> Select {
    let version = |v| Condition::equals(TYPE, Width::Two, v);
    let six = |more: Vec<Condition>| [vec![version(0x86dd)], more].concat();
    let is = |offset, value: u8| Condition::equals(offset, Width::One, value.into());
    let mut any_of = vec![vec![version(0x0800)]];
    // The most frequent protocols come first: IPv4 in IPv6, TCP, UDP, fragments.
    any_of.extend([4, 6, 17, 44].map(|next| six(vec![is(NEXT, next)])));
    any_of.extend(all_but(NEXT, &[HOP_BY_HOP..=HOP_BY_HOP, ICMPV6..=ICMPV6]).into_iter().map(|c| six(vec![c])));
    let of_link = |at| all_but(at, &OF_THE_LINK);
    any_of.extend(of_link(BEHIND).into_iter().map(|c| six(vec![is(NEXT, ICMPV6), c])));
    // Multicast Listener Discovery follows a hop-by-hop header of eight octets; nothing else does.
    any_of.extend(all_but(BEHIND, &[ICMPV6..=ICMPV6]).into_iter().map(|c| six(vec![is(NEXT, HOP_BY_HOP), c])));
    let behind = of_link(BEHIND + 8).into_iter();
    let header = [is(NEXT, HOP_BY_HOP), is(BEHIND, ICMPV6), is(BEHIND + 1, 0)];
    any_of.extend(behind.map(|c| six([&header[..], &[c]].concat())));
    Select { any_of }
}

/// Fields after a tag are four octets later (IEEE 802.1Q, 802.1ad).
pub(super) fn in_vlan(vlan: VlanId, select: Select) -> Select {
    let inner = behind_tag(0x8100, vlan.id, select);
    vlan.outer.map_or(inner.clone(), |outer| behind_tag(0x88a8, outer, inner))
}

fn behind_tag(kind: u64, id: u16, select: Select) -> Select {
    const TAG: u16 = 12;
    let tagged = Condition::equals(TAG, Width::Two, kind);
    let ours = Condition { offset: TAG + 2, width: Width::Two, mask: 0x0fff, value: id.into() };
    let behind = |c: Condition| if c.offset < TAG { c } else { Condition { offset: c.offset + 4, ..c } };
    let within = |all: Vec<Condition>| [tagged, ours].into_iter().chain(all.into_iter().map(behind)).collect();
    Select { any_of: select.any_of.into_iter().map(within).collect() }
}

/// The smallest set of prefixes that match every value of an octet but these.
fn all_but(offset: u16, not: &[RangeInclusive<u8>]) -> Vec<Condition> {
    let mut all = Vec::new();
    cover(0, 8, not, &mut |value, bits| {
        let mask = u64::from(u8::MAX) & (u64::from(u8::MAX) << bits);
        all.push(Condition { offset, width: Width::One, mask, value: value.into() });
    });
    all
}

/// Ranges of the numbers that share all but the last `bits` bits with `first`, without these.
fn cover(first: u8, bits: u32, not: &[RangeInclusive<u8>], found: &mut impl FnMut(u8, u32)) {
    let last = first | (0xff_u32 >> (8 - bits)) as u8;
    if not.iter().all(|n| last < *n.start() || *n.end() < first) {
        found(first, bits);
    } else if bits > 0 {
        cover(first, bits - 1, not, found);
        cover(first | 1 << (bits - 1), bits - 1, not, found);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(next: u8, behind: &[u8]) -> Vec<u8> {
        let mut f = vec![0; 54];
        (f[12], f[13], f[14], f[20]) = (0x86, 0xdd, 0x60, next);
        f.extend(behind);
        f
    }

    #[test]
    fn all_of_ipv6_is_taken_but_what_is_the_links() {
        let select = without_the_link();
        for next in (1..=255).filter(|n| *n != ICMPV6) {
            assert!(select.takes(&frame(next, &[0; 8])), "next header {next}");
        }
        let of_link = |kind| OF_THE_LINK.iter().any(|k| k.contains(&kind));
        assert!([130, 131, 132, 133, 134, 135, 136, 137, 143].into_iter().all(of_link));
        for kind in 0..=255 {
            let icmp6 = [kind, 0, 0, 0, 0, 0, 0, 0];
            assert_eq!(select.takes(&frame(ICMPV6, &icmp6)), !of_link(kind), "ICMPv6 type {kind}");
            // Router alert (RFC 2710, section 3), padded.
            let behind_options = [[ICMPV6, 0, 5, 2, 0, 0, 1, 0], icmp6].concat();
            assert_eq!(select.takes(&frame(HOP_BY_HOP, &behind_options)), !of_link(kind), "options, then type {kind}");
        }
        for next in [6, 17, 50, 60, 132] {
            assert!(select.takes(&frame(HOP_BY_HOP, &[next, 0, 1, 4, 0, 0, 0, 0])), "options, then {next}");
        }
    }

    #[test]
    fn in_a_vlan_the_same_is_taken_behind_its_tags() {
        let one: [&[u8]; 4] = [&[0x81, 0, 0xe0, 100], &[0x81, 0, 0, 101], &[0x88, 0xa8, 0, 100], &[0x81, 0, 1, 100]];
        let outer = [0x88, 0xa8, 0, 7];
        let two = [[0x81, 0, 0xe0, 100], [0x81, 0, 0, 101]].map(|inner| [outer, inner].concat());
        let two: [&[u8]; 4] = [&two[0], &two[1], &outer, &[0x81, 0, 0, 100]];
        for (vlan, [ours, others @ ..]) in [(100.into(), one), (VlanId { outer: Some(7), id: 100 }, two)] {
            let (plain, tagged) = (without_the_link(), in_vlan(vlan, without_the_link()));
            let with = |tags: &[u8], f: &[u8]| [&f[..12], tags, &f[12..]].concat();
            let frames = [6, 17, 50, 60].map(|next| frame(next, &[0; 8]));
            let of_link = [135, 136].map(|kind| frame(ICMPV6, &[kind, 0, 0, 0, 0, 0, 0, 0]));
            let echo = frame(ICMPV6, &[128, 0, 0, 0, 0, 0, 0, 0]);
            for f in frames.iter().chain(&of_link).chain([&echo]) {
                assert_eq!(tagged.takes(&with(ours, f)), plain.takes(f));
                assert!(others.into_iter().chain([&[][..]]).all(|tags| !tagged.takes(&with(tags, f))));
            }
        }
    }

    #[test]
    fn all_of_ipv4_is_taken_and_nothing_else() {
        let of = |kind: [u8; 2]| [vec![0; 12], kind.to_vec(), vec![0; 46]].concat();
        let select = without_the_link();
        assert!(select.takes(&of([8, 0])));
        assert!([[8, 6], [0x81, 0], [0x88, 0xcc]].into_iter().all(|kind| !select.takes(&of(kind))));
    }
}
