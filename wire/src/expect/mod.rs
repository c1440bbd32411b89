//! What a received frame must contain: constants under a mask, fields of the flow, learned fields,
//! payload and checksums. A correct frame takes one path without branches.

mod row;
mod tcp;

use crate::addr::AddrRange;
use crate::batch::{BATCH, Batch, Words};
use crate::checksum::pseudo_v4;
use crate::fields::{Fields, FrameWords, Values, place};
use crate::header::{self, Mac, be16, be32, half, word};
use crate::layout::{At, Layout, by_head};
use crate::port_set::PortSet;
use crate::range::PortRange;
use crate::tag::Tag;
use crate::template::{Template, UdpFrame};
use row::{Bits, Constant, DESTINATION, FrameRow, IPV4_FIRST, IPV4_SECOND, IPV6_FIRST};

/// The first reason why a frame is wrong, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mismatch {
    /// The frame has another length.
    Length,
    /// Octets follow a right frame.
    Trailer,
    /// A wrong address.
    Address,
    /// A wrong port.
    Port,
    /// Outside address or port that the DUT must not use.
    Pool,
    /// The Ethernet destination is not the port's.
    Mac,
    /// Another header field is wrong.
    Header,
    /// Traffic class or flow label, where an RFC fixes it.
    TrafficClass,
    /// DF, where an RFC fixes it.
    Identification,
    /// The checksum of the IPv4 header or UDP is wrong.
    Checksum,
    /// Payload.
    Payload,
}

/// Differences that an RFC leaves to the device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Open {
    /// TOS or traffic class (RFC 2474; RFC 7915, sections 4.1 and 5.1; RFC 2473, section 6.4).
    pub traffic_class: bool,
    /// Flow label (RFC 6437, section 3; RFC 2473, section 6.5).
    pub flow_label: bool,
    /// DF after translation: RFC 6145 sets it always, RFC 7915 by size (section 5.1 of both).
    pub dont_fragment: bool,
}

/// What the DUT may translate to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OuterRange {
    /// Outside addresses.
    pub addrs: AddrRange,
    /// Outside ports.
    pub ports: PortRange,
}

/// Expected frames of one direction.
#[derive(Clone, Debug)]
pub struct Expect {
    len: usize,
    /// Constant octets of the first IP header (with EtherType), and of an inner IPv4 header.
    headers: [Constant; 2],
    /// Ethernet destination, and its mask, 0 if it is not compared.
    to: (u64, u64),
    /// There is a translation to IPv6 and back between the sent frame and this one.
    translated_twice: bool,
    udp_len: u64,
    /// UDP pseudo header without addresses, and octets behind the tag.
    udp_sum: u64,
    fields: Fields,
    layout: Layout,
    /// All ones where IPv4 addresses and ports are learned.
    outer_bits: (u64, u32),
    /// End, 0 or 1, whose lowest 32 bits of an IPv6 address are learned.
    outer_end: Option<usize>,
    outer: Option<OuterRange>,
    /// Other outside addresses with the same ports.
    also: Vec<AddrRange>,
    set: PortSet,
    /// Bits that are zero in every outside address.
    clear: u32,
    tail: Vec<u8>,
}

/// The packet's in the low byte, a tunnel's outer header's in the high byte.
pub type Hops = u16;

impl Expect {
    /// Frames of `sent` that arrive with these fields in this layout.
    ///
    /// Compared apart: Ethernet destination ([`Expect::arriving_at`]); TTL, hop limits; checksums
    /// (recomputed). DF is kept (RFC 791), but open behind a translator to IPv4. The flow label is
    /// fixed behind a translator (RFC 7915, section 4.1), and open elsewhere. TOS and traffic class
    /// are open: translators copy or set them, as configured (sections 4.1 and 5.1) ([`Open`]). Not compared: Ethernet source, identification.
    /// Without an IPv4 address, phase 1 learns the lowest 32 bits of an outside IPv6 address, or
    /// else the port only, with address 0.
    pub fn udp(sent: &Template, fields: Fields, layout: Layout, outer: Option<OuterRange>) -> Expect {
        let size = sent.len() - sent.layout().overhead() + header::FCS;
        let (to, from) = Default::default();
        let right = Template::udp(&UdpFrame { to, from, size, ttl: 0, fields }, layout.clone());
        let (b, udp_len) = (right.bytes(), right.udp_len());
        let headers = headers(b, sent.layout(), &layout);
        let tail = b[layout.head()..].to_vec();
        let outer_end = layout.ends().and_then(|ends| [&ends.src, &ends.dst].iter().position(|end| end.is_outer()));
        let ones = Values::default().learned(u32::MAX, u16::MAX);
        Expect {
            len: b.len(),
            headers,
            to: (0, 0),
            translated_twice: false,
            udp_len: place(0, udp_len, [0; 2]),
            udp_sum: pseudo_v4(0, header::PROTO_UDP, udp_len).bytes(&tail).fold().into(),
            fields,
            layout,
            outer_bits: (fields.addresses(&ones), fields.ports(&ones)),
            outer_end,
            outer,
            also: Vec::new(),
            set: PortSet::ALL,
            clear: 0,
            tail,
        }
    }

    /// The expectation for a template of another size.
    #[must_use]
    pub fn of_sent(&self, sent: &Template) -> Expect {
        let expect = Expect::udp(sent, self.fields, self.layout.clone(), self.outer.clone())
            .or_of(self.also.clone())
            .within(self.set)
            .with_clear(self.clear);
        let expect = Expect { to: self.to, ..expect };
        if self.translated_twice { expect.translated_twice() } else { expect }
    }

    /// Requires this Ethernet destination.
    #[must_use]
    pub fn arriving_at(self, port: Mac) -> Expect {
        let [a, b, c, d, e, f] = port.0;
        Expect { to: (u64::from_ne_bytes([a, b, c, d, e, f, 0, 0]), DESTINATION), ..self }
    }

    /// Expects that the device translates to IPv6 and back, as those do that have both edges.
    #[must_use]
    pub fn translated_twice(self) -> Expect {
        let [first, second] = self.headers;
        let first = match &self.layout {
            Layout::Ipv4 => first.opened(IPV4_FIRST.df).with(df_of_translated(self.len)),
            _ => first,
        };
        Expect { headers: [first, second], translated_twice: true, ..self }
    }

    /// Requires learned ports to belong to this set.
    pub fn within(self, set: PortSet) -> Expect {
        Expect { set, ..self }
    }

    /// Allows further addresses to be learned.
    pub fn or_of(self, also: Vec<AddrRange>) -> Expect {
        Expect { also, ..self }
    }

    /// Requires learned addresses to lack these bits.
    pub fn with_clear(self, clear: u32) -> Expect {
        Expect { clear, ..self }
    }

    /// Outside addresses, or their lowest 32 bits; empty if none is learned.
    pub fn outer_addresses(&self) -> impl Iterator<Item = u32> {
        let ranges = self.outer.iter().map(|outer| outer.addrs).chain(self.also.iter().copied());
        ranges.flat_map(|range| (0..range.count).map(move |k| u32::from(range.first).wrapping_add(k)))
    }

    /// The frame with this tag of the flow with these values: with empty Ethernet addresses and this TTL or hop limit.
    pub fn frame(&self, values: &Values, tag: &Tag, ttl: u8) -> Vec<u8> {
        let size = self.len - self.layout.overhead() + header::FCS;
        let (to, from) = Default::default();
        let sent = Template::udp(&UdpFrame { to, from, size, ttl, fields: self.fields }, self.layout.clone());
        let mut frame = sent.bytes().to_vec();
        sent.write(&mut frame, values, tag);
        frame
    }

    /// Whether phase 1 teaches the outside address.
    pub fn learns_address(&self) -> bool {
        self.fields.src.is_outer() || self.outer_end.is_some()
    }

    /// Outside addresses and ports that the DUT may use, if they are known.
    pub fn outer(&self) -> Option<&OuterRange> {
        self.outer.as_ref()
    }

    /// Values of the flow with the outside address and port of this frame, if it is long enough.
    pub fn with_outer_of(&self, frame: &[u8], values: &Values) -> Values {
        let outer = by_head!(self.layout.head(), self.outer_of(frame));
        outer.map_or(*values, |(addr, port)| values.learned(addr, port))
    }

    fn outer_of<const HEAD: usize>(&self, frame: &[u8]) -> Option<(u32, u16)> {
        frame.first_chunk::<HEAD>().map(|head| self.outer_seen(head))
    }

    /// Headers between Ethernet and UDP.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }
    /// Offset of the tag.
    pub fn tag_at(&self) -> usize {
        self.layout.tag_at()
    }
    /// Frame length without FCS.
    pub fn frame_len(&self) -> usize {
        self.len
    }
    /// Whether phase 1 teaches a field.
    pub fn needs_outer(&self) -> bool {
        self.fields.needs_outer()
    }

    /// Fields that differ from flow to flow.
    pub fn fields(&self) -> &Fields {
        &self.fields
    }

    /// Header words of a batch of flows.
    #[inline(always)]
    pub fn words(&self, flows: &Batch, words: &mut Words) {
        flows.words(&self.fields, words);
        if let Some(ends) = self.layout.ends() {
            flows.end_words(ends, words);
        }
    }

    /// Hop limits; `None` for a frame of another length.
    #[inline(always)]
    pub fn hops(&self, frame: &[u8]) -> Option<Hops> {
        (frame.len() == self.len).then(|| by_head!(self.layout.head(), self.hops_in(frame)))
    }

    #[allow(clippy::unused_self, reason = "called by the macro that knows the layout, as all its neighbours are")]
    #[inline(always)]
    fn hops_in<const HEAD: usize>(&self, head: &[u8]) -> Hops {
        let ttl = At::<HEAD>::IP4 + 8;
        match (At::<HEAD>::HAS6, At::<HEAD>::HAS4) {
            (true, true) => (head[HOP_LIMIT_AT] as u16) << 8 | head[ttl] as u16,
            (true, false) => head[HOP_LIMIT_AT] as u16,
            _ => head[ttl] as u16,
        }
    }

    /// Whether the first frames of a batch are all correct and arrived with these hop limits: then,
    /// whether one differs in what is open ([`Open`]).
    #[inline(always)]
    pub fn all_right<'f>(&self, frames: impl Iterator<Item = &'f [u8]>, hops: Hops, words: &Words) -> Option<bool> {
        by_head!(self.layout.head(), self.all_right_in(frames, hops, words))
    }

    // In one function, layouts would compete for registers.
    #[inline(never)]
    fn all_right_in<'f, const HEAD: usize>(
        &self,
        frames: impl Iterator<Item = &'f [u8]>,
        hops: Hops,
        words: &Words,
    ) -> Option<bool> {
        let row = self.row::<HEAD>(hops);
        let mut open = 0;
        // The loop of `all` would not keep the row in registers.
        for (j, frame) in (0..BATCH).zip(frames) {
            if !row.right(frame, &words.at(j)) {
                return None;
            }
            open |= row.open_diff(frame);
        }
        Some(open != 0)
    }

    /// Judges as [`Self::all_right`] does in phase 1: stores outside addresses and ports in
    /// `flows`.
    #[inline(always)]
    pub fn all_right_and_new<'f>(
        &self,
        frames: impl Iterator<Item = &'f [u8]>,
        hops: Hops,
        words: &Words,
        flows: &mut Batch,
    ) -> Option<bool> {
        by_head!(self.layout.head(), self.all_right_and_new_in(frames, hops, words, flows))
    }

    #[inline(never)]
    fn all_right_and_new_in<'f, const HEAD: usize>(
        &self,
        frames: impl Iterator<Item = &'f [u8]>,
        hops: Hops,
        words: &Words,
        flows: &mut Batch,
    ) -> Option<bool> {
        let row = self.row::<HEAD>(hops);
        let mut open = 0;
        for (j, frame) in (0..BATCH).zip(frames) {
            let (addr, port) = self.right_and_new(&row, frame, words.at(j))?;
            flows.learned(j, addr, port);
            open |= row.open_diff(frame);
        }
        Some(open != 0)
    }

    /// Returns the fields of a right frame that differ from the sent ones where an RFC permits it.
    pub fn open(&self, frame: &[u8]) -> Open {
        by_head!(self.layout.head(), self.open_in(frame))
    }

    fn open_in<const HEAD: usize>(&self, frame: &[u8]) -> Open {
        let Some(head) = self.head::<HEAD>(frame) else { return Open::default() };
        let row = self.row::<HEAD>(self.hops_in::<HEAD>(head));
        Open {
            traffic_class: row.differs(head, true, |bits| bits.class),
            flow_label: row.differs(head, true, |bits| bits.label),
            dont_fragment: row.differs(head, true, |bits| bits.df),
        }
    }

    /// IPv4 addresses and identification of a frame with clear DF, for which it must differ from
    /// frame to frame (RFC 6864, section 4.3).
    #[inline(always)]
    pub fn identification(&self, frame: &[u8]) -> Option<(u64, u16)> {
        let ip = frame.get(self.tag_at() - header::UDP - header::IPV4..)?;
        let is_meant = !matches!(self.layout, Layout::Ipv6(_)) && ip.len() >= header::IPV4 && ip[6] & 0x40 == 0;
        is_meant.then(|| (word(ip, 12), be16(ip, 4)))
    }

    /// Compares a frame with its flow's values.
    ///
    /// # Errors
    /// The first mismatch, in the order of [`Mismatch`].
    #[inline]
    pub fn check(&self, frame: &[u8], values: &Values) -> Result<(), Mismatch> {
        let words = values.words(self.fields, &self.layout);
        by_head!(self.layout.head(), self.check_in(frame, &words)).map(|_| ())
    }

    /// As [`Self::check`], with a [`Batch`]'s words; returns the hop limits.
    ///
    /// # Errors
    /// As [`Self::check`].
    #[inline]
    pub fn check_words(&self, frame: &[u8], words: &Words, j: usize) -> Result<Hops, Mismatch> {
        by_head!(self.layout.head(), self.check_in(frame, &words.at(j)))
    }

    #[inline(always)]
    fn check_in<const HEAD: usize>(&self, frame: &[u8], words: &FrameWords) -> Result<Hops, Mismatch> {
        let Some(head) = self.head::<HEAD>(frame) else {
            return Err(self.wrong_length(frame, |shorter| self.check_in::<HEAD>(shorter, words).is_ok()));
        };
        let hops = self.hops_in::<HEAD>(head);
        if self.row::<HEAD>(hops).right(frame, words) {
            return Ok(hops);
        }
        Err(self.explain::<HEAD>(frame, words, false))
    }

    /// As [`Self::check`] in phase 1: returns outside address and port.
    ///
    /// # Errors
    /// As [`Self::check`]; [`Mismatch::Pool`] for those that the DUT must not use.
    #[inline]
    pub fn learn(&self, frame: &[u8], values: &Values) -> Result<(u32, u16), Mismatch> {
        let words = values.learned(0, 0).words(self.fields, &self.layout);
        by_head!(self.layout.head(), self.learn_in(frame, words)).map(|(addr, port, _)| (addr, port))
    }

    /// As [`Self::learn`], with a [`Batch`]'s words; returns the hop limits, too.
    ///
    /// # Errors
    /// As [`Self::learn`].
    #[inline]
    pub fn learn_words(&self, frame: &[u8], words: &Words, j: usize) -> Result<(u32, u16, Hops), Mismatch> {
        by_head!(self.layout.head(), self.learn_in(frame, words.at(j)))
    }

    #[inline(always)]
    fn learn_in<const HEAD: usize>(&self, frame: &[u8], mut words: FrameWords) -> Result<(u32, u16, Hops), Mismatch> {
        let Some(head) = self.head::<HEAD>(frame) else {
            return Err(self.wrong_length(frame, |shorter| self.learn_in::<HEAD>(shorter, words).is_ok()));
        };
        let hops = self.hops_in::<HEAD>(head);
        if let Some((addr, port)) = self.right_and_new(&self.row::<HEAD>(hops), frame, words) {
            return Ok((addr, port, hops));
        }
        self.fill_outer(head, &mut words);
        Err(self.explain::<HEAD>(frame, &words, true))
    }

    #[inline(always)]
    fn right_and_new<const HEAD: usize>(
        &self,
        row: &FrameRow<'_, HEAD>,
        frame: &[u8],
        mut words: FrameWords,
    ) -> Option<(u32, u16)> {
        let head = row.head(frame)?;
        let (addr, port) = self.outer_seen(head);
        self.fill_outer(head, &mut words);
        (row.right(frame, &words) && self.in_pool::<HEAD>(addr, port)).then_some((addr, port))
    }

    /// Constant octets of correct frames with these hop limits.
    #[inline(always)]
    fn row<const HEAD: usize>(&self, hops: Hops) -> FrameRow<'_, HEAD> {
        let [first, second] = self.headers;
        let (ttl, outer) = (hops as u8, (hops >> 8) as u8);
        let tunnel = At::<HEAD>::HAS6 && At::<HEAD>::HAS4;
        FrameRow {
            len: self.len,
            to: self.to,
            first: first.with_hop(if tunnel { outer } else { ttl }, At::<HEAD>::FIRST),
            second: second.with_hop(ttl, At::<HEAD>::SECOND),
            udp_len: self.udp_len,
            udp_sum: self.udp_sum,
            tail: &self.tail,
        }
    }

    #[inline(always)]
    fn fill_outer<const HEAD: usize>(&self, head: &[u8; HEAD], words: &mut FrameWords) {
        words.addresses |= word(head, At::<HEAD>::ENDS4) & self.outer_bits.0;
        words.ports |= half(head, At::<HEAD>::UDP) & self.outer_bits.1;
        if At::<HEAD>::HAS6
            && let Some(end) = self.outer_end
        {
            // For a learned address, the sum contains zeros.
            let low = be32(head, low_at(end));
            words.ends[end] = words.ends[end].with_low(low);
            words.end_sum += u64::from(low.to_be());
        }
    }

    #[inline(always)]
    fn head<'f, const HEAD: usize>(&self, frame: &'f [u8]) -> Option<&'f [u8; HEAD]> {
        if frame.len() == self.len { frame.first_chunk() } else { None }
    }

    /// Arbitrary if the frame has none.
    #[inline(always)]
    fn outer_seen<const HEAD: usize>(&self, head: &[u8; HEAD]) -> (u32, u16) {
        let f = &self.fields;
        let (ends, ports) = (At::<HEAD>::ENDS4, At::<HEAD>::UDP);
        let addr = match (At::<HEAD>::HAS4, f.src.is_outer()) {
            (false, _) => self.outer_end.map_or(0, |end| be32(head, low_at(end))),
            (true, true) => be32(head, ends),
            (true, false) => be32(head, ends + 4),
        };
        let port = if f.src_port.is_outer() { be16(head, ports) } else { be16(head, ports + 2) };
        (addr, port)
    }

    #[inline(always)]
    fn in_pool<const HEAD: usize>(&self, addr: u32, port: u16) -> bool {
        match &self.outer {
            Some(r) => {
                let unseen = !At::<HEAD>::HAS4 && self.outer_end.is_none();
                let further = || self.also.iter().any(|range| range.contains(addr.into()));
                let addr_in = unseen || addr & self.clear == 0 && (r.addrs.contains(addr.into()) || further());
                addr_in && r.ports.contains(port) && self.set.contains(port)
            }
            None => true,
        }
    }

    #[cold]
    fn wrong_length(&self, frame: &[u8], is_right: impl Fn(&[u8]) -> bool) -> Mismatch {
        let start = frame.get(..self.len).filter(|start| start.len() < frame.len());
        if start.is_some_and(is_right) { Mismatch::Trailer } else { Mismatch::Length }
    }

    #[cold]
    fn explain<const HEAD: usize>(&self, frame: &[u8], words: &FrameWords, learning: bool) -> Mismatch {
        let Some(head) = self.head::<HEAD>(frame) else { return Mismatch::Length };
        let row = self.row::<HEAD>(self.hops_in::<HEAD>(head));
        let (addr, port) = self.outer_seen(head);
        if row.addresses_diff(head, words) != 0 {
            Mismatch::Address
        } else if half(head, At::<HEAD>::UDP) != words.ports {
            Mismatch::Port
        } else if learning && !self.in_pool::<HEAD>(addr, port) {
            Mismatch::Pool
        } else if row.destination_diff(head) != 0 {
            Mismatch::Mac
        } else if row.differs(head, false, |bits| bits.others) || row.ports_and_len_diff(head, words.ports) != 0 {
            Mismatch::Header
        } else if row.differs(head, false, |bits| bits.class.or(bits.label)) {
            Mismatch::TrafficClass
        } else if row.differs(head, false, |bits| bits.df) {
            Mismatch::Identification
        } else if !row.tail_right(frame) {
            Mismatch::Payload
        } else {
            Mismatch::Checksum
        }
    }
}

/// Constant octets of these headers: of the first IP header with EtherType, and of an inner IPv4
/// header.
fn headers(b: &[u8], sent: &Layout, received: &Layout) -> [Constant; 2] {
    let none = Constant::default();
    match (sent, received) {
        (Layout::Ipv6(_), Layout::Ipv4) => {
            let first = Constant::of(
                b,
                At::<{ crate::layout::IPV4 }>::FIRST,
                IPV4_FIRST.all(),
                IPV4_FIRST.class.or(IPV4_FIRST.df),
            );
            [first.with(df_of_translated(b.len())), none]
        }
        (_, Layout::Ipv4) => {
            [Constant::of(b, At::<{ crate::layout::IPV4 }>::FIRST, IPV4_FIRST.all(), IPV4_FIRST.class), none]
        }
        (sent, Layout::Ipv6(_)) => {
            let class = IPV6_FIRST.class;
            let open = if *sent == Layout::Ipv4 { class } else { class.or(IPV6_FIRST.label) };
            [Constant::of(b, At::<{ crate::layout::IPV6 }>::FIRST, IPV6_FIRST.all(), open), none]
        }
        (_, Layout::Tunnel(_)) => {
            let open = IPV6_FIRST.class.or(IPV6_FIRST.label);
            [
                Constant::of(b, At::<{ crate::layout::TUNNEL }>::FIRST, IPV6_FIRST.all(), open),
                Constant::of(b, At::<{ crate::layout::TUNNEL }>::SECOND, IPV4_SECOND.all(), IPV4_SECOND.class),
            ]
        }
    }
}

/// DF of a frame of this length behind a translator (RFC 7915, section 5.1).
fn df_of_translated(len: usize) -> Bits {
    const MAY_BE_CUT: usize = 1260;
    if len - header::ETH > MAY_BE_CUT { IPV4_FIRST.df } else { Bits::default() }
}

/// Lowest 32 bits of an IPv6 source, or else destination.
const fn low_at(end: usize) -> usize {
    crate::layout::ENDS6.start + 16 * end + 12
}

const HOP_LIMIT_AT: usize = header::ETH + 7;

#[cfg(test)]
mod tests;
