//! The meaning of bytes: header layouts, checksums, the test tag; and data that plane and engine
//! share: flow space, templates, expectations, views. Allocates nothing per packet.

#![forbid(unsafe_code)]

mod addr;
pub mod batch;
pub mod checksum;
pub mod decode;
mod divisor;
pub mod edges;
pub mod expect;
pub mod fields;
pub mod flow;
mod flow_error;
pub mod foreground;
pub mod header;
pub mod layout;
pub mod mix;
pub mod pcap;
pub mod perm;
pub mod port_set;
mod range;
mod subscribers;
pub mod tag;
pub mod tcp;
pub mod template;
pub mod view;
mod vlan;

pub use addr::{AddrRange, Prefix4, Prefix6};
pub use batch::{BATCH, Batch, Words};
pub use expect::{Expect, Hops, Mismatch, Open, OuterRange};
pub use fields::{Fields, Source, Values};
pub use flow::{Flow, FlowSpace, ListedSubscriber, SharedPorts};
pub use flow_error::FlowError;
pub use foreground::Foreground;
pub use header::Mac;
pub use layout::{Address6, Ends6, Layout, Octets16, Rows};
pub use mix::{MOST_SIZES, Mix, Sizes};
pub use perm::Permutation;
pub use port_set::{PortSet, PortSetError};
pub use range::PortRange;
pub use tag::{FramePurpose, StreamId, Tag};
pub use template::{BatchFields, Template};
pub use view::{Background, View};
pub use vlan::VlanId;
