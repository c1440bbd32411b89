//! Verdicts on a trial, and their texts.

use crate::units::{Count, Nanos};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A stream of frames inside a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Stream {
    /// Left to Right.
    Forward,
    /// Right to Left.
    Reverse,
    /// Right to Left, one frame on each connection after phase 1.
    Validation,
}

impl fmt::Display for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Stream::Forward => "Left to Right",
            Stream::Reverse => "Right to Left",
            Stream::Validation => "validation",
        })
    }
}

/// The verdict on one trial.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Every stream met its acceptance.
    Pass,
    /// The DUT failed at this rate.
    Fail(Failure),
    /// Invalid: the tester or host noise disturbed the trial.
    Invalid(Invalid),
}

/// A failure of the DUT.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Failure {
    /// The criterion that was missed.
    pub reason: FailReason,
    /// Whether the DUT worked inside the sender's thread: the rate is that of DUT and tester together, printed as
    /// "closed loop, tester included".
    pub closed_loop: bool,
}

/// The criterion that a failed trial missed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, thiserror::Error)]
#[serde(rename_all = "kebab-case")]
pub enum FailReason {
    /// Fewer right frames arrived than the acceptance requires.
    #[error("{stream}: {received} of {sent} frames received, {needed} needed")]
    Loss {
        /// The stream with the loss.
        stream: Stream,
        /// Frames sent.
        sent: Count,
        /// Distinct right frames received.
        received: Count,
        /// Frames required by the acceptance.
        needed: Count,
    },
    /// The sender was late, although the tester alone would have met the schedule.
    #[error("{stream}: the last frame left {} late, {} allowed", show(*late), show(*limit))]
    Late {
        /// The stream that was late.
        stream: Stream,
        /// How late its last frame was.
        late: Nanos,
        /// How late it may have been.
        limit: Nanos,
    },
}

impl Failure {
    pub fn stream(&self) -> Stream {
        match self.reason {
            FailReason::Loss { stream, .. } | FailReason::Late { stream, .. } => stream,
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Verdict::Pass => f.write_str("a pass"),
            Verdict::Fail(failure) => write!(f, "a fail ({failure})"),
            Verdict::Invalid(reason) => write!(f, "invalid ({reason})"),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.reason, if self.closed_loop { " (closed loop, tester included)" } else { "" })
    }
}

/// The reason why a trial is invalid. Its text says what happened, [`Invalid::advice`] what to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, thiserror::Error)]
#[serde(rename_all = "kebab-case")]
pub enum Invalid {
    /// The tester did not keep its schedule.
    #[error("{stream}: the tester's last frame left {} late, {} allowed", show(*late), show(*limit))]
    SenderLate {
        /// The stream that was late.
        stream: Stream,
        /// How late its last frame was.
        late: Nanos,
        /// How late it may have been.
        limit: Nanos,
    },
    /// The tester kept its schedule only in bursts, although it was not preempted. Only in records of rules before 3.
    #[error("{stream}: {crowded} of {sent} frames left in catch-up bursts: the tester was too slow to send evenly")]
    SenderUneven {
        /// The stream.
        stream: Stream,
        /// Frames that left in catch-up bursts.
        crowded: Count,
        /// Frames sent.
        sent: Count,
    },
    /// The tester sent fewer frames than specified.
    #[error("{stream}: the tester sent {sent} of {planned} frames")]
    SentTooFew {
        /// The incomplete stream.
        stream: Stream,
        /// Frames specified.
        planned: Count,
        /// Frames sent.
        sent: Count,
    },
    /// Rate × duration is less than one frame.
    #[error("{stream}: rate × duration is less than one frame")]
    NothingToSend {
        /// The stream without frames.
        stream: Stream,
    },
    /// A port lost its link.
    #[error("a port lost its link")]
    LinkLost,
    /// The tester's own sockets or rings dropped frames.
    #[error("the tester's own sockets or rings dropped {frames} frames")]
    TesterDrops {
        /// Frames dropped.
        frames: Count,
    },
    /// More right frames were received than sent: the tester's counters contradict each other.
    #[error("{stream}: {received} right frames received but only {sent} sent")]
    MoreReceivedThanSent {
        /// The stream.
        stream: Stream,
        /// Frames sent.
        sent: Count,
        /// Frames received.
        received: Count,
    },
    /// Validation was requested and did not take place.
    #[error("the connections were not validated")]
    ValidationMissing,
    /// The phase 1 before this trial lost connections, so phase 2 would have opened new ones.
    #[error("phase 1 established {learned} connections, {needed} needed")]
    Phase1Incomplete {
        /// Connections that the Responder learned.
        learned: Count,
        /// Connections that it had to learn.
        needed: Count,
    },
    /// The trial ended before its full length, but its loss does not exceed every frame that noise can have touched.
    #[error("it ended early, and noise may have touched the {lost} of {sent} frames that were lost")]
    EndedEarly {
        /// Frames lost.
        lost: Count,
        /// Frames sent.
        sent: Count,
    },
    /// In keep-table mode, connections were lost or opened between the first and the last trial.
    #[error(
        "the kept table changed: {lost} of {sampled} sampled connections did not answer at the end; entries before {}, after {}",
        known(*before), known(*after)
    )]
    TableNotKept {
        /// Connections of the sample.
        sampled: Count,
        /// Of these: without an answer after the last trial.
        lost: Count,
        /// Entries of the DUT's table before, if it can count them.
        before: Option<Count>,
        /// Entries after.
        after: Option<Count>,
    },
    /// Frames were lost in a trial with catch-up bursts. Only in records of rules before 3.
    #[error("{stream}: frames were lost in a trial with a catch-up burst of {worst} frames, {declared} declared")]
    HostBurst {
        /// The stream.
        stream: Stream,
        /// Declared burst.
        declared: u32,
        /// Largest burst that left.
        worst: u32,
    },
    /// A thread stalled for longer than the queues absorb, or for as long as a sender was late.
    #[error("a {} thread stalled for {}{}", who(*of_dut), show(*stall), queues(*stall, *queue_lasts))]
    HostStall {
        /// Whether it was a thread of the DUT, else of the tester.
        of_dut: bool,
        /// Longest stall.
        stall: Nanos,
        /// What the queues can bridge, where one is known.
        queue_lasts: Option<Nanos>,
    },
    /// A thread waited for its core (run delay) for longer than the queues absorb, or for as long as a sender was late.
    #[error(
        "a {} thread waited {} for its core (run delay){}",
        who(*of_dut), show(*delay), queues(*delay, *queue_lasts)
    )]
    HostRunDelay {
        /// Whether it was a thread of the DUT, else of the tester.
        of_dut: bool,
        /// Its total run delay.
        delay: Nanos,
        /// What the queues can bridge, where one is known.
        queue_lasts: Option<Nanos>,
    },
}

/// The cause of an invalid trial, which determines how often it is repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Spoiler {
    /// The tester: after three trials at one rate, the rate is tester-limited.
    Tester,
    /// Host noise: repeated up to 40 times.
    Host,
    /// The phase 1 before it: repeated up to three times, then with a lower rate.
    Phase1,
}

impl Invalid {
    pub fn spoiler(&self) -> Spoiler {
        match self {
            Invalid::HostBurst { .. } | Invalid::HostStall { .. } | Invalid::HostRunDelay { .. } => Spoiler::Host,
            Invalid::Phase1Incomplete { .. } => Spoiler::Phase1,
            _ => Spoiler::Tester,
        }
    }

    /// Whether a lower rate may avoid it.
    pub fn depends_on_rate(&self) -> bool {
        use Invalid::{LinkLost, MoreReceivedThanSent, NothingToSend, ValidationMissing};
        !matches!(self, LinkLost | MoreReceivedThanSent { .. } | NothingToSend { .. } | ValidationMissing)
    }

    pub fn advice(&self) -> &'static str {
        match self {
            Invalid::SenderLate { .. } | Invalid::SenderUneven { .. } | Invalid::SentTooFew { .. } => {
                "the tester cannot send at this rate: use a faster back-end, more or dedicated cores, or a lower upper end"
            }
            Invalid::NothingToSend { .. } => "use longer trials or a higher lower end of the search",
            Invalid::LinkLost => "check cables, interfaces and the peer's link state",
            Invalid::TesterDrops { .. } => {
                "enlarge the tester's receive rings, or pin its receiver to an isolated core"
            }
            Invalid::TableNotKept { .. } => "use longer time-outs of the DUT, or remove keep-table",
            Invalid::EndedEarly { .. } => "it is repeated at full length",
            Invalid::MoreReceivedThanSent { .. } | Invalid::ValidationMissing => {
                "this is a defect of the tester: please report it with the run folder"
            }
            Invalid::Phase1Incomplete { .. } => {
                "lower the rate of phase 1, or check that the DUT's table, port pool and timeouts fit this many connections"
            }
            Invalid::HostBurst { .. } | Invalid::HostStall { .. } | Invalid::HostRunDelay { .. } => {
                "reduce host noise: pin tester and DUT to isolated cores, stop other load, or use a machine that is not shared"
            }
        }
    }
}

fn known(entries: Option<Count>) -> String {
    entries.map_or("unknown".to_owned(), |count| count.to_string())
}

fn who(of_dut: bool) -> &'static str {
    if of_dut { "DUT" } else { "tester" }
}

fn queues(away: Nanos, last: Option<Nanos>) -> String {
    match last {
        None => ", no queue is known".to_owned(),
        Some(last) if last < away => format!(", the queues absorb {}", show(last)),
        Some(_) => ", which made a sender late".to_owned(),
    }
}

fn show(nanos: Nanos) -> String {
    match nanos.0 {
        0..10_000 => format!("{} ns", nanos.0),
        10_000..10_000_000 => format!("{} µs", nanos.0 / 1_000),
        10_000_000..10_000_000_000 => format!("{} ms", nanos.0 / 1_000_000),
        _ => format!("{} s", nanos.0 / 1_000_000_000),
    }
}
