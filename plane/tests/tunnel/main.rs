//! Conformance of the tunnel engine: one file an RFC, one test a requirement. `etherparse` builds and judges the packets;
//! nothing of the plane's own header or checksum code is used here.

mod end;
mod packets;
mod rfc2473;
