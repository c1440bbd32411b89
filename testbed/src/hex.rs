//! Packets written as hexadecimal digits.

/// The octets of a hexadecimal text; white space is ignored.
///
/// # Panics
/// When the text has anything else, or half an octet.
pub fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text
        .chars()
        .filter(|c| !c.is_whitespace())
        .map(|c| c.to_digit(16).expect("a hexadecimal digit") as u8)
        .collect();
    assert!(digits.len().is_multiple_of(2), "half an octet: {text}");
    digits.chunks(2).map(|d| d[0] << 4 | d[1]).collect()
}
