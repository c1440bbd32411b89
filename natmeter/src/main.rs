//! The `natmeter` command.

#![forbid(unsafe_code)]

fn main() -> std::process::ExitCode {
    natmeter::main()
}
