//! Fragments (RFC 4787, REQ-13 and 14): later fragments have no ports, so the NAT applies its
//! decision about the first; those before the first wait. In later fragments only addresses, TTL
//! and header checksum change.

use super::Nat44;
use super::config::FragmentLimits;
use super::counters::Event;
use super::rewrite::{End, L3, address};
use crate::fragment::{Bounds, Fit, Key, Tracker};
use crate::fragment_v4::Cut;
use crate::function::{Followers, Packet, Side, Spare, Verdict, fresh};
use crate::ip4::Head4;
use crate::original_id::{self, identify};
use wire::header::{TCP, be16, be32};

pub(super) type Fragments = Tracker<Key, Datagram>;

/// What became of the first fragment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Fate {
    #[default]
    Unknown,
    /// Fragments go to these addresses, with this verdict.
    Translated {
        src: u32,
        dst: u32,
        verdict: Verdict,
    },
    Elsewhere(u16),
    Dropped,
    /// Fragments overlapped: the rest is dropped.
    GivenUp,
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Datagram {
    fate: Fate,
    /// Identification of translated fragments, if drawn here.
    identification: Option<u16>,
}

impl From<&FragmentLimits> for Bounds {
    fn from(l: &FragmentLimits) -> Bounds {
        Bounds {
            datagrams: l.datagrams.into(),
            fragments: l.held.into(),
            octets: usize::MAX,
            lifetime: l.lifetime.as_nanos() as u64,
        }
    }
}

impl Nat44 {
    #[inline]
    pub(super) fn expire_fragments(&mut self) {
        if !self.fragments.is_empty() {
            let lost = self.fragments.expire(self.now);
            self.count.add_many(Event::FragmentLate, lost);
        }
    }

    /// With several workers, a hash selects one that collects a datagram's fragments and learns
    /// from the first which worker owns the flow; `settled` says that this has happened.
    pub(super) fn fragment<P: Packet>(
        &mut self,
        from: Side,
        p: &mut P,
        head: &Head4,
        settled: bool,
        spare: &mut dyn Spare<P>,
    ) -> Result<Verdict, Event> {
        // Offset 1 would let the second fragment rewrite the first's TCP flags (RFC 1858, section 4).
        if (head.protocol == TCP && head.offset == 8) || (head.more && !(head.end - head.l4).is_multiple_of(8)) {
            return Err(Event::TinyFragment);
        }
        // All packets of a numbered customer arrive at one worker.
        let together = from == Side::Customer && self.config.numbered.is_some();
        let key = head.key(u128::from(from == Side::Internet));
        if !settled
            && !together
            && let Some(worker) = self.fragment_worker(&key)
        {
            return Ok(self.hand_over(worker));
        }
        self.fragments.open(self.now, key);
        self.count_displaced();
        let Some(datagram) = self.fragments.get(&key) else { return Err(Event::FragmentStore) };
        let fate = datagram.fate;
        // The same for all fragments, and no other datagram of this outside address has it (RFC
        // 6864, section 4.3; RFC 7857, section 10).
        if from == Side::Customer && !settled {
            let draw = || self.identifications.draw();
            identify(p.bytes_mut(), *datagram.identification.get_or_insert_with(draw));
        }
        if fate == Fate::GivenUp {
            return Err(Event::FragmentOverlap);
        }
        let complete = match self.fragments.cover(&key, head.piece()) {
            Fit::New => false,
            Fit::Complete => true,
            // So that a receiver never sees the same octets twice.
            Fit::Again => return Err(Event::FragmentAgain),
            Fit::Scattered => return Err(Event::FragmentStore),
            // Overlaps look different to different receivers (RFC 3128, section 3; RFC 5722, section 4).
            Fit::Overlap => {
                let lost = self.fragments.take_kept(&key).len() as u64;
                self.settle(&key, Fate::GivenUp);
                self.count.add_many(Event::FragmentOverlap, lost);
                return Err(Event::FragmentOverlap);
            }
        };
        let result = if head.offset == 0 {
            self.first(from, p, head, &key, settled, spare)
        } else {
            self.later(p, head, &key, spare)
        };
        // Others wait for the first.
        if complete && self.fate(&key) != Fate::Unknown {
            self.fragments.forget(&key);
        }
        result
    }

    fn fate(&mut self, key: &Key) -> Fate {
        self.fragments.get(key).map(|d| d.fate).unwrap_or_default()
    }

    fn settle(&mut self, key: &Key, fate: Fate) {
        if let Some(d) = self.fragments.get(key) {
            d.fate = fate;
        }
        self.fragments.set_sent(key, matches!(fate, Fate::Translated { .. } | Fate::Elsewhere(_)));
    }

    fn count_displaced(&mut self) {
        let lost = self.fragments.take_lost();
        self.count.add_many(Event::FragmentStore, lost);
    }

    fn first<P: Packet>(
        &mut self,
        from: Side,
        p: &mut P,
        head: &Head4,
        key: &Key,
        settled: bool,
        spare: &mut dyn Spare<P>,
    ) -> Result<Verdict, Event> {
        let result = self.translate(from, p, head);
        if let Ok(v) = result {
            self.tell_inside(p.bytes_mut(), v, head.id);
        }
        let b = p.bytes();
        let fate = match result {
            // The second half of a hairpin is marked already.
            Ok(Verdict::HandOver(w)) if (be32(b, L3 + 12), be32(b, L3 + 16)) == (head.src, head.dst) && !settled => {
                self.set_mark(p.bytes_mut());
                Fate::Elsewhere(w)
            }
            Ok(verdict) => {
                let (src, dst) = (be32(b, L3 + 12), be32(b, L3 + 16));
                Fate::Translated { src, dst, verdict }
            }
            Err(_) => Fate::Dropped,
        };
        self.settle(key, fate);
        // Before the later ones.
        let result = result.and_then(|v| self.cut(p, v, spare));
        self.let_go(from, key, spare);
        result
    }

    fn later<P: Packet>(
        &mut self,
        p: &mut P,
        head: &Head4,
        key: &Key,
        spare: &mut dyn Spare<P>,
    ) -> Result<Verdict, Event> {
        match self.fate(key) {
            Fate::Dropped | Fate::GivenUp => Err(Event::FragmentOrphan),
            Fate::Unknown => {
                let kept = self.fragments.keep(key, head.offset, p.bytes().to_vec());
                self.count_displaced();
                if !kept {
                    return Err(Event::FragmentStore);
                }
                // Sent when the first has arrived.
                self.count.add(Event::FragmentHeld);
                Ok(Verdict::Held)
            }
            Fate::Elsewhere(w) => {
                self.set_mark(p.bytes_mut());
                Ok(self.hand_over(w))
            }
            Fate::Translated { src, dst, verdict } => {
                if let Verdict::Forward(to) = verdict {
                    self.fits(head, to)?;
                }
                let v = self.follow(p, src, dst, verdict);
                self.tell_inside(p.bytes_mut(), v, head.id);
                self.cut(p, v, spare)
            }
        }
    }

    fn follow<P: Packet>(&mut self, p: &mut P, src: u32, dst: u32, verdict: Verdict) -> Verdict {
        address(p.bytes_mut(), L3, End::Source, src);
        address(p.bytes_mut(), L3, End::Destination, dst);
        match verdict {
            Verdict::Forward(Side::Internet) => self.depart(p, Side::Internet, Event::In2Out),
            Verdict::Forward(Side::Customer) => self.depart(p, Side::Customer, Event::Out2In),
            Verdict::HandOver(w) => {
                self.set_mark(p.bytes_mut());
                self.hand_over(w)
            }
            other => other,
        }
    }

    fn let_go<P: Packet>(&mut self, from: Side, key: &Key, spare: &mut dyn Spare<P>) {
        for kept in self.fragments.take_kept(key) {
            self.let_one_go(from, key, &kept.bytes, spare);
        }
    }

    fn let_one_go<P: Packet>(&mut self, from: Side, key: &Key, bytes: &[u8], spare: &mut dyn Spare<P>) {
        let fate = self.fate(key);
        if matches!(fate, Fate::Dropped | Fate::GivenUp | Fate::Unknown) {
            self.count.add(Event::FragmentOrphan);
            return;
        }
        let Some(mut p) = spare.fresh(bytes.len()).filter(|p| p.bytes().len() == bytes.len()) else {
            self.count.add(Event::NoMemory);
            return;
        };
        p.bytes_mut().copy_from_slice(bytes);
        let verdict = match fate {
            Fate::Translated { src, dst, verdict } => self.follow(&mut p, src, dst, verdict),
            Fate::Elsewhere(w) => {
                self.set_mark(p.bytes_mut());
                self.hand_over(w)
            }
            Fate::Dropped | Fate::GivenUp | Fate::Unknown => return,
        };
        self.tell_inside(p.bytes_mut(), verdict, key.id);
        let mut behind = Followers::new(spare);
        match self.cut(&mut p, verdict, &mut behind) {
            Ok(verdict) => behind.send(verdict, from, p),
            Err(why) => self.count.add(why),
        }
    }

    /// Unique among customers of its outside address. Needed if the packet is fragmented here, or
    /// if other gateways use the address: a later router may fragment it (RFC 7597, section 8.3.3;
    /// RFC 7599, section 10.3).
    pub(super) fn identify_whole(&mut self, from: Side, b: &mut [u8], head: &Head4, v: Verdict) {
        let Verdict::Forward(to) = v else { return };
        let leaves = self.shared && to == Side::Internet;
        if from == Side::Customer && !head.df && (leaves || head.total() > self.mtu(to)) {
            let old = identify(b, self.identifications.draw());
            self.tell_inside(b, v, old);
        }
    }

    /// Tells the original identification to the next half, which may have to quote it. Unknown if
    /// another worker has drawn the new one; errors then quote that.
    fn tell_inside(&self, b: &mut [u8], v: Verdict, identification: u16) {
        if self.behind_is_a_half && v == Verdict::Forward(Side::Internet) {
            original_id::keep(b, identification);
        }
    }

    /// The worker of the fragment, unless it is this one.
    fn fragment_worker(&self, key: &Key) -> Option<u16> {
        if self.workers.is_alone() {
            return None;
        }
        let w = key.worker(self.workers.count as u16);
        (u32::from(w) != self.workers.own).then_some(w)
    }

    /// The packet becomes the first fragment, the others are emitted after it (RFC 791, section 3.2).
    pub(super) fn cut<P: Packet>(&mut self, p: &mut P, v: Verdict, spare: &mut dyn Spare<P>) -> Result<Verdict, Event> {
        let Verdict::Forward(to) = v else { return Ok(v) };
        let mtu = self.mtu(to);
        let b = &p.bytes()[L3..];
        if usize::from(be16(b, 2)) <= mtu {
            return Ok(v);
        }
        let may = be16(b, 6) & 0x4000 == 0;
        let cut = Cut::of(b, mtu).filter(|_| may).ok_or(Event::TooBig)?;
        for part in cut.rest() {
            let mut q = fresh(spare, L3 + cut.len(&part)).ok_or(Event::NoMemory)?;
            let (b, o) = (p.bytes(), q.bytes_mut());
            o[..L3].copy_from_slice(&b[..L3]);
            cut.write(&b[L3..], &part, &mut o[L3..]);
            spare.emit(to, q);
        }
        let first = cut.first(&mut p.bytes_mut()[L3..]);
        p.set_len(L3 + first);
        self.count.add(Event::Fragmented);
        Ok(v)
    }
}
