//! IPv4 fragments of an end that shares its address (RFC 7599, section 9; RFC 7597, section 8.3.2;
//! RFC 6269, section 11): only the first shows the end.

use super::{Translate, roles};
use crate::event::Event;
use crate::fragment::{Buffer, Key, Ports, Whose};
use crate::function::{Packet, Spare, Verdict, decide_copy};
use crate::ip4::Head4;
use crate::strategy::{Addressing, Point4};
use wire::header::{PROTO_UDP, TCP};

impl<A: Addressing> Translate<A> {
    /// The datagram to track if the port is needed.
    pub(super) fn to_be_tracked(&self, h: &Head4) -> Option<Key> {
        // Others show no port, and fragments of ICMP are not translated.
        if !h.is_fragment() || !matches!(h.protocol, PROTO_UDP | TCP) {
            return None;
        }
        let (src_end, dst_end) = roles(self.config.ipv6.other());
        let shared = self.addressing.is_shared(dst_end, h.dst) || self.addressing.is_shared(src_end, h.src);
        shared.then(|| h.key(0))
    }

    /// A hash selects the worker that knows them.
    pub(super) fn whose(&mut self, key: Key, frame: &[u8], h: &Head4, shown: Ports) -> Result<Whose, Event> {
        if self.workers > 1 {
            let w = key.worker(self.workers);
            if w != self.own {
                self.count.add(Event::HandedOver);
                return Ok(Whose::Not(Verdict::HandOver(w)));
            }
        }
        self.tracker.whose(self.now, key, h.piece(), shown, frame, &mut self.count)
    }

    pub(super) fn let_go<P: Packet>(&mut self, key: &Key, spare: &mut dyn Spare<P>) {
        let from = self.config.ipv6.other();
        for kept in self.tracker.take_kept(key) {
            // The key selects this worker, and the number of workers is fixed while fragments wait.
            let sent = decide_copy(from, &mut Buffer::copy(&kept.bytes), spare, |p, behind| {
                self.over_ipv4(p, behind).unwrap_or_else(|why| {
                    self.refuse4(p, why, behind);
                    self.count.add(why);
                    Verdict::Drop
                })
            });
            if !sent {
                self.count.add(Event::NoMemory);
            }
        }
    }

    #[inline]
    pub(super) fn expire(&mut self) {
        if !self.tracker.is_empty() {
            let late = self.tracker.expire(self.now);
            self.count.add_many(Event::FragmentLate, late);
        }
        if self.unsummed.is_some() {
            self.expire_unsummed();
        }
    }
}

pub(super) fn with_ports(points: [Point4; 2], ports: Ports) -> [Point4; 2] {
    [0, 1].map(|i| Point4 { port: ports[i], ..points[i] })
}
