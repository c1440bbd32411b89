//! A guest for tests of command lines.

use super::*;
use crate::guest::Image;
use std::os::fd::AsRawFd;

pub(in super::super) fn image() -> Image {
    Image { kind: Hypervisor::default(), folder: "/guests".into() }
}

/// Two interfaces, each with the descriptor of a pipe per queue.
pub(in super::super) fn nics(queues: usize) -> [Nic; 2] {
    let nic = |name, mac| {
        let descriptors = (0..queues).map(|_| std::io::pipe().unwrap().0.into()).collect();
        Nic { name, mac, descriptors }
    };
    [nic("left", [2, 0, 0xc6, 0x12, 0, 1]), nic("right", [2, 0, 0xc6, 0x13, 0, 1])]
}

/// Joins the words of a command line, with names of interfaces in place of their descriptors.
pub(in super::super) fn shown(words: &[String], nics: &[Nic]) -> String {
    nics.iter().fold(words.join("\n    "), |text, nic| {
        let numbers: Vec<String> = nic.descriptors.iter().map(|fd| fd.as_raw_fd().to_string()).collect();
        let (numbers, name) = (numbers.join(":"), nic.name);
        let text = text.replace(&format!(",fd={numbers},"), &format!(",fd={name},"));
        text.replace(&format!(",fds={numbers},"), &format!(",fds={name},"))
    })
}
