//! The Debian packages of a guest, and the parts of them that it needs.

use super::Hypervisor;
use crate::tool::Tool;

/// Programs in every guest, without dependencies.
pub(super) const PROGRAMS: &[&str] = &[
    "dash",
    "busybox-static",
    "kmod",
    "iproute2",
    "nftables",
    "iptables",
    "conntrack",
    "ethtool",
    "jool-tools",
    "tayga",
    "procps",
    "openssh-server",
    // For ssh-keygen.
    "openssh-client",
];

/// Package of perf in the version of Debian's kernel.
pub(super) const PERF: &str = "linux-perf";

/// Libraries that perf does not need for recording and printing.
pub(super) const UNUSED_BY_PERF: &[&str] = &[
    "usr/lib/python3",
    "usr/lib/python3.11",
    "usr/lib/python3.13",
    "usr/lib/x86_64-linux-gnu/perl",
    "usr/lib/x86_64-linux-gnu/perl-base",
    "usr/lib/perf-core",
    "usr/libexec/perf-core",
];

/// No program of a guest reads these.
pub(super) const UNUSED: &[&str] = &[
    "usr/share",
    "usr/include",
    "usr/lib/x86_64-linux-gnu/gconv",
    "usr/lib/locale",
    "usr/lib/openssh",
    "usr/bin/ssh",
    "usr/bin/ssh-add",
    "usr/bin/ssh-agent",
    "usr/bin/ssh-keyscan",
    "usr/bin/scp",
    "usr/bin/sftp",
    "etc/ssh/moduli",
    "lib/systemd",
    "var",
];

pub(super) const MODULES: &[&str] = &[
    "extra",
    "kernel/crypto",
    "kernel/arch/x86/crypto",
    "kernel/lib",
    "kernel/net/802",
    "kernel/net/8021q",
    "kernel/net/core",
    "kernel/net/ipv4",
    "kernel/net/ipv6",
    "kernel/net/netfilter",
    "kernel/net/packet",
    "kernel/net/sched",
    "kernel/net/xfrm",
    "kernel/drivers/net/dummy.ko",
    "kernel/drivers/net/net_failover.ko",
    "kernel/drivers/net/tun.ko",
    "kernel/drivers/net/veth.ko",
    "kernel/drivers/net/virtio_net.ko",
    "kernel/drivers/char/virtio_console.ko",
    "kernel/drivers/virtio",
];

/// Debian chooses an implementation of these at installation.
pub(super) const LINKS: &[(&str, &str)] = &[
    ("usr/sbin/iptables", "iptables-nft"),
    ("usr/sbin/ip6tables", "ip6tables-nft"),
    ("usr/sbin/iptables-restore", "iptables-nft-restore"),
    ("usr/sbin/ip6tables-restore", "ip6tables-nft-restore"),
];

pub(super) const DEPMOD: &str = include_str!("depmod.sh");

const COMPILING: [Tool; 4] =
    [Tool::of("gcc", "gcc"), Tool::of("make", "make"), Tool::of("strip", "binutils"), Tool::of("bc", "bc")];
const XZ: Tool = Tool::of("xz", "xz-utils");

pub(super) struct Recipe {
    pub(super) tools: Vec<Tool>,
    pub(super) packages: &'static [&'static str],
    /// Packages that depend on another one's current version: name, and prefix of that dependency.
    pub(super) follow: &'static [(&'static str, &'static str)],
    /// Makes `kernel` and `tree` in its folder.
    pub(super) script: &'static str,
    pub(super) config: &'static str,
}

impl Hypervisor {
    pub(super) fn recipe(self) -> Recipe {
        match self {
            Hypervisor::Uml => Recipe {
                tools: COMPILING.into_iter().chain([XZ]).collect(),
                packages: &["jool-dkms", "flex", "bison", "m4", "libsigsegv2"],
                follow: &[("linux-source", "linux-source-")],
                script: include_str!("uml-kernel.sh"),
                config: include_str!("uml.config"),
            },
            Hypervisor::Qemu => Recipe {
                tools: COMPILING.to_vec(),
                packages: &["jool-dkms"],
                follow: &[
                    ("linux-image-cloud-amd64", "linux-image-"),
                    ("linux-headers-cloud-amd64", "linux-headers-"),
                    ("linux-headers-", "linux-headers-"),
                    ("linux-headers-", "linux-kbuild-"),
                    ("linux-headers-", "linux-compiler-"),
                ],
                script: include_str!("qemu-kernel.sh"),
                config: "",
            },
        }
    }
}
