//! Checks that software translates as configured, with one datagram and its answer. Else a rule that failed to load would
//! be measured as a fast NAT.

use crate::DutError;
use port::{Burst, Pool, Port, burst};
use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};
use wire::checksum::Sum;
use wire::header::{ETH, PROTO_UDP, UDP};

/// Long enough for a busy machine.
const PATIENCE: Duration = Duration::from_secs(2);

#[derive(Clone, Copy, Debug)]
pub struct Endpoint {
    pub address: IpAddr,
    pub own: [u8; 6],
    pub next: [u8; 6],
}

/// Port within the default range of every pool, so that a port-preserving NAT keeps it.
const PORT: u16 = 40_961;
const DISCARD: u16 = 9;
const PAYLOAD: &[u8; 18] = b"natmeter: alive?\r\n";

/// Sends one datagram from left to right, and answers it. Returns its source as received on the right.
pub fn probe(
    [left, right]: [&mut dyn Port; 2],
    pool: &mut Pool,
    [inside, remote]: [Endpoint; 2],
) -> Result<SocketAddr, DutError> {
    let (source, discard) = (SocketAddr::new(inside.address, PORT), SocketAddr::new(remote.address, DISCARD));
    let dead = |what: String| DutError::Dead(what);
    send(left, pool, &datagram(&inside, source, discard))?;
    let received = wait(right, pool, parse)?;
    let received = received
        .ok_or_else(|| dead(format!("a datagram from {} to {} does not arrive", inside.address, remote.address)))?;
    send(right, pool, &datagram(&remote, discard, received.source))?;
    let answer = wait(left, pool, parse)?;
    let answer = answer.ok_or_else(|| dead(format!("an answer to {} does not come back", received.source)))?;
    if answer.destination != source || answer.source != discard {
        return Err(dead(format!("the answer comes back changed: {answer:?}")));
    }
    Ok(received.source)
}

#[derive(Debug)]
struct Datagram {
    source: SocketAddr,
    destination: SocketAddr,
}

/// A datagram with correct checksum.
fn parse(f: &[u8]) -> Option<Datagram> {
    let (start, protocol, addresses) = match (f.get(12..14)?, *f.get(ETH)?) {
        ([0x08, 0x00], 0x45) => (ETH + 20, *f.get(23)?, 26..34),
        ([0x86, 0xdd], 0x60..=0x6f) => (ETH + 40, *f.get(20)?, 22..54),
        _ => return None,
    };
    let udp = f.get(start..start + 8 + PAYLOAD.len())?;
    let addresses = &f[addresses];
    if protocol != PROTO_UDP || udp[8..] != *PAYLOAD || !pseudo(addresses, udp.len()).bytes(udp).is_valid() {
        return None;
    }
    let [source, destination] = match addresses.split_at(addresses.len() / 2) {
        (from, to) if addresses.len() == 8 => {
            if !Sum::default().bytes(&f[ETH..start]).is_valid() {
                return None;
            }
            [from, to].map(|octets| IpAddr::from(<[u8; 4]>::try_from(octets).expect("half of 8 octets")))
        }
        (from, to) => [from, to].map(|octets| IpAddr::from(<[u8; 16]>::try_from(octets).expect("half of 32 octets"))),
    };
    let port = |at: usize| u16::from_be_bytes([udp[at], udp[at + 1]]);
    Some(Datagram { source: (source, port(0)).into(), destination: (destination, port(2)).into() })
}

fn datagram(from: &Endpoint, source: SocketAddr, destination: SocketAddr) -> Vec<u8> {
    let len = (UDP + PAYLOAD.len()) as u16;
    let header = match source.ip() {
        IpAddr::V4(_) => {
            [&[8, 0, 0x45, 0][..], &(20 + len).to_be_bytes(), &[0, 0, 0x40, 0, 64, PROTO_UDP, 0, 0]].concat()
        }
        IpAddr::V6(_) => [&[0x86, 0xdd, 0x60, 0, 0, 0][..], &len.to_be_bytes(), &[PROTO_UDP, 64]].concat(),
    };
    let mut f = [&from.next[..], &from.own, &header].concat();
    let addresses = f.len();
    for end in [source, destination] {
        match end.ip() {
            IpAddr::V4(address) => f.extend(address.octets()),
            IpAddr::V6(address) => f.extend(address.octets()),
        }
    }
    let udp = f.len();
    f.extend([source.port(), destination.port(), len, 0].map(u16::to_be_bytes).concat());
    f.extend(PAYLOAD);
    if source.is_ipv4() {
        let ip = Sum::default().bytes(&f[ETH..udp]).checksum();
        f[24..26].copy_from_slice(&ip);
    }
    let checksum = pseudo(&f[addresses..udp], len as usize).bytes(&f[udp..]).checksum();
    f[udp + 6..udp + 8].copy_from_slice(&checksum);
    f
}

/// Addresses, protocol and length (RFC 768).
fn pseudo(addresses: &[u8], len: usize) -> Sum {
    Sum::default().bytes(addresses).be16(PROTO_UDP.into()).be16(len as u16)
}

fn send(port: &mut dyn Port, pool: &mut Pool, bytes: &[u8]) -> Result<(), DutError> {
    let dead = |what: &str| DutError::Dead(format!("{}: {what}", port_name(port)));
    let len = bytes.len().max(60);
    let Some(mut frame) = pool.alloc(len).filter(|f| f.len() == len) else {
        return Err(dead("the pool has no free frame for a probe"));
    };
    frame.bytes_mut().fill(0);
    frame.bytes_mut()[..bytes.len()].copy_from_slice(bytes);
    let mut frames: Burst = burst();
    frames.push(frame);
    let deadline = Instant::now() + PATIENCE;
    while !frames.is_empty() && Instant::now() < deadline {
        port.transmit(pool, &mut frames)?;
    }
    let taken = frames.is_empty();
    pool.free_all(&mut frames);
    if taken { Ok(()) } else { Err(DutError::Dead(format!("{} accepts no frame", port_name(port)))) }
}

fn wait<T>(port: &mut dyn Port, pool: &mut Pool, wanted: impl Fn(&[u8]) -> Option<T>) -> Result<Option<T>, DutError> {
    let deadline = Instant::now() + PATIENCE;
    let mut frames = burst();
    loop {
        port.receive(pool, &mut frames)?;
        let found = frames.iter().find_map(|f| wanted(f.bytes()));
        pool.free_all(&mut frames);
        if found.is_some() || Instant::now() >= deadline {
            return Ok(found);
        }
        std::thread::yield_now();
    }
}

fn port_name(port: &dyn Port) -> String {
    let facts = port.facts();
    format!("{} {}", facts.backend, facts.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_datagram_is_read_as_it_was_written_and_not_when_damaged() {
        // An address, a port, the payload, and the IPv4 identification.
        let cases =
            [("198.18.0.2", "198.19.0.2", [18, 29, 35, 43]), ("2001:2::2", "2001:2:0:8000::2", [30, 40, 55, 63])];
        for (from, to, damages) in cases {
            let [address, remote]: [IpAddr; 2] = [from, to].map(|address| address.parse().unwrap());
            let (from, to) = (SocketAddr::new(address, PORT), SocketAddr::new(remote, DISCARD));
            let frame = datagram(&Endpoint { address, own: [2; 6], next: [4; 6] }, from, to);
            let read = parse(&frame).unwrap();
            assert_eq!((read.source, read.destination), (from, to));
            for at in damages {
                let mut damaged = frame.clone();
                damaged[at] ^= 1;
                assert!(parse(&damaged).is_none(), "byte {at}");
            }
            assert!((0..frame.len()).all(|len| parse(&frame[..len]).is_none()));
        }
    }
}
