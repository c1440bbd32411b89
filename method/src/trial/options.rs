//! What a trial does beside sending at one rate and counting (RFC 2544, section 26.1).

use super::{Action, Pace, Popularity, Profiler, Queries, Sampler, TearDown};
use crate::ratio::Ratio;
use crate::units::{Count, Nanos, Rate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The options of a trial; each is off by default.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct TrialOptions {
    /// Traffic before the trial that is not counted; what became of it is in [`super::Observed::warm_up`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warm_up: Option<WarmUp>,
    /// How often connections are drawn at random; in a trial with churn none is.
    #[serde(skip_serializing_if = "Popularity::is_uniform")]
    pub popularity: Popularity,
    /// Which frames get time stamps; their delays are in [`super::Observed::delays`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stamps: Option<Stamps>,
    /// A change of the rate in mid-trial; the lost frames are in [`super::Observed::losses`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<RateStep>,
    /// Flows that begin one after the other.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ramp: Option<Ramp>,
    /// New connections that come and are abandoned while those of phase 1 are held.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub churn: Option<Churn>,
    /// How much longer than usual frames may arrive after the last one was sent, so that long queues run empty.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drain: Option<Nanos>,
    /// TCP connections in place of UDP frames: what is sent and received is counted in connections.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tcp: Option<Tcp>,
    /// The trial ends once its loss is certainly too large; the time is in [`super::Observed::ended_early`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub early_end: Option<EarlyEnd>,
    /// What is done to the device in mid-trial; the result is in [`super::Observed::action`], and the lost frames in
    /// [`super::Observed::losses`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub action: Option<Action>,
    /// CPU times of the device that are sampled beside the trial; they are in [`super::Observed::cpu`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sampler: Option<Sampler>,
    /// Call stacks of the device that are sampled beside the trial; they are in [`super::Observed::profile`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profiler: Option<Profiler>,
    /// The table is emptied after the trial; the times are in [`super::Observed::emptied`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tear_down: Option<TearDown>,
    /// Whether the memory of the table is read after the trial, and once more when the table is empty; it is in
    /// [`super::Observed::memory`].
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub memory: bool,
    /// DNS queries in place of test frames; their answers are in [`super::Observed::answers`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queries: Option<Queries>,
}

/// What happens to TCP connections in a trial. Phase 1 opens those that are held, by the handshake of RFC 9293, section 3.5.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Tcp {
    /// New connections, beside those that are held. The rate of the trial is theirs.
    Life {
        /// Segments with data from each side.
        exchanges: u16,
        /// How they end.
        close: TcpClose,
        /// Different new connections; a trial has no more than these.
        different: Count,
        /// After the last one, the DUT's table is read until it holds no closed connection, for this long at most; none: it is
        /// not watched.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        watch: Option<Nanos>,
    },
    /// Requests and answers on the connections that are held, one segment each. The rate of the trial is that of the requests.
    Exchange,
}

impl Tcp {
    pub fn changes_table(self) -> bool {
        matches!(self, Tcp::Life { .. })
    }

    /// Segments of one new connection or exchange, from Initiator and Responder.
    pub fn segments(self) -> [Count; 2] {
        let Tcp::Life { exchanges, close, .. } = self else { return [1, 1] };
        let closing = match close {
            TcpClose::Fin => 2,
            TcpClose::Rst => 1,
            TcpClose::None => Count::from(exchanges > 0),
        };
        [2 + Count::from(exchanges) + closing, 1 + Count::from(exchanges) + Count::from(close == TcpClose::Fin)]
    }
}

/// How a TCP connection ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TcpClose {
    /// FIN by both sides.
    #[default]
    Fin,
    /// RST by the Initiator.
    Rst,
    /// It stays open.
    None,
}

impl TcpClose {
    pub const ALL: [(&'static str, TcpClose); 3] =
        [("fin", TcpClose::Fin), ("rst", TcpClose::Rst), ("none", TcpClose::None)];

    /// Segments after handshake and data, of both sides.
    pub fn segments(self) -> Count {
        match self {
            TcpClose::Fin => 3,
            TcpClose::Rst => 1,
            TcpClose::None => 0,
        }
    }
}

/// Which frames get time stamps, in each active direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Stamps {
    /// So many frames, spread evenly from this time of the trial to its end (RFC 8219, section 7.2).
    Some {
        /// Number of frames.
        frames: Count,
        /// Time from the start of the trial to the first of them.
        from: Nanos,
    },
    /// Every frame (RFC 8219, sections 7.3.1 and 7.3.2). A right frame that is later than `timeout` is counted in
    /// [`super::Delays::late`].
    All {
        /// Largest delay of a frame that is not late; none without a limit.
        timeout: Option<Nanos>,
    },
}

/// Traffic before a trial on the same connections and in the same directions, so that the trial does not begin with cold caches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct WarmUp {
    /// How long it is sent.
    pub duration: Nanos,
    /// Its rate, frames per second per direction; of two directions with different rates, that of the faster one. None: the rate
    /// of the trial.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
}

impl WarmUp {
    /// The rate before the trial, at most `trial`.
    pub fn rate_before(self, trial: Rate) -> Rate {
        self.rate.unwrap_or(trial)
    }
    /// Frames before the trial, in the faster direction.
    pub fn frames_before(self, trial: Rate) -> Count {
        self.rate_before(trial).frames_in(self.duration)
    }
}

/// A change of the rate in mid-trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct RateStep {
    /// Time of the change, from the start of the trial.
    pub at: Nanos,
    /// The rate afterwards, as a share of the rate before.
    #[schemars(with = "String")]
    pub to: Ratio,
}

/// Flows that begin one after the other (RFC 8219, section 10.2.2), each with the same part of the rate of the trial. When the last
/// one has begun, the load has the full rate, and lasts as long as that of a trial without ramp.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Ramp {
    /// Flows.
    pub flows: Count,
    /// Time between the beginnings of two flows (t of the RFC).
    pub interval: Nanos,
}

impl Ramp {
    /// The time from the first flow's beginning to the last's.
    pub fn lasts(self) -> Nanos {
        Nanos(self.interval.0.saturating_mul(self.flows.saturating_sub(1)))
    }

    /// Due before flow `begun` + 1 begins, if all flows have this rate.
    pub fn frames_before(self, begun: Count, rate: Rate) -> Count {
        let shares = u128::from(begun) * (u128::from(begun) + 1) / 2;
        let in_interval = u128::from(rate.0) * u128::from(self.interval.0);
        let due = in_interval.saturating_mul(shares) / (u128::from(self.flows.max(1)) * u128::from(Nanos::SECOND.0));
        u64::try_from(due).unwrap_or(u64::MAX)
    }
}

/// A part of a trial with one rate and one number of flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    pub from: Nanos,
    /// Frames of the faster direction due before it.
    pub before: Count,
    /// Frames of the faster direction in `seconds`.
    pub rate: Rate,
    /// Seconds in which these frames are sent.
    pub seconds: u32,
    /// None: all.
    pub flows: Option<Count>,
}

/// New connections in phase 2, Left to Right: each has its frames and is then abandoned. All other frames of the trial are on
/// the connections of phase 1, one after the other, so that none of these times out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Churn {
    /// New connections per second.
    pub arrivals: Rate,
    /// Frames of each.
    pub frames: Count,
    /// Different new connections; after the last comes the first again.
    pub different: Count,
}

impl Churn {
    pub fn frame_rate(&self) -> Rate {
        Rate(self.arrivals.0.saturating_mul(self.frames))
    }
}
impl Stamps {
    /// Which of `frames` frames get a stamp, with `before` due before [`Stamps::Some::from`].
    pub fn choose(self, frames: Count, before: Count) -> Chosen {
        match self {
            Stamps::All { .. } => Chosen { first: 0, every: 1, frames },
            Stamps::Some { frames: wanted, .. } => {
                let left = frames.saturating_sub(before);
                let wanted = wanted.clamp(1, left.max(1));
                Chosen { first: before, every: (left / wanted).max(1), frames: wanted.min(left) }
            }
        }
    }
}

/// The frames with time stamps: `first`, `first` + `every`, …
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chosen {
    pub first: Count,
    pub every: Count,
    pub frames: Count,
}

/// When a trial may end before its full length. The judge decides from the frames that the drain after the end did not bring
/// either; a trial that it cannot judge is repeated at full length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct EarlyEnd {
    /// The share of the planned frames that must arrive.
    #[schemars(with = "String")]
    pub acceptance: Ratio,
}

/// Frames due in this time may be on their way.
const ON_THE_WAY: Nanos = Nanos::from_millis(100);
/// Twice what a fail needs on a noisy host.
const LOST_PART: Count = 50;

impl EarlyEnd {
    /// How many may be missing in mid-trial.
    pub fn missing_at_most(self, planned: Count, pace: Pace) -> Count {
        let allowed = planned.saturating_sub(self.acceptance.ceil_of(planned));
        allowed.saturating_add(pace.frames_in(ON_THE_WAY))
    }

    pub fn is_lost(sent: Count, received: Count, missing_at_most: Count) -> bool {
        sent.saturating_sub(received) > missing_at_most.saturating_add(sent / LOST_PART)
    }
}
