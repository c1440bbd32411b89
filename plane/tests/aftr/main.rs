//! Conformance of the AFTR (RFC 6333), and of its NAT where DS-Lite makes a difference (RFC 6888). `etherparse` builds the
//! packets and judges every packet that comes out; nothing of the plane's own checksum code is used here.

#[path = "../common/mod.rs"]
#[allow(dead_code, reason = "shared with the tests of other functions, which need more of it")]
mod common;
mod dual;
#[path = "../nat64/gateway.rs"]
#[allow(dead_code, reason = "shared with the tests of NAT64, which need more of it")]
mod gateway;
mod hostile;
#[path = "../nat64/packets.rs"]
#[allow(dead_code, reason = "shared with the tests of NAT64, which need more of it")]
mod packets;
mod page;
mod rfc6333;
mod rfc6888;
mod set_up;
mod static_mappings;
mod workers;
