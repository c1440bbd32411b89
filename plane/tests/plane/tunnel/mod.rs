//! Conformance of tunnel ends: one file an RFC, one test a requirement, named after it. `etherparse` builds the packets
//! and judges every packet that comes out; nothing of the plane's own header or checksum code is used here.

mod end;
mod faults;
mod golden;
mod hostile;
mod packets;
mod page;
mod rfc2473;
mod rfc6040;
mod rfc6333;
mod rfc7596;
mod table;
mod workers;
