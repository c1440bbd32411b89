//! The inner link of a [`crate::Chain`]: the Ethernet addresses of its halves, and the marks of packets that are handed
//! over between the halves. Apart from the chain, because every [`crate::Function`] may be nested in one.

use crate::hash::Hasher;
use crate::side::Side;
use wire::Mac;

/// Ethernet address of the customer's half on the inner link.
pub const CUSTOMER_HALF: Mac = Mac([0x02, 0x6e, 0x6d, 0, 0, 0x0a]);
/// Ethernet address of the Internet's half on the inner link.
pub const INTERNET_HALF: Mac = Mac([0x02, 0x6e, 0x6d, 0, 0, 0x0b]);

/// One of the two functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Half {
    Customer,
    Internet,
}

impl Half {
    pub(crate) fn facing(side: Side) -> Half {
        if side == Side::Customer { Half::Customer } else { Half::Internet }
    }
    pub(crate) fn other(self) -> Half {
        if self == Half::Customer { Half::Internet } else { Half::Customer }
    }
    /// The side on which a packet leaves the pair from this half.
    pub(crate) fn outer(self) -> Side {
        if self == Half::Customer { Side::Customer } else { Side::Internet }
    }
    /// The side where the other half is.
    pub(crate) fn inner(self) -> Side {
        self.outer().other()
    }
    /// Its address on the inner link.
    pub(crate) fn mac(self) -> [u8; 6] {
        if self == Half::Customer { CUSTOMER_HALF.0 } else { INTERNET_HALF.0 }
    }
}

/// What a [`crate::Function`] in a chain is told about the chain.
#[derive(Clone, Copy, Debug)]
pub struct Nested {
    pub(crate) marks: Option<Marks>,
    /// Chains around it.
    pub(crate) depth: u32,
}

/// Ethernet destinations of packets that are handed over between the halves: a group address, which no link delivers as
/// ours, four octets that cannot be guessed, and the way through nested chains. A step of the way is a bit, the
/// outermost chain's the lowest; a one stands in front of the first step.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Marks([u8; 5]);

impl Marks {
    pub(crate) fn new(seed: u64) -> Marks {
        let [a, b, c, d, ..] = Hasher::new(!seed).one(2).to_be_bytes();
        Marks([3, a, b, c, d])
    }

    /// The rest of the way of a packet, if it carries a mark.
    #[inline(always)]
    pub(crate) fn way(self, b: &[u8]) -> Option<u8> {
        // Nearly always the first octet decides: unicast.
        if b.first() != Some(&3) || b.len() < 6 || b[..5] != self.0 { None } else { Some(b[5]) }
    }

    /// The half that must process a packet next, if it carries a mark.
    #[inline(always)]
    pub(crate) fn half(self, b: &[u8]) -> Option<Half> {
        self.way(b).map(|way| if way & 1 == 1 { Half::Internet } else { Half::Customer })
    }

    /// Mark a packet for this half; the steps that an inner chain has marked remain.
    pub(crate) fn put(self, half: Half, b: &mut [u8]) {
        let way = self.way(b).unwrap_or(1) << 1 | u8::from(half == Half::Internet);
        if let Some(d) = b.get_mut(..6) {
            d[..5].copy_from_slice(&self.0);
            d[5] = way;
        }
    }

    /// Take the step to this half: the rest of the mark is for the half, or, if it is empty, the packet enters the half
    /// without a mark.
    pub(crate) fn step(half: Half, b: &mut [u8]) {
        match b[5] >> 1 {
            0 | 1 => b[..6].copy_from_slice(&half.mac()),
            rest => b[5] = rest,
        }
    }
}
