//! The software of a box that natmeter configures: which technologies and edges it does, and where that was seen working.

use crate::Dut;
use key::kind::Choice;
use tech::Plays;

/// Where a software was seen working.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// Test frames passed it on these hosts, in the tests of natmeter.
    WithFrames(&'static str),
    /// Its commands are written from its documentation, and were never run.
    Rendered,
}

/// Something that a software does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Does {
    /// Name of the technology.
    pub technology: &'static str,
    /// The edge; any of a technology without edges.
    pub plays: Plays,
    /// Whether it keeps connections, so that natmeter can empty and count them.
    pub keeps: bool,
    /// Where it was seen working.
    pub seen: Seen,
}

/// A software that natmeter configures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Software {
    /// Its name in bed files.
    pub name: &'static str,
    /// What it is.
    pub about: &'static str,
    /// What forwards packets.
    pub forwards: Forwards,
    /// What it does.
    pub does: &'static [Does],
}

/// What forwards packets in a software.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forwards {
    /// The Linux kernel, on the cores that its soft interrupts run on.
    LinuxKernel,
    /// A program of Linux, on any core.
    LinuxProgram,
    /// A system or a program that chooses its cores itself.
    OnItsOwnCores,
}

const fn does(technology: &'static str, plays: Plays, keeps: bool, on: &'static str) -> Does {
    Does { technology, plays, keeps, seen: Seen::WithFrames(on) }
}

const GUEST: &str = "guest";
const BOTH: &str = "namespace, guest";
const ANYWHERE: &str = "namespace, guest, ssh";

/// All software that natmeter configures.
pub const KNOWN: &[Software] = &[
    Software {
        name: "linux-forwarding",
        about: "IPv4 forwarding by the Linux kernel",
        forwards: Forwards::LinuxKernel,
        does: &[rendered("forwarding", Plays::Pe, false)],
    },
    Software {
        name: "linux-ipv6-forwarding",
        about: "IPv6 forwarding by the Linux kernel",
        forwards: Forwards::LinuxKernel,
        does: &[does("ipv6-forwarding", Plays::Pe, false, "namespace")],
    },
    Software {
        name: "nftables",
        about: "NAT44 by the Linux kernel, configured by nft",
        forwards: Forwards::LinuxKernel,
        does: &[does("nat44", Plays::Pe, true, ANYWHERE)],
    },
    Software {
        name: "nft-flowtable",
        about: "the same with a flowtable: a software fast path for connections that are established",
        forwards: Forwards::LinuxKernel,
        does: &[does("nat44", Plays::Pe, true, GUEST)],
    },
    Software {
        name: "iptables-legacy",
        about: "NAT44 by the Linux kernel, configured by iptables-legacy",
        forwards: Forwards::LinuxKernel,
        does: &[does("nat44", Plays::Pe, true, BOTH)],
    },
    Software {
        name: "iptables-nft",
        about: "NAT44 by the Linux kernel, configured by iptables-nft",
        forwards: Forwards::LinuxKernel,
        does: &[does("nat44", Plays::Pe, true, BOTH)],
    },
    Software {
        name: "jool",
        about: "Jool 4.1, stateful NAT64",
        forwards: Forwards::LinuxKernel,
        does: &[does("nat64", Plays::Pe, true, "guest, ssh"), does("464xlat", Plays::Pe, true, GUEST)],
    },
    Software {
        name: "jool-siit",
        about: "Jool 4.1, stateless translation",
        forwards: Forwards::LinuxKernel,
        does: &[does("siit", Plays::Pe, false, GUEST), does("464xlat", Plays::Ce, false, GUEST)],
    },
    Software {
        name: "ip6tnl",
        about: "tunnels of the Linux kernel with nft",
        forwards: Forwards::LinuxKernel,
        does: &[
            does("ds-lite", Plays::Ce, false, GUEST),
            does("ds-lite", Plays::Pe, true, "guest, ssh"),
            does("lw4o6", Plays::Ce, true, GUEST),
            does("lw4o6", Plays::Pe, false, GUEST),
            does("map-e", Plays::Ce, true, GUEST),
        ],
    },
    Software {
        name: "tayga",
        about: "tayga 0.9, stateless translation in user space",
        forwards: Forwards::LinuxProgram,
        does: &[does("464xlat", Plays::Ce, false, "namespace")],
    },
    Software {
        name: "vpp",
        about: "FD.io VPP, configured by its command line",
        forwards: Forwards::OnItsOwnCores,
        does: &[
            rendered("nat44", Plays::Pe, true),
            rendered("nat64", Plays::Pe, true),
            rendered("464xlat", Plays::Pe, true),
            rendered("ds-lite", Plays::Pe, true),
            rendered("lw4o6", Plays::Pe, false),
            rendered("map-e", Plays::Pe, false),
            rendered("map-t", Plays::Pe, false),
        ],
    },
    Software {
        name: "openbsd-pf",
        about: "PF of OpenBSD, NAT64 by af-to",
        forwards: Forwards::OnItsOwnCores,
        does: &[rendered("nat64", Plays::Pe, true), rendered("464xlat", Plays::Pe, true)],
    },
];

const fn rendered(technology: &'static str, plays: Plays, keeps: bool) -> Does {
    Does { technology, plays, keeps, seen: Seen::Rendered }
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
pub struct Asked {
    /// Name of the technology; `forwarding` is plain IPv4.
    pub technology: &'static str,
    /// Its edge; none of a technology without edges.
    pub edge: Option<Plays>,
}

impl Asked {
    /// What the box with this role of a device is asked to be.
    pub fn of(dut: &Dut, role: &str) -> Asked {
        let Some((plays, technology)) = dut.technology() else { return Asked { technology: "forwarding", edge: None } };
        let edge = match role {
            "ce" => Plays::Ce,
            "pe" => Plays::Pe,
            _ => plays,
        };
        Asked { technology: technology.name(), edge: technology.names().has_edges().then_some(edge) }
    }

    /// The edge in a word of hooks.
    pub fn part(&self) -> &'static str {
        match self.edge {
            None => "whole",
            Some(Plays::Ce) => "ce",
            Some(Plays::Pe) => "pe",
            Some(Plays::Dual) => "dual",
        }
    }
}

impl Software {
    /// What it does if a box is asked for it; `None` if it cannot.
    pub fn doing(&self, asked: Asked) -> Option<&'static Does> {
        let fits =
            |does: &&Does| does.technology == asked.technology && asked.edge.is_none_or(|edge| does.plays == edge);
        self.does.iter().find(fits)
    }

    /// Whether its box is a Linux host.
    pub fn is_of_linux(&self) -> bool {
        self.forwards != Forwards::OnItsOwnCores
    }

    /// Whether anything that it does keeps connections.
    pub fn keeps(&self) -> bool {
        self.does.iter().any(|does| does.keeps)
    }
}
