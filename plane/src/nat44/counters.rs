//! Drop reasons and other counters of NAT44.

use crate::count::events;

events! {
    /// Forwarded from the customers to the Internet.
    In2Out = "in2out",
    /// Forwarded from the Internet to the customers.
    Out2In = "out2in",
    /// Forwarded from one customer to another (RFC 4787, REQ-9).
    Hairpinned = "hairpinned",
    /// Forwarded without translation (RFC 6888, REQ-6).
    Untranslated = "untranslated",
    /// Handed over to another worker.
    HandedOver = "handed-over",
    /// Left to the machine itself.
    Local = "local",
    /// Sessions made.
    SessionNew = "session-new",
    /// Sessions that timed out.
    SessionExpired = "session-expired",
    /// Sessions made below static mappings, from either side.
    SessionStatic = "session-static",
    /// Mappings made.
    MappingNew = "mapping-new",
    /// Outside ports whose parity differs from the inside port's, as none of the same parity was free.
    ParityChanged = "parity-changed",
    /// Port blocks given to subscribers: one log line each (RFC 6888, REQ-14).
    BlockAllocated = "block-allocated",
    /// Port blocks given back.
    BlockReleased = "block-released",
    /// ICMP errors sent.
    IcmpSent = "icmp-sent",
    /// ICMP errors not sent: over the rate limit, or switched off.
    IcmpSuppressed = "icmp-suppressed",
    /// Packets fragmented (RFC 4787, REQ-13a).
    Fragmented = "fragmented",
    /// Fragments that wait for the first of their datagram.
    FragmentHeld = "fragment-held",
    /// Drop: shorter than the headers it claims to have.
    Short = "short-frame",
    /// Drop: sent to another Ethernet address.
    OtherMac = "other-mac",
    /// Drop: an IPv4 packet sent to an Ethernet group address.
    LinkMulticast = "link-multicast",
    /// Drop: IP version or header length.
    BadHeader = "bad-ip-header",
    /// Drop: total length, a UDP length that does not fit it, or a fragment behind the largest datagram.
    BadLength = "bad-length",
    /// Drop: IPv4 header checksum.
    BadHeaderChecksum = "bad-header-checksum",
    /// Drop: IPv4 options that do not parse, or that route by the source.
    BadOption = "bad-ip-option",
    /// Drop: a source that no host may have.
    MartianSource = "martian-source",
    /// Drop: a destination that no router may forward to.
    MartianDestination = "martian-destination",
    /// Drop: to a multicast group.
    Multicast = "multicast",
    /// Drop: TTL ran out (an ICMP error was due).
    TtlExpired = "ttl-expired",
    /// Drop: from the customers' side, but not from an inside address.
    NotInside = "not-inside",
    /// Drop: from the Internet, but not to an outside address.
    NotPool = "not-pool",
    /// Drop: neither UDP, TCP nor ICMP, and no static mapping of the whole address.
    Protocol = "protocol",
    /// Drop: an ICMP message that a NAT cannot relate to anything (RFC 5508, REQ-11).
    IcmpOther = "icmp-other",
    /// Drop: checksum of an ICMP error, or of the header it quotes (RFC 5508, REQ-3).
    IcmpChecksum = "icmp-checksum",
    /// Drop: an ICMP error about a packet of no session (RFC 5508, REQ-4 and REQ-5).
    IcmpNoSession = "icmp-no-session",
    /// Drop: from the Internet, without a session or mapping.
    NoSession = "no-session",
    /// Drop: a mapping exists but filtering forbids this sender.
    Filtered = "filtered",
    /// Drop: a TCP segment without a session that does not open a connection.
    TcpNotSyn = "tcp-not-syn",
    /// Drop: an unsolicited SYN, held for six seconds (RFC 5382, REQ-4).
    SynHeld = "syn-held",
    /// Drop: unanswered sessions from outside have filled their share of the table (RFC 6146, section 5.3).
    OutsideFull = "outside-share-full",
    /// Drop: hairpinning is switched off.
    Hairpin = "hairpin-off",
    /// Drop: the session table is full.
    TableFull = "table-full",
    /// Drop: the table of mappings or permissions is full.
    MappingFull = "mapping-full",
    /// Drop: no outside port is free.
    NoPort = "no-port",
    /// Drop: quota of the subscriber (RFC 6888, REQ-4 and REQ-5).
    Quota = "quota",
    /// Drop: larger than the next link, and not to be fragmented (an ICMP error was due).
    TooBig = "too-big",
    /// Drop: a first fragment without the whole transport header, or one that overlaps it (RFC 1858).
    TinyFragment = "tiny-fragment",
    /// Drop: the fragment store is full.
    FragmentStore = "fragment-store-full",
    /// Drop: the first fragment did not arrive in time.
    FragmentLate = "fragment-late",
    /// Drop: the first fragment of the datagram was dropped.
    FragmentOrphan = "fragment-orphan",
    /// Drop: overlapping fragments, and those of their datagram that wait (RFC 5722, section 4).
    FragmentOverlap = "fragment-overlap",
    /// Drop: a duplicate fragment.
    FragmentAgain = "fragment-again",
    /// Drop: no memory for a further packet.
    NoMemory = "no-memory",
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_kebab_case_and_unlike() {
        let mut seen = std::collections::HashSet::new();
        for n in NAMES {
            assert!(n.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-'), "{n}");
            assert!(seen.insert(n), "{n} twice");
        }
        assert_eq!(NAMES[Event::NoMemory as usize], "no-memory");
    }
}
