//! A lane: one thread of the tester with its core, its pool and its ends of the links, polling its send and
//! receive tasks in turn. The same code runs everything on one core of a laptop or on many of a server.

use crate::judge::{Findings, Judge};
use crate::sender::Sender;
use method::{Leg, Nanos};
use port::link::Steer;
use port::{Clock, Pool, Port, PortError, Ticks};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;
use wire::{Expect, Tag};

/// What a lane polls besides its own tasks, on its own core: a DUT that has no core of its own.
pub type Companion = Box<dyn FnMut() + Send>;

/// One tester thread's belongings.
pub struct Lane {
    /// Core to run on; `None`: wherever the scheduler likes.
    pub core: Option<usize>,
    /// Frames.
    pub pool: Pool,
    /// End of the link at the Initiator's side.
    pub left: Option<Box<dyn Port>>,
    /// End of the link at the Responder's side.
    pub right: Option<Box<dyn Port>>,
    /// A DUT that is polled by this thread.
    pub companion: Option<Companion>,
}

/// How a link spreads the frames of which this is expected over the lanes at its end: each lane gets back what it has sent.
/// Any lane may judge any frame, but so every queue has the same share of the rate, frames of one sender come in a row, and
/// the sender frees them itself.
pub fn back_to_sender(expect: &Expect) -> Steer {
    Steer::Byte { at: expect.tag_at() + Tag::SENDER_AT }
}

/// What all lanes of a phase share.
pub struct Shared {
    /// Lanes that are not yet on their cores.
    pub starting: AtomicUsize,
    /// Start of the phase in ticks, 0 until the last lane is on its core. A thread may wait long for a busy core; were
    /// the start fixed before, the phase would begin with a burst.
    pub start: AtomicU64,
    /// From the moment that all lanes are ready to the start.
    pub start_delay: Ticks,
    /// Senders that have not finished.
    pub sending: AtomicUsize,
    /// When the last sender finished.
    pub sent_at: AtomicU64,
    /// The trial is short enough that lanes can be before all other threads to its end.
    pub short: bool,
    /// Set by whoever wants everything to end now.
    pub stop: Arc<AtomicBool>,
    /// A port of some lane is broken.
    pub broken: AtomicBool,
}

/// Between two looks whether all lanes are ready; far less than there is from then to the start.
const WAIT_FOR_OTHERS: Duration = Duration::from_micros(50);

impl Shared {
    /// Wait until all lanes are ready; the last one sets the start.
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
            // Not spinning: a lane that comes before all other threads of its core would keep from it a lane that is still on its
            // way to its own, or the thread that is to start one.
            std::thread::sleep(WAIT_FOR_OTHERS);
        }
    }
}

/// One lane's part of a phase.
#[derive(Default)]
pub struct Report {
    /// What its Left sender did.
    pub left_sent: Option<Leg>,
    /// What its Right sender did.
    pub right_sent: Option<Leg>,
    /// What arrived at Left.
    pub at_left: Findings,
    /// What arrived at Right.
    pub at_right: Findings,
    /// Longest time between two rounds, without what was spent where the DUT may have been at work: inside the companion, and
    /// inside ports of the kernel.
    pub stall: Nanos,
    /// Time that the thread was runnable and waited for its core, where the kernel says so.
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

/// Poll the tasks in turn until everything is sent and the drain is over, or `stop` is set.
///
/// # Errors
/// When a port breaks. The other lanes are told to stop.
pub fn run(
    clock: Clock,
    drain: Ticks,
    shared: &Shared,
    tasks: Tasks<'_>,
    lane: &mut Lane,
) -> Result<Report, PortError> {
    let _told = Told(shared);
    if let Err(error) = port::host::place(lane.core) {
        // Nobody shall wait for a lane that does not come.
        shared.broken.store(true, Ordering::Relaxed);
        return Err(error);
    }
    // On in-process links nothing is left to the kernel; on all others its own threads have work to do for us.
    let facts: Vec<_> = lane.left.iter().chain(&lane.right).map(Port::facts).collect();
    let in_process = facts.iter().all(|f| f.backend == "link");
    // Who has no core of its own must let others run, or two lanes that wait for a third on their cores wait for ever.
    let alone = lane.core.is_some() && in_process;
    let _ = (alone && shared.short && port::host::preempt_others()) || port::host::hurry();
    // Its ports are open. Best effort, as the priority: a thread that is not limited measures as well.
    let _ = port::privileges::limit_measuring_thread();
    // 0 is "unknown": then what one poll of each port fetches.
    let queued = facts.iter().map(|f| f.own_queue.max(port::BATCH) * f.own_queues.max(1)).sum();
    let start = shared.all_ready(clock);
    // A file is read for it: before the start and after the end, never in between.
    let waited_before = port::host::thread_run_delay_nanos();
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
        stall: 0,
        beside: 0,
        ran: false,
        got: 0,
        now: 0,
    };
    let ended = round.until_drained(drain, queued);
    let run_delay =
        port::host::thread_run_delay_nanos().zip(waited_before).map(|(after, before)| after.saturating_sub(before));
    if ended.is_err() {
        shared.broken.store(true, Ordering::Relaxed);
    }
    let Round { tasks, pool, stall, .. } = round;
    ended?;
    Ok(Report {
        left_sent: tasks.left_sender.map(|s| s.finish(pool)),
        right_sent: tasks.right_sender.map(|s| s.finish(pool)),
        at_left: tasks.left_judge.map(|j| j.findings).unwrap_or_default(),
        at_right: tasks.right_judge.map(|j| j.findings).unwrap_or_default(),
        stall: Nanos(clock.nanos(stall)),
        run_delay: run_delay.map(Nanos),
    })
}

/// Tells the other lanes of a panic in this one: they would wait for its frames for ever.
struct Told<'s>(&'s Shared);

impl Drop for Told<'_> {
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
    /// Both ports are ends of in-process links, in whose calls no device works.
    in_process: bool,
    stall: Ticks,
    /// Time spent in the companion.
    beside: Ticks,
    /// Something was handed over or received in this round.
    ran: bool,
    /// Frames received in this round.
    got: usize,
    /// The last reading of the clock.
    now: Ticks,
}

impl Round<'_, '_> {
    /// Until everybody has sent, the drain is over, and what waited for this lane by then is fetched: it has arrived in
    /// time, even if this thread was not on its core. No more than `queued` frames, which is all that can have waited.
    fn until_drained(&mut self, drain: Ticks, mut queued: usize) -> Result<(), PortError> {
        let (mut last, mut spent) = (self.clock.now(), self.inside());
        let mut left_sending = self.tasks.left_sender.is_some();
        let mut right_sending = self.tasks.right_sender.is_some();
        let start = self.shared.start.load(Ordering::Relaxed);
        while !self.shared.stop.load(Ordering::Relaxed) && !self.shared.broken.load(Ordering::Relaxed) {
            // After a judgement the clock has been read just now.
            let now = if self.ran { self.now } else { self.clock.now() };
            // Between two looks at the clock a lane does at most a burst a task; whatever is much longer was a stall, unless it
            // was spent where the DUT may have been at work.
            let inside = self.inside();
            if now > start {
                self.stall = self.stall.max((now - last).saturating_sub(inside - spent));
            }
            spent = inside;
            (last, self.now) = (now, now);
            (self.ran, self.got) = (false, 0);
            if left_sending {
                left_sending = self.poll_sender(true)?;
            }
            if right_sending {
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
            // Acquire: who sees that nobody sends any more must also see when the last one ended.
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

    /// Time spent so far where the DUT may have been at work: in the companion, and in ports of the kernel. A call of an
    /// in-process link is a copy of some pointers; a hypervisor that takes the core away in it stalls the tester.
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
