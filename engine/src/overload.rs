//! Forwarding rates while the offered load exceeds the path's capacity, of a device or the null
//! device, in short windows without a verdict.

use crate::engine::Engine;
use crate::phase::{Phase, PhaseOutcome};
use method::{Direction, Fault, Leg, Nanos, Order, Rate, TrialError};
use std::sync::Arc;
use std::time::{Duration, Instant};
use wire::{FramePurpose, View};

/// Offered rate of each lane; keeps the sender behind schedule.
const OFFERED: u64 = 1_000_000_000;
/// Most frames of a lane in a second.
const MOST: u64 = 100_000_000;
const DRAIN: Nanos = Nanos::from_millis(2);
/// Connections per second of a lane.
const SLOW: u64 = 2_000_000;
const FAST: u64 = 16_000_000;
/// Time for four slow phases 1; then missing connections are given up.
const ALLOWED: Duration = Duration::from_secs(3);
const AROUND: Nanos = Nanos::from_millis(10);
/// Number of windows in which nothing came back.
const WINDOWS: u32 = 5;
/// Passes over missing connections, each at a lower rate.
const PASSES: u32 = 30;

/// Frames of a window.
#[derive(Clone, Debug)]
pub struct OverloadTraffic {
    /// Stateless without a state table, else with at most the engine's connections.
    pub view: Arc<View>,
    /// Active directions.
    pub direction: Direction,
    /// Right to Left.
    pub responder_order: Order,
}

impl Engine {
    /// Offers frames as fast as possible; returns the rate of right frames per direction, of
    /// different rates in the faster one. A stateful view needs [`Engine::open_all`] before.
    ///
    /// # Errors
    /// On an interrupt, a port fails, or no frame or many wrong ones come back.
    pub fn overload(&mut self, offered: &OverloadTraffic, window: Nanos) -> Result<Rate, TrialError> {
        let mut out = self.window(offered, window)?;
        for _ in 1..WINDOWS {
            // The host ran no thread of the device in this window.
            if out.forward.received + out.reverse.received > 0 {
                break;
            }
            out = self.window(offered, window)?;
        }

        let legs = [&out.forward, &out.reverse];
        let received: u64 = legs.iter().map(|leg| leg.received).sum();
        // A stall at the end of a window makes its last frames late.
        let wrong: u64 = legs.iter().map(|leg| leg.faults.total() - leg.faults.get(Fault::Late)).sum();
        if wrong > received / 100 || received == 0 {
            return Err(TrialError::Tester(format!(
                "{received} right and {wrong} wrong frames came back under overload"
            )));
        }
        Ok(per_second(offered.direction.fastest_of(received), &out))
    }

    /// Offers frames as fast as possible; returns the frames per second that left in the direction
    /// that fell behind, as a rate of the faster one.
    ///
    /// # Errors
    /// On an interrupt, or a port fails.
    pub fn send_only(&mut self, offered: &OverloadTraffic, window: Nanos) -> Result<Rate, TrialError> {
        let out = self.window(offered, window)?;
        let legs = [(&out.forward, true), (&out.reverse, false)].into_iter().filter(|(leg, _)| leg.sent > 0);
        let rate = |(leg, forward): (&Leg, bool)| {
            let time = u128::from(leg.send_time.0.max(1));
            let rate = Rate((u128::from(leg.sent - leg.refused) * 1_000_000_000 / time) as u64);
            offered.direction.fastest_with(forward, rate)
        };
        Ok(legs.map(rate).min().unwrap_or_default())
    }

    fn window(&mut self, offered: &OverloadTraffic, window: Nanos) -> Result<PhaseOutcome, TrialError> {
        let lanes = self.lanes();
        self.beside(
            &offered.view,
            window,
            &Phase {
                kind: FramePurpose::Data,
                frames: Rate(MOST * lanes).frames_in(window),
                connections: offered.view.connections(),
                direction: offered.direction,
                forward_order: Order::Random,
                reverse_order: offered.responder_order,
                ..phase_at(Rate(OFFERED * lanes))
            },
            window,
        )
    }

    /// Opens all connections of a view from an empty table, at this rate or as fast as possible,
    /// then missing ones at lower rates; returns the connections per second of the first pass.
    ///
    /// # Errors
    /// On an interrupt, a port fails, or some connections cannot be opened.
    pub fn open_all(&mut self, view: &Arc<View>, rate: Option<Rate>) -> Result<Rate, TrialError> {
        self.clear()?;
        let connections = view.connections();
        let (mut missing, mut first) = (connections, None);
        let mut rate = rate.unwrap_or(Rate(OFFERED * self.lanes()));
        let began = Instant::now();
        let allowed = ALLOWED + Duration::from(rate.min(Rate(SLOW)).time_for(connections)) * 4;
        for pass in 0..PASSES {
            let phase = Phase {
                kind: FramePurpose::Establish,
                frames: missing,
                connections,
                direction: Direction::Forward,
                learn: true,
                update: false,
                only_missing: pass > 0,
                ..phase_at(rate)
            };
            let lasts = rate.min(Rate(SLOW)).time_for(missing);
            let out = self.beside(view, Nanos::from_secs(86_400), &phase, lasts)?;
            let learned = per_second(out.learned, &out);
            first.get_or_insert(learned);
            missing = self.stage.missing(connections);
            if missing == 0 {
                return Ok(first.unwrap_or_default());
            }
            if began.elapsed() > allowed {
                break;
            }
            // Halved at most: a pass in which the host ran no thread says nothing of the rate.
            let half = rate.0.min(FAST * self.lanes()) / 2;
            rate = Rate((learned.0 * 8 / 10).clamp(half, rate.0));
        }
        Err(TrialError::Phase1(format!("{missing} of {connections} connections could not be opened")))
    }

    /// No later trial uses the state table.
    pub fn forget(&mut self) {
        self.stage.forget();
    }

    fn lanes(&self) -> u64 {
        (self.stage.port_facts().len() as u64 / 2).max(1)
    }

    fn beside(
        &mut self,
        view: &Arc<View>,
        give_up: Nanos,
        phase: &Phase,
        lasts: Nanos,
    ) -> Result<PhaseOutcome, TrialError> {
        self.allow(lasts.0 + AROUND.0 + DRAIN.0);
        let out = self.stage.beside(view, give_up, phase);
        self.device.rest();
        self.rest(self.breather(Nanos(lasts.0 + AROUND.0)))?;
        out
    }
}

fn per_second(count: u64, out: &PhaseOutcome) -> Rate {
    let time = out.forward.send_time.max(out.reverse.send_time).0.max(1);
    Rate((u128::from(count) * 1_000_000_000 / u128::from(time)) as u64)
}

fn phase_at(rate: Rate) -> Phase {
    Phase { direction: Direction::Both, drain: DRAIN, ..Phase::of(FramePurpose::Data, rate, 0) }
}
