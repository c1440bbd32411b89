//! One VLAN of a link (IEEE 802.1Q), or one within another (IEEE 802.1ad). Drops and counts other frames.

use crate::{Burst, Counters, Pool, Port, PortError, PortFacts, Sent};
use arena::Packet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The tags of a VLAN, with priority 0, as in frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tags {
    octets: [u8; 2 * LEN],
    /// Octets of the tags.
    len: usize,
}

const AT: usize = 12;
/// Type, then priority (3 bits), drop eligibility (1 bit) and VLAN identifier.
const LEN: usize = 4;
/// Octets that priority and drop eligibility do not change.
const MASK: [u8; LEN] = [0xff, 0xff, 0x0f, 0xff];
const CUSTOMER: u16 = 0x8100;
const PROVIDER: u16 = 0x88a8;
const RESERVED: u16 = 0x0fff;
/// Minimum frame length in octets, without tag and FCS.
const SHORTEST: usize = 60;

impl Tags {
    /// The tags of the VLAN `id`, within the VLAN `outer` if any. `None` for 0 (no VLAN) and 4095 (reserved).
    pub fn new(outer: Option<u16>, id: u16) -> Option<Tags> {
        let mut octets = [0; 2 * LEN];
        let mut len = 0;
        for (kind, id) in outer.map(|id| (PROVIDER, id)).into_iter().chain([(CUSTOMER, id)]) {
            if !(1..RESERVED).contains(&id) {
                return None;
            }
            octets[len..len + 2].copy_from_slice(&kind.to_be_bytes());
            octets[len + 2..len + LEN].copy_from_slice(&id.to_be_bytes());
            len += LEN;
        }
        Some(Tags { octets, len })
    }

    /// Removes the tags, padding with zeros. False, and unchanged, if the frame is not of this VLAN.
    pub fn take_off<P: Packet>(self, frame: &mut P) -> bool {
        let b = frame.bytes();
        let mut pairs = self.octets[..self.len].iter().zip(MASK.iter().cycle());
        let ours = b.len() >= AT + self.len + 2
            && b[AT..].iter().zip(&mut pairs).all(|(got, (wanted, mask))| got & mask == *wanted);
        if ours {
            self.strip(frame);
            let len = frame.bytes().len();
            if len < SHORTEST && frame.set_len(SHORTEST) {
                frame.bytes_mut()[len..].fill(0);
            }
        }
        ours
    }

    /// Adds the tags. False, and unchanged, without room in front.
    pub fn put_on<P: Packet>(self, frame: &mut P) -> bool {
        if frame.bytes().len() < AT || !frame.grow_front(self.len) {
            return false;
        }
        let b = frame.bytes_mut();
        b.copy_within(self.len..self.len + AT, 0);
        b[AT..AT + self.len].copy_from_slice(&self.octets[..self.len]);
        true
    }

    fn strip<P: Packet>(self, frame: &mut P) {
        frame.bytes_mut().copy_within(..AT, self.len);
        frame.shrink_front(self.len);
    }
}

/// A port in one VLAN.
pub struct Vlan<P> {
    port: P,
    tags: Tags,
    ignored: u64,
    no_room: u64,
    all_ignored: Arc<AtomicU64>,
}

impl<P: Port> Vlan<P> {
    /// A port for the VLAN of `tags`; `ignored` counts other frames.
    pub fn new(port: P, tags: Tags, ignored: Arc<AtomicU64>) -> Vlan<P> {
        Vlan { port, tags, ignored: 0, no_room: 0, all_ignored: ignored }
    }
}

/// Keeps some of the frames from `first` on; returns how many were freed.
fn retain(pool: &mut Pool, burst: &mut Burst, first: usize, mut keep: impl FnMut(&mut crate::Frame) -> bool) -> u64 {
    let mut kept = first;
    for i in first..burst.len() {
        if keep(&mut burst[i]) {
            burst.swap(kept, i);
            kept += 1;
        }
    }
    let freed = burst.len() - kept;
    burst.drain(kept..).for_each(|frame| pool.free(frame));
    freed as u64
}

impl<P: Port> Port for Vlan<P> {
    fn receive(&mut self, pool: &mut Pool, into: &mut Burst) -> Result<usize, PortError> {
        let first = into.len();
        self.port.receive(pool, into)?;
        let ignored = retain(pool, into, first, |frame| self.tags.take_off(frame));
        if ignored > 0 {
            self.ignored += ignored;
            self.all_ignored.fetch_add(ignored, Ordering::Relaxed);
        }
        Ok(into.len() - first)
    }

    fn transmit(&mut self, pool: &mut Pool, burst: &mut Burst) -> Result<Sent, PortError> {
        self.no_room += retain(pool, burst, 0, |frame| self.tags.put_on(frame));
        let sent = self.port.transmit(pool, burst)?;
        // The caller may offer these again, without tag.
        for frame in burst.iter_mut() {
            self.tags.strip(frame);
        }
        Ok(sent)
    }

    fn counters(&mut self) -> Counters {
        let all = self.port.counters();
        Counters { received: all.received - self.ignored, own_drops: all.own_drops + self.no_room, ..all }
    }

    fn facts(&self) -> PortFacts {
        let facts = self.port.facts();
        let ids: Vec<String> = self.tags.octets[..self.tags.len]
            .chunks(LEN)
            .map(|tag| u16::from_be_bytes([tag[2], tag[3]]).to_string())
            .collect();
        PortFacts { mode: format!("{}, VLAN {}", facts.mode, ids.join(".")), ..facts }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::{Steer, link};
    use crate::{Clock, PoolConfig, burst};

    const ONE: &[u8] = &[0x81, 0, 0, 100];
    const TWO: &[u8] = &[0x88, 0xa8, 0, 7, 0x81, 0, 0, 100];

    /// Makes both ends of a link: the first is in VLAN 100, within this one if any; the second sees the tags.
    fn ends(
        outer: Option<u16>,
        depth: usize,
    ) -> (Pool, Vlan<crate::link::LinkPort>, crate::link::LinkPort, Arc<AtomicU64>) {
        let pool = Pool::single(PoolConfig::compact(1, 64, 200)).unwrap();
        let (mut a, mut b) = link("t", Clock::system(), depth, (1, Steer::First), (1, Steer::First));
        let ignored = Arc::new(AtomicU64::new(0));
        (pool, Vlan::new(a.remove(0), Tags::new(outer, 100).unwrap(), Arc::clone(&ignored)), b.remove(0), ignored)
    }

    fn frame(pool: &mut Pool, bytes: &[u8]) -> crate::Frame {
        let mut frame = pool.alloc(bytes.len()).unwrap();
        frame.bytes_mut().copy_from_slice(bytes);
        frame
    }

    /// A frame whose octets show their offsets, with this tag or none.
    fn bytes(tag: &[u8], len: usize) -> Vec<u8> {
        let plain: Vec<u8> = (0..len as u8).collect();
        [&plain[..AT], tag, &plain[AT..]].concat()
    }

    #[test]
    fn tags_are_put_on_and_taken_off() {
        for (len, (outer, tags)) in
            [60, 64, 150].into_iter().flat_map(|len| [(len, (None, ONE)), (len, (Some(7), TWO))])
        {
            let (mut pool, mut ours, mut wire, _) = ends(outer, 8);
            let mut frames = burst();
            frames.push(frame(&mut pool, &bytes(&[], len)));
            ours.transmit(&mut pool, &mut frames).unwrap();
            assert_eq!(wire.receive(&mut pool, &mut frames).unwrap(), 1);
            assert_eq!(frames[0].bytes(), bytes(tags, len));
            wire.transmit(&mut pool, &mut frames).unwrap();
            assert_eq!(ours.receive(&mut pool, &mut frames).unwrap(), 1);
            assert_eq!(frames[0].bytes(), bytes(&[], len));
            pool.free_all(&mut frames);
        }
    }

    /// Priority and drop eligibility do not matter; identifier 0 is a priority tag without a VLAN.
    #[test]
    fn frames_of_this_vlan_are_received_and_all_others_counted() {
        let one: [&[u8]; 7] = [
            &[0x81, 0, 0xf0, 100],
            &[],
            &[0x81, 0, 0, 101],
            &[0x81, 0, 0, 0],
            &[0x88, 0xa8, 0, 100],
            &[0x81, 0, 0x01, 100],
            ONE,
        ];
        let two: [&[u8]; 7] = [
            &[0x88, 0xa8, 0xe0, 7, 0x81, 0, 0xf0, 100],
            &[],
            &[0x88, 0xa8, 0, 7, 0x81, 0, 0, 101],
            &[0x88, 0xa8, 0, 8, 0x81, 0, 0, 100],
            &[0x81, 0, 0, 7, 0x81, 0, 0, 100],
            ONE,
            TWO,
        ];
        for (outer, tags) in [(None, one), (Some(7), two)] {
            only_its_own_are_received(outer, tags);
        }
    }

    fn only_its_own_are_received(outer: Option<u16>, tags: [&[u8]; 7]) {
        let (mut pool, mut ours, mut wire, ignored) = ends(outer, 16);
        let mut frames = burst();
        for (tag, len) in tags.into_iter().zip(60..) {
            frames.push(frame(&mut pool, &bytes(tag, len)));
        }
        frames.push(frame(&mut pool, &[0; 14]));
        wire.transmit(&mut pool, &mut frames).unwrap();
        assert_eq!(ours.receive(&mut pool, &mut frames).unwrap(), 2);
        let received: Vec<_> = frames.iter().map(|f| f.bytes().to_vec()).collect();
        assert_eq!(received, [bytes(&[], 60), bytes(&[], 66)]);
        assert_eq!((ignored.load(Ordering::Relaxed), ours.counters().received), (6, 2));
        pool.free_all(&mut frames);
        assert_eq!(pool.available(), 64);
    }

    #[test]
    fn a_short_frame_is_filled_up() {
        let (mut pool, mut ours, mut wire, _) = ends(None, 8);
        let mut frames = burst();
        frames.push(frame(&mut pool, &bytes(ONE, 56)));
        wire.transmit(&mut pool, &mut frames).unwrap();
        ours.receive(&mut pool, &mut frames).unwrap();
        assert_eq!(frames[0].bytes(), [bytes(&[], 56), vec![0; 4]].concat());
        pool.free_all(&mut frames);
    }

    #[test]
    fn what_cannot_be_sent_yet_has_no_tag() {
        let (mut pool, ours, _wire, _) = ends(None, 8);
        let mut ours = Vlan::new(Full(ours.port), ours.tags, ours.all_ignored);
        let mut frames = burst();
        frames.push(frame(&mut pool, &bytes(&[], 60)));
        assert_eq!(ours.transmit(&mut pool, &mut frames).unwrap(), Sent::default());
        assert_eq!(frames[0].bytes(), bytes(&[], 60));
        pool.free_all(&mut frames);
    }

    /// A port that accepts no frame.
    struct Full(crate::link::LinkPort);

    impl Port for Full {
        fn receive(&mut self, pool: &mut Pool, into: &mut Burst) -> Result<usize, PortError> {
            self.0.receive(pool, into)
        }
        fn transmit(&mut self, _: &mut Pool, _: &mut Burst) -> Result<Sent, PortError> {
            Ok(Sent::default())
        }
        fn counters(&mut self) -> Counters {
            self.0.counters()
        }
        fn facts(&self) -> PortFacts {
            self.0.facts()
        }
    }

    #[test]
    fn two_identifiers_are_none() {
        for tags in [|id| Tags::new(None, id), |id| Tags::new(Some(id), 1)] {
            assert_eq!([0, 1, 4094, 4095, 4096].map(|id| tags(id).is_some()), [false, true, true, false, false]);
        }
    }
}
