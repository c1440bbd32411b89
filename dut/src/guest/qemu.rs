//! QEMU: several processors, TAPs with one queue for each, and a virtio serial port as control channel.

use super::command::{Command, Parts};
use crate::tool::Tool;
use rustix::fs::Access;
use std::path::Path;

pub(super) const QEMU: Tool =
    Tool { program: "qemu-system-x86_64", package: "qemu-system-x86", version: &["--version"] };

/// Whether this machine's processor runs a guest's instructions. A `/dev/kvm` without a processor's
/// modules emulates them, and Debian's kernel does not boot on it.
pub fn has_kvm() -> bool {
    let is_loaded = |module: &str| Path::new("/sys/module").join(module).exists();
    let access = Access::READ_OK.union(Access::WRITE_OK);
    rustix::fs::access("/dev/kvm", access).is_ok() && ["kvm_amd", "kvm_intel"].into_iter().any(is_loaded)
}

/// Command line of QEMU, which emulates without hardware support.
pub(super) fn command(parts: &Parts) -> Command {
    let is_fast = parts.has_kvm;
    let words = "-nodefaults -no-user-config -display none -no-reboot -machine pc,usb=off,vmport=off";
    let mut args: Vec<String> = words.split(' ').map(str::to_owned).collect();
    let mut option = |name: &str, value: String| args.extend([name.to_owned(), value]);
    option("-accel", if is_fast { "kvm" } else { "tcg,thread=multi" }.to_owned());
    option("-cpu", if is_fast { "host" } else { "max" }.to_owned());
    option("-smp", parts.cpus.to_string());
    option("-m", format!("{}M", parts.memory_mib));
    option("-kernel", parts.kernel.display().to_string());
    option("-initrd", parts.initrd.display().to_string());
    let cores = parts.cores.map(|cores| format!("nr_cpus={cores}"));
    let variables: Vec<String> = cores.into_iter().chain(parts.arguments_of_init()).collect();
    option("-append", format!("console=ttyS0 panic=-1 mitigations=off {}", variables.join(" ")).trim_end().to_owned());
    option("-chardev", "stdio,id=console,signal=off".to_owned());
    option("-serial", "chardev:console".to_owned());
    option("-device", "virtio-serial-pci".to_owned());
    option("-chardev", format!("socket,id=control,fd={}", parts.control));
    option("-device", "virtserialport,chardev=control".to_owned());
    for (number, nic) in parts.nics.iter().enumerate() {
        let descriptors: Vec<String> = nic.descriptors.iter().map(ToString::to_string).collect();
        let queues = descriptors.len();
        let more = if queues > 1 { format!(",mq=on,vectors={},rss=on,hash=on", 2 * queues + 2) } else { String::new() };
        option("-netdev", format!("tap,id=net{number},fds={},vhost=off", descriptors.join(":")));
        option("-device", format!("virtio-net-pci,netdev=net{number},mac={}{more}", nic.mac));
    }
    Command { program: QEMU.program.to_owned(), args }
}

#[cfg(test)]
mod tests {
    use super::super::command::example;

    #[test]
    fn a_guest_with_two_processors() {
        let mut parts = example();
        parts.cpus = 2;
        parts.cores = Some(1);
        parts.nics.iter_mut().for_each(|nic| nic.descriptors.push(nic.descriptors[0] + 10));
        let command = super::command(&parts);
        insta::assert_snapshot!(format!("{}\n    {}", command.program, command.args.join("\n    ")));
    }
}
