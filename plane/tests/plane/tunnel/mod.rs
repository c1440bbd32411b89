//! Conformance of tunnel ends: one file an RFC, one test a requirement. `etherparse` builds and judges the packets,
//! without the plane's own header or checksum code.

mod end;
mod faults;
mod golden;
mod hostile;
mod packets;
mod rfc2473;
mod rfc6040;
mod rfc6333;
mod rfc7596;
mod table;
mod workers;
