//! The service of a lane: answers frames without a tag, such as ARP, Neighbor Discovery and pings,
//! during and between trials, without counting them.

use port::{Burst, Frame, Pool, Port, PortError};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Result of a service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServiceVerdict {
    /// The frame is an answer for the port of its arrival.
    Answer,
    /// The service took the frame and has no answer.
    Taken,
    /// A foreign frame.
    Foreign,
}

/// Handles a frame without a tag at Left (`true`) or Right. It must not allocate, lock or make system calls.
pub type Service = Box<dyn FnMut(bool, &mut Frame) -> ServiceVerdict + Send>;

/// Interval of polls between phases: a requester's longest wait.
pub(crate) const INTERVAL: Duration = Duration::from_millis(2);
/// Attempts to transmit an answer; the requester asks again.
const ATTEMPTS: usize = 16;

#[derive(Default)]
pub(crate) struct Desk<'a> {
    /// Service, and whether this judge is at Left; the lock is always free, because judges of one
    /// thread share it.
    service: Option<(&'a Mutex<Service>, bool)>,
    answers: Burst,
    failed: Option<PortError>,
}

impl<'a> Desk<'a> {
    pub(crate) fn of(service: &'a Mutex<Service>, left: bool) -> Desk<'a> {
        Desk { service: Some((service, left)), answers: port::burst(), failed: None }
    }

    /// Frames whose bits are set; returns the bits of those that are foreign.
    #[cold]
    pub(crate) fn handle(&mut self, frames: &mut [Frame], which: u32, pool: &mut Pool) -> u32 {
        let Some((service, left)) = self.service else { return which };
        let mut service = service.lock().unwrap_or_else(PoisonError::into_inner);
        let mut foreign = 0;
        for (bit, frame) in frames.iter_mut().enumerate() {
            if which & 1 << bit != 0 {
                let served = handle(&mut service, left, frame, pool, &mut self.answers);
                foreign |= u32::from(served == ServiceVerdict::Foreign) << bit;
            }
        }
        foreign
    }

    /// Sends the answers; false with a [`Desk::error`] if the port failed.
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

/// An empty frame takes an answer's place in the burst.
pub(crate) fn handle(
    service: &mut Service,
    left: bool,
    frame: &mut Frame,
    pool: &mut Pool,
    answers: &mut Burst,
) -> ServiceVerdict {
    let served = service(left, frame);
    // Without a free frame, the requester asks again.
    if served == ServiceVerdict::Answer
        && let Some(empty) = pool.alloc(0)
    {
        answers.push(std::mem::replace(frame, empty));
    }
    served
}

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
