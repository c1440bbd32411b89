//! Converts the configuration of siitperf to a bed file and keys of a scenario, and lists what has no counterpart.

use crate::rig::machine::Interface;
use std::collections::BTreeMap;
use std::fmt::Write;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SiitperfImport {
    pub bed: String,
    /// Values of `--set` for a scenario.
    pub scenario: Vec<String>,
    /// Differences, one sentence each.
    pub notes: Vec<String>,
}

/// The keys of the configuration that are not converted yet.
struct Keys(BTreeMap<String, String>);

impl Keys {
    /// A name and a value a line, behind `#` a comment.
    fn of(text: &str) -> Keys {
        let words = |line: &str| {
            let mut words = line.split('#').next()?.split_ascii_whitespace();
            Some((words.next()?.to_owned(), words.collect::<Vec<_>>().join(" ")))
        };
        Keys(text.lines().filter_map(words).collect())
    }

    fn take(&mut self, key: &str) -> Option<String> {
        self.0.remove(key).filter(|value| !value.is_empty())
    }

    fn number(&mut self, key: &str) -> Option<u32> {
        self.take(key)?.parse().ok()
    }

    /// Removes keys. Returns those whose values differ from siitperf's defaults.
    fn set(&mut self, keys: &[&'static str]) -> Vec<(&'static str, String)> {
        let is_set = |value: &String| !["0", "::", "0.0.0.0"].contains(&value.as_str());
        keys.iter().filter_map(|key| Some((*key, self.take(key).filter(is_set)?))).collect()
    }
}

/// Finds the interfaces by their Ethernet addresses. Fails if the text has no line of siitperf's.
pub fn import(text: &str, interfaces: &[Interface]) -> Result<SiitperfImport, String> {
    let mut keys = Keys::of(text);
    let lines = keys.0.len();
    let mut notes = Vec::new();
    let mut bed = String::from(
        "# Written from the configuration of siitperf.\n\n[bed]\nname = \"my bed\"\ncabling = \"direct\"\n",
    );
    for (side, name, whose) in [("L", "left", "customers'"), ("R", "right", "Internet's")] {
        bed.push_str(&port(side, name, whose, &mut keys, interfaces, &mut notes));
    }
    bed.push_str("\n# The box: hooks are optional; see docs/test-bed.md.\n[dut]\non = \"local\"\n");
    let order = keys.take("Responder-ports");
    let scenario = scenario(&mut keys, order.as_deref());
    notes.extend(otherwise(&mut keys, order.as_deref()));
    if keys.0.len() == lines {
        return Err("the file has no setting of siitperf, such as `MAC-L-DUT 02:00:00:00:00:01`".to_owned());
    }
    notes.extend(keys.0.into_iter().map(|(name, value)| format!("{name} {value}: no counterpart")));
    Ok(SiitperfImport { bed, scenario, notes })
}

fn port(
    side: &str,
    name: &str,
    whose: &str,
    keys: &mut Keys,
    interfaces: &[Interface],
    notes: &mut Vec<String>,
) -> String {
    let mut take = |key: &str| keys.take(&key.replace('*', side));
    let mac = take("MAC-*-Tester").unwrap_or_default().to_lowercase();
    let interface = interfaces.iter().find(|found| found.mac == mac).map(|found| found.name.clone());
    if interface.is_none() {
        notes.push(format!(
            "no interface of this machine has the address {mac} of MAC-{side}-Tester: write its name in [bed.{name}]"
        ));
    }
    let is_six = take("IP-*-Vers").is_some_and(|version| version == "6");
    let (four, six) = (take("IPv4-*-Real"), take("IPv6-*-Real"));
    let address = if is_six {
        six.unwrap_or_else(|| "2001:2::2".to_owned()) + "/64"
    } else {
        four.unwrap_or_else(|| "198.18.0.2".to_owned()) + "/24"
    };
    let mut text = format!("\n# The tester's port on the {whose} side.\n[bed.{name}]\n");
    let _ = writeln!(text, "interface = \"{}\"", interface.as_deref().unwrap_or("NAME"));
    let _ = writeln!(text, "addresses = [\"{address}\"]");
    match take("MAC-*-DUT") {
        Some(mac) => text.extend(["mac = \"", &mac.to_lowercase(), "\"\n"]),
        None => text.push_str("# gateway = \"198.18.0.1\"\n"),
    }
    text
}

fn scenario(keys: &mut Keys, order: Option<&str>) -> Vec<String> {
    let mut set = Vec::new();
    for (key, least, most) in
        [("source-ports", "Fwd-sport-min", "Fwd-sport-max"), ("destination-ports", "Fwd-dport-min", "Fwd-dport-max")]
    {
        if let (Some(least), Some(most)) = (keys.number(least), keys.number(most)) {
            set.push(format!("traffic.{key}={least}-{most}"));
        }
    }
    set.extend(match (keys.number("Forward"), keys.number("Reverse")) {
        (Some(1), Some(0)) => Some("traffic.direction=forward".to_owned()),
        (Some(0), Some(1)) => Some("traffic.direction=reverse".to_owned()),
        _ => None,
    });
    set.extend(match order {
        Some("1") => Some("traffic.responder-order=round-robin".to_owned()),
        Some("3") => Some("traffic.responder-order=random".to_owned()),
        _ => None,
    });
    set
}

/// Notes on keys that act in another way, or not at all.
fn otherwise(keys: &mut Keys, order: Option<&str>) -> Vec<String> {
    let mut notes = Vec::new();
    let cores = ["CPU-L-Send", "CPU-R-Recv", "CPU-R-Send", "CPU-L-Recv"].map(|key| keys.take(key));
    let cores: Vec<String> = cores.into_iter().flatten().collect();
    if !cores.is_empty() {
        let cores = cores.join(",");
        notes.push(format!(
            "CPU-…: natmeter uses the cores on which it may run, one for each lane: taskset -c {cores} natmeter …"
        ));
    }
    for key in ["Num-L-Nets", "Num-R-Nets"] {
        if let Some(nets) = keys.take(key).filter(|nets| nets != "1") {
            notes.push(format!("{key} {nets}: several destination networks are a setting of the scenario"));
        }
    }
    for (key, value) in keys.set(&["IPv4-L-Virt", "IPv4-R-Virt", "IPv6-L-Virt", "IPv6-R-Virt"]) {
        notes.push(format!("{key} {value}: the technology's table of the scenario says how addresses are translated"));
    }
    for (key, value) in keys.set(&["Stateful"]) {
        notes.push(format!(
            "{key} {value}: the scenario says whether the device is stateful; in natmeter the Initiator is always left"
        ));
    }
    if let Some(order @ ("0" | "2")) = order {
        notes.push(format!("Responder-ports {order}: natmeter uses the state table round robin or at random"));
    }
    for (key, value) in keys.set(&["Promisc", "MEM-Channels"]) {
        notes.push(format!("{key} {value}: not needed"));
    }
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
        let left =
            Interface { name: "enp5s0f0".to_owned(), mac: "02:00:00:00:00:0a".to_owned(), ..Interface::default() };
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
