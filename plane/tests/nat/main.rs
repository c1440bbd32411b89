//! Conformance of the functions that keep sessions, each in a folder. `etherparse` builds the packets and judges every packet that
//! comes out; nothing of the plane's own checksum code is used here.

mod aftr;
mod nat44;
mod nat64;
mod natxy;
