//! Query messages: one is built, then gets each query's ID and label.

use crate::names::{LABEL, Names, ZONE};
use domain::base::iana::Rtype;
use domain::base::{MessageBuilder, Name};
use octseq::array::Array;

/// Header 12, name 31, type and class 4.
pub const LENGTH: usize = 12 + 1 + LABEL + 1 + 9 + 1 + 4 + 1 + 4;
/// Offset behind the header and the label's length.
const LABEL_AT: usize = 13;

/// A query for an AAAA record, with recursion desired.
#[derive(Clone, Debug)]
pub struct Query {
    octets: [u8; LENGTH],
}

impl Query {
    /// The query for name 0 with ID 0.
    ///
    /// # Panics
    /// Never: a constant name that fits.
    pub fn new() -> Query {
        let first = Names::label(0);
        let characters = first.iter().map(|&octet| char::from(octet)).chain(".".chars()).chain(ZONE.chars());
        let name: Name<Array<64>> = Name::from_chars(characters.chain(".".chars())).expect("a domain name");
        let mut builder = MessageBuilder::from_target(Array::<512>::default()).expect("room for a header");
        builder.header_mut().set_rd(true);
        let mut question = builder.question();
        question.push((&name, Rtype::AAAA)).expect("room for one question");
        let message = question.finish();
        Query { octets: message.as_ref().try_into().expect("a message of this length") }
    }

    pub fn message(&mut self, id: u16, i: u32) -> &[u8; LENGTH] {
        self.octets[..2].copy_from_slice(&id.to_be_bytes());
        self.octets[LABEL_AT..LABEL_AT + LABEL].copy_from_slice(&Names::label(i));
        &self.octets
    }
}

impl Default for Query {
    fn default() -> Query {
        Query::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Written by hand after RFC 1035, section 4.1.
    #[test]
    fn a_query_is_that_of_rfc_1035() {
        let mut expected = vec![0x12, 0x34, 0x01, 0x00, 0, 1, 0, 0, 0, 0, 0, 0];
        for label in [&b"010-000-001-002"[..], b"dns64perf", b"test"] {
            expected.push(label.len() as u8);
            expected.extend_from_slice(label);
        }
        expected.extend_from_slice(&[0, 0, 28, 0, 1]);
        assert_eq!(Query::new().message(0x1234, 0x0102)[..], expected[..]);
    }
}
