//! The `natmeter` command.
fn main() {}
