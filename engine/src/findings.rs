//! Counters of a receiver: each frame counts once, as right or by its fault.

use crate::first_wrong::FirstWrong;
use crate::seen::Arrivals;
use method::trial::Difference;
use method::{Example, Fault, FaultCounts};
use port::Ticks;
use wire::decode::{self, Stray};
use wire::{Expect, Hops, Mismatch};

/// Counters of one receiver.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    /// Distinct correct frames.
    pub received: u64,
    /// Reordered frames among the received ones.
    pub reordered: u64,
    /// Frames with a fault.
    pub faults: FaultCounts,
    /// Right frames with each [`Difference`] that one frame shows by itself, in the order of [`DIFFERENCES`].
    pub differences: [u64; DIFFERENCES.len()],
    /// Identifications of right frames.
    pub identifications: Identifications,
    /// The first frame of each fault.
    pub first_wrong: FirstWrong,
    /// These frames in words, once the phase has ended.
    pub examples: Vec<Example>,
    /// Connections learned.
    pub learned: u64,
    /// Hop limit of the first right frame.
    pub hop_limit: Option<u8>,
    /// Outer hop limit of the first right frame, 0 without an outer header.
    pub outer_hop_limit: u8,
    /// Right frames with other hop limits.
    pub other_hops: HopTally,
    /// Findings on native frames, with a background.
    pub native: Option<Box<Findings>>,
    /// Time spent on judging.
    pub own: Ticks,
    /// Time in back-end calls that returned frames.
    pub backend: Ticks,
}

/// Differences that one frame shows by itself.
pub const DIFFERENCES: [Difference; 3] = [Difference::TrafficClass, Difference::FlowLabel, Difference::DontFragment];

/// Whether all frames with clear DF between the same two addresses have the same identification.
#[derive(Clone, Copy, Debug, Default)]
pub struct Identifications {
    /// Both addresses, and the identification, of the first frame that was looked at.
    first: Option<(u64, u16)>,
    /// Later frames with the same addresses and identification.
    same: u64,
    vary: bool,
}

impl Identifications {
    /// Fewer frames prove nothing: a device may count the identifications of each flow separately.
    const ENOUGH: u64 = 32;

    #[inline(always)]
    pub(crate) fn see(&mut self, expect: &Expect, frame: &[u8]) {
        if !self.vary {
            self.compare(expect.identification(frame));
        }
    }

    fn compare(&mut self, of_frame: Option<(u64, u16)>) {
        match (self.first, of_frame) {
            (None, _) => self.first = of_frame,
            (Some((first, _)), Some((addresses, _))) if first == addresses => {
                let is_same = self.first == of_frame;
                (self.same, self.vary) = (self.same + u64::from(is_same), self.vary || !is_same);
            }
            _ => {}
        }
    }

    pub(crate) fn add(&mut self, other: &Identifications) {
        self.compare(other.first);
        (self.same, self.vary) = (self.same + other.same, self.vary || other.vary);
    }

    /// The frames that were looked at, if all had the same identification.
    pub(crate) fn constant(&self) -> Option<u64> {
        (!self.vary && self.same >= Identifications::ENOUGH).then_some(self.same + 1)
    }
}

/// Frames by inner and outer hop limits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HopTally {
    first: [(Hops, u64); 4],
    more: u64,
}

impl Findings {
    #[inline(always)]
    pub(crate) fn hops(&self) -> Option<Hops> {
        self.hop_limit.map(|hop| (self.outer_hop_limit as Hops) << 8 | hop as Hops)
    }

    #[inline(always)]
    pub(crate) fn set_hops(&mut self, hops: Hops) {
        (self.hop_limit, self.outer_hop_limit) = (Some(hops as u8), (hops >> 8) as u8);
    }

    /// Counts a wrong frame, and keeps the first of its kind.
    #[cold]
    pub(crate) fn count_wrong(&mut self, fault: Fault, frame: &[u8]) {
        let is_fragment = fault == Fault::WrongHeader && decode::stray(frame) == Stray::Fragment;
        let fault = if is_fragment { Fault::Fragment } else { fault };
        self.faults.add(fault);
        self.first_wrong.keep(fault, frame);
    }

    /// Counts what differs in a right frame although nothing is wrong.
    pub(crate) fn count_open(&mut self, expect: &Expect, frame: &[u8]) {
        let open = expect.open(frame);
        let differs = [open.traffic_class, open.flow_label, open.dont_fragment];
        self.differences.iter_mut().zip(differs).for_each(|(n, differs)| *n += u64::from(differs));
    }

    #[inline(always)]
    pub(crate) fn count(&mut self, hops: Hops, seen: &mut Arrivals, sequence: u64) -> Result<(), Fault> {
        let out_of_order = seen.arrive(sequence).ok_or(Fault::Duplicate)?;
        match self.hops() {
            Some(first) if first != hops => self.other_hops.add(hops, 1),
            Some(_) => {}
            None => self.set_hops(hops),
        }
        self.received += 1;
        self.reordered += u64::from(out_of_order);
        Ok(())
    }
}

impl HopTally {
    #[cold]
    fn add(&mut self, hops: Hops, frames: u64) {
        match self.first.iter_mut().find(|(known, n)| *n == 0 || *known == hops) {
            Some(kind) => *kind = (hops, kind.1 + frames),
            None => self.more += frames,
        }
    }

    /// Adds a receiver's counters.
    pub fn count(&mut self, found: &Findings) {
        let HopTally { first, more } = found.other_hops;
        let others = first.iter().filter(|(_, n)| *n > 0);
        if let Some(hops) = found.hops() {
            self.add(hops, found.received - more - others.clone().map(|(_, n)| n).sum::<u64>());
        }
        self.more += more;
        others.for_each(|&(hops, n)| self.add(hops, n));
    }

    /// Most frequent hop limits, and the number of their frames.
    pub fn most(&self) -> (Hops, u64) {
        self.first.into_iter().rev().max_by_key(|(_, n)| *n).unwrap_or_default()
    }
}

pub(crate) fn fault_of(mismatch: Mismatch) -> Fault {
    match mismatch {
        Mismatch::Length => Fault::WrongLength,
        Mismatch::Trailer => Fault::Trailer,
        Mismatch::Mac => Fault::WrongMac,
        Mismatch::TrafficClass => Fault::WrongFlowLabel,
        Mismatch::Identification => Fault::WrongDontFragment,
        Mismatch::Address => Fault::WrongAddress,
        Mismatch::Port => Fault::WrongPort,
        Mismatch::Pool => Fault::OutsidePool,
        Mismatch::Header => Fault::WrongHeader,
        Mismatch::Checksum => Fault::BadChecksum,
        Mismatch::Payload => Fault::WrongPayload,
    }
}
