//! Lightweight 4over6 (RFC 7596): the lwAFTR's binding table. An lwB4 is a restricted NAT44 chained
//! to a tunnel end with one tunnel.

mod builder;
mod live;
mod table;
mod text;

pub use builder::{BindingTableBuilder, BindingTableError};
pub use live::{Bindings, Live};
pub use table::{BindingTable, Softwire};
pub use text::{read, read_into};
