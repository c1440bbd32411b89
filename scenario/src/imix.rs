//! Mixes of frame sizes in the notation of RFC 6985: a letter for each frame of a sequence that repeats.

use key::kind::{Simple, own};
use key::{Value, Wrong};
use serde_json::json;
use std::fmt;
use std::str::FromStr;

/// A sequence of frame sizes that repeats (IMIX Genome, RFC 6985).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Imix {
    /// As it is written, without `imix:`.
    genome: String,
    /// Octets of each frame as IPv4, with FCS.
    sizes: Vec<usize>,
}

/// Letters of RFC 6985, section 4, with sizes that test frames can have.
const LETTERS: &[(char, usize)] =
    &[('a', 64), ('b', 128), ('c', 256), ('d', 512), ('e', 1024), ('f', 1280), ('g', 1518), ('h', 2112), ('i', 9000)];
const LONGEST: usize = 4096;
const PREFIX: &str = "imix:";

impl Imix {
    /// Octets of each frame as IPv4, with FCS.
    pub fn sizes(&self) -> &[usize] {
        &self.sizes
    }

    pub fn largest(&self) -> usize {
        self.sizes.iter().copied().max().unwrap_or_default()
    }

    pub fn smallest(&self) -> usize {
        self.sizes.iter().copied().min().unwrap_or_default()
    }

    fn octets(&self) -> usize {
        self.sizes.iter().sum()
    }

    /// Mean size in octets, rounded up: a line carries at least as many frames of the mix as of this size.
    pub fn mean(&self) -> usize {
        self.octets().div_ceil(self.sizes.len())
    }

    /// `imix:aab, 64 and 128 octets, 85.3 on average`.
    pub fn in_words(&self) -> String {
        let mut sizes = self.sizes.clone();
        sizes.sort_unstable();
        sizes.dedup();
        let sizes: Vec<String> = sizes.iter().map(usize::to_string).collect();
        let mean = self.octets() as f64 / self.sizes.len() as f64;
        format!("{self} ({}; {mean:.1} on average)", sizes.join(", "))
    }
}

impl fmt::Display for Imix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PREFIX}{}", self.genome)
    }
}

impl FromStr for Imix {
    type Err = String;

    /// Reads `imix:aaab`, or with own sizes `imix:AAB A=64 B=594`.
    fn from_str(text: &str) -> Result<Imix, String> {
        let rest =
            text.trim().strip_prefix(PREFIX).ok_or_else(|| format!("`{text}` does not begin with `{PREFIX}`"))?;
        let mut words = rest.split_whitespace();
        let letters = words.next().unwrap_or_default();
        let own = words.map(own_size).collect::<Result<Vec<_>, _>>()?;
        if letters.is_empty() || letters.len() > LONGEST {
            return Err(format!("a mix has 1 to {LONGEST} frames"));
        }
        let size = |letter: char| {
            let known = own.iter().chain(LETTERS).find(|(known, _)| *known == letter);
            known.map(|(_, size)| *size).ok_or_else(|| format!("the letter `{letter}` has no size"))
        };
        let sizes = letters.chars().map(size).collect::<Result<Vec<_>, _>>()?;
        if let Some((letter, _)) = own.iter().find(|(letter, _)| !letters.contains(*letter)) {
            return Err(format!("no frame is `{letter}`"));
        }
        let genome = rest.split_whitespace().collect::<Vec<_>>().join(" ");
        Ok(Imix { genome, sizes })
    }
}

fn own_size(word: &str) -> Result<(char, usize), String> {
    let wrong = || format!("`{word}` is no size of a capital letter");
    let (letter, size) = word.split_once('=').ok_or_else(wrong)?;
    let mut letters = letter.chars();
    let (Some(letter), None) = (letters.next(), letters.next()) else { return Err(wrong()) };
    match size.parse::<u16>() {
        Ok(size) if letter.is_ascii_uppercase() => Ok((letter, size.into())),
        _ => Err(wrong()),
    }
}

pub(crate) fn imix() -> Simple<Imix> {
    fn parse(value: &Value) -> Result<Imix, Wrong> {
        let instead = "write the letters of RFC 6985, such as \"imix:aaaaaaaddddg\" (a 64, b 128, c 256, d 512, e 1024, f 1280, \
                       g 1518), or sizes of your own: \"imix:AAAAAAABBBBC A=64 B=594 C=1518\"";
        match value {
            Value::Text(text) => text.parse().map_err(|wrong: String| Wrong::new(wrong, instead)),
            _ => Err(Wrong::new("a mix of frame sizes is text", instead)),
        }
    }
    own(
        parse,
        "`\"imix:…\"`, a letter for each frame (RFC 6985)",
        || json!({ "type": "string", "pattern": "^ *imix:[a-iA-Z]+( +[A-Z]=[0-9]+)* *$" }),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_scenarios;

    fn imix(text: &str) -> Result<Imix, String> {
        text.parse()
    }

    #[test]
    fn letters_are_those_of_rfc_6985_or_ones_own() {
        assert_eq!(imix("imix:aabg").unwrap().sizes(), [64, 64, 128, 1518]);
        let simple = imix(" imix:AAAAAAABBBBC  A=64 B=594 C=1518 ").unwrap();
        assert_eq!((simple.sizes().len(), simple.largest(), simple.smallest(), simple.mean()), (12, 1518, 64, 362));
        assert_eq!(simple.to_string(), "imix:AAAAAAABBBBC A=64 B=594 C=1518");
        assert_eq!(imix(&simple.to_string()), Ok(simple.clone()));
        assert!(simple.in_words().ends_with("(64, 594, 1518; 361.8 on average)"), "{}", simple.in_words());
        for wrong in
            ["", "imix:", "aab", "imix:aAb", "imix:az", "imix:A a=64", "imix:A A=x", "imix:a B=64", "imix:A AA=64"]
        {
            assert!(imix(wrong).is_err(), "{wrong}");
        }
    }

    fn load(rest: &str) -> Result<crate::Scenario, String> {
        let forwarding = "[dut.linux-forwarding]\n[measure]\nmetrics = \"throughput\"\nmax-rate = \"1 Gbit/s\"\n";
        test_scenarios::load(&format!("{forwarding}{rest}"), &[])
    }

    /// A line of 1 Gbit/s carries 10^9 / 8 / (mean + 20) frames; the mean is rounded up.
    #[test]
    fn the_line_rate_is_that_of_the_mean_and_the_packet_that_of_the_largest() {
        let scenario = load("[traffic]\nframe-sizes = \"imix:aaag\"\n").unwrap();
        assert_eq!((scenario.traffic.frame_size, scenario.widest_packet()), (1518, 1500));
        assert_eq!(scenario.max_rate(), Some(125_000_000 / (428 + 20)));
        assert!(crate::conformance(&scenario).sentences().iter().any(|departure| departure.contains("imix:aaag")));
    }

    #[test]
    fn sizes_that_cannot_be_sent_are_refused_at_their_line() {
        for (wrong, words) in [
            ("frame-sizes = \"imix:ah\"", "2112"),
            ("frame-sizes = \"imix:aB B=63\"", "63"),
            ("frame-sizes = \"imix:az\"", "RFC 6985"),
            ("frame-size = 64\nframe-sizes = \"imix:ab\"", "said twice"),
        ] {
            let error = load(&format!("[traffic]\n{wrong}\n")).unwrap_err();
            assert!(error.contains(words) && error.contains("x.toml:"), "{wrong}: {error}");
        }
        let swept = load("[traffic]\nframe-sizes = \"imix:ab\"\n[sweep]\nframe-size = [64, 128]\n").unwrap_err();
        assert!(swept.contains("said twice"), "{swept}");
    }
}
