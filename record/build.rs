//! Compresses the published values: the program contains them in an eighth of their size.

#![allow(clippy::disallowed_methods)]

use std::path::PathBuf;
use std::{env, fs};

const FILES: [&str; 3] = ["all.csv", "sources.toml", "errata.toml"];

fn main() {
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    println!("cargo::rerun-if-changed=build.rs");
    for name in FILES {
        let path = format!("published/{name}");
        println!("cargo::rerun-if-changed={path}");
        let text = fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
        let packed = miniz_oxide::deflate::compress_to_vec(&text, 10);
        fs::write(out.join(format!("{name}.deflate")), packed).expect("OUT_DIR can be written");
    }
}
