//! Tunnel packets that come in parts, put together before they are decapsulated (RFC 6333, section 5.3; RFC 8200, section
//! 4.5): what IPv6 says about lengths and headers. How parts are kept is the same for all ([`Assembly`]).

use super::L3;
use super::error::{self, Refusal};
use crate::event::Event;
use crate::ip6::{Head6, Part};
use crate::parts::assembly::{Assembly, Datagram, Fragment};
use crate::parts::store::Buffer;
use wire::header::{IPV6, put16};

/// Parts of tunnel packets, by addresses and identification.
pub type Reassembly = Assembly<(u128, u128, u32)>;

/// Largest datagram.
const LARGEST: usize = 65_535;

/// Take a part in; gives the packet, without fragment header, when it was the last one missing.
///
/// # Errors
/// The reason to drop it.
pub fn add(store: &mut Reassembly, now: u64, b: &[u8], h: &Head6, part: &Part) -> Result<Option<Buffer>, Refusal> {
    let payload = &b[part.at + 8..h.end];
    if part.more && !payload.len().is_multiple_of(8) {
        return Err(error::outer(Event::BadLength, error::parameter_problem(4)));
    }
    if part.offset + payload.len() > LARGEST {
        return Err(error::outer(Event::BadLength, error::parameter_problem(part.at + 2 - L3)));
    }
    if payload.is_empty() {
        return Err(Event::BadLength.into());
    }
    let headers = &b[..part.at + 8];
    let fragment = Fragment { offset: part.offset, more: part.more, headers, payload, ecn: h.class };
    match store.add(now, (h.src, h.dst, part.id), &fragment)? {
        Some(d) => join(&d).map(Some).ok_or(Event::EcnLost.into()),
        None => Ok(None),
    }
}

/// The packet of all its parts: the headers of the first, without those that only the way here needed. `None` when
/// congestion was met that it cannot tell.
fn join(d: &Datagram) -> Option<Buffer> {
    let mut head = [0; L3 + IPV6];
    head.copy_from_slice(d.headers().get(..L3 + IPV6)?);
    head[L3 + 1] = head[L3 + 1] & !0x30 | d.ecn()? << 4;
    head[L3 + 6] = d.headers()[d.headers().len() - 8];
    put16(&mut head, L3 + 4, d.octets() as u16);
    Some(d.behind(&head))
}
