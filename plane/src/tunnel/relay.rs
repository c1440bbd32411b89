//! ICMPv6 errors about tunnel packets: the sender of the inner packet gets an ICMP error (RFC 2473,
//! section 8). Errors about unknown tunnels are ignored.

use super::error::{Refusal, sum6};
use super::{LEAST_MTU, OVERHEAD, Tunnel, address};
use crate::event::Event;
use crate::function::{Packet, Spare, Verdict};
use crate::icmp_error::{Error, HOST_UNREACHABLE};
use crate::ip4::Head4;
use crate::ip6::{Head6, next};
use crate::strategy::Softwires;
use wire::header::be32;

const UNREACHABLE: u8 = 1;
const TOO_BIG: u8 = 2;
const TIME_EXCEEDED: u8 = 3;
const PARAMETER: u8 = 4;

impl<S: Softwires> Tunnel<S> {
    /// Relays an error; other messages are for the machine itself.
    pub(super) fn relay<P: Packet>(
        &mut self,
        b: &[u8],
        head: &Head6,
        spare: &mut dyn Spare<P>,
    ) -> Result<Verdict, Refusal> {
        let message = &b[..head.end];
        let l4 = head.l4;
        if head.end < l4 + 8 || !matches!(b[l4], UNREACHABLE | TOO_BIG | TIME_EXCEEDED | PARAMETER) {
            return Ok(self.local());
        }
        let quote = match Head6::read(message, l4 + 8) {
            Ok(q) if q.protocol == next::IPV4 => q,
            _ => return Ok(self.local()),
        };
        if !sum6(message, head.l3, l4, head.end).is_valid() {
            return Err(Event::IcmpChecksum.into());
        }
        if quote.part.is_some_and(|p| p.offset > 0) {
            return Err(Event::IcmpUntranslatable.into());
        }
        let inner = Head4::sealed(message, quote.l4)?;
        let (customer, remote) = self.ends_in(inner.points(message)?);
        // This look-up also checks that the tunnel exists.
        let stands_for = self.softwires.unwrap_quoted(quote.dst, quote.src, customer, remote)?;
        // Ignored (RFC 8201, section 4).
        if message[l4] == TOO_BIG && be32(message, l4 + 4) < LEAST_MTU {
            return Err(Event::IcmpUntranslatable.into());
        }
        // Without DF this end fragments, and the sender gets no error.
        if message[l4] == TOO_BIG && self.softwires.is_single() {
            self.narrow(be32(message, l4 + 4));
        }
        let error = counterpart(message, l4, &inner).ok_or(Event::IcmpUntranslatable)?;
        let mut about = message[inner.l3..].to_vec();
        let own = Head4 { l3: 0, l4: inner.l4 - inner.l3, end: inner.total().min(about.len()), ..inner };
        if S::RENAMES && !own.is_icmp_error(&about) {
            address::replace(&mut about, &own, !self.plan.ce, stands_for, Ok)?;
        }
        // A sender behind a tunnel gets the error through it.
        let points = inner.points(message)?;
        let back = if !self.plan.ce && self.softwires.serves(inner.src) {
            self.softwires.wrap(points[0], points[1]).ok().map(|w| (w.src, w.dst))
        } else {
            None
        };
        if self.reply4(back, &about, error, spare) {
            self.count.add(Event::Relayed);
        } else {
            self.count.add(Event::IcmpUntranslatable);
        }
        Ok(Verdict::Drop)
    }
}

/// The ICMPv4 counterpart (RFC 2473, section 8.3).
fn counterpart(b: &[u8], l4: usize, inner: &Head4) -> Option<Error> {
    match (b[l4], b[l4 + 1]) {
        // Only packets with DF need the size.
        (TOO_BIG, _) if inner.df => {
            let mtu = be32(b, l4 + 4).min(65_535);
            Some(Error::fragmentation_needed(mtu - OVERHEAD as u32))
        }
        (UNREACHABLE | PARAMETER, _) | (TIME_EXCEEDED, 0) => Some(HOST_UNREACHABLE),
        _ => None,
    }
}
