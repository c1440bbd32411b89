//! The decision tree of `natmeter bed check`: what came back from a box, beside what was expected, gives one cause and one next step.

use method::{Example, Fault, Leg};
use scenario::bed::Bed;
use std::net::IpAddr;

#[derive(Default)]
pub(crate) struct Around<'a> {
    /// Name of the bed file.
    pub(crate) file: &'a str,
    pub(crate) bed: Option<&'a Bed>,
    /// IP versions of the frames, left and right.
    pub(crate) versions: [u8; 2],
    /// Octets of a frame, with FCS.
    pub(crate) frame: usize,
    /// Hop limit of the frames that are sent.
    pub(crate) ttl: u8,
    /// Whether the box answers frames whose hop limit ends at it, as a router does in front of its firewall; none if it was not asked.
    pub(crate) answers_last_hop: Option<bool>,
}

/// One direction in which not every frame was right.
pub(crate) struct Seen<'a> {
    pub(crate) from: &'a str,
    pub(crate) to: &'a str,
    pub(crate) leg: &'a Leg,
    /// Frames per second; with `opens` each opened a connection.
    pub(crate) rate: u64,
    pub(crate) opens: bool,
    /// Every frame of the other direction was right.
    pub(crate) other_passes: bool,
    /// The most frequent fault, and whether it has more frames than those that did not arrive.
    pub(crate) fault: Option<Fault>,
    /// The source of the first frame that has it.
    pub(crate) source: Option<IpAddr>,
    /// The first ICMP error about these frames.
    pub(crate) refusal: Option<String>,
    /// Frames of the other direction are too long for a link of the box.
    pub(crate) other_is_too_long: bool,
    /// Connections that the box counts.
    pub(crate) entries: Option<u64>,
    pub(crate) around: &'a Around<'a>,
}

/// A cause, if it holds, and what to do; `{…}` stands for what [`Seen::filled`] knows.
struct Cause {
    holds: fn(&Seen<'_>) -> bool,
    words: &'static str,
    next: &'static str,
}

/// The first that holds is said.
const CAUSES: &[Cause] = &[
    Cause {
        holds: |seen| seen.is_silent() && seen.without_address().is_some(),
        words: "the scenario's frames are IPv{version} at the {side} port, and [bed.{side}] of {file} has no IPv{version} address, \
                so that the box does not find the tester",
        next: "add one to `addresses` of [bed.{side}], and the box's (`gateway-ipv6`), or name a scenario of the box's technology",
    },
    Cause {
        holds: |seen| seen.is_refused(&["unreachable", "no route"]),
        words: "the box has no route to the addresses behind the {to} port",
        next: "give the box a route to them through the tester's {tester} (Linux: `ip route`)",
    },
    Cause {
        holds: |seen| seen.fault == Some(Fault::Fragment) || seen.refusal.as_deref().is_some_and(says_too_long),
        words: "frames of {frame} octets are too long for a link of the box",
        next: "raise the MTU of the box's {to} interface to {mtu} (Linux: `ip link set DEV mtu {mtu}`), or use smaller frames",
    },
    Cause {
        holds: |seen| seen.is_refused(&["prohibited"]),
        words: "a firewall of the box refuses them",
        next: "allow UDP {from} to {to} in it",
    },
    Cause {
        holds: |seen| seen.refusal.is_some(),
        words: "the box or a router behind it refuses them",
        next: "the ICMP error says why",
    },
    Cause {
        holds: |seen| seen.is_untranslated() && seen.entries.is_some_and(|entries| entries > 0),
        words: "the box does not translate {from} to {to}, but tracks connections: its NAT rule does not match these frames",
        next: "have the rule where frames leave on its {to} interface, for the addresses behind its {from} interface",
    },
    Cause {
        holds: |seen| seen.is_untranslated() && seen.entries == Some(0),
        words: "the box does not translate {from} to {to}, and tracks no connection: it has no NAT rule",
        next: "give it one (Linux: snat or masquerade in a nat chain at postrouting) where frames leave on its {to} interface",
    },
    Cause {
        holds: |seen| seen.is_untranslated(),
        words: "the box does not translate {from} to {to}",
        next: "have its NAT rule (snat, masquerade) where frames leave on its {to} interface",
    },
    Cause {
        holds: |seen| seen.fault == Some(Fault::OutsidePool),
        words: "the box has another pool than the scenario",
        next: "give `pool` and `pool-ports` of the scenario the box's values",
    },
    Cause {
        holds: |seen| {
            let has_late = seen.leg.received == 0 && seen.leg.faults.get(Fault::Late) > 0;
            has_late && matches!(seen.fault, None | Some(Fault::Late))
        },
        words: "frames arrive after the end of their trial",
        next: "see the box for a deep queue or a shaper, and raise `drain` in [measure] of the scenario",
    },
    Cause {
        holds: |seen| seen.is_silent() && seen.other_is_too_long,
        words: "they are as long as the others and pass the same link",
        next: "raise its MTU, and check again",
    },
    Cause {
        holds: |seen| seen.is_silent() && seen.other_passes,
        words: "only {to} to {from} passes",
        next: "see the firewall of the box for {from} to {to}, and its route to the addresses behind the {to} port",
    },
    Cause {
        holds: |seen| seen.is_silent() && seen.entries.is_some_and(|entries| entries > 0),
        words: "the box counts {entries} connections, and none of the frames reached the {to} port within the trial",
        next: "see its firewall, and its route and neighbour entry for the tester's {tester} on its {to} interface",
    },
    Cause {
        holds: |seen| seen.is_silent() && seen.around.answers_last_hop == Some(true),
        words: "a firewall of the box drops them: it answers those whose hop limit ends there, and thus forwards",
        next: "allow UDP {from} to {to} in its firewall",
    },
    Cause {
        holds: |seen| seen.is_silent(),
        words: "the box drops them, and does not answer those whose hop limit ends there: it does not forward",
        next: "see that the box forwards (Linux: `sysctl net.ipv4.ip_forward=1`, IPv6: `net.ipv6.conf.all.forwarding=1`), its route to \
               the addresses behind the {to} port through the tester's {tester}, and that no rule drops all frames",
    },
    Cause {
        holds: |seen| seen.opens && seen.fault.is_none() && seen.leg.received < seen.leg.planned / 10 * 9,
        words: "{received} of {planned} new connections passed the box at {rate} a second",
        next: "see its limit of new connections a second (firewall, policer) and the size of its table, or open them slower, for example \
               phase1-rate = \"{slower}\" in [measure] of the scenario",
    },
    Cause {
        holds: |seen| seen.sends_no_checksum(),
        words: "the box sends UDP checksum 0, which means none (RFC 768)",
        next: "have it update the checksum that the frame had",
    },
    Cause {
        holds: |seen| seen.has(&[Fault::BadChecksum]) && seen.leg.received == 0,
        words: "a checksum is wrong",
        next: "switch off checksum offloading on the box (ethtool -K DEV tx off)",
    },
    Cause {
        holds: |seen| seen.has(&[Fault::BadChecksum]),
        words: "the box computes some checksums wrong",
        next: "see RFC 1624; UDP sends 0xffff for 0 (RFC 768)",
    },
    Cause {
        holds: |seen| seen.has(&[Fault::WrongAddress, Fault::WrongPort]),
        words: "an address or port is not what the scenario's technology gives",
        next: "compare its table with the box's configuration",
    },
    Cause {
        holds: |seen| seen.has(&[Fault::WrongHeader]),
        words: "a header is not what the scenario expects",
        next: "the box uses another technology, or does not translate",
    },
    Cause {
        holds: |seen| seen.has(&[Fault::WrongHopLimit]),
        words: "the hop limits differ from frame to frame",
        next: "there is more than one path",
    },
    Cause {
        holds: |seen| seen.has(&[Fault::WrongLength, Fault::WrongPayload]),
        words: "the length or payload changed",
        next: "look for a middlebox or an MTU that is too small",
    },
    Cause {
        holds: |seen| seen.has(&[Fault::Duplicate]),
        words: "they arrived twice",
        next: "a loop, or a mirror port",
    },
    Cause {
        holds: |seen| seen.has(&[Fault::WrongVlan]),
        words: "they have a VLAN tag that they should not have",
        next: "compare `vlan` of the bed file with the box's configuration",
    },
    Cause {
        holds: |seen| seen.has(&[Fault::WrongMac]),
        words: "their Ethernet destination is not the tester's",
        next: "look at the box's neighbour entry for the tester's address",
    },
    Cause {
        holds: |seen| seen.has(&[Fault::WrongFlowLabel]),
        words: "the flow label is not 0",
        next: "a translator to IPv6 writes 0 (RFC 7915, section 4.1)",
    },
    Cause {
        holds: |seen| seen.has(&[Fault::WrongDontFragment]),
        words: "DF is not as it was",
        next: "a router or NAT keeps it (RFC 791)",
    },
    Cause {
        holds: |seen| seen.has(&[Fault::Trailer]),
        words: "octets follow the packet's end",
        next: "the box or its card leaves them there",
    },
    Cause {
        holds: |seen| seen.has(&[Fault::Late]),
        words: "they came too late",
        next: "look for a deep queue or a shaper in the box",
    },
    Cause {
        holds: |seen| seen.has(&[Fault::Foreign, Fault::Unexpected, Fault::Returned]),
        words: "they are not of this check",
        next: "something else sends, or frames arrive on the wrong port",
    },
    Cause {
        holds: |seen| seen.fault.is_none(),
        words: "the box forwards the others",
        next: "look at its counters of dropped frames, and at its limits of rate and table",
    },
];

/// Whether an ICMP error says that a frame was too long for a link.
pub(crate) fn says_too_long(refusal: &str) -> bool {
    ["fragmentation needed", "too big"].iter().any(|words| refusal.contains(words))
}

impl Seen<'_> {
    /// Cause and next step.
    pub(crate) fn explained(&self) -> String {
        let found = CAUSES.iter().find(|cause| (cause.holds)(self)).expect("each fault has a cause");
        self.filled(&format!("{}: {}", found.words, found.next))
    }

    fn has(&self, faults: &[Fault]) -> bool {
        self.fault.is_some_and(|fault| faults.contains(&fault))
    }

    fn sends_no_checksum(&self) -> bool {
        let is_zero = |of: &Example| of.fault == Fault::BadChecksum && of.got.contains("checksum 0x0000");
        self.has(&[Fault::BadChecksum]) && self.leg.examples.iter().any(is_zero)
    }

    /// Nothing arrived, neither right nor wrong.
    fn is_silent(&self) -> bool {
        self.leg.received == 0 && self.fault.is_none()
    }

    /// The frames passed the box with their own addresses.
    fn is_untranslated(&self) -> bool {
        self.fault == Some(Fault::OutsidePool) && self.is_of_inside()
    }

    /// The source of the wrong frames is in the network of the tester's left port.
    fn is_of_inside(&self) -> bool {
        let Some(bed) = self.around.bed else { return true };
        bed.left.addresses.iter().any(|&(own, length)| match (self.source, own) {
            (Some(IpAddr::V4(source)), IpAddr::V4(own)) => {
                (u32::from(source) ^ u32::from(own)).leading_zeros() >= u32::from(length)
            }
            (Some(IpAddr::V6(source)), IpAddr::V6(own)) => {
                (u128::from(source) ^ u128::from(own)).leading_zeros() >= u32::from(length)
            }
            _ => false,
        })
    }

    fn is_refused(&self, words: &[&str]) -> bool {
        self.refusal.as_ref().is_some_and(|refusal| words.iter().any(|word| refusal.contains(word)))
    }

    /// A port of which the tester has no address of the frames' version, and this version.
    fn without_address(&self) -> Option<(&'static str, u8)> {
        let has =
            |port: &scenario::bed::PortKeys, six| port.addresses.iter().any(|(address, _)| address.is_ipv6() == six);
        let ports = self.around.bed?.ports().into_iter().zip(self.around.versions);
        let mut lacking = ports.filter(|((_, port), version)| !has(port, *version == 6));
        lacking.next().map(|((side, _), version)| (side, version))
    }

    /// A tester's address at the port to which the frames go.
    fn tester(&self) -> Option<String> {
        let [left, right] = self.around.bed?.ports();
        let ((_, port), version) =
            if self.to == "left" { (left, self.around.versions[0]) } else { (right, self.around.versions[1]) };
        let own = port.addresses.iter().find(|(address, _)| address.is_ipv6() == (version == 6));
        own.map(|(address, _)| address.to_string())
    }

    fn filled(&self, words: &str) -> String {
        let (side, version) = self.without_address().unwrap_or_default();
        let Leg { received, planned, .. } = *self.leg;
        // Half of what came through is below a limit that this trial hit at its first frames only.
        let slower = (self.rate * received / planned.max(1) / 2).max(1);
        let values = [
            ("{from}", self.from.to_owned()),
            ("{to}", self.to.to_owned()),
            ("{side}", side.to_owned()),
            ("{version}", version.to_string()),
            ("{file}", self.around.file.to_owned()),
            ("{frame}", self.around.frame.to_string()),
            ("{mtu}", self.around.frame.saturating_sub(18).to_string()),
            ("{tester}", self.tester().unwrap_or_else(|| "address".to_owned())),
            ("{entries}", self.entries.unwrap_or_default().to_string()),
            ("{received}", received.to_string()),
            ("{planned}", planned.to_string()),
            ("{rate}", self.rate.to_string()),
            ("{slower}", slower.to_string()),
        ];
        values.iter().fold(words.to_owned(), |words, (name, value)| words.replace(name, value))
    }
}
