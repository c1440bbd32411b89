//! The command that boots a guest.

use std::path::PathBuf;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Command {
    pub(super) program: String,
    pub(super) args: Vec<String>,
}

pub(super) struct Parts {
    pub(super) kernel: PathBuf,
    pub(super) initrd: PathBuf,
    pub(super) memory_mib: u32,
    pub(super) cpus: u32,
    pub(super) cores: Option<u32>,
    pub(super) has_kvm: bool,
    pub(super) control: i32,
    pub(super) nics: Vec<NicPart>,
}

pub(super) struct NicPart {
    pub(super) name: &'static str,
    pub(super) mac: String,
    pub(super) descriptors: Vec<i32>,
}

impl Parts {
    /// Interfaces as kernel arguments; none may begin with `con`, which User-Mode Linux interprets.
    pub(super) fn arguments_of_init(&self) -> impl Iterator<Item = String> {
        self.nics.iter().map(|nic| format!("nic_{}={}", nic.name, nic.mac))
    }
}

#[cfg(test)]
pub(super) fn example() -> Parts {
    let nic = |name, mac: &str, descriptor| NicPart { name, mac: mac.to_owned(), descriptors: vec![descriptor] };
    Parts {
        kernel: "/guests/kernel".into(),
        initrd: "/guests/initrd".into(),
        memory_mib: 256,
        cpus: 1,
        cores: None,
        has_kvm: false,
        control: 7,
        nics: vec![nic("left", "02:00:c6:12:00:01", 8), nic("right", "02:00:c6:13:00:01", 9)],
    }
}
