//! Conformance of every function, each in a folder, of the chain that joins two of them, and of the tester's views of them.
//! `etherparse` builds the packets of functions that keep sessions and judges every packet that comes out; nothing of the
//! plane's own checksum code is used there.

mod aftr;
mod chain;
mod map;
mod nat44;
mod nat64;
mod natxy;
mod router6;
mod translate;
mod tunnel;
mod view;
