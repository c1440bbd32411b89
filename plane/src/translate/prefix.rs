//! IPv4 addresses in IPv6 addresses by a prefix (RFC 6052, section 2.2): all six lengths, octet u zero.

use crate::event::Event;
use crate::ip6::is_martian;
use std::fmt;
use wire::Prefix6;

/// The prefix 64:ff9b::/96.
pub const WELL_KNOWN: u128 = 0x0064_ff9b << 96;

/// A prefix by RFC 6052.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pref64 {
    prefix: u128,
    mask: u128,
    len: u8,
    /// Shifts of the IPv4 address's parts above and below octet u.
    high: u32,
    low: u32,
    low_bits: u32,
    /// Refuses addresses that are not global (RFC 6052, section 3.1).
    global_only: bool,
}

/// A prefix that RFC 6052 does not permit.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{prefix}: {why}")]
pub struct Pref64Error {
    /// What was given.
    pub prefix: Prefix6,
    /// What is wrong with the prefix.
    pub why: &'static str,
}

impl Pref64 {
    /// Length 32, 40, 48, 56, 64 or 96. The well-known prefix translates only global IPv4
    /// addresses, unless `private`.
    ///
    /// # Errors
    /// RFC 6052 does not permit the prefix.
    pub fn new(prefix: Prefix6, private: bool) -> Result<Pref64, Pref64Error> {
        let bad = |why| Err(Pref64Error { prefix, why });
        // Above octet u (bits 64 to 71).
        let above = match prefix.len {
            32 | 96 => 32,
            40 => 24,
            48 => 16,
            56 => 8,
            64 => 0,
            _ => return bad("the length must be 32, 40, 48, 56, 64 or 96 (RFC 6052, section 2.2)"),
        };
        if prefix.addr.to_bits() & !prefix.mask() != 0 {
            return bad("bits behind the prefix length are set; write them as zero");
        }
        let first = prefix.first();
        if prefix.len == 96 && first >> 56 & 0xff != 0 {
            return bad("bits 64 to 71 of a /96 must be zero (RFC 6052, section 2.2)");
        }
        if is_martian(first) {
            return bad("no router forwards to addresses in it; write a prefix of global unicast addresses");
        }
        let (high, low) = match prefix.len {
            96 => (0, 0),
            len => (96 - u32::from(len), 24 + above),
        };
        let low_bits = 32 - above;
        let global_only = first == WELL_KNOWN && prefix.len == 96 && !private;
        Ok(Pref64 { prefix: first, mask: prefix.mask(), len: prefix.len, high, low, low_bits, global_only })
    }

    /// The prefix.
    pub fn prefix(&self) -> Prefix6 {
        Prefix6 { addr: self.prefix.into(), len: self.len }
    }

    /// Whether the prefix has an address.
    #[inline(always)]
    pub fn contains(&self, addr: u128) -> bool {
        (addr ^ self.prefix) & self.mask == 0
    }

    /// IPv6 address for any IPv4 address.
    #[inline(always)]
    pub fn embed(&self, addr: u32) -> u128 {
        let a = addr as u128;
        if self.len == 96 {
            return self.prefix | a;
        }
        let below = a & ((1 << self.low_bits) - 1);
        self.prefix | (a >> self.low_bits << self.low_bits) << self.high | below << self.below()
    }

    /// Octet u and the suffix are ignored, reserved for extensions (RFC 6052, section 2.2).
    #[inline(always)]
    pub fn extract(&self, addr: u128) -> u32 {
        if self.len == 96 {
            return addr as u32;
        }
        let above = (addr >> self.high) as u32 & !(((1u64 << self.low_bits) - 1) as u32);
        above | (addr >> self.below()) as u32 & ((1u64 << self.low_bits) - 1) as u32
    }

    /// Start of the part below octet u.
    #[inline(always)]
    fn below(&self) -> u32 {
        self.low
    }

    /// IPv6 address for an IPv4 address.
    ///
    /// # Errors
    /// The well-known prefix may not be used for it.
    #[inline(always)]
    pub fn to_ipv6(&self, addr: u32) -> Result<u128, Event> {
        if self.global_only && !is_global(addr) {
            return Err(Event::WellKnownPrefixPrivate);
        }
        Ok(self.embed(addr))
    }

    /// `None` outside the prefix.
    ///
    /// # Errors
    /// The well-known prefix may not be used for it.
    #[inline(always)]
    pub fn to_ipv4(&self, addr: u128) -> Result<Option<u32>, Event> {
        if !self.contains(addr) {
            return Ok(None);
        }
        let a = self.extract(addr);
        if self.global_only && !is_global(a) {
            return Err(Event::WellKnownPrefixPrivate);
        }
        Ok(Some(a))
    }
}

impl fmt::Display for Pref64 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.prefix().fmt(f)
    }
}

/// Whether it may stand behind the well-known prefix: not those that RFC 5735, section 3, lists as
/// other than global (RFC 6052, section 3.1).
pub fn is_global(a: u32) -> bool {
    const OTHERS: [(u32, u32); 14] = [
        (0x0000_0000, 8),
        (0x0a00_0000, 8),
        (0x6440_0000, 10),
        (0x7f00_0000, 8),
        (0xa9fe_0000, 16),
        (0xac10_0000, 12),
        (0xc000_0000, 24),
        (0xc000_0200, 24),
        (0xc0a8_0000, 16),
        (0xc612_0000, 15),
        (0xc633_6400, 24),
        (0xcb00_7100, 24),
        (0xe000_0000, 4),
        (0xf000_0000, 4),
    ];
    !OTHERS.iter().any(|(first, len)| (a ^ first) >> (32 - len) == 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::net::{Ipv4Addr, Ipv6Addr};

    fn prefix(text: &str, len: u8) -> Prefix6 {
        Prefix6 { addr: text.parse().unwrap(), len }
    }

    /// RFC 6052, section 2.4, table 2 and table 3.
    #[test]
    fn rfc6052_2_4_examples() {
        let rows = [
            ("2001:db8::", 32, "2001:db8:c000:221::"),
            ("2001:db8:100::", 40, "2001:db8:1c0:2:21::"),
            ("2001:db8:122::", 48, "2001:db8:122:c000:2:2100::"),
            ("2001:db8:122:300::", 56, "2001:db8:122:3c0:0:221::"),
            ("2001:db8:122:344::", 64, "2001:db8:122:344:c0:2:2100::"),
            ("2001:db8:122:344::", 96, "2001:db8:122:344::192.0.2.33"),
            ("64:ff9b::", 96, "64:ff9b::192.0.2.33"),
        ];
        let v4 = u32::from(Ipv4Addr::new(192, 0, 2, 33));
        for (p, len, want) in rows {
            let p = Pref64::new(prefix(p, len), true).unwrap();
            let want: Ipv6Addr = want.parse().unwrap();
            assert_eq!(Ipv6Addr::from(p.embed(v4)), want, "{p}");
            assert_eq!(p.to_ipv4(want.to_bits()), Ok(Some(v4)), "{p}");
        }
    }

    #[test]
    fn rfc6052_2_2_other_lengths_are_refused() {
        for len in (0..=128u8).filter(|l| ![32, 40, 48, 56, 64, 96].contains(l)) {
            assert!(Pref64::new(prefix("::", len), false).is_err(), "{len}");
        }
        assert!(Pref64::new(prefix("2001:db8::1", 96), false).is_err(), "bits behind the length");
        assert!(Pref64::new(prefix("2001:db8:0:0:100::", 96), false).is_err(), "octet u");
        // Prefixes to which no packet can be forwarded: IPv4-compatible, IPv4-mapped, link-local, multicast.
        for (martian, len) in
            [("::", 96), ("::", 32), ("::ffff:0:0", 96), ("fe80::", 64), ("ff0e::", 96), ("ff00::", 32)]
        {
            let e = Pref64::new(prefix(martian, len), true).unwrap_err().to_string();
            assert!(e.contains("no router forwards"), "{e}");
        }
    }

    #[test]
    fn rfc6052_2_2_octet_u_and_suffix_are_ignored_when_read() {
        let p = Pref64::new(prefix("2001:db8:122:344::", 64), false).unwrap();
        let odd: Ipv6Addr = "2001:db8:122:344:ffc0:2:21ff:ffff".parse().unwrap();
        assert_eq!(p.to_ipv4(odd.to_bits()), Ok(Some(0xc000_0221)));
    }

    #[test]
    fn rfc6052_3_1_the_well_known_prefix_is_for_global_addresses() {
        let p = Pref64::new(prefix("64:ff9b::", 96), false).unwrap();
        for private in ["10.1.2.3", "172.16.0.1", "192.168.0.1", "198.18.0.1", "127.0.0.1", "100.64.0.1", "192.0.2.1"] {
            let a = u32::from(private.parse::<Ipv4Addr>().unwrap());
            assert_eq!(p.to_ipv6(a), Err(Event::WellKnownPrefixPrivate), "{private}");
            assert_eq!(p.to_ipv4(p.embed(a)), Err(Event::WellKnownPrefixPrivate), "{private}");
        }
        for global in ["1.1.1.1", "172.32.0.1", "198.20.0.1", "223.255.255.255", "11.0.0.0"] {
            let a = u32::from(global.parse::<Ipv4Addr>().unwrap());
            assert_eq!(p.to_ipv6(a).and_then(|x| p.to_ipv4(x)), Ok(Some(a)), "{global}");
        }
        let own = Pref64::new(prefix("2001:2:0:64::", 96), false).unwrap();
        assert!(own.to_ipv6(0x0a00_0001).is_ok(), "a prefix of one's own is for all");
    }

    proptest! {
        #[test]
        fn embedding_is_undone(addr: u32, which in 0usize..6, high: u128) {
            let len = [32u8, 40, 48, 56, 64, 96][which];
            let whole = Prefix6 { addr: high.into(), len };
            let first = whole.first() & !(0xff << 56);
            prop_assume!(!is_martian(first));
            let p = Pref64::new(Prefix6 { addr: first.into(), len }, true).unwrap();
            let six = p.embed(addr);
            prop_assert_eq!(p.to_ipv4(six), Ok(Some(addr)));
            prop_assert_eq!(six >> 56 & 0xff, 0, "octet u");
            prop_assert_eq!(six & whole.mask(), first);
        }
    }
}
