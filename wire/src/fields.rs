//! The fields in which a stream's frames differ.

use crate::flow::Flow;
use crate::layout::{Layout, Octets16};

/// Where a field's value comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// Initiator's address.
    InsideAddr,
    /// Initiator's port.
    InsidePort,
    /// Responder's address.
    RemoteAddr,
    /// Responder's port.
    RemotePort,
    /// Outside address from phase 1.
    OuterAddr,
    /// Outside port from phase 1.
    OuterPort,
}

impl Source {
    /// Width in bytes.
    pub fn width(self) -> usize {
        if self.is_addr() { 4 } else { 2 }
    }
    /// Whether the source is an address.
    pub fn is_addr(self) -> bool {
        matches!(self, Source::InsideAddr | Source::RemoteAddr | Source::OuterAddr)
    }
    /// Whether phase 1 teaches the value.
    pub fn is_outer(self) -> bool {
        matches!(self, Source::OuterAddr | Source::OuterPort)
    }
}

/// UDP fields that differ by flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fields {
    /// Source address.
    pub src: Source,
    /// Source port.
    pub src_port: Source,
    /// Destination address.
    pub dst: Source,
    /// Destination port.
    pub dst_port: Source,
}

impl Fields {
    /// Whether phase 1 teaches a field.
    pub fn needs_outer(&self) -> bool {
        [self.src, self.src_port, self.dst, self.dst_port].iter().any(|s| s.is_outer())
    }
    #[inline(always)]
    pub(crate) fn addresses(self, values: &Values) -> u64 {
        ((values.get(self.src) as u64) << 32 | values.get(self.dst) as u64).to_be()
    }
    #[inline(always)]
    pub(crate) fn ports(self, values: &Values) -> u32 {
        (values.get(self.src_port) << 16 | values.get(self.dst_port)).to_be()
    }
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FrameWords {
    pub(crate) addresses: u64,
    pub(crate) ports: u32,
    pub(crate) ends: [Octets16; 2],
    pub(crate) end_sum: u64,
}

/// Values of a flow, and learned ones. Indexed by [`Source`] without a branch; the subscriber is last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Values([u32; 7]);

/// Index in [`Values`].
pub(crate) const SUBSCRIBER: usize = 6;

impl Values {
    /// A flow's values.
    #[inline(always)]
    pub fn of(flow: Flow) -> Values {
        let Flow { inside_addr, inside_port, remote_addr, remote_port, subscriber } = flow;
        Values([inside_addr, inside_port.into(), remote_addr, remote_port.into(), 0, 0, subscriber])
    }
    #[inline(always)]
    pub(crate) fn from_array(values: [u32; 7]) -> Values {
        Values(values)
    }
    /// The values with a learned outside address and port.
    #[inline(always)]
    pub fn learned(mut self, addr: u32, port: u16) -> Values {
        self.0[Source::OuterAddr as usize] = addr;
        self.0[Source::OuterPort as usize] = port as u32;
        self
    }
    /// Ports in the low 16 bits.
    #[inline(always)]
    pub fn get(&self, source: Source) -> u32 {
        self.0[source as usize]
    }
    #[inline]
    pub(crate) fn words(&self, fields: Fields, layout: &Layout) -> FrameWords {
        let (addresses, ports) = (fields.addresses(self), fields.ports(self));
        let Some(ends) = layout.ends() else {
            return FrameWords { addresses, ports, ..FrameWords::default() };
        };
        let [subscriber, remote, outer] =
            [SUBSCRIBER, Source::RemoteAddr as usize, Source::OuterAddr as usize].map(|of| self.0[of]);
        let rows = [&ends.src, &ends.dst].map(|end| end.row(subscriber, remote, outer));
        FrameWords { addresses, ports, ends: rows, end_sum: rows[0].sum() + rows[1].sum() }
    }
}

/// Ports (as in memory), UDP length and checksum at their places in bytes 34..42.
#[inline(always)]
pub(crate) fn place(ports: u32, udp_len: u16, [c, d]: [u8; 2]) -> u64 {
    let ([p, q, r, s], [l, m]) = (ports.to_ne_bytes(), udp_len.to_be_bytes());
    u64::from_ne_bytes([p, q, r, s, l, m, c, d])
}
