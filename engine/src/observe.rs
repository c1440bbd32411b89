//! What a phase observes beside its counters: time stamps, delays, and due times of lost frames.

use crate::schedule::Departures;
use crate::seen::Arrivals;
use arena::{ArenaError, AtomicArray};
use method::trial::{Chosen, LOST, Losses, Piece, Popularity, Sample, Stamps};
use method::{Count, Delays, Nanos};
use port::{Clock, Ticks};
use std::sync::Arc;

/// What a phase does beside sending at one rate and counting.
#[derive(Clone, Debug, Default)]
pub struct Extra {
    /// Latency stamps, and the delay that stands for a lost frame.
    pub stamps: Option<(Stamps, Nanos)>,
    /// How connections are drawn.
    pub popularity: Popularity,
    /// Pieces with different rates or flows, if any.
    pub pieces: Arc<[Piece]>,
    /// Whether to report the times of lost frames.
    pub losses: bool,
}

/// The time stamps of one direction, by the frame's number in the schedule; each word has one writer.
pub struct FrameStamps {
    chosen: Chosen,
    senders: u64,
    sent: AtomicArray,
    received: AtomicArray,
}

impl FrameStamps {
    /// Room for the stamps of `senders` senders, 16 bytes a frame.
    ///
    /// # Errors
    /// Too little memory.
    pub fn new(chosen: Chosen, senders: u64) -> Result<FrameStamps, ArenaError> {
        let words = |what| AtomicArray::zeroed(what, chosen.frames as usize);
        let sent = words("the time stamps of sent frames")?;
        Ok(FrameStamps {
            chosen,
            senders: senders.max(1),
            sent,
            received: words("the time stamps of received frames")?,
        })
    }

    #[inline]
    fn place(&self, sender: u64, sequence: u64) -> Option<usize> {
        let Chosen { first, every, frames } = self.chosen;
        let after = (sequence * self.senders + sender).checked_sub(first)?;
        let place = if every == 1 { after } else { (after % every == 0).then_some(after / every)? };
        (place < frames).then_some(place as usize)
    }

    /// Notes that a sender transmitted these frames.
    #[inline(never)]
    pub fn sent(&self, sender: u64, frames: std::ops::Range<u64>, now: Ticks) {
        for sequence in frames {
            if let Some(place) = self.place(sender, sequence) {
                self.sent.store(place, now);
            }
        }
    }

    /// Notes the receipt of a right frame.
    #[inline]
    pub fn received(&self, sender: u8, sequence: u64, stamp: Ticks) {
        if let Some(place) = self.place(sender.into(), sequence) {
            self.received.store(place, stamp);
        }
    }

    /// The observation of a finished phase; uses the arrays up.
    pub fn observe(mut self, clock: Clock, (stamps, penalty): (Stamps, Nanos), source: &str) -> Delays {
        let (sent, received) = (self.sent.values_mut(), self.received.values_mut());
        for (sent, &received) in sent.iter_mut().zip(&*received) {
            let known = *sent > 0 && received > 0;
            *sent = if known { clock.nanos(received.saturating_sub(*sent)) } else { LOST };
        }
        let (timeout, room) = match stamps {
            Stamps::All { timeout } => (timeout, Some(received)),
            Stamps::Some { .. } => (None, None),
        };
        Sample { delays: sent, room, penalty, timeout, source }.observe()
    }
}

/// Due times, from the start of the phase.
pub(crate) struct DueTimes {
    /// Schedules of all senders, with the number of the first frame of each.
    pub schedules: Vec<(Count, Departures)>,
}

impl DueTimes {
    fn at(&self, frame: Count) -> Ticks {
        let last = self.schedules.partition_point(|(first, _)| *first <= frame);
        let Some((first, schedule)) = last.checked_sub(1).and_then(|at| self.schedules.get(at)) else { return 0 };
        schedule.due(frame - first)
    }
}

/// A sender without a bitmap in `seen` lost all its frames.
pub(crate) fn losses(clock: Clock, frames: Count, seen: &[Option<&Arrivals>], due: &DueTimes) -> Losses {
    let senders = seen.len().max(1) as u64;
    let (mut found, mut first, mut last) = (0, None, 0);
    let (mut arrived, mut longest) = (None, 0);
    let mut frame = 0;
    while frame < frames {
        let (sender, sequence) = ((frame % senders) as usize, frame / senders);
        let own = seen.get(sender).copied().flatten();
        if senders == 1
            && sequence.is_multiple_of(64)
            && frame + 64 <= frames
            && own.is_some_and(|s| s.all_of(sequence))
        {
            longest = longest.max(gap(arrived, due.at(frame)));
            arrived = Some(due.at(frame + 63));
            frame += 64;
            continue;
        }
        let at = due.at(frame);
        if own.is_some_and(|seen| seen.has(sequence)) {
            longest = longest.max(gap(arrived, at));
            arrived = Some(at);
        } else {
            found += 1;
            first = first.or(Some(at));
            last = at;
        }
        frame += 1;
    }
    if frames > 0 {
        longest = longest.max(gap(arrived, due.at(frames - 1)));
    }
    let nanos = |ticks| Nanos(clock.nanos(ticks));
    Losses { frames: found, first: nanos(first.unwrap_or(0)), last: nanos(last), longest_gap: nanos(longest) }
}

fn gap(arrived: Option<Ticks>, at: Ticks) -> Ticks {
    arrived.map_or(0, |before| at - before)
}

#[cfg(test)]
mod tests {
    use super::*;
    use method::Rate;

    const CLOCK: u64 = 1_000_000_000;

    #[test]
    fn every_chosen_frame_has_a_place_of_its_own() {
        for (first, every, frames, senders) in [(0, 1, 20, 3), (5, 4, 3, 2), (7, 1, 9, 1)] {
            let row = FrameStamps::new(Chosen { first, every, frames }, senders).unwrap();
            let places = (0..20).filter_map(|g| row.place(g % senders, g / senders)).collect::<Vec<_>>();
            assert_eq!(places, (0..frames as usize).collect::<Vec<_>>());
        }
    }

    /// Frames 3, 4 and 130 of 200 are lost; the rate halves after 100 frames of 1 µs.
    #[test]
    fn losses_have_the_due_times_of_both_rates() {
        let schedule = |start, rate, frames| Departures::new(start, CLOCK, Rate(rate), frames);
        let schedules = vec![(0, schedule(0, 1_000_000, 100)), (100, schedule(100_000, 500_000, 100))];
        let due = DueTimes { schedules };
        for senders in [1, 2] {
            let mut seen: Vec<Arrivals> = (0..senders).map(|_| Arrivals::default()).collect();
            for seen in &mut seen {
                seen.reset(200 / senders);
            }
            for frame in (0..200).filter(|frame| ![3, 4, 130].contains(frame)) {
                seen[(frame % senders) as usize].arrive(frame / senders);
            }
            let merged: Vec<_> = seen.iter().map(Some).collect();
            let found = losses(Clock::system(), 200, &merged, &due);
            let times = (Nanos(3_000), Nanos(160_000), Nanos(4_000));
            assert_eq!((found.frames, (found.first, found.last, found.longest_gap)), (3, times));
        }
        let none = losses(Clock::system(), 2, &[None], &due);
        assert_eq!((none.frames, none.longest_gap), (2, Nanos(0)));
    }
}
