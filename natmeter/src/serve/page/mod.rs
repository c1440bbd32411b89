//! The pages. They are plain HTML, and work without scripts; the live view then reloads itself.

pub(super) mod list;
pub(super) mod pair;
pub(super) mod run;

use super::answer::{HTML, with_status};
use document::html::{escaped as e, prose};
use hyper::{Response, StatusCode};
use record::printable::printable;

pub(super) const STYLE: &str = include_str!("style.css");
pub(super) const SCRIPT: &str = include_str!("live.js");

/// A page: `head` is more of its head, `main` its content, both as HTML. Hidden characters of foreign text are replaced.
fn page(title: &str, head: &str, main: &str) -> String {
    let page = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<title>{} · natmeter</title>\n\
         <link rel=\"icon\" href=\"data:,\">\n<link rel=\"stylesheet\" href=\"/style.css\">\n{head}</head>\n<body>\n\
         <header><a href=\"/\">natmeter</a></header>\n<main>\n{main}</main>\n</body>\n</html>\n",
        e(title)
    );
    printable(&page).into_owned()
}

pub(super) fn failed(status: StatusCode, why: &str) -> Response<String> {
    let title = e(status.canonical_reason().unwrap_or("Error"));
    let main = format!("<h1>{title}</h1>\n<p>{}.</p>\n<p><a href=\"/\">All runs</a></p>\n", prose(why));
    with_status(status, HTML, page(&title, "", &main))
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
        let page = failed(StatusCode::NOT_FOUND, "no `<b>` \"in\" <script>\u{202e}").into_body();
        assert!(page.contains("<p>no <code>&lt;b&gt;</code> &quot;in&quot; &lt;script&gt;\u{fffd}.</p>"), "{page}");
    }
}
