//! Internet checksums as RFC 1071 writes them down, and what they say about a whole frame. It uses no code of `wire`,
//! because it checks the plane's packets independently.

/// The ones' complement sum of these parts, each padded to 16 bits.
fn sum(parts: &[&[u8]]) -> u16 {
    let mut s = 0u64;
    for part in parts {
        for pair in part.chunks(2) {
            s += u64::from(u16::from_be_bytes([pair[0], *pair.get(1).unwrap_or(&0)]));
        }
    }
    while s > 0xffff {
        s = (s & 0xffff) + (s >> 16);
    }
    s as u16
}

/// The checksum field that makes these bytes right.
pub fn of(parts: &[&[u8]]) -> [u8; 2] {
    (!sum(parts)).to_be_bytes()
}

/// Addresses, protocol and length of a transport header (RFC 768, RFC 9293).
pub fn pseudo(packet: &[u8], length: usize) -> [u8; 12] {
    let mut p = [0; 12];
    p[..8].copy_from_slice(&packet[12..20]);
    p[9] = packet[9];
    p[10..].copy_from_slice(&(length as u16).to_be_bytes());
    p
}

/// An IPv4 packet cut out of a buffer, its header checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ipv4<'a> {
    /// The header with its options.
    pub header: &'a [u8],
    /// What follows it, up to the packet's end or the buffer's.
    pub payload: &'a [u8],
    /// Whether the buffer holds the packet up to its total length.
    pub whole: bool,
}

impl<'a> Ipv4<'a> {
    /// `None` if it is no IPv4 packet with a right header checksum.
    pub fn read(b: &'a [u8]) -> Option<Ipv4<'a>> {
        let ihl = usize::from(*b.first()? & 15) * 4;
        let total = usize::from(u16::from_be_bytes([*b.get(2)?, *b.get(3)?]));
        if b[0] >> 4 != 4 || ihl < 20 || total < ihl || b.len() < ihl || sum(&[&b[..ihl]]) != 0xffff {
            return None;
        }
        let end = total.min(b.len());
        Some(Ipv4 { header: &b[..ihl], payload: &b[ihl..end], whole: end == total })
    }

    /// Returns the fragment offset in octets.
    pub fn offset(&self) -> usize {
        usize::from(u16::from_be_bytes([self.header[6], self.header[7]]) & 0x1fff) * 8
    }

    /// Returns whether more fragments follow.
    pub fn more(&self) -> bool {
        self.header[6] & 0x20 != 0
    }

    /// Whether the checksum above IPv4 is right, or rightly absent; `None` for fragments, for what is not all there, and
    /// for other protocols.
    pub fn transport_is_right(&self) -> Option<bool> {
        if self.more() || self.offset() > 0 || !self.whole {
            return None;
        }
        self.transport_sum_is_right(self.payload)
    }

    /// The same for a payload that was put together from fragments.
    pub fn transport_sum_is_right(&self, payload: &[u8]) -> Option<bool> {
        match self.header[9] {
            1 if payload.len() >= 8 => Some(sum(&[payload]) == 0xffff),
            6 if payload.len() >= 20 => Some(sum(&[&pseudo(self.header, payload.len()), payload]) == 0xffff),
            17 if payload.len() >= 8 => {
                let len = usize::from(u16::from_be_bytes([payload[4], payload[5]]));
                let datagram = payload.get(..len).filter(|d| d.len() >= 8)?;
                Some(datagram[6..8] == [0, 0] || sum(&[&pseudo(self.header, len), datagram]) == 0xffff)
            }
            _ => None,
        }
    }

    /// Returns the packet that an ICMP error quotes; `None` for other packets.
    pub fn quoted(&self) -> Option<&'a [u8]> {
        let error = self.header[9] == 1 && self.payload.len() >= 8 && matches!(self.payload[0], 3 | 4 | 11 | 12);
        // With a stated length (RFC 4884) something else than the packet may follow.
        (error && self.payload[5] == 0).then(|| &self.payload[8..])
    }
}
