//! Rows with which a device under test is configured.

use crate::tester::Flows;
use plane::map::{Psid, Rule};
use plane::translate::Pref64;
use std::fmt;
use std::net::Ipv6Addr;
use wire::{PortSet, Prefix4, Prefix6};

/// Addresses of a customer's edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CustomerRow {
    /// Address, or the prefix that represents `ipv4`.
    pub ipv6: Prefix6,
    /// Other end of the tunnel, or the prefix that represents the Internet.
    pub provider: Option<Prefix6>,
    /// IPv4 addresses, unless the edge may have any.
    pub ipv4: Option<Prefix4>,
    /// Ports of the customer's edge.
    pub ports: PortSet,
    /// End-user prefix (RFC 7597, section 5.2), by mapping rules.
    pub prefix: Option<Prefix6>,
}

impl CustomerRow {
    pub(crate) fn tunnel(customer: Ipv6Addr, provider: Ipv6Addr) -> CustomerRow {
        let [ipv6, provider] = [customer, provider].map(|addr| Prefix6 { addr, len: 128 });
        CustomerRow { ipv6, provider: Some(provider), ipv4: None, ports: PortSet::ALL, prefix: None }
    }

    pub(crate) fn mapped(ipv6: Prefix6, provider: Option<Prefix6>, ipv4: Prefix4) -> CustomerRow {
        CustomerRow { ipv6, provider, ipv4: Some(ipv4), ports: PortSet::ALL, prefix: None }
    }
}

/// IPv6, provider edge, IPv4, ports, PSID offset, length and PSID, end-user IPv6 prefix, or `-`:
/// `2001:db8::1/128 2001:2::2/128 192.0.2.1/32 1024-2047,5120-6143 4 4 1 2001:db8::/64`.
impl fmt::Display for CustomerRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {} ", self.ipv6, OptionalWord(self.provider), OptionalWord(self.ipv4))?;
        // Not used (RFC 768).
        let block = |(first, last): (u16, u16)| format!("{}-{last}", first.max(1));
        let PortSet { offset, len, psid } = self.ports;
        let blocks = self.ports.blocks().map(block).collect::<Vec<_>>().join(",");
        write!(f, "{blocks} {offset} {len} {psid} {}", OptionalWord(self.prefix))
    }
}

struct OptionalWord<T>(Option<T>);

impl<T: fmt::Display> fmt::Display for OptionalWord<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Some(word) => word.fmt(f),
            None => f.write_str("-"),
        }
    }
}

/// A mapping rule (RFC 7597, section 5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RuleRow(pub Rule);

/// IPv6 prefix, IPv4 prefix, EA bits, PSID offset, length and value of an explicit PSID, or `-`:
/// `2001:db8:1::/53 203.0.113.0/24 11 0 - -`.
impl fmt::Display for RuleRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Rule { ipv6, ipv4, ea_bits, offset, psid } = self.0;
        write!(f, "{ipv6} {ipv4} {ea_bits} {offset} ")?;
        match psid {
            Some(Psid { len, value }) => write!(f, "{len} {value}"),
            None => f.write_str("- -"),
        }
    }
}

/// Inside addresses embedded in a prefix (RFC 6052, section 2.2); fails when it cannot embed them.
pub(crate) fn embedded(flows: &Flows, provider: Prefix6, prefix: Prefix6) -> Result<Vec<CustomerRow>, String> {
    let pref64 = Pref64::new(prefix, true).map_err(|e| e.to_string())?;
    let row = |ipv4: Prefix4| {
        let addr = Ipv6Addr::from_bits(pref64.to_ipv6(ipv4.addr.to_bits()).map_err(|e| format!("{e:?}"))?);
        let ipv6 = Prefix6 { addr, len: 96 + ipv4.len };
        Ok(CustomerRow::mapped(ipv6, Some(provider), ipv4))
    };
    let inside = flows.ends()[0];
    // Other prefixes do not map IPv4 prefixes to IPv6 prefixes.
    if prefix.len == 96 {
        return inside.prefixes().into_iter().map(row).collect();
    }
    let addresses = (0..inside.count).map(|i| Prefix4 { addr: (inside.first.to_bits() + i).into(), len: 32 });
    addresses.map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_has_its_addresses_and_blocks_of_ports() {
        let six = |text: &str| text.parse().unwrap();
        let tunnel = CustomerRow::tunnel(six("2001:db8::1"), six("2001:2::2"));
        assert_eq!(tunnel.to_string(), "2001:db8::1/128 2001:2::2/128 - 1-65535 0 0 0 -");
        let shared = CustomerRow {
            ipv4: Some(Prefix4 { addr: [192, 0, 2, 1].into(), len: 32 }),
            ports: PortSet::new(2, 4, 3).unwrap(),
            prefix: Some(Prefix6 { addr: six("2001:db8:0:1::"), len: 64 }),
            ..tunnel
        };
        assert_eq!(
            shared.to_string(),
            "2001:db8::1/128 2001:2::2/128 192.0.2.1/32 19456-20479,35840-36863,52224-53247 2 4 3 2001:db8:0:1::/64"
        );
    }

    #[test]
    fn a_rule_has_its_prefixes_and_bits() {
        let ipv4 = Prefix4 { addr: [192, 0, 2, 0].into(), len: 24 };
        let ipv6 = Prefix6 { addr: "2001:db8:ce::".parse().unwrap(), len: 53 };
        let rule = Rule { offset: 0, ..Rule::new(ipv6, ipv4, 11) };
        assert_eq!(RuleRow(rule).to_string(), "2001:db8:ce::/53 192.0.2.0/24 11 0 - -");
        let own = Rule { psid: Some(Psid { len: 8, value: 52 }), ..rule };
        assert_eq!(RuleRow(own).to_string(), "2001:db8:ce::/53 192.0.2.0/24 11 0 8 52");
    }
}
