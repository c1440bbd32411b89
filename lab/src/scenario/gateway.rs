//! The file of `natmeter gateway`: interfaces, addresses and one technology, in the tables that scenarios have
//! too. Read like a scenario, so that mistakes are shown in the same way.

use super::ScenarioError;
use super::diagnostic::{Complaints, Diagnostic, Source};
use super::section::{self, Section};
use super::technology::{PLAYS, Plays, Technology, technology, version};
use super::tree::{self, Entry, Node, Table, Value};
use plane::side::{Side4, Side6};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::{Path, PathBuf};
use wire::Mac;

/// A gateway as its file describes it.
#[derive(Clone, Debug, PartialEq)]
pub struct Gateway {
    /// Which part of its technology it plays.
    pub plays: Plays,
    /// Workers.
    pub workers: usize,
    /// How packets come in and go out.
    pub io: Io,
    /// Poll without a pause, for throughput; otherwise a worker without work naps.
    pub busy: bool,
    /// Answer ARP, Neighbor Solicitations and pings; otherwise that is left to the kernel.
    pub answer: bool,
    /// Where the control socket is.
    pub socket: PathBuf,
    /// The customers' side.
    pub left: Side,
    /// The Internet's side.
    pub right: Side,
    /// What it does.
    pub technology: Technology,
}

/// How packets come in and go out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Io {
    /// Packet sockets.
    AfPacket,
    /// XDP sockets, program in the kernel's general receive path.
    AfXdpGeneric,
    /// XDP sockets, program in the driver.
    AfXdpNative,
    /// TAP devices that the gateway makes.
    Tap,
    /// TUN devices that the gateway makes: IP packets without Ethernet.
    Tun,
}

/// One side as written.
#[derive(Clone, Debug, PartialEq)]
pub struct Side {
    /// Interface; without one, files only.
    pub interface: Option<String>,
    /// Ethernet address; left out, the interface's.
    pub mac: Option<Mac>,
    /// Address of the gateway.
    pub address: IpAddr,
    /// The neighbour that everything is sent to.
    pub next_hop: NextHop,
    /// Largest packet.
    pub mtu: u16,
    /// The VLAN of its link that the side is in (IEEE 802.1Q); left out, frames have no tag.
    pub vlan: Option<u16>,
}

/// A neighbour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextHop {
    /// Its Ethernet address.
    Mac(Mac),
    /// Its IP address, to be asked for.
    Ip(IpAddr),
}

impl Gateway {
    /// Whether a running gateway can become `new` without a restart, as far as this file knows.
    ///
    /// # Errors
    /// What differs.
    pub fn can_become(&self, new: &Gateway) -> Result<(), String> {
        let by_ip = |s: &Side| if let NextHop::Ip(ip) = s.next_hop { Some(ip) } else { None };
        // A neighbour that is named by its IP address was asked for before the start.
        let other = |old: &Side, new: &Side| by_ip(new).is_some() && by_ip(old) != by_ip(new);
        let fixed = [
            ("plays", self.plays != new.plays),
            ("workers", self.workers != new.workers),
            ("io", self.io != new.io),
            ("busy", self.busy != new.busy),
            ("answer", self.answer != new.answer),
            ("socket", self.socket != new.socket),
            ("interface", self.left.interface != new.left.interface || self.right.interface != new.right.interface),
            ("vlan", self.left.vlan != new.left.vlan || self.right.vlan != new.right.vlan),
            ("next-hop", other(&self.left, &new.left) || other(&self.right, &new.right)),
            (
                "address",
                self.answer && (self.left.address, self.right.address) != (new.left.address, new.right.address),
            ),
            ("table", self.table() != new.table()),
        ];
        match fixed.iter().find(|(_, differs)| *differs) {
            Some((what, _)) => Err(format!("{what}: cannot be changed while the gateway runs; restart it")),
            None => Ok(()),
        }
    }

    /// Entries of its table; none if it keeps no state.
    fn table(&self) -> Option<u64> {
        self.technology.state().map(|s| s.table)
    }

    /// The same without room for connections, for whoever only wants to look at its configuration.
    pub fn without_tables(&self) -> Gateway {
        let mut small = self.clone();
        if let Some(state) = small.technology.state_mut() {
            state.table = 0;
        }
        small
    }
}

/// Read and check a gateway's file.
///
/// # Errors
/// When the file cannot be read, and everything that is wrong with it.
pub fn read(path: &Path) -> Result<Gateway, ScenarioError> {
    let unreadable = |cause| ScenarioError::Unreadable { path: path.to_owned(), cause };
    let text = std::fs::read_to_string(path).map_err(unreadable)?;
    Ok(parse(&path.display().to_string(), &text)?)
}

/// Check a gateway's file that is already text, called `name` in messages.
///
/// # Errors
/// Everything that is wrong with it.
pub fn parse(name: &str, text: &str) -> Result<Gateway, Complaints> {
    let sources = vec![Source { name: name.to_owned(), text: text.to_owned() }];
    let root = match tree::parse(&sources[0]) {
        Ok(root) => root,
        Err(diagnostics) => return Err(Complaints::new(sources, diagnostics)),
    };
    let mut log = Vec::new();
    let gateway = gateway(&root, &mut log);
    match gateway {
        Some(gateway) if log.is_empty() => Ok(gateway),
        _ => Err(Complaints::new(sources, log)),
    }
}

fn gateway(root: &Table, log: &mut Vec<Diagnostic>) -> Option<Gateway> {
    // Scenario tables may stand in the same file; what is no table of either is refused here.
    Section::root(root, log).finish();
    let ios = [
        ("af-packet", Io::AfPacket),
        ("af-xdp-generic", Io::AfXdpGeneric),
        ("af-xdp-native", Io::AfXdpNative),
        ("tap", Io::Tap),
        ("tun", Io::Tun),
    ];
    let mut section = Section::new(root, "gateway", "gateway", log);
    let plays = section.get("plays", section::choice(PLAYS)).value.unwrap_or_default();
    let workers = section.get("workers", section::count_in(1..=256)).value.unwrap_or(1) as usize;
    let io = section.get("io", section::choice(&ios)).value.unwrap_or(Io::AfPacket);
    let busy = section.get("busy", section::yes_or_no).value.unwrap_or(false);
    let answer = section.get("answer", section::yes_or_no).value.unwrap_or(true);
    let socket = section.get("socket", section::text).value.map_or_else(default_socket, PathBuf::from);
    section.finish_keys(&["left", "right"]);
    let table = subtable(root, "gateway");
    let left = side(table, "left", log);
    let right = side(table, "right", log);
    let technology = technology(root, true, log);
    let (left, right, mut technology) = (left?, right?, technology?);
    technology.settle(SESSIONS);
    versions(&left, &right, &technology, plays, log);
    Some(Gateway { plays, workers, io, busy, answer, socket, left, right, technology })
}

/// Size of a table when the file does not say.
const SESSIONS: u64 = 1 << 20;

/// Where the control socket is when the file does not say.
pub fn default_socket() -> PathBuf {
    let folder = std::env::var_os("XDG_RUNTIME_DIR").map_or_else(|| PathBuf::from("/run"), PathBuf::from);
    folder.join("natmeter-gateway.sock")
}

fn subtable<'a>(table: &'a Table, name: &str) -> Option<&'a Table> {
    match table.get(name) {
        Some(Entry { node: Node { value: Value::Table(table), .. }, .. }) => Some(table),
        _ => None,
    }
}

fn side(table: Option<&Table>, name: &str, log: &mut Vec<Diagnostic>) -> Option<Side> {
    let path = format!("gateway.{name}");
    let missing = |log: &mut Vec<Diagnostic>, key: &str, example: &str| {
        let diagnostic = Diagnostic::new(format!("[{path}] has no `{key}`"));
        log.push(diagnostic.instead(format!("add {key} = {example} to [{path}]")));
    };
    let Some(table) = table.filter(|t| t.get(name).is_some()) else {
        let diagnostic = Diagnostic::new(format!("the gateway has no [{path}]"));
        log.push(diagnostic.instead(format!("add [{path}] with interface, address and next-hop")));
        return None;
    };
    let mut section = Section::new(table, name, &path, log);
    let interface = section.get("interface", section::text);
    let mac = section.get("mac", section::mac);
    let address = section.get("address", section::ip);
    let next_hop = section.get("next-hop", |value| match section::mac(value) {
        Ok(mac) => Ok(NextHop::Mac(mac)),
        Err(_) => section::ip(value).map(NextHop::Ip),
    });
    let mtu = section.get("mtu", section::count_in(68..=65_535)).value.unwrap_or(1500) as u16;
    let vlan = section.get("vlan", section::count_in(1..=4094)).value.map(|id| id as u16);
    section.finish();
    if address.place.is_none() {
        missing(log, "address", "\"198.18.0.1\"");
    }
    if next_hop.place.is_none() {
        missing(log, "next-hop", "\"198.18.0.2\" (or its Ethernet address)");
    }
    let (address, next_hop) = (address.value?, next_hop.value?);
    Some(Side { interface: interface.value, mac: mac.value, address, next_hop, mtu, vlan })
}

/// The sides speak the IP versions that the technology needs.
fn versions(left: &Side, right: &Side, technology: &Technology, plays: Plays, log: &mut Vec<Diagnostic>) {
    let name = technology.name();
    let (want_left, want_right) = technology.versions(plays);
    for (side, path, want) in [(left, "gateway.left", want_left), (right, "gateway.right", want_right)] {
        let is = version(side.address);
        if is != want {
            let diagnostic = Diagnostic::new(format!("{name} speaks IPv{want} on [{path}], whose address is IPv{is}"));
            let way_out = format!("write an IPv{want} address in [{path}], or choose what the gateway `plays`");
            log.push(diagnostic.instead(way_out));
        }
    }
}

/// The IPv4 side that the plane needs, once the Ethernet addresses are known.
pub fn side4(side: &Side, mac: Mac, next_hop: Mac) -> Side4 {
    let address = match side.address {
        IpAddr::V4(a) => a,
        // Refused when the file was read.
        IpAddr::V6(_) => Ipv4Addr::UNSPECIFIED,
    };
    Side4 { mac, next_hop, address, mtu: side.mtu }
}

/// The IPv6 side that the plane needs, once the Ethernet addresses are known.
pub fn side6(side: &Side, mac: Mac, next_hop: Mac) -> Side6 {
    let address = match side.address {
        IpAddr::V6(a) => a,
        // Refused when the file was read.
        IpAddr::V4(_) => Ipv6Addr::UNSPECIFIED,
    };
    Side6 { mac, next_hop, address, mtu: side.mtu }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plane::nat44::config::Mapping;

    const GOOD: &str = r#"
[gateway.left]
interface = "veth0"
address = "10.0.0.1"
next-hop = "10.0.0.2"

[gateway.right]
interface = "veth1"
address = "198.51.100.1"
next-hop = "02:00:00:00:02:02"
mtu = 1400

[technology.nat44]
inside = ["10.0.0.0/8", "192.168.0.0/16"]
pool = "198.51.100.10 - 198.51.100.13"
"#;

    #[test]
    fn a_file_is_understood() {
        let g = parse("gw.toml", GOOD).unwrap();
        assert_eq!((g.workers, g.io, g.busy, g.answer), (1, Io::AfPacket, false, true));
        assert_eq!((g.left.next_hop, g.right.mtu), (NextHop::Ip("10.0.0.2".parse().unwrap()), 1400));
        let Technology::Nat44 { inside, nat, .. } = &g.technology else { panic!("{:?}", g.technology) };
        assert_eq!((inside.len(), nat.pool[0].count, nat.state.mapping), (2, 4, Mapping::EndpointIndependent));
    }

    #[test]
    fn the_files_of_the_page_are_understood() {
        let files = include_str!("../../../docs/gateway.md").split("```toml\n").skip(1);
        let files: Vec<&str> = files.map(|rest| rest.split("```").next().unwrap()).collect();
        assert!(files.len() >= 2);
        for file in files {
            parse("docs/gateway.md", file).unwrap_or_else(|error| panic!("{error}"));
        }
    }

    #[test]
    fn mistakes_are_shown_with_their_words() {
        let told = |from: &str, to: &str| parse("gw.toml", &GOOD.replace(from, to)).unwrap_err().to_string();
        assert!(told("interface = \"veth0\"", "interfaces = \"veth0\"").contains("did you mean `interface`?"));
        assert!(
            told("address = \"10.0.0.1\"", "address = \"2001:2::1\"").contains("nat44 speaks IPv4 on [gateway.left]")
        );
        assert!(told("[technology.nat44]", "[technology.nat45]").contains("unknown technology `nat45`"));
        assert!(told("next-hop = \"10.0.0.2\"\n", "").contains("[gateway.left] has no `next-hop`"));
        assert!(told("10.0.0.0/8", "10.0.0.1-10.0.0.6").contains("this is not a prefix"));
        assert!(parse("gw.toml", "").unwrap_err().to_string().contains("the gateway has no technology"));
    }
}
