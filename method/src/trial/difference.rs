//! Differences between frames that were sent and received which an RFC leaves to the device.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What of a right frame differs from what was sent, or from what a newer RFC says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Difference {
    /// TOS or traffic class (RFC 2474; of a tunnel, RFC 2473, section 6.4).
    TrafficClass,
    /// Flow label (RFC 6437, section 3; of a tunnel, RFC 2473, section 6.5).
    FlowLabel,
    /// DF behind a translator (RFC 7915, section 5.1; RFC 6145 sets it always).
    DontFragment,
    /// One identification in all frames, although DF is clear (RFC 6864, section 4.3; RFC 7915, section 5.1).
    ConstantIdentification,
    /// TTL or hop limit differs from that of most frames of the trial (RFC 1812, section 5.3.1, wants 1 less, or more).
    HopLimit,
}

impl Difference {
    /// Whether an RFC leaves it to the device without a doubt.
    pub fn is_left_open(self) -> bool {
        !matches!(self, Difference::ConstantIdentification | Difference::HopLimit)
    }

    /// What is different, behind a number of frames.
    pub fn name(self) -> &'static str {
        match self {
            Difference::TrafficClass => "with another TOS or traffic class than was sent",
            Difference::FlowLabel => "with another flow label than was sent",
            Difference::DontFragment => "with another DF than RFC 7915, section 5.1, says",
            Difference::ConstantIdentification => {
                "that all have the same identification, although DF is clear (RFC 6864, section 4.3)"
            }
            Difference::HopLimit => "with another hop limit than most",
        }
    }
}
