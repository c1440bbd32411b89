//! A gateway between IPv6 customers and the IPv4 Internet in its bed. Every frame that leaves it is judged.

use crate::common::{Bed, judge_ethernet};
use crate::packets::{CUSTOMER_HOP, CUSTOMER_MAC, INTERNET_HOP, INTERNET_MAC, Seen, judge};
use plane::{Function, Side, Steering};
use std::ops::{Deref, DerefMut};

/// The bed with its two directions.
pub struct Gateway<F>(Bed<F>);

impl<F> Deref for Gateway<F> {
    type Target = Bed<F>;
    fn deref(&self) -> &Bed<F> {
        &self.0
    }
}

impl<F> DerefMut for Gateway<F> {
    fn deref_mut(&mut self) -> &mut Bed<F> {
        &mut self.0
    }
}

impl<F: Function> Gateway<F> {
    pub fn new(workers: Vec<F>, customer: Steering, internet: Steering) -> Gateway<F> {
        Gateway(Bed::new(workers, [customer, internet], |side, f| {
            let (own, hop, kind) = match side {
                Side::Customer => (CUSTOMER_MAC, CUSTOMER_HOP, [0x86, 0xdd]),
                Side::Internet => (INTERNET_MAC, INTERNET_HOP, [8, 0]),
            };
            judge_ethernet(f, own, hop);
            assert_eq!(f[12..14], kind, "EtherType");
            judge(f);
        }))
    }

    /// From a customer to the Internet.
    #[track_caller]
    pub fn out(&mut self, frame: &[u8]) -> Vec<u8> {
        self.pass(Side::Customer, Side::Internet, frame)
    }

    /// From the Internet to a customer.
    #[track_caller]
    pub fn back(&mut self, frame: &[u8]) -> Vec<u8> {
        self.pass(Side::Internet, Side::Customer, frame)
    }

    /// What a frame from a customer looks like on the Internet.
    #[track_caller]
    pub fn seen_out(&mut self, frame: &[u8]) -> Seen {
        judge(&self.out(frame))
    }

    /// What a frame from the Internet looks like to a customer.
    #[track_caller]
    pub fn seen_back(&mut self, frame: &[u8]) -> Seen {
        judge(&self.back(frame))
    }
}
