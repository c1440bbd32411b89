//! What a trial with options observed.

use super::{ActionTime, Answers, CpuIdle, EmptyingTimes, Profile, TableMemory};
use crate::units::{Count, Nanos};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Observations of a trial; empty without options.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Observed {
    /// Delays of the frames with time stamps.
    #[serde(skip_serializing_if = "PerDirection::is_empty")]
    pub delays: PerDirection<Delays>,
    /// When the lost frames were due.
    #[serde(skip_serializing_if = "PerDirection::is_empty")]
    pub losses: PerDirection<Losses>,
    /// TCP connections and their segments.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tcp: Option<TcpCounts>,
    /// Frames of the warm-up before the trial.
    #[serde(skip_serializing_if = "PerDirection::is_empty")]
    pub warm_up: PerDirection<WarmUpFrames>,
    /// Time from the start of the trial to its end, if the loss ended it before its full length.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_early: Option<Nanos>,
    /// The action in mid-trial.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub action: Option<ActionTime>,
    /// The idle times of the sampled cores: of one box in a trial, of all in a result.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cpu: Vec<CpuIdle>,
    /// Where the device spent its time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<Profile>,
    /// The times to empty the table.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub emptied: Option<EmptyingTimes>,
    /// The memory of the table.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<TableMemory>,
    /// How the queries were answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answers: Option<Answers>,
}

/// TCP connections and segments of a trial, without its phase 1.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct TcpCounts {
    /// Connections whose handshake the Responder saw to its end.
    pub established: Count,
    /// Segments that the Initiator sent.
    pub from_initiator: Count,
    /// Segments that the Responder sent.
    pub from_responder: Count,
    /// Right segments that arrived at either side.
    pub received: Count,
    /// What became of the DUT's entries after the last connection; none if it was not watched, or if the DUT counts none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub emptying: Option<Emptying>,
}

/// How the DUT's table lost the entries of connections that had been closed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Emptying {
    /// Entries at the end of the trial.
    pub at_end: Count,
    /// Entries when the table was last read.
    pub at_last: Count,
    /// From the end of the trial to the first reading at which none but held connections were left; none if there was no such
    /// reading.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub emptied: Option<Nanos>,
    /// The time between two readings: `emptied` is so much too long, at most.
    pub interval: Nanos,
}

/// What became of a warm-up in one direction. A frame that arrived after the drain of the warm-up counts as late in the trial.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WarmUpFrames {
    /// Frames sent.
    pub sent: Count,
    /// Right frames received.
    pub received: Count,
}

impl WarmUpFrames {
    pub fn plus(self, other: WarmUpFrames) -> WarmUpFrames {
        WarmUpFrames { sent: self.sent + other.sent, received: self.received + other.received }
    }
}

/// One observation for each active direction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PerDirection<T> {
    /// Left to Right.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub forward: Option<T>,
    /// Right to Left.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reverse: Option<T>,
}

impl<T> Default for PerDirection<T> {
    fn default() -> Self {
        PerDirection { forward: None, reverse: None }
    }
}

impl<T> PerDirection<T> {
    pub fn is_empty(&self) -> bool {
        self.forward.is_none() && self.reverse.is_none()
    }

    /// Returns the observations with their suffixes `forward`, `reverse`.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &T)> {
        [("forward", &self.forward), ("reverse", &self.reverse)]
            .into_iter()
            .filter_map(|(name, of)| Some((name, of.as_ref()?)))
    }
}

/// Delays of one direction: from the transmission of a frame to its receipt.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Delays {
    /// Frames with time stamps that were sent.
    pub frames: Count,
    /// Of these: not received right. The percentiles count each with `penalty`.
    pub lost: Count,
    /// Of these: received right, later than the time-out of [`super::Stamps::All`].
    pub late: Count,
    /// The delay that stands for a lost frame.
    pub penalty: Nanos,
    /// Smallest delay.
    pub min: Nanos,
    /// Median, lost frames included.
    pub median: Nanos,
    /// 99.9th percentile, lost frames included.
    pub p99_9: Nanos,
    /// Largest delay of a frame that was received.
    pub max: Nanos,
    /// Differences of the delays of successive frames, neither of them lost; none if only some frames have stamps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub differences: Option<Differences>,
    /// The frames that were received, by delay: upper end of a bucket in nanoseconds, frames. Buckets are at most 1/32 of
    /// their upper end wide; empty ones are left out.
    pub histogram: Vec<(u64, Count)>,
    /// What stamps received frames: the tester, the kernel, or the network card.
    pub source: String,
}

/// Differences D(i) − D(i−1) of delays, in nanoseconds (RFC 8219, section 7.3.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Differences {
    /// Smallest.
    pub min: i64,
    /// Median.
    pub median: i64,
    /// Largest.
    pub max: i64,
}

/// The lost frames of one direction, by the times at which they were due, from the start of the trial.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Losses {
    /// Lost frames.
    pub frames: Count,
    /// Due time of the first.
    pub first: Nanos,
    /// Due time of the last.
    pub last: Nanos,
    /// Longest time between two successive frames that were received, or from the last of them to the end, by their due times.
    pub longest_gap: Nanos,
}
