//! The VLAN of a link.

use serde::{Deserialize, Serialize};
use std::fmt::{self, Display, Formatter};

/// A VLAN (IEEE 802.1Q), or a customer's VLAN within a provider's (IEEE 802.1ad). Identifiers are 1 to 4094.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VlanId {
    /// The provider's VLAN.
    pub outer: Option<u16>,
    /// The VLAN of the frames.
    pub id: u16,
}

impl From<u16> for VlanId {
    fn from(id: u16) -> VlanId {
        VlanId { outer: None, id }
    }
}

impl Display for VlanId {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.outer.map_or(Ok(()), |outer| write!(f, "{outer}."))?;
        write!(f, "{}", self.id)
    }
}
