//! Conformance of the AFTR (RFC 6333), and of its NAT where DS-Lite makes a difference (RFC 6888). `etherparse` builds the
//! packets and judges every packet that comes out; nothing of the plane's own checksum code is used here.

mod dual;
mod hostile;
mod page;
mod rfc6333;
mod rfc6888;
mod set_up;
mod static_mappings;
mod workers;
