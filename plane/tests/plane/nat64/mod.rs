//! Conformance of NAT64: one file a part of RFC 6146, section 3, one test a rule. `etherparse` builds and judges the
//! packets, without the plane's own checksum code.

mod dictionary;
mod faults;
mod hairpin;
mod icmp;
mod parts;
mod prefixes;
pub(super) mod set_up;
mod static_entries;
mod udp;
mod workers;
