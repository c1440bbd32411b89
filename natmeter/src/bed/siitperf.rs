//! Converts the configuration of siitperf to a bed file and keys of a scenario, and lists what has no counterpart.

use crate::rig::machine::Found;
use std::collections::BTreeMap;
use std::fmt::Write;

/// A converted configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SiitperfImport {
    /// The bed file.
    pub bed: String,
    /// Values of `--set` for a scenario.
    pub scenario: Vec<String>,
    /// Differences, one sentence each.
    pub notes: Vec<String>,
}

type Settings = BTreeMap<String, String>;

/// Keys used in the bed file, the scenario or a note below.
const USED: [&str; 30] = [
    "IP-L-Vers",
    "IP-R-Vers",
    "IPv4-L-Real",
    "IPv4-R-Real",
    "IPv6-L-Real",
    "IPv6-R-Real",
    "IPv4-L-Virt",
    "IPv4-R-Virt",
    "IPv6-L-Virt",
    "IPv6-R-Virt",
    "MAC-L-Tester",
    "MAC-R-Tester",
    "MAC-L-DUT",
    "MAC-R-DUT",
    "Forward",
    "Reverse",
    "Promisc",
    "Num-L-Nets",
    "Num-R-Nets",
    "CPU-L-Send",
    "CPU-R-Recv",
    "CPU-R-Send",
    "CPU-L-Recv",
    "MEM-Channels",
    "Fwd-sport-min",
    "Fwd-sport-max",
    "Fwd-dport-min",
    "Fwd-dport-max",
    "Stateful",
    "Responder-ports",
];

/// Finds the interfaces by their Ethernet addresses.
///
/// # Errors
/// If the text has no line of siitperf's.
pub fn import(text: &str, interfaces: &[Found]) -> Result<SiitperfImport, String> {
    let settings = settings(text);
    if !settings.keys().any(|name| USED.contains(&name.as_str())) {
        return Err("the file has no setting of siitperf, such as `MAC-L-DUT 02:00:00:00:00:01`".to_owned());
    }
    let mut notes = Vec::new();
    let mut bed = String::from(
        "# Written from the configuration of siitperf.\n\n[bed]\nname = \"my bed\"\ncabling = \"direct\"\n",
    );
    for (side, name, whose) in [("L", "left", "customers'"), ("R", "right", "Internet's")] {
        bed.push_str(&port(side, name, whose, &settings, interfaces, &mut notes));
    }
    bed.push_str("\n# The box: hooks are optional; see docs/test-bed.md.\n[dut]\non = \"local\"\n");
    notes.extend(otherwise(&settings));
    Ok(SiitperfImport { bed, scenario: scenario(&settings), notes })
}

/// A name and a value a line, behind `#` a comment.
fn settings(text: &str) -> Settings {
    let words = |line: &str| {
        let mut words = line.split('#').next()?.split_ascii_whitespace();
        Some((words.next()?.to_owned(), words.collect::<Vec<_>>().join(" ")))
    };
    text.lines().filter_map(words).collect()
}

fn port(
    side: &str,
    name: &str,
    whose: &str,
    settings: &Settings,
    interfaces: &[Found],
    notes: &mut Vec<String>,
) -> String {
    let get = |key: &str| settings.get(&key.replace('*', side)).filter(|value| !value.is_empty());
    let mac = get("MAC-*-Tester").cloned().unwrap_or_default().to_lowercase();
    let interface = interfaces.iter().find(|found| found.mac == mac).map(|found| found.name.clone());
    if interface.is_none() {
        notes.push(format!(
            "no interface of this machine has the address {mac} of MAC-{side}-Tester: write its name in [bed.{name}]"
        ));
    }
    let is_six = get("IP-*-Vers").is_some_and(|version| version == "6");
    let (real, length) = if is_six { ("IPv6-*-Real", 64) } else { ("IPv4-*-Real", 24) };
    let address = get(real).cloned().unwrap_or_else(|| if is_six { "2001:2::2" } else { "198.18.0.2" }.to_owned());
    let mut text = format!("\n# The tester's port on the {whose} side.\n[bed.{name}]\n");
    let _ = writeln!(text, "interface = \"{}\"", interface.as_deref().unwrap_or("NAME"));
    let _ = writeln!(text, "addresses = [\"{address}/{length}\"]");
    match get("MAC-*-DUT") {
        Some(mac) => text.extend(["mac = \"", &mac.to_lowercase(), "\"\n"]),
        None => text.push_str("# gateway = \"198.18.0.1\"\n"),
    }
    text
}

fn scenario(settings: &Settings) -> Vec<String> {
    let number = |key: &str| settings.get(key).and_then(|value| value.parse::<u32>().ok());
    let mut keys = Vec::new();
    for (key, least, most) in
        [("source-ports", "Fwd-sport-min", "Fwd-sport-max"), ("destination-ports", "Fwd-dport-min", "Fwd-dport-max")]
    {
        if let (Some(least), Some(most)) = (number(least), number(most)) {
            keys.push(format!("traffic.{key}={least}-{most}"));
        }
    }
    match (number("Forward"), number("Reverse")) {
        (Some(1), Some(0)) => keys.push("traffic.direction=forward".to_owned()),
        (Some(0), Some(1)) => keys.push("traffic.direction=reverse".to_owned()),
        _ => {}
    }
    match number("Responder-ports") {
        Some(1) => keys.push("traffic.responder-order=round-robin".to_owned()),
        Some(3) => keys.push("traffic.responder-order=random".to_owned()),
        _ => {}
    }
    keys
}

/// Notes on keys that act in another way, or not at all.
fn otherwise(settings: &Settings) -> Vec<String> {
    let mut notes = Vec::new();
    let cores: Vec<&str> = ["CPU-L-Send", "CPU-R-Recv", "CPU-R-Send", "CPU-L-Recv"]
        .iter()
        .filter_map(|key| settings.get(*key).map(String::as_str))
        .collect();
    if !cores.is_empty() {
        let cores = cores.join(",");
        notes.push(format!(
            "CPU-…: natmeter uses the cores on which it may run, one for each lane: taskset -c {cores} natmeter …"
        ));
    }
    for key in ["Num-L-Nets", "Num-R-Nets"] {
        if settings.get(key).is_some_and(|nets| nets != "1") {
            notes.push(format!("{key} {}: several destination networks are a setting of the scenario", settings[key]));
        }
    }
    let is_set = |value: &String| !["0", "", "::", "0.0.0.0"].contains(&value.as_str());
    for key in ["IPv4-L-Virt", "IPv4-R-Virt", "IPv6-L-Virt", "IPv6-R-Virt"] {
        if let Some(value) = settings.get(key).filter(|value| is_set(value)) {
            notes.push(format!(
                "{key} {value}: the technology's table of the scenario says how addresses are translated"
            ));
        }
    }
    if let Some(value) = settings.get("Stateful").filter(|value| is_set(value)) {
        notes.push(format!(
            "Stateful {value}: the scenario says whether the device is stateful; in natmeter the Initiator is always left"
        ));
    }
    if let Some(order) = settings.get("Responder-ports").filter(|order| ["0", "2"].contains(&order.as_str())) {
        notes.push(format!("Responder-ports {order}: natmeter uses the state table round robin or at random"));
    }
    for key in ["Promisc", "MEM-Channels"] {
        if let Some(value) = settings.get(key).filter(|value| is_set(value)) {
            notes.push(format!("{key} {value}: not needed"));
        }
    }
    let unknown = settings.iter().filter(|(name, _)| !USED.contains(&name.as_str()));
    notes.extend(unknown.map(|(name, value)| format!("{name} {value}: no counterpart")));
    notes
}

#[cfg(test)]
mod tests {
    use super::*;
    use scenario::bed::{BedText, parse};

    const CONF: &str = "# two routers\nIP-L-Vers 4 # left\nIP-R-Vers 4\nIPv4-L-Real 198.18.0.2\nIPv4-R-Real 198.19.0.2\n\
        MAC-L-Tester 02:00:00:00:00:0A\nMAC-R-Tester 02:00:00:00:00:0b\nMAC-L-DUT 02:00:00:00:00:0C\nMAC-R-DUT 02:00:00:00:00:0d\n\
        Forward 1\nReverse 0\nNum-R-Nets 256\nCPU-L-Send 2\nCPU-R-Recv 4\nFwd-sport-min 1024\nFwd-sport-max 65535\n\
        Fwd-dport-min 1\nFwd-dport-max 49151\nResponder-ports 3\nTimer 7\n";

    #[test]
    fn the_bed_file_has_addresses_and_interfaces() {
        let left = Found { name: "enp5s0f0".to_owned(), mac: "02:00:00:00:00:0a".to_owned(), ..Found::default() };
        let imported = import(CONF, &[left]).unwrap();
        let bed = parse(&BedText { name: "bed.toml".to_owned(), text: imported.bed.clone(), t0: Vec::new() });
        let bed = bed.unwrap_or_else(|complaints| panic!("{}\n{}", complaints.render(false), imported.bed));
        assert_eq!((bed.left.interface.as_str(), bed.right.interface.as_str()), ("enp5s0f0", "NAME"));
        assert_eq!(bed.left.mac, Some(wire::Mac([2, 0, 0, 0, 0, 0x0c])));
        assert_eq!(
            imported.scenario,
            [
                "traffic.source-ports=1024-65535",
                "traffic.destination-ports=1-49151",
                "traffic.direction=forward",
                "traffic.responder-order=random"
            ]
        );
        let notes = imported.notes.join("\n");
        for says in ["02:00:00:00:00:0b of MAC-R-Tester", "taskset -c 2,4", "Num-R-Nets 256", "Timer 7: no counterpart"]
        {
            assert!(notes.contains(says), "{says}: {notes}");
        }
    }

    #[test]
    fn another_file_is_refused() {
        assert!(import("name = \"x\"\n", &[]).is_err());
    }
}
