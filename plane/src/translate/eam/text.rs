//! Pairs of prefixes as text.

use arena::ArenaError;
use std::fmt;
use std::str::FromStr;
use wire::{Prefix4, Prefix6};

/// One pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pair {
    /// IPv4 addresses.
    pub v4: Prefix4,
    /// Prefix, bits of the IPv4 suffix, then zeros.
    pub v6: Prefix6,
}

impl Pair {
    /// Bits copied from one suffix to the other.
    pub(super) fn suffix(&self) -> u32 {
        !self.v4.mask()
    }
    pub(super) fn shift(&self) -> u32 {
        (u32::from(self.v4.len) + 96).saturating_sub(u32::from(self.v6.len)).min(127)
    }
    pub(super) fn first4(&self) -> u32 {
        u32::from(self.v4.addr) & self.v4.mask()
    }

    /// IPv6 address for one of the pair's IPv4 addresses.
    #[inline]
    pub fn to_ipv6(&self, addr: u32) -> u128 {
        self.v6.first() | u128::from(addr & self.suffix()) << self.shift()
    }

    /// IPv4 address for one of its IPv6 addresses; bits behind the copied ones are ignored (section 3.3.2).
    #[inline]
    pub fn to_ipv4(&self, addr: u128) -> u32 {
        self.first4() | (addr >> self.shift()) as u32 & self.suffix()
    }

    /// Why the pair cannot be used, if so.
    pub fn fault(&self) -> Option<String> {
        let (four, six) = (32u8.checked_sub(self.v4.len), 128u8.checked_sub(self.v6.len));
        let (Some(four), Some(six)) = (four, six) else {
            return Some("prefix lengths end at 32 and 128".to_owned());
        };
        if self.first4() != u32::from(self.v4.addr) || self.v6.first() != self.v6.addr.to_bits() {
            return Some("bits behind the prefix length are set; write them as zero".to_owned());
        }
        (four > six).then(|| {
            format!("{four} bits behind the IPv4 prefix do not fit into {six} behind the IPv6 prefix (RFC 7757, 3.2)")
        })
    }
}

impl fmt::Display for Pair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.v4, self.v6)
    }
}

/// Why there is no table.
#[derive(Debug, thiserror::Error)]
pub enum EamError {
    /// A line is not a pair, or one that cannot be used.
    #[error("explicit address maps, line {line}: {why}")]
    Line {
        /// Number of the line or pair, from 1.
        line: usize,
        /// What is wrong, and what to write instead.
        why: String,
    },
    /// Two pairs have the same addresses.
    #[error("explicit address maps, line {line}: {pair} {how} line {other}: {with}; remove one of the two")]
    Clash {
        /// Line of the second.
        line: usize,
        /// The second.
        pair: Pair,
        /// How pairs clash: the same prefix, or an overlap.
        how: &'static str,
        /// Line of the first.
        other: usize,
        /// The first.
        with: Pair,
    },
    /// Not enough memory.
    #[error("making the table of explicit address maps: {0}")]
    Memory(#[from] ArenaError),
}

/// In either order, separated by spaces. Lengths are optional for single addresses (RFC 7757, section 3.1).
impl FromStr for Pair {
    type Err = String;

    fn from_str(text: &str) -> Result<Pair, String> {
        let mut words = text.split_whitespace();
        let (Some(first), Some(second), None) = (words.next(), words.next(), words.next()) else {
            return Err("an IPv4 prefix and an IPv6 prefix, such as `192.0.2.0/24 2001:db8::/120`".to_owned());
        };
        let (four, six) = if first.contains(':') { (second, first) } else { (first, second) };
        let (addr, len) = prefix(four, 32)?;
        let v4 = Prefix4 { addr, len };
        let (addr, len) = prefix(six, 128)?;
        let pair = Pair { v4, v6: Prefix6 { addr, len } };
        pair.fault().map_or(Ok(pair), |why| Err(format!("{pair}: {why}")))
    }
}

/// One pair a line; `#` begins a comment.
///
/// # Errors
/// The first line that is not a pair, or an unusable pair.
pub fn parse(lines: impl IntoIterator<Item: AsRef<str>>) -> Result<Vec<(usize, Pair)>, EamError> {
    let mut pairs = Vec::new();
    for (i, text) in lines.into_iter().enumerate() {
        let line = i + 1;
        let text = text.as_ref().split('#').next().unwrap_or("");
        if !text.trim().is_empty() {
            pairs.push((line, text.parse().map_err(|why| EamError::Line { line, why })?));
        }
    }
    Ok(pairs)
}

fn prefix<T: FromStr>(text: &str, most: u8) -> Result<(T, u8), String> {
    let (addr, len) = text.split_once('/').map_or((text, None), |(a, l)| (a, Some(l)));
    let which = if most == 32 { "IPv4" } else { "IPv6" };
    let addr = addr.parse().map_err(|_| format!("`{addr}` is not an {which} address"))?;
    let len = match len {
        None => most,
        Some(l) => l.parse().ok().filter(|l| *l <= most).ok_or_else(|| format!("`/{l}` is no length, 0 to {most}"))?,
    };
    Ok((addr, len))
}
