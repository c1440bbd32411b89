//! Conformance of translators, tunnels and MAP, and of the chain that joins two functions, each in a folder.

mod chain;
mod map;
mod translate;
mod tunnel;
