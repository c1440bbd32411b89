//! What a phase observes: time stamps, delays and losses.

use super::Stage;
use crate::observe::{DueTimes, Extra, FrameStamps, losses};
use crate::phase::Phase;
use crate::pieces::RatePiece;
use crate::schedule::Departures;
use crate::seen::Arrivals;
use method::trial::{Observed, PerDirection, Stamps};
use method::{Count, Nanos, TrialError};

impl Stage {
    /// Returns observations, after [`Stage::collect`] has merged the bitmaps.
    pub(super) fn observe(
        &self,
        (phase, extra): (&Phase, &Extra),
        planned: &[Vec<Count>; 2],
        [forward, reverse]: [Option<FrameStamps>; 2],
    ) -> Observed {
        let delays = |row: Option<FrameStamps>, at_right: bool| {
            row.zip(extra.stamps).map(|(row, stamps)| row.observe(self.clock, stamps, self.stamped_by(at_right)))
        };
        let losses = |left: bool| {
            let senders = planned[usize::from(!left)].len();
            if senders == 0 || !extra.losses {
                return None;
            }
            let (all, frequency) = (phase.direction.frames(left, phase.frames), self.clock.frequency());
            let schedule = |part: RatePiece| {
                (part.before, Departures::new(self.clock.ticks(part.from.0), frequency, part.pace, part.frames))
            };
            let schedules = RatePiece::all(phase, &extra.pieces, left).map(schedule).collect();
            let side = usize::from(left);
            let seen: Vec<Option<&Arrivals>> = (0..senders)
                .map(|sender| self.seen.iter().map(|at| &at[side][sender]).find(|seen| seen.has_room()))
                .collect();
            Some(losses(self.clock, all, &seen, &DueTimes { schedules }))
        };
        Observed {
            delays: PerDirection { forward: delays(forward, true), reverse: delays(reverse, false) },
            losses: PerDirection { forward: losses(true), reverse: losses(false) },
            ..Observed::default()
        }
    }

    fn stamped_by(&self, at_right: bool) -> &'static str {
        let mut ports = self.lanes.iter().filter_map(|l| if at_right { l.right.as_ref() } else { l.left.as_ref() });
        if ports.any(|port| port::Port::facts(&**port).stamped_by_kernel) { "kernel" } else { "tester" }
    }
}

pub(super) fn rows(
    phase: &Phase,
    extra: &Extra,
    planned: &[Vec<Count>; 2],
) -> Result<[Option<FrameStamps>; 2], TrialError> {
    let Some((stamps, _)) = extra.stamps else { return Ok([None, None]) };
    let row = |left: bool| {
        let planned = &planned[usize::from(!left)];
        let from = if let Stamps::Some { from, .. } = stamps { from } else { Nanos(0) };
        let before = phase.direction.pace(left, phase.rate).frames_in(from);
        let chosen = stamps.choose(planned.iter().sum(), before);
        let row =
            || FrameStamps::new(chosen, planned.len() as u64).map_err(|e| TrialError::NotMeasurable(e.to_string()));
        (!planned.is_empty()).then(row).transpose()
    };
    Ok([row(true)?, row(false)?])
}
