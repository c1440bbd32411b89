//! Reading any scenario file and any override gives a scenario or printable errors, and never panics. The texts are mutations of
//! a valid file, so that they pass the parser.

use natmeter::forecast::{self, text};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use scenario::{Options, parse};

const GOOD: &str = include_str!("../../../scenarios/kernel-nat44.toml");

/// Words that are valid in some places.
const WORDS: &[&str] = &[
    "0",
    "1",
    "-1",
    "\"4M\"",
    "\"18446744073709551615\"",
    "1e99",
    "[]",
    "[1, 1]",
    "{}",
    "true",
    "\"\"",
    "\"µ\"",
    "\"255.255.255.255\"",
    "\"198.18.0.0/15\"",
    "\"0.0.0.0 - 255.255.255.254\"",
    "\"1-65535\"",
    "\"100 %\"",
    "\"1 ppm\"",
    "\"1 h\"",
    "\"1 Gbit/s\"",
    "[dut]",
    "[full]",
    "[dut.embedded]",
    "[dut.simulated]",
    "[link.in-process]",
    "table",
    "connections",
    "=",
    "\n",
    "\"",
    "\u{1F980}",
    "#",
    ".",
];

/// Reads a text, and renders its errors or plans its scenario.
fn exercise(file: &str, set: Vec<String>, full: bool) {
    match parse("any.toml", file, &Options { full, set, ..Options::default() }, tech::ALL) {
        Ok(loaded) => assert!(!text(&loaded.scenario, &forecast::plan(&loaded.scenario)).is_empty()),
        Err(complaints) => {
            assert!(!complaints.render(false).is_empty() && !complaints.render(true).is_empty());
            let json = complaints.to_json();
            let marks = json.as_array().unwrap().iter().flat_map(|fault| fault["marks"].as_array().unwrap());
            assert!(
                marks.into_iter().all(|mark| mark["line"].as_u64() >= Some(1) && mark["column"].as_u64() >= Some(1))
            );
        }
    }
}

/// The valid file with the value of one line replaced.
fn other_value(line: usize, value: &str) -> String {
    let keys = GOOD.lines().filter(|line| line.contains(" = ")).count();
    let mut left = line % keys;
    let lines = GOOD.lines().map(|line| match line.split_once(" = ") {
        Some((key, old)) => {
            let new = if left == 0 { value } else { old };
            left = left.wrapping_sub(1);
            format!("{key} = {new}\n")
        }
        None => format!("{line}\n"),
    });
    lines.collect()
}

proptest! {
    // The same cases every time, so that failures are reproducible.
    #![proptest_config(ProptestConfig { rng_seed: RngSeed::Fixed(1), ..ProptestConfig::default() })]

    #[test]
    fn words_anywhere(cuts in prop::collection::vec((0..GOOD.len(), 0..40_usize, 0..WORDS.len()), 1..4), full: bool) {
        let mut file = GOOD.to_owned();
        for (at, length, word) in cuts {
            let floor = |at: usize| (0..=at.min(file.len())).rev().find(|&at| file.is_char_boundary(at)).unwrap();
            let (start, end) = (floor(at), floor(at + length));
            file.replace_range(start..end, WORDS[word]);
        }
        exercise(&file, Vec::new(), full);
    }

    #[test]
    fn values_anywhere(changes in (0..100_usize, 0..WORDS.len()), full: bool) {
        exercise(&other_value(changes.0, WORDS[changes.1]), Vec::new(), full);
    }

    #[test]
    fn overrides(key in "[a-z0-9.-]{0,20}|connections|dut\\.nftables\\.table|link\\.tap", word in 0..WORDS.len(), rest in "\\PC{0,8}", full: bool) {
        exercise(GOOD, vec![format!("{key}={}{rest}", WORDS[word]), rest], full);
    }

    #[test]
    fn any_text(file in "\\PC{0,80}") {
        exercise(&file, Vec::new(), false);
    }
}
