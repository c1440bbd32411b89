//! The parts of a phase in one direction, with their own schedules and numbers of flows.

use crate::phase::Phase;
use crate::schedule::Departures;
use method::trial::Piece;
use method::{Count, Nanos, Pace};
use port::Clock;

#[derive(Clone, Copy, Debug)]
pub(crate) struct RatePiece {
    /// Time from the start of the phase.
    pub from: Nanos,
    /// Frames of the direction, before this part.
    pub before: Count,
    /// Number of frames.
    pub frames: Count,
    /// Rate of the frames.
    pub pace: Pace,
    /// The first ones of the phase.
    pub flows: Count,
}

impl RatePiece {
    /// Left to Right if `left`, in order.
    pub(crate) fn all(phase: &Phase, pieces: &[Piece], left: bool) -> impl Iterator<Item = RatePiece> {
        let Phase { direction, rate, frames, connections, .. } = *phase;
        let whole = Piece { from: Nanos(0), before: 0, rate, seconds: 1, flows: None };
        let pieces = if pieces.is_empty() { vec![whole] } else { pieces.to_vec() };
        let all = direction.frames(left, frames);
        let first = move |piece: &Piece| direction.frames(left, piece.before).min(all);
        let ends: Vec<Count> = pieces.iter().skip(1).map(first).chain([all]).collect();
        pieces.into_iter().zip(ends).map(move |(piece, end)| RatePiece {
            from: piece.from,
            before: first(&piece),
            frames: end - first(&piece),
            pace: direction.pace(left, piece.rate).in_times(piece.seconds),
            flows: piece.flows.unwrap_or(connections),
        })
    }

    /// Senders take turns across parts.
    pub(crate) fn departures(&self, clock: Clock, (which, of): (u64, u64)) -> Departures {
        let turn = (which + of - self.before % of) % of;
        Departures::shared(0, clock.frequency(), self.pace, self.frames, (turn, of))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use method::trial::{Load, Ramp, TrialOptions};
    use method::{Direction, Order, Rate, TrialSpec};
    use wire::FramePurpose;

    fn phase(spec: &TrialSpec) -> Phase {
        Phase {
            connections: spec.connections,
            direction: spec.direction,
            forward_order: Order::Random,
            reverse_order: Order::Random,
            ..Phase::of(FramePurpose::Data, spec.rate, spec.frames())
        }
    }

    /// Four flows begin 1 s apart at 1,000 frames/s of all: 250, 500 and 750 frames, and then 2 s of 1,000.
    #[test]
    fn a_ramp_has_a_part_for_each_flow() {
        let ramp = Some(Ramp { flows: 4, interval: Nanos::SECOND });
        let spec = TrialSpec {
            direction: Direction::Forward,
            options: TrialOptions { ramp, ..TrialOptions::default() },
            phase1_rate: Some(Rate(1)),
            ..TrialSpec::both_phases(Rate(1_000), Load::For(Nanos::from_secs(2)), 4)
        };
        assert_eq!((spec.frames(), spec.send_time()), (3_500, Nanos::from_secs(5)));
        let parts: Vec<RatePiece> = RatePiece::all(&phase(&spec), &spec.pieces(), true).collect();
        let shown: Vec<_> = parts.iter().map(|part| (part.from.0, part.frames, part.flows)).collect();
        let second = Nanos::SECOND.0;
        assert_eq!(shown, [(0, 250, 1), (second, 500, 2), (2 * second, 750, 3), (3 * second, 2_000, 4)]);
        let rates: Vec<u64> = parts.iter().map(|part| part.pace.per_second().0).collect();
        assert_eq!(rates, [250, 500, 750, 1_000]);
        for of in [1, 2, 3] {
            let shares = |part: &RatePiece| -> Count {
                (0..of).map(|which| part.departures(Clock::system(), (which, of)).frames()).sum()
            };
            assert!(parts.iter().all(|part| part.frames == shares(part)));
        }
    }
}
