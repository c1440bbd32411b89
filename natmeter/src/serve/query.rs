//! The path and the query of a request, decoded.

use hyper::Uri;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

/// What a path segment has in plain: all that natmeter gives to names of runs.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.');
/// Most parameters; further ones are ignored.
const PARAMETERS: usize = 32;

pub(super) fn encoded(name: &str) -> String {
    utf8_percent_encode(name, PLAIN).to_string()
}

/// `None` if a segment is not UTF-8.
pub(super) fn segments(uri: &Uri) -> Option<Vec<String>> {
    let path = uri.path().strip_prefix('/').unwrap_or_default();
    path.split('/').map(|part| Some(percent_decode_str(part).decode_utf8().ok()?.into_owned())).collect()
}

/// Parameters in order.
pub(super) struct Query(Vec<(String, String)>);

impl Query {
    pub(super) fn of(uri: &Uri) -> Query {
        let text = uri.query().unwrap_or_default();
        Query(form_urlencoded::parse(text.as_bytes()).into_owned().take(PARAMETERS).collect())
    }

    pub(super) fn get<'a>(&'a self, name: &'a str) -> Option<&'a str> {
        self.all(name).next()
    }

    pub(super) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter(move |(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The query with its question mark; empty without parameters.
    pub(super) fn without(&self, name: &str) -> String {
        let kept = self.0.iter().filter(|(known, _)| known != name);
        let text = form_urlencoded::Serializer::new(String::new()).extend_pairs(kept).finish();
        if text.is_empty() { text } else { format!("?{text}") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_and_queries_are_decoded_once() {
        let uri: Uri = "/run/a%2Fb/%252e?q=x+y%26&run=a&run=b&token=t".parse().unwrap();
        assert_eq!(segments(&uri).unwrap(), ["run", "a/b", "%2e"]);
        let query = Query::of(&uri);
        assert_eq!((query.get("q"), query.get("none")), (Some("x y&"), None));
        assert_eq!(query.all("run").collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(query.without("token"), "?q=x+y%26&run=a&run=b");
        assert_eq!(segments(&"/%ff".parse().unwrap()), None);
        assert_eq!(encoded("a/b ü.c-d_e"), "a%2Fb%20%C3%BC.c-d_e");
    }
}
