//! Checks that the device answers and translates as configured: sends ARP requests to both sides of the DUT, then one
//! datagram from the left and its answer. Without this check, a rule that failed to load would be measured as a fast
//! NAT. Only this file of the crate parses frames.

use crate::DutError;
use crate::bed::{LEFT, RIGHT, Side};
use port::{Burst, Pool, Port, burst};
use std::net::Ipv4Addr;
use std::time::{Duration, Instant};

/// Time limit for a frame. A working DUT answers within microseconds, on a busy machine within a second.
const PATIENCE: Duration = Duration::from_secs(2);

/// Source of a datagram as the right tester port received it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Source address.
    pub address: Ipv4Addr,
    /// Source port.
    pub port: u16,
}

/// Source port of the probe: within the default range of every pool, so that a port-preserving NAT does not change it.
const PORT: u16 = 40_961;
/// Destination port: the discard service.
const DISCARD: u16 = 9;
const PAYLOAD: &[u8; 18] = b"natmeter: alive?\r\n";

/// Sends ARP requests to both sides of the DUT, sends one datagram from left to right, and answers it.
///
/// # Errors
/// When a frame is missing or wrong.
pub fn probe(left: &mut dyn Port, right: &mut dyn Port, pool: &mut Pool) -> Result<Seen, DutError> {
    ask(left, pool, &LEFT)?;
    ask(right, pool, &RIGHT)?;
    let tester = Ipv4Addr::from(LEFT.tester);
    let there = datagram(&LEFT, (tester, PORT), (RIGHT.tester.into(), DISCARD));
    send(left, pool, &there)?;
    let seen = wait(right, pool, parse)?.ok_or_else(|| {
        DutError::Dead(format!("a datagram from {tester} to {} does not arrive", Ipv4Addr::from(RIGHT.tester)))
    })?;
    let back = datagram(&RIGHT, (RIGHT.tester.into(), DISCARD), seen.source);
    send(right, pool, &back)?;
    let answer = wait(left, pool, parse)?.ok_or_else(|| {
        DutError::Dead(format!("an answer to {}:{} does not come back", seen.source.0, seen.source.1))
    })?;
    if answer.destination != (tester, PORT) || answer.source != (RIGHT.tester.into(), DISCARD) {
        return Err(DutError::Dead(format!("the answer comes back changed: {answer:?}")));
    }
    Ok(Seen { address: seen.source.0, port: seen.source.1 })
}

/// Sends an ARP request for the DUT's address and waits for the reply.
fn ask(port: &mut dyn Port, pool: &mut Pool, side: &Side) -> Result<(), DutError> {
    let mut f = header([0xff; 6], side.tester_mac(), [8, 6]);
    f.extend([0, 1, 8, 0, 6, 4, 0, 1]);
    f.extend(side.tester_mac());
    f.extend(side.tester);
    f.extend([0; 6]);
    f.extend(side.dut);
    send(port, pool, &f)?;
    let answer = |f: &[u8]| {
        let is_reply = f.len() >= 42 && f[12..14] == [8, 6] && f[20..22] == [0, 2];
        (is_reply && f[28..32] == side.dut && f[22..28] == side.dut_mac()).then_some(())
    };
    wait(port, pool, answer)?
        .ok_or_else(|| DutError::Dead(format!("no ARP reply for {} on the {}", Ipv4Addr::from(side.dut), side.name)))
}

/// Addresses and ports of a probe datagram.
#[derive(Debug)]
struct Datagram {
    source: (Ipv4Addr, u16),
    destination: (Ipv4Addr, u16),
}

/// Parses a probe datagram; none for other frames or a wrong checksum.
fn parse(f: &[u8]) -> Option<Datagram> {
    let udp = f.get(34..34 + 8 + PAYLOAD.len())?;
    if f[12..15] != [8, 0, 0x45] || f[23] != 17 || udp[8..] != *PAYLOAD {
        return None;
    }
    if sum(&f[14..34], 0) != 0xffff || sum(udp, pseudo(&f[26..34], udp.len())) != 0xffff {
        return None;
    }
    let address = |at: usize| Ipv4Addr::new(f[at], f[at + 1], f[at + 2], f[at + 3]);
    let port = |at: usize| u16::from_be_bytes([f[at], f[at + 1]]);
    Some(Datagram { source: (address(26), port(34)), destination: (address(30), port(36)) })
}

/// Builds a probe datagram from the tester port of one side.
fn datagram(side: &Side, source: (Ipv4Addr, u16), destination: (Ipv4Addr, u16)) -> Vec<u8> {
    let mut f = header(side.dut_mac(), side.tester_mac(), [8, 0]);
    let udp_len = 8 + PAYLOAD.len() as u16;
    f.extend([0x45, 0]);
    f.extend((20 + udp_len).to_be_bytes());
    f.extend([0, 0, 0x40, 0, 64, 17, 0, 0]);
    f.extend(source.0.octets());
    f.extend(destination.0.octets());
    f.extend(source.1.to_be_bytes());
    f.extend(destination.1.to_be_bytes());
    f.extend(udp_len.to_be_bytes());
    f.extend([0, 0]);
    f.extend(PAYLOAD);
    let ip = !sum(&f[14..34], 0);
    f[24..26].copy_from_slice(&ip.to_be_bytes());
    let udp = !sum(&f[34..], pseudo(&f[26..34], udp_len as usize));
    f[40..42].copy_from_slice(&udp.to_be_bytes());
    f
}

fn header(to: [u8; 6], from: [u8; 6], kind: [u8; 2]) -> Vec<u8> {
    let mut f = Vec::with_capacity(64);
    f.extend(to);
    f.extend(from);
    f.extend(kind);
    f
}

/// Returns the pseudo header of RFC 768: both addresses, protocol and length.
fn pseudo(addresses: &[u8], len: usize) -> u32 {
    u32::from(sum(addresses, 17 + len as u32))
}

/// Ones' complement sum of 16-bit words (RFC 1071).
fn sum(bytes: &[u8], start: u32) -> u16 {
    let words = bytes.chunks(2).map(|w| u32::from(w[0]) << 8 | u32::from(*w.get(1).unwrap_or(&0)));
    let mut sum = words.fold(start, |sum, w| sum + w);
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
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

/// Receives until a frame is the expected one.
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
        let from = (Ipv4Addr::new(198, 18, 0, 2), PORT);
        let to = (Ipv4Addr::new(198, 19, 0, 2), DISCARD);
        let frame = datagram(&LEFT, from, to);
        let read = parse(&frame).unwrap();
        assert_eq!((read.source, read.destination), (from, to));
        // The identification, an address, a port and the payload; the parser ignores the Ethernet addresses.
        for at in [18, 29, 35, 43] {
            let mut damaged = frame.clone();
            damaged[at] ^= 1;
            assert!(parse(&damaged).is_none(), "byte {at}");
        }
        assert!(parse(&frame[..59]).is_none());
    }
}
