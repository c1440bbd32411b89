//! The software of a box that natmeter configures: which technologies and parts of them it does,
//! and where it was seen working.

use key::kind::Choice;
use tech::{Names, Plays, Technology};

method::worded! {
    /// The part of a technology that a box is.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum TechnologyPart: name {
        /// All of a technology without edges.
        Whole = "whole",
        /// The customer edge.
        Ce = "ce",
        /// The NAT44 of a customer edge of two boxes.
        CeNat44 = "ce-nat44",
        /// The stateless translator of a customer edge of two boxes.
        CeNat46 = "ce-nat46",
        /// The provider edge.
        Pe = "pe",
        /// Both edges.
        Dual = "dual",
    }
}

impl TechnologyPart {
    /// Edge that it is, or belongs to; any of a technology without edges.
    pub fn plays(self) -> Plays {
        match self {
            TechnologyPart::Ce | TechnologyPart::CeNat44 | TechnologyPart::CeNat46 => Plays::Ce,
            TechnologyPart::Whole | TechnologyPart::Pe => Plays::Pe,
            TechnologyPart::Dual => Plays::Dual,
        }
    }

    /// What it is, in a few words: those of its edge, or of a half of it.
    pub fn in_words(self, names: &Names) -> String {
        let edge = names.words(self.plays());
        match self {
            TechnologyPart::CeNat44 => format!("NAT44 of the {edge}"),
            TechnologyPart::CeNat46 => format!("stateless translator of the {edge}"),
            TechnologyPart::Whole | TechnologyPart::Ce | TechnologyPart::Pe | TechnologyPart::Dual => edge.to_owned(),
        }
    }
}

/// Where a software was seen working.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Evidence {
    /// Test frames passed it on these hosts, in the tests of natmeter.
    WithFrames(&'static str),
    /// Written from documentation, never run.
    Rendered,
}

/// Something that a software does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Function {
    pub technology: &'static str,
    pub part: TechnologyPart,
    /// Whether it keeps connections, which natmeter can empty and count.
    pub keeps: bool,
    /// Where the feature was seen working.
    pub seen: Evidence,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Software {
    pub name: &'static str,
    pub about: &'static str,
    /// What forwards packets.
    pub forwards: Forwarder,
    pub does: &'static [Function],
}

/// What forwards packets in a software.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forwarder {
    /// The Linux kernel, on the cores that its soft interrupts run on.
    LinuxKernel,
    /// A program of Linux, on any core.
    LinuxProgram,
    /// A system or a program that chooses its cores itself.
    OnItsOwnCores,
}

const fn does(technology: &'static str, part: TechnologyPart, keeps: bool, on: &'static str) -> Function {
    Function { technology, part, keeps, seen: Evidence::WithFrames(on) }
}

const GUEST: &str = "guest";
const BOTH: &str = "namespace, guest";
const ANYWHERE: &str = "namespace, guest, ssh";

/// All software that natmeter configures.
pub const KNOWN: &[Software] = &[
    Software {
        name: "linux-forwarding",
        about: "IPv4 forwarding by the Linux kernel",
        forwards: Forwarder::LinuxKernel,
        does: &[does("forwarding", TechnologyPart::Whole, false, BOTH)],
    },
    Software {
        name: "linux-ipv6-forwarding",
        about: "IPv6 forwarding by the Linux kernel",
        forwards: Forwarder::LinuxKernel,
        does: &[does("ipv6-forwarding", TechnologyPart::Whole, false, BOTH)],
    },
    Software {
        name: "nftables",
        about: "NAT44 by the Linux kernel, configured by nft",
        forwards: Forwarder::LinuxKernel,
        does: &[
            does("nat44", TechnologyPart::Whole, true, ANYWHERE),
            does("map-t", TechnologyPart::CeNat44, true, GUEST),
        ],
    },
    Software {
        name: "nft-flowtable",
        about: "the same with a flowtable: a software fast path for connections that are established",
        forwards: Forwarder::LinuxKernel,
        does: &[does("nat44", TechnologyPart::Whole, true, GUEST)],
    },
    Software {
        name: "iptables-legacy",
        about: "NAT44 by the Linux kernel, configured by iptables-legacy",
        forwards: Forwarder::LinuxKernel,
        does: &[does("nat44", TechnologyPart::Whole, true, BOTH), does("map-t", TechnologyPart::CeNat44, true, GUEST)],
    },
    Software {
        name: "iptables-nft",
        about: "NAT44 by the Linux kernel, configured by iptables-nft",
        forwards: Forwarder::LinuxKernel,
        does: &[does("nat44", TechnologyPart::Whole, true, BOTH), does("map-t", TechnologyPart::CeNat44, true, GUEST)],
    },
    Software {
        name: "jool",
        about: "Jool 4.1, stateful NAT64",
        forwards: Forwarder::LinuxKernel,
        does: &[
            does("nat64", TechnologyPart::Whole, true, "guest, ssh"),
            does("464xlat", TechnologyPart::Pe, true, GUEST),
        ],
    },
    Software {
        name: "jool-siit",
        about: "Jool 4.1, stateless translation",
        forwards: Forwarder::LinuxKernel,
        does: &[
            does("siit", TechnologyPart::Whole, false, GUEST),
            does("464xlat", TechnologyPart::Ce, false, GUEST),
            does("map-t", TechnologyPart::Ce, true, "guest:qemu"),
            does("map-t", TechnologyPart::CeNat46, false, GUEST),
        ],
    },
    Software {
        name: "jool-mapt",
        about: "Jool 4.2, MAP-T",
        forwards: Forwarder::LinuxKernel,
        does: &[
            rendered("map-t", TechnologyPart::Ce, true),
            rendered("map-t", TechnologyPart::CeNat46, false),
            rendered("map-t", TechnologyPart::Pe, false),
        ],
    },
    Software {
        name: "ip6tnl",
        about: "tunnels of the Linux kernel with nft",
        forwards: Forwarder::LinuxKernel,
        does: &[
            does("ds-lite", TechnologyPart::Ce, false, GUEST),
            does("ds-lite", TechnologyPart::Pe, true, "guest, ssh"),
            does("lw4o6", TechnologyPart::Ce, true, GUEST),
            does("lw4o6", TechnologyPart::Pe, false, GUEST),
            does("map-e", TechnologyPart::Ce, true, GUEST),
        ],
    },
    Software {
        name: "tayga",
        about: "tayga 0.9, stateless translation in user space",
        forwards: Forwarder::LinuxProgram,
        does: &[does("464xlat", TechnologyPart::Ce, false, BOTH), does("siit", TechnologyPart::Whole, false, ANYWHERE)],
    },
    Software {
        name: "vpp",
        about: "FD.io VPP, configured by its command line",
        forwards: Forwarder::OnItsOwnCores,
        does: &[
            rendered("nat44", TechnologyPart::Whole, true),
            rendered("nat64", TechnologyPart::Whole, true),
            rendered("464xlat", TechnologyPart::Pe, true),
            rendered("ds-lite", TechnologyPart::Pe, true),
            rendered("lw4o6", TechnologyPart::Pe, false),
            rendered("map-e", TechnologyPart::Pe, false),
            rendered("map-t", TechnologyPart::Pe, false),
        ],
    },
    Software {
        name: "snabb-lwaftr",
        about: "Snabb lwAFTR",
        forwards: Forwarder::OnItsOwnCores,
        does: &[rendered("lw4o6", TechnologyPart::Pe, false)],
    },
    Software {
        name: "openbsd-pf",
        about: "PF of OpenBSD, NAT64 by af-to",
        forwards: Forwarder::OnItsOwnCores,
        does: &[rendered("nat64", TechnologyPart::Whole, true), rendered("464xlat", TechnologyPart::Pe, true)],
    },
];

const fn rendered(technology: &'static str, part: TechnologyPart, keeps: bool) -> Function {
    Function { technology, part, keeps, seen: Evidence::Rendered }
}

/// The words for `software`.
pub(super) const CHOICES: &[Choice<Option<&Software>>] = &{
    const NONE: Choice<Option<&Software>> = ("external", None, "what you or your hooks configure");
    let mut choices = [NONE; KNOWN.len() + 1];
    let mut at = 0;
    while at < KNOWN.len() {
        choices[at + 1] = (KNOWN[at].name, Some(&KNOWN[at]), KNOWN[at].about);
        at += 1;
    }
    choices
};

/// What a box is asked to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BoxPart {
    /// Name of the technology; `forwarding` is plain IPv4.
    pub technology: &'static str,
    pub part: TechnologyPart,
}

impl BoxPart {
    /// What is asked of the box with this role, for a technology; `None` is plain forwarding.
    pub fn of(technology: Option<(Plays, &dyn Technology)>, role: &str) -> BoxPart {
        let Some((plays, technology)) = technology else {
            return BoxPart { technology: "forwarding", part: TechnologyPart::Whole };
        };
        let part = match (technology.names().has_edges(), role, plays) {
            (false, ..) => TechnologyPart::Whole,
            (_, "ce-nat44", _) => TechnologyPart::CeNat44,
            (_, "ce-nat46", _) => TechnologyPart::CeNat46,
            (_, "ce", _) | (_, "dut", Plays::Ce) => TechnologyPart::Ce,
            (_, "pe", _) | (_, _, Plays::Pe) => TechnologyPart::Pe,
            _ => TechnologyPart::Dual,
        };
        BoxPart { technology: technology.name(), part }
    }
}

impl Software {
    /// What it does if a box is asked for it; `None` if it cannot.
    pub fn doing(&self, asked: BoxPart) -> Option<&'static Function> {
        self.does.iter().find(|does| (does.technology, does.part) == (asked.technology, asked.part))
    }

    /// Whether the box is a Linux host.
    pub fn is_of_linux(&self) -> bool {
        self.forwards != Forwarder::OnItsOwnCores
    }

    /// Whether it keeps connections if a box is this.
    pub fn keeps(&self, asked: BoxPart) -> bool {
        self.doing(asked).is_some_and(|does| does.keeps)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_edges_with_connections_keep_them() {
        let keeps = |name: &str, technology, part| {
            let software = KNOWN.iter().find(|known| known.name == name).unwrap();
            software.keeps(BoxPart { technology, part })
        };
        let cases = [
            ("ip6tnl", "ds-lite", TechnologyPart::Ce, false),
            ("ip6tnl", "ds-lite", TechnologyPart::Pe, true),
            ("ip6tnl", "lw4o6", TechnologyPart::Ce, true),
            ("ip6tnl", "lw4o6", TechnologyPart::Pe, false),
            ("ip6tnl", "map-e", TechnologyPart::Ce, true),
            ("jool-siit", "464xlat", TechnologyPart::Ce, false),
            ("jool-siit", "siit", TechnologyPart::Whole, false),
            ("jool", "464xlat", TechnologyPart::Pe, true),
        ];
        for (name, technology, part, expected) in cases {
            assert_eq!(keeps(name, technology, part), expected, "{name} as {part:?} of {technology}");
        }
    }
}
