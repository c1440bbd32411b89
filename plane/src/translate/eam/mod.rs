//! Explicit address maps (RFC 7757, section 3): pairs of prefixes whose suffixes are copied; the
//! longest prefix wins. A look-up reads one cache line for each prefix length.

mod text;

pub use text::{EamError, Pair, parse};

use crate::hash::{Hasher, range};
use arena::Array;

/// Maximum number of pairs of a table.
pub const MOST: usize = 1 << 20;

/// [`FREE`] is the length of a free one.
#[derive(Clone, Copy)]
#[repr(C, align(32))]
struct Slot4 {
    to: u128,
    key: u32,
    len: u8,
    shift: u8,
}

#[derive(Clone, Copy)]
#[repr(C, align(32))]
struct Slot6 {
    key: u128,
    to: u32,
    suffix: u32,
    len: u8,
    shift: u8,
}

fn slot4(p: &Pair) -> Slot4 {
    Slot4 { to: p.v6.first(), key: p.first4(), len: p.v4.len, shift: p.shift() as u8 }
}

fn slot6(p: &Pair) -> Slot6 {
    Slot6 { key: p.v6.first(), to: p.first4(), suffix: p.suffix(), len: p.v6.len, shift: p.shift() as u8 }
}

const FREE: u8 = u8::MAX;
const FREE4: Slot4 = Slot4 { to: 0, key: 0, len: FREE, shift: 0 };
const FREE6: Slot6 = Slot6 { key: 0, to: 0, suffix: 0, len: FREE, shift: 0 };

/// The table.
pub struct Eam {
    slots4: Array<Slot4>,
    slots6: Array<Slot6>,
    /// Prefix lengths, longest first.
    levels4: Vec<(u32, u8)>,
    levels6: Vec<(u128, u8)>,
    hasher: Hasher,
    len: usize,
    /// The table exceeds the inner caches, so that prefetching is worth its cost.
    far: bool,
    near: Near,
    few: Few,
}

/// All maps of a small table, longest prefix first; empty for larger tables.
#[derive(Default)]
struct Few {
    four: Vec<(u32, Slot4)>,
    six: Vec<(u128, Slot6)>,
}

/// Compared one by one.
const FEW: usize = 4;

/// Tells without reading the table that most addresses have no map: a bit for each /16 of IPv4, and
/// for each hash of the first 64 bits of IPv6, or 32 where prefixes are shorter.
struct Near {
    four: Box<[u64; 1024]>,
    six: Box<[u64; 64]>,
    shift: u32,
}

impl Near {
    fn new(pairs: &[(usize, Pair)]) -> Near {
        let shift = if pairs.iter().all(|(_, p)| p.v6.len >= 64) { 64 } else { 96 };
        let mut near = Near { four: Box::new([0; 1024]), six: Box::new([0; 64]), shift };
        for (_, p) in pairs {
            let last = p.first4() | p.suffix();
            for block in p.first4() >> 16..=last >> 16 {
                near.four[block as usize / 64] |= 1 << (block % 64);
            }
            if p.v6.len < 32 {
                near.six.fill(u64::MAX);
            }
            let (word, bit) = near.place(p.v6.first());
            near.six[word] |= bit;
        }
        near
    }

    #[inline(always)]
    fn place(&self, addr: u128) -> (usize, u64) {
        let hash = ((addr >> self.shift) as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 52;
        (hash as usize / 64, 1 << (hash % 64))
    }
    #[inline(always)]
    fn has4(&self, addr: u32) -> bool {
        let block = addr >> 16;
        self.four[block as usize / 64] >> (block % 64) & 1 == 1
    }
    #[inline(always)]
    fn has6(&self, addr: u128) -> bool {
        let (word, bit) = self.place(addr);
        self.six[word] & bit != 0
    }
}

impl Eam {
    /// Pairs with their lines. Pairs overlap only if `nested`, which allows prefixes within
    /// prefixes, but never the same one twice.
    ///
    /// # Errors
    /// The first unusable pair, or too little memory.
    pub fn new(pairs: &[(usize, Pair)], nested: bool) -> Result<Eam, EamError> {
        for (line, pair) in pairs {
            if let Some(why) = pair.fault() {
                return Err(EamError::Line { line: *line, why: format!("{pair}: {why}") });
            }
        }
        if let Some((line, pair)) = pairs.get(MOST) {
            let why = format!("{pair}: at most {MOST} pairs");
            return Err(EamError::Line { line: *line, why });
        }
        clash(pairs, nested, |p| (u128::from(p.first4()) << 96, p.v4.len))?;
        clash(pairs, nested, |p| (p.v6.first(), p.v6.len))?;
        // A load factor of one half: a look-up rarely leaves its line.
        let count = (pairs.len() * 2).next_multiple_of(2).max(16);
        let mut eam = Eam {
            slots4: Array::filled("explicit address maps", count, FREE4)?,
            slots6: Array::filled("explicit address maps", count, FREE6)?,
            levels4: Vec::new(),
            levels6: Vec::new(),
            hasher: Hasher::new(7757),
            len: pairs.len(),
            far: count > 2048,
            near: Near::new(pairs),
            few: Few::default(),
        };
        for (_, p) in pairs {
            eam.insert(p);
        }
        eam.levels4 = levels(pairs.iter().map(|(_, p)| (p.v4.mask(), p.v4.len)));
        eam.levels6 = levels(pairs.iter().map(|(_, p)| (p.v6.mask(), p.v6.len)));
        if pairs.len() <= FEW {
            let (mut four, mut six): (Vec<_>, Vec<_>) =
                pairs.iter().map(|(_, p)| ((p.v4.mask(), slot4(p)), (p.v6.mask(), slot6(p)))).unzip();
            four.sort_by_key(|(_, s)| std::cmp::Reverse(s.len));
            six.sort_by_key(|(_, s)| std::cmp::Reverse(s.len));
            eam.few = Few { four, six };
        }
        Ok(eam)
    }

    fn insert(&mut self, p: &Pair) {
        let n = self.slots4.len();
        let (four, six) = (slot4(p), slot6(p));
        let mut at = self.home4(four.key, four.len);
        while self.slots4[at].len != FREE {
            at = (at + 1) % n;
        }
        self.slots4[at] = four;
        let mut at = self.home6(six.key, six.len);
        while self.slots6[at].len != FREE {
            at = (at + 1) % n;
        }
        self.slots6[at] = six;
    }

    /// Number of pairs.
    pub fn len(&self) -> usize {
        self.len
    }
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    #[inline(always)]
    fn home4(&self, key: u32, len: u8) -> usize {
        range(self.hasher.one(u64::from(key) | u64::from(len) << 32), self.slots4.len() as u32) as usize
    }

    #[inline(always)]
    fn home6(&self, key: u128, len: u8) -> usize {
        let hash = self.hasher.pair((key >> 64) as u64 ^ u64::from(len), key as u64);
        range(hash, self.slots6.len() as u32) as usize
    }

    /// The IPv6 address; `None` without a pair.
    #[inline(always)]
    pub fn to_ipv6(&self, addr: u32) -> Option<u128> {
        if !self.near.has4(addr) {
            return None;
        }
        if self.few.four.is_empty() {
            return self.search4(addr);
        }
        let found = self.few.four.iter().find(|(mask, s)| addr & mask == s.key);
        found.map(|(mask, s)| s.to | ((addr & !mask) as u128) << s.shift)
    }

    #[inline(never)]
    fn search4(&self, addr: u32) -> Option<u128> {
        for &(mask, len) in &self.levels4 {
            let key = addr & mask;
            let mut at = self.home4(key, len);
            loop {
                let s = &self.slots4[at];
                if s.key == key && s.len == len {
                    return Some(s.to | ((addr & !mask) as u128) << s.shift);
                }
                if s.len == FREE {
                    break;
                }
                at = self.after(at);
            }
        }
        None
    }

    /// The IPv4 address; `None` without a pair.
    #[inline(always)]
    pub fn to_ipv4(&self, addr: u128) -> Option<u32> {
        if !self.near.has6(addr) {
            return None;
        }
        if self.few.six.is_empty() {
            return self.search6(addr);
        }
        let found = self.few.six.iter().find(|(mask, s)| addr & mask == s.key);
        found.map(|(_, s)| s.to | (addr >> s.shift) as u32 & s.suffix)
    }

    #[inline(never)]
    fn search6(&self, addr: u128) -> Option<u32> {
        for &(mask, len) in &self.levels6 {
            let key = addr & mask;
            let mut at = self.home6(key, len);
            loop {
                let s = &self.slots6[at];
                if s.key == key && s.len == len {
                    return Some(s.to | (addr >> s.shift) as u32 & s.suffix);
                }
                if s.len == FREE {
                    break;
                }
                at = self.after(at);
            }
        }
        None
    }

    /// Whether prefetching is worth its cost.
    #[inline(always)]
    pub fn is_far(&self) -> bool {
        self.far
    }

    /// Prefetches for [`Self::to_ipv6`].
    #[inline(always)]
    pub fn prefetch4(&self, addr: u32) {
        if self.far
            && let Some(&(mask, len)) = self.levels4.first()
        {
            self.slots4.prefetch(self.home4(addr & mask, len));
        }
    }

    /// Prefetches for [`Self::to_ipv4`].
    #[inline(always)]
    pub fn prefetch6(&self, addr: u128) {
        if self.far
            && let Some(&(mask, len)) = self.levels6.first()
        {
            self.slots6.prefetch(self.home6(addr & mask, len));
        }
    }

    #[inline(always)]
    fn after(&self, at: usize) -> usize {
        if at + 1 == self.slots4.len() { 0 } else { at + 1 }
    }
}

fn levels<T: Copy + Ord>(each: impl Iterator<Item = (T, u8)>) -> Vec<(T, u8)> {
    let mut seen = [false; 129];
    let mut all: Vec<(T, u8)> =
        each.filter(|(_, len)| !std::mem::replace(&mut seen[usize::from(*len)], true)).collect();
    all.sort_by_key(|(_, len)| std::cmp::Reverse(*len));
    all
}

/// The same addresses in one IP version. Sorted by first address, shorter prefix first, a nested
/// prefix lies in its neighbour too.
fn clash(pairs: &[(usize, Pair)], nested: bool, key: impl Fn(&Pair) -> (u128, u8)) -> Result<(), EamError> {
    let mut order: Vec<(u128, u8, u32)> = Vec::with_capacity(pairs.len());
    order.extend(pairs.iter().enumerate().map(|(i, (_, p))| (key(p).0, key(p).1, i as u32)));
    order.sort_unstable();
    for w in order.windows(2) {
        let ((a, a_len, i), (b, b_len, k)) = (w[0], w[1]);
        let mask = u128::MAX.checked_shl(128 - u32::from(a_len)).unwrap_or(0);
        let same = a == b && a_len == b_len;
        if same || (!nested && (a ^ b) & mask == 0) {
            let (other, line) = (i.min(k) as usize, i.max(k) as usize);
            let how = if same { "has the same prefix as" } else { "overlaps" };
            let ((other, with), (line, pair)) = (pairs[other], pairs[line]);
            return Err(EamError::Clash { line, pair, how, other, with });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::net::{Ipv4Addr, Ipv6Addr};
    use wire::Prefix4;
    use wire::Prefix6;

    fn table(text: &str, nested: bool) -> Result<Eam, EamError> {
        Eam::new(&parse(text.lines())?, nested)
    }

    fn four(text: &str) -> u32 {
        text.parse::<Ipv4Addr>().unwrap().into()
    }

    fn six(text: &str) -> u128 {
        text.parse::<Ipv6Addr>().unwrap().to_bits()
    }

    /// The table of RFC 7757, section 3.2 (figure 1), with the addresses of appendix B (figure 7) and the ends of its ranges.
    #[test]
    fn rfc7757_b_figure_7() {
        let text = "192.0.2.1 2001:db8:aaaa::\n\
                    192.0.2.2/32 2001:db8:bbbb::b/128\n\
                    192.0.2.16/28 2001:db8:cccc::/124\n\
                    192.0.2.128/26 2001:db8:dddd::/64\n\
                    192.0.2.192/29 2001:db8:eeee:8::/62\n\
                    192.0.2.224/31 64:ff9b::/127";
        let t = table(text, false).unwrap();
        let rows = [
            ("192.0.2.1", "2001:db8:aaaa::"),
            ("192.0.2.2", "2001:db8:bbbb::b"),
            ("192.0.2.16", "2001:db8:cccc::"),
            ("192.0.2.24", "2001:db8:cccc::8"),
            ("192.0.2.31", "2001:db8:cccc::f"),
            ("192.0.2.128", "2001:db8:dddd::"),
            ("192.0.2.152", "2001:db8:dddd:0:6000::"),
            ("192.0.2.183", "2001:db8:dddd:0:dc00::"),
            ("192.0.2.191", "2001:db8:dddd:0:fc00::"),
            ("192.0.2.193", "2001:db8:eeee:8:8000::"),
            ("192.0.2.195", "2001:db8:eeee:9:8000::"),
            ("192.0.2.199", "2001:db8:eeee:b:8000::"),
            ("192.0.2.224", "64:ff9b::"),
            ("192.0.2.225", "64:ff9b::1"),
        ];
        for (v4, v6) in rows {
            assert_eq!(t.to_ipv6(four(v4)).map(Ipv6Addr::from), Some(v6.parse().unwrap()), "{v4}");
            assert_eq!(t.to_ipv4(six(v6)).map(Ipv4Addr::from), Some(v4.parse().unwrap()), "{v6}");
        }
        assert_eq!((t.to_ipv6(four("192.0.2.3")), t.to_ipv4(six("2001:db8:aaaa::1"))), (None, None));
    }

    #[test]
    fn rfc7757_3_3_2_what_lies_behind_the_carried_bits_is_ignored() {
        let t = table("192.0.2.128/26 2001:db8:dddd::/64", false).unwrap();
        assert_eq!(t.to_ipv4(six("2001:db8:dddd:0:63ff::1")), Some(four("192.0.2.152")));
    }

    #[test]
    fn rfc7757_3_3_the_longest_prefix_wins_both_ways() {
        let t = table("10.0.0.0/8 2001:db8::/104\n10.1.0.0/16 2001:db8:1::/64\n10.1.2.3 2001:db8:1::3", true).unwrap();
        assert_eq!(t.to_ipv6(four("10.2.0.1")), Some(six("2001:db8::2:1")));
        assert_eq!(t.to_ipv6(four("10.1.0.1")), Some(six("2001:db8:1:0:1::")));
        assert_eq!(t.to_ipv6(four("10.1.2.3")), Some(six("2001:db8:1::3")));
        assert_eq!(t.to_ipv4(six("2001:db8:1::3")), Some(four("10.1.2.3")));
        assert_eq!(t.to_ipv4(six("2001:db8:1::4")), Some(four("10.1.0.0")));
    }

    #[test]
    fn what_is_wrong_has_a_line() {
        let err = |text, nested| table(text, nested).err().expect("a mistake").to_string();
        assert_eq!(
            err("10.0.0.1 2001:db8::1\n# note\n10.0.0.1 2001:db8::2", true),
            "explicit address maps, line 3: 10.0.0.1/32 2001:db8::2/128 has the same prefix as line 1: \
             10.0.0.1/32 2001:db8::1/128; remove one of the two"
        );
        assert!(err("10.0.0.1 2001:db8::1\n10.0.0.2 2001:db8::1", true).contains("line 2"), "the same IPv6 prefix");
        assert!(err("10.0.0.0/24 2001:db8::/120\n10.0.0.1 2001:db8:1::", false).contains("line 2"), "overlap");
        assert!(err("10.0.0.0/24 2001:db8::/96\n10.0.1.0/24 2001:db8::/120", false).contains("overlaps"));
        assert!(err("\n10.0.0.0/24 2001:db8::/121", false).contains("line 2"), "the suffix does not fit");
        assert!(err("10.0.0.1/24 2001:db8::/120", false).contains("write them as zero"));
        assert!(err("10.0.0.0/33 2001:db8::/120", false).contains("`/33` is no length"));
        assert!(err("10.0.0 2001:db8::/120", false).contains("`10.0.0` is not an IPv4 address"));
        assert!(err("10.0.0.0/24", false).contains("line 1: an IPv4 prefix and an IPv6 prefix"));
    }

    #[test]
    fn either_order_and_comments() {
        let t = table("2001:db8::1 10.0.0.1 # the printer\n\n  # nothing", false).unwrap();
        assert_eq!((t.len(), t.to_ipv6(four("10.0.0.1"))), (1, Some(six("2001:db8::1"))));
    }

    proptest! {
        /// Both ways agree with a search through the list of pairs.
        #[test]
        fn agrees_with_a_plain_search(
            pairs in proptest::collection::vec((any::<u32>(), 0u8..=32, any::<u128>(), 0u8..=128), 1..40),
            picks in proptest::collection::vec((any::<proptest::sample::Index>(), any::<u32>(), any::<u128>()), 20),
        ) {
            let mut all: Vec<(usize, Pair)> = Vec::new();
            for (a, l4, b, l6) in pairs {
                let cut = |p: Prefix4| Prefix4 { addr: (u32::from(p.addr) & p.mask()).into(), ..p };
                let v4 = cut(Prefix4 { addr: a.into(), len: l4 });
                let v6 = Prefix6 { addr: b.into(), len: l6 };
                let pair = Pair { v4, v6: Prefix6 { addr: v6.first().into(), len: l6 } };
                let new = all.iter().all(|(_, p)| p.v4 != pair.v4 && p.v6 != pair.v6);
                if new && pair.fault().is_none() {
                    all.push((all.len() + 1, pair));
                }
            }
            prop_assume!(!all.is_empty());
            let t = Eam::new(&all, true).unwrap();
            for (i, a, b) in picks {
                let p = i.get(&all).1;
                let a = u32::from(p.v4.addr) | a & !p.v4.mask();
                let b = p.v6.first() | b & !p.v6.mask();
                let best4 = all.iter().filter(|(_, p)| p.v4.contains(a)).max_by_key(|(_, p)| p.v4.len).unwrap().1;
                let best6 = all.iter().filter(|(_, p)| p.v6.contains(b)).max_by_key(|(_, p)| p.v6.len).unwrap().1;
                prop_assert_eq!(t.to_ipv6(a), Some(best4.to_ipv6(a)));
                prop_assert_eq!(t.to_ipv4(b), Some(best6.to_ipv4(b)));
                prop_assert_eq!(best4.to_ipv4(best4.to_ipv6(a)), a, "what one pair does it undoes");
            }
        }
    }
}
