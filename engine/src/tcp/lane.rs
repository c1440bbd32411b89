//! One tester thread in a phase of TCP connections, which polls its opener and its ends in turn.

use super::end::{End, TcpFindings};
use super::opener::Opener;
use crate::lane::{Lane, LaneStart, PanicGuard, Shared, Waits};
use crate::rounds::Rounds;
use method::{Leg, Nanos};
use port::{BATCH, Clock, Port, PortError, Ticks};
use std::sync::atomic::Ordering;

pub(super) struct TcpTasks<'a> {
    pub(super) opener: Option<Opener<'a>>,
    pub(super) left: Option<End<'a>>,
    pub(super) right: Option<End<'a>>,
    /// Most bursts that an end polls in a round: about the segments of a burst of connections.
    pub(super) bursts: usize,
}

#[derive(Default)]
pub(super) struct TcpReport {
    pub(super) begun: Option<Leg>,
    pub(super) left: TcpFindings,
    pub(super) right: TcpFindings,
    /// Longest stall, without the DUT's time.
    pub(super) stall: Nanos,
    pub(super) stalled: Nanos,
    /// Run delay, if the kernel reports it.
    pub(super) run_delay: Option<Nanos>,
}

/// Runs until all connections have begun and the drain is over, or `stop` is set; a failed port
/// stops the other lanes.
pub(super) fn run(
    clock: Clock,
    drain: Ticks,
    shared: &Shared,
    mut tasks: TcpTasks<'_>,
    lane: &mut Lane,
) -> Result<TcpReport, PortError> {
    let _told = PanicGuard(shared);
    let LaneStart { start, in_process, queued } = lane.begin(clock, shared)?;
    let waits = Waits::of(lane, in_process, clock);
    if let Some(opener) = &mut tasks.opener {
        opener.start_at(start);
    }
    let rounds = Rounds::new(clock, start, clock.now());
    let mut round = Round { clock, shared, lane, in_process, rounds, beside: 0 };
    let ended = round.until_drained(&mut tasks, (drain, queued));
    let waited = waits.since();
    if ended.is_err() {
        shared.broken.store(true, Ordering::Relaxed);
    }
    let Round { rounds, lane, .. } = round;
    ended?;
    let (stall, stalled) = rounds.stalls(clock, waited.filter(|_| in_process));
    let pool = &mut lane.pool;
    Ok(TcpReport {
        begun: tasks.opener.map(|opener| opener.finish(pool)),
        left: tasks.left.map(|end| end.finish(pool)).unwrap_or_default(),
        right: tasks.right.map(|end| end.finish(pool)).unwrap_or_default(),
        stall,
        stalled,
        run_delay: waited.filter(|_| !in_process),
    })
}

struct Round<'r> {
    clock: Clock,
    shared: &'r Shared,
    lane: &'r mut Lane,
    /// Calls run no device.
    in_process: bool,
    rounds: Rounds,
    beside: Ticks,
}

impl Round<'_> {
    fn until_drained(
        &mut self,
        tasks: &mut TcpTasks<'_>,
        (drain, mut queued): (Ticks, usize),
    ) -> Result<(), PortError> {
        let shared = self.shared;
        let (mut opening, mut is_full) = (tasks.opener.is_some(), false);
        while !shared.stop.load(Ordering::Relaxed) && !shared.broken.load(Ordering::Relaxed) {
            let now = self.clock.now();
            let inside = self.inside(tasks);
            self.rounds.begin(now, inside);
            // Full ends make the opener late, instead of queues run over.
            if opening && !is_full {
                opening = self.open(tasks, now)?;
            }
            self.poll_companion();
            let ends = self.poll_ends(tasks)?;
            let got = ends[0] + ends[1];
            is_full = ends.iter().any(|&got| got >= tasks.bursts * BATCH);
            // A lane that reads 0 openers must see when the last one finished.
            if shared.sending.load(Ordering::Acquire) == 0
                && now > shared.sent_at.load(Ordering::Relaxed).saturating_add(drain)
            {
                if got == 0 || got > queued {
                    break;
                }
                queued -= got;
            }
        }
        Ok(())
    }

    fn inside(&self, tasks: &TcpTasks<'_>) -> Ticks {
        if self.in_process {
            return self.beside;
        }
        let of_ends = |end: &Option<End<'_>>| end.as_ref().map_or(0, |end| end.findings.backend);
        self.beside + tasks.opener.as_ref().map_or(0, Opener::inside) + of_ends(&tasks.left) + of_ends(&tasks.right)
    }

    fn open(&mut self, tasks: &mut TcpTasks<'_>, now: Ticks) -> Result<bool, PortError> {
        let (Some(opener), Some(port)) = (&mut tasks.opener, self.lane.left.as_mut()) else { return Ok(false) };
        let more = opener.poll(now, port, &mut self.lane.pool)?;
        if !more {
            self.shared.sent_at.fetch_max(self.clock.now(), Ordering::Relaxed);
            self.shared.sending.fetch_sub(1, Ordering::Release);
        }
        Ok(more)
    }

    fn poll_companion(&mut self) {
        if let Some(companion) = &mut self.lane.companion {
            let before = self.clock.now();
            companion();
            self.beside += self.clock.now() - before;
        }
    }

    /// Polls ends while they receive full bursts; returns the frames at each, one more where
    /// answers wait.
    fn poll_ends(&mut self, tasks: &mut TcpTasks<'_>) -> Result<[usize; 2], PortError> {
        let Lane { left, right, pool, .. } = &mut *self.lane;
        let bursts = tasks.bursts;
        let right_got = poll_end(&mut tasks.right, right.as_mut(), pool, bursts)?;
        let left_got = poll_end(&mut tasks.left, left.as_mut(), pool, bursts)?;
        Ok([left_got, right_got])
    }
}

fn poll_end(
    end: &mut Option<End<'_>>,
    port: Option<&mut Box<dyn Port>>,
    pool: &mut port::Pool,
    bursts: usize,
) -> Result<usize, PortError> {
    let (Some(end), Some(port)) = (end, port) else { return Ok(0) };
    let mut all = 0;
    for _ in 0..bursts {
        let got = end.poll(port, pool)?;
        all += got;
        if got < BATCH {
            break;
        }
    }
    Ok(all + usize::from(end.is_waiting()))
}
