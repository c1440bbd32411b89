//! A bed whose sides are called by the IP version that is spoken there: true is IPv6.

use crate::{Bed, Link};
use plane::{Function, Side};
use std::ops::{Deref, DerefMut};

/// One or several workers between an IPv6 and an IPv4 link.
pub struct ByVersion<F> {
    bed: Bed<F>,
    ipv6: Side,
}

impl<F> Deref for ByVersion<F> {
    type Target = Bed<F>;
    fn deref(&self) -> &Bed<F> {
        &self.bed
    }
}

impl<F> DerefMut for ByVersion<F> {
    fn deref_mut(&mut self) -> &mut Bed<F> {
        &mut self.bed
    }
}

impl<F: Function> ByVersion<F> {
    /// A bed whose IPv6 side is this one.
    pub fn of(bed: Bed<F>, ipv6: Side) -> ByVersion<F> {
        ByVersion { bed, ipv6 }
    }

    /// One worker between these links, IPv4's first; every frame that leaves is judged.
    pub fn new(function: F, ipv6: Side, links: [Link; 2], judge: impl Fn(&[u8]) + 'static) -> ByVersion<F> {
        let links = if ipv6 == Side::Internet { links } else { [links[1], links[0]] };
        let bed = Bed::one(function, move |side, frame| {
            links[usize::from(side == Side::Internet)].judge(frame);
            judge(frame);
        });
        ByVersion { bed, ipv6 }
    }

    /// The side of an IP version.
    pub fn side(&self, ipv6: bool) -> Side {
        if ipv6 { self.ipv6 } else { self.ipv6.other() }
    }

    /// Send frames in over IPv6 or IPv4, in batches, and give all that comes out, with whether it is over IPv6.
    pub fn send_all(&mut self, ipv6: bool, frames: &[Vec<u8>]) -> Vec<(bool, Vec<u8>)> {
        let out = self.bed.send_all(self.side(ipv6), frames);
        out.into_iter().map(|(s, f)| (s == self.ipv6, f)).collect()
    }

    /// Send one frame in, and give all that comes out, with whether it is over IPv6.
    pub fn send(&mut self, ipv6: bool, frame: &[u8]) -> Vec<(bool, Vec<u8>)> {
        self.send_all(ipv6, &[frame.to_vec()])
    }

    /// Send one frame in; exactly one must come out, over this version.
    #[track_caller]
    pub fn one(&mut self, ipv6: bool, frame: &[u8], out6: bool) -> Vec<u8> {
        self.bed.pass(self.side(ipv6), self.side(out6), frame)
    }

    /// Send one frame in; exactly one must come out, on the other side.
    #[track_caller]
    pub fn pass(&mut self, ipv6: bool, frame: &[u8]) -> Vec<u8> {
        self.one(ipv6, frame, !ipv6)
    }

    /// Send a frame that must be dropped for this reason, with nothing sent instead.
    #[track_caller]
    pub fn dropped(&mut self, ipv6: bool, frame: &[u8], why: &str) {
        self.bed.dropped(self.side(ipv6), frame, why);
    }

    /// Send a frame that must be dropped for this reason, with one frame sent back.
    #[track_caller]
    pub fn refused(&mut self, ipv6: bool, frame: &[u8], why: &str) -> Vec<u8> {
        self.bed.refused(self.side(ipv6), frame, why)
    }

    /// Over IPv4 in, over IPv6 out.
    #[track_caller]
    pub fn to6(&mut self, frame: &[u8]) -> Vec<u8> {
        self.pass(false, frame)
    }

    /// Over IPv6 in, over IPv4 out.
    #[track_caller]
    pub fn to4(&mut self, frame: &[u8]) -> Vec<u8> {
        self.pass(true, frame)
    }

    /// Send a frame that must be dropped for this reason; what is sent back instead, if anything.
    #[track_caller]
    pub fn ended(&mut self, ipv6: bool, frame: &[u8], why: &str) -> Option<Vec<u8>> {
        let before = self.count(why);
        let mut out = self.send(ipv6, frame);
        assert_eq!(self.count(why), before + 1, "counters {:?}", self.nonzero());
        assert!(out.len() <= 1, "one answer at most");
        out.pop().map(|(six, f)| {
            assert_eq!(six, ipv6, "errors go back");
            f
        })
    }
}
