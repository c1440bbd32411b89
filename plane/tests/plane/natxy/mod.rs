//! Conformance of NAT46 and NAT66, the stateful NATxy with IPv6 outside (RFC 9693), by RFC 4787, 5382 and 5508; rules
//! of state alone are tested with NAT44. `etherparse` builds and judges the packets, without the plane's own checksum
//! code.

pub(super) mod bench;
mod fragments;
mod icmp;
mod limits;
pub(super) mod nat46;
mod octets;
mod pending_syn;
mod sessions;
