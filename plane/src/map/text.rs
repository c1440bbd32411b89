//! Rule lists, one rule a line.

use super::domain::{Domain, DomainError};
use super::rule::{Psid, Rule};
use std::fmt;
use std::str::FromStr;
use wire::{Prefix4, Prefix6};

/// A mistake in a rule list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListError {
    /// Line from 1; 0 for the whole list.
    pub line: usize,
    /// Word from 1; 0 for the whole line.
    pub word: usize,
    /// What is wrong, and what to write instead.
    pub why: String,
}

impl fmt::Display for ListError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.line, self.word) {
            (0, _) => write!(f, "{}", self.why),
            (line, 0) => write!(f, "line {line}: {}", self.why),
            (line, word) => write!(f, "line {line}, word {word}: {}", self.why),
        }
    }
}

impl std::error::Error for ListError {}

impl Domain {
    /// Reads a rule list. A line has IPv6 prefix, IPv4 prefix, number of EA bits, and optionally
    /// `offset=BITS` (6 when absent) and `psid=VALUE/BITS`; `#` begins a comment.
    ///
    /// # Errors
    /// The first mistake.
    pub fn parse(text: &str) -> Result<Domain, ListError> {
        let (mut rules, mut lines) = (Vec::new(), Vec::new());
        for (i, line) in text.lines().enumerate() {
            let words = line.split('#').next().unwrap_or("");
            if !words.trim().is_empty() {
                rules.push(rule(words).map_err(|(word, why)| ListError { line: i + 1, word, why })?);
                lines.push(i + 1);
            }
        }
        Domain::new(rules).map_err(|e| collision(&e, &lines))
    }
}

fn collision(e: &DomainError, lines: &[usize]) -> ListError {
    match e.place() {
        Some((at, None)) => ListError { line: lines[at], word: 0, why: e.to_string() },
        Some((at, Some(other))) => {
            ListError { line: lines[at], word: 0, why: format!("{e} (the other one: line {})", lines[other]) }
        }
        None => ListError { line: 0, word: 0, why: e.to_string() },
    }
}

/// A mistake has the number of its word.
fn rule(line: &str) -> Result<Rule, (usize, String)> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [ipv6, ipv4, ea, options @ ..] = words.as_slice() else {
        let why = "a rule has an IPv6 prefix, an IPv4 prefix and a number of EA bits, such as \
                   `2001:db8::/40 192.0.2.0/24 16`";
        return Err((0, why.to_owned()));
    };
    let (addr, len) = prefix(ipv6, "2001:db8::/40").map_err(|why| (1, why))?;
    let ipv6 = Prefix6 { addr, len };
    let (addr, len) = prefix(ipv4, "192.0.2.0/24").map_err(|why| (2, why))?;
    let ea = number(ea, "EA bits, 0 to 48").map_err(|why| (3, why))?;
    let mut rule = Rule::new(ipv6, Prefix4 { addr, len }, ea);
    let mut seen = [false; 2];
    for (i, option) in options.iter().enumerate() {
        let at = |why| (i + 4, why);
        let which = match option.split_once('=') {
            Some(("offset", bits)) => {
                rule.offset = number(bits, "a PSID offset, 0 to 16").map_err(at)?;
                0
            }
            Some(("psid", psid)) => {
                let (value, bits) = psid.split_once('/').ok_or_else(|| at(format!("`{psid}`: write VALUE/BITS")))?;
                let len = number(bits, "a PSID length, 1 to 16").map_err(at)?;
                rule.psid = Some(Psid { len, value: number(value, "a PSID, 0 to 65535").map_err(at)? });
                1
            }
            _ => return Err(at(format!("`{option}`: only `offset=BITS` and `psid=VALUE/BITS` may follow"))),
        };
        if std::mem::replace(&mut seen[which], true) {
            return Err(at(format!("`{option}`: said before in this line")));
        }
    }
    Ok(rule)
}

fn prefix<A: FromStr>(word: &str, example: &str) -> Result<(A, u8), String> {
    let parts = word.split_once('/').and_then(|(a, n)| Some((a.parse().ok()?, n.parse().ok()?)));
    parts.ok_or_else(|| format!("`{word}` is no prefix: write it like {example}"))
}

/// Decimal or hexadecimal with `0x`.
fn number<N: TryFrom<u32>>(word: &str, what: &str) -> Result<N, String> {
    let n = match word.strip_prefix("0x") {
        Some(hex) => u32::from_str_radix(hex, 16).ok(),
        None => word.parse().ok(),
    };
    n.and_then(|n| N::try_from(n).ok()).ok_or_else(|| format!("`{word}`: write {what}"))
}
