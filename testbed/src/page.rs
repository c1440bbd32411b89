//! What a page of a technology gives: the names of counters, and the packet that it shows octet by octet. Prose does not count:
//! `local` or `protocol` stand in any text.

use std::collections::HashSet;

/// Names in a page: what stands in code spans, in a picture behind the line that leads to it, and there anywhere if it has a hyphen,
/// which no word of a picture has by chance.
pub fn names(page: &str) -> HashSet<&str> {
    let mut names = HashSet::new();
    // The generated part has keys.
    let (written, _) = page.split_once("<!-- From here on generated").unwrap_or((page, ""));
    for (i, part) in written.split("```").enumerate() {
        if i % 2 == 1 {
            for line in part.lines() {
                names.extend(words(line).filter(|w| w.contains('-')));
                names.extend(line.rsplit_once("─ ").into_iter().flat_map(|(_, behind)| words(behind)));
            }
        } else {
            names.extend(part.split('`').skip(1).step_by(2).map(|span| span.rsplit('.').next().unwrap_or(span)));
        }
    }
    names
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '-').filter(|w| !w.is_empty())
}

/// The octets of packet `n` of a page's "One packet, octet by octet": as it comes in and as it goes out, read from the page itself.
/// Whatever follows the digits of a line explains them.
#[track_caller]
pub fn packet(page: &str, n: usize) -> [Vec<u8>; 2] {
    let (_, part) = page.split_once("One packet, octet by octet").expect("a page with a packet");
    let picture = part.split("```").nth(1 + 2 * n).expect("octets behind the heading");
    let (into, out) = picture.split_once("\n out ").expect("what goes out");
    [into.trim_start().strip_prefix("in ").expect("what comes in"), out].map(octets)
}

fn octets(lines: &str) -> Vec<u8> {
    let is_hex = |word: &&str| word.bytes().all(|b| b.is_ascii_hexdigit());
    let digits = lines.lines().flat_map(|line| line.split_whitespace().take_while(is_hex)).collect::<String>();
    assert!(digits.len().is_multiple_of(2), "half an octet: {digits}");
    (0..digits.len()).step_by(2).map(|i| u8::from_str_radix(&digits[i..i + 2], 16).unwrap()).collect()
}

#[test]
fn the_packet_of_a_page_is_its_digits() {
    let page = "## One packet, octet by octet\nFrom 1.\n```\n in   0200  to the gateway\n      6 00 00000 2001\n out  45 ff\n```\nab cd";
    assert_eq!(packet(page, 0), [vec![0x02, 0x00, 0x60, 0x00, 0x00, 0x00, 0x20, 0x01], vec![0x45, 0xff]]);
}

#[test]
fn prose_names_nothing() {
    let page = "a local protocol\n```\n no local protocol ── bad-length\n   x-y ─ left: quota, too\n```\n`ok` and `nat44.filtered`";
    let mut seen: Vec<_> = names(page).into_iter().collect();
    seen.sort_unstable();
    assert_eq!(seen, ["bad-length", "filtered", "left", "ok", "quota", "too", "x-y"]);
}
