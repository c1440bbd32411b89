//! Base64 (RFC 4648, section 4): a command for a guest as one line of text.

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// The text of these octets.
pub(super) fn encoded(octets: &[u8]) -> String {
    let mut text = String::with_capacity(octets.len().div_ceil(3) * 4);
    for group in octets.chunks(3) {
        let bits = group.iter().fold(0u32, |bits, octet| bits << 8 | u32::from(*octet)) << (8 * (3 - group.len()));
        let letter = |at: usize| ALPHABET[(bits >> (18 - 6 * at) & 63) as usize] as char;
        text.extend((0..4).map(|at| if at <= group.len() { letter(at) } else { '=' }));
    }
    text
}

#[cfg(test)]
mod tests {
    /// RFC 4648, section 10.
    #[test]
    fn the_vectors_of_the_rfc() {
        let vectors = [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ];
        for (text, encoded) in vectors {
            assert_eq!(super::encoded(text.as_bytes()), encoded);
        }
    }
}
