//! Confines the process to its folder: the kernel then lets it open only files below the folder, and only for reading, so that a
//! fault of the server cannot disclose another file. It opens no further ports and no connections.

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, PathBeneath, PathFd, PathFdError, Ruleset, RulesetAttr, RulesetCreatedAttr,
    RulesetError, RulesetStatus,
};
use std::path::Path;

/// Why the process is not confined.
#[derive(Debug, thiserror::Error)]
pub enum ConfineError {
    /// The folder cannot be opened.
    #[error(transparent)]
    Folder(#[from] PathFdError),
    /// Landlock.
    #[error(transparent)]
    Rules(#[from] RulesetError),
    /// The kernel has no Landlock.
    #[error("this kernel has no Landlock, or it is switched off (kernel parameter lsm=)")]
    NoLandlock,
}

/// Confines the calling thread, and the threads that it starts later, to reading below a folder.
///
/// # Errors
/// If the kernel cannot do so.
pub fn confine(folder: &Path) -> Result<(), ConfineError> {
    // Older kernels enforce the rules that they support.
    let rules = Ruleset::default().handle_access(AccessFs::from_all(ABI::V5))?;
    let rules = rules.handle_access(AccessNet::from_all(ABI::V5))?.create()?;
    let read = PathBeneath::new(PathFd::new(folder)?, AccessFs::ReadFile | AccessFs::ReadDir);
    let status = rules.add_rule(read)?.restrict_self()?;
    if status.ruleset == RulesetStatus::NotEnforced { Err(ConfineError::NoLandlock) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_confined_thread_reads_below_its_folder_only() {
        let (inside, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let file = |dir: &tempfile::TempDir| dir.path().join("file");
        fs::write(file(&inside), "in").unwrap();
        fs::write(file(&outside), "out").unwrap();
        symlink(file(&outside), inside.path().join("link")).unwrap();
        std::thread::scope(|threads| {
            let confined = threads.spawn(|| {
                match confine(inside.path()) {
                    Ok(()) => {}
                    // The kernel lacks it, and nothing else went wrong.
                    Err(ConfineError::NoLandlock) => return,
                    Err(error) => panic!("{error}"),
                }
                assert_eq!(fs::read_to_string(file(&inside)).unwrap(), "in");
                for path in [file(&outside), inside.path().join("link"), "/etc/passwd".into()] {
                    assert!(fs::read(&path).is_err(), "{}", path.display());
                }
                assert!(fs::write(file(&inside), "x").is_err());
            });
            confined.join().unwrap();
        });
    }
}
