//! The receive ring of a packet socket (`TPACKET_V2`).

use crate::sys::Mapping;
use libc::tpacket2_hdr;
use std::io;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

/// A multiple of every page size, in bytes.
const BLOCK: usize = 64 << 10;
/// Bytes of `struct virtio_net_hdr`, directly in front of a frame.
pub(super) const OFFLOADS: usize = 10;
/// Largest offset of a frame in its slot: the kernel's header, an address, and the Ethernet header,
/// aligned for its payload and shifted by the offload header.
const FRONT: usize = 80 + OFFLOADS;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    /// Bytes, the kernel's headers included.
    pub slot: usize,
    /// Blocks of [`BLOCK`] bytes, whose ends no slot crosses.
    pub blocks: usize,
}

impl Shape {
    /// A ring of at least `frames` slots of `largest` bytes.
    pub(super) fn new(frames: usize, largest: usize) -> Shape {
        // An odd number of cache lines spreads slots over all cache sets.
        let slot = ((FRONT + largest).div_ceil(64) | 1) * 64;
        Shape { slot, blocks: frames.div_ceil(BLOCK / slot).max(1) }
    }
    fn per_block(self) -> usize {
        BLOCK / self.slot
    }
    pub(super) fn slots(self) -> usize {
        self.per_block() * self.blocks
    }
    pub(super) fn bytes(self) -> usize {
        BLOCK * self.blocks
    }
    pub(super) fn request(self) -> libc::tpacket_req {
        libc::tpacket_req {
            tp_block_size: BLOCK as u32,
            tp_block_nr: self.blocks as u32,
            tp_frame_size: self.slot as u32,
            tp_frame_nr: self.slots() as u32,
        }
    }
}

pub(super) struct Ring {
    memory: Mapping,
    shape: Shape,
    block: usize,
    slot: usize,
}

#[derive(Debug)]
pub(super) struct FilledBlock<'a> {
    bytes: &'a [u8],
    /// `struct virtio_net_hdr`.
    offloads: [u8; OFFLOADS],
    /// Length on the wire, above that of the data if the frame was truncated.
    wire_len: usize,
    vlan: Option<[u8; 4]>,
    /// Receive time, in nanoseconds since 1970.
    pub nanos: u64,
}

impl Ring {
    pub(super) fn new(memory: Mapping, shape: Shape) -> Ring {
        assert!(memory.len() >= shape.bytes());
        Ring { memory, shape, block: 0, slot: 0 }
    }

    #[inline]
    pub(super) fn peek(&self) -> io::Result<Option<FilledBlock<'_>>> {
        let status = self.status().load(Ordering::Acquire);
        if status & libc::TP_STATUS_USER == 0 {
            return Ok(None);
        }
        // SAFETY: the slot lies inside the mapping (see `at`) and is aligned to 16 bytes. An
        // acquiring load has seen TP_STATUS_USER, so the slot is ours until `release`, which needs
        // `&mut self` and so ends this borrow.
        let slot = unsafe { std::slice::from_raw_parts(self.at().as_ptr().cast(), self.shape.slot) };
        // SAFETY: as above; the header is at the start of the slot and consists of integers.
        let header = unsafe { self.at().read() };
        let (start, len) = (header.tp_mac as usize, header.tp_snaplen as usize);
        let parts =
            start.checked_sub(OFFLOADS).and_then(|o| Some((slot.get(o..start)?, slot.get(start..start + len)?)));
        let Some((offloads, bytes)) = parts else {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "a frame lies outside its slot"));
        };
        let vlan = (status & libc::TP_STATUS_VLAN_VALID != 0).then(|| {
            let known = status & libc::TP_STATUS_VLAN_TPID_VALID != 0;
            let [a, b] = (if known { header.tp_vlan_tpid } else { 0x8100 }).to_be_bytes();
            let [c, d] = header.tp_vlan_tci.to_be_bytes();
            [a, b, c, d]
        });
        Ok(Some(FilledBlock {
            bytes,
            offloads: offloads.try_into().unwrap_or_default(),
            wire_len: header.tp_len as usize,
            vlan,
            nanos: header.tp_sec as u64 * 1_000_000_000 + header.tp_nsec as u64,
        }))
    }

    #[inline]
    pub(super) fn release(&mut self) {
        self.status().store(libc::TP_STATUS_KERNEL, Ordering::Release);
        self.slot += 1;
        if self.slot == self.shape.per_block() {
            self.slot = 0;
            self.block += 1;
            if self.block == self.shape.blocks {
                self.block = 0;
            }
        }
    }

    fn at(&self) -> NonNull<tpacket2_hdr> {
        self.slot_at(self.block, self.slot)
    }

    fn slot_at(&self, block: usize, slot: usize) -> NonNull<tpacket2_hdr> {
        debug_assert!(block < self.shape.blocks && slot < self.shape.per_block());
        // SAFETY: block < blocks and slot < per_block, so the slot ends inside the mapping, whose length `new` checked.
        unsafe { self.memory.base().cast::<tpacket2_hdr>().byte_add(block * BLOCK + slot * self.shape.slot) }
    }

    fn status(&self) -> &AtomicU32 {
        // SAFETY: the status is the first field of the header, aligned, inside the mapping, and both sides access it
        // atomically only.
        unsafe { AtomicU32::from_ptr(self.at().as_ptr().cast()) }
    }
}

impl FilledBlock<'_> {
    /// Writes the frame as on the wire. Returns its length; `None` if it is truncated, a
    /// super-frame, or does not fit.
    #[inline]
    pub(super) fn write_to(&self, room: &mut [u8]) -> Option<usize> {
        let [flags, segmentation, ..] = self.offloads;
        if self.bytes.len() != self.wire_len || segmentation != 0 {
            return None;
        }
        let shift = if let Some(tag) = self.vlan {
            let (addresses, rest) = self.bytes.split_at_checked(12)?;
            room.get_mut(..12)?.copy_from_slice(addresses);
            room.get_mut(12..16)?.copy_from_slice(&tag);
            room.get_mut(16..16 + rest.len())?.copy_from_slice(rest);
            4
        } else {
            room.get_mut(..self.bytes.len())?.copy_from_slice(self.bytes);
            0
        };
        let len = self.bytes.len() + shift;
        if flags & NEEDS_CHECKSUM != 0 {
            let word = |at: usize| u16::from_ne_bytes([self.offloads[at], self.offloads[at + 1]]) as usize;
            finish_checksum(room.get_mut(shift + word(6)..len)?, word(8))?;
        }
        Some(len)
    }
}

/// `VIRTIO_NET_HDR_F_NEEDS_CSUM`
const NEEDS_CHECKSUM: u8 = 1;

/// Writes the complement of the sum to the end to `field`, which holds the sum over the pseudo header.
#[cold]
fn finish_checksum(covered: &mut [u8], field: usize) -> Option<()> {
    let mut sum: u64 = 0;
    for pair in covered.chunks(2) {
        sum += u16::from_be_bytes([pair[0], pair.get(1).copied().unwrap_or(0)]) as u64;
    }
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    // Zero means "no checksum" in UDP (RFC 768).
    let value = if sum == 0xffff { 0xffff } else { !(sum as u16) };
    covered.get_mut(field..field + 2)?.copy_from_slice(&value.to_be_bytes());
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Plays the kernel: puts a frame into slot `i`.
    fn put(ring: &Ring, i: usize, status: u32, bytes: &[u8], offloads: [u8; OFFLOADS]) {
        let (block, slot) = (i / ring.shape.per_block(), i % ring.shape.per_block());
        let start = 76;
        let header = tpacket2_hdr {
            tp_status: 0,
            tp_len: bytes.len() as u32,
            tp_snaplen: bytes.len() as u32,
            tp_mac: start as u16,
            tp_net: 90,
            tp_sec: 5,
            tp_nsec: i as u32,
            tp_vlan_tci: 0x0064,
            tp_vlan_tpid: 0x88a8,
            tp_padding: [0; 4],
        };
        // SAFETY: the slot is inside the mapping, and the ring does not read it until its status is set below.
        unsafe {
            let at = ring.slot_at(block, slot);
            at.write(header);
            at.cast::<u8>().add(start - OFFLOADS).as_ptr().copy_from(offloads.as_ptr(), OFFLOADS);
            at.cast::<u8>().add(start).as_ptr().copy_from(bytes.as_ptr(), bytes.len());
            AtomicU32::from_ptr(at.as_ptr().cast()).store(status, Ordering::Release);
        }
    }

    fn ring(frames: usize) -> Ring {
        let shape = Shape::new(frames, 1518);
        Ring::new(Mapping::anonymous(shape.bytes()).unwrap(), shape)
    }

    fn take(ring: &mut Ring) -> Option<(u64, Option<Vec<u8>>)> {
        let mut room = [0; 2048];
        let waiting = ring.peek().unwrap()?;
        let taken = (waiting.nanos, waiting.write_to(&mut room).map(|n| room[..n].to_vec()));
        ring.release();
        Some(taken)
    }

    #[test]
    fn frames_come_in_order_across_blocks_and_around_the_end() {
        let mut ring = ring(80);
        let slots = ring.shape.slots();
        assert!(slots >= 80 && ring.shape.blocks > 1);
        for i in 0..3 * slots {
            assert!(take(&mut ring).is_none());
            put(&ring, i % slots, libc::TP_STATUS_USER, &[i as u8; 60], [0; OFFLOADS]);
            let nanos = 5_000_000_000 + (i % slots) as u64;
            assert_eq!(take(&mut ring), Some((nanos, Some(vec![i as u8; 60]))));
        }
    }

    #[test]
    fn a_vlan_tag_goes_back_where_it_was() {
        let mut ring = ring(1);
        let status = libc::TP_STATUS_USER | libc::TP_STATUS_VLAN_VALID | libc::TP_STATUS_VLAN_TPID_VALID;
        let frame: Vec<u8> = (0..60).collect();
        put(&ring, 0, status, &frame, [0; OFFLOADS]);
        let (_, got) = take(&mut ring).unwrap();
        assert_eq!(got.unwrap(), [&frame[..12], &[0x88, 0xa8, 0, 0x64], &frame[12..]].concat());
    }

    #[test]
    fn a_checksum_left_to_hardware_is_finished() {
        let mut ring = ring(1);
        // RFC 1071, section 3: the sum of the words 0001 f203 f4f5 f6f7 is ddf2, and its complement is 220d.
        let mut frame = vec![0; 14];
        frame.extend([0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7, 0, 0]);
        let mut offloads = [0; OFFLOADS];
        offloads[0] = NEEDS_CHECKSUM;
        offloads[6..8].copy_from_slice(&14u16.to_ne_bytes());
        offloads[8..10].copy_from_slice(&8u16.to_ne_bytes());
        put(&ring, 0, libc::TP_STATUS_USER, &frame, offloads);
        let got = take(&mut ring).unwrap().1.unwrap();
        assert_eq!(got[22..24], [0x22, 0x0d]);
    }

    #[test]
    fn what_was_never_a_frame_on_the_wire_is_refused() {
        let mut ring = ring(2);
        let segments = [0, 1, 0, 0, 0, 0, 0, 0, 0, 0];
        put(&ring, 0, libc::TP_STATUS_USER, &[1; 60], segments);
        assert_eq!(take(&mut ring).unwrap().1, None);
        put(&ring, 1, libc::TP_STATUS_USER, &[1; 60], [0; OFFLOADS]);
        let small = &mut [0; 59];
        assert_eq!(ring.peek().unwrap().unwrap().write_to(small), None);
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(if cfg!(miri) { 5 } else { 500 }) })]

        /// Whatever octets a slot holds, the ring reads nothing outside of the slot and does not panic.
        #[test]
        fn any_slot_is_a_frame_or_an_error(
            header: [u8; size_of::<tpacket2_hdr>()],
            status: u32,
            start in 0..2048u16,
            len in prop_oneof![0..4096u32, any::<u32>()],
            same: bool,
            room in 0..2048usize,
        ) {
            let mut ring = ring(1);
            // SAFETY: the slot is inside the mapping and longer than a header, which consists of integers; no reference
            // to it exists.
            let header = unsafe {
                let at = ring.slot_at(0, 0);
                at.cast::<u8>().as_ptr().copy_from(header.as_ptr(), header.len());
                &mut *at.as_ptr()
            };
            (header.tp_mac, header.tp_snaplen, header.tp_status) = (start, len, status | libc::TP_STATUS_USER);
            header.tp_len = if same { len } else { header.tp_len };
            let mut room = vec![0; room];
            if let Ok(Some(waiting)) = ring.peek()
                && let Some(n) = waiting.write_to(&mut room)
            {
                prop_assert!(n <= room.len());
            }
            ring.release();
        }
    }
}
