//! Conformance of NAT44: one file an RFC, one test a requirement, named after it. `etherparse` builds the packets
//! and judges every packet that comes out; nothing of the plane's own checksum code is used here.

mod faults;
mod gateway;
mod hostile;
mod packets;
mod page;
mod port_set;
mod rfc4787;
mod rfc5382;
mod rfc5508;
mod rfc6888;
mod running;
mod static_mappings;
mod view;
mod workers;
