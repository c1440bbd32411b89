//! User-Mode Linux: a kernel as a process, with packet sockets of natmeter as interfaces, because
//! its own raw transport receives what it sends.

use super::command::{Command, Parts};

/// Command line of User-Mode Linux, with one processor.
pub(super) fn command(parts: &Parts) -> Command {
    let mut args = vec![
        format!("mem={}M", parts.memory_mib),
        format!("initrd={}", parts.initrd.display()),
        "con=null".to_owned(),
        "con0=null,fd:1".to_owned(),
        "ssl=null".to_owned(),
        format!("ssl0=fd:{}", parts.control),
        "panic=-1".to_owned(),
        "uml_dir=/dev/shm".to_owned(),
    ];
    args.extend(parts.arguments_of_init());
    for (number, nic) in parts.nics.iter().enumerate() {
        // Deeper queues stalled under overload.
        args.push(format!("vec{number}:transport=fd,fd={},mac={},depth=64,gro=0", nic.descriptors[0], nic.mac));
    }
    Command { program: parts.kernel.display().to_string(), args }
}

#[cfg(test)]
mod tests {
    use super::super::command::example;

    #[test]
    fn a_guest_with_two_interfaces() {
        let command = super::command(&example());
        insta::assert_snapshot!(format!("{}\n    {}", command.program, command.args.join("\n    ")));
    }
}
