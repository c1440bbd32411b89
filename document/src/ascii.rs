//! Texts in ASCII, for plain text of an RFC: signs and letters become those that RFCs print instead.

use std::fmt::Write;

/// Signs and letters, and what stands for each of them.
const REPLACED: [(&str, &str); 29] = [
    ("–—−·", "-"),
    ("≥", ">="),
    ("≤", "<="),
    ("×", "x"),
    ("µμ", "u"),
    ("…", "..."),
    ("‘’", "'"),
    ("“”", "\""),
    ("→", "->"),
    ("≈", "~"),
    ("±", "+/-"),
    ("ÀÁÂÃÄÅ", "A"),
    ("àáâãäå", "a"),
    ("Ç", "C"),
    ("ç", "c"),
    ("ÈÉÊË", "E"),
    ("èéêë", "e"),
    ("ÌÍÎÏ", "I"),
    ("ìíîï", "i"),
    ("Ñ", "N"),
    ("ñ", "n"),
    ("ÒÓÔÕÖØŐ", "O"),
    ("òóôõöøő", "o"),
    ("ÙÚÛÜŰ", "U"),
    ("ùúûüű", "u"),
    ("Ý", "Y"),
    ("ýÿ", "y"),
    ("ß", "ss"),
    ("\u{a0}\u{2009}\u{202f}", " "),
];

/// Returns a text on one line in printable ASCII. A character without a counterpart becomes its code point: `<U+4E2D>`.
pub(crate) fn ascii(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in crate::split::one_line(text).chars() {
        match REPLACED.iter().find(|(from, _)| from.contains(c)) {
            Some((_, to)) => out.push_str(to),
            None if c.is_ascii() && !c.is_ascii_control() => out.push(c),
            None => {
                let _ = write!(out, "<U+{:04X}>", u32::from(c));
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_and_letters_become_ascii() {
        let cases = [
            ("≥ 7.4 Mfps – 3 × 2 µs", ">= 7.4 Mfps - 3 x 2 us"),
            ("Gábor,\n Répás\t Ő", "Gabor, Repas O"),
            ("中\u{1b}[1m\u{202e}", "<U+4E2D><U+001B>[1m<U+202E>"),
            ("", ""),
        ];
        for (text, expected) in cases {
            assert_eq!(ascii(text), expected);
        }
    }

    #[test]
    fn no_character_has_two_replacements() {
        let mut all: Vec<char> = REPLACED.iter().flat_map(|(from, _)| from.chars()).collect();
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), count);
    }
}
