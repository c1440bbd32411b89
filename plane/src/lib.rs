//! What each technology does to a packet, and the tester's views: which frames and expectations a
//! set-up needs. Nothing here sends anything or reads a clock; time is an argument.

#![forbid(unsafe_code)]

pub mod function;
pub mod hash;
pub mod nat44;
pub mod router;
pub mod steer;
pub mod table;
pub mod view;

pub use function::{Drops, Function, Packet, Side, Spare, Verdict};
pub use router::{Hop, Router};
pub use steer::Steering;
