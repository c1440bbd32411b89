//! One trial as data: what is asked for ([`TrialSpec`]), what happened ([`TrialOutcome`]) and who
//! carries it out ([`Trials`]). These types are what `trials.jsonl` holds, so a run can be replayed.

use crate::units::{Count, Nanos, Rate};
use serde::{Deserialize, Serialize};

/// The direction or directions in which a trial sends. Forward is Left to Right, which in a stateful
/// test is Initiator to Responder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// Both directions at the same rate (RFC 2544, section 14): the default.
    Both,
    /// Left to Right only.
    Forward,
    /// Right to Left only.
    Reverse,
}

impl Direction {
    /// Whether Left sends.
    pub fn forward(self) -> bool {
        self != Direction::Reverse
    }
    /// Whether Right sends.
    pub fn reverse(self) -> bool {
        self != Direction::Forward
    }
    /// How many directions are active.
    pub fn count(self) -> u64 {
        1 + u64::from(self == Direction::Both)
    }
}

/// How much a trial sends in each active direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Load {
    /// floor(rate × duration) frames.
    For(Nanos),
    /// Exactly this many frames.
    Frames(Count),
}

/// What kind of traffic a trial is made of (RFC 9693, sections 4.2 to 4.7).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PhaseKind {
    /// Stateless test: both sides send freely.
    Stateless,
    /// Phase 1: the Initiator opens each of N connections once; the Responder listens and learns. With a
    /// `validate_rate` the Responder then sends one frame on each, in the same trial.
    Establish,
    /// Phase 2: frames on the connections of the phase 1 before it.
    Established,
}

/// The order in which connections are used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// Pseudo-random (recommended by RFC 9693).
    #[default]
    Random,
    /// One after the other, round robin.
    RoundRobin,
}

/// What one trial is asked to do.
///
/// `Establish` trials always start from an empty connection tracking table: the carrier of the trial
/// clears it first. `Established` trials are preceded by a phase 1 of their own, at `phase1_rate`,
/// unless `keep_table` says that the table of the trial before is to be used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrialSpec {
    /// Kind of traffic.
    pub kind: PhaseKind,
    /// Intended load, frames per second per direction.
    pub rate: Rate,
    /// How much is sent per active direction.
    pub load: Load,
    /// Active directions.
    pub direction: Direction,
    /// Connections that phase 1 opens (N); 0 in stateless tests.
    pub connections: Count,
    /// Rate of the phase 1 that precedes this trial, connections per second.
    pub phase1_rate: Option<Rate>,
    /// For `Establish`: validate afterwards at this rate, as part of the same trial (RFC 9693, 4.6).
    pub validate_rate: Option<Rate>,
    /// Use the table that the trial before left (departs from RFC 9693 and is printed).
    pub keep_table: bool,
    /// Order in which the Responder uses its state table.
    pub responder_order: Order,
}

impl TrialSpec {
    /// Frames that each active direction has to send: what the sender is held to, whatever it planned.
    pub fn frames(&self) -> Count {
        match self.load {
            Load::For(duration) => self.rate.frames_in(duration),
            Load::Frames(frames) => frames,
        }
    }
    /// The time that sending takes by plan; limits relative to the duration refer to it.
    pub fn send_time(&self) -> Nanos {
        self.rate.time_for(self.frames())
    }
}

/// Why a frame that came back is not right. One fault a frame: the judge looks at tag, length, addresses and ports, pool,
/// header, payload, checksums, hop limit and duplicates, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fault {
    /// No tag of ours: not a test frame at all. Counted, never added to anything.
    Foreign,
    /// A test frame of an earlier trial.
    Late,
    /// A test frame that nobody sent on this stream or with this sequence number.
    Unexpected,
    /// The frame has another length than it was sent with.
    WrongLength,
    /// An address is not the one that this flow must have.
    WrongAddress,
    /// A port is not the one that this flow must have.
    WrongPort,
    /// The outside address or port lies outside the DUT's pool or port set.
    OutsidePool,
    /// Hop limit (TTL) differs from that of the first frame of the trial.
    WrongHopLimit,
    /// Another header field (type, version, protocol, TOS, …) is wrong.
    WrongHeader,
    /// IP header or UDP checksum is wrong.
    BadChecksum,
    /// Payload differs from what was sent.
    WrongPayload,
    /// A right frame that had arrived before.
    Duplicate,
}

impl Fault {
    /// All faults, in the order in which they are filed.
    pub const ALL: [Fault; 12] = [
        Fault::Foreign,
        Fault::Late,
        Fault::Unexpected,
        Fault::WrongLength,
        Fault::WrongAddress,
        Fault::WrongPort,
        Fault::OutsidePool,
        Fault::WrongHopLimit,
        Fault::WrongHeader,
        Fault::BadChecksum,
        Fault::WrongPayload,
        Fault::Duplicate,
    ];
}

/// Frames per [`Fault`], indexed by the fault's position in [`Fault::ALL`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct FaultCounts(pub [Count; Fault::ALL.len()]);

impl FaultCounts {
    /// Frames with this fault.
    pub fn get(&self, fault: Fault) -> Count {
        self.0[fault as usize]
    }
    /// Count one more.
    #[inline]
    pub fn add(&mut self, fault: Fault) {
        self.0[fault as usize] += 1;
    }
    /// Add the counts of another receiver of the same direction.
    pub fn merge(&mut self, other: &FaultCounts) {
        for (a, b) in self.0.iter_mut().zip(other.0) {
            *a += b;
        }
    }
    /// Frames with any fault.
    pub fn total(&self) -> Count {
        self.0.iter().sum()
    }
    /// The faults that occurred, with their counts.
    pub fn iter(&self) -> impl Iterator<Item = (Fault, Count)> + '_ {
        Fault::ALL.iter().map(|&f| (f, self.get(f))).filter(|&(_, n)| n > 0)
    }
}

/// What happened in one direction of a trial. Three loads, none inferred from another (invariant 10):
/// `planned`/rate is the intended load, `sent` over `send_time` the offered load, `received` over the
/// same time the forwarding rate.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Leg {
    /// Frames that were to be sent (0: direction not active).
    pub planned: Count,
    /// Frames that were handed to the DUT, those refused by its ingress queue included.
    pub sent: Count,
    /// Of `sent`: frames that the DUT's ingress queue refused (lost by the DUT, never retried).
    pub refused: Count,
    /// Distinct right frames of this trial that arrived.
    pub received: Count,
    /// Of `received`: frames that arrived after a frame of the same sender with a higher sequence number.
    pub reordered: Count,
    /// Everything else that arrived.
    pub faults: FaultCounts,
    /// From the first frame's due time to the hand-over of the last.
    pub send_time: Nanos,
    /// How the sender kept its schedule.
    pub timing: Timing,
}

impl Leg {
    /// Frames sent and never received right.
    pub fn lost(&self) -> Count {
        self.sent.saturating_sub(self.received)
    }
}

/// How a sender kept its schedule.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timing {
    /// Declared burst: frames that leave together by plan, 1..=32.
    pub burst: u32,
    /// Largest number of frames that left in one go to catch up.
    pub worst_burst: u32,
    /// How many times more than the declared burst left in one go.
    pub catch_ups: Count,
    /// Frames that left while more than a full burst of 32 was overdue.
    #[serde(default)]
    pub crowded: Count,
    /// How late the last frame was.
    pub finished_late: Nanos,
    /// How late the latest burst was.
    pub worst_late: Nanos,
    /// CPU time of the sender's own code, back-end excluded (building, pacing, judging on the same thread).
    pub own_time: Nanos,
    /// CPU or wall time inside the back-end's calls (where an inline DUT does its work).
    pub backend_time: Nanos,
}

/// What the host did to the measurement while it ran.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostNoise {
    /// Longest time between two rounds of a tester thread, without what it spent where the DUT may be at work: inside ports of
    /// the kernel, and inside a DUT that it polls.
    pub tester_stall: Nanos,
    /// The same for the DUT's threads, where they are ours to look at.
    pub dut_stall: Nanos,
    /// Time that a tester thread was runnable and waited for its core, in all (the scheduler's run delay; that of the
    /// thread that waited longest); `None` where the kernel does not keep it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tester_run_delay: Option<Nanos>,
    /// The same for the DUT's threads: workers of the embedded gateway, packet threads of the kernel on cores of the DUT's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dut_run_delay: Option<Nanos>,
    /// For how long the shortest known queue in front of the DUT or of the receiver lasts at the offered rate; `None` if
    /// none is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue_lasts: Option<Nanos>,
    /// Frames that the shortest queue in front of the DUT holds; `None` if one of them is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dut_queue: Option<Count>,
    /// Frames that the tester's own sockets or rings dropped.
    pub tester_drops: Count,
    /// A port lost its link.
    pub link_lost: bool,
}

/// What the two state tables said around a stateful trial.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoreFacts {
    /// Four-tuples the Responder learned in phase 1.
    pub learned: Count,
    /// Entries of the DUT's connection tracking table after phase 1, where it can be asked.
    pub dut_entries: Option<Count>,
    /// The same after phase 2.
    pub dut_entries_after: Option<Count>,
    /// Frames that phase 1 lost before a phase 2 trial (it is repeated then).
    pub phase1_lost: Count,
    /// Connections that the preparing phase 1 sent again because a stall of the host had swallowed their frames.
    #[serde(default)]
    pub phase1_resent: Count,
    /// How many phase 1 attempts this trial needed.
    pub phase1_attempts: u32,
    /// The rate that phase 1 really used, connections per second.
    pub phase1_rate: Option<Rate>,
}

/// Where the DUT does its work, as far as validity depends on it (METHODOLOGY.md, closed loop).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Loop {
    /// The DUT runs elsewhere: an over-rate shows as loss.
    #[default]
    Open,
    /// The DUT's work is done inside the sender's calls or on its core: an over-rate shows as a late sender. Threads of the
    /// kernel may do a part of it, so that waiting for the core may be waiting for the DUT.
    Closed,
    /// The same, and all of the work is done by the sender's own thread: waiting for the core is the host's.
    Inline,
}

impl Loop {
    /// Whether an over-rate shows as a late sender.
    pub fn is_closed(self) -> bool {
        self != Loop::Open
    }
}

/// What one trial did, complete enough to judge it later from the file alone.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrialOutcome {
    /// Left to Right.
    pub forward: Leg,
    /// Right to Left.
    pub reverse: Leg,
    /// The validation leg of an `Establish` trial with validation (Right to Left, each connection once).
    pub validation: Option<Leg>,
    /// Where a preparing phase 1 stayed incomplete, so that nothing followed it: that phase, its last attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase1: Option<Leg>,
    /// What the host did.
    pub host: HostNoise,
    /// Where the DUT does its work.
    pub dut_loop: Loop,
    /// State tables, in stateful trials.
    pub store: Option<StoreFacts>,
    /// Hop limit learned from the first right frame, per direction (forward, reverse).
    pub hop_limit: [Option<u8>; 2],
    /// Wall time of the whole trial, phase 1, waits and drain included.
    pub wall: Nanos,
}

/// Why a trial could not be carried out at all. None of these is a result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TrialError {
    /// Ctrl-C or a stop request: the run can be resumed.
    #[error("interrupted")]
    Interrupted,
    /// No frame came back at all, or the DUT's own probe failed: never reported as a low rate.
    #[error("the device under test does not answer: {0}")]
    DutDead(String),
    /// The tester itself failed (a port, memory, a clock).
    #[error("the tester failed: {0}")]
    Tester(String),
    /// The record could not be stored (disk full, read-only folder).
    #[error("the trial could not be recorded: {0}")]
    Store(String),
    /// A recorded trial is not the one that is asked for: the run folder belongs to other settings.
    #[error("the recorded trials do not fit these settings: {0}")]
    Mismatch(String),
    /// The measurement would not mean what it says, so it is not begun.
    #[error("refused: {0}")]
    Refused(String),
    /// Phase 1 stayed incomplete, so nothing after it can be measured.
    #[error("phase 1 does not complete: {0}")]
    Phase1(String),
}

/// Whoever carries out trials: the engine, or middleware around it (record, retry, replay), or a
/// simulated device in tests.
pub trait Trials {
    /// Carry out exactly one trial.
    ///
    /// # Errors
    /// Only when there is no outcome at all; a bad outcome is an `Ok`.
    fn run(&mut self, spec: &TrialSpec) -> Result<TrialOutcome, TrialError>;

    /// The trials that follow belong to this series, and so many of it were run before, perhaps by another process. Only
    /// who draws something at random, and is to draw the same again, needs to know.
    fn begin(&mut self, _series: &str, _before: u64) {}
}

impl<T: Trials + ?Sized> Trials for &mut T {
    fn run(&mut self, spec: &TrialSpec) -> Result<TrialOutcome, TrialError> {
        (**self).run(spec)
    }
    fn begin(&mut self, series: &str, before: u64) {
        (**self).begin(series, before);
    }
}
