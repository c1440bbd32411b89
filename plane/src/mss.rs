//! MSS clamping: limits the maximum segment size that TCP hosts announce (RFC 9293, section 3.7.1).
//! Lowers the option of SYN segments, inside a tunnel too, before another function gets the packet.

use crate::function::{Drops, Input, Packet, Spare};
use crate::ip4::Head4;
use crate::ip6::{Head6, next};
use crate::object::DynFunction;
use crate::wrapper::Wrapper;
use wire::checksum::update16;
use wire::header::{self, TCP, TYPE_IPV4, TYPE_IPV6, be16, put16};

/// Limits the option in packets of both directions.
pub struct MssLimit {
    most: Option<u16>,
    lowered: u64,
}

impl MssLimit {
    /// `None` changes no packet.
    pub fn new(most: Option<u16>) -> MssLimit {
        MssLimit { most, lowered: 0 }
    }
}

impl Wrapper for MssLimit {
    const FOLLOWS: bool = true;

    fn process<P: Packet>(&mut self, function: &mut dyn DynFunction<P>, input: Input<P>, spare: &mut dyn Spare<P>) {
        if let Some(most) = self.most {
            let lowered = input.packets.iter_mut().map(|p| u64::from(lower(p.bytes_mut(), most).is_some()));
            self.lowered += lowered.sum::<u64>();
        }
        function.process(input, spare);
    }

    fn counters(&self) -> Drops {
        vec![("mss-lowered", self.lowered)]
    }

    fn follow(&mut self, new: &MssLimit) {
        self.most = new.most;
    }
}

/// Octets of a TCP header without options.
const HEADER: usize = 20;
const SYN: u8 = 2;
const FLAGS: usize = 13;
const CHECKSUM: usize = 16;

/// `None` if nothing is changed.
fn lower(b: &mut [u8], most: u16) -> Option<()> {
    let (tcp, end) = segment(b)?;
    let options = tcp + 4 * usize::from(*b.get(tcp + FLAGS - 1)? >> 4);
    if options < tcp + HEADER || options > end.min(b.len()) || b[tcp + FLAGS] & SYN == 0 {
        return None;
    }
    let at = announced(&b[..options], tcp + HEADER)?;
    let old = be16(b, at);
    if old <= most {
        return None;
    }
    put16(b, at, most);
    // At an odd offset, the octets lie in two words of the sum.
    let in_sum = |v: u16| if (at - tcp).is_multiple_of(2) { v } else { v.swap_bytes() };
    let sum = tcp + CHECKSUM;
    let field = update16([b[sum], b[sum + 1]], in_sum(old), in_sum(most));
    b[sum..sum + 2].copy_from_slice(&field);
    Some(())
}

/// Where the TCP header begins, and where the packet ends.
fn segment(b: &[u8]) -> Option<(usize, usize)> {
    if b.len() < header::ETH {
        return None;
    }
    match be16(b, 12) {
        TYPE_IPV4 => in_ipv4(b, header::ETH),
        TYPE_IPV6 => {
            let head = Head6::of_frame(b).ok().filter(|h| h.part.is_none_or(|part| part.offset == 0))?;
            match head.protocol {
                TCP => Some((head.l4, head.end)),
                next::IPV4 => in_ipv4(b, head.l4),
                _ => None,
            }
        }
        _ => None,
    }
}

fn in_ipv4(b: &[u8], l3: usize) -> Option<(usize, usize)> {
    let head = Head4::read(b, l3).ok()?;
    (head.protocol == TCP && head.offset == 0).then_some((head.l4, head.end))
}

/// The value of the MSS option among the options from `at` on, if all up to it parse.
fn announced(b: &[u8], mut at: usize) -> Option<usize> {
    const END: u8 = 0;
    const NOTHING: u8 = 1;
    const MSS: u8 = 2;
    loop {
        match *b.get(at)? {
            END => return None,
            NOTHING => at += 1,
            kind => {
                let len = usize::from(*b.get(at + 1)?);
                if len < 2 || at + len > b.len() || (kind == MSS && len != 4) {
                    return None;
                }
                if kind == MSS {
                    return Some(at + 2);
                }
                at += len;
            }
        }
    }
}
