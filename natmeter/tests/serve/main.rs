//! `natmeter serve` over real sockets and in a browser, and the live view of a run on a pseudo terminal.

mod browser;
mod garbage;
mod live;
mod pages;
mod server;
mod terminal;
mod token;
