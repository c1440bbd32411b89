//! The software of a box on another host as hooks: shell lines that bring it into a known state there and restore it. The host
//! keeps the old values of its settings in a file until they are restored, so that a later run or `clean` finds them.

use crate::external::Hooks;

/// Where the host keeps what `restore` needs.
const KEPT: &str = "/run/natmeter-dut";

/// The software that natmeter configures on a host: name, and whether it translates.
pub const KNOWN: [(&str, bool); 5] = [
    ("linux-forwarding", false),
    ("linux-ipv6-forwarding", false),
    ("nftables", true),
    ("jool", true),
    ("jool-siit", true),
];

/// Returns the hooks of a software on a host whose interface to the Internet's side has this name. `{pool}`, `{pool-ports}`,
/// `{connections}` and `{udp-timeout}` stand for values of the point. `owner` names this tester; the hooks do not touch a
/// box that another tester configured.
pub fn hooks(software: &str, right: &str, owner: &str) -> Option<Hooks> {
    let (_, translates) = KNOWN.into_iter().find(|(name, _)| *name == software)?;
    let mark = format!("'# {}'", owner.replace(['\'', '{', '}'], "-"));
    let forward = match software {
        "linux-ipv6-forwarding" => "net.ipv6.conf.all.forwarding",
        _ => "net.ipv4.ip_forward",
    };
    let translator = match software {
        "jool" => Some(jool::NAT64),
        "jool-siit" => Some(jool::SIIT),
        _ => None,
    };
    let mut prepare = vec![
        "set -e".to_owned(),
        // The old values of another run must stay the old ones.
        format!(
            "(set -C; echo {mark} >{KEPT}) 2>/dev/null || \
             {{{{ echo '{KEPT}: another run has configured this box; end it, or run natmeter clean there' >&2; exit 1; }}}}"
        ),
        keep(forward),
        format!("sysctl -qw {forward}=1"),
    ];
    // It may run although `prepare` failed, and more than once.
    let mut restore = vec![format!("sysctl -qp {KEPT} && rm -f {KEPT}")];
    // Of another run nothing is restored.
    let guard = format!("grep -qsxF {mark} {KEPT} || exit 0");
    if let Some(jool) = translator {
        prepare.extend([keep(jool::FORWARD_IPV6), format!("sysctl -qw {}=1", jool::FORWARD_IPV6)]);
        prepare.push(format!("modprobe {}; {}", jool.module, jool.add));
        restore.splice(0..0, [guard, jool.remove.to_owned()]);
        return Some(Hooks {
            prepare: Some(prepare.join("; ")),
            clear: jool.count.map(|_| format!("set -e; {}; {}", jool.remove, jool.add)),
            count: jool.count.map(str::to_owned),
            restore: Some(restore.join("; ")),
            ..Hooks::default()
        });
    }
    if !translates {
        restore.insert(0, guard);
        return Some(Hooks {
            prepare: Some(prepare.join("; ")),
            restore: Some(restore.join("; ")),
            ..Hooks::default()
        });
    }
    let rule = |protocol| format!("oifname {right} meta l4proto {protocol} snat to {{pool}}:{{pool-ports}}");
    prepare.extend([
        "nft add table ip natmeter".to_owned(),
        "nft 'add chain ip natmeter postrouting {{ type nat hook postrouting priority srcnat; }}'".to_owned(),
        // The values are quoted words, so the rule is joined from words.
        format!("nft add rule ip natmeter postrouting {}", rule("udp")),
        format!("nft add rule ip natmeter postrouting {}", rule("tcp")),
        "max=$(sysctl -n net.netfilter.nf_conntrack_max)".to_owned(),
        format!("need=$(({{connections}} + {}))", crate::software::conntrack::SLACK),
    ]);
    for key in ["nf_conntrack_udp_timeout", "nf_conntrack_udp_timeout_stream"] {
        let key = format!("net.netfilter.{key}");
        prepare.extend([keep(&key), format!("sysctl -qw {key}={{udp-timeout}}")]);
    }
    for key in ["nf_conntrack_buckets", "nf_conntrack_max"] {
        let key = format!("net.netfilter.{key}");
        prepare.push(format!("test \"$max\" -ge \"$need\" || {{{{ {}; sysctl -qw {key}=\"$need\"; }}}}", keep(&key)));
    }
    restore.insert(0, "nft delete table ip natmeter 2>/dev/null || true".to_owned());
    restore.insert(0, guard);
    Some(Hooks {
        prepare: Some(prepare.join("; ")),
        clear: Some("conntrack -F".to_owned()),
        count: Some("cat /proc/sys/net/netfilter/nf_conntrack_count".to_owned()),
        restore: Some(restore.join("; ")),
        ..Hooks::default()
    })
}

/// Appends the old value of a setting to the file.
fn keep(key: &str) -> String {
    format!("sysctl {key} >>{KEPT}")
}

/// Jool 4.1: one instance `natmeter` in netfilter mode.
mod jool {
    /// IPv6 forwarding, which a translator needs beside that of IPv4.
    pub(super) const FORWARD_IPV6: &str = "net.ipv6.conf.all.forwarding";

    /// One translator.
    pub(super) struct Jool {
        pub(super) module: &'static str,
        /// Adds the instance.
        pub(super) add: &'static str,
        /// Removes the instance; it may not exist.
        pub(super) remove: &'static str,
        /// Counts sessions; none for a stateless one. Jool has no command that empties its tables, so a new instance does.
        pub(super) count: Option<&'static str>,
    }

    pub(super) const NAT64: Jool = Jool {
        module: "jool",
        add: "jool instance add natmeter --netfilter --pool6 {pref64}; \
              for protocol in udp tcp icmp; do jool -i natmeter pool4 add {pool} {pool-ports} --$protocol; done; \
              jool -i natmeter global update udp-timeout {udp-timeout}",
        remove: "jool instance remove natmeter 2>/dev/null || true",
        count: Some("jool -i natmeter session display --udp --numeric --csv --no-headers | wc -l"),
    };

    pub(super) const SIIT: Jool = Jool {
        module: "jool_siit",
        add: "jool_siit instance add natmeter --netfilter; \
              echo {eam} | tr -d '[]\"' | tr ',' '\\n' | \
              while read -r four six; do jool_siit -i natmeter eamt add \"$four\" \"$six\"; done",
        remove: "jool_siit instance remove natmeter 2>/dev/null || true",
        count: None,
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jool_is_configured_and_restored_by_hooks() {
        for software in ["jool", "jool-siit"] {
            let hooks = hooks(software, "right", "p094 7").unwrap();
            let lines =
                [hooks.prepare, hooks.clear, hooks.count, hooks.restore].map(|line| line.unwrap_or("none".into()));
            insta::assert_snapshot!(software, lines.join("\n").replace("; ", "\n  "));
        }
    }

    #[test]
    fn a_nat44_is_configured_and_restored_by_hooks() {
        let hooks = hooks("nftables", "enp6s0f1", "p094 7").unwrap();
        let lines = [hooks.prepare, hooks.clear, hooks.count, hooks.restore].map(Option::unwrap);
        insta::assert_snapshot!(lines.join("\n").replace("; ", "\n  "));
        assert!(super::hooks("windows", "x", "").is_none());
        let prepare = super::hooks("linux-ipv6-forwarding", "x", "").unwrap().prepare.unwrap();
        assert!(
            prepare.ends_with("sysctl -qw net.ipv6.conf.all.forwarding=1") && !prepare.contains("ipv4"),
            "{prepare}"
        );
    }
}
