//! The pace of a sender: which frames are due, how late they are, and what sending them took.

use crate::schedule::Departures;
use method::{Count, Leg, Nanos, Timing};
use port::{BATCH, Burst, Clock, Pool, Port, PortError, Ticks};
use std::ops::Range;

pub(crate) struct Pacer {
    clock: Clock,
    departures: Departures,
    /// Frames of all schedules.
    pub(crate) planned: Count,
    /// Frames of the schedules before this one.
    before: u64,
    /// Number of the next frame.
    pub(crate) next: u64,
    start: Ticks,
    give_up_late: Ticks,
    accepted: Count,
    refused: Count,
    timing: Timing,
    worst_late: Ticks,
    late_at_change: Ticks,
    /// When the sender last transmitted frames.
    pub(crate) last_handed: Ticks,
    last_taken: Ticks,
    own: Ticks,
    /// Time inside the back-end.
    pub(crate) backend: Ticks,
    /// Whether the sender ended on purpose, before its last frame.
    pub(crate) ended: bool,
}

pub(crate) enum Due {
    Nothing,
    /// So late that the sender gives up.
    TooLate,
    /// So many frames are due, at most a batch.
    Frames(usize),
}

impl Pacer {
    pub(crate) fn new(departures: Departures, clock: Clock, give_up_late: Ticks) -> Pacer {
        let burst = departures.burst();
        Pacer {
            clock,
            departures,
            planned: departures.frames(),
            before: 0,
            next: 0,
            start: 0,
            give_up_late,
            accepted: 0,
            refused: 0,
            timing: Timing { burst, worst_burst: burst, ..Timing::default() },
            worst_late: 0,
            late_at_change: 0,
            last_handed: 0,
            last_taken: 0,
            own: 0,
            backend: 0,
            ended: false,
        }
    }

    pub(crate) fn start_at(&mut self, start: Ticks) {
        self.start = start;
        self.departures.start_at(start);
    }

    /// Continues with a schedule that begins so long after the start of the first.
    pub(crate) fn follow(&mut self, after: Ticks, mut departures: Departures) {
        departures.start_at(self.start + after);
        let frames = self.departures.frames();
        let late = self.last_handed.saturating_sub(self.departures.due(frames.saturating_sub(1)));
        self.late_at_change = self.late_at_change.max(if frames > 0 { late } else { 0 });
        self.timing.burst = departures.burst();
        self.before += frames;
        self.departures = departures;
    }

    /// Whether this schedule has further frames.
    #[inline(always)]
    pub(crate) fn has_more(&self) -> bool {
        self.next < self.before + self.departures.frames()
    }

    #[inline(always)]
    pub(crate) fn due(&mut self, now: Ticks) -> Due {
        let due = self.before + self.departures.due_count(now);
        if due == self.next {
            return Due::Nothing;
        }
        let behind = due - self.next;
        let late = now.saturating_sub(self.departures.due(self.next - self.before));
        self.worst_late = self.worst_late.max(late);
        if behind > u64::from(self.timing.burst) {
            self.timing.catch_ups += 1;
            if behind > BATCH as u64 {
                self.timing.crowded += BATCH as u64;
            }
            self.timing.worst_burst = self.timing.worst_burst.max(behind.min(u32::MAX as u64) as u32);
            if late > self.give_up_late {
                self.timing.gave_up = still_takes(self.last_taken, now, self.give_up_late);
                return Due::TooLate;
            }
        }
        Due::Frames(behind.min(BATCH as u64) as usize)
    }

    /// Transmits what the port takes. Returns the numbers of these frames, and the time of the call: inside may be the device's
    /// work.
    #[inline(always)]
    pub(crate) fn transmit(
        &mut self,
        now: Ticks,
        port: &mut impl Port,
        pool: &mut Pool,
        burst: &mut Burst,
    ) -> Result<(Range<u64>, Ticks), PortError> {
        let offered = burst.len();
        let before = self.clock.now();
        let sent = port.transmit(pool, burst)?;
        let after = self.clock.now();
        let first = self.next;
        self.next += (offered - burst.len()) as u64;
        if self.next > first {
            self.last_taken = after;
        }
        self.accepted += sent.accepted as u64;
        self.refused += sent.refused as u64;
        self.last_handed = after;
        self.own += before - now;
        self.backend += after - before;
        Ok((first..self.next, before))
    }

    pub(crate) fn finish(self) -> Leg {
        let ns = |t: Ticks| Nanos(self.clock.nanos(t));
        let frames = if self.ended { self.next } else { self.departures.frames() };
        let last_due = self.departures.due(frames.saturating_sub(1));
        let finished_late = if !self.ended && self.next < self.planned {
            self.worst_late
        } else {
            self.last_handed.saturating_sub(last_due).max(self.late_at_change)
        };
        Leg {
            planned: self.planned,
            sent: self.accepted + self.refused,
            refused: self.refused,
            send_time: ns(self.last_handed.saturating_sub(self.start)),
            timing: Timing {
                finished_late: ns(finished_late),
                worst_late: ns(self.worst_late),
                own_time: ns(self.own),
                backend_time: ns(self.backend),
                ..self.timing
            },
            ..Leg::default()
        }
    }
}

/// Whether the port is slow and not stuck: it took a frame in the last half of the lateness.
fn still_takes(last_taken: Ticks, now: Ticks, give_up_late: Ticks) -> bool {
    now.saturating_sub(last_taken) < give_up_late / 2
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Giving up 200 ticks late: a port is stuck 200 ticks after its last frame, slow 99 ticks after it.
    #[test]
    fn a_slow_port_takes_frames_to_the_last() {
        let taken = |at| still_takes(at, 10_000, 200);
        assert_eq!(
            [taken(9_990), taken(9_901), taken(9_900), taken(9_800), taken(0)],
            [true, true, false, false, false]
        );
    }
}
