//! The service of a lane: answers for the tester what a link carries besides test frames, such as ARP, Neighbor Discovery and
//! pings. It gets every frame without a tag, at any time: during a trial from the judge, otherwise from a
//! lane that is not running. What it takes is in no counter and no fault.

use port::{Burst, Frame, Pool, Port, PortError};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// What a service made of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Served {
    /// The frame has become its answer, to be sent on the port on which it arrived.
    Answer,
    /// The frame was for the service, and nothing is to be sent.
    Taken,
    /// The frame is not for the service: a foreign frame.
    Foreign,
}

/// Handles a frame without a tag that arrived at Left (`true`) or Right. It must not allocate, lock or make system calls,
/// because it is called during trials.
pub type Service = Box<dyn FnMut(bool, &mut Frame) -> Served + Send>;

/// Interval at which the ports of lanes that do not run are polled. A requester waits for its answer this long at most.
pub(crate) const INTERVAL: Duration = Duration::from_millis(2);
/// Attempts to transmit an answer while the port is under back-pressure. Then the answer is dropped, and ARP or Neighbor
/// Discovery asks again.
const ATTEMPTS: usize = 16;

/// The way of a judge to the service of its lane.
#[derive(Default)]
pub(crate) struct Desk<'a> {
    /// The service, and whether this judge is at Left. The judges of a lane share it on one thread, so that the lock is
    /// always free.
    service: Option<(&'a Mutex<Service>, bool)>,
    /// Answers on their way out.
    answers: Burst,
    failed: Option<PortError>,
}

impl<'a> Desk<'a> {
    pub(crate) fn of(service: &'a Mutex<Service>, left: bool) -> Desk<'a> {
        Desk { service: Some((service, left)), answers: port::burst(), failed: None }
    }

    /// Lets the service handle the frames whose bits are set. Returns how many of them are foreign: without a service, all.
    #[cold]
    pub(crate) fn handle(&mut self, frames: &mut [Frame], which: u32, pool: &mut Pool) -> u64 {
        let Some((service, left)) = self.service else { return u64::from(which.count_ones()) };
        let mut service = service.lock().unwrap_or_else(PoisonError::into_inner);
        let mut foreign = 0;
        for (bit, frame) in frames.iter_mut().enumerate() {
            if which & 1 << bit != 0 {
                let served = handle(&mut service, left, frame, pool, &mut self.answers);
                foreign += u64::from(served == Served::Foreign);
            }
        }
        foreign
    }

    /// Sends the answers. Returns false if the port failed, with this [`Desk::error`].
    #[cold]
    pub(crate) fn send(&mut self, port: &mut impl Port, pool: &mut Pool) -> bool {
        self.failed = send(&mut self.answers, port, pool).err();
        self.failed.is_none()
    }

    #[cold]
    pub(crate) fn error(&mut self) -> PortError {
        self.failed.take().unwrap_or_else(|| PortError::Unsupported("a port failed to send an answer".to_owned()))
    }
}

/// Lets the service handle one frame of a burst. An answer moves to `answers`, with an empty frame in its place.
pub(crate) fn handle(
    service: &mut Service,
    left: bool,
    frame: &mut Frame,
    pool: &mut Pool,
    answers: &mut Burst,
) -> Served {
    let served = service(left, frame);
    // With no frame at hand, the tester answers the next request.
    if served == Served::Answer
        && let Some(empty) = pool.alloc(0)
    {
        answers.push(std::mem::replace(frame, empty));
    }
    served
}

/// Sends all answers, as far as the port takes them.
pub(crate) fn send(answers: &mut Burst, port: &mut impl Port, pool: &mut Pool) -> Result<(), PortError> {
    for _ in 0..ATTEMPTS {
        if answers.is_empty() {
            break;
        }
        port.transmit(pool, answers)?;
    }
    pool.free_all(answers);
    Ok(())
}
