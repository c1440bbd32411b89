//! The customers of a technology as rows that a device under test is configured with.

use crate::gateway::why;
use crate::tester::Flows;
use plane::translate::Pref64;
use std::fmt;
use std::net::Ipv6Addr;
use wire::{PortSet, Prefix4, Prefix6};

/// A customer: the addresses of its edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CustomerRow {
    /// Its IPv6 address, or the prefix that stands for `ipv4`.
    pub ipv6: Prefix6,
    /// The provider edge: the other end of its tunnel, or the prefix that stands for the Internet.
    pub provider: Prefix6,
    /// Its IPv4 address or addresses; none if it may have any.
    pub ipv4: Option<Prefix4>,
    /// Its ports.
    pub ports: PortSet,
}

impl CustomerRow {
    /// The ends of a tunnel.
    pub(crate) fn tunnel(customer: Ipv6Addr, provider: Ipv6Addr) -> CustomerRow {
        let [ipv6, provider] = [customer, provider].map(|addr| Prefix6 { addr, len: 128 });
        CustomerRow { ipv6, provider, ipv4: None, ports: PortSet::ALL }
    }
}

/// The words of a row: IPv6, provider edge, IPv4, ports, such as
/// `2001:db8::1/128 2001:2::2/128 192.0.2.1/32 1024-2047,5120-6143`; `-` for any IPv4 address.
impl fmt::Display for CustomerRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} ", self.ipv6, self.provider)?;
        match self.ipv4 {
            Some(ipv4) => write!(f, "{ipv4} ")?,
            None => f.write_str("- ")?,
        }
        // Port 0 is none (RFC 768).
        let block = |(first, last): (u16, u16)| format!("{}-{last}", first.max(1));
        f.write_str(&self.ports.blocks().map(block).collect::<Vec<_>>().join(","))
    }
}

/// Rows of the tester's inside addresses, which are embedded in a prefix (RFC 6052, section 2.2).
///
/// # Errors
/// When the prefix cannot embed them.
pub(crate) fn embedded(flows: &Flows, provider: Prefix6, prefix: Prefix6) -> Result<Vec<CustomerRow>, String> {
    let pref64 = Pref64::new(prefix, true).map_err(why)?;
    let row = |ipv4: Prefix4| {
        let addr = Ipv6Addr::from_bits(pref64.to_ipv6(ipv4.addr.to_bits()).map_err(|e| format!("{e:?}"))?);
        let ipv6 = Prefix6 { addr, len: 96 + ipv4.len };
        Ok(CustomerRow { ipv6, provider, ipv4: Some(ipv4), ports: PortSet::ALL })
    };
    let inside = flows.ends()[0];
    // Only behind 96 bits do addresses of an IPv4 prefix make an IPv6 prefix.
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
        assert_eq!(tunnel.to_string(), "2001:db8::1/128 2001:2::2/128 - 1-65535");
        let shared = CustomerRow {
            ipv4: Some(Prefix4 { addr: [192, 0, 2, 1].into(), len: 32 }),
            ports: PortSet::new(2, 4, 3).unwrap(),
            ..tunnel
        };
        assert_eq!(
            shared.to_string(),
            "2001:db8::1/128 2001:2::2/128 192.0.2.1/32 19456-20479,35840-36863,52224-53247"
        );
    }
}
