//! Conformance of NAT64: one file a part of RFC 6146, section 3, one test a rule. `etherparse` builds the packets and
//! judges every packet that comes out; nothing of the plane's own checksum code is used here.

#[path = "../common/mod.rs"]
#[allow(dead_code, reason = "shared with the tests of other functions, which need more of it")]
mod common;
mod dictionary;
mod faults;
mod gateway;
mod hairpin;
mod hostile;
mod icmp;
mod packets;
mod page;
mod parts;
mod prefixes;
mod set_up;
mod static_entries;
mod tcp;
mod udp;
mod workers;
