//! The service of a lane: answers for the tester what a link carries besides test frames, such as ARP, Neighbor Discovery and
//! pings. It gets every frame without a tag, at any time: during a trial from the judge, otherwise from a
//! lane that is not running. What it takes is in no counter and no fault.

use crate::lane::Lane;
use port::{Burst, Frame, Pool, Port, PortError};
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
/// How often an answer is offered to a port that does not take it because of back-pressure. Whoever gets none asks again.
const ATTEMPTS: usize = 16;
/// Bursts that are taken from a port at a time, so that a flood does not hold the thread.
const BURSTS: usize = 64;

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
pub(crate) fn send(answers: &mut Burst, port: &mut dyn Port, pool: &mut Pool) -> Result<(), PortError> {
    for _ in 0..ATTEMPTS {
        if answers.is_empty() {
            break;
        }
        port.transmit(pool, answers)?;
    }
    pool.free_all(answers);
    Ok(())
}

/// Lets the service of a lane that is not running handle what has arrived at its ports. All other frames are thrown away.
/// A lane without a service is not touched: the next trial finds what has arrived there.
pub(crate) fn idle(lane: &mut Lane) -> Result<(), PortError> {
    let Lane { left, right, pool, service: Some(service), .. } = lane else { return Ok(()) };
    let (mut burst, mut answers) = (port::burst(), port::burst());
    for (is_left, port) in [(true, left), (false, right)] {
        let Some(port) = port else { continue };
        for _ in 0..BURSTS {
            if port.receive(pool, &mut burst)? == 0 {
                break;
            }
            for frame in &mut burst {
                handle(service, is_left, frame, pool, &mut answers);
            }
            pool.free_all(&mut burst);
            send(&mut answers, &mut **port, pool)?;
        }
    }
    Ok(())
}
