//! `natmeter guest run`: boots a guest whose interfaces are those of this namespace, and waits for
//! its end. It takes commands by ssh.

use crate::cli::{GuestRun, Hardware, Output};
use crate::rig::machine;
use crate::term::{self, err, out};
use dut::DutError;
use dut::guest::{Cache, Guest, GuestConfig, Hypervisor, Nic, sshd};
use dut::links::ENDS;
use port::interface::{Interface, Interfaces};
use port::{Mute, Netns, handover};
use serde_json::json;
use std::fs;
use std::path::Path;

/// Returns when the guest has ended.
pub(super) fn run(args: &GuestRun, cache: &Cache, output: Output) -> Result<(), DutError> {
    let image = cache.latest(args.kind)?;
    let keys = args.control.as_ref().map(|control| public_keys(&control.ssh_key)).transpose()?;
    let mut cables = vec![(ENDS[0], &args.left), (ENDS[1], &args.right)];
    cables.extend(args.control.as_ref().map(|control| (sshd::CONTROL, &control.interface)));
    let config = config(args.kind, args.hardware)?;
    refuse(args.kind, &cables)?;
    let (mut nics, mut mutes) = (Vec::new(), Vec::new());
    for (name, interface) in cables {
        nics.push(nic(args, name, interface, &mut mutes)?);
    }
    let mut guest = Guest::boot(&config, &image, nics)?;
    let mut host_key = String::new();
    if let (Some(control), Some(keys)) = (&args.control, keys) {
        host_key = sshd::start(&mut guest, control.address, &keys)?;
    }
    say(args, &host_key, output);
    Err(guest.wait())
}

fn say(args: &GuestRun, host_key: &str, output: Output) {
    let address = args.control.as_ref().map(|control| control.address.0.to_string());
    if output.json {
        return term::json(
            &json!({ "event": "guest-ready", "kind": args.kind.name(), "address": address, "host-key": host_key }),
        );
    }
    if let Some(address) = address {
        // For a file of known hosts.
        out(&format!("{address} {host_key}\n"));
    }
    if !output.quiet {
        err("The guest is ready. Ctrl-C ends it.\n");
    }
}

/// An interface that gets what arrives at an interface of this namespace, or what this machine
/// sends through a TAP.
fn nic(args: &GuestRun, name: &'static str, interface: &str, mutes: &mut Vec<Mute>) -> Result<Nic, DutError> {
    let here = Netns::current()?;
    let mut mac = Interfaces::here()?.get(interface)?.mac;
    let descriptors = match args.kind {
        Hypervisor::Uml => {
            mutes.push(Mute::attach(&here, interface, true)?);
            vec![handover::packet_socket(&here, interface)?]
        }
        Hypervisor::Qemu => {
            // The TAP's address is this machine's. The guest has another one that is administered locally.
            mac[0] = (mac[0] & 0xfe) ^ 0x04 | 0x02;
            handover::tap(&here, interface, args.hardware.cpus)?
        }
    };
    Ok(Nic { name, mac, descriptors })
}

pub(super) fn config(kind: Hypervisor, Hardware { cpus, memory }: Hardware) -> Result<GuestConfig, DutError> {
    if kind == Hypervisor::Uml && cpus > 1 {
        return Err(refused("User-Mode Linux has one processor".to_owned(), "write `qemu` for the kind of the guest"));
    }
    Ok(GuestConfig { kind, memory_mib: memory, cpus, ..GuestConfig::default() })
}

/// What cannot be an interface of a guest of this kind, and what this machine needs itself: a guest takes its frames.
fn refuse(kind: Hypervisor, cables: &[(&str, &String)]) -> Result<(), DutError> {
    let mut here = Interfaces::here()?;
    let all = machine::interfaces().map_err(|what| refused(what, "run it as root"))?;
    for (at, (name, interface)) in cables.iter().enumerate() {
        if let Some((other, _)) = cables[..at].iter().find(|(_, other)| other == interface) {
            let what = format!("{interface} cannot be both `{other}` and `{name}` of the guest");
            return Err(refused(what, "name another interface"));
        }
        unusable(kind, &here.get(interface)?).map_or(Ok(()), Err)?;
        let found = all.iter().find(|found| found.name == **interface);
        if let Some((_, sentence)) = found.and_then(|found| found.dangers().into_iter().next()) {
            return Err(refused(sentence, "give the guest another interface, such as an end of a veth pair"));
        }
    }
    Ok(())
}

fn unusable(kind: Hypervisor, found: &Interface) -> Option<DutError> {
    let name = &found.name;
    if kind == Hypervisor::Qemu && found.kind != "tun" {
        let what = format!("a guest of QEMU is connected by TAPs, and {name} is no TAP");
        return Some(refused(what, "make one with `ip tuntap add NAME mode tap`"));
    }
    (!found.up).then(|| refused(format!("{name} is down"), "switch it on with `ip link set NAME up`"))
}

fn public_keys(path: &Path) -> Result<String, DutError> {
    let shown = path.display();
    let text =
        fs::read_to_string(path).map_err(|e| refused(format!("{shown}: {e}"), "name the file of a public key"))?;
    let is_key = |line: &str| ["ssh-", "ecdsa-", "sk-"].iter().any(|kind| line.starts_with(kind));
    if text.lines().any(is_key) && !text.contains("PRIVATE KEY") {
        return Ok(text);
    }
    Err(refused(format!("{shown} has no public key"), "name the file with the suffix .pub that ssh-keygen wrote"))
}

fn refused(what: String, way_out: &str) -> DutError {
    DutError::Refused { what, way_out: way_out.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_an_interface_of_a_guest_is_named() {
        let found = |kind: &str, up| Interface { name: "x".into(), kind: kind.into(), up, ..Interface::default() };
        let said = |kind, found| unusable(kind, &found).map(|error| error.to_string()).unwrap_or_default();
        assert_eq!(said(Hypervisor::Uml, found("veth", true)), "");
        assert_eq!(said(Hypervisor::Qemu, found("tun", true)), "");
        assert!(said(Hypervisor::Qemu, found("veth", true)).contains("x is no TAP"));
        assert!(said(Hypervisor::Uml, found("veth", false)).starts_with("x is down: switch it on"));
    }

    #[test]
    fn only_public_keys_are_accepted() {
        let folder = tempfile::tempdir().unwrap();
        let keys = |text: &str| {
            let path = folder.path().join("key");
            fs::write(&path, text).unwrap();
            public_keys(&path).map_err(|error| error.to_string())
        };
        let key = "# mine\nssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAICWif2g4jxWwuyh3mVookt1L04Ck75JxN7Xj me\n";
        assert_eq!(keys(key).unwrap(), key);
        for wrong in ["", "-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n"] {
            assert!(keys(wrong).unwrap_err().contains("key has no public key: name the file with the suffix .pub"));
        }
    }
}
