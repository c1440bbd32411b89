//! Makes foreign text safe to print: control characters and bidirectional marks could change what a terminal shows.

use std::borrow::Cow;

/// Replaces every character that [`is_hidden`] with U+FFFD.
pub fn printable(text: &str) -> Cow<'_, str> {
    if text.contains(is_hidden) { text.replace(is_hidden, "\u{fffd}").into() } else { text.into() }
}

/// A word of a command line, quoted where a shell would not take it literally.
pub fn in_shell(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,%+@".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// Like [`printable`], but keeps colours (SGR sequences), for natmeter's own terminal output.
pub fn with_colours(text: &str) -> Cow<'_, str> {
    if !text.contains(is_hidden) {
        return text.into();
    }
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let length = colour(rest).unwrap_or(c.len_utf8());
        let replaced = is_hidden(c) && length == c.len_utf8();
        shown.push_str(if replaced { "\u{fffd}" } else { &rest[..length] });
        rest = &rest[length..];
    }
    shown.into()
}

/// Escapes every character that [`is_hidden`] in JSON text, so that no information is lost.
pub fn escaped_json(json: &str) -> Cow<'_, str> {
    let hidden = |c: char| c != '\n' && is_hidden(c);
    if !json.contains(hidden) {
        return json.into();
    }
    let escape = |c: char| if hidden(c) { format!("\\u{:04x}", u32::from(c)) } else { c.to_string() };
    json.chars().map(escape).collect::<String>().into()
}

/// Whether a character is invisible but acts on a terminal or on the order of the text: the C0 controls
/// except line feed and tab, DEL, the C1 controls, line and paragraph separators, and the bidirectional marks,
/// embeddings, overrides and isolates.
pub fn is_hidden(c: char) -> bool {
    let shown = c == '\n' || c == '\t';
    let bidirectional = matches!(
        c,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
    );
    !shown && (c.is_control() || matches!(c, '\u{2028}' | '\u{2029}') || bidirectional)
}

/// Length of the SGR sequence at the beginning of a text.
fn colour(text: &str) -> Option<usize> {
    let parameters = text.strip_prefix("\x1b[")?;
    let end = parameters.find(|c: char| !c.is_ascii_digit() && c != ';')?;
    parameters[end..].starts_with('m').then_some(2 + end + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Escape, CSI in one character, right-to-left override, mark and isolate, line separator.
    const HOSTILE: &str = "a\x1b]0;t\x07\u{9b}31mb\u{202e}c\u{200f}d\u{2067}e\u{2028}f\u{7f}\r";

    #[test]
    fn words_that_a_shell_would_change_are_quoted() {
        assert_eq!(in_shell("repetitions=3"), "repetitions=3");
        assert_eq!(in_shell("duration=1 s; x"), "'duration=1 s; x'");
        assert_eq!(in_shell("it's"), r"'it'\''s'");
    }

    #[test]
    fn controls_and_bidirectional_marks_are_replaced() {
        let r = char::REPLACEMENT_CHARACTER;
        assert_eq!(printable(HOSTILE), format!("a{r}]0;t{r}{r}31mb{r}c{r}d{r}e{r}f{r}{r}"));
        assert_eq!(with_colours(HOSTILE), printable(HOSTILE));
        let usual = "é 中 ‘’ ─█▏ ≥\n\ttext";
        assert!(matches!(printable(usual), Cow::Borrowed(text) if text == usual));
    }

    #[test]
    fn colours_stay_and_no_other_sequence() {
        assert_eq!(with_colours("\x1b[1;32mgood\x1b[0m"), "\x1b[1;32mgood\x1b[0m");
        assert_eq!(with_colours("\x1b[2J\x1b[31"), "\u{fffd}[2J\u{fffd}[31");
    }

    #[test]
    fn json_loses_nothing() {
        let json = serde_json::to_string(HOSTILE).unwrap();
        let escaped = escaped_json(&json);
        assert!(!escaped.contains(is_hidden), "{escaped}");
        assert_eq!(serde_json::from_str::<String>(&escaped).unwrap(), HOSTILE);
    }
}
