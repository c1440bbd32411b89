//! The software that a device under test can run, independent of its host.

pub mod boxes;
pub mod configured;
pub mod conntrack;
pub mod iptables;
pub mod linux_forwarding;
pub mod nftables;

use crate::DutError;
use crate::side::RIGHT;
use crate::step::Step;
use crate::tool::Tool;
use std::net::Ipv4Addr;

/// All software that a device under test can run.
pub const KNOWN: &[&Software] =
    &[&linux_forwarding::IPV4, &linux_forwarding::IPV6, &nftables::SOFTWARE, &iptables::LEGACY, &iptables::NFT];

#[derive(Debug)]
pub struct Software {
    pub name: &'static str,
    pub tools: &'static [Tool],
    /// Whether connections are in the kernel's connection tracking table.
    pub stateful: bool,
    /// Whether it works on IPv6, and so do the links.
    pub ipv6: bool,
    pub steps: fn(&SoftwareConfig) -> Vec<Step>,
}

pub fn named(name: &str) -> Result<&'static Software, DutError> {
    KNOWN.iter().copied().find(|s| s.name == name).ok_or_else(|| {
        let known: Vec<&str> = KNOWN.iter().map(|s| s.name).collect();
        DutError::refused(format!("unknown DUT software {name:?}"), format!("use one of {}", known.join(", ")))
    })
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SoftwareConfig {
    pub connections: u64,
    /// Entries of the table; default: what the connections need, at least the present value.
    pub table_size: Option<u64>,
    /// Buckets of the table; default: one per entry, at least the present value.
    pub hash_size: Option<u64>,
    /// Seconds: longer than the experiment (RFC 9693, section 4.4).
    pub udp_timeout: u64,
    pub tcp: bool,
    pub pool: Pool,
}

impl Default for SoftwareConfig {
    fn default() -> SoftwareConfig {
        SoftwareConfig {
            connections: 0,
            table_size: None,
            hash_size: None,
            udp_timeout: 10_000,
            tcp: false,
            pool: Pool::default(),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pool {
    pub first: Ipv4Addr,
    pub last: Ipv4Addr,
    pub first_port: u16,
    pub last_port: u16,
}

impl Default for Pool {
    /// A pool with all ports from 1024.
    fn default() -> Pool {
        let address = Ipv4Addr::from(RIGHT.dut);
        Pool { first: address, last: address, first_port: 1024, last_port: 65535 }
    }
}

impl Pool {
    fn addresses(&self) -> String {
        if self.first == self.last { self.first.to_string() } else { format!("{}-{}", self.first, self.last) }
    }
    fn ports(&self) -> String {
        format!("{}-{}", self.first_port, self.last_port)
    }
    pub fn contains(&self, address: Ipv4Addr, port: u16) -> bool {
        (self.first..=self.last).contains(&address) && (self.first_port..=self.last_port).contains(&port)
    }
}

impl SoftwareConfig {
    pub fn check(&self, software: &Software) -> Result<(), DutError> {
        let Pool { first, last, first_port, last_port } = self.pool;
        if first > last || first_port > last_port || first_port == 0 {
            let what = format!("the pool {first}-{last}, ports {} is empty", self.pool.ports());
            return Err(DutError::refused(what, "write the lower address and port first, and use ports from 1"));
        }
        if software.stateful && self.udp_timeout == 0 {
            return Err(DutError::refused("the UDP timeout is 0", "set it to 10000 seconds, the default"));
        }
        Ok(())
    }

    /// Each has its own rule, so that UDP passes the same rule with and without TCP.
    fn protocols(&self) -> &'static [&'static str] {
        if self.tcp { &["udp", "tcp"] } else { &["udp"] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::step::tests::listing;

    fn shown(software: &Software, config: &SoftwareConfig) -> String {
        listing(&(software.steps)(config))
    }

    #[test]
    fn every_software_renders_its_steps() {
        for software in KNOWN {
            insta::assert_snapshot!(format!("{}-snat", software.name), shown(software, &SoftwareConfig::default()));
        }
    }

    #[test]
    fn a_pool_of_addresses_and_a_port_range_reach_the_rule() {
        let pool = Pool { last: Ipv4Addr::new(198, 19, 0, 4), first_port: 2048, last_port: 4095, ..Pool::default() };
        let config = SoftwareConfig { pool, ..SoftwareConfig::default() };
        for software in KNOWN.iter().filter(|s| s.stateful) {
            let text = shown(software, &config);
            assert!(text.contains("198.19.0.1-198.19.0.4:2048-4095"), "{text}");
        }
    }

    #[test]
    fn tcp_has_a_rule_of_its_own_beside_that_of_udp() {
        let config = SoftwareConfig { tcp: true, ..SoftwareConfig::default() };
        for (software, rules) in
            [("nftables", ["l4proto udp snat", "l4proto tcp snat"]), ("iptables-nft", ["-p udp -j", "-p tcp -j"])]
        {
            let text = shown(named(software).unwrap(), &config);
            assert!(rules.iter().all(|rule| text.contains(rule)), "{text}");
            assert!(!shown(named(software).unwrap(), &SoftwareConfig::default()).contains(rules[1]));
        }
    }

    #[test]
    fn invalid_configurations_are_refused_with_a_way_out() {
        let nft = named("nftables").unwrap();
        SoftwareConfig::default().check(nft).unwrap();
        let backwards = Pool { first_port: 5000, last_port: 4000, ..Pool::default() };
        for config in [
            SoftwareConfig { pool: backwards, ..SoftwareConfig::default() },
            SoftwareConfig { udp_timeout: 0, ..SoftwareConfig::default() },
        ] {
            assert!(matches!(config.check(nft), Err(DutError::Refused { .. })), "{config:?}");
        }
        assert!(named("ipfw").unwrap_err().to_string().contains("linux-ipv6-forwarding, nftables"));
    }
}
