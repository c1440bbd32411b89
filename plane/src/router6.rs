//! A plain IPv6 router (RFC 8200): the forwarding baseline of IPv6 functions (RFC 5180).

use crate::count::events;
use crate::function::{Drops, Function, Input, Packet, Side, Spare, Verdict, fresh};
use crate::icmp_error::{Error, HEADERS6, Limiter, QUOTE6};
use crate::icmp_type::v6;
use crate::ip6::{Head6, be128, is_link_local, is_martian};
use crate::side::{OwnMac, Side6, leaving};
use crate::steer::Steering;
use wire::header::{self, ICMPV6, TYPE_IPV6, be16, put16};

events! {
    /// Forwarded.
    Forwarded = "forwarded",
    /// Left to the machine itself.
    Local = "local",
    /// ICMPv6 errors sent.
    IcmpSent = "icmp-sent",
    /// ICMPv6 errors not sent: over the rate limit, or switched off.
    IcmpSuppressed = "icmp-suppressed",
    /// Drop: shorter than its headers.
    Short = "short-frame",
    /// Drop: sent to another Ethernet address.
    OtherMac = "other-mac",
    /// Drop: IP version.
    BadHeader = "bad-ip-header",
    /// Drop: longer than its frame.
    BadLength = "bad-length",
    /// Drop: a source that no host may have.
    MartianSource = "martian-source",
    /// Drop: a destination that no host may have.
    MartianDestination = "martian-destination",
    /// Drop: to a multicast address.
    Multicast = "multicast",
    /// Drop: hop limit ran out.
    HopLimit = "hop-limit-expired",
    /// Drop: larger than the next link.
    TooBig = "too-big",
    /// No memory for an ICMPv6 error.
    NoMemory = "no-memory",
}

/// The hop limit is exceeded (RFC 4443, section 3.3).
const TIME_EXCEEDED: Error = Error::new(3, 0);
const L3: usize = header::ETH;
const L4: usize = L3 + header::IPV6;
const HOP_LIMIT: usize = L3 + 7;
const SRC: usize = L3 + 8;
const DST: usize = L3 + 24;

/// What a router is made from.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// The customers' side.
    pub customer: Side6,
    /// The Internet's side.
    pub internet: Side6,
    /// Most ICMP errors per second; 0 for none.
    pub icmp_errors_per_second: u32,
}

impl Config {
    /// A router with 1,000 ICMPv6 errors in a second.
    pub fn new(customer: Side6, internet: Side6) -> Config {
        Config { customer, internet, icmp_errors_per_second: 1_000 }
    }
}

struct Link {
    side: Side6,
    own: OwnMac,
    leaving: [u8; 12],
}

impl Link {
    fn new(side: Side6) -> Link {
        Link { side, own: OwnMac::new(side.mac), leaving: leaving(side.mac, side.next_hop) }
    }
}

/// One worker of the router.
pub struct Router6 {
    links: [Link; 2],
    addresses: [u128; 2],
    icmp_errors_per_second: u32,
    limiter: Limiter,
    count: Counters,
    now: u64,
}

impl Router6 {
    /// A router with one next hop a side.
    pub fn new(config: Config) -> Router6 {
        let sides = [config.customer, config.internet];
        Router6 {
            links: sides.map(Link::new),
            addresses: sides.map(|side| side.address.to_bits()),
            icmp_errors_per_second: config.icmp_errors_per_second,
            limiter: Limiter::default(),
            count: Counters::default(),
            now: 0,
        }
    }

    /// Steers by addresses and ports; any worker may process any packet.
    pub const STEER: Steering = Steering::Hash(&[(SRC, L4 + 4 - SRC)]);

    fn link(&self, side: Side) -> &Link {
        &self.links[usize::from(side == Side::Internet)]
    }

    #[inline]
    fn forward(&self, from: Side, b: &mut [u8]) -> Result<(), Event> {
        let Some(h) = b.first_chunk::<L4>() else {
            let other = b.len() < L3 || be16(b, 12) != TYPE_IPV6;
            return Err(if other { Event::Local } else { Event::Short });
        };
        if be16(h, 12) != TYPE_IPV6 {
            return Err(Event::Local);
        }
        let is_group = h[0] & 1 == 1;
        if !is_group && !self.link(from).own.receives(h) {
            return Err(Event::OtherMac);
        }
        if h[L3] >> 4 != 6 {
            return Err(Event::BadHeader);
        }
        let (src, dst, len) = (be128(h, SRC), be128(h, DST), header::IPV6 + usize::from(be16(h, L3 + 4)));
        if L3 + len > b.len() {
            return Err(Event::BadLength);
        }
        self.route(src, dst, is_group, b)?;
        let to = self.link(from.other());
        if b[HOP_LIMIT] <= 1 {
            return Err(Event::HopLimit);
        }
        if len > to.side.mtu.into() {
            return Err(Event::TooBig);
        }
        b[HOP_LIMIT] -= 1;
        b[..12].copy_from_slice(&to.leaving);
        Ok(())
    }

    /// Refuses addresses by RFC 4291, sections 2.5.2, 2.5.3, 2.5.6 and 2.7.
    #[inline]
    fn route(&self, src: u128, dst: u128, is_group: bool, b: &[u8]) -> Result<(), Event> {
        let is_own = self.addresses.contains(&dst) || is_link_local(dst) || is_link_local(src);
        // Valid neighbour discovery has passed no router (RFC 4861, section 3.1).
        let may_discover = b[HOP_LIMIT] == 255;
        if is_own || may_discover && Head6::of_frame(b).is_ok_and(|head| head.is_discovery(b)) {
            return Err(Event::Local);
        }
        if is_group || dst >> 120 == 0xff {
            return Err(Event::Multicast);
        }
        if is_martian(src) || self.addresses.contains(&src) {
            return Err(Event::MartianSource);
        }
        if is_martian(dst) { Err(Event::MartianDestination) } else { Ok(()) }
    }

    /// Answers with an error; none about ICMPv6 errors and redirects, or later fragments of ICMPv6
    /// (RFC 4443, section 2.4 e).
    fn refuse<P: Packet>(&mut self, from: Side, frame: &[u8], why: Event, spare: &mut dyn Spare<P>) {
        let error = match why {
            Event::HopLimit => TIME_EXCEEDED,
            Event::TooBig => Error { kind: 2, code: 0, rest: self.link(from.other()).side.mtu.into() },
            _ => return,
        };
        let Ok(h) = Head6::of_frame(frame) else { return };
        let later = h.part.is_some_and(|part| part.offset > 0);
        let query = |kind: &u8| matches!(*kind, v6::ECHO | v6::ECHO_REPLY);
        if h.protocol == ICMPV6 && (later || !frame.get(h.l4).is_some_and(query)) {
            return;
        }
        if !self.limiter.allow(self.now, self.icmp_errors_per_second) {
            return self.count.add(Event::IcmpSuppressed);
        }
        let quote = &frame[L3..h.end.min(L3 + QUOTE6)];
        let len = L3 + HEADERS6 + quote.len();
        let Some(mut p) = fresh(spare, len) else { return self.count.add(Event::NoMemory) };
        let (link, b) = (self.link(from), p.bytes_mut());
        b[..12].copy_from_slice(&link.leaving);
        put16(b, 12, TYPE_IPV6);
        error.write6(&mut b[L3..len], link.side.address.to_bits(), h.src, quote);
        self.count.add(Event::IcmpSent);
        spare.emit(from, p);
    }
}

impl Function for Router6 {
    fn process<P: Packet>(&mut self, input: Input<P>, spare: &mut dyn Spare<P>) {
        let Input { now, from, packets: batch, verdicts } = input;
        self.now = self.now.max(now);
        for p in batch.iter() {
            if let Some(first) = p.bytes().first() {
                arena::prefetch_to_write(first);
            }
        }
        let mut forwarded = 0;
        for (p, verdict) in batch.iter_mut().zip(verdicts) {
            *verdict = match self.forward(from, p.bytes_mut()) {
                Ok(()) => {
                    forwarded += 1;
                    Verdict::Forward(from.other())
                }
                Err(why) => {
                    self.count.add(why);
                    self.refuse(from, p.bytes(), why, spare);
                    if why == Event::Local { Verdict::Local } else { Verdict::Drop }
                }
            };
        }
        self.count.add_many(Event::Forwarded, forwarded);
    }

    fn idle(&mut self, now: u64) {
        self.now = self.now.max(now);
    }

    fn counters(&self) -> Drops {
        self.count.all()
    }

    fn can_adopt(&self, _: &Router6) -> Result<(), String> {
        Ok(())
    }

    fn adopt(&mut self, new: &mut Router6) -> Result<(), String> {
        std::mem::swap(&mut self.links, &mut new.links);
        (self.addresses, self.icmp_errors_per_second) = (new.addresses, new.icmp_errors_per_second);
        Ok(())
    }
}
