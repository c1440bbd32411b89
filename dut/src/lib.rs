//! Devices under test: a *device* is a software (such as nftables) on a host (such as network
//! namespaces). *Steps* bring it into a known state: each is data, an action, a check, an undo
//! action and the reason. All are undone on success, on error and on drop; after a kill, by
//! `natmeter clean`.
//!
//! Only this crate changes a device or the machine.

#![forbid(unsafe_code)]
#![allow(missing_docs, clippy::missing_errors_doc, reason = "names and error messages document the items")]

pub mod backlog;
pub mod changes;
mod child;
pub mod cpu;
pub mod dns;
pub mod doctor;
pub mod error;
pub mod external;
pub mod facts;
pub mod guest;
pub mod host;
pub mod interface;
pub mod journal;
mod kernel_file;
mod last_lines;
pub mod links;
pub mod lock;
pub mod machine_lock;
pub mod memory;
pub mod null;
pub mod packet_threads;
pub mod perf;
pub mod port_lock;
pub mod private_file;
pub mod probe;
pub mod queues;
pub mod readings;
pub mod setting;
pub mod side;
pub mod software;
pub mod started;
pub mod step;
pub mod tool;
pub mod used_ports;

pub use backlog::Backlog;
pub use error::{DutError, Holder};
pub use external::{External, ExternalConfig, Hook, Hooks, On};
pub use facts::Fact;
pub use guest::{Guest, GuestConfig};
pub use host::{Ssh, SshFailure, SshKind};
pub use lock::RunDir;
pub use machine_lock::MachineLock;
pub use packet_threads::PacketThreads;
pub use setting::Setting;
pub use software::configured::Configuration;
pub use started::RunningProgram;
pub use step::{Action, CommandRecord, Event, Sink, Step, Target};
