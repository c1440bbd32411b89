//! Conformance tests of functions, of the chain, and of the tester's views. Tests with sessions use `etherparse`,
//! without the plane's own checksum code.

mod aftr;
mod chain;
mod each_device;
mod map;
mod mss;
mod nat44;
mod nat64;
mod natxy;
mod pages;
mod router6;
mod stateful;
mod translate;
mod tunnel;
mod view;
