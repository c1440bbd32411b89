//! The domain names of the zone. As in dns64perf++, each has the digits of its A record:
//! `010-000-000-001.dns64perf.test` is 10.0.0.1.

use std::net::{Ipv4Addr, Ipv6Addr};

/// The zone, below `test` (RFC 2606, section 2).
pub const ZONE: &str = "dns64perf.test";
/// Octets of a name's first label.
pub const LABEL: usize = 15;
/// IPv4 address of name 0. Nothing is sent to 10.0.0.0/8.
const FIRST: u32 = 0x0a00_0000;
/// 10.0.0.0/8 without [`Names::probe`].
pub const MOST: u32 = (1 << 24) - 1;
/// Prefix of names in the zone, before the IPv4 address (2001:2::/48 is for benchmarks, RFC 5180).
const EXISTING: Ipv6Addr = Ipv6Addr::new(0x2001, 2, 0, 0xaaaa, 0, 0, 0, 0);
/// 96 bits (RFC 6052), network-specific: the zone's addresses are private (section 3.1).
pub const PREFIX: Ipv6Addr = Ipv6Addr::new(0x2001, 2, 0, 0x64, 0, 0, 0, 0);

/// The names of a zone: name `i` for `i` below `count`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Names {
    /// Number of names, at most [`MOST`].
    pub count: u32,
    /// Names with an AAAA record, in parts per million, spread evenly.
    pub existing_ppm: u32,
}

impl Names {
    pub fn label(i: u32) -> [u8; LABEL] {
        let mut label = [b'-'; LABEL];
        for (octet, digits) in Names::a(i).octets().into_iter().zip(label.chunks_mut(4)) {
            (digits[0], digits[1], digits[2]) = (b'0' + octet / 100, b'0' + octet / 10 % 10, b'0' + octet % 10);
        }
        label
    }

    pub fn a(i: u32) -> Ipv4Addr {
        Ipv4Addr::from(FIRST | i)
    }

    pub fn has_aaaa(&self, i: u32) -> bool {
        let before = |i: u64| i * u64::from(self.existing_ppm) / 1_000_000;
        before(u64::from(i) + 1) > before(u64::from(i))
    }

    pub fn aaaa(&self, i: u32) -> Option<Ipv6Addr> {
        self.has_aaaa(i).then(|| embedded(EXISTING, Names::a(i)))
    }

    /// A DNS64's answer for name `i`: the zone's AAAA record, or one synthesised from the A record
    /// (RFC 6147, section 5.1).
    pub fn through_dns64(&self, i: u32) -> Ipv6Addr {
        self.aaaa(i).unwrap_or_else(|| embedded(PREFIX, Names::a(i)))
    }

    /// No trial asks for this name, so that queries for it change no cache.
    pub fn probe(&self) -> u32 {
        self.count
    }

    pub fn records(&self) -> impl Iterator<Item = ([u8; LABEL], Ipv4Addr, Option<Ipv6Addr>)> + use<> {
        let names = *self;
        (0..=names.count).map(move |i| (Names::label(i), Names::a(i), names.aaaa(i)))
    }
}

/// 96 bits (RFC 6052, section 2.2).
fn embedded(prefix: Ipv6Addr, address: Ipv4Addr) -> Ipv6Addr {
    Ipv6Addr::from(prefix.to_bits() | u128::from(address.to_bits()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_has_the_digits_of_the_address() {
        assert_eq!(&Names::label(0), b"010-000-000-000");
        assert_eq!(&Names::label(MOST), b"010-255-255-255");
        assert_eq!(&Names::label(0x0001_020c), b"010-001-002-012");
    }

    /// RFC 6052, section 2.4, has 192.0.2.33 in a prefix of 96 bits; the last 32 bits are the address.
    #[test]
    fn addresses_are_embedded_after_96_bits() {
        let embedded = embedded("2001:db8:122:344::".parse().unwrap(), "192.0.2.33".parse().unwrap());
        assert_eq!(embedded, "2001:db8:122:344::192.0.2.33".parse::<Ipv6Addr>().unwrap());
    }

    #[test]
    fn the_share_of_existing_records_is_exact_and_even() {
        for (ppm, of_ten) in [(0, 0), (200_000, 2), (500_000, 5), (1_000_000, 10)] {
            let names = Names { count: 100, existing_ppm: ppm };
            for ten in 0..10 {
                assert_eq!((ten * 10..ten * 10 + 10).filter(|&i| names.has_aaaa(i)).count(), of_ten, "{ppm}");
            }
        }
    }
}
