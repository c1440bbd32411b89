//! Conformance of NAT44: one file an RFC, one test a requirement. `etherparse` builds and judges the packets, without
//! the plane's own checksum code.

mod faults;
pub(super) mod gateway;
mod hostile;
pub(super) mod packets;
mod port_set;
mod rfc4787;
mod rfc5382;
mod rfc5508;
mod rfc6888;
mod room;
mod running;
mod static_mappings;
mod view;
mod workers;
