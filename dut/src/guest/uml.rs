//! User-Mode Linux: the guest's kernel is a process. Its interfaces are packet sockets that natmeter opened, because
//! the guest kernel's own raw transport receives what it sends.

use super::command::{Command, Parts};

/// The command that boots a guest. Of several processors it uses one.
pub(super) fn command(parts: &Parts) -> Command {
    let mut args = vec![
        format!("mem={}M", parts.memory_mib),
        format!("initrd={}", parts.initrd.display()),
        "con=null".to_owned(),
        "con0=null,fd:1".to_owned(),
        "ssl=null".to_owned(),
        format!("ssl0=fd:{}", parts.control),
        "panic=-1".to_owned(),
        // A file system of its own, see the guard.
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
