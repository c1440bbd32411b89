//! The error of a flow space that cannot be built.

use crate::port_set::PortSetError;

/// Why a flow space cannot be built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FlowError {
    /// A range is empty or exceeds the last number.
    #[error("{0} is empty or does not fit its number space: give a first value and at least one value")]
    Range(&'static str),
    /// More than a connection index can number.
    #[error("the ranges span {0} flows; a flow space holds 1 to 4,294,967,296: narrow a range")]
    TooMany(u128),
    /// The ranges have fewer flows.
    #[error("{wanted} connections were asked for, but the ranges give only {have} flows: widen a range")]
    TooFew {
        /// Requested connections.
        wanted: u64,
        /// Available flows.
        have: u64,
    },
    /// Invalid port set.
    #[error(transparent)]
    PortSet(#[from] PortSetError),
    /// A port set lacks source ports.
    #[error(
        "a subscriber's port set has {have} ports, but its source ports are to be numbers {first} to {last} of it: use fewer, or a shorter PSID"
    )]
    SetTooSmall {
        /// First place in the set.
        first: u32,
        /// Last place.
        last: u64,
        /// Ports of the set.
        have: u32,
    },
}
