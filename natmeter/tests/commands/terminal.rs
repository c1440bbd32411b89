//! The live view of a run on a pseudo terminal, which `script` of util-linux makes: its screen is derived from the octets that
//! natmeter writes. Every screen in between is one that a user could have seen.

use crate::program::NATMETER;
use std::io::{Read, Write};
use std::num::NonZero;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use vt100::Parser;

const SCENARIO: &str = "name = \"sim\"\n[dut.simulated]\ncapacity = \"3 Mfps\"\nset-up-rate = \"700k\"\n[sweep]\n\
                        connections = [\"100k\"]\n[measure]\nmetrics = [\"max_conn_est_rate\", \"throughput\"]\n\
                        duration = \"100 ms\"\nerror = \"1 %\"\n";

/// `natmeter run` on a terminal of this size. On Ctrl-C the terminal keeps what it has not shown yet (`noflsh`), so that the screen
/// depends on natmeter alone.
fn run(runs: &Path, (lines, columns): (u16, u16), options: &str, environment: &[(&str, &str)]) -> Child {
    let scenario = runs.join("sim.toml");
    std::fs::write(&scenario, SCENARIO).unwrap();
    let line = format!(
        "stty rows {lines} cols {columns} noflsh; exec '{NATMETER}' run --beside --runs '{}' {options} '{}'",
        runs.join("runs").display(),
        scenario.display()
    );
    let mut command = Command::new("env");
    command.args(["--default-signal=HUP,INT,TERM", "script", "-qefc", &line, "/dev/null"]);
    command.env("TERM", "xterm").env_remove("NO_COLOR").env_remove("CLICOLOR_FORCE").envs(environment.iter().copied());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("script of util-linux starts")
}

/// All octets of a run that ends by itself.
fn written(mut child: Child) -> Vec<u8> {
    let mut all = Vec::new();
    child.stdout.take().unwrap().read_to_end(&mut all).unwrap();
    // Its input stays open until then: `script` ends the program when it closes.
    assert!(child.wait().unwrap().success(), "{}", String::from_utf8_lossy(&all));
    all
}

fn terminal((lines, columns): (u16, u16)) -> Parser {
    let [lines, columns] = [lines, columns].map(|n| NonZero::new(n).unwrap());
    Parser::new(lines, columns, 0)
}

/// The screens before each erased line, and the last one.
fn screens(octets: &[u8], size: (u16, u16)) -> Vec<String> {
    let mut parser = terminal(size);
    let mut screens = Vec::new();
    for part in octets.split_inclusive(|octet| *octet == b'\x1b') {
        let (text, escape) = part.split_at(part.len() - usize::from(part.ends_with(b"\x1b")));
        parser.process(text);
        screens.push(parser.screen().contents());
        parser.process(escape);
    }
    screens.push(parser.screen().contents());
    screens
}

fn has_live_lines(screen: &str) -> bool {
    screen.lines().any(|line| line.contains("last: "))
}

/// The last screen with all live lines: the last of them names the time left.
fn with_live_lines(screens: &[String]) -> &str {
    screens.iter().rfind(|screen| has_live_lines(screen) && screen.contains(" left")).expect("a screen with live lines")
}

#[test]
fn a_terminal_shows_four_live_lines_and_keeps_none() {
    let _one_at_a_time = crate::the_machine();
    let dir = tempfile::tempdir().unwrap();
    let size = (24, 80);
    let screens = screens(&written(run(dir.path(), size, "--set repetitions=2", &[])), size);
    let live = with_live_lines(&screens);
    for part in [
        "/4]  ",
        "throughput  repetition 2  ",
        "  rate  ",
        "between ",
        "step ",
        "table 100 k of 100 k",
        " of 4 done  about ",
    ] {
        assert!(live.contains(part), "{part}: {live}");
    }
    // The live lines are the last ones, below the results.
    let lines: Vec<&str> = live.trim_end().lines().collect();
    assert!(lines[lines.len() - 4].starts_with('['), "{live}");
    let last = screens.last().unwrap();
    assert!(!last.contains("between ") && !has_live_lines(last) && last.contains("Report    "), "{last}");
    assert!(screens.iter().all(|screen| screen.matches("about").count() <= 3), "live lines are left behind");
}

#[test]
fn a_narrow_terminal_shows_shorter_lines() {
    let _one_at_a_time = crate::the_machine();
    let dir = tempfile::tempdir().unwrap();
    let size = (24, 40);
    let screens = screens(&written(run(dir.path(), size, "--set repetitions=1", &[])), size);
    let live = with_live_lines(&screens);
    let lines: Vec<&str> = live.trim_end().lines().collect();
    assert!(lines[lines.len() - 4].starts_with("[2/2] throughput"), "{live}");
    assert!(!has_live_lines(screens.last().unwrap()));
}

#[test]
fn ctrl_c_leaves_a_clean_terminal() {
    let _one_at_a_time = crate::the_machine();
    let dir = tempfile::tempdir().unwrap();
    let size = (24, 80);
    let mut child = run(dir.path(), size, "--set repetitions=1000", &[]);
    let (mut octets, mut block) = (Vec::new(), [0; 4096]);
    let mut output = child.stdout.take().unwrap();
    let mut is_asked = false;
    loop {
        let read = output.read(&mut block).unwrap_or(0);
        octets.extend_from_slice(&block[..read]);
        if read == 0 {
            break;
        }
        if !is_asked && String::from_utf8_lossy(&octets).contains("last: ") {
            child.stdin.as_mut().unwrap().write_all(b"\x03").unwrap();
            is_asked = true;
        }
    }
    assert_eq!(child.wait().unwrap().code(), Some(5));
    let mut parser = terminal(size);
    parser.process(&octets);
    let screen = parser.screen();
    let text = screen.contents();
    assert!(text.contains("interrupted; continue with `natmeter resume") && !has_live_lines(&text), "{text}");
    assert_eq!(screen.cursor_position().1, 0, "{text}");
    assert!(!screen.hide_cursor() && !screen.alternate_screen() && screen.fgcolor() == vt100::Color::Default);
}

#[test]
fn no_live_lines_without_a_terminal_that_replaces_lines_or_when_quiet() {
    let _one_at_a_time = crate::the_machine();
    let dir = tempfile::tempdir().unwrap();
    let text = |options: &str, environment: &[(&str, &str)]| {
        String::from_utf8(written(run(dir.path(), (24, 80), options, environment))).unwrap()
    };
    let dumb = text("--set repetitions=1", &[("TERM", "dumb")]);
    assert!(dumb.contains("measurements to do") && !dumb.contains("\x1b[2K") && !dumb.contains("last: "), "{dumb:?}");
    let quiet = text("--set repetitions=1 --quiet", &[]);
    assert!(!quiet.contains("last: ") && !quiet.contains("\x1b[2K"), "{quiet:?}");
    let json = text("--set repetitions=1 --json", &[]);
    assert!(json.lines().all(|line| line.starts_with('{')) && !json.contains('\x1b'), "{json:?}");
    let plain = text("--set repetitions=1", &[("NO_COLOR", "1")]);
    assert!(plain.contains("last: ") && !plain.contains("\x1b[32m") && !plain.contains("\x1b[2m"), "{plain:?}");
}
