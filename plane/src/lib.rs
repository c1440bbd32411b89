//! What each technology does to a packet, and the tester's views: the frames and expectations of
//! each set-up. Sends no packets and reads no clock.

#![forbid(unsafe_code)]

pub mod affinity;
pub mod aftr;
pub mod beside;
pub mod chain;
mod count;
pub mod customers;
pub mod edge;
pub mod event;
pub mod fragment;
mod fragment_v4;
pub mod function;
pub mod hash;
mod icmp_error;
mod icmp_type;
pub mod inner_link;
mod ip4;
pub mod ip6;
pub mod lw4o6;
pub mod map;
pub mod mss;
pub mod nat44;
pub mod nat46;
pub mod nat64;
pub mod nat66;
pub mod nat_behind;
pub mod object;
mod original_id;
pub mod router;
pub mod router6;
pub mod side;
pub mod steer;
pub mod strategy;
mod subscribers;
pub mod table;
pub mod translate;
pub mod tunnel;
pub mod view;
pub mod wrapper;

pub use beside::NativeIpv6;
pub use chain::Chain;
pub use function::{Drops, Function, Input, NoSpare, Packet, Spare, TableEntry, Verdict};
pub use ip6::Pool6;
pub use mss::MssLimit;
pub use object::{AnyFunction, DynFunction};
pub use router::{Hop, Router};
pub use router6::Router6;
pub use side::{Side, Side4, Side6};
pub use steer::Steering;
pub use strategy::{Addressing, End, Point4, Softwires, Wrap};
pub use translate::Translate;
pub use wrapper::Wrapper;
