//! What each technology does to a packet, and the tester's views: which frames and expectations a
//! set-up needs. Nothing here sends anything or reads a clock; time is an argument.

#![forbid(unsafe_code)]

pub mod aftr;
mod answer;
pub mod chain;
mod count;
pub mod customers;
mod cut;
pub mod ends;
pub mod event;
pub mod function;
pub mod hash;
mod inner;
mod ip4;
pub mod ip6;
pub mod lw4o6;
pub mod map;
pub mod nat44;
pub mod nat46;
pub mod nat64;
pub mod nat66;
pub mod numbered;
pub mod parts;
pub mod pinned;
pub mod router;
pub mod side;
pub mod steer;
mod subscribers;
pub mod table;
pub mod translate;
pub mod tunnel;
pub mod view;

pub use chain::Chain;
pub use ends::{Addressing, End, Point4, Softwires, Wrap};
pub use function::{Drops, Entry, Function, NoSpare, Packet, Side, Spare, Verdict};
pub use ip6::Pool6;
pub use router::{Hop, Router};
pub use side::{Side4, Side6};
pub use steer::Steering;
pub use translate::Translate;
