//! The pages, and what lies outside the folder.

use crate::program::{natmeter, stderr, top};
use crate::server::{Server, copy, two_runs};
use record::report::KNOWN;
use record::store::{EVENTS, HEADER, RESULTS, TRIALS};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

#[test]
fn the_list_names_runs_and_damage() {
    let runs = two_runs();
    fs::write(copy("version1/map-t", runs.path(), "damaged <b>").join(HEADER), "{").unwrap();
    let server = Server::over(runs.path());
    let list = server.get("/");
    assert_eq!((list.status, list.header("content-type")), (200, Some("text/html; charset=utf-8")), "{list:?}");
    for part in ["href=\"/run/map-t/\"", "href=\"/run/simulated/\"", "damaged &lt;b&gt;", "run.json, line 1", "3 runs."]
    {
        assert!(list.body.contains(part), "{part}: {}", list.body);
    }
    let some = server.get("/?q=%3CB&state=damaged");
    assert!(some.body.contains("1 of 3 runs.") && !some.body.contains("/run/simulated/"), "{}", some.body);
    assert!(some.body.contains("<option selected>damaged"), "{}", some.body);
    // A run that appears later is in the next list.
    copy("version1/map-t", runs.path(), "later");
    assert!(server.get("/").body.contains("/run/later/"));
}

#[test]
fn a_filter_selects_by_words_and_state() {
    let runs = two_runs();
    fs::write(copy("version1/map-t", runs.path(), "damaged").join(HEADER), "{").unwrap();
    let partial = copy("rules2/simulated", runs.path(), "partial");
    fs::write(partial.join(RESULTS), "").unwrap();
    fs::remove_file(copy("rules2/simulated", runs.path(), "c<").join(EVENTS)).unwrap();
    let server = Server::over(runs.path());
    for (query, names) in [
        ("", vec!["c<", "damaged", "map-t", "partial", "simulated"]),
        ("q=SIMUL", vec!["c<", "partial", "simulated"]),
        ("state=partial", vec!["partial"]),
        ("q=simulated&state=complete", vec!["simulated"]),
        ("state=damaged", vec!["damaged"]),
        ("state=unfinished", vec!["c<"]),
    ] {
        let list: serde_json::Value = serde_json::from_str(&server.get(&format!("/runs.json?{query}")).body).unwrap();
        assert_eq!(list["format_version"], 1);
        let mut found: Vec<&str> =
            list["runs"].as_array().unwrap().iter().map(|run| run["name"].as_str().unwrap()).collect();
        found.sort_unstable();
        assert_eq!(found, names, "{query}");
    }
    let page = server.get("/?state=unfinished").body;
    assert!(page.contains("/run/c%3C/live\"") && page.contains("c&lt;</a>"), "{page}");
}

#[test]
fn a_long_list_is_cut() {
    let runs = tempfile::tempdir().unwrap();
    for run in 0..250 {
        let folder = runs.path().join(format!("r{run}"));
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join(HEADER), "{").unwrap();
    }
    let server = Server::over(runs.path());
    for (query, shown, count) in [("", 200, "The first 200 of 250 runs."), ("?q=r1", 111, "111 of 250 runs.")] {
        let page = server.get(&format!("/{query}")).body;
        assert_eq!((page.matches("<li>").count(), page.contains(count)), (shown, true), "{query}: {page}");
    }
}

#[test]
fn a_run_has_its_page_and_every_format() {
    let runs = two_runs();
    let server = Server::over(runs.path());
    let page = server.get("/run/simulated/");
    assert_eq!(page.status, 200, "{page:?}");
    assert_eq!(server.get("/run/simulated").header("location"), Some("/run/simulated/"));
    for format in KNOWN {
        assert!(page.body.contains(&format!("href=\"report/{}\"", format.name)), "{}", format.name);
        let report = server.get(&format!("/run/simulated/report/{}", format.name));
        assert_eq!(report.status, 200, "{}", format.name);
        let file = format!("simulated.{}\"", format.extension);
        assert!(report.header("content-disposition").unwrap().ends_with(&file), "{}", report.head);
        let run = crate::server::recorded("rules2/simulated");
        let expected = record::report::Report::from_folder(&run, tech::ALL).unwrap().render(format.name).unwrap();
        assert!(report.body == expected, "{}", format.name);
    }
    assert!(server.get("/run/simulated/scenario.toml").body.contains("name ="));
    assert_eq!(server.get("/run/simulated/report/pdf").status, 404);
}

#[test]
fn a_damaged_run_is_named_on_its_page() {
    let runs = two_runs();
    let path = copy("rules2/simulated", runs.path(), "torn");
    let trials = fs::read_to_string(path.join(TRIALS)).unwrap();
    let lines: Vec<&str> = trials.lines().collect();
    fs::write(path.join(TRIALS), lines[..2].iter().chain(&lines[3..]).flat_map(|l| [*l, "\n"]).collect::<String>())
        .unwrap();
    let server = Server::over(runs.path());
    assert!(server.get("/run/torn/").body.contains("1 trial is missing before trial 3"));
    fs::write(path.join(TRIALS), "{}\n").unwrap();
    let page = server.get("/run/torn/").body;
    assert!(page.contains("This run cannot be read: trials.jsonl, line 1"), "{page}");
    assert!(!page.contains(runs.path().to_str().unwrap()), "the page tells where the folder is: {page}");
}

#[test]
fn two_runs_stand_side_by_side() {
    let runs = two_runs();
    copy("rules2/simulated", runs.path(), "again");
    let server = Server::over(runs.path());
    let page = server.get("/compare?run=simulated&run=again");
    assert_eq!(page.status, 200);
    for name in ["simulated", "again"] {
        assert!(page.body.contains(&format!("<th scope=\"col\" class=\"words\">{name}</th>")), "{}", page.body);
    }
    assert!(!page.body.contains("not in this run") && !page.body.contains("Conditions that differ"));
    let unlike = server.get("/compare?run=simulated&run=map-t").body;
    assert!(unlike.contains("not in this run") && unlike.contains("Conditions that differ"), "{unlike}");
    for wrong in ["/compare", "/compare?run=simulated", "/compare?run=a&run=b&run=c"] {
        assert_eq!(server.get(wrong).status, 400, "{wrong}");
    }
    assert_eq!(server.get("/compare?run=simulated&run=..%2Fetc").status, 404);
}

/// A merged folder of two copies of one run.
fn merged(runs: &Path) -> PathBuf {
    let folder = runs.join("merged");
    let parts = folder.join("parts");
    fs::create_dir_all(&parts).unwrap();
    copy("rules2/simulated", &parts, "1-a");
    copy("rules2/simulated", &parts, "2-b");
    let text = r#"{"record":3,"version":"0.1.0","alike":false,"parts":["1-a","2-b"]}"#;
    fs::write(folder.join("merge.json"), text).unwrap();
    folder
}

#[test]
fn a_merged_folder_has_its_report() {
    let runs = two_runs();
    let folder = merged(runs.path());
    let server = Server::over(runs.path());
    let list = server.get("/").body;
    assert!(list.contains("href=\"/run/merged/\"") && list.contains("merged: 2 runs"), "{list}");
    let page = server.get("/run/merged/").body;
    assert!(page.contains("was also measured in 2-b") && !page.contains("href=\"live\""), "{page}");
    assert_eq!(server.get("/run/merged/report/json").status, 200);
    assert_eq!(server.get("/run/merged/scenario.toml").status, 200);
    assert!(server.get("/run/merged/live").body.contains("only a single run has a live view"));
    // No link below it is followed.
    let trials = folder.join("parts/2-b/trials.jsonl");
    fs::remove_file(&trials).unwrap();
    symlink(folder.join("parts/1-a/trials.jsonl"), &trials).unwrap();
    let why = server.get("/run/merged/").body;
    assert!(why.contains("parts/2-b/trials.jsonl is a symbolic link, not a regular file"), "{why}");
}

#[test]
fn every_answer_forbids_foreign_scripts() {
    let runs = two_runs();
    let server = Server::over(runs.path());
    for path in ["/", "/run/simulated/", "/run/simulated/live", "/run/simulated/report/html", "/nowhere", "/style.css"]
    {
        let answer = server.get(path);
        let policy = answer.header("content-security-policy").unwrap();
        assert!(
            policy.starts_with("default-src 'none'") && policy.contains("frame-ancestors 'none'"),
            "{path}: {policy}"
        );
        assert!(!policy.contains("script-src 'unsafe"), "{path}: {policy}");
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"), "{path}");
        assert_eq!(answer.header("cache-control"), Some("no-store"), "{path}");
    }
}

#[test]
fn nothing_outside_the_folder_is_answered() {
    let (runs, outside) = (two_runs(), two_runs());
    symlink(outside.path().join("simulated"), runs.path().join("link")).unwrap();
    let with_link = copy("rules2/simulated", runs.path(), "with-link");
    fs::remove_file(with_link.join(TRIALS)).unwrap();
    symlink("/etc/passwd", with_link.join(TRIALS)).unwrap();
    fs::create_dir(runs.path().join(".hidden")).unwrap();
    let server = Server::over(runs.path());
    let back = runs.path().file_name().unwrap().to_str().unwrap();
    for path in [
        "/../../../../etc/passwd",
        "/run/../../../../etc/passwd",
        "/run/%2e%2e/",
        "/run/%2e%2e%2f%2e%2e%2fetc%2fpasswd",
        "/run/..%2f..%2f..%2fetc/report/text",
        "/run//etc/passwd",
        "/run/%2fetc/",
        "/run/simulated%00/",
        "/run/simulated/../../../etc/passwd",
        "/run/simulated/run.json",
        "/run/simulated/report/..%2ftrials.jsonl",
        "/run/simulated/scenario.toml/",
        "/run/link/",
        "/run/link/report/text",
        "/run/link/events",
        "/run/.hidden/",
        "/run/./",
        "/run/simulated/%2e%2e/map-t/run.json",
        "//etc/passwd",
        &format!("/run/..%2f{back}%2fsimulated/"),
        "/run/%ff/",
    ] {
        let answer = server.get(path);
        assert_eq!(answer.status, 404, "{path}: {answer:?}");
        assert!(!answer.body.contains("root:"), "{path}");
    }
    let page = server.get("/run/with-link/").body;
    assert!(page.contains("trials.jsonl is a symbolic link") && !page.contains("root:"), "{page}");
    assert_eq!(server.get("/run/with-link/report/text").status, 404);
    assert!(server.get("/").body.contains("trials.jsonl is a symbolic link"));
}

#[test]
fn other_methods_hosts_and_sizes_are_refused() {
    let runs = two_runs();
    let server = Server::over(runs.path());
    for method in ["POST", "PUT", "DELETE", "OPTIONS", "TRACE"] {
        let request = format!("{method} / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
        assert_eq!(server.send(&request).status, 405, "{method}");
    }
    let head = server.send("HEAD / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    assert!(head.status == 200 && head.body.is_empty(), "{head:?}");
    let status = |host: &str| server.send(&format!("GET /style.css HTTP/1.1\r\nHost: {host}\r\n\r\n")).status;
    for local in ["localhost", "LOCALHOST:8064", "127.0.0.1", "127.9.9.9:1", "[::1]:8064", "[::1]"] {
        assert_eq!(status(local), 200, "{local}");
    }
    for other in ["example.org", "localhost.example.org:8064", "192.0.2.1", "[2001:db8::1]:80", "", "127.0.0.1:x"] {
        assert_eq!(status(other), 421, "{other}");
    }
    assert_eq!(server.send("GET / HTTP/1.1\r\n\r\n").status, 421);
    for (target, hosts, expected) in [
        ("/", "Host: localhost\r\nHost: example.org\r\n", 400),
        ("/", "Host: localhost\r\nHost: localhost\r\n", 400),
        ("http://example.org/", "Host: localhost\r\n", 400),
        ("http://localhost/", "", 400),
        ("http://localhost/", "Host: LOCALHOST\r\n", 200),
        ("http://example.org/", "Host: example.org\r\n", 421),
    ] {
        assert_eq!(server.send(&format!("GET {target} HTTP/1.1\r\n{hosts}\r\n")).status, expected, "{target} {hosts}");
    }
    let status = fs::read_to_string(format!("/proc/{}/status", server.id())).unwrap();
    assert!(status.contains("CapEff:\t0000000000000000"), "{status}");
    let long = format!("GET /{} HTTP/1.1\r\nHost: localhost\r\n\r\n", "x".repeat(100_000));
    assert!(matches!(server.send(&long).status, 0 | 400 | 414 | 431));
    let many = format!("GET / HTTP/1.1\r\nHost: localhost\r\n{}\r\n", "a: b\r\n".repeat(200));
    assert!(matches!(server.send(&many).status, 0 | 400 | 431));
    assert_eq!(server.get("/").status, 200);
}

#[test]
fn wrong_arguments_are_explained() {
    let runs = two_runs();
    let serve = |arguments: &[&str]| {
        let output = natmeter(&top(), &[&["serve"], arguments].concat());
        (output.status.code(), stderr(&output))
    };
    let run = runs.path().join("simulated");
    let (code, said) = serve(&[run.to_str().unwrap()]);
    assert!(code == Some(2) && said.contains("is one run; name the folder of runs"), "{said}");
    let (code, said) = serve(&["/nowhere"]);
    assert!(code == Some(2) && said.contains("name the folder in which run folders are"), "{said}");
    let taken = Server::over(runs.path());
    let (code, said) = serve(&[runs.path().to_str().unwrap(), "--listen", &taken.address.to_string()]);
    assert!(code == Some(2) && said.contains("name another address or port with --listen"), "{said}");
}
