//! The bed file that `natmeter bed init` writes from the interfaces that it finds.

use crate::rig::machine::Interface;
use std::fmt::Write;
use std::net::IpAddr;
use std::process::Command;

/// Tester on each side, and box, where interfaces have no address (RFC 2544, appendix C.2.2).
const USUAL: [(&str, &str, &str); 2] =
    [("left", "198.18.0.2/24", "198.18.0.1"), ("right", "198.19.0.2/24", "198.19.0.1")];

/// The two most probable ports: hardware before virtual ones, up before down, and none with a danger.
pub(crate) fn ports(all: &[Interface]) -> Vec<&Interface> {
    let mut able: Vec<&Interface> = all.iter().filter(|found| found.dangers().is_empty()).collect();
    let is_of_bed = |found: &Interface, net: u8| {
        found.addresses.iter().any(|(a, _)| if let IpAddr::V4(a) = a { a.octets()[..2] == [198, net] } else { false })
    };
    able.sort_by_key(|found| {
        // An address of RFC 2544 says which side it is.
        let side = [18, 19].iter().position(|net| is_of_bed(found, *net)).unwrap_or(2);
        (side, found.state != "UP", !found.kind.is_empty(), found.name.clone())
    });
    able.truncate(2);
    able
}

pub(crate) fn text(all: &[Interface], place: &Place) -> String {
    let ports = ports(all);
    let mut text = String::from(
        "# A test bed: the tester's two ports and the box between them. natmeter wrote this file from the\n\
         # interfaces that it found; correct what is wrong, then: natmeter bed check bed.toml\n#\n\
         # Interfaces of this machine:\n",
    );
    for found in all {
        let addresses: Vec<String> = found.addresses.iter().map(|(a, n)| format!("{a}/{n}")).collect();
        let _ = writeln!(
            text,
            "#   {:<15} {:<9} {:<5} {} {}",
            found.name,
            found.kind_in_words(),
            found.state,
            found.mac,
            addresses.join(" ")
        );
        for (_, danger) in found.dangers() {
            let _ = writeln!(text, "#     not a port: {danger}");
        }
    }
    text.push_str(
        "\n[bed]\nname = \"my bed\"\n# How the ports are connected; every report prints it: \"direct\", or \"switch: MODEL\".\n\
         cabling = \"direct\"\n",
    );
    for (at, (side, own, gateway)) in USUAL.into_iter().enumerate() {
        text.push_str(&port(side, ports.get(at).copied(), own, gateway));
    }
    text.push_str(&place.text());
    text
}

fn port(side: &str, found: Option<&Interface>, own: &str, gateway: &str) -> String {
    let whose = if side == "left" { "customers'" } else { "Internet's" };
    let name = found.map_or("NAME", |found| &found.name);
    let addresses: Vec<String> =
        found.iter().flat_map(|found| &found.addresses).map(|(a, n)| format!("\"{a}/{n}\"")).collect();
    let has_ipv4 = found.is_some_and(|found| found.addresses.iter().any(|(address, _)| address.is_ipv4()));
    let (addresses, gateway) = if has_ipv4 {
        (addresses.join(", "), of_network(found).unwrap_or_else(|| gateway.to_owned()))
    } else {
        (format!("\"{own}\""), gateway.to_owned())
    };
    format!(
        "\n# The tester's port on the {whose} side.\n[bed.{side}]\ninterface = \"{name}\"\n\
         # af-packet works everywhere; af-xdp is faster, with one queue for each lane of the tester.\nio = \"af-packet\"\n\
         # queues = 4\n# zero-copy = \"if-possible\"\n\
         # natmeter answers ARP, Neighbor Discovery and pings for these addresses; the kernel needs none of them.\n\
         addresses = [{addresses}]\n# The box's address on this link, or mac = \"02:00:00:00:00:01\".\ngateway = \"{gateway}\"\n\
         # line-rate = \"10 Gbit/s\"\n# vlan = 100\n"
    )
}

/// First host of the network, or the second if the tester is the first.
fn of_network(found: Option<&Interface>) -> Option<String> {
    found?.addresses.iter().find_map(|(address, length)| {
        let IpAddr::V4(address) = address else { return None };
        let mask = if *length == 0 { 0 } else { u32::MAX << (32 - u32::from(*length)) };
        let first = (u32::from(*address) & mask) + 1;
        let host = if first == u32::from(*address) { first + 1 } else { first };
        Some(std::net::Ipv4Addr::from(host).to_string())
    })
}

/// The programs that empty a table, with `clear` and `count`.
const TABLES: [(&str, &str, &str); 2] = [
    ("conntrack", "conntrack -F", "cat /proc/sys/net/netfilter/nf_conntrack_count"),
    ("pfctl", "pfctl -F states", "pfctl -s info | awk '/current entries/ {{ print $3 }}'"),
];

/// Where the hooks of the box run, and those that this place allows.
pub(crate) struct Place {
    on: String,
    /// `clear` and `count`.
    hooks: Option<[String; 2]>,
}

impl Place {
    /// Looks for what empties the table of a box: behind ssh, or in the namespace of the far ends of both ports.
    pub(crate) fn of(all: &[Interface], on: Option<&str>) -> Result<Place, String> {
        let far: Vec<&String> = ports(all).into_iter().filter_map(|port| port.far.as_ref()).collect();
        let (on, before) = match (on, &far[..]) {
            (Some(on), _) => (on, on.strip_prefix("ssh:").map(|to| vec!["ssh", "-oBatchMode=yes", to])),
            (None, [left, right]) if left == right => ("local", Some(vec!["ip", "netns", "exec", left.as_str()])),
            _ => ("local", None),
        };
        let Some(before) = before else { return Ok(Place { on: on.to_owned(), hooks: None }) };
        let is_remote = on != "local";
        // A remote shell takes one word.
        let asks = |program: &str| format!("PATH=$PATH:/usr/sbin:/sbin command -v {program}");
        for (program, clear, count) in TABLES {
            let shell: &[&str] = if is_remote { &[] } else { &["sh", "-c"] };
            let mut command = Command::new(before[0]);
            let asked = command.args(&before[1..]).args(shell).arg(asks(program)).output();
            let asked = asked.map_err(|error| format!("{} cannot be started: {error}", before[0]))?;
            // ssh itself fails with this code.
            if is_remote && asked.status.code() == Some(255) {
                return Err(format!("{on}: {}", String::from_utf8_lossy(&asked.stderr).trim()));
            }
            if asked.status.success() {
                let there = if is_remote { String::new() } else { format!("{} ", before.join(" ")) };
                let hooks = [clear, count].map(|line| format!("{there}{line}"));
                return Ok(Place { on: on.to_owned(), hooks: Some(hooks) });
            }
        }
        Ok(Place { on: on.to_owned(), hooks: None })
    }

    pub(crate) fn clears(&self) -> bool {
        self.hooks.is_some()
    }

    fn text(&self) -> String {
        let hooks = match &self.hooks {
            Some([clear, count]) => format!("clear = \"{clear}\"\ncount = \"{count}\"\n"),
            None => "# Without `clear` natmeter waits before each trial until connections have timed out, and refuses a `udp-timeout` above 5 min.\n\
                     # clear = \"conntrack -F\"\n# count = \"cat /proc/sys/net/netfilter/nf_conntrack_count\"\n"
                .to_owned(),
        };
        format!(
            "\n# The box. Hooks are shell commands, each optional; ./… lies beside this file. A Dual DUT has [dut.ce] and [dut.pe] instead.\n\
             [dut]\nsoftware = \"external\"\n\
             # Where the hooks run: \"local\", or \"ssh:root@HOST\" (OpenSSH with your own configuration; no passwords).\n\
             on = \"{}\"\n{hooks}\
             # prepare = \"./set-nat44 {{connections}} {{hash-size}} {{udp-timeout}}\"\n# restore = \"./restore\"\n# alive = \"true\"\n\
             timeout = \"30 s\"\n# What a reader of the report should know.\n\
             facts = {{ computer = \"MODEL\", nic = \"MODEL\", os = \"NAME\" }}\n",
            self.on
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use scenario::bed::{BedText, parse};

    fn found(name: &str, address: Option<&str>) -> Interface {
        let addresses = address.map(|a| (a.parse().unwrap(), 24)).into_iter().collect();
        Interface { name: name.to_owned(), state: "UP".to_owned(), addresses, ..Interface::default() }
    }

    #[test]
    fn the_file_is_a_bed_with_the_ports_on_their_sides() {
        let all = [found("lan", Some("9.9.9.9")), found("b", Some("198.18.0.2")), found("a", Some("198.19.0.1"))];
        let text = text(&all, &Place::of(&all, None).unwrap());
        let bed = parse(&BedText { name: "bed.toml".to_owned(), text: text.clone(), t0: Vec::new() });
        let bed = bed.unwrap_or_else(|complaints| panic!("{}\n{text}", complaints.render(false)));
        assert_eq!((bed.left.interface.as_str(), bed.right.interface.as_str()), ("b", "a"));
        assert_eq!(bed.right.gateway, Some("198.19.0.2".parse().unwrap()), "the tester is the first host");
        assert!(text.contains("not a port: lan has the public address 9.9.9.9"), "{text}");
    }

    #[test]
    fn without_two_interfaces_the_file_has_places_to_fill_in() {
        assert!(text(&[], &Place::of(&[], None).unwrap()).contains("interface = \"NAME\""));
    }
}
