//! One trial: specification ([`TrialSpec`]), outcome ([`TrialOutcome`]), execution ([`Trials`]).

mod delays;
mod device;
mod difference;
mod direction;
mod example;
mod named;
mod observed;
mod options;
mod popularity;
mod profile;
mod queries;

use crate::units::{Count, Nanos, Rate};
pub use delays::{DelayHistogram, LOST, Sample};
pub use device::{
    Action, ActionTime, Buckets, CpuIdle, Disruption, EmptyingTimes, Sampler, Survivors, TableMemory, TearDown,
};
pub use difference::Difference;
pub use direction::{Direction, DirectionRatio, Pace, of_rate};
pub use example::Example;
pub use observed::{Delays, Differences, Emptying, Losses, Observed, PerDirection, TcpCounts, WarmUpFrames};
pub use options::{Chosen, Churn, EarlyEnd, Piece, Ramp, RateStep, Stamps, Tcp, TcpClose, TrialOptions, WarmUp};
pub use popularity::{Exponent, Popularity};
pub use profile::{CoreSamples, Profile, Profiler};
pub use queries::{Answers, Queries};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// How much a trial sends in each active direction; of two with different rates, in the faster one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Load {
    /// floor(rate × duration) frames.
    For(Nanos),
    /// Exactly this many frames.
    Frames(Count),
}

/// The kind of traffic of a trial (RFC 9693, sections 4.2 to 4.7).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// Pseudo-random (recommended by RFC 9693, section 4.10).
    #[default]
    Random,
    /// One after the other, round robin.
    RoundRobin,
}

/// What the Responder does with its state table in phase 2.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ResponderTable {
    /// It keeps what phase 1 stored: a frame with another four-tuple is wrong.
    #[default]
    Keep,
    /// Every right frame overwrites the four-tuple of its connection (RFC 9693, section 4.7).
    Update,
}

/// What a trial that passes shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Claim {
    /// The device forwards, or sets up connections, at the rate of the trial.
    #[default]
    Rate,
    /// The device holds all connections. An answer on each shows it, however late or unevenly the tester asked.
    State,
}

/// The specification of one trial.
///
/// `Establish` trials always start from an empty connection tracking table: [`Trials::run`] clears it first. Each
/// `Established` trial starts with a phase 1 at `phase1_rate`, unless `keep_table` reuses the table of the previous
/// trial.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TrialSpec {
    /// Kind of traffic.
    pub kind: PhaseKind,
    /// Intended load, frames per second per direction; of two directions with different rates, that of the faster one.
    pub rate: Rate,
    /// How much is sent per active direction; of two directions with different rates, in the faster one.
    pub load: Load,
    /// Active directions.
    pub direction: Direction,
    /// Connections that phase 1 opens (N); 0 in stateless tests.
    pub connections: Count,
    /// Rate of the phase 1 that precedes this trial, connections per second.
    pub phase1_rate: Option<Rate>,
    /// For `Establish`: validate afterwards at this rate, as part of the same trial (RFC 9693, 4.6).
    pub validate_rate: Option<Rate>,
    /// Whether to reuse the table of the previous trial (a departure from RFC 9693, which reports print).
    pub keep_table: bool,
    /// Order in which the Responder uses its state table.
    pub responder_order: Order,
    /// What the Responder does with its state table in phase 2.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub responder_table: ResponderTable,
    /// What the trial shows if it passes.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub claim: Claim,
    /// What the trial does beside that.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub options: TrialOptions,
}

impl TrialSpec {
    /// In both directions.
    pub fn stateless(rate: Rate, load: Load) -> TrialSpec {
        TrialSpec {
            kind: PhaseKind::Stateless,
            rate,
            load,
            direction: Direction::Both,
            connections: 0,
            phase1_rate: None,
            validate_rate: None,
            keep_table: false,
            responder_order: Order::Random,
            responder_table: ResponderTable::Keep,
            claim: Claim::Rate,
            options: TrialOptions::default(),
        }
    }

    pub fn establish(rate: Rate, connections: Count) -> TrialSpec {
        TrialSpec {
            kind: PhaseKind::Establish,
            direction: Direction::Forward,
            connections,
            ..TrialSpec::stateless(rate, Load::Frames(connections))
        }
    }

    /// Phase 1 and phase 2 at the same rate; stateless without connections.
    pub fn both_phases(rate: Rate, load: Load, connections: Count) -> TrialSpec {
        let stateless = TrialSpec::stateless(rate, load);
        if connections == 0 {
            return stateless;
        }
        TrialSpec { kind: PhaseKind::Established, connections, phase1_rate: Some(rate), ..stateless }
    }

    /// Frames in each active direction; of different rates, in the faster one.
    pub fn frames(&self) -> Count {
        match self.load {
            Load::For(duration) => match (self.options.step, self.options.ramp) {
                (Some(RateStep { at, to }), _) if at < duration => {
                    self.rate.frames_in(at) + to.of(self.rate).frames_in(Nanos(duration.0 - at.0))
                }
                (None, Some(ramp)) => {
                    ramp.frames_before(ramp.flows.saturating_sub(1), self.rate) + self.rate.frames_in(duration)
                }
                _ => self.rate.frames_in(duration),
            },
            Load::Frames(frames) => frames,
        }
    }
    /// Frames due before a change of the rate, and the rate afterwards.
    pub fn step(&self) -> Option<(RateStep, Count, Rate)> {
        let step = self.options.step?;
        Some((step, self.rate.frames_in(step.at).min(self.frames()), step.to.of(self.rate).max(Rate(1))))
    }

    /// Parts with different rates or flows; none if the trial has one rate and all flows.
    pub fn pieces(&self) -> Vec<Piece> {
        if let Some((step, before, rate)) = self.step() {
            let first = Piece { from: Nanos(0), before: 0, rate: self.rate, seconds: 1, flows: None };
            return vec![first, Piece { from: step.at, before, rate, ..first }];
        }
        let Some(ramp) = self.options.ramp else { return Vec::new() };
        let seconds = u32::try_from(ramp.flows).unwrap_or(u32::MAX);
        let piece = |begun: Count| Piece {
            from: Nanos(ramp.interval.0 * begun),
            before: ramp.frames_before(begun, self.rate),
            rate: Rate(self.rate.0.saturating_mul(begun + 1)),
            seconds,
            flows: Some(begun + 1),
        };
        (0..ramp.flows).map(piece).collect()
    }

    /// Frames that one direction must send, independently of the sender's plan.
    pub fn frames_of(&self, forward: bool) -> Count {
        self.direction.frames(forward, self.frames())
    }

    /// The searched rate: with churn the rate of new connections, else that of the frames.
    pub fn searched_rate(&self) -> Rate {
        let churn = self.options.churn.filter(|_| self.options.action.is_none());
        churn.map_or(self.rate, |churn| churn.arrivals)
    }

    pub fn send_time(&self) -> Nanos {
        match self.step() {
            Some((step, before, rate)) => Nanos(step.at.0 + rate.time_for(self.frames() - before).0),
            None => match self.options.ramp {
                Some(ramp) => {
                    let before = ramp.frames_before(ramp.flows.saturating_sub(1), self.rate);
                    Nanos(ramp.lasts().0 + self.rate.time_for(self.frames().saturating_sub(before)).0)
                }
                None => self.rate.time_for(self.frames()),
            },
        }
    }
    pub fn opened_at(&self) -> Option<Rate> {
        match self.kind {
            PhaseKind::Establish => Some(self.rate),
            PhaseKind::Established if !self.keep_table => Some(self.phase1_rate.unwrap_or(self.rate)),
            PhaseKind::Established | PhaseKind::Stateless => None,
        }
    }

    /// Returns the rate of one direction, Left to Right if `forward`.
    pub fn pace_of(&self, forward: bool) -> Pace {
        self.direction.pace(forward, self.rate)
    }
}

crate::worded! {
    /// The fault of a received frame. Each frame has at most one: the judge checks tag, length, addresses and ports, pool,
    /// header, payload, checksums and duplicates, in this order.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "kebab-case")]
    pub enum Fault: name {
        /// Not a test frame: it has no valid tag.
        Foreign = "foreign",
        /// A test frame of an earlier trial.
        Late = "of an earlier trial",
        /// A test frame that was not sent on this stream or with this sequence number.
        Unexpected = "never sent",
        /// The length differs from that of the expected frame.
        WrongLength = "of wrong length",
        /// An address differs from that of the flow.
        WrongAddress = "with a wrong address",
        /// A port differs from that of the flow.
        WrongPort = "with a wrong port",
        /// The outside address or port is not in the DUT's pool or port set.
        OutsidePool = "from outside the pool",
        /// Hop limit (TTL) differs from that of most frames of the trial: in old records; now [`Difference::HopLimit`].
        WrongHopLimit = "with a changed hop limit",
        /// Another header field (type, version, protocol, TOS, …) is wrong.
        WrongHeader = "with a wrong header",
        /// IP header or UDP checksum is wrong.
        BadChecksum = "with a bad checksum",
        /// The payload differs from that of the sent frame.
        WrongPayload = "with a changed payload",
        /// A duplicate of a right frame.
        Duplicate = "duplicate",
        /// An ICMP or ICMPv6 error.
        IcmpError = "ICMP errors",
        /// A fragment, or a frame with a fragment header that it should not have.
        Fragment = "fragments",
        /// A test frame with a VLAN tag that it should not have.
        WrongVlan = "with a wrong VLAN tag",
        /// The Ethernet destination is not the port's address.
        WrongMac = "to another Ethernet address",
        /// The flow label is wrong where an RFC fixes it (RFC 7915, section 4.1).
        #[serde(alias = "wrong-traffic-class")]
        WrongFlowLabel = "with a wrong flow label",
        /// DF is wrong where an RFC fixes it (RFC 791, section 2.3).
        #[serde(alias = "wrong-identification")]
        WrongDontFragment = "with a wrong DF",
        /// Octets follow a right frame.
        Trailer = "with a trailer",
        /// A test frame of this trial at the port that sent it.
        Returned = "that came back to the port that sent them",
    }
}

impl Fault {
    /// Whether only the device can have made a frame of this trial so: neither waiting nor another sender explains it.
    pub fn is_of_device(self) -> bool {
        !matches!(self, Fault::Foreign | Fault::Late | Fault::Unexpected | Fault::Duplicate | Fault::Returned)
    }
}

/// Frames per [`Fault`], in the order of [`Fault::ALL`]; as JSON an object with the faults that occurred.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FaultCounts(pub [Count; Fault::ALL.len()]);

impl FaultCounts {
    pub fn get(&self, fault: Fault) -> Count {
        self.0[fault as usize]
    }
    #[inline]
    pub fn add(&mut self, fault: Fault) {
        self.0[fault as usize] += 1;
    }
    pub fn merge(&mut self, other: &FaultCounts) {
        for (a, b) in self.0.iter_mut().zip(other.0) {
            *a += b;
        }
    }
    pub fn total(&self) -> Count {
        self.0.iter().sum()
    }
    /// Those of frames that the device must have changed or sent twice.
    pub fn of_device(&self) -> impl Iterator<Item = (Fault, Count)> + '_ {
        self.iter().filter(|(fault, _)| fault.is_of_device() || *fault == Fault::Duplicate)
    }
    pub fn iter(&self) -> impl Iterator<Item = (Fault, Count)> + '_ {
        Fault::ALL.iter().map(|&f| (f, self.get(f))).filter(|&(_, n)| n > 0)
    }
}

/// The outcome of one direction of a trial. It has three loads, none computed from another (invariant 10):
/// `planned`/rate is the intended load, `sent` over `send_time` the offered load, `received` over the same time the
/// forwarding rate.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Leg {
    /// Frames that were to be sent (0: direction not active).
    pub planned: Count,
    /// Frames that were transmitted to the DUT, including those that its ingress queue refused.
    pub sent: Count,
    /// Of `sent`: frames that the DUT's ingress queue refused (lost by the DUT, never retried).
    pub refused: Count,
    /// Distinct right frames of this trial that arrived.
    pub received: Count,
    /// Of `received`: frames that arrived after a frame of the same sender with a higher sequence number.
    pub reordered: Count,
    /// All other frames that arrived, by fault.
    pub faults: FaultCounts,
    /// Frames in `received` that differ in what an RFC leaves to the device.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub differences: BTreeMap<Difference, Count>,
    /// The first frame of each kind of fault.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub examples: Vec<Example>,
    /// Frames that each receiver of this direction took from its queue, right or not, in the order of the queues. Their sum
    /// is that of `received` and `faults`. Empty with one receiver.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub arrived: Vec<Count>,
    /// The native frames in `sent` and `received`; none without a background.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub native: Option<NativeFrames>,
    /// Time from the due time of the first frame to the transmission of the last.
    pub send_time: Nanos,
    /// Timing of the sender.
    pub timing: Timing,
}

impl Leg {
    /// Returns the frames that were sent and not received right.
    pub fn lost(&self) -> Count {
        self.sent.saturating_sub(self.received)
    }

    /// Lost foreground and native frames, with a background.
    pub fn lost_by_kind(&self) -> Option<[Count; 2]> {
        let native = self.native?;
        let lost = native.sent.saturating_sub(native.received);
        Some([self.lost().saturating_sub(lost), lost])
    }
}

/// Native frames of a direction, beside those that the DUT translates or tunnels (RFC 8219, section 5.3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NativeFrames {
    /// Frames that were transmitted.
    pub sent: Count,
    /// Distinct right frames that arrived.
    pub received: Count,
}

/// The queue with the fewest frames, if less than half of an equal share; fewer than 100 frames per
/// queue show nothing.
pub fn starved_queue(arrived: &[Count]) -> Option<(usize, Count)> {
    let share = arrived.iter().sum::<Count>() / arrived.len().max(1) as Count;
    let least = arrived.iter().copied().enumerate().min_by_key(|&(_, frames)| frames)?;
    (share >= 100 && least.1 * 2 < share).then_some(least)
}

/// Timing of a sender, against its schedule.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Timing {
    /// Declared burst: number of frames that leave together according to the schedule, 1..=32.
    pub burst: u32,
    /// Size of the largest catch-up burst.
    pub worst_burst: u32,
    /// Number of catch-up bursts (larger than the declared burst).
    pub catch_ups: Count,
    /// Frames that left while more than a full burst of 32 was overdue.
    #[serde(default)]
    pub crowded: Count,
    /// The sender stopped before its last frame because it was later than any limit, and its port still took frames then.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub gave_up: bool,
    /// How late the last frame was.
    pub finished_late: Nanos,
    /// How late the latest burst was.
    pub worst_late: Nanos,
    /// CPU time of the tester's code on this thread (building, pacing, judging), without the back-end.
    pub own_time: Nanos,
    /// CPU or wall time inside the back-end's calls (in which an inline DUT works).
    pub backend_time: Nanos,
}

/// Host noise and related facts of a trial.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HostNoise {
    /// Longest stall of a tester thread, without the time in which the DUT may have worked: inside kernel ports, and
    /// inside a DUT that the thread polls.
    pub tester_stall: Nanos,
    /// Longest stall of a DUT thread, if natmeter can observe it.
    pub dut_stall: Nanos,
    /// Total of the stalls of all tester threads; 0 in records of rules before 3.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub tester_stalled: Nanos,
    /// Total of the stalls of all DUT threads, if natmeter can observe them; 0 in records of rules before 3.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub dut_stalled: Nanos,
    /// Total run delay of a tester thread (the maximum over all threads); `None` if the kernel does not report it, or if
    /// the stalls include it, because the thread never calls into the kernel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tester_run_delay: Option<Nanos>,
    /// Total run delay of a kernel packet thread on a core of the DUT. For workers of the embedded gateway, the stalls
    /// include it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dut_run_delay: Option<Nanos>,
    /// The stall that the shortest known queue in front of the DUT or of the receiver absorbs at the offered rate;
    /// `None` if none is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue_lasts: Option<Nanos>,
    /// Depth in frames of the shortest queue in front of the DUT; `None` if one of them is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dut_queue: Option<Count>,
    /// Frames that the tester's own sockets or rings dropped.
    pub tester_drops: Count,
    /// Whether a port lost its link.
    pub link_lost: bool,
}

/// Connections with equal four-tuples outside: the Responder cannot tell them apart (RFC 4787, REQ-3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SharedTuples {
    /// Connections whose four-tuple is that of another one, too.
    pub shared: Count,
    /// Connections that were compared.
    pub of: Count,
}

/// Facts about the two state tables in a stateful trial.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StoreFacts {
    /// Four-tuples the Responder learned in phase 1.
    pub learned: Count,
    /// Entries of the DUT's connection tracking table after phase 1, if it can be read.
    pub dut_entries: Option<Count>,
    /// The same after phase 2.
    pub dut_entries_after: Option<Count>,
    /// Frames that phase 1 lost before a phase 2 trial (it is repeated then).
    pub phase1_lost: Count,
    /// Connections that the preparing phase 1 opened again, because their frames were lost to host noise.
    #[serde(default)]
    pub phase1_resent: Count,
    /// Whether the connections are distinct outside; of the first complete phase 1 of a point.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shared: Option<SharedTuples>,
    /// Number of phase 1 attempts for this trial.
    pub phase1_attempts: u32,
    /// The rate of phase 1, connections per second.
    pub phase1_rate: Option<Rate>,
}

/// Which thread does the DUT's work, as far as validity depends on it (METHODOLOGY.md, closed loop).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Loop {
    /// The DUT runs in other threads: overload shows as loss.
    #[default]
    Open,
    /// The DUT works inside the sender's calls or on its core: overload shows as a late sender. Kernel threads may do a
    /// part of the work, so that waiting for the core may be waiting for the DUT.
    Closed,
    /// The sender's own thread does all of the DUT's work: overload shows as a late sender, and waiting for the core is
    /// host noise.
    Inline,
}

impl Loop {
    /// Whether overload shows as a late sender.
    pub fn is_closed(self) -> bool {
        self != Loop::Open
    }
}

/// The outcome of one trial, complete enough to judge it later from its record.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TrialOutcome {
    /// Left to Right.
    pub forward: Leg,
    /// Right to Left.
    pub reverse: Leg,
    /// The validation leg of an `Establish` trial with validation (Right to Left, each connection once).
    pub validation: Option<Leg>,
    /// The last attempt of a preparing phase 1, if it stayed incomplete, so that phase 2 was not run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase1: Option<Leg>,
    /// Host noise.
    pub host: HostNoise,
    /// Which thread does the DUT's work.
    pub dut_loop: Loop,
    /// State tables, in stateful trials.
    pub store: Option<StoreFacts>,
    /// Hop limit learned from the first right frame, per direction (forward, reverse).
    #[serde(with = "named::directions")]
    #[schemars(with = "named::HopLimits")]
    pub hop_limit: [Option<u8>; 2],
    /// What the options of the trial observed.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub observed: Observed,
    /// Wall time of the whole trial, phase 1, waits and drain included.
    pub wall: Nanos,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TrialError {
    /// The run can be resumed.
    #[error("interrupted")]
    Interrupted,
    /// No frame of any kind arrived in the probes, or the DUT's own probe failed.
    #[error("the device under test does not answer: {0}")]
    DutDead(String),
    /// Frames arrived, but no right one: what arrived.
    #[error("the device under test returns no right frame: {0}")]
    Faulty(String),
    /// A port, memory, a clock.
    #[error("the tester failed: {0}")]
    Tester(String),
    /// A command of the device failed, which the text names.
    #[error("{0}")]
    Device(String),
    /// The connection to the device's host is lost.
    #[error("{0}")]
    Unreachable(String),
    /// The record could not be stored.
    #[error("the trial could not be recorded: {0}")]
    Store(String),
    /// A recorded trial differs from the requested one.
    #[error("the recorded trials do not fit these settings: {0}")]
    Mismatch(String),
    /// The settings cannot give a meaningful result.
    #[error("refused: {0}")]
    Refused(String),
    /// This value cannot be measured at this point.
    #[error("not measured: {0}")]
    NotMeasurable(String),
    /// Phase 1 stayed incomplete.
    #[error("phase 1 does not complete: {0}")]
    Phase1(String),
}

pub trait Trials {
    /// Carries out exactly one trial.
    ///
    /// # Errors
    /// Without an outcome; a failed or invalid trial is `Ok`.
    fn run(&mut self, spec: &TrialSpec) -> Result<TrialOutcome, TrialError>;

    /// Announces a series and its trials so far, for reproducible random values.
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
