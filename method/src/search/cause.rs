//! Why a search found no rate: a share of lost frames that is the same at every rate, a table that holds fewer
//! connections than were opened, or frames that arrive after their trial.

use crate::stats::share_interval;
use crate::trial::Fault;
use crate::units::{Count, Rate};
use crate::validity::Stream;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Why there is no rate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum NoRate {
    /// A share of the frames is lost or wrong at every rate; the stream with the largest share first.
    FlatLoss(Vec<FlatLoss>),
    /// The device holds fewer connections than were opened, the same number at every rate.
    SmallTable(SmallTable),
    /// The frames of a trial that are lost arrive after its end.
    LateFrames(LateFrames),
}

/// Frames of one stream that were lost or wrong at every rate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FlatLoss {
    /// The stream.
    pub stream: Stream,
    /// The fault that at least half of these frames arrived with; `None`: they did not arrive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<Fault>,
    /// Frames that were lost or wrong.
    pub wrong: Count,
    /// Frames sent.
    pub sent: Count,
    /// The lowest rate of these trials.
    pub lowest: Rate,
    /// The highest.
    pub highest: Rate,
    /// The least and the most frames of a trial, if their number follows neither the length of the trials nor the rate
    /// as a share would: there is no share of all frames.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of_each_trial: Option<[Count; 2]>,
}

/// Frames that arrived after the end of their trials.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LateFrames {
    /// Frames that arrived after the end.
    pub late: Count,
    /// Frames sent.
    pub sent: Count,
    /// The lowest rate of these trials.
    pub lowest: Rate,
    /// The highest.
    pub highest: Rate,
}

/// The connections that a device holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SmallTable {
    /// Connections that it holds.
    pub holds: Count,
    /// Connections that were opened.
    pub opened: Count,
    /// The device counts as many.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub counted: bool,
    /// The lowest rate of these trials.
    pub lowest: Rate,
    /// The highest.
    pub highest: Rate,
}

impl FlatLoss {
    /// Share of the frames sent.
    pub fn share(&self) -> f64 {
        self.wrong as f64 / self.sent.max(1) as f64
    }

    /// Its 95 % interval, if each frame has the same chance.
    pub fn interval(&self) -> [f64; 2] {
        share_interval(self.wrong, self.sent)
    }
}
