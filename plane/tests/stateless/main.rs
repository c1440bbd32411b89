//! Conformance of translators, tunnels and MAP, and of the chain that joins two functions, each in a folder; the tester's views
//! of them.

mod chain;
mod map;
mod router6;
mod translate;
mod tunnel;
mod view;
