//! User-Mode Linux: a kernel as a process, with packet sockets of natmeter as interfaces, because
//! its own raw transport receives what it sends.

use super::Image;
use super::config::{GuestConfig, Nic};
use std::os::fd::AsRawFd;

pub(super) fn words(config: &GuestConfig, image: &Image, nics: &[Nic], control: i32) -> Vec<String> {
    let mut words = vec![
        image.kernel().display().to_string(),
        format!("mem={}M", config.memory_mib),
        format!("initrd={}", image.initrd().display()),
        "con=null".to_owned(),
        "con0=null,fd:1".to_owned(),
        "ssl=null".to_owned(),
        format!("ssl0=fd:{control}"),
        "panic=-1".to_owned(),
        "uml_dir=/dev/shm".to_owned(),
    ];
    words.extend(nics.iter().map(Nic::argument));
    for (number, nic) in nics.iter().enumerate() {
        let descriptor = nic.descriptors[0].as_raw_fd();
        // Deeper queues stalled under overload.
        words.push(format!("vec{number}:transport=fd,fd={descriptor},mac={},depth=64,gro=0", nic.mac()));
    }
    words
}

#[cfg(test)]
mod tests {
    use super::super::config::tests::{image, nics, shown};
    use super::*;

    #[test]
    fn a_guest_with_two_interfaces() {
        let nics = nics(1);
        insta::assert_snapshot!(shown(&words(&GuestConfig::default(), &image(), &nics, 7), &nics));
    }
}
