//! What a guest is made of: Debian packages, and the parts of them that it needs.

use super::Kind;

/// Packages of programs in every guest; their libraries follow from the packages' dependencies.
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
    "procps",
];

/// Folders of the packages that no program of a guest reads.
pub(super) const UNUSED: &[&str] =
    &["usr/share", "usr/include", "usr/lib/x86_64-linux-gnu/gconv", "usr/lib/locale", "lib/systemd", "var"];

/// Modules of the kernel that a guest may load: folders and files below `kernel`.
pub(super) const MODULES: &[&str] = &[
    "crypto",
    "lib",
    "net/802",
    "net/8021q",
    "net/bridge",
    "net/core",
    "net/ipv4",
    "net/ipv6",
    "net/llc",
    "net/netfilter",
    "net/packet",
    "net/sched",
    "net/unix",
    "net/xfrm",
    "drivers/net/dummy.ko",
    "drivers/net/tun.ko",
    "drivers/net/veth.ko",
];

/// Programs with several implementations: Debian chooses this one when it installs the package.
pub(super) const LINKS: &[(&str, &str)] = &[
    ("usr/sbin/iptables", "iptables-nft"),
    ("usr/sbin/ip6tables", "ip6tables-nft"),
    ("usr/sbin/iptables-restore", "iptables-nft-restore"),
    ("usr/sbin/ip6tables-restore", "ip6tables-nft-restore"),
];

/// What differs between kinds.
pub(super) struct Recipe {
    /// The package of the kernel.
    pub(super) kernel: &'static str,
    /// Path of the kernel in it, up to its version.
    pub(super) image: &'static str,
    /// Folder of the modules in it, one folder for each version.
    pub(super) modules: &'static str,
}

impl Kind {
    pub(super) fn recipe(self) -> Recipe {
        match self {
            Kind::Uml => {
                Recipe { kernel: "user-mode-linux", image: "usr/bin/linux.uml", modules: "usr/lib/uml/modules" }
            }
        }
    }
}
