//! Differences between frames that were sent and received which an RFC leaves to the device.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

crate::worded! {
    /// What of a right frame differs from what was sent, or from what a newer RFC says.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "kebab-case")]
    pub enum Difference: name {
        /// TOS or traffic class (RFC 2474; of a tunnel, RFC 2473, section 6.4).
        TrafficClass = "with another TOS or traffic class than was sent",
        /// Flow label (RFC 6437, section 3; of a tunnel, RFC 2473, section 6.5).
        FlowLabel = "with another flow label than was sent",
        /// DF behind a translator (RFC 7915, section 5.1; RFC 6145 sets it always).
        DontFragment = "with another DF than RFC 7915, section 5.1, says",
        /// One identification in all frames, although DF is clear (RFC 6864, section 4.3; RFC 7915, section 5.1).
        ConstantIdentification = "that all have the same identification, although DF is clear (RFC 6864, section 4.3)",
        /// TTL or hop limit differs from that of most frames of the trial (RFC 1812, section 5.3.1, wants 1 less, or more).
        HopLimit = "with another hop limit than most",
    }
}

impl Difference {
    /// Whether an RFC leaves it to the device without a doubt.
    pub fn is_left_open(self) -> bool {
        !matches!(self, Difference::ConstantIdentification | Difference::HopLimit)
    }
}
