//! A lane: one thread of the tester with its core, its pool and its ends of the links, polling its send and
//! receive tasks in turn. The same code runs everything on one core of a laptop or on many of a server.

use crate::judge::{Findings, Judge};
use crate::sender::Sender;
use method::{Leg, Nanos};
use port::{Clock, Pool, Port, PortError, Ticks};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

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

/// What all lanes of a phase share.
pub struct Shared {
    /// Start of the phase in ticks.
    pub start: Ticks,
    /// Senders that have not finished.
    pub sending: AtomicUsize,
    /// When the last sender finished.
    pub sent_at: AtomicU64,
    /// Set by whoever wants everything to end now.
    pub stop: Arc<AtomicBool>,
    /// A port of some lane is broken.
    pub broken: AtomicBool,
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
    /// Longest time between two rounds in which nothing was handed over.
    pub stall: Nanos,
    /// Time the scheduler kept the thread waiting, where the kernel says so.
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
    if let Some(core) = lane.core {
        port::host::pin(core)?;
    }
    port::host::hurry();
    let delay_before = port::host::thread_run_delay_nanos();
    let Lane { left, right, pool, companion, .. } = lane;
    let mut round = Round { clock, shared, tasks, left, right, pool, companion, stall: 0, ran: false, now: 0 };
    let ended = round.until_drained(drain);
    if ended.is_err() {
        shared.broken.store(true, Ordering::Relaxed);
    }
    let Round { tasks, pool, stall, .. } = round;
    let run_delay = port::host::thread_run_delay_nanos().zip(delay_before).map(|(a, b)| Nanos(a - b));
    ended?;
    Ok(Report {
        left_sent: tasks.left_sender.map(|s| s.finish(pool)),
        right_sent: tasks.right_sender.map(|s| s.finish(pool)),
        at_left: tasks.left_judge.map(|j| j.findings).unwrap_or_default(),
        at_right: tasks.right_judge.map(|j| j.findings).unwrap_or_default(),
        stall: Nanos(clock.nanos(stall)),
        run_delay,
    })
}

struct Round<'r, 'a> {
    clock: Clock,
    shared: &'r Shared,
    tasks: Tasks<'a>,
    left: &'r mut Option<Box<dyn Port>>,
    right: &'r mut Option<Box<dyn Port>>,
    pool: &'r mut Pool,
    companion: &'r mut Option<Companion>,
    stall: Ticks,
    /// Something was handed over or received in this round.
    ran: bool,
    /// The last reading of the clock.
    now: Ticks,
}

impl Round<'_, '_> {
    fn until_drained(&mut self, drain: Ticks) -> Result<(), PortError> {
        let mut last = self.clock.now();
        let mut left_sending = self.tasks.left_sender.is_some();
        let mut right_sending = self.tasks.right_sender.is_some();
        let start = self.shared.start;
        while !self.shared.stop.load(Ordering::Relaxed) && !self.shared.broken.load(Ordering::Relaxed) {
            // After a judgement the clock has been read just now.
            let now = if self.ran { self.now } else { self.clock.now() };
            // Between two looks at the clock a lane does at most a burst a task; whatever is much longer was a stall,
            // unless it was spent inside a port (there the DUT may have been at work).
            if !self.ran && now > start {
                self.stall = self.stall.max(now - last);
            }
            (last, self.now) = (now, now);
            self.ran = false;
            if left_sending {
                left_sending = self.poll_sender(true)?;
            }
            if right_sending {
                right_sending = self.poll_sender(false)?;
            }
            if let Some(companion) = self.companion {
                companion();
                self.now = self.clock.now();
            }
            if let (Some(judge), Some(port)) = (&mut self.tasks.right_judge, self.right.as_mut()) {
                let got;
                (got, self.now) = judge.poll(self.now, port, self.pool)?;
                self.ran |= got > 0;
            }
            if let (Some(judge), Some(port)) = (&mut self.tasks.left_judge, self.left.as_mut()) {
                let got;
                (got, self.now) = judge.poll(self.now, port, self.pool)?;
                self.ran |= got > 0;
            }
            if self.shared.sending.load(Ordering::Relaxed) == 0
                && now > self.shared.sent_at.load(Ordering::Relaxed).saturating_add(drain)
            {
                break;
            }
        }
        Ok(())
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
