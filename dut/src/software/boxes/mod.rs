//! The software of a box as hooks: shell scripts that bring it into a known state there and restore it. The host keeps the old
//! values of its settings in a file until they are restored, so that a later run or `clean` finds them.
//!
//! A script is one file beside this one, behind the shared ones whose functions it calls. It sets `settings`, which `frame.sh`
//! keeps and restores, and has the functions `add` and `remove`; `clear` and `count` if it keeps connections. Values of the point are variables of the shell.

use crate::external::Hooks;
use crate::software::conntrack::SLACK;
use crate::step::quoted;
use std::fmt::Write;

/// Functions that several scripts call.
#[derive(Clone, Copy, Debug)]
pub struct Shared {
    /// Their name.
    pub name: &'static str,
    /// Functions of the shell.
    pub text: &'static str,
}

/// A script, and what it needs.
struct Script {
    /// Name of the software.
    name: &'static str,
    /// Functions of the shell that it calls.
    shared: &'static [Shared],
    /// Its own.
    text: &'static str,
    /// Assignments before it.
    preset: &'static str,
    /// Values of the point, by the names of placeholders; a `?` after one that a technology may lack.
    values: &'static [&'static str],
    /// Whether it keeps connections, of a technology and an edge.
    keeps: fn(&Edge) -> bool,
    /// Whether its connections are in the memory of a Linux kernel.
    in_kernel: bool,
    /// Folder of its files until the next start of the box.
    run: &'static str,
}

/// Of a software that keeps no connections, for a Linux box.
const LINUX: Script =
    Script { name: "", shared: &[], text: "", preset: "", values: &[], keeps: |_| false, in_kernel: true, run: "/run" };

/// The technology and the part of it that a box is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// The technology's name.
    pub technology: &'static str,
    /// `ce`, `pe`, `ce-nat44` or `ce-nat46`, or `whole` of a technology without edges.
    pub part: &'static str,
}

const NAT: &[&str] = &["connections", "udp-timeout", "pool", "pool-ports?", "customers?"];
const CONNTRACK: Shared = Shared { name: "conntrack", text: include_str!("conntrack.sh") };
const NAPT: Shared = Shared { name: "napt", text: include_str!("napt.sh") };
const MAP_T_CE: Shared = Shared { name: "map-t-ce", text: include_str!("map-t-ce.sh") };
const MAPPING_RULES: Shared = Shared { name: "mapping-rules", text: include_str!("mapping-rules.sh") };
/// The end of every script.
const FRAME: Shared = Shared { name: "frame", text: include_str!("frame.sh") };

/// Functions that several scripts share.
pub const SHARED: &[Shared] = &[CONNTRACK, NAPT, MAP_T_CE, MAPPING_RULES, FRAME];

fn is_map_t_ce(edge: &Edge) -> bool {
    (edge.technology, edge.part) == ("map-t", "ce")
}

const SCRIPTS: &[Script] = &[
    Script { name: "linux-forwarding", text: include_str!("linux-forwarding.sh"), ..LINUX },
    Script { name: "linux-ipv6-forwarding", text: include_str!("linux-ipv6-forwarding.sh"), ..LINUX },
    Script {
        name: "nftables",
        shared: &[CONNTRACK, NAPT],
        text: include_str!("nftables.sh"),
        preset: "fast=no\n",
        values: NAT,
        keeps: |_| true,
        ..LINUX
    },
    Script {
        name: "nft-flowtable",
        shared: &[CONNTRACK, NAPT],
        text: include_str!("nftables.sh"),
        preset: "fast=yes\n",
        values: NAT,
        keeps: |_| true,
        ..LINUX
    },
    Script {
        name: "iptables-legacy",
        shared: &[CONNTRACK, NAPT],
        text: include_str!("iptables.sh"),
        preset: "program=iptables-legacy\n",
        values: NAT,
        keeps: |_| true,
        ..LINUX
    },
    Script {
        name: "iptables-nft",
        shared: &[CONNTRACK, NAPT],
        text: include_str!("iptables.sh"),
        preset: "program=iptables-nft\n",
        values: NAT,
        keeps: |_| true,
        ..LINUX
    },
    Script {
        name: "jool",
        text: include_str!("jool.sh"),
        values: &["pref64", "pool", "pool-ports", "udp-timeout"],
        keeps: |_| true,
        ..LINUX
    },
    Script {
        name: "jool-siit",
        shared: &[CONNTRACK, NAPT, MAP_T_CE],
        text: include_str!("jool-siit.sh"),
        values: &["connections", "udp-timeout", "pref64?", "dmr?", "customers"],
        keeps: is_map_t_ce,
        ..LINUX
    },
    Script {
        name: "jool-mapt",
        shared: &[CONNTRACK, NAPT, MAP_T_CE, MAPPING_RULES],
        text: include_str!("jool-mapt.sh"),
        values: &["connections", "udp-timeout", "dmr", "customers", "mapping-rules"],
        keeps: is_map_t_ce,
        ..LINUX
    },
    Script {
        name: "ip6tnl",
        shared: &[CONNTRACK, NAPT],
        text: include_str!("ip6tnl.sh"),
        values: &["connections", "udp-timeout", "pool?", "pool-ports?", "customers"],
        keeps: |edge| matches!((edge.technology, edge.part), ("ds-lite", "pe") | ("lw4o6" | "map-e", "ce")),
        ..LINUX
    },
    Script {
        name: "tayga",
        text: include_str!("tayga.sh"),
        values: &["pref64?", "customers", "left-address?", "right-address?"],
        ..LINUX
    },
    Script {
        name: "vpp",
        shared: &[MAPPING_RULES],
        text: include_str!("vpp.sh"),
        values: &[
            "connections",
            "udp-timeout",
            "pool?",
            "pref64?",
            "aftr?",
            "br?",
            "dmr?",
            "mapping-rules?",
            "customers?",
        ],
        keeps: |edge| matches!(edge.technology, "nat44" | "nat64" | "464xlat" | "ds-lite"),
        in_kernel: false,
        ..LINUX
    },
    Script {
        name: "snabb-lwaftr",
        text: include_str!("snabb-lwaftr.sh"),
        values: &["customers", "left-address?", "left-next-hop?", "right-address?", "right-next-hop?"],
        in_kernel: false,
        ..LINUX
    },
    Script {
        name: "openbsd-pf",
        text: include_str!("openbsd-pf.sh"),
        values: &["connections", "udp-timeout", "pool", "pref64"],
        keeps: |_| true,
        in_kernel: false,
        run: "/var/run",
        ..LINUX
    },
];

/// Name of all software that natmeter configures on a box, its own functions, and those that it shares.
pub fn texts() -> impl Iterator<Item = (&'static str, &'static str, &'static [Shared])> {
    SCRIPTS.iter().map(|script| (script.name, script.text, script.shared))
}

/// A box that a software is configured on.
#[derive(Clone, Copy, Debug)]
pub struct Box<'a> {
    /// Technology and part.
    pub edge: Edge,
    /// Its interfaces, left and right.
    pub interfaces: [&'a str; 2],
    /// Names this tester; hooks do not touch a box that another tester configured.
    pub owner: &'a str,
    /// Ends the names of its files where several boxes share a file system.
    pub apart: &'a str,
    /// What sets its cores; none leaves them as they are.
    pub cores: Option<CoresBy>,
}

/// What sets the cores of a box.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CoresBy {
    /// The first `{cores}` cores of the box are online, and its others offline.
    Hotplug,
    /// Receive packet steering of its interfaces: the cores of `{core-mask}` forward packets. For a namespace, whose kernel is that of
    /// the tester.
    Steering,
}

/// Returns the hooks of a software on a box. Placeholders stand for values of the point; `known` says which it has. The hook
/// `prepare` leaves the script on the box for the others.
pub fn hooks(software: &str, on: &Box, known: &dyn Fn(&str) -> bool) -> Option<Hooks> {
    let script = SCRIPTS.iter().find(|script| script.name == software)?;
    let kept = script.kept(on);
    let file = quoted(&format!("{kept}.sh"));
    let [kept, owner] = [&kept, on.owner].map(|text| escaped(&quoted(text)));
    let mark = escaped(&quoted(&format!("# {}", on.owner)));
    // The old values of another run must stay the old ones.
    let prepare = format!(
        "(set -C; echo {mark} >{kept}) 2>/dev/null || {{{{ echo {kept}: another run has configured this box\\; end it, or run \
         natmeter clean there >&2; exit 1; }}}}\ncat >{file} <<'natmeter'\n{}natmeter\nsh {file} prepare",
        script.with_values(on, known)
    );
    let keeps = (script.keeps)(&on.edge);
    Some(Hooks {
        prepare: Some(prepare),
        clear: keeps.then(|| format!("sh {file} clear")),
        count: keeps.then(|| format!("sh {file} count")),
        // After a restart of the box there is nothing to restore.
        memory: (keeps && script.in_kernel).then(|| format!("sh {file} memory")),
        cores: on.cores.map(|by| match by {
            CoresBy::Hotplug => format!("sh {file} cores {{cores}}"),
            CoresBy::Steering => format!("sh {file} steer {{core-mask}}"),
        }),
        restore: Some(format!("test ! -e {file} || sh {file} restore {owner}")),
        ..Hooks::default()
    })
}

impl Script {
    /// Where the box keeps what `restore` needs.
    fn kept(&self, on: &Box) -> String {
        format!("{}/natmeter-dut{}", self.run, on.apart)
    }

    /// The text of the script with its frame, behind the values of the point.
    fn with_values(&self, on: &Box, known: &dyn Fn(&str) -> bool) -> String {
        let [left, right] = on.interfaces;
        let Edge { technology, part } = on.edge;
        let kept = self.kept(on);
        let fixed = [("kept", &*kept), ("technology", technology), ("edge", part), ("left", left), ("right", right)];
        let mut text = "set -e\n".to_owned();
        for (name, value) in fixed {
            let _ = writeln!(text, "{name}={}", escaped(&quoted(value)));
        }
        for name in self.values {
            let (name, optional) = name.strip_suffix('?').map_or((*name, false), |name| (name, true));
            let value = if optional && !known(name) { String::new() } else { format!("{{{name}}}") };
            let _ = writeln!(text, "{}={value}", name.replace('-', "_"));
        }
        let _ = writeln!(text, "slack={SLACK}");
        self.shared.iter().for_each(|shared| text += &escaped(shared.text));
        text + self.preset + &escaped(self.text) + &escaped(FRAME.text)
    }
}

/// Braces of the shell beside those of placeholders.
fn escaped(text: &str) -> String {
    text.replace('{', "{{").replace('}', "}}")
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: Edge = Edge { technology: "nat44", part: "whole" };

    fn hooks(software: &str, edge: Edge, known: &dyn Fn(&str) -> bool) -> Option<Hooks> {
        super::hooks(
            software,
            &Box { edge, interfaces: ["left", "right"], owner: "p094 7", apart: "", cores: None },
            known,
        )
    }

    #[test]
    fn a_script_stands_behind_its_values_and_before_its_frame() {
        let Hooks { prepare, clear, count, restore, .. } = hooks("nftables", WHOLE, &|_| true).unwrap();
        let all = [("prepare", prepare), ("clear", clear), ("count", count), ("restore", restore)];
        insta::assert_snapshot!(all.map(|(name, line)| format!("== {name}\n{}", line.unwrap())).join("\n"));
        assert!(hooks("windows", WHOLE, &|_| true).is_none());
    }

    #[test]
    fn the_memory_of_a_kernel_with_connections_is_that_of_its_slabs() {
        let tells = |software, technology| hooks(software, Edge { technology, part: "pe" }, &|_| true).unwrap().memory;
        assert!(tells("jool", "nat64").is_some() && tells("nftables", "nat44").is_some());
        assert_eq!(
            [tells("jool-siit", "siit"), tells("vpp", "nat44"), tells("openbsd-pf", "nat64")],
            [None, None, None]
        );
        let folder = files(&[("proc/meminfo", "SReclaimable:    240812 kB\nSUnreclaim:        38928 kB")]);
        let Hooks { prepare, memory, .. } = hooks("nftables", WHOLE, &|_| true).unwrap();
        assert!(ran(folder.path(), &prepare.unwrap()).status.success());
        let told = ran(folder.path(), &memory.unwrap());
        assert_eq!(String::from_utf8_lossy(&told.stdout).trim(), (38_928 * 1024).to_string());
    }

    #[test]
    fn only_edges_with_connections_have_them_counted_and_cleared() {
        let counts =
            |software, technology, part| hooks(software, Edge { technology, part }, &|_| true).unwrap().count.is_some();
        let found = [
            counts("ip6tnl", "ds-lite", "ce"),
            counts("ip6tnl", "ds-lite", "pe"),
            counts("ip6tnl", "lw4o6", "ce"),
            counts("ip6tnl", "lw4o6", "pe"),
            counts("ip6tnl", "map-e", "ce"),
            counts("jool-siit", "464xlat", "ce"),
            counts("jool", "464xlat", "pe"),
        ];
        assert_eq!(found, [false, true, true, false, true, false, true]);
    }

    #[test]
    fn a_value_that_the_technology_lacks_is_empty() {
        let text = hooks("jool-siit", WHOLE, &|name| name != "pref64").unwrap().prepare.unwrap();
        assert!(text.contains("\npref64=\ndmr={dmr}\n"), "{text}");
    }

    /// The script of nftables with commands that do nothing, and with a folder in place of the files of the kernel.
    fn ran(folder: &std::path::Path, line: &str) -> std::process::Output {
        let values = ["connections", "udp-timeout", "pool", "pool-ports", "customers"]
            .map(|name| (name.to_owned(), "1".to_owned()));
        let values =
            [&values[..], &[("cores".to_owned(), "1".to_owned()), ("core-mask".to_owned(), "a".to_owned())]].concat();
        let filled = crate::external::fill(line, &values).unwrap();
        let stubs = "nft() { :; }\nsysctl() { [ \"$1\" != -n ] || echo 9999999; }\nmodprobe() { :; }\n";
        let text = filled.replace("/run/", "RUN/").replace("set -e\n", &format!("set -e\n{stubs}"));
        let text = text.replace("/sys/", "SYS/").replace("/proc/", "PROC/");
        let at = |name: &str| folder.join(name).display().to_string();
        let text = text.replace("RUN", &at("run")).replace("SYS", &at("sys")).replace("PROC", &at("proc"));
        // The quoted names of files are patterns of the shell no more.
        std::process::Command::new("sh").args(["-c", &text]).output().unwrap()
    }

    /// A folder with these files, and the folder of kept values.
    fn files(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (name, value) in files.iter().chain(&[("run/x", "")]) {
            let file = folder.path().join(name);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, format!("{value}\n")).unwrap();
        }
        folder
    }

    fn value(folder: &tempfile::TempDir, file: &str) -> String {
        std::fs::read_to_string(folder.path().join(file)).unwrap().trim().to_owned()
    }

    fn hooks_with(cores: CoresBy) -> Hooks {
        let on = Box { edge: WHOLE, interfaces: ["left", "right"], owner: "p094 7", apart: "", cores: Some(cores) };
        super::hooks("nftables", &on, &|_| true).unwrap()
    }

    #[test]
    fn cores_of_a_box_are_switched_off_and_restored() {
        const CPU: &str = "sys/devices/system/cpu";
        let [one, two, ten] = ["1", "2", "10"].map(|core| format!("{CPU}/cpu{core}/online"));
        let [of_one, of_all] = ["24", "25"].map(|irq| format!("proc/irq/{irq}/smp_affinity_list"));
        let folder = files(&[
            (&format!("{CPU}/cpu0/x"), ""),
            (&one, "1"),
            (&two, "0"),
            (&ten, "1"),
            (&of_one, "1"),
            (&of_all, "0-10"),
        ]);
        let Hooks { prepare, cores, restore, .. } = hooks_with(CoresBy::Hotplug);
        let run = |hook: &Option<String>| ran(folder.path(), hook.as_ref().unwrap());
        let done = run(&prepare);
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        let done = run(&cores);
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        assert_eq!([&one, &two, &ten].map(|file| value(&folder, file)), ["0", "0", "0"]);
        // The kernel would have moved the interrupt of core 1 to any other.
        assert_eq!([&of_one, &of_all].map(|file| value(&folder, file)), ["0", "0-10"]);
        for _ in 0..2 {
            assert!(run(&restore).status.success());
            assert_eq!([&one, &two, &ten].map(|file| value(&folder, file)), ["1", "0", "1"]);
            assert_eq!([&of_one, &of_all].map(|file| value(&folder, file)), ["1", "0-10"]);
        }
    }

    #[test]
    fn a_box_whose_cores_cannot_be_switched_off_says_so() {
        const CPU: &str = "sys/devices/system/cpu";
        let folder = files(&[(&format!("{CPU}/cpu0/x"), ""), (&format!("{CPU}/cpu1/x"), "")]);
        let Hooks { prepare, cores, .. } = hooks_with(CoresBy::Hotplug);
        assert!(ran(folder.path(), &prepare.unwrap()).status.success());
        let cores = cores.unwrap();
        let says = |line: &str| String::from_utf8(ran(folder.path(), line).stderr).unwrap();
        assert!(
            says(&cores).starts_with("core 1 of this box cannot be switched off: its kernel has no "),
            "{}",
            says(&cores)
        );
        let three = cores.replace("{cores}", "3");
        assert!(says(&three).starts_with("too many cores for this box: 3; it has 2"), "{}", says(&three));
    }

    #[test]
    fn packets_of_a_namespace_are_steered_to_cores_and_back() {
        let queues = ["left/queues/rx-0", "left/queues/rx-1", "right/queues/rx-0"];
        let queues = queues.map(|queue| format!("sys/class/net/{queue}/rps_cpus"));
        let folder = files(&[(&queues[0], "0"), (&queues[1], "3"), (&queues[2], "0")]);
        let Hooks { prepare, cores, restore, .. } = hooks_with(CoresBy::Steering);
        for (hook, masks) in [(prepare, ["0", "3", "0"]), (cores, ["a", "a", "a"]), (restore, ["0", "3", "0"])] {
            let done = ran(folder.path(), &hook.unwrap());
            assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
            assert_eq!([0, 1, 2].map(|at| value(&folder, &queues[at])), masks);
        }
    }

    /// A shell takes each script as it is.
    #[test]
    fn scripts_are_shell() {
        for script in SCRIPTS {
            let text = hooks(script.name, WHOLE, &|_| true).unwrap().prepare.unwrap();
            let names = script.values.iter().map(|name| (name.trim_end_matches('?').to_owned(), "1".to_owned()));
            let filled = crate::external::fill(&text, &names.collect::<Vec<_>>()).unwrap();
            let checked = std::process::Command::new("sh").args(["-n", "-c", &filled]).output().unwrap();
            assert!(checked.status.success(), "{}: {}", script.name, String::from_utf8_lossy(&checked.stderr));
        }
    }
}
