//! One run at a time on an interface, known by its index in its network namespace: containers may have equal names.

use crate::DutError;
use crate::lock::{Lock, RunDir};
use port::Netns;
use port::interface::Interfaces;
use std::fs;

const PREFIX: &str = "port-";
const SUFFIX: &str = ".lock";

/// All or none of these interfaces of this thread's network namespace, as far as they exist. Fails if another process
/// has one of them.
pub fn take(dir: &RunDir, names: &[&str]) -> Result<Vec<Lock>, DutError> {
    let (place, inode) = Netns::current()?.identity().unwrap_or_default();
    let mut here = Interfaces::here()?;
    let mut indices: Vec<(u32, &str)> =
        names.iter().filter_map(|name| here.get(name).ok().map(|found| (found.index, *name))).collect();
    indices.sort_unstable();
    // Two VLANs of one interface are two ports of a bed.
    indices.dedup_by_key(|(index, _)| *index);
    let lock = |(index, name): (u32, &str)| {
        Lock::take_file(dir, &format!("{PREFIX}{place}-{inode}-{index}{SUFFIX}"), &format!("the interface {name}"))
    };
    indices.into_iter().map(lock).collect()
}

/// Files of free locks.
pub fn clean(dir: &RunDir) {
    for entry in fs::read_dir(dir.path()).into_iter().flatten().flatten() {
        let Ok(name) = entry.file_name().into_string() else { continue };
        if name.starts_with(PREFIX) && name.ends_with(SUFFIX) {
            // Releasing a lock removes its file.
            drop(Lock::take_file(dir, &name, ""));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interface_belongs_to_one_process_at_a_time() {
        let dir = tempfile::tempdir().unwrap();
        let dir = RunDir::at(dir.path().join("natmeter"));
        let first = take(&dir, &["lo", "lo", "no-interface"]).unwrap();
        assert_eq!(first.len(), 1);
        let error = take(&dir, &["lo"]).unwrap_err().to_string();
        let words = format!("the interface lo is in use by process {} (", std::process::id());
        assert!(error.starts_with(&words), "{error}");
        clean(&dir);
        assert!(take(&dir, &["lo"]).is_err(), "a lock that is held stays");
        drop(first);
        take(&dir, &["lo"]).unwrap();
    }

    #[test]
    fn files_of_killed_runs_are_removed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("natmeter");
        let dir = RunDir::at(&path);
        dir.make().unwrap();
        fs::write(path.join("port-4-4026531840-7.lock"), "1\ninit\n").unwrap();
        clean(&dir);
        assert!(dir.is_empty());
    }
}
