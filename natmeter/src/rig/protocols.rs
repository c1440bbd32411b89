//! The protocol of a foreign frame, to help you find its sender.

pub(super) fn name(frame: &[u8]) -> &'static str {
    let kind = frame.get(12..14).map_or(0, |b| u16::from_be_bytes([b[0], b[1]]));
    match kind {
        0x0800 => match frame.get(23) {
            Some(1) => "ICMP",
            Some(2) => "IGMP",
            Some(6) => "TCP",
            Some(17) => udp(frame, 34),
            Some(89) => "OSPF",
            Some(112) => "VRRP",
            _ => "IPv4",
        },
        0x86dd => match (frame.get(20), frame.get(54)) {
            (Some(58), Some(133 | 134)) => "IPv6 router discovery",
            (Some(58), Some(135 | 136)) => "IPv6 neighbor discovery",
            (Some(58), _) => "ICMPv6",
            // A hop-by-hop option in front of ICMPv6 is multicast listener discovery.
            (Some(0), _) => "IPv6 multicast listener reports",
            (Some(17), _) => udp(frame, 54),
            (Some(89), _) => "OSPF",
            _ => "IPv6",
        },
        0x0806 => "ARP",
        0x8035 => "RARP",
        0x8100 | 0x88a8 => "VLAN-tagged frames",
        0x8808 => "pause frames",
        0x8809 => "LACP",
        0x88cc => "LLDP",
        0x88f7 => "PTP",
        0..0x0600 if frame.starts_with(&[0x01, 0x80, 0xc2, 0, 0, 0]) => "spanning tree",
        0..0x0600 if frame.starts_with(&[0x01, 0, 0x0c]) => "CDP",
        0..0x0600 => "IEEE 802.3 frames",
        _ => "other frames",
    }
}

/// The UDP header begins at `at`.
fn udp(frame: &[u8], at: usize) -> &'static str {
    match frame.get(at + 2..at + 4).map(|b| u16::from_be_bytes([b[0], b[1]])) {
        Some(67 | 68) => "DHCP",
        Some(123) => "NTP",
        Some(137 | 138) => "NetBIOS",
        Some(546 | 547) => "DHCPv6",
        Some(1900) => "SSDP",
        Some(5353) => "mDNS",
        Some(5355) => "LLMNR",
        _ => "UDP",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    fn octet(digits: &[u8]) -> u8 {
        u8::from_str_radix(std::str::from_utf8(digits).unwrap(), 16).unwrap()
    }

    #[test]
    fn usual_senders_are_named() {
        let arp = "ffffffffffff 020000000102 0806";
        let lldp = "0180c200000e 020000000102 88cc";
        let stp = "0180c2000000 020000000102 0026 4242 03";
        let mdns = "01005e0000fb 020000000102 0800 4500 0020 0000 0000 ff11 0000 c6120009 e00000fb 14e9 14e9 000c 0000";
        for (frame, expected) in
            [(arp, "ARP"), (lldp, "LLDP"), (stp, "spanning tree"), (mdns, "mDNS"), ("", "IEEE 802.3 frames")]
        {
            let octets: Vec<u8> =
                frame.split_whitespace().flat_map(|word| word.as_bytes().chunks(2)).map(octet).collect();
            assert_eq!(name(&octets), expected);
        }
    }
}
