//! Reads files of other testers.

use super::usage;
use crate::exit::Exit;
use crate::term::err;
use record::import::{self, Series};
use std::io::Read;
use std::path::{Path, PathBuf};

/// Reads and joins the files, or returns the exit code after printing the mistake.
pub(super) fn read(files: &[PathBuf]) -> Result<Vec<Series>, Exit> {
    let complain = |name: &str, why: &dyn std::fmt::Display| usage(format_args!("{name}: {why}"));
    let mut texts: Vec<(String, String)> = Vec::new();
    for path in files {
        let name = path.display().to_string();
        let text = text_of(path).map_err(|why| complain(&name, &why))?;
        texts.push((name, text));
    }
    let (series, others) = import::read(texts.iter().map(|(name, text)| (name.as_str(), text.as_str())))
        .map_err(|(name, error)| complain(&name, &error))?;
    for (name, error) in others {
        err(&format!("note: {name} is not read: {error}\n"));
    }
    Ok(series)
}

/// First octets of a gzip file (RFC 1952, section 2.3.1).
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// Text of a regular file that is not too long.
fn text_of(path: &Path) -> Result<String, String> {
    let metadata = path.metadata().map_err(|error| format!("cannot be read: {error}"))?;
    // Reading a pipe can block forever.
    if !metadata.is_file() {
        return Err("is not a regular file".to_owned());
    }
    let file = std::fs::File::open(path).map_err(|error| format!("cannot be read: {error}"))?;
    let mut octets = Vec::new();
    // One octet more, so that the reader refuses a longer file.
    file.take(import::LONGEST as u64 + 1)
        .read_to_end(&mut octets)
        .map_err(|error| format!("cannot be read: {error}"))?;
    if octets.starts_with(&GZIP) {
        octets = import::unpacked(&octets)?;
    }
    String::from_utf8(octets).map_err(|error| format!("is not text: {error}"))
}
