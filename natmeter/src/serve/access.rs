//! Access: on localhost for every user of the machine, at another address for requests with the token. On localhost, the `Host`
//! of a request must be a name of localhost, so that other web pages cannot read the runs through the browser.

use super::answer::{HTML, with_header, with_status};
use super::page;
use hyper::header::{AUTHORIZATION, COOKIE, HOST, HeaderMap, HeaderValue, WWW_AUTHENTICATE};
use hyper::{Response, StatusCode, Uri};
use std::fs::File;
use std::io::{self, Read};
use std::net::IpAddr;
use std::path::Path;
use subtle::ConstantTimeEq;

/// Least characters of a token in a file.
const CHARACTERS: usize = 16;
pub(super) const TOKEN_COOKIE: &str = "natmeter-token";

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// Requests to a name of localhost.
    Local,
    /// Requests with this token.
    Token(String),
}

impl Access {
    /// Returns the answer to a request that has no access.
    pub(super) fn refuse(&self, headers: &HeaderMap) -> Option<Response<String>> {
        match self {
            Access::Local if is_local(headers) => None,
            Access::Local => {
                Some(page::failed(StatusCode::MISDIRECTED_REQUEST, "the request is for another host: use localhost"))
            }
            Access::Token(_) if given(headers).any(|token| self.is_token(token)) => None,
            Access::Token(_) => {
                let answer = with_status(StatusCode::UNAUTHORIZED, HTML, page::log_in());
                Some(with_header(answer, WWW_AUTHENTICATE, "Bearer realm=\"natmeter\""))
            }
        }
    }

    /// Compares tokens in constant time, unless the lengths differ.
    pub(super) fn is_token(&self, given: &str) -> bool {
        match self {
            Access::Local => false,
            Access::Token(token) => token.as_bytes().ct_eq(given.as_bytes()).into(),
        }
    }
}

/// The bearer token (RFC 6750) and the cookie.
fn given(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    let bearer = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok()?.strip_prefix("Bearer "));
    let cookies = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    let pairs = cookies.flat_map(|cookies| cookies.split("; ")).filter_map(|cookie| cookie.split_once('='));
    bearer.into_iter().chain(pairs.filter(|(name, _)| *name == TOKEN_COOKIE).map(|(_, token)| token))
}

/// Whether it is open for which host a request is: it has several `Host` lines (RFC 9112, section 3.2), or names another one in
/// its target.
pub(super) fn is_ambiguous(uri: &Uri, headers: &HeaderMap) -> bool {
    let mut hosts = headers.get_all(HOST).iter().map(HeaderValue::as_bytes);
    let (first, second) = (hosts.next(), hosts.next());
    let target = uri.authority().map(|authority| authority.as_str().as_bytes());
    second.is_some() || target.is_some_and(|target| !first.is_some_and(|first| first.eq_ignore_ascii_case(target)))
}

fn is_local(headers: &HeaderMap) -> bool {
    let Some(host) = headers.get(HOST).and_then(|host| host.to_str().ok()) else { return false };
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|c| c.is_ascii_digit()) => name,
        _ => host,
    };
    let address = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
    name.eq_ignore_ascii_case("localhost") || address.parse().is_ok_and(|address: IpAddr| address.is_loopback())
}

pub(crate) fn new_token() -> io::Result<String> {
    let mut octets = [0; 16];
    File::open("/dev/urandom")?.read_exact(&mut octets)?;
    Ok(format!("{:032x}", u128::from_ne_bytes(octets)))
}

pub(crate) fn token_of(file: &Path) -> Result<String, String> {
    let mut text = String::new();
    let read = File::open(file).and_then(|file| file.take(4096).read_to_string(&mut text));
    read.map_err(|error| error.to_string())?;
    let token = text.trim();
    let is_plain = token.bytes().all(|c| c.is_ascii_alphanumeric() || b"-_.".contains(&c));
    if !is_plain || token.len() < CHARACTERS {
        return Err(format!(
            "the file has no token: write one line of at least {CHARACTERS} letters, digits, `-`, `_` or `.`, such as \
             `openssl rand -hex 16` prints"
        ));
    }
    Ok(token.to_owned())
}
