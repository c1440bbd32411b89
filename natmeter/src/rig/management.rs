//! The route to the boxes that ssh reaches: it must not lead through a port of the bed, which this
//! machine's kernel does not use while natmeter measures.

use super::files::ssh_config;
use super::machine::{Interface, way_to};
use dut::host::ssh::first_host;
use scenario::bed::{Bed, On};
use std::net::{IpAddr, ToSocketAddrs};

/// The box that ssh reaches through this interface, with a remedy.
pub(crate) fn through(found: &Interface, bed: &Bed) -> Option<String> {
    bed.boxes.iter().find_map(|(role, keys)| {
        let On::Ssh(destination) = &keys.on else { return None };
        let host = first_host(destination, ssh_config(bed, keys).as_deref())?;
        let (address, way) = addresses(&host).into_iter().find_map(|address| {
            let way = way_to(address).ok().flatten()?;
            found.carries(&way).then_some((address, way))
        })?;
        Some(format!(
            "ssh reaches the box {role} ({destination}, {address}) through {way}, a port of the bed, over which this machine's kernel \
             neither sends nor receives while natmeter measures: reach the box through another interface, and see `ip route get {address}`"
        ))
    })
}

fn addresses(host: &str) -> Vec<IpAddr> {
    (host, 22).to_socket_addrs().map(|all| all.map(|address| address.ip()).collect()).unwrap_or_default()
}
