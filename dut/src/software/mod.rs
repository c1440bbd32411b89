//! The known software that a device under test can run, one file each: what it is called, which programs it needs,
//! and the steps that bring it into a known state. Which host carries them out is not its business.

pub mod conntrack;
pub mod iptables;
pub mod linux_forwarding;
pub mod nftables;

use crate::DutError;
use crate::bed::RIGHT;
use crate::step::{Action, Step};
use crate::tool::Tool;
use serde::{Deserialize, Serialize};
use std::net::Ipv4Addr;

/// What a device under test can run, with one entry for each.
pub const KNOWN: &[&Software] = &[&linux_forwarding::SOFTWARE, &nftables::SOFTWARE, &iptables::LEGACY, &iptables::NFT];

/// One kind of software.
#[derive(Debug)]
pub struct Software {
    /// Its name in scenarios and reports.
    pub name: &'static str,
    /// One line about it.
    pub about: &'static str,
    /// The programs that its steps run.
    pub tools: &'static [Tool],
    /// It keeps an entry for every connection in the kernel's connection tracking table.
    pub stateful: bool,
    /// Its steps, once the test bed stands.
    pub steps: fn(&Config) -> Vec<Step>,
}

/// The software of this name.
///
/// # Errors
/// When there is none.
pub fn named(name: &str) -> Result<&'static Software, DutError> {
    let known = || KNOWN.iter().map(|s| s.name).collect::<Vec<_>>().join(", ");
    KNOWN.iter().copied().find(|s| s.name == name).ok_or_else(|| DutError::Refused {
        what: format!("no DUT software is called {name:?}"),
        way_out: format!("one of {}", known()),
    })
}

/// What is asked of the software.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Connections that will be in its table at once.
    pub connections: u64,
    /// Entries that the table may hold; if none, what the connections need, and never less than it has.
    pub table_size: Option<u64>,
    /// Hash buckets of the table; if none, one for each entry, and never less than it has.
    pub hash_size: Option<u64>,
    /// Lifetime of an idle UDP connection in seconds, unreplied or not: longer than the experiment (RFC 9693, section 4.4).
    pub udp_timeout: u64,
    /// Outside addresses and ports.
    pub pool: Pool,
}

impl Default for Config {
    fn default() -> Config {
        Config { connections: 0, table_size: None, hash_size: None, udp_timeout: 10_000, pool: Pool::default() }
    }
}

/// Outside addresses and ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Pool {
    /// First address.
    pub first: Ipv4Addr,
    /// Last address.
    pub last: Ipv4Addr,
    /// First port.
    pub first_port: u16,
    /// Last port.
    pub last_port: u16,
}

impl Default for Pool {
    /// The address of the DUT's outside interface, and all ports but the well-known.
    fn default() -> Pool {
        let address = Ipv4Addr::from(RIGHT.dut);
        Pool { first: address, last: address, first_port: 1024, last_port: 65535 }
    }
}

impl Pool {
    /// As `first-last`, or one address alone.
    fn addresses(&self) -> String {
        if self.first == self.last { self.first.to_string() } else { format!("{}-{}", self.first, self.last) }
    }
    /// As `first-last`.
    fn ports(&self) -> String {
        format!("{}-{}", self.first_port, self.last_port)
    }
    /// Whether this is one of the outside addresses and ports.
    pub fn contains(&self, address: Ipv4Addr, port: u16) -> bool {
        (self.first..=self.last).contains(&address) && (self.first_port..=self.last_port).contains(&port)
    }
}

impl Config {
    /// See that it makes sense for this software, before anything is touched.
    ///
    /// # Errors
    /// When it does not, with the way out.
    pub fn check(&self, software: &Software) -> Result<(), DutError> {
        let refuse = |what: String, way_out: &str| Err(DutError::Refused { what, way_out: way_out.to_owned() });
        let Pool { first, last, first_port, last_port } = self.pool;
        if first > last || first_port > last_port || first_port == 0 {
            let ports = self.pool.ports();
            return refuse(
                format!("the pool {first}-{last}, ports {ports} is empty"),
                "write the lower one first, and ports from 1 on",
            );
        }
        if software.stateful && self.udp_timeout == 0 {
            return refuse("a UDP timeout of 0".into(), "10000 seconds are usual");
        }
        Ok(())
    }
}

/// The step that all of them need: a router forwards.
fn forward() -> Step {
    Step::dut("forward IPv4 packets", Action::sysctl("net/ipv4/ip_forward", 1))
        .undone_by(Action::sysctl("net/ipv4/ip_forward", 0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::step::listing;

    /// All steps of one software, as a person sees them.
    fn shown(software: &Software, config: &Config) -> String {
        listing(&(software.steps)(config))
    }

    #[test]
    fn every_software_renders_its_steps() {
        for software in KNOWN {
            insta::assert_snapshot!(format!("{}-snat", software.name), shown(software, &Config::default()));
        }
    }

    #[test]
    fn a_pool_of_addresses_and_a_port_range_reach_the_rule() {
        let pool = Pool { last: Ipv4Addr::new(198, 19, 0, 4), first_port: 2048, last_port: 4095, ..Pool::default() };
        let config = Config { pool, ..Config::default() };
        for software in KNOWN.iter().filter(|s| s.stateful) {
            let text = shown(software, &config);
            assert!(text.contains("198.19.0.1-198.19.0.4:2048-4095"), "{text}");
        }
    }

    #[test]
    fn what_makes_no_sense_is_refused_with_a_way_out() {
        let nft = named("nftables").unwrap();
        Config::default().check(nft).unwrap();
        let backwards = Pool { first_port: 5000, last_port: 4000, ..Pool::default() };
        for config in [Config { pool: backwards, ..Config::default() }, Config { udp_timeout: 0, ..Config::default() }]
        {
            assert!(matches!(config.check(nft), Err(DutError::Refused { .. })), "{config:?}");
        }
        assert!(named("ipfw").unwrap_err().to_string().contains("linux-forwarding, nftables"));
    }
}
