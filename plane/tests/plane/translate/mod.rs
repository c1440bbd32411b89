//! Conformance of the translator: one file an RFC, one test a requirement. `etherparse` builds and judges the packets,
//! without the plane's own checksum code.

pub(super) mod bed;
mod faults;
mod golden;
mod hostile;
pub(super) mod packets;
mod rfc4884;
mod rfc6052;
mod rfc6791;
mod rfc6877;
mod rfc7757;
mod rfc7915_both;
mod rfc7915_to4;
mod rfc7915_to6;
