//! Conformance of the AFTR (RFC 6333), and of its NAT where DS-Lite differs (RFC 6888). `etherparse` builds and judges
//! the packets, without the plane's own checksum code.

pub(super) mod dual;
mod hostile;
mod rfc6333;
mod rfc6888;
pub(super) mod set_up;
mod static_mappings;
mod workers;
