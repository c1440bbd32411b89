//! Text in XML 1.0.

use crate::svg;

/// Returns a text that is valid between tags and in attributes. Characters that XML does not allow (XML 1.0, section 2.2) become U+FFFD.
pub fn escaped(text: &str) -> String {
    let is_allowed =
        |c: char| !matches!(c, '\u{0}'..='\u{8}' | '\u{b}' | '\u{c}' | '\u{e}'..='\u{1f}' | '\u{fffe}' | '\u{ffff}');
    let text: String = text.chars().map(|c| if is_allowed(c) { c } else { char::REPLACEMENT_CHARACTER }).collect();
    svg::escaped(&text)
}
