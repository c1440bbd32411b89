//! Answers: a text with its headers. Every answer forbids scripts other than the server's own, frames, and MIME sniffing.

use hyper::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, HeaderValue, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use hyper::{Response, StatusCode};

pub(super) const HTML: &str = "text/html; charset=utf-8";
pub(super) const JSON: &str = "application/json";
/// Content type that no browser executes.
pub(super) const TEXT: &str = "text/plain; charset=utf-8";

const OF_PAGES: &str = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src data:; \
                        base-uri 'none'; form-action 'self'; frame-ancestors 'none'";
const OF_REPORTS: &str = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; \
                          form-action 'none'; frame-ancestors 'none'";

pub(super) fn ok(content_type: &'static str, text: impl Into<String>) -> Response<String> {
    with_status(StatusCode::OK, content_type, text)
}

/// Returns a report in a format with this extension, and whether browsers show it themselves.
pub(super) fn report(extension: &str, text: String) -> (Response<String>, bool) {
    match extension {
        "html" => (with_header(ok(HTML, text), CONTENT_SECURITY_POLICY, OF_REPORTS), true),
        "json" => (ok(JSON, text), false),
        "csv" => (ok("text/csv; charset=utf-8", text), false),
        _ => (ok(TEXT, text), false),
    }
}

pub(super) fn with_status(status: StatusCode, content_type: &'static str, text: impl Into<String>) -> Response<String> {
    let mut response = Response::new(text.into());
    *response.status_mut() = status;
    for (name, value) in [
        (CONTENT_TYPE, content_type),
        (CONTENT_SECURITY_POLICY, OF_PAGES),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (X_FRAME_OPTIONS, "DENY"),
        (REFERRER_POLICY, "no-referrer"),
        (CACHE_CONTROL, "no-store"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    ] {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

/// Sets a header; a value that no header can have is left out.
pub(super) fn with_header(mut response: Response<String>, name: HeaderName, value: &str) -> Response<String> {
    if let Ok(value) = HeaderValue::from_str(value) {
        response.headers_mut().insert(name, value);
    }
    response
}
