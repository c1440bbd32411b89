//! Tokens: without the right one, every path answers 401.

use crate::program::{natmeter, stderr};
use crate::server::{Server, two_runs};
use std::fs;

const TOKEN: &str = "0123456789abcdef0123";

#[test]
fn requests_without_the_token_are_refused() {
    let runs = two_runs();
    let file = runs.path().join("token.txt");
    fs::write(&file, format!("{TOKEN}\n")).unwrap();
    let server = Server::with(runs.path(), &["--listen", "127.0.0.1:0", "--token-file", file.to_str().unwrap()]);
    // The output does not contain a token that was read from a file.
    assert!(server.url.ends_with('/') && !server.url.contains(TOKEN), "{}", server.url);
    for path in
        ["/", "/style.css", "/run/simulated/", "/run/simulated/live", "/nowhere", "/?token=0123456789abcdef0124"]
    {
        let answer = server.get(path);
        assert_eq!((answer.status, answer.header("www-authenticate").is_some()), (401, true), "{path}: {answer:?}");
        assert!(!answer.body.contains("simulated"), "{path}");
    }
    for wrong in
        ["Authorization: Bearer 0123456789abcdef0124\r\n", "Cookie: natmeter-token=\r\n", "Authorization: Bearer\r\n"]
    {
        assert_eq!(server.get_with("/", wrong).status, 401, "{wrong}");
    }
    for right in [format!("Authorization: Bearer {TOKEN}\r\n"), format!("Cookie: a=b; natmeter-token={TOKEN}\r\n")] {
        assert_eq!(server.get_with("/", &right).status, 200, "{right}");
    }
}

#[test]
fn a_file_without_a_token_is_refused() {
    let runs = two_runs();
    let file = runs.path().join("token.txt");
    for wrong in ["", "short\n", "0123456789abcdef 0123", "0123456789abcdef;x=y", "0123456789abcdef\n0123456789abcdef"]
    {
        fs::write(&file, wrong).unwrap();
        let output = natmeter(runs.path(), &["serve", ".", "--token-file", file.to_str().unwrap()]);
        assert_eq!(output.status.code(), Some(2), "{wrong}");
        assert!(stderr(&output).contains("the file has no token: write one line"), "{wrong}");
    }
}

#[test]
fn a_refused_client_loses_its_connection() {
    let runs = two_runs();
    let file = runs.path().join("token.txt");
    fs::write(&file, TOKEN).unwrap();
    let with_token = Server::with(runs.path(), &["--listen", "127.0.0.1:0", "--token-file", file.to_str().unwrap()]);
    let local = Server::over(runs.path());
    for (server, method, status) in
        [(&with_token, "GET", 401), (&with_token, "POST", 401), (&local, "GET", 421), (&local, "POST", 421)]
    {
        let answer = server.send(&format!("{method} / HTTP/1.1\r\nHost: example.org\r\n\r\n"));
        assert_eq!((answer.status, answer.header("connection")), (status, Some("close")), "{method}: {answer:?}");
    }
}

#[test]
fn an_address_with_the_token_leaves_it_in_a_cookie() {
    let runs = two_runs();
    // A new token, because the address is not localhost.
    let server = Server::with(runs.path(), &["--listen", "0.0.0.0:0"]);
    let (_, token) = server.url.split_once("?token=").unwrap();
    assert_eq!(token.len(), 32);
    let answer = server.get(&format!("//example.org/?q=a&token={token}"));
    assert_eq!((answer.status, answer.header("location")), (303, Some("/example.org/?q=a")), "{answer:?}");
    let cookie = answer.header("set-cookie").unwrap();
    assert_eq!(cookie, format!("natmeter-token={token}; Path=/; HttpOnly; SameSite=Strict"));
    assert_eq!(server.get("/").status, 401);
    let (pair, _) = cookie.split_once(';').unwrap();
    assert_eq!(server.get_with("/", &format!("Cookie: {pair}\r\n")).status, 200);
}
