//! Sequences of frames into a NAT64 of one to four workers: see `natmeter_fuzz::bench` for what must hold.

#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use natmeter_fuzz::bench::{self, Setup, Step};
use natmeter_fuzz::build::{CUSTOMER, INTERNET};
use natmeter_fuzz::ip6;
use plane::nat44::config::Filtering;
use plane::nat64::{Config, Nat64};
use plane::translate::ZeroChecksum;
use plane::{Function, Prefix6, Side, Side4, Side6};
use wire::{AddrRange, Mac, PortRange};

#[derive(Arbitrary, Debug)]
struct Input {
    workers: u8,
    per_connection: bool,
    filtering: u8,
    sessions: u8,
    customers: u8,
    few_ports: bool,
    mtu: [u8; 2],
    hairpinning: bool,
    short_prefix: bool,
    inside: bool,
    drop_zero: bool,
    quota: Option<[u8; 2]>,
    held: u8,
    errors: u8,
    steps: Vec<Step>,
}

impl Input {
    fn config(&self) -> Config {
        let mtu4 = [1500, 576, 68, 9000][usize::from(self.mtu[0] & 3)];
        let mtu6 = [1500, 1280, 9000, 1400][usize::from(self.mtu[1] & 3)];
        let customer =
            Side6 { mac: Mac(CUSTOMER.0), next_hop: Mac(CUSTOMER.1), address: ip6("2001:db8:9::1"), mtu: mtu6 };
        let address = [192, 0, 2, 254].into();
        let internet = Side4 { mac: Mac(INTERNET.0), next_hop: Mac(INTERNET.1), address, mtu: mtu4 };
        let pref64 = Prefix6 { addr: ip6("2001:db8:64::"), len: if self.short_prefix { 48 } else { 96 } };
        let mut c = Config::new(customer, internet, pref64, vec![AddrRange { first: [192, 0, 2, 0].into(), count: 4 }]);
        c.customers = 1 + u64::from(self.customers);
        if self.inside {
            c.inside = vec![Prefix6 { addr: ip6("2001:db8:1::"), len: 48 }];
        }
        c.zero_udp_checksum = if self.drop_zero { ZeroChecksum::Drop } else { ZeroChecksum::Compute };
        let nat = &mut c.nat;
        nat.sessions = 1 + u64::from(self.sessions);
        if self.few_ports {
            nat.ports = PortRange { first: 1024, last: 1100 };
        }
        nat.filtering =
            [Filtering::EndpointIndependent, Filtering::AddressDependent, Filtering::AddressAndPortDependent]
                [usize::from(self.filtering % 3)];
        nat.hairpinning = self.hairpinning;
        nat.quota.sessions = self.quota.map(|q| q[0].into());
        if self.per_connection {
            *nat = nat.clone().per_connection();
        } else {
            nat.quota.ports = self.quota.map(|q| q[1].into());
        }
        nat.fragments.held = self.held.into();
        nat.icmp_errors_per_second = u32::from(self.errors) * 10;
        c
    }
}

fuzz_target!(|input: Input| {
    let (config, n) = (input.config(), usize::from(input.workers % 4) + 1);
    // Customers, addresses behind the prefix (203.0.113.0 and 192.0.2.0 among them), the gateway's own.
    let mut known: Vec<u128> =
        ["2001:db8:1::", "2001:db8:1::2", "2001:db8:2::", "2001:db8:9::1"].map(|a| ip6(a).to_bits()).into();
    let pref64 = plane::translate::Pref64::new(config.pref64, false).expect("a length of RFC 6052");
    known.extend([0xcb00_7100, 0xc000_0200, 0xc000_0202].map(|a| pref64.to_ipv6(a).expect("ordinary addresses")));
    let make = move || (0..n).map(|w| Nat64::new(config.clone(), w, n, 7).expect("all these are valid")).collect();
    let limits = |w: &Nat64| {
        let (sessions, mappings) = w.entries().expect("a NAT keeps state");
        assert!(mappings <= sessions && sessions <= 256 + 1024 + 64);
        assert!(w.customers() <= 256 + 1024 + 64);
        assert!(w.half().config().fragments.allow(w.half().waiting()));
    };
    bench::run(&Setup { make: Box::new(make), ipv6: Some(Side::Customer), known, limits }, &input.steps);
});
