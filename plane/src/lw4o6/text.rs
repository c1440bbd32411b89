//! Reads a binding table from text, one softwire a line. Nothing is loaded from a file with a mistake.
//!
//! ```text
//! # lwB4's address     IPv4 address  PSID/length[@offset]  lwAFTR's address
//! 2001:db8:b4::1       192.0.2.1     5/6                   2001:db8:af::1
//! 2001:db8:b4::2       192.0.2.1     6/6
//! 2001:db8:b4::3       192.0.2.2     52/8@6
//! 2001:db8:b4::4       192.0.2.3
//! ```
//!
//! Blanks or tabs separate words. Without a port set the address is not shared (`0/0`); the offset
//! is 0 unless given; the lwAFTR's address is the gateway's unless given. `#` begins a comment.

use super::builder::{BindingTableBuilder, BindingTableError, SoftwireFault};
use super::table::BindingTable;
use super::table::Softwire;
use std::io::BufRead;
use std::net::Ipv6Addr;
use wire::PortSet;

const LONGEST: usize = 1024;

/// Reads a table. `file` is its name in errors; `own` is the lwAFTR's address of lines that name none.
///
/// # Errors
/// The first line that is wrong, or two that contradict each other.
pub fn read(file: &str, own: Ipv6Addr, text: impl BufRead) -> Result<BindingTable, BindingTableError> {
    read_into(BindingTableBuilder::new(file, own), text)
}

/// As [`read`], into a builder with the name and the gateway's addresses.
///
/// # Errors
/// As [`read`].
pub fn read_into(mut builder: BindingTableBuilder, mut text: impl BufRead) -> Result<BindingTable, BindingTableError> {
    let file = &builder.name();
    let mut line = 0u64;
    let mut part = Vec::with_capacity(LONGEST);
    loop {
        let failed = |source| BindingTableError::Read { file: file.to_owned(), line, source };
        let chunk = match text.fill_buf() {
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => continue,
            other => other.map_err(failed)?,
        };
        if chunk.is_empty() {
            break;
        }
        let mut at = 0;
        while let Some(n) = chunk[at..].iter().position(|b| *b == b'\n') {
            let mut this = &chunk[at..at + n];
            at += n + 1;
            line += 1;
            if !part.is_empty() {
                part.extend_from_slice(this);
                this = &part;
            }
            Line { file, number: line, text: this }.load(&mut builder)?;
            part.clear();
        }
        part.extend_from_slice(&chunk[at..]);
        let used = chunk.len();
        text.consume(used);
        if part.len() > LONGEST {
            break;
        }
    }
    if !part.is_empty() {
        Line { file, number: line + 1, text: &part }.load(&mut builder)?;
    }
    builder.build()
}

const COLUMNS: [&str; 4] = ["the lwB4's IPv6 address", "the IPv4 address", "the port set", "the lwAFTR's IPv6 address"];

struct Line<'a> {
    file: &'a str,
    number: u64,
    text: &'a [u8],
}

#[derive(Clone, Copy, Default)]
struct Word<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Line<'a> {
    fn load(&self, builder: &mut BindingTableBuilder) -> Result<(), BindingTableError> {
        if self.text.len() > LONGEST {
            return Err(self.fault(format!("longer than {LONGEST} octets")));
        }
        let (words, n) = self.words()?;
        if n == 0 {
            return Ok(());
        }
        if n == 1 {
            return Err(self.fault(format!("{} is missing", COLUMNS[1])));
        }
        let b4 = words[0].text.parse().map_err(|_| self.word(words[0], 0, "not an IPv6 address"))?;
        let ipv4 = words[1].text.parse().map_err(|_| self.word(words[1], 1, "not an IPv4 address"))?;
        let ports =
            if n > 2 { port_set(words[2].text).map_err(|why| self.word(words[2], 2, &why))? } else { PortSet::ALL };
        let own = if n > 3 {
            Some(words[3].text.parse().map_err(|_| self.word(words[3], 3, "not an IPv6 address"))?)
        } else {
            None
        };
        let line = u32::try_from(self.number).map_err(|_| self.fault("more lines than a table can have".into()))?;
        builder.add_line(&Softwire { b4, ipv4, ports, own }, line).map_err(|fault| match fault {
            SoftwireFault::B4Address => self.word(words[0], 0, &fault.to_string()),
            SoftwireFault::Ipv4Address => self.word(words[1], 1, &fault.to_string()),
            SoftwireFault::Ports(_) => self.word(words[2], 2, &fault.to_string()),
            SoftwireFault::LwAftrAddress | SoftwireFault::TooManyLwAftrs => self.word(words[3], 3, &fault.to_string()),
            SoftwireFault::TooManySoftwires => self.fault(fault.to_string()),
        })
    }

    fn words(&self) -> Result<([Word<'a>; 4], usize), BindingTableError> {
        let text = self.text.strip_suffix(b"\r").unwrap_or(self.text);
        let text = &text[..text.iter().position(|b| *b == b'#').unwrap_or(text.len())];
        let text = std::str::from_utf8(text).map_err(|e| {
            self.fault(format!("octet {:#04x} in column {} is no text", text[e.valid_up_to()], e.valid_up_to() + 1))
        })?;
        let (mut words, mut n) = ([Word::default(); 4], 0);
        for word in text.split([' ', '\t']).filter(|w| !w.is_empty()) {
            let at = word.as_ptr() as usize - text.as_ptr() as usize;
            let Some(place) = words.get_mut(n) else {
                let why = "more words than a softwire has; comments begin with `#`".to_owned();
                return Err(BindingTableError::Word {
                    file: self.file.to_owned(),
                    line: self.number,
                    column: at + 1,
                    word: word.to_owned(),
                    what: "a fifth word",
                    why,
                });
            };
            *place = Word { text: word, at };
            n += 1;
        }
        Ok((words, n))
    }

    fn word(&self, word: Word<'_>, column: usize, why: &str) -> BindingTableError {
        BindingTableError::Word {
            file: self.file.to_owned(),
            line: self.number,
            column: word.at + 1,
            word: word.text.to_owned(),
            what: COLUMNS[column],
            why: why.to_owned(),
        }
    }

    fn fault(&self, why: String) -> BindingTableError {
        BindingTableError::Line { file: self.file.to_owned(), line: self.number, why }
    }
}

/// `PSID/length`, or `PSID/length@offset`, in decimal.
fn port_set(s: &str) -> Result<PortSet, String> {
    let form = || "not of the form PSID/length or PSID/length@offset, such as 5/6 or 52/8@6".to_owned();
    let (psid, rest) = s.split_once('/').ok_or_else(form)?;
    let (len, offset) = rest.split_once('@').unwrap_or((rest, "0"));
    let number = |s: &str| {
        let digits = !s.is_empty() && s.bytes().all(|b| b.is_ascii_digit());
        if digits { s.parse::<u64>().map_err(|_| form()) } else { Err(form()) }
    };
    let (psid, len, offset) = (number(psid)?, number(len)?, number(offset)?);
    if len > 16 || offset > 16 {
        return Err("length and offset are numbers of bits, 16 together at most".into());
    }
    let psid = u16::try_from(psid).map_err(|_| format!("PSID {psid} does not fit the {len} bits of its length"))?;
    PortSet::new(offset as u8, len as u8, psid).map_err(|e| e.to_string())
}
