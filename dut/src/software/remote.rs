//! The software of a box on another host as hooks: shell lines that bring it into a known state there and restore it. The host
//! keeps the old values of its settings in a file until they are restored, so that a later run or `clean` finds them.

use crate::external::Hooks;

/// Where the host keeps what `restore` needs.
const KEPT: &str = "/run/natmeter-dut";

/// The software that natmeter configures on a host: name, and whether it translates.
pub const KNOWN: [(&str, bool); 3] =
    [("linux-forwarding", false), ("linux-ipv6-forwarding", false), ("nftables", true)];

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

#[cfg(test)]
mod tests {
    use super::*;

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
