//! Conformance of tunnel ends: one file an RFC, one test a requirement, named after it. `etherparse` builds the packets
//! and judges every packet that comes out; nothing of the plane's own header or checksum code is used here.

#[path = "../common/mod.rs"]
#[allow(dead_code, reason = "shared with the tests of other functions, which need more of it")]
mod common;
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
