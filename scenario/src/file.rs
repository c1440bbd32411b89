//! Reads the text of a scenario, test bed or gateway file; the error for a file that cannot be used.

use key::Complaints;
use std::io::Read;
use std::path::{Path, PathBuf};

#[derive(Debug, thiserror::Error)]
pub enum ScenarioError {
    #[error("reading {}: {why}", path.display())]
    Unreadable { path: PathBuf, why: String },
    #[error(transparent)]
    Wrong(#[from] Complaints),
}

/// Most octets of such a file. A scenario has some dozens of lines; tables of softwires and maps
/// are in separate files.
pub const LONGEST_FILE: u64 = 1 << 20;

pub(crate) fn text_of(path: &Path) -> Result<String, ScenarioError> {
    let unreadable = |why: String| {
        let why = format!("{why}; name a file that you may read, such as scenarios/quickstart.toml");
        ScenarioError::Unreadable { path: path.to_owned(), why }
    };
    let metadata = path.metadata().map_err(|e| unreadable(e.to_string()))?;
    // Reading a pipe could block for ever.
    if !metadata.is_file() {
        return Err(unreadable("this is not a regular file".to_owned()));
    }
    let mut text = String::new();
    let file = std::fs::File::open(path).map_err(|e| unreadable(e.to_string()))?;
    file.take(LONGEST_FILE + 1).read_to_string(&mut text).map_err(|e| match e.kind() {
        std::io::ErrorKind::InvalidData => {
            let why = "it is not UTF-8 text: save it as UTF-8, not as UTF-16 (iconv -f utf-16 -t utf-8)".to_owned();
            ScenarioError::Unreadable { path: path.to_owned(), why }
        }
        _ => unreadable(e.to_string()),
    })?;
    if text.len() as u64 > LONGEST_FILE {
        return Err(unreadable("the file is longer than 1 MiB".to_owned()));
    }
    Ok(text)
}
