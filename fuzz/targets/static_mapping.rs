//! Text of static mappings with all three kinds of inside addresses: no text causes a panic, and a mapping that is
//! written and read again is the same.

#![no_main]

use libfuzzer_sys::fuzz_target;
use plane::aftr::Host;
use plane::nat44::config::StaticMapping;
use plane::nat44::static_mapping::InsideAddress;
use std::fmt::Debug;
use std::net::{Ipv4Addr, Ipv6Addr};

fn check<A: InsideAddress + Debug>(text: &str) {
    if let Ok(m) = text.parse::<StaticMapping<A>>() {
        let again: StaticMapping<A> = m.to_string().parse().expect("what was written");
        assert_eq!(again, m);
    }
}

fuzz_target!(|text: &str| {
    check::<Ipv4Addr>(text);
    check::<Ipv6Addr>(text);
    check::<Host>(text);
});
