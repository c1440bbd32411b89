//! A lane: one tester thread with its core, frame pool and ports, which polls its send and receive tasks in turn.

use crate::early::{Early, Watch};
use crate::findings::Findings;
use crate::judge::Judge;
use crate::rounds::Rounds;
use crate::sender::Sender;
use crate::service::{self, Service};
use method::{DirectionRatio, Leg, Nanos, TrialError};
use port::host::spawn_in;
use port::link::Steer;
use port::{Clock, Pool, Port, PortError, Ticks};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;
use wire::{Expect, Tag};

/// A DUT on the lane's core.
pub type Companion = Box<dyn FnMut() + Send>;

/// One tester thread.
pub struct Lane {
    /// Core of a pinned thread.
    pub core: Option<usize>,
    /// Frame pool.
    pub pool: Pool,
    /// Port on the Initiator's side.
    pub left: Option<Box<dyn Port>>,
    /// Port on the Responder's side.
    pub right: Option<Box<dyn Port>>,
    /// Companion that this thread polls.
    pub companion: Option<Companion>,
    /// Service for frames without a tag, which are foreign otherwise.
    pub service: Option<Service>,
}

/// Most bursts from a port, so that a flood does not block the thread.
const BURSTS: usize = 64;

pub(crate) struct LaneStart {
    pub(crate) start: Ticks,
    pub(crate) in_process: bool,
    pub(crate) queued: usize,
}

impl Lane {
    /// Waits for all lanes; fails, so that they stop, if the thread cannot run on its core.
    pub(crate) fn begin(&mut self, clock: Clock, shared: &Shared) -> Result<LaneStart, PortError> {
        if let Err(error) = port::host::pin_or_release(self.core) {
            shared.broken.store(true, Ordering::Relaxed);
            return Err(error);
        }
        // On other back-ends, kernel threads must run to forward frames.
        let facts: Vec<_> = self.left.iter().chain(&self.right).map(Port::facts).collect();
        let in_process = facts.iter().all(|f| f.backend == "link");
        // Unpinned lanes yield, or two that wait for a third one on their cores would wait for ever.
        let alone = self.core.is_some() && in_process;
        if !(alone && shared.short && port::host::enter_real_time()) {
            port::host::set_best_nice();
        }
        // A thread that keeps its capabilities measures the same.
        let _ = port::privileges::limit_measuring_thread();
        // If unknown (0), one poll of each port.
        let queued = facts.iter().map(|f| f.own_queue.max(port::BATCH) * f.own_queues.max(1)).sum();
        let start = shared.all_ready(clock);
        Ok(LaneStart { start, in_process, queued })
    }

    /// Serves requests between phases; discards frames that are not the service's.
    pub(crate) fn serve(&mut self) -> Result<(), PortError> {
        let Lane { left, right, pool, service: Some(service), .. } = self else { return Ok(()) };
        let (mut burst, mut answers) = (port::burst(), port::burst());
        for (is_left, port) in [(true, left), (false, right)] {
            let Some(port) = port else { continue };
            for _ in 0..BURSTS {
                if port.receive(pool, &mut burst)? == 0 {
                    break;
                }
                for frame in &mut burst {
                    service::handle(service, is_left, frame, pool, &mut answers);
                }
                pool.free_all(&mut burst);
                service::send(&mut answers, port, pool)?;
            }
        }
        Ok(())
    }
}

/// Runs `work`, which may take seconds, while the services of the lanes answer.
pub(crate) fn while_serving<T: Send>(lanes: &mut [Lane], work: impl FnOnce() -> T + Send) -> Result<T, TrialError> {
    if lanes.iter().all(|lane| lane.service.is_none()) {
        return Ok(work());
    }
    std::thread::scope(|scope| {
        let working = spawn_in(scope, work).map_err(|e| TrialError::Tester(e.to_string()))?;
        while !working.is_finished() {
            lanes.iter_mut().try_for_each(Lane::serve).map_err(|e| TrialError::Tester(e.to_string()))?;
            std::thread::sleep(service::INTERVAL);
        }
        working.join().map_err(|panic| std::panic::resume_unwind(panic))
    })
}

/// Gives each lane its own frames: equal shares, and the sender frees them.
pub fn back_to_sender(expect: &Expect) -> Steer {
    Steer::Byte { at: expect.tag_at() + Tag::SENDER_AT }
}

/// State that all lanes of a phase share.
pub struct Shared {
    /// Lanes that do not run on their cores yet.
    pub starting: AtomicUsize,
    /// Start in ticks, 0 until the last lane runs on its core.
    pub start: Arc<AtomicU64>,
    /// Ticks from the readiness of the last lane to the start.
    pub start_delay: Ticks,
    /// Senders that have not finished.
    pub sending: AtomicUsize,
    /// When the last sender finished.
    pub sent_at: AtomicU64,
    /// Kept without a schedule: the slower direction waits for the faster one.
    pub held: Option<DirectionRatio>,
    /// Early end, if wanted.
    pub early: Option<Early>,
    /// Whether lanes can keep real-time priority to the end of the trial.
    pub short: bool,
    /// Ends the phase at once when true.
    pub stop: Arc<AtomicBool>,
    /// A port of some lane has failed.
    pub broken: AtomicBool,
}

/// Much shorter than the delay to the start.
const WAIT_FOR_OTHERS: Duration = Duration::from_micros(50);

impl Shared {
    /// The last lane sets the start.
    fn all_ready(&self, clock: Clock) -> Ticks {
        if self.starting.fetch_sub(1, Ordering::AcqRel) == 1 {
            let start = clock.now() + self.start_delay;
            self.sent_at.store(start, Ordering::Relaxed);
            self.start.store(start, Ordering::Release);
        }
        loop {
            let start = self.start.load(Ordering::Acquire);
            if start != 0 || self.stop.load(Ordering::Relaxed) || self.broken.load(Ordering::Relaxed) {
                return start;
            }
            // Spinning with real-time priority would block a lane that still has to move to its core.
            std::thread::sleep(WAIT_FOR_OTHERS);
        }
    }
}

/// The report of one lane on a phase.
#[derive(Default)]
pub struct Report {
    /// What the Left sender sent.
    pub left_sent: Option<Leg>,
    /// What the Right sender sent.
    pub right_sent: Option<Leg>,
    /// Findings of the receiver at Left.
    pub at_left: Findings,
    /// Findings of the receiver at Right.
    pub at_right: Findings,
    /// Longest, without the companion's and the kernel ports' time.
    pub stall: Nanos,
    /// Sum of this lane's stalls.
    pub stalled: Nanos,
    /// Run delay, if the lane calls into the kernel, which reports it; else stalls include it.
    pub run_delay: Option<Nanos>,
}

/// The tasks of one lane in one phase.
pub struct Tasks<'a> {
    /// Sends on Left.
    pub left_sender: Option<Sender<'a>>,
    /// Sends on Right.
    pub right_sender: Option<Sender<'a>>,
    /// Judges what arrives at Left.
    pub left_judge: Option<Judge<'a>>,
    /// Judges what arrives at Right.
    pub right_judge: Option<Judge<'a>>,
}

/// Polls the tasks until all frames are sent and the drain is over, or `stop` is set.
///
/// # Errors
/// A port fails, so that the other lanes stop.
pub fn run(
    clock: Clock,
    drain: Ticks,
    shared: &Shared,
    tasks: Tasks<'_>,
    lane: &mut Lane,
) -> Result<Report, PortError> {
    let _told = PanicGuard(shared);
    let LaneStart { start, in_process, queued } = lane.begin(clock, shared)?;
    let waits = Waits::of(lane, in_process, clock);
    let mut tasks = tasks;
    for sender in tasks.left_sender.iter_mut().chain(&mut tasks.right_sender) {
        sender.start_at(start);
    }
    let Lane { left, right, pool, companion, .. } = lane;
    let mut round = Round {
        clock,
        shared,
        tasks,
        left,
        right,
        pool,
        companion,
        in_process,
        rounds: Rounds::new(clock, start, clock.now()),
        early: Watch::new(shared.early.as_ref(), start),
        beside: 0,
        ran: false,
        got: 0,
        now: 0,
    };
    let ended = round.until_drained(drain, queued);
    let waited = waits.since();
    if ended.is_err() {
        shared.broken.store(true, Ordering::Relaxed);
    }
    let Round { tasks, pool, rounds, .. } = round;
    ended?;
    let (stall, stalled) = rounds.stalls(clock, waited.filter(|_| in_process));
    Ok(Report {
        left_sent: tasks.left_sender.map(|s| s.finish(pool)),
        right_sent: tasks.right_sender.map(|s| s.finish(pool)),
        at_left: tasks.left_judge.map(Judge::finish).unwrap_or_default(),
        at_right: tasks.right_judge.map(Judge::finish).unwrap_or_default(),
        stall,
        stalled,
        run_delay: waited.filter(|_| !in_process),
    })
}

/// Time in which a thread did not run although it wanted to, read before and after its rounds.
pub(crate) struct Waits {
    run_delay: Option<u64>,
    /// Start of the rounds, with the CPU time until then, of a thread that polls a DUT and never sleeps: a hypervisor's time is
    /// no run delay, but Linux leaves it out of the CPU time (`CONFIG_PARAVIRT_TIME_ACCOUNTING`).
    began: Option<(Clock, Ticks, u64)>,
}

impl Waits {
    /// If stalls do not show all waits of the thread: it calls into the kernel, or polls a DUT.
    pub(crate) fn of(lane: &Lane, in_process: bool, clock: Clock) -> Waits {
        let polls = lane.companion.is_some();
        let run_delay = (!in_process || polls).then(port::host::thread_run_delay_nanos).flatten();
        Waits { run_delay, began: (in_process && polls).then(|| Waits::begun(clock)) }
    }

    fn begun(clock: Clock) -> (Clock, Ticks, u64) {
        let cpu = port::host::thread_cpu_nanos();
        (clock, clock.now(), cpu)
    }

    pub(crate) fn since(&self) -> Option<Nanos> {
        let off_core = self.began.map(|(clock, began, cpu)| {
            let whole = clock.nanos(clock.now() - began);
            Nanos(whole.saturating_sub(port::host::thread_cpu_nanos() - cpu))
        });
        let now = self.run_delay.and_then(|_| port::host::thread_run_delay_nanos());
        let run_delay = now.zip(self.run_delay).map(|(now, before)| Nanos(now.saturating_sub(before)));
        run_delay.max(off_core)
    }
}

/// Stops the other lanes if this one panics.
pub(crate) struct PanicGuard<'s>(pub(crate) &'s Shared);

impl Drop for PanicGuard<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.broken.store(true, Ordering::Relaxed);
        }
    }
}

struct Round<'r, 'a> {
    clock: Clock,
    shared: &'r Shared,
    tasks: Tasks<'a>,
    left: &'r mut Option<Box<dyn Port>>,
    right: &'r mut Option<Box<dyn Port>>,
    pool: &'r mut Pool,
    companion: &'r mut Option<Companion>,
    /// True if back-end calls run no device.
    in_process: bool,
    rounds: Rounds,
    early: Watch,
    beside: Ticks,
    ran: bool,
    got: usize,
    now: Ticks,
}

impl Round<'_, '_> {
    /// Receives at most `queued` more frames, which arrived in time even if this thread was
    /// preempted.
    fn until_drained(&mut self, drain: Ticks, mut queued: usize) -> Result<(), PortError> {
        let mut left_sending = self.tasks.left_sender.is_some();
        let mut right_sending = self.tasks.right_sender.is_some();
        while !self.shared.stop.load(Ordering::Relaxed) && !self.shared.broken.load(Ordering::Relaxed) {
            let now = if self.ran { self.now } else { self.clock.now() };
            let inside = self.inside();
            self.rounds.begin(now, inside);
            self.now = now;
            (self.ran, self.got) = (false, 0);
            if left_sending && !(right_sending && self.is_held(true)) {
                left_sending = self.poll_sender(true)?;
            }
            if right_sending && !(left_sending && self.is_held(false)) {
                right_sending = self.poll_sender(false)?;
            }
            if let Some(companion) = self.companion {
                let before = self.clock.now();
                companion();
                self.now = self.clock.now();
                self.beside += self.now - before;
            }
            if let (Some(judge), Some(port)) = (&mut self.tasks.right_judge, self.right.as_mut()) {
                let got;
                (got, self.now) = judge.poll(self.now, port, self.pool)?;
                self.got += got;
            }
            if let (Some(judge), Some(port)) = (&mut self.tasks.left_judge, self.left.as_mut()) {
                let got;
                (got, self.now) = judge.poll(self.now, port, self.pool)?;
                self.got += got;
            }
            self.ran |= self.got > 0;
            if now >= self.early.next && self.ends_early(now) {
                for (sending, is_left) in [(&mut left_sending, true), (&mut right_sending, false)] {
                    if std::mem::take(sending) {
                        self.end_sender(is_left);
                    }
                }
            }
            // A lane that reads 0 senders must see when the last one finished.
            if self.shared.sending.load(Ordering::Acquire) == 0
                && now > self.shared.sent_at.load(Ordering::Relaxed).saturating_add(drain)
            {
                if self.got == 0 || self.got > queued {
                    break;
                }
                queued -= self.got;
            }
        }
        Ok(())
    }

    /// Time in the companion and kernel ports, but not in in-process links.
    #[inline(always)]
    fn inside(&self) -> Ticks {
        if self.in_process {
            return self.beside;
        }
        let Tasks { left_sender, right_sender, left_judge, right_judge } = &self.tasks;
        let sent = |sender: &Option<Sender<'_>>| sender.as_ref().map_or(0, Sender::inside);
        let judged = |judge: &Option<Judge<'_>>| judge.as_ref().map_or(0, |judge| judge.findings.backend);
        self.beside + sent(left_sender) + sent(right_sender) + judged(left_judge) + judged(right_judge)
    }

    /// So that the directions keep their ratio without a schedule.
    #[inline(always)]
    fn is_held(&self, is_left: bool) -> bool {
        self.shared.held.is_some_and(|ratio| self.has_sent_its_part(is_left, ratio))
    }

    #[inline(never)]
    fn has_sent_its_part(&self, is_left: bool, ratio: DirectionRatio) -> bool {
        let (Some(left), Some(right)) = (&self.tasks.left_sender, &self.tasks.right_sender) else { return false };
        let (slower, faster) = if is_left { (left, right) } else { (right, left) };
        let is_slower = ratio.is_faster_forward() != is_left;
        is_slower && slower.progress() * u64::from(ratio.faster()) >= faster.progress() * u64::from(ratio.slower())
    }

    #[inline(never)]
    fn ends_early(&mut self, now: Ticks) -> bool {
        let Tasks { left_sender, right_sender, left_judge, right_judge } = &self.tasks;
        let sent = |sender: &Option<Sender<'_>>| sender.as_ref().map_or(0, Sender::progress);
        let received = |judge: &Option<Judge<'_>>| judge.as_ref().map_or(0, Judge::received);
        let counts = [(sent(left_sender), received(right_judge)), (sent(right_sender), received(left_judge))];
        self.early.ends(self.shared.early.as_ref(), counts, now)
    }

    fn end_sender(&mut self, is_left: bool) {
        let sender = if is_left { &mut self.tasks.left_sender } else { &mut self.tasks.right_sender };
        if let Some(sender) = sender {
            sender.end();
        }
        self.shared.sent_at.fetch_max(self.clock.now(), Ordering::Relaxed);
        self.shared.sending.fetch_sub(1, Ordering::Release);
    }

    fn poll_sender(&mut self, is_left: bool) -> Result<bool, PortError> {
        let (sender, port) = if is_left {
            (&mut self.tasks.left_sender, self.left.as_mut())
        } else {
            (&mut self.tasks.right_sender, self.right.as_mut())
        };
        let (Some(sender), Some(port)) = (sender, port) else { return Ok(false) };
        let before = sender.last_handed();
        let more = sender.poll(self.now, port, self.pool)?;
        if sender.last_handed() != before {
            (self.ran, self.now) = (true, sender.last_handed());
        }
        if !more {
            self.shared.sent_at.fetch_max(self.clock.now(), Ordering::Relaxed);
            self.shared.sending.fetch_sub(1, Ordering::Release);
        }
        Ok(more)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Like time that a hypervisor takes, sleep is neither run delay nor CPU time.
    #[test]
    fn time_off_the_core_counts_whatever_took_it() {
        let clock = Clock::system();
        let waits = Waits { run_delay: None, began: Some(Waits::begun(clock)) };
        std::thread::sleep(Duration::from_millis(5));
        let waited = waits.since().unwrap();
        assert!(waited >= Nanos::from_millis(4), "{waited:?}");
    }
}
