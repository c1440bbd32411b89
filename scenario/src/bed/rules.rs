//! Rules of bed files: which keys fit together.

use super::{
    Bed, BoxKeys, GuestCores, GuestKind, LEAST_SILENCE, On, PortIo, PortKeys, ZeroCopy, prefix, shares_network,
};
use key::{At, Fault};
use std::net::IpAddr;

pub(super) fn check(bed: &Bed) -> Vec<Fault> {
    let mut faults = Vec::new();
    for ((side, port), beside) in bed.ports().into_iter().zip(bed.beside()) {
        let path = |key: &str| format!("bed.{side}.{key}");
        // natmeter knows the ends that it makes itself.
        let is_made = bed.makes_links();
        if port.io == PortIo::Tap && !is_made {
            let fault = Fault::new("a TAP exists only between natmeter and a program on this machine");
            let fault = fault.at(path("io"), "needs [dut] on = \"namespace\"");
            faults.push(fault.instead("write io = \"af-packet\" or \"af-xdp\""));
        }
        if beside.has_network() {
            faults.extend(wrong_beside(beside, side, port));
        }
        if port.io == PortIo::Tap && port.queues > 1 {
            let fault = Fault::new("natmeter's TAP has one queue").at(path("queues"), "more").at(path("io"), "a TAP");
            faults.push(fault.instead("remove `queues`, or write io = \"af-packet\""));
        }
        if port.gateway.is_none() && port.mac.is_none() && !is_made {
            let fault = Fault::new(format!("[bed.{side}] has neither `gateway` nor `mac`"))
                .at(At::key(format!("bed.{side}")), "this port");
            faults.push(
                fault.instead("add gateway = \"198.18.0.1\", the address of the box, or mac = \"02:00:00:00:01:01\""),
            );
        }
        if let Some(six) = port.gateway_ipv6.filter(|_| !matches!(port.gateway, Some(IpAddr::V4(_)))) {
            let fault = Fault::new("`gateway-ipv6` needs an IPv4 address in `gateway`");
            let fault = fault.at(path("gateway-ipv6"), "the second address of the box");
            faults.push(fault.instead(format!(
                "write an IPv4 address in `gateway`, such as gateway = \"198.18.0.1\", or write gateway = \"{six}\" and remove \
                 `gateway-ipv6`"
            )));
        }
        let gateways = [("gateway", port.gateway), ("gateway-ipv6", port.gateway_ipv6.map(IpAddr::V6))];
        for (key, gateway) in gateways.into_iter().filter_map(|(key, gateway)| Some((key, gateway?))) {
            if !port.addresses.iter().any(|&own| shares_network(own, gateway)) {
                let fault = Fault::new(format!("the box's address {gateway} is in no network of the {side} port"));
                let fault = fault.at(path(key), "asked for on this link").at(path("addresses"), "own addresses");
                faults.push(fault.instead("give the tester an address in the same network, with its prefix length"));
            }
            if port.addresses.iter().any(|(own, _)| *own == gateway) {
                let fault = Fault::new(format!("tester and box both have the address {gateway} on the {side}"));
                let fault = fault.at(path(key), "the box").at(path("addresses"), "the tester");
                faults.push(fault.instead("give the tester another address"));
            }
        }
    }
    faults.extend(bed.ports().into_iter().filter_map(zero_copy_without_driver));
    if bed.left.interface == bed.right.interface && bed.left.vlan == bed.right.vlan {
        let fault = Fault::new("left and right are the same port").at("bed.right.interface", "again");
        faults.push(fault.at("bed.left.interface", "first").instead("name two interfaces, or two VLANs of one"));
    }
    if !bed.keys.allow_addresses.is_empty() && !bed.keys.isolated {
        let fault =
            Fault::new("prefixes of your own need an isolated bed").at("bed.allow-addresses", "could leave the bed");
        faults.push(fault.instead("add isolated = true to [bed] if nothing but the boxes is behind both ports"));
    }
    if !bed.keys.allow_addresses.is_empty() && bed.keys.silence < LEAST_SILENCE {
        let fault = Fault::new("prefixes of your own need 10 s of silence").at("bed.silence", "too short");
        faults.push(fault.at("bed.allow-addresses", "could leave the bed").instead("remove `silence`"));
    }
    for (at, written) in bed.keys.allow_addresses.iter().enumerate() {
        if prefix(written).is_none() {
            let fault = Fault::new("this is not a prefix").at(format!("bed.allow-addresses[{at}]"), "no prefix");
            faults.push(fault.instead("write one such as \"192.0.2.0/24\" or \"2001:db8::/32\""));
        }
    }
    for (role, keys) in &bed.boxes {
        let table = if *role == "dut" { "dut".to_owned() } else { format!("dut.{role}") };
        if bed.makes_links() && !keys.is_made() {
            let fault = Fault::new("natmeter makes the links between all boxes of a bed, or none of them");
            let fault = fault.at(At::key(table.clone()), "natmeter cannot make the links of this box");
            faults.push(fault.instead("write on = \"guest\" or \"namespace\" for this box, too, or for none"));
        }
        if keys.on == On::Guest(GuestKind::Uml) && keys.guest_cpus > 1 {
            let fault = Fault::new("User-Mode Linux has one processor").at(format!("{table}.guest-cpus"), "more");
            faults.push(fault.at(format!("{table}.on"), "User-Mode Linux").instead("write on = \"guest:qemu\""));
        }
        if keys.guest_cores == GuestCores::Boot {
            let booted = format!("{table}.guest-cores");
            if keys.guest() != Some(GuestKind::Qemu) {
                let fault = Fault::new("guest-cores = \"boot\" needs a QEMU guest");
                faults.push(
                    fault
                        .at(booted.clone(), "needs `guest:qemu`")
                        .instead("write on = \"guest:qemu\", or remove `guest-cores`"),
                );
            }
            if keys.cores.is_some() {
                let fault = Fault::new("the cores of this box are set twice").at(booted, "by a boot parameter");
                faults.push(fault.at(format!("{table}.cores"), "by a hook").instead("remove `guest-cores` or `cores`"));
            }
        }
        if keys.is_made() && keys.interfaces.iter().any(|name| !["left", "right"].contains(&name.as_str())) {
            let fault = Fault::new("the interfaces of a box that natmeter makes are `left` and `right`");
            faults.push(fault.at(format!("{table}.interfaces"), "other names").instead("remove `interfaces`"));
        }
        if keys.is_configured() && keys.interfaces.len() != 2 && !keys.is_made() {
            let fault = Fault::new("natmeter needs the names of the box's interfaces");
            let fault = fault.at(format!("{table}.software"), "configured by natmeter");
            faults.push(fault.instead("add interfaces = [\"enp6s0f0\", \"enp6s0f1\"]: left, right"));
        }
        if keys.is_configured() && (keys.prepare.is_some() || keys.restore.is_some()) {
            let fault = Fault::new("natmeter configures and restores this box itself");
            let fault = fault.at(format!("{table}.software"), "configured by natmeter");
            faults.push(fault.instead("remove `prepare` and `restore`, or write software = \"external\""));
        }
        if keys.start.is_some() && keys.on != On::Namespace {
            let fault = Fault::new("a program is started only in a namespace")
                .at(format!("{table}.start"), "needs on = \"namespace\"");
            faults.push(fault.instead("add on = \"namespace\", or start the program in `prepare`"));
        }
    }
    for pair in bed.boxes.windows(2) {
        let [(left, of_left), (right, of_right)] = pair else { continue };
        if [of_left, of_right].iter().all(|keys| keys.guest() == Some(GuestKind::Qemu)) {
            let fault =
                Fault::new("two guests of QEMU cannot be connected to each other: each needs the interface of a TAP");
            let fault = fault.at(format!("dut.{left}.on"), "QEMU").at(format!("dut.{right}.on"), "QEMU");
            faults.push(fault.instead("write on = \"guest:uml\" or \"namespace\" for one of both"));
        }
    }
    faults
}

/// What a port cannot be if natmeter makes the network of the box beside it.
fn wrong_beside(beside: &BoxKeys, side: &str, port: &PortKeys) -> Vec<Fault> {
    let path = |key: &str| format!("bed.{side}.{key}");
    let mut faults = Vec::new();
    if port.io == PortIo::Tap && beside.guest().is_some() {
        let fault = Fault::new("natmeter makes the link of a guest itself").at(path("io"), "a TAP");
        faults.push(fault.instead("write io = \"af-packet\" or \"af-xdp-generic\""));
    }
    if port.gateway.is_none() {
        let fault = Fault::new(format!("the box that natmeter configures has no address on the {side}"));
        let fault = fault.at(At::key(format!("bed.{side}")), "this port");
        faults.push(fault.instead("add gateway = \"198.18.0.1\": natmeter gives the box this address"));
    }
    if port.mac.is_some() || port.vlan.is_some() {
        let key = if port.mac.is_some() { "mac" } else { "vlan" };
        let fault = Fault::new(format!("natmeter makes the link of this box itself, without `{key}`"));
        faults.push(fault.at(path(key), "cannot be chosen").instead(format!("remove `{key}`")));
    }
    faults
}

/// Zero-copy that is required of a back-end that always copies.
fn zero_copy_without_driver((side, port): (&str, &PortKeys)) -> Option<Fault> {
    let copies = match port.io {
        PortIo::AfPacket => "packet sockets copy every frame",
        PortIo::AfXdpGeneric => "the kernel's generic receive path copies every frame",
        PortIo::Tap => "a TAP copies every frame",
        PortIo::AfXdp | PortIo::AfXdpNative => return None,
    };
    let fault = Fault::new(format!("zero-copy is required on the {side}, and {copies}"));
    let fault = fault.at(format!("bed.{side}.zero-copy"), "required").at(format!("bed.{side}.io"), "copies");
    (port.zero_copy == ZeroCopy::Required)
        .then(|| fault.instead("write io = \"af-xdp\", or zero-copy = \"if-possible\""))
}
