//! The software of a box as hooks: shell scripts that bring it into a known state and restore it.
//! The host keeps old values in a file until they are restored.
//!
//! A script follows the shared ones that it calls. It sets `settings`, which `frame.sh` keeps and
//! restores, has the functions `add` and `remove`, and `clear` and `count` if it keeps connections;
//! values of the point are shell variables.

use crate::external::{Hook, Hooks};
use crate::software::conntrack::SLACK;
use crate::step::quoted;
use std::fmt::Write;

#[derive(Clone, Copy, Debug)]
pub struct Shared {
    pub name: &'static str,
    /// Functions of the shell.
    pub text: &'static str,
}

struct Script {
    name: &'static str,
    shared: &'static [Shared],
    text: &'static str,
    preset: &'static str,
    /// Values of the point; `?` follows one that a technology may lack.
    values: &'static str,
    /// Prints the octets of its connections, if any.
    memory: Option<&'static str>,
    /// Folder for files until the next start of the box.
    run: &'static str,
}

/// Common fields of the scripts for Linux.
const LINUX: Script =
    Script { name: "", shared: &[], text: "", preset: "", values: "", memory: Some("memory"), run: "/run" };

const CONNTRACK: Shared = Shared { name: "conntrack", text: include_str!("conntrack.sh") };
const NAPT: Shared = Shared { name: "napt", text: include_str!("napt.sh") };
const MAP_T_CE: Shared = Shared { name: "map-t-ce", text: include_str!("map-t-ce.sh") };
const MAPPING_RULES: Shared = Shared { name: "mapping-rules", text: include_str!("mapping-rules.sh") };
const FRAME: Shared = Shared { name: "frame", text: include_str!("frame.sh") };

pub const SHARED: &[Shared] = &[CONNTRACK, NAPT, MAP_T_CE, MAPPING_RULES, FRAME];

const NAT44: Script =
    Script { shared: &[CONNTRACK, NAPT], values: "connections udp-timeout pool pool-ports? customers?", ..LINUX };

const SCRIPTS: &[Script] = &[
    Script { name: "linux-forwarding", text: include_str!("linux-forwarding.sh"), ..LINUX },
    Script { name: "linux-ipv6-forwarding", text: include_str!("linux-ipv6-forwarding.sh"), ..LINUX },
    Script { name: "nftables", text: include_str!("nftables.sh"), preset: "fast=no\n", ..NAT44 },
    Script { name: "nft-flowtable", text: include_str!("nftables.sh"), preset: "fast=yes\n", ..NAT44 },
    Script { name: "iptables-legacy", text: include_str!("iptables.sh"), preset: "program=iptables-legacy\n", ..NAT44 },
    Script { name: "iptables-nft", text: include_str!("iptables.sh"), preset: "program=iptables-nft\n", ..NAT44 },
    Script { name: "jool", text: include_str!("jool.sh"), values: "pref64 pool pool-ports udp-timeout", ..LINUX },
    Script {
        name: "jool-siit",
        shared: &[CONNTRACK, NAPT, MAP_T_CE],
        text: include_str!("jool-siit.sh"),
        values: "connections udp-timeout pref64? dmr? customers",
        ..LINUX
    },
    Script {
        name: "jool-mapt",
        shared: &[CONNTRACK, NAPT, MAP_T_CE, MAPPING_RULES],
        text: include_str!("jool-mapt.sh"),
        values: "connections udp-timeout dmr customers mapping-rules",
        ..LINUX
    },
    Script {
        name: "ip6tnl",
        shared: &[CONNTRACK, NAPT],
        text: include_str!("ip6tnl.sh"),
        values: "connections udp-timeout pool? pool-ports? customers",
        ..LINUX
    },
    Script {
        name: "tayga",
        text: include_str!("tayga.sh"),
        values: "pref64? customers left-address? right-address?",
        ..LINUX
    },
    Script {
        name: "vpp",
        shared: &[MAPPING_RULES],
        text: include_str!("vpp.sh"),
        values: "connections udp-timeout pool? pref64? aftr? br? dmr? mapping-rules? customers?",
        memory: None,
        ..LINUX
    },
    Script {
        name: "snabb-lwaftr",
        text: include_str!("snabb-lwaftr.sh"),
        values: "customers left-address? left-next-hop? right-address? right-next-hop?",
        memory: None,
        ..LINUX
    },
    Script {
        name: "openbsd-pf",
        text: include_str!("openbsd-pf.sh"),
        values: "connections udp-timeout pool pref64 neighbours?",
        memory: Some("states"),
        run: "/var/run",
        ..LINUX
    },
];

/// Names and own functions of all software of boxes.
pub fn texts() -> impl Iterator<Item = (&'static str, &'static str, &'static [Shared])> {
    SCRIPTS.iter().map(|script| (script.name, script.text, script.shared))
}

#[derive(Clone, Copy, Debug)]
pub struct Box<'a> {
    pub technology: &'a str,
    /// Part of the technology: `ce`, `pe`, `ce-nat44`, `ce-nat46`, or `whole` without edges.
    pub part: &'a str,
    pub interfaces: [&'a str; 2],
    /// Name of this tester; hooks do not touch a box of another one.
    pub owner: &'a str,
    /// Suffix of its files where boxes share a file system.
    pub apart: &'a str,
    /// Whether the software keeps connections in this part of the technology.
    pub keeps: bool,
    /// Whether the Linux kernel of the box resolves its neighbours.
    pub is_of_linux: bool,
    /// Call of the function in `frame.sh` that sets the cores; `None` if no function does.
    pub cores: Option<&'a str>,
}

/// The hooks of a software on a box, with placeholders of values of the point, of which `known`
/// says which exist. The hook `prepare` leaves the script on the box.
pub fn hooks(software: &str, on: &Box, known: &dyn Fn(&str) -> bool) -> Option<Hooks> {
    let script = SCRIPTS.iter().find(|script| script.name == software)?;
    let kept = script.kept(on);
    let file = quoted(&format!("{kept}.sh"));
    let [kept, owner] = [&kept, on.owner].map(|text| escaped(&quoted(text)));
    let mark = escaped(&quoted(&format!("# {}", on.owner)));
    // Old values of another run must be kept.
    let prepare = format!(
        "(set -C; echo {mark} >{kept}) 2>/dev/null || {{{{ echo {kept}: another run has configured this box\\; end it, or run \
         natmeter clean there >&2; exit 1; }}}}\ncat >{file} <<'natmeter'\n{}natmeter\nsh {file} prepare",
        script.with_values(on, known)
    );
    let keeps = on.keeps;
    let hooks = [
        (Hook::Prepare, Some(prepare)),
        (Hook::Clear, keeps.then(|| format!("sh {file} clear"))),
        (Hook::Count, keeps.then(|| format!("sh {file} count"))),
        (Hook::Memory, script.memory.filter(|_| keeps).map(|function| format!("sh {file} {function}"))),
        (Hook::Cores, on.cores.map(|call| format!("sh {file} {call}"))),
        // A restarted box has nothing to restore.
        (Hook::Restore, Some(format!("test ! -e {file} || sh {file} restore {owner}"))),
    ];
    Some(hooks.into_iter().filter_map(|(hook, line)| Some((hook, line?))).collect())
}

impl Script {
    fn kept(&self, on: &Box) -> String {
        format!("{}/natmeter-dut{}", self.run, on.apart)
    }

    fn with_values(&self, on: &Box, known: &dyn Fn(&str) -> bool) -> String {
        let Box { technology, part, interfaces: [left, right], .. } = *on;
        let kept = self.kept(on);
        let fixed = [("kept", &*kept), ("technology", technology), ("edge", part), ("left", left), ("right", right)];
        let mut text = "set -e\n".to_owned();
        for (name, value) in fixed {
            let _ = writeln!(text, "{name}={}", escaped(&quoted(value)));
        }
        for name in self.values.split_ascii_whitespace() {
            let (name, optional) = name.strip_suffix('?').map_or((name, false), |name| (name, true));
            let value = if optional && !known(name) { String::new() } else { format!("{{{name}}}") };
            let _ = writeln!(text, "{}={value}", name.replace('-', "_"));
        }
        if on.is_of_linux && known("neighbours") {
            text += "linux_neighbours={neighbours}\n";
        }
        let _ = writeln!(text, "slack={SLACK}");
        self.shared.iter().for_each(|shared| text += &escaped(shared.text));
        text + self.preset + &escaped(self.text) + &escaped(FRAME.text)
    }
}

fn escaped(text: &str) -> String {
    text.replace('{', "{{").replace('}', "}}")
}

#[cfg(test)]
mod tests;
