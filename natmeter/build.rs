//! Records commit, target, processor, flags and compiler of this build for `src/build_info.rs`.

use std::env::var;
use std::path::Path;
use std::process::Command;

/// Instructions that a level of x86-64 adds to the one below (x86-64 psABI, section 3.1.1), highest level first. The names
/// are those of rustc; instructions that rustc has no name for are left out.
const LEVELS: [(&str, &[&str]); 3] = [
    ("x86-64-v4", &["avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"]),
    ("x86-64-v3", &["avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "lzcnt", "movbe"]),
    ("x86-64-v2", &["popcnt", "sse3", "sse4.1", "sse4.2", "ssse3"]),
];

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed=NATMETER_COMMIT");
    let flags = var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    let flags: Vec<&str> = flags.split('\x1f').filter(|flag| !flag.is_empty()).collect();
    let facts = [
        ("COMMIT", var("NATMETER_COMMIT").ok().or_else(commit).unwrap_or_else(|| "unknown".to_owned())),
        ("TARGET", var("TARGET").unwrap_or_default()),
        ("CPU", cpu(&flags)),
        ("FLAGS", shown(&flags)),
        ("PROFILE", var("PROFILE").unwrap_or_default()),
        ("RUSTC", output(&var("RUSTC").unwrap_or_default(), &["--version"]).unwrap_or_default()),
    ];
    for (name, value) in facts {
        println!("cargo:rustc-env=NATMETER_BUILD_{name}={value}");
    }
}

/// The commit of the source tree, if it tracks this package; with a `+` if tracked files differ from the commit.
fn commit() -> Option<String> {
    git(&["ls-files", "--error-unmatch", "build.rs"])?;
    // A commit or a checkout changes one of these files, an edit changes one of the folders.
    let watched = ["HEAD", "logs/HEAD"].iter().filter_map(|name| git(&["rev-parse", "--git-path", name]));
    let root = git(&["rev-parse", "--show-toplevel"])?;
    let sources = git(&["ls-files", "--full-name", ":/*/src/lib.rs", ":/Cargo.lock"])?;
    let sources = sources.lines().map(|file| format!("{root}/{}", file.trim_end_matches("/lib.rs")));
    for path in watched.chain(sources).filter(|path| Path::new(path).exists()) {
        println!("cargo:rerun-if-changed={path}");
    }
    let commit = git(&["rev-parse", "--short=12", "HEAD"])?;
    let edited = git(&["status", "--porcelain", "--untracked-files=no"]).is_some_and(|files| !files.is_empty());
    Some(if edited { format!("{commit}+") } else { commit })
}

/// The target processor of the compiler, and the level of x86-64 that its instructions reach.
fn cpu(flags: &[&str]) -> String {
    let given = flags.iter().rev().find_map(|flag| flag.split_once("target-cpu=")).map(|(_, cpu)| cpu);
    if var("CARGO_CFG_TARGET_ARCH").as_deref() != Ok("x86_64") {
        return given.unwrap_or("generic").to_owned();
    }
    let features = var("CARGO_CFG_TARGET_FEATURE").unwrap_or_default();
    let features: Vec<&str> = features.split(',').collect();
    let complete = |(_, wanted): &&(&str, &[&str])| wanted.iter().all(|feature| features.contains(feature));
    let level = LEVELS.iter().rev().take_while(complete).last().map_or("x86-64", |(name, _)| name);
    match given {
        Some(cpu) if cpu != level => format!("{cpu} ({level})"),
        _ => level.to_owned(),
    }
}

/// The flags, without those that name folders of the build machine.
fn shown(flags: &[&str]) -> String {
    let whole = flags.join("\x1f").replace("-C\x1f", "-C");
    let public: Vec<&str> = whole.split('\x1f').filter(|flag| !flag.is_empty() && !flag.contains('/')).collect();
    if public.is_empty() { "none".to_owned() } else { public.join(" ") }
}

fn git(arguments: &[&str]) -> Option<String> {
    output("git", &[&["--no-optional-locks"], arguments].concat())
}

fn output(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8_lossy(&output.stdout).trim_end().to_owned())
}
