//! What each technology does to a packet, and the tester's views: which frames and expectations a
//! set-up needs. Nothing here sends anything or reads a clock; time is an argument.

#![forbid(unsafe_code)]

pub mod function;
pub mod router;
pub mod view;
pub mod hash;
pub mod nat44;
pub mod table;

pub use function::{Drops, Function, Packet, Side, Spare, Verdict};
pub use router::{Hop, Router};
