//! The names of counters that a page gives. Prose does not count: `local` or `protocol` stand in any text.

use std::collections::HashSet;

/// Names in a page: what stands in code spans, in a picture behind the line that leads to it, and there anywhere if it has a hyphen,
/// which no word of a picture has by chance.
pub fn names(page: &str) -> HashSet<&str> {
    let mut names = HashSet::new();
    for (i, part) in page.split("```").enumerate() {
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

#[test]
fn prose_names_nothing() {
    let page = "a local protocol\n```\n no local protocol ── bad-length\n   x-y ─ left: quota, too\n```\n`ok` and `nat44.filtered`";
    let mut seen: Vec<_> = names(page).into_iter().collect();
    seen.sort_unstable();
    assert_eq!(seen, ["bad-length", "filtered", "left", "ok", "quota", "too", "x-y"]);
}
