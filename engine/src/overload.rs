//! Forwarding rates while the offered load exceeds the capacity of the path, in short windows: of a device, and of the null
//! device on the same path. These windows are no trials. They have no verdict and no waits of a trial.

use crate::engine::Engine;
use crate::phase::{Phase, PhaseOutcome};
use method::{Direction, Fault, Leg, Nanos, Order, Rate, TrialError};
use std::sync::Arc;
use std::time::{Duration, Instant};
use wire::{Kind, View};

/// Offered load of each lane: so high that the sender is always behind schedule and sends as fast as it can.
const OFFERED: u64 = 1_000_000_000;
/// More frames per second than a lane sends: the window ends before they are sent.
const MOST: u64 = 100_000_000;
/// Time within which the last frames arrive.
const DRAIN: Nanos = Nanos::from_millis(2);
/// Connections per second of a lane on a slow path, to estimate the duration of phase 1.
const SLOW: u64 = 2_000_000;
/// Connections per second of a lane on a fast path.
const FAST: u64 = 16_000_000;
/// After this time, and four phases 1 at a slow rate, no more missing connections are opened.
const ALLOWED: Duration = Duration::from_secs(3);
/// Threads start and stop around a window.
const AROUND: Nanos = Nanos::from_millis(10);
/// How often a window is repeated in which nothing came back.
const WINDOWS: u32 = 5;
/// How often phase 1 sends the missing connections again, each time at a lower rate.
const PASSES: u32 = 30;

/// The frames of a window.
#[derive(Clone, Debug)]
pub struct Offered {
    /// What the two sides send and expect. Without a state table in the engine, it must be stateless; else it has at most as
    /// many connections as the engine's view.
    pub view: Arc<View>,
    /// Active directions.
    pub direction: Direction,
    /// Order of connections Right to Left.
    pub responder_order: Order,
}

impl Engine {
    /// Offers frames as fast as the tester can for this time, and returns the forwarding rate per direction: frames that came
    /// back and were right. Of two directions with different rates, it is that of the faster one, and the frames that are
    /// offered have their ratio. A stateful view needs [`Engine::open_all`] before.
    ///
    /// # Errors
    /// On an interrupt, when a port fails, or if no frame or many wrong ones come back.
    pub fn overload(&mut self, offered: &Offered, window: Nanos) -> Result<Rate, TrialError> {
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
        // A stall at the end of the last window makes its last frames late.
        let wrong: u64 = legs.iter().map(|leg| leg.faults.total() - leg.faults.get(Fault::Late)).sum();
        if wrong > received / 100 || received == 0 {
            return Err(TrialError::Tester(format!(
                "{received} right and {wrong} wrong frames came back under overload"
            )));
        }
        Ok(per_second(offered.direction.fastest_of(received), &out))
    }

    /// Offers frames as fast as the tester can for this time; none needs to come back. Returns the frames per second that left,
    /// in the direction that fell behind; of two directions with different rates, the rate of the faster one at which that one
    /// keeps up.
    ///
    /// # Errors
    /// On an interrupt, or when a port fails.
    pub fn send_only(&mut self, offered: &Offered, window: Nanos) -> Result<Rate, TrialError> {
        let out = self.window(offered, window)?;
        let legs = [(&out.forward, true), (&out.reverse, false)].into_iter().filter(|(leg, _)| leg.sent > 0);
        let rate = |(leg, forward): (&Leg, bool)| {
            let time = u128::from(leg.send_time.0.max(1));
            let rate = Rate((u128::from(leg.sent - leg.refused) * 1_000_000_000 / time) as u64);
            offered.direction.fastest_with(forward, rate)
        };
        Ok(legs.map(rate).min().unwrap_or_default())
    }

    fn window(&mut self, offered: &Offered, window: Nanos) -> Result<PhaseOutcome, TrialError> {
        let lanes = self.lanes();
        self.beside(
            &offered.view,
            window,
            &Phase {
                kind: Kind::Data,
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

    /// Opens all connections of a view from an empty table, first at this rate, or as fast as the tester can, then those that
    /// are missing, at lower rates. Returns the connections per second of the first pass.
    ///
    /// # Errors
    /// On an interrupt, when a port fails, or if some connections cannot be opened.
    pub fn open_all(&mut self, view: &Arc<View>, rate: Option<Rate>) -> Result<Rate, TrialError> {
        self.clear()?;
        let connections = view.connections();
        let (mut missing, mut first) = (connections, None);
        let mut rate = rate.unwrap_or(Rate(OFFERED * self.lanes()));
        let began = Instant::now();
        let allowed = ALLOWED + Duration::from(rate.min(Rate(SLOW)).time_for(connections)) * 4;
        for pass in 0..PASSES {
            let phase = Phase {
                kind: Kind::Establish,
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
            // A pass in which the host ran no thread says nothing about the rate, so it is lowered by half at most.
            let half = rate.0.min(FAST * self.lanes()) / 2;
            rate = Rate((learned.0 * 8 / 10).clamp(half, rate.0));
        }
        Err(TrialError::Phase1(format!("{missing} of {connections} connections could not be opened")))
    }

    /// Forgets what the state table holds, so that no later trial takes it for its own.
    pub fn forget(&mut self) {
        self.stage.forget();
    }

    fn lanes(&self) -> u64 {
        (self.stage.port_facts().len() as u64 / 2).max(1)
    }

    /// Runs a phase of about this duration, and the pause after it.
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
    Phase {
        kind: Kind::Data,
        rate,
        frames: 0,
        connections: 0,
        direction: Direction::Both,
        forward_order: Order::RoundRobin,
        reverse_order: Order::RoundRobin,
        learn: false,
        update: false,
        only_missing: false,
        drain: DRAIN,
    }
}
