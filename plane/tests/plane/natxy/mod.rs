//! Conformance of NAT46 and NAT66, the stateful NATxy with IPv6 outside (RFC 9693). RFC 4787, 5382 and 5508 say what such
//! a NAT does, whatever the IP version; their rules that hang on the state alone are tested with NAT44, whose state it is.
//! `etherparse` builds the packets and judges every packet that comes out; nothing of the plane's own checksum code is
//! used here.

mod bench;
mod fragments;
mod hairpin;
mod hostile;
mod icmp;
mod limits;
mod nat46;
mod octets;
mod page;
mod pending_syn;
mod sessions;
mod workers;
