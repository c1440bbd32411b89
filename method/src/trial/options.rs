//! What a trial does beside sending frames at one rate and counting them. A trial without options is one of RFC 2544,
//! section 26.1.

use super::{Pace, Queries};
use crate::ratio::Ratio;
use crate::units::{Count, Nanos, Rate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The options of a trial; each is off by default.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct TrialOptions {
    /// Which frames get time stamps; their delays are in [`super::Observed::delays`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stamps: Option<Stamps>,
    /// A change of the rate in mid-trial; the lost frames are in [`super::Observed::losses`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<RateStep>,
    /// New connections that come and are abandoned while those of phase 1 are held.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub churn: Option<Churn>,
    /// How much longer than usual frames may arrive after the last one was sent, so that long queues run empty.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drain: Option<Nanos>,
    /// The trial ends once its loss is certainly too large; the time is in [`super::Observed::ended_early`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub early_end: Option<EarlyEnd>,
    /// DNS queries in place of test frames; their answers are in [`super::Observed::answers`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queries: Option<Queries>,
}

impl TrialOptions {
    /// Whether no option is on.
    pub fn are_off(&self) -> bool {
        *self == TrialOptions::default()
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
    /// Returns the rate of the frames on new connections.
    pub fn frame_rate(&self) -> Rate {
        Rate(self.arrivals.0.saturating_mul(self.frames))
    }
}
impl Stamps {
    /// Returns which of `frames` frames in sequence get a stamp, of which `before` are due before [`Stamps::Some::from`].
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

/// The frames with time stamps: `first`, `first` + `every`, and so on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chosen {
    /// Number of the first one.
    pub first: Count,
    /// Distance of two.
    pub every: Count,
    /// How many.
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
/// The loss exceeds this part of the frames sent, too: 1/50, twice what a fail needs on a noisy host.
const LOST_PART: Count = 50;

impl EarlyEnd {
    /// The frames of one direction that may be missing in mid-trial, of so many planned ones.
    pub fn missing_at_most(self, planned: Count, pace: Pace) -> Count {
        let allowed = planned.saturating_sub(self.acceptance.ceil_of(planned));
        allowed.saturating_add(pace.frames_in(ON_THE_WAY))
    }

    /// Whether a direction has lost too many frames, so far.
    pub fn is_lost(sent: Count, received: Count, missing_at_most: Count) -> bool {
        sent.saturating_sub(received) > missing_at_most.saturating_add(sent / LOST_PART)
    }
}
