//! The zone of the authoritative server, as a master file (RFC 1035, section 5).

use std::io::{self, Write};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

/// Lifetime of a record in seconds: longer than any trial.
const TTL: u32 = 86_400;

/// First label, A record, and AAAA record if there is one.
pub type Record = (String, Ipv4Addr, Option<Ipv6Addr>);

/// A zone whose names are made when it is written, because there may be millions.
pub struct Zone<'a> {
    pub name: &'a str,
    pub records: &'a dyn Fn() -> Box<dyn Iterator<Item = Record>>,
}

impl Zone<'_> {
    pub(super) fn write(&self, out: &mut dyn Write, server: SocketAddr) -> io::Result<()> {
        writeln!(out, "$ORIGIN {}.\n$TTL {TTL}", self.name)?;
        writeln!(out, "@ SOA ns hostmaster 1 {TTL} {TTL} {TTL} {TTL}\n@ NS ns\nns A {}", server.ip())?;
        for (label, a, aaaa) in (self.records)() {
            writeln!(out, "{label} A {a}")?;
            if let Some(aaaa) = aaaa {
                writeln!(out, "{label} AAAA {aaaa}")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_zone_has_its_authority_and_all_records() {
        let records = || -> Box<dyn Iterator<Item = Record>> {
            let a = |last| Ipv4Addr::new(10, 0, 0, last);
            Box::new([("a".to_owned(), a(0), None), ("b".to_owned(), a(1), Some(Ipv6Addr::LOCALHOST))].into_iter())
        };
        let mut file = Vec::new();
        Zone { name: "x.test", records: &records }.write(&mut file, crate::dns::server()).unwrap();
        let expected = "$ORIGIN x.test.\n$TTL 86400\n@ SOA ns hostmaster 1 86400 86400 86400 86400\n@ NS ns\n\
            ns A 198.19.0.2\na A 10.0.0.0\nb A 10.0.0.1\nb AAAA ::1\n";
        assert_eq!(String::from_utf8(file).unwrap(), expected);
    }
}
