//! The pages. They are plain HTML, and work without scripts; the live view then reloads itself.

pub(super) mod list;
pub(super) mod pair;
pub(super) mod run;

use super::answer::Body;
use record::printable::printable;

/// The style of all pages.
pub(super) const STYLE: &str = include_str!("style.css");
/// The script of the live view.
pub(super) const SCRIPT: &str = include_str!("live.js");

/// Returns text as part of HTML: control characters are replaced, and markup is escaped.
fn e(text: &str) -> String {
    let text = printable(text);
    let escaped = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    escaped.replace('"', "&quot;").replace('\'', "&#39;")
}

/// Returns a sentence as HTML; text between backticks becomes code.
fn prose(text: &str) -> String {
    let parts = text.split('`').enumerate();
    parts.map(|(at, part)| if at % 2 == 1 { format!("<code>{}</code>", e(part)) } else { e(part) }).collect()
}

/// A page: `head` is more of its head, `main` its content, both as HTML.
fn page(title: &str, head: &str, main: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<title>{} · natmeter</title>\n\
         <link rel=\"icon\" href=\"data:,\">\n<link rel=\"stylesheet\" href=\"/style.css\">\n{head}</head>\n<body>\n\
         <header><a href=\"/\">natmeter</a></header>\n<main>\n{main}</main>\n</body>\n</html>\n",
        e(title)
    )
}

/// Returns a page as the body of an answer.
pub(super) fn body(page: String) -> Body {
    Body::Whole(Some(page.into()))
}

/// The page of an error.
pub(super) fn failure(title: &str, why: &str) -> String {
    page(title, "", &format!("<h1>{}</h1>\n<p>{}.</p>\n<p><a href=\"/\">All runs</a></p>\n", e(title), prose(why)))
}

/// The page for requests without a token.
pub(super) fn log_in() -> String {
    let form = "<h1>Token</h1>\n<p>Enter the token here. If natmeter printed an address with a token when it started, you can \
                also open that address.</p>\n<form method=\"get\" action=\"/\" class=\"filter\">\n\
                <label>Token <input type=\"password\" name=\"token\" autocomplete=\"off\" required></label>\n\
                <button>Continue</button>\n</form>\n";
    page("Token", "", form)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_text_is_no_markup() {
        assert_eq!(e("<a href='x' b=\"y\">&\u{202e}"), "&lt;a href=&#39;x&#39; b=&quot;y&quot;&gt;&amp;\u{fffd}");
        assert_eq!(prose("use `a <b>` now"), "use <code>a &lt;b&gt;</code> now");
        assert!(failure("Not Found", "<script>").contains("<p>&lt;script&gt;.</p>"));
    }
}
