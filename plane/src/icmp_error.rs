//! ICMP errors that a gateway makes itself (RFC 792; RFC 1812, 4.3; RFC 4443).

use crate::ip6::put128;
use wire::checksum::Sum;
use wire::header::{ICMP, ICMPV6, IPV4, IPV6, put16, put32};

/// Octets of the offending packet: the error has 576 at most (RFC 1812, 4.3.2.3).
pub(crate) const QUOTE4: usize = 576 - HEADERS4;
/// 1280 octets at most (RFC 4443, section 2.4 c).
pub(crate) const QUOTE6: usize = 1280 - HEADERS6;
pub(crate) const HEADERS4: usize = IPV4 + ICMP_HEADER;
pub(crate) const HEADERS6: usize = IPV6 + ICMP_HEADER;

const ICMP_HEADER: usize = 8;
const TTL: u8 = 64;
/// Precedence "internetwork control" for errors (RFC 1812, 4.3.2.5).
const CONTROL: u8 = 0xc0;
/// Back to back after a pause.
const BURST: u64 = 32;

/// An ICMP error; `rest` is behind the checksum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Error {
    pub kind: u8,
    pub code: u8,
    /// MTU, pointer, or zero.
    pub rest: u32,
}

pub(crate) const TIME_EXCEEDED: Error = Error::new(11, 0);
pub(crate) const HOST_UNREACHABLE: Error = Error::new(3, 1);

impl Error {
    pub(crate) const fn new(kind: u8, code: u8) -> Error {
        Error { kind, code, rest: 0 }
    }

    /// The error that announces an MTU (RFC 1191).
    pub(crate) const fn fragmentation_needed(mtu: u32) -> Error {
        Error { kind: 3, code: 4, rest: mtu }
    }

    /// Writes the packet to `b`, which is all zeros.
    pub(crate) fn write4(self, b: &mut [u8], src: u32, dst: u32, id: u16, quote: &[u8]) {
        (b[0], b[1]) = (0x45, CONTROL);
        put16(b, 2, b.len() as u16);
        put16(b, 4, id);
        (b[8], b[9]) = (TTL, ICMP);
        put32(b, 12, src);
        put32(b, 16, dst);
        let sum = Sum::default().bytes(&b[..IPV4]).checksum();
        b[10..12].copy_from_slice(&sum);
        self.message(&mut b[IPV4..], quote, Sum::default());
    }

    /// Writes the packet to `b`, which is all zeros.
    pub(crate) fn write6(self, b: &mut [u8], src: u128, dst: u128, quote: &[u8]) {
        let len = b.len() - IPV6;
        b[0] = 0x60;
        put16(b, 4, len as u16);
        (b[6], b[7]) = (ICMPV6, TTL);
        put128(b, 8, src);
        put128(b, 24, dst);
        let pseudo = Sum::default().bytes(&b[8..IPV6]).be32(len as u32).be16(ICMPV6.into());
        self.message(&mut b[IPV6..], quote, pseudo);
    }

    /// `pseudo` is the sum of the pseudo header, if any.
    fn message(self, b: &mut [u8], quote: &[u8], pseudo: Sum) {
        (b[0], b[1]) = (self.kind, self.code);
        put32(b, 4, self.rest);
        b[ICMP_HEADER..].copy_from_slice(quote);
        let sum = Sum::default().bytes(b).plus(pseudo).checksum();
        b[2..4].copy_from_slice(&sum);
    }
}

/// Limits the rate of errors (RFC 1812, 4.3.2.8; RFC 4443, section 2.4 f).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Limiter {
    /// When the next error is due, at an even rate.
    due: u64,
}

impl Limiter {
    /// Whether an error may be sent; `now` is in nanoseconds.
    pub(crate) fn allow(&mut self, now: u64, per_second: u32) -> bool {
        let Some(apart) = 1_000_000_000u64.checked_div(per_second.into()) else { return false };
        if self.due > now + BURST * apart {
            return false;
        }
        self.due = self.due.max(now) + apart;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_after_a_rest_and_then_the_rate() {
        let mut l = Limiter::default();
        let second = 1_000_000_000;
        let allowed = |l: &mut Limiter, now| (0..1000).filter(|_| l.allow(now, 100)).count();
        assert_eq!(allowed(&mut l, 5 * second), 33);
        assert_eq!(
            (allowed(&mut l, 5 * second), allowed(&mut l, 6 * second)),
            (0, 33),
            "a burst is all that is saved up"
        );
        assert!(!(0..10).any(|i| l.allow((7 + i) * second, 0)), "none a second");
    }
}
