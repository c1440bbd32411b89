//! Any text as a list of MAP rules, and any end points under it: no panic, and what one direction gives the other takes.

#![no_main]

use libfuzzer_sys::fuzz_target;
use plane::map::Domain;
use plane::strategy::Point4;

fuzz_target!(|input: (&str, Vec<(u32, u16, u128)>)| {
    let (text, points) = input;
    let domain = match Domain::parse(text) {
        Ok(domain) => domain,
        Err(why) => {
            assert!(why.line <= text.lines().count() && !why.to_string().is_empty());
            return;
        }
    };
    let inside = |i: usize| domain.rules().get(i % domain.rules().len().max(1));
    for (i, (addr, port, other)) in points.into_iter().take(64).enumerate() {
        // Half of them at some rule's addresses.
        let addr = match inside(i) {
            Some(rule) if i % 2 == 0 => u32::from(rule.ipv4.addr) & rule.ipv4.mask() | addr & !rule.ipv4.mask(),
            _ => addr,
        };
        let point = Point4 { addr, port: Some(port) };
        if let Ok(end) = domain.tunnel_end(addr, Some(port)) {
            assert_eq!(domain.check_tunnel(end, point), Ok(()));
        }
        if let Ok(address) = domain.translated(addr, Some(port)) {
            assert_eq!(domain.check_translated(address, point), Ok(()));
            assert_eq!((address >> 16) as u32, addr, "the address is in the interface identifier");
        }
        let _ = (domain.tunnel_end(addr, None), domain.is_shared(addr), domain.serves(addr));
        let _ = (domain.check_tunnel(other, point), domain.check_translated(other, Point4 { port: None, ..point }));
    }
});
