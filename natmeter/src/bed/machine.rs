//! The interfaces of this machine as iproute2 shows them, and what speaks against sending test frames through one.

use serde::Deserialize;
use std::net::IpAddr;
use std::process::Command;

/// An interface in the namespace of this process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// Name.
    pub name: String,
    /// Ethernet address.
    pub mac: String,
    /// `UP`, `DOWN`, …
    pub state: String,
    /// Kind of a virtual interface, such as `veth`; empty for hardware.
    pub kind: String,
    /// Addresses with their prefix lengths.
    pub addresses: Vec<(IpAddr, u8)>,
    /// Whether a default route leads through it.
    pub has_default_route: bool,
}

/// A finding that `i-know` of the bed file lifts: its name there, and the sentence.
pub type Danger = (&'static str, String);

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

#[derive(Deserialize)]
struct Route {
    dev: Option<String>,
}

/// Lists the Ethernet interfaces, hardware first.
///
/// # Errors
/// If iproute2 is missing or fails.
pub fn interfaces() -> Result<Vec<Found>, String> {
    let links: Vec<Link> = ip(&["-json", "-details", "address", "show"])?;
    let mut routes: Vec<Route> = ip(&["-json", "route", "show", "default"])?;
    routes.extend(ip::<Vec<Route>>(&["-json", "-6", "route", "show", "default"])?);
    let default = |name: &str| routes.iter().any(|route| route.dev.as_deref() == Some(name));
    let mut found: Vec<Found> = links
        .into_iter()
        .filter(|link| link.layer == "ether")
        .map(|link| Found {
            has_default_route: default(&link.ifname),
            name: link.ifname,
            mac: link.address,
            state: link.operstate,
            kind: link.linkinfo.info_kind,
            addresses: link.addr_info.iter().filter_map(|a| Some((a.local?, a.prefixlen))).collect(),
        })
        .collect();
    found.sort_by_key(|found| (!found.kind.is_empty(), found.name.clone()));
    Ok(found)
}

fn ip<T: for<'a> Deserialize<'a>>(args: &[&str]) -> Result<T, String> {
    let program = dut::tool::find("ip").ok_or("the program ip is missing: install the package iproute2")?;
    let output = Command::new(program).args(args).output().map_err(|e| format!("ip cannot be started: {e}"))?;
    // Without routes some versions print nothing.
    let text = if output.stdout.trim_ascii().is_empty() { b"[]" } else { &output.stdout[..] };
    serde_json::from_slice(text).map_err(|e| format!("`ip {}` printed something unexpected: {e}", args.join(" ")))
}

impl Found {
    /// What speaks against test frames through this interface.
    pub fn dangers(&self) -> Vec<Danger> {
        let name = &self.name;
        let mut dangers = Vec::new();
        if self.has_default_route {
            let text = format!(
                "the default route of this machine leads through {name}: test frames could leave the laboratory"
            );
            dangers.push(("default-route", text));
        }
        if let Some(address) = own_end_of_ssh().filter(|own| self.addresses.iter().any(|(address, _)| address == own)) {
            dangers.push(("ssh", format!("you are logged in over {address}, an address of {name}")));
        }
        if let Some((address, _)) = self.addresses.iter().find(|(address, _)| is_global(*address)) {
            dangers.push(("global-address", format!("{name} has the public address {address}")));
        }
        dangers
    }
}

/// The address of this machine to which the user's ssh session is connected.
fn own_end_of_ssh() -> Option<IpAddr> {
    let connection = std::env::var("SSH_CONNECTION").ok()?;
    connection.split_ascii_whitespace().nth(2)?.parse().ok()
}

/// Whether an address is a public one.
fn is_global(address: IpAddr) -> bool {
    let is_of_link = matches!(address, IpAddr::V6(a) if a.is_unicast_link_local());
    !tech::is_for_laboratories(address) && !address.is_loopback() && !is_of_link
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(address: &str) -> Found {
        Found { name: "a".to_owned(), addresses: vec![(address.parse().unwrap(), 24)], ..Found::default() }
    }

    #[test]
    fn a_port_of_the_laboratory_is_no_danger() {
        for address in ["198.18.0.2", "10.0.0.1", "fe80::1", "2001:2::1", "fd00::1"] {
            assert_eq!(found(address).dangers(), [], "{address}");
        }
        let port = Found { has_default_route: true, ..found("9.9.9.9") };
        let names: Vec<&str> = port.dangers().iter().map(|(name, _)| *name).collect();
        assert_eq!(names, ["default-route", "global-address"]);
    }
}
