//! The interfaces of this machine as iproute2 shows them, and the dangers of sending test frames through one.

use serde::Deserialize;
use std::net::IpAddr;
use std::process::Command;

/// An interface in the namespace of this process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Interface {
    pub name: String,
    pub mac: String,
    /// `UP`, `DOWN`, …
    pub state: String,
    /// Kind of interface, such as `veth`; empty for hardware.
    pub kind: String,
    /// Addresses with prefix lengths.
    pub addresses: Vec<(IpAddr, u8)>,
    /// Whether the default route leads through it, or through an interface above it.
    pub has_default_route: bool,
    /// VLANs, the bridge or bond of which it is a member, and those above these: their frames pass it too.
    pub above: Vec<String>,
    /// Addresses of the interfaces above.
    pub addresses_above: Vec<IpAddr>,
    pub master: Option<String>,
    /// The named namespace of a veth's other end.
    pub far: Option<String>,
}

/// Name in `i-know` of the bed file, which overrides it, and the sentence.
pub(crate) type Danger = (&'static str, String);

#[derive(Deserialize)]
struct Link {
    ifname: String,
    #[serde(rename = "link_type")]
    layer: String,
    #[serde(default)]
    address: String,
    operstate: String,
    #[serde(default)]
    linkinfo: LinkInfo,
    /// Interface below, or a veth's other end.
    #[serde(rename = "link")]
    below: Option<String>,
    master: Option<String>,
    /// Number of the namespace of its other end.
    #[serde(rename = "link_netnsid")]
    far: Option<u32>,
    #[serde(default)]
    addr_info: Vec<Address>,
}

#[derive(Deserialize, Default)]
struct LinkInfo {
    #[serde(default)]
    info_kind: String,
}

#[derive(Deserialize)]
struct Address {
    local: Option<IpAddr>,
    prefixlen: u8,
}

/// A namespace with a name, as `ip netns` lists it.
#[derive(Deserialize)]
struct Named {
    nsid: u32,
    name: Option<String>,
}

#[derive(Deserialize)]
struct Route {
    dev: Option<String>,
    #[serde(default)]
    nexthops: Vec<Hop>,
}

/// Kinds of interfaces that send through the interface below.
const STACKED: [&str; 5] = ["vlan", "macvlan", "macvtap", "ipvlan", "ipvtap"];

impl Link {
    /// Frames of this interface leave through that one.
    fn is_above(&self, below: &str) -> bool {
        STACKED.contains(&self.linkinfo.info_kind.as_str()) && self.below.as_deref() == Some(below)
    }
}

/// Interfaces above, each once.
fn above<'a>(name: &str, links: &'a [Link]) -> Vec<&'a Link> {
    let mut found: Vec<&Link> = Vec::new();
    let mut next = vec![name.to_owned()];
    while let Some(below) = next.pop() {
        let master = links.iter().find(|link| link.ifname == below).and_then(|link| link.master.clone());
        let is_next = |link: &&Link| link.is_above(&below) || master.as_ref() == Some(&link.ifname);
        for link in links.iter().filter(is_next) {
            if link.ifname != name && !found.iter().any(|known| known.ifname == link.ifname) {
                found.push(link);
                next.push(link.ifname.clone());
            }
        }
    }
    found
}

#[derive(Deserialize)]
struct Hop {
    dev: Option<String>,
}

/// Lists the Ethernet interfaces, hardware first.
pub(crate) fn interfaces() -> Result<Vec<Interface>, String> {
    let links: Vec<Link> = ip(&["-json", "-details", "address", "show"])?;
    let mut routes: Vec<Route> = ip(&["-json", "route", "show", "default"])?;
    routes.extend(ip::<Vec<Route>>(&["-json", "-6", "route", "show", "default"])?);
    let leads = |route: &Route, name: &str| {
        route.dev.as_deref() == Some(name) || route.nexthops.iter().any(|hop| hop.dev.as_deref() == Some(name))
    };
    let default = |name: &str| routes.iter().any(|route| leads(route, name));
    // Without root `ip` fails, and prints nothing.
    let named: Vec<Named> = ip(&["-json", "netns", "list-id"])?;
    let far = |link: &Link| named.iter().find(|named| Some(named.nsid) == link.far)?.name.clone();
    let of_link = |link: &Link| {
        let above = above(&link.ifname, &links);
        Interface {
            has_default_route: default(&link.ifname) || above.iter().any(|link| default(&link.ifname)),
            name: link.ifname.clone(),
            mac: link.address.clone(),
            state: link.operstate.clone(),
            kind: link.linkinfo.info_kind.clone(),
            master: link.master.clone(),
            far: far(link),
            addresses: link.addr_info.iter().filter_map(|a| Some((a.local?, a.prefixlen))).collect(),
            above: above.iter().map(|link| link.ifname.clone()).collect(),
            addresses_above: above.iter().flat_map(|link| &link.addr_info).filter_map(|a| a.local).collect(),
        }
    };
    let mut found: Vec<Interface> = links.iter().filter(|link| link.layer == "ether").map(of_link).collect();
    found.sort_by_key(|found| (!found.kind.is_empty(), found.name.clone()));
    Ok(found)
}

/// The interface through which this machine sends to an address, if any.
pub(crate) fn way_to(address: IpAddr) -> Result<Option<String>, String> {
    // Without a route `ip` fails, and prints nothing.
    let routes: Vec<Route> = ip(&["-json", "route", "get", &address.to_string()])?;
    Ok(routes.into_iter().find_map(|route| route.dev))
}

fn ip<T: for<'a> Deserialize<'a>>(args: &[&str]) -> Result<T, String> {
    let program = dut::tool::find("ip").ok_or("the program ip is missing: install the package iproute2")?;
    let output = Command::new(program).args(args).output().map_err(|e| format!("ip cannot be started: {e}"))?;
    // Without routes some versions print nothing.
    let text = if output.stdout.trim_ascii().is_empty() { b"[]" } else { &output.stdout[..] };
    serde_json::from_slice(text).map_err(|e| format!("`ip {}` printed something unexpected: {e}", args.join(" ")))
}

impl Interface {
    pub(crate) fn kind_in_words(&self) -> &str {
        if self.kind.is_empty() { "hardware" } else { &self.kind }
    }

    /// Whether frames of that interface pass this one.
    pub(crate) fn carries(&self, name: &str) -> bool {
        self.name == name || self.above.iter().any(|above| above == name)
    }

    pub(crate) fn dangers(&self) -> Vec<Danger> {
        let name = &self.name;
        let mut dangers = Vec::new();
        if self.has_default_route {
            let over =
                if self.above.is_empty() { String::new() } else { format!(" or {} above it", self.above.join(", ")) };
            let text = format!(
                "the default route of this machine leads through {name}{over}: test frames could leave the laboratory"
            );
            dangers.push(("default-route", text));
        }
        if let Some(master) = &self.master {
            dangers.push((
                "member",
                format!("{name} is a member of {master}, which other traffic of this machine may use"),
            ));
        }
        let addresses = || self.addresses.iter().map(|(address, _)| address).chain(&self.addresses_above);
        let is_own = |own: &IpAddr| addresses().any(|address| address == own);
        if let Some(address) = own_ends_of_ssh().into_iter().find(is_own) {
            dangers.push(("ssh", format!("you are logged in over {address}, an address of {name}")));
        }
        if let Some(address) = addresses().find(|address| is_global(**address)) {
            dangers.push(("global-address", format!("{name} has the public address {address}")));
        }
        dangers
    }
}

/// That of the user's session, and all that the kernel lists, because sudo removes the variable.
fn own_ends_of_ssh() -> Vec<IpAddr> {
    let connection = std::env::var("SSH_CONNECTION").unwrap_or_default();
    let own = connection.split_ascii_whitespace().nth(2).and_then(|address| address.parse().ok());
    let connected = std::fs::read_to_string("/proc/self/net/tcp").unwrap_or_default();
    own.into_iter().chain(connected.lines().filter_map(ssh_end)).collect()
}

/// Remote address of an established connection to port 22, from a line of /proc/net/tcp.
fn ssh_end(line: &str) -> Option<IpAddr> {
    let mut words = line.split_ascii_whitespace().skip(1);
    let (address, port) = words.next()?.split_once(':')?;
    // State 1 is established.
    let is_ssh = port == "0016" && words.nth(1)? == "01";
    let octets = u32::from_str_radix(address, 16).ok()?.to_ne_bytes();
    is_ssh.then(|| IpAddr::from(octets))
}

fn is_global(address: IpAddr) -> bool {
    let is_of_link = matches!(address, IpAddr::V6(a) if a.is_unicast_link_local());
    !tech::is_for_laboratories(address) && !address.is_loopback() && !is_of_link
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(address: &str) -> Interface {
        Interface { name: "a".to_owned(), addresses: vec![(address.parse().unwrap(), 24)], ..Interface::default() }
    }

    #[test]
    fn connections_to_ssh_are_found() {
        let line = "  1: 0200000A:0016 0100000A:D2F0 01 00000000:00000000 02:0000 00000000";
        if cfg!(target_endian = "little") {
            assert_eq!(ssh_end(line), Some(IpAddr::from([10, 0, 0, 2])));
        }
        assert_eq!(ssh_end(&line.replace(" 01 ", " 0A ")), None, "listening");
        assert_eq!(ssh_end(&line.replace(":0016", ":0050")), None, "another port");
    }

    #[test]
    fn a_port_of_the_laboratory_is_no_danger() {
        for address in ["198.18.0.2", "10.0.0.1", "fe80::1", "2001:2::1", "fd00::1"] {
            assert_eq!(found(address).dangers(), [], "{address}");
        }
        let port = Interface { has_default_route: true, ..found("9.9.9.9") };
        let names: Vec<&str> = port.dangers().iter().map(|(name, _)| *name).collect();
        assert_eq!(names, ["default-route", "global-address"]);
    }
}
