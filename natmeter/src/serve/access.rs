//! Access: on localhost for every user of the machine, at another address for requests with the token. Tokens are compared in
//! constant time. On localhost, the `Host` of a request must be a name of localhost, so that other web pages cannot read the runs
//! through the browser.

use hyper::HeaderMap;
use hyper::header::{AUTHORIZATION, COOKIE, HOST};
use std::fmt::Write;
use std::fs::File;
use std::io::{self, Read};
use std::net::IpAddr;
use std::path::Path;
use subtle::ConstantTimeEq;

/// Octets of a new token.
const OCTETS: usize = 16;
/// Characters that a token in a file has at least.
const CHARACTERS: usize = 16;
/// Largest file of a token, octets.
const FILE_AT_MOST: u64 = 4096;

/// The access to the pages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Access {
    /// Every request to a name of localhost.
    Local,
    /// Requests with this token.
    Token(String),
}

/// Why a token is not used.
#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    /// It cannot be read.
    #[error("{0}")]
    Read(#[from] io::Error),
    /// It is not one.
    #[error(
        "the file has no token: write one line of at least {CHARACTERS} letters, digits, `-`, `_` or `.`, such as `openssl rand -hex 16` \
         prints"
    )]
    NoToken,
}

/// The verdict on a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It has access.
    Granted,
    /// It has no token, or a wrong one.
    NoToken,
    /// It is for another host.
    OtherHost,
}

impl Access {
    /// Returns the verdict on a request with these headers.
    pub(super) fn of(&self, headers: &HeaderMap) -> Verdict {
        match self {
            Access::Local if is_local(headers) => Verdict::Granted,
            Access::Local => Verdict::OtherHost,
            Access::Token(_) if given(headers).any(|token| self.is_token(token)) => Verdict::Granted,
            Access::Token(_) => Verdict::NoToken,
        }
    }

    /// Whether this is the token. The time tells at most whether the lengths are equal.
    pub(super) fn is_token(&self, given: &str) -> bool {
        match self {
            Access::Local => false,
            Access::Token(token) => token.as_bytes().ct_eq(given.as_bytes()).into(),
        }
    }
}

/// Name of the cookie that holds the token.
pub(super) const TOKEN_COOKIE: &str = "natmeter-token";

/// Tokens of a request: as a bearer token (RFC 6750) or in the cookie.
fn given(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    let bearer = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok()?.strip_prefix("Bearer "));
    let cookies = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    let pairs = cookies.flat_map(|cookies| cookies.split("; ")).filter_map(|cookie| cookie.split_once('='));
    bearer.into_iter().chain(pairs.filter(|(name, _)| *name == TOKEN_COOKIE).map(|(_, token)| token))
}

/// Whether a request names localhost.
fn is_local(headers: &HeaderMap) -> bool {
    let Some(host) = headers.get(HOST).and_then(|host| host.to_str().ok()) else { return false };
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|c| c.is_ascii_digit()) => name,
        _ => host,
    };
    let address = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
    name.eq_ignore_ascii_case("localhost") || address.parse().is_ok_and(|address: IpAddr| address.is_loopback())
}

/// Returns a new random token of 128 bits.
///
/// # Errors
/// If the kernel's random numbers cannot be read.
pub fn new_token() -> io::Result<String> {
    let mut octets = [0; OCTETS];
    File::open("/dev/urandom")?.read_exact(&mut octets)?;
    Ok(octets.iter().fold(String::new(), |mut text, octet| {
        let _ = write!(text, "{octet:02x}");
        text
    }))
}

/// Reads the token in a file.
///
/// # Errors
/// If the file cannot be read, or if its content is no token.
pub fn token_of(file: &Path) -> Result<String, TokenError> {
    let mut text = String::new();
    File::open(file)?.take(FILE_AT_MOST).read_to_string(&mut text)?;
    let token = text.trim();
    let is_plain = token.bytes().all(|c| c.is_ascii_alphanumeric() || b"-_.".contains(&c));
    if is_plain && token.len() >= CHARACTERS { Ok(token.to_owned()) } else { Err(TokenError::NoToken) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::header::{HeaderName, HeaderValue};

    fn headers(pairs: &[(HeaderName, &str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.clone(), HeaderValue::from_str(value).unwrap())).collect()
    }

    #[test]
    fn only_names_of_localhost_are_local() {
        for host in ["localhost", "LOCALHOST:8064", "127.0.0.1", "127.9.9.9:1", "[::1]:8064", "[::1]"] {
            assert_eq!(Access::Local.of(&headers(&[(HOST, host)])), Verdict::Granted, "{host}");
        }
        for host in ["example.org", "localhost.example.org:8064", "192.0.2.1", "[2001:db8::1]:80", "", "127.0.0.1:x"] {
            assert_eq!(Access::Local.of(&headers(&[(HOST, host)])), Verdict::OtherHost, "{host}");
        }
        assert_eq!(Access::Local.of(&HeaderMap::new()), Verdict::OtherHost);
    }

    #[test]
    fn a_token_grants_access_from_header_or_cookie() {
        let token = new_token().unwrap();
        assert!(token.len() == 32 && token != new_token().unwrap());
        let access = Access::Token(token.clone());
        let (bearer, cookie) = (format!("Bearer {token}"), format!("a=b; {TOKEN_COOKIE}={token}"));
        for right in [headers(&[(AUTHORIZATION, &bearer)]), headers(&[(COOKIE, &cookie)])] {
            assert_eq!(access.of(&right), Verdict::Granted);
        }
        let wrong = format!("Bearer {}x", &token[..31]);
        for wrong in [headers(&[(AUTHORIZATION, &wrong)]), headers(&[(AUTHORIZATION, &token)]), HeaderMap::new()] {
            assert_eq!(access.of(&wrong), Verdict::NoToken);
        }
        assert!(!access.is_token("") && access.is_token(&token) && !Access::Local.is_token(""));
    }

    #[test]
    fn a_file_holds_one_token() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let read = |text: &str| {
            std::fs::write(file.path(), text).unwrap();
            token_of(file.path()).ok()
        };
        assert_eq!(read("0123456789abcdef\n").as_deref(), Some("0123456789abcdef"));
        for wrong in
            ["", "short\n", "0123456789abcdef 0123", "0123456789abcdef;x=y", "0123456789abcdef\n0123456789abcdef"]
        {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }
}
