//! A NAT in user space behind two TUN devices, as a device under test: stateful NAT64 or NAT44 of the library pktkit. It keeps
//! connections until it ends. The caller sets the routes to its devices.
//!
//! Usage: `tun-nat INSIDE OUTSIDE PREFIX ADDRESS`. INSIDE and OUTSIDE are the devices that it makes. PREFIX is the IPv6 prefix of
//! NAT64, or the IPv4 prefix of the customers; ADDRESS is the outside address, with ports from 10000 on.

use pktkit::nat::{Nat, Nat64};
use pktkit::tuntap::{Tun, TuntapConfig};
use pktkit::{IpPrefix, L3Device, connect_l3};
use std::error::Error;
use std::sync::Arc;

/// A NAT of either kind, which works until it is dropped.
enum Running {
    Nat44(Arc<Nat>),
    Nat64(Arc<Nat64>),
}

impl Running {
    fn new(prefix: &str, address: IpPrefix) -> Result<Running, Box<dyn Error>> {
        let inside: IpPrefix = prefix.parse()?;
        Ok(if prefix.contains(':') {
            Running::Nat64(Nat64::new(inside, address))
        } else {
            Running::Nat44(Nat::new(inside, address))
        })
    }

    fn ends(&self) -> [Arc<dyn L3Device>; 2] {
        match self {
            Running::Nat44(nat) => [nat.inside(), nat.outside()],
            Running::Nat64(nat) => [nat.inside(), nat.outside()],
        }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    let [inside, outside, prefix, address] = arguments.as_slice() else {
        return Err("usage: tun-nat INSIDE OUTSIDE PREFIX ADDRESS".into());
    };
    let nat = Running::new(prefix, format!("{address}/32").parse()?)?;
    for (end, device) in nat.ends().into_iter().zip([inside, outside]) {
        connect_l3(end, Tun::open(TuntapConfig::new(device.clone()))?);
    }
    loop {
        std::thread::park();
    }
}
