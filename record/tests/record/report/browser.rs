//! The page in a browser: no error on its console, no serious fault found by axe-core, no sideways scrolling of the page on a
//! screen of 390 pixels, few pages on paper. `./check report-page` runs these tests.

use super::page::fully_observed;
use super::{examples, report};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The axe-core of the npm registry: its script.
const AXE: &str = "AXE_CORE";

/// Colour schemes that the page asks for.
const LIGHT: &str = "--blink-settings=preferredColorScheme=1";
const DARK: &str = "--blink-settings=preferredColorScheme=0";

/// Runs Chromium without a window.
fn chromium(home: &Path, arguments: &[&str], page: &Path) -> Output {
    let home = format!("--user-data-dir={}", home.display());
    Command::new("chromium")
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--allow-file-access-from-files",
            "--enable-logging=stderr",
        ])
        .args(["--virtual-time-budget=60000", &home])
        .args(arguments)
        .arg(format!("file://{}", page.display()))
        .output()
        .expect("chromium starts")
}

/// Lines that a page wrote to its console.
fn console(output: &Output) -> Vec<String> {
    let stderr = String::from_utf8_lossy(&output.stderr);
    stderr.lines().filter(|line| line.contains("CONSOLE")).map(str::to_owned).collect()
}

fn written(folder: &Path, name: &str, text: &str) -> PathBuf {
    let path = folder.join(name);
    fs::write(&path, text).unwrap();
    path
}

/// The folder of the pages. It stays, so that you can look at them.
fn folder() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("pages");
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// The pages: one with few figures, one with every kind.
fn pages() -> Vec<(&'static str, String)> {
    let kernel = examples().into_iter().find(|(name, _)| *name == "kernel").unwrap();
    [kernel, ("observed", fully_observed())].map(|(name, run)| (name, report(&run).render("html").unwrap())).into()
}

#[test]
#[ignore = "needs Chromium: run by ./check report-page"]
fn a_browser_shows_the_page_without_complaint() {
    let folder = folder();
    for (name, page) in pages() {
        let path = written(&folder, &format!("{name}.html"), &page);
        let output = chromium(&folder.join("home"), &["--dump-dom"], &path);
        let shown = String::from_utf8_lossy(&output.stdout);
        assert_eq!(console(&output), [""; 0], "{name}");
        assert_eq!(shown.matches("<svg").count(), page.matches("<svg").count(), "{name}");
        assert!(shown.matches("<svg").count() > 4, "{name}");
    }
}

/// Figures in pairs and tables in columns fill the pages.
#[test]
#[ignore = "needs Chromium: run by ./check report-page"]
fn paper_has_few_pages() {
    let folder = folder();
    for ((name, page), most) in pages().into_iter().zip([7, 12]) {
        let path = written(&folder, &format!("{name}.html"), &page);
        let pdf = folder.join("page.pdf");
        chromium(&folder.join("home"), &[&format!("--print-to-pdf={}", pdf.display())], &path);
        let pdf = fs::read(&pdf).unwrap();
        let pdf = String::from_utf8_lossy(&pdf);
        let pages = pdf.split("/Type /Page").skip(1).filter(|rest| !rest.starts_with('s')).count();
        assert!((1..=most).contains(&pages), "{name}: {pages} pages");
    }
}

/// Loads a page into a frame of 390 pixels, opens what can be opened, and writes what it found into the outer page.
const FRAME: &str = r#"<!doctype html><html lang="en"><title>x</title><body><iframe id="f" width="390" height="844" src="checked.html"></iframe>
<pre id="found"></pre><script>
addEventListener("message", e => { document.getElementById("found").textContent = "FOUND" + e.data + "DNUOF"; });
</script></body></html>"#;

const CHECK: &str = r#"<script>
addEventListener("load", async () => {
  document.querySelectorAll("details").forEach(d => d.open = true);
  const root = document.documentElement, sideways = root.scrollWidth - root.clientWidth, width = innerWidth;
  const { violations } = await axe.run(document, { resultTypes: ["violations"] });
  const faults = violations.map(v => `${v.impact}: ${v.id}: ${v.nodes.length}: ${v.nodes[0].html.slice(0, 300)}: ${v.nodes[0].failureSummary}`);
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  parent.postMessage(btoa(unescape(encodeURIComponent(JSON.stringify({ width, sideways, dark, faults })))), "*");
});
</script></body>"#;

#[test]
#[ignore = "needs Chromium and axe-core: run by ./check report-page"]
fn axe_finds_no_serious_fault_in_light_and_dark_on_a_small_screen() {
    let axe = axe();
    let folder = folder();
    for (name, page) in pages() {
        for (scheme, dark) in [(LIGHT, false), (DARK, true)] {
            let found = checked(&folder, &page, &axe, scheme);
            assert_eq!(found["dark"], dark, "{name}");
            assert_eq!((&found["width"], &found["sideways"]), (&390.into(), &0.into()), "{name} scrolls sideways");
            let faults: Vec<&str> = found["faults"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
            let serious = |fault: &&&str| fault.starts_with("serious") || fault.starts_with("critical");
            assert_eq!(faults.iter().find(serious), None, "{name}, dark {dark}: {faults:#?}");
        }
    }
}

/// A fault that is put into a page is found.
#[test]
#[ignore = "needs Chromium and axe-core: run by ./check report-page"]
fn axe_finds_a_fault_that_is_there() {
    let axe = axe();
    let folder = folder();
    let (_, page) = pages().remove(0);
    let page = page.replacen("<main>", "<main><img width=\"600\" height=\"9\">", 1);
    let found = checked(&folder, &page, &axe, LIGHT);
    let faults = found["faults"].to_string();
    assert!(faults.contains("critical: image-alt: 1"), "{faults}");
    assert!(found["sideways"].as_u64().unwrap() > 100, "an image of 600 pixels is wider than the screen");
}

fn axe() -> String {
    fs::read_to_string(std::env::var(AXE).expect("AXE_CORE names axe.min.js")).unwrap()
}

/// Loads a page with axe-core into a small frame, in a colour scheme.
fn checked(folder: &Path, page: &str, axe: &str, scheme: &str) -> Value {
    let with_axe = page.replacen("</body>", &format!("<script>{axe}</script>{CHECK}"), 1);
    written(folder, "checked.html", &with_axe);
    let frame = written(folder, "frame.html", FRAME);
    let output = chromium(&folder.join("home"), &["--dump-dom", scheme], &frame);
    found(&String::from_utf8_lossy(&output.stdout))
}

/// What the checked page wrote into the outer one.
fn found(page: &str) -> Value {
    let text = page.split("FOUND").nth(1).and_then(|rest| rest.split("DNUOF").next());
    let text = text.unwrap_or_else(|| panic!("nothing was found: {page}"));
    let bytes = data_encoding::BASE64.decode(text.as_bytes()).unwrap();
    serde_json::from_slice(&bytes).unwrap()
}
