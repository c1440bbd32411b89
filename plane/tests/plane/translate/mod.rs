//! Conformance of the translator: one file an RFC, one test a requirement, named after it. `etherparse` builds the
//! packets and judges every packet that comes out; nothing of the plane's own checksum code is used here.

mod bed;
mod faults;
mod golden;
mod hostile;
mod packets;
mod page;
mod rfc4884;
mod rfc6052;
mod rfc6791;
mod rfc6877;
mod rfc7757;
mod rfc7915_to4;
mod rfc7915_to6;
