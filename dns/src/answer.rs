//! The judge of answers. It reads foreign octets, and believes no length in them.

use crate::names::{LABEL, Names, ZONE};
use domain::base::iana::{Class, Rcode, Rtype};
use domain::base::name::{Label, ToLabelIter};
use domain::base::{Message, ParsedName};
use domain::rdata::Aaaa;
use std::net::Ipv6Addr;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerFault {
    /// The message has another question, is truncated, or is no DNS message.
    Message,
    /// The response code is not NOERROR (RFC 1035, section 4.1.1).
    Code,
    /// The answer has no AAAA record.
    NoRecord,
    /// The AAAA record has another address.
    Address,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExpectedAnswer {
    /// The zone's AAAA record, or one synthesised from the A record (RFC 6147, section 5.1).
    Dns64,
    /// The zone's AAAA record, of an authoritative server.
    Zone,
    /// NOERROR without a record, of an authoritative server (RFC 2308, section 2.2).
    Nothing,
}

impl ExpectedAnswer {
    /// `None` if no answer is right.
    pub fn address(self, names: &Names, i: u32) -> Option<Ipv6Addr> {
        match self {
            ExpectedAnswer::Dns64 => Some(names.through_dns64(i)),
            ExpectedAnswer::Zone => names.aaaa(i),
            ExpectedAnswer::Nothing => None,
        }
    }

    pub fn judge(self, names: &Names, message: &[u8], i: u32) -> Result<(), AnswerFault> {
        match (self, judge(message, i, self.address(names, i))) {
            (ExpectedAnswer::Nothing, Err(AnswerFault::NoRecord)) => Ok(()),
            (_, verdict) => verdict,
        }
    }
}

/// `None` if the message is too short.
pub fn id(message: &[u8]) -> Option<u16> {
    Some(u16::from_be_bytes(*message.first_chunk()?))
}

/// Judges the answer for name `i`, with exactly this AAAA record.
pub fn judge(message: &[u8], i: u32, address: Option<Ipv6Addr>) -> Result<(), AnswerFault> {
    let message = Message::from_slice(message).map_err(|_| AnswerFault::Message)?;
    let header = message.header();
    if !header.qr() || header.tc() {
        return Err(AnswerFault::Message);
    }
    let question = message.sole_question().map_err(|_| AnswerFault::Message)?;
    if question.qtype() != Rtype::AAAA || question.qclass() != Class::IN || !is_name(question.qname(), i) {
        return Err(AnswerFault::Message);
    }
    if header.rcode() != Rcode::NOERROR {
        return Err(AnswerFault::Code);
    }
    let mut found = false;
    for record in message.answer().map_err(|_| AnswerFault::Message)?.limit_to_in::<Aaaa>() {
        let record = record.map_err(|_| AnswerFault::Message)?;
        if !is_name(record.owner(), i) {
            continue;
        }
        if Some(record.data().addr()) != address {
            return Err(AnswerFault::Address);
        }
        found = true;
    }
    if found { Ok(()) } else { Err(AnswerFault::NoRecord) }
}

/// Whether `name` is name `i`, in upper or lower case (RFC 1035, section 2.3.3).
fn is_name(name: &ParsedName<&[u8]>, i: u32) -> bool {
    let label: [u8; LABEL] = Names::label(i);
    let wanted = std::iter::once(&label[..]).chain(ZONE.split('.').map(str::as_bytes)).chain(std::iter::once(&b""[..]));
    same_labels(name.iter_labels().map(Label::as_slice), wanted)
}

fn same_labels<'a, 'b>(mut one: impl Iterator<Item = &'a [u8]>, mut other: impl Iterator<Item = &'b [u8]>) -> bool {
    loop {
        match (one.next(), other.next()) {
            (None, None) => return true,
            (Some(a), Some(b)) if a.eq_ignore_ascii_case(b) => {}
            _ => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The answer to the query for name 0x10203 with ID 1, written by hand after RFC 1035, section 4.1: flags, question, and an
    /// AAAA record whose owner is a pointer to the question.
    fn message(flags: [u8; 2], address: Ipv6Addr) -> Vec<u8> {
        let mut message = vec![0, 1, flags[0], flags[1], 0, 1, 0, 1, 0, 0, 0, 0, 15];
        message.extend_from_slice(b"010-001-002-003\x09dns64perf\x04test\0");
        message.extend_from_slice(&[0, 28, 0, 1, 0xc0, 12, 0, 28, 0, 1, 0, 0, 0, 60, 0, 16]);
        message.extend_from_slice(&address.octets());
        message
    }

    const NAME: u32 = 0x0001_0203;
    const RIGHT: Ipv6Addr = Ipv6Addr::new(0x2001, 2, 0, 0x64, 0, 0, 0x0a01, 0x0203);

    #[test]
    fn the_synthesised_record_is_right_and_no_other() {
        let names = Names { count: 1 << 20, existing_ppm: 0 };
        assert_eq!(ExpectedAnswer::Dns64.address(&names, NAME), Some(RIGHT));
        assert_eq!(judge(&message([0x81, 0x80], RIGHT), NAME, Some(RIGHT)), Ok(()));
        let other = Ipv6Addr::from(RIGHT.to_bits() + 1);
        assert_eq!(judge(&message([0x81, 0x80], other), NAME, Some(RIGHT)), Err(AnswerFault::Address));
        assert_eq!(judge(&message([0x81, 0x80], RIGHT), NAME, None), Err(AnswerFault::Address));
    }

    #[test]
    fn each_kind_of_wrong_answer_is_told_apart() {
        let of = |message: &[u8], name| judge(message, name, Some(RIGHT)).unwrap_err();
        assert_eq!(of(&message([0x81, 0x82], RIGHT), NAME), AnswerFault::Code);
        assert_eq!(of(&message([0x01, 0x00], RIGHT), NAME), AnswerFault::Message, "a query");
        assert_eq!(of(&message([0x83, 0x80], RIGHT), NAME), AnswerFault::Message, "truncated");
        assert_eq!(of(&message([0x81, 0x80], RIGHT), NAME + 1), AnswerFault::Message, "another name");
        let mut empty = message([0x81, 0x80], RIGHT);
        empty[7] = 0;
        assert_eq!(of(&empty, NAME), AnswerFault::NoRecord);
        let mut other_owner = message([0x81, 0x80], RIGHT);
        other_owner[49] = 28;
        assert_eq!(of(&other_owner, NAME), AnswerFault::NoRecord, "the owner is dns64perf.test");
        assert_eq!(of(&message([0x81, 0x80], RIGHT)[..60], NAME), AnswerFault::Message);
    }

    #[test]
    fn names_are_compared_without_case() {
        let mut upper = message([0x81, 0x80], RIGHT);
        upper[13..].iter_mut().take(26).for_each(u8::make_ascii_uppercase);
        assert_eq!(judge(&upper, NAME, Some(RIGHT)), Ok(()));
    }

    proptest! {
        /// The judge reads anything, and no octet that is changed in the address passes.
        #[test]
        fn foreign_octets_are_read_to_their_end(at in 0usize..80, octet: u8, length in 0usize..80) {
            let mut changed = message([0x81, 0x80], RIGHT);
            let at = at % changed.len();
            let same = changed[at] == octet;
            changed[at] = octet;
            let verdict = judge(&changed, NAME, Some(RIGHT));
            prop_assert!(same || at < changed.len() - 16 || verdict == Err(AnswerFault::Address));
            let _ = judge(&changed[..length.min(changed.len())], NAME, Some(RIGHT));
        }
    }
}
