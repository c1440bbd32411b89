//! QEMU: several processors, TAPs with one queue for each, and a virtio serial port as control channel.

use super::Image;
use super::config::{GuestConfig, Nic};
use crate::tool::Tool;
use rustix::fs::Access;
use std::os::fd::AsRawFd;
use std::path::Path;

pub(super) const QEMU: Tool = Tool::of("qemu-system-x86_64", "qemu-system-x86");

/// Whether this machine's processor runs a guest's instructions. A `/dev/kvm` without a processor's
/// modules emulates them, and Debian's kernel does not boot on it.
pub fn has_kvm() -> bool {
    let is_loaded = |module: &str| Path::new("/sys/module").join(module).exists();
    let access = Access::READ_OK.union(Access::WRITE_OK);
    rustix::fs::access("/dev/kvm", access).is_ok() && ["kvm_amd", "kvm_intel"].into_iter().any(is_loaded)
}

pub(super) fn words(config: &GuestConfig, image: &Image, nics: &[Nic], control: i32, is_fast: bool) -> Vec<String> {
    let words = "-nodefaults -no-user-config -display none -no-reboot -machine pc,usb=off,vmport=off";
    let mut words: Vec<String> = [QEMU.program].into_iter().chain(words.split(' ')).map(str::to_owned).collect();
    let mut option = |name: &str, value: String| words.extend([name.to_owned(), value]);
    option("-accel", if is_fast { "kvm" } else { "tcg,thread=multi" }.to_owned());
    option("-cpu", if is_fast { "host" } else { "max" }.to_owned());
    option("-smp", config.cpus.to_string());
    option("-m", format!("{}M", config.memory_mib));
    option("-kernel", image.kernel().display().to_string());
    option("-initrd", image.initrd().display().to_string());
    let cores = config.cores.map(|cores| format!("nr_cpus={cores}"));
    let variables: Vec<String> = cores.into_iter().chain(nics.iter().map(Nic::argument)).collect();
    option("-append", format!("console=ttyS0 panic=-1 mitigations=off {}", variables.join(" ")).trim_end().to_owned());
    option("-chardev", "stdio,id=console,signal=off".to_owned());
    option("-serial", "chardev:console".to_owned());
    option("-device", "virtio-serial-pci".to_owned());
    option("-chardev", format!("socket,id=control,fd={control}"));
    option("-device", "virtserialport,chardev=control".to_owned());
    for (number, nic) in nics.iter().enumerate() {
        let descriptors: Vec<String> = nic.descriptors.iter().map(|fd| fd.as_raw_fd().to_string()).collect();
        let queues = descriptors.len();
        let more = if queues > 1 { format!(",mq=on,vectors={},rss=on,hash=on", 2 * queues + 2) } else { String::new() };
        option("-netdev", format!("tap,id=net{number},fds={},vhost=off", descriptors.join(":")));
        option("-device", format!("virtio-net-pci,netdev=net{number},mac={}{more}", nic.mac()));
    }
    words
}

#[cfg(test)]
mod tests {
    use super::super::config::tests::{image, nics, shown};
    use super::*;

    #[test]
    fn a_guest_with_two_processors() {
        let config = GuestConfig { cpus: 2, cores: Some(1), ..GuestConfig::default() };
        let nics = nics(2);
        insta::assert_snapshot!(shown(&words(&config, &image(), &nics, 7, false), &nics));
    }
}
