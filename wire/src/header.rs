//! Header layouts of Ethernet, IPv4, IPv6, UDP, TCP and ICMP as offsets.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Ethernet header without VLAN tag.
pub const ETH: usize = 14;
/// IPv4 header without options.
pub const IPV4: usize = 20;
/// Length of an IPv6 header.
pub const IPV6: usize = 40;
/// Length of a UDP header.
pub const UDP: usize = 8;
/// Length of the FCS, which no buffer contains.
pub const FCS: usize = 4;

/// EtherType of IPv4.
pub const TYPE_IPV4: u16 = 0x0800;
/// EtherType of ARP.
pub const TYPE_ARP: u16 = 0x0806;
/// EtherType of IPv6.
pub const TYPE_IPV6: u16 = 0x86dd;

/// IP protocol number of ICMP.
pub const ICMP: u8 = 1;
/// IPv4 inside another IP header.
pub const PROTO_IPV4: u8 = 4;
/// IP protocol number of TCP.
pub const TCP: u8 = 6;
/// IP protocol number of UDP.
pub const PROTO_UDP: u8 = 17;
/// IP protocol number of ICMPv6.
pub const ICMPV6: u8 = 58;

/// An Ethernet address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Mac(pub [u8; 6]);

impl fmt::Display for Mac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let m = self.0;
        write!(f, "{:02x}:{:02x}:{:02x}:{:02x}:{:02x}:{:02x}", m[0], m[1], m[2], m[3], m[4], m[5])
    }
}

impl std::str::FromStr for Mac {
    type Err = String;
    fn from_str(s: &str) -> Result<Mac, String> {
        let mut out = [0; 6];
        let mut parts = s.split(':');
        for b in &mut out {
            let part = parts
                .next()
                .filter(|p| p.len() == 2 && !p.starts_with('+'))
                .ok_or_else(|| format!("`{s}` is not six octets aa:bb:cc:dd:ee:ff"))?;
            *b = u8::from_str_radix(part, 16).map_err(|_| format!("`{part}` in `{s}` is not a hexadecimal octet"))?;
        }
        if parts.next().is_some() {
            return Err(format!("`{s}` has more than six octets"));
        }
        Ok(Mac(out))
    }
}

/// The number at `at`.
#[inline(always)]
pub fn be16(b: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([b[at], b[at + 1]])
}

/// The number at `at`.
#[inline(always)]
pub fn be32(b: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([b[at], b[at + 1], b[at + 2], b[at + 3]])
}

/// Stores a big-endian 16-bit number at `at`.
#[inline(always)]
pub fn put16(b: &mut [u8], at: usize, v: u16) {
    b[at..at + 2].copy_from_slice(&v.to_be_bytes());
}

/// Stores a big-endian 32-bit number at `at`.
#[inline(always)]
pub fn put32(b: &mut [u8], at: usize, v: u32) {
    b[at..at + 4].copy_from_slice(&v.to_be_bytes());
}

/// Eight octets, as in memory.
#[inline(always)]
pub fn word(b: &[u8], at: usize) -> u64 {
    let mut w = [0u8; 8];
    w.copy_from_slice(&b[at..at + 8]);
    u64::from_ne_bytes(w)
}

/// Four octets, as in memory.
#[inline(always)]
pub fn half(b: &[u8], at: usize) -> u32 {
    u32::from_ne_bytes([b[at], b[at + 1], b[at + 2], b[at + 3]])
}

/// Preamble, start of frame delimiter and inter-frame gap, in octets.
const BETWEEN_FRAMES: u64 = 20;

/// Frames per second, per direction; `frame_size` in octets with FCS.
pub fn line_limit(bits_per_second: u64, frame_size: usize) -> u64 {
    bits_per_second / (8 * (frame_size as u64 + BETWEEN_FRAMES))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mac_reads_back_as_written() {
        let m: Mac = "02:00:5e:10:00:ff".parse().unwrap();
        assert_eq!(m.to_string(), "02:00:5e:10:00:ff");
        assert!("02:00:5e:10:00".parse::<Mac>().is_err());
        assert!("02:00:5e:10:00:ff:11".parse::<Mac>().is_err());
        assert!("02:00:5e:10:00:+f".parse::<Mac>().is_err(), "a sign is no digit");
    }
}
