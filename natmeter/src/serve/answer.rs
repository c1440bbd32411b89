//! Answers: a body with its headers. Every answer forbids scripts other than the server's own, frames, and MIME sniffing.

use super::live::Events;
use hyper::body::{Body as HttpBody, Bytes, Frame, SizeHint};
use hyper::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, HeaderValue, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use hyper::{Response, StatusCode};
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

/// Pages of the server: its own style and script, and its events.
const OF_PAGES: &str = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src data:; \
                        base-uri 'none'; form-action 'self'; frame-ancestors 'none'";
/// Reports: styles and pictures inside the file, and no script.
const OF_REPORTS: &str = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; \
                          form-action 'none'; frame-ancestors 'none'";

/// Kinds of content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A page of the server.
    Page,
    /// A report as a page.
    Report,
    /// Style sheet.
    Style,
    /// Script.
    Script,
    /// JSON.
    Json,
    /// Comma-separated values.
    Csv,
    /// Text.
    Text,
    /// Server-sent events.
    Events,
}

impl Kind {
    /// The kind of a report in a format with this extension. A format without an entry is text, which no browser executes.
    pub(super) fn of_report(extension: &str) -> Kind {
        match extension {
            "html" => Kind::Report,
            "json" => Kind::Json,
            "csv" => Kind::Csv,
            _ => Kind::Text,
        }
    }

    fn content_type(self) -> &'static str {
        match self {
            Kind::Page | Kind::Report => "text/html; charset=utf-8",
            Kind::Style => "text/css; charset=utf-8",
            Kind::Script => "text/javascript; charset=utf-8",
            Kind::Json => "application/json",
            Kind::Csv => "text/csv; charset=utf-8",
            Kind::Text => "text/plain; charset=utf-8",
            Kind::Events => "text/event-stream",
        }
    }
}

/// The body of an answer.
pub(super) enum Body {
    /// All of it.
    Whole(Option<Bytes>),
    /// Events of a run, as they happen.
    Events(Box<Events>),
}

impl HttpBody for Body {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let frame = |text: Bytes| Ok(Frame::data(text));
        match &mut *self {
            Body::Whole(text) => Poll::Ready(text.take().map(frame)),
            Body::Events(events) => events.poll().map(|text| text.map(|text| frame(text.into()))),
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Body::Whole(None))
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Body::Whole(text) => SizeHint::with_exact(text.as_ref().map_or(0, |text| text.len() as u64)),
            Body::Events(_) => SizeHint::default(),
        }
    }
}

/// Whether an answer is a stream of events.
pub(super) fn is_stream(response: &Response<Body>) -> bool {
    matches!(response.body(), Body::Events(_))
}

/// Whether an answer refuses a client that has no access.
pub(super) fn is_refusal(response: &Response<Body>) -> bool {
    matches!(response.status(), StatusCode::UNAUTHORIZED | StatusCode::MISDIRECTED_REQUEST)
}

/// Returns a successful answer.
pub(super) fn ok(kind: Kind, text: impl Into<Bytes>) -> Response<Body> {
    with_status(StatusCode::OK, kind, Body::Whole(Some(text.into())))
}

/// Returns an answer with this status.
pub(super) fn with_status(status: StatusCode, kind: Kind, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let policy = if kind == Kind::Report { OF_REPORTS } else { OF_PAGES };
    for (name, value) in [
        (CONTENT_TYPE, kind.content_type()),
        (CONTENT_SECURITY_POLICY, policy),
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

/// Sets a header whose value depends on the request; a value that no header can have is left out.
pub(super) fn with_header(mut response: Response<Body>, name: HeaderName, value: &str) -> Response<Body> {
    if let Ok(value) = HeaderValue::from_str(value) {
        response.headers_mut().insert(name, value);
    }
    response
}
