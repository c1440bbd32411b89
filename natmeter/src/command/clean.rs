//! `natmeter clean`: restores the settings and devices that a killed run, or one that lost its
//! connection, left changed.

use crate::exit::Exit;
use crate::priority;
use crate::term::{err, out};
use dut::host::Here;
use dut::{DutError, RunDir};

pub(super) fn clean() -> Exit {
    let dir = RunDir::of_this_user();
    let restored = dut::journal::clean(&dir, &mut Here::new());
    if let Err(error @ DutError::Busy { .. }) = restored {
        // A live run still needs the settings that it changed.
        err(&format!("error: {error}\n"));
        return Exit::Failed;
    }
    let devices = dut::external::clean(&dir, &dut::step::no_sink());
    if let Err(error @ DutError::Busy { .. }) = devices {
        err(&format!("error: {error}\n"));
        return Exit::Failed;
    }
    // Removes the lock file of a killed run; a live run keeps its own.
    drop(dut::MachineLock::take());
    dut::port_lock::clean(&dir);
    let priority = priority::restore(&dir);
    let changes = restored.iter().flatten().map(ToString::to_string);
    let restored_devices = devices.iter().flat_map(|undone| undone.done.iter().cloned());
    let done: Vec<String> = changes.chain(restored_devices).chain(priority).collect();
    for change in &done {
        out(&format!("{change}\n"));
    }
    let settings = restored.err().map(|error| error.to_string());
    let devices = devices.map_or_else(|error| vec![error.to_string()], |undone| undone.left);
    let failed: Vec<String> = settings.into_iter().chain(devices).collect();
    for text in &failed {
        err(&format!("error: {text}\n"));
    }
    if !failed.is_empty() {
        return Exit::Failed;
    }
    if let Some(text) = left_to_root(&dir, &RunDir::of_root()) {
        err(&format!("error: {text}\n"));
        return Exit::Failed;
    }
    if done.is_empty() {
        out("nothing to clean: no killed run left changes behind\n");
    }
    Exit::Done
}

/// `own` is the folder of another user.
fn left_to_root(own: &RunDir, root: &RunDir) -> Option<String> {
    let left = own != root && (dut::journal::is_left(root) || dut::external::is_left(root));
    left.then(|| {
        format!("{}: a killed run of root left changes behind; run `natmeter clean` as root", root.path().display())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_left_by_root_are_reported_to_other_users_only() {
        let dir = tempfile::tempdir().unwrap();
        let (own, root) = (RunDir::at(dir.path().join("own")), RunDir::at(dir.path().join("root")));
        assert_eq!(left_to_root(&own, &root), None);
        std::fs::create_dir(root.path()).unwrap();
        std::fs::write(root.path().join("machine.journal"), "").unwrap();
        assert!(left_to_root(&own, &root).unwrap().ends_with("run `natmeter clean` as root"));
        assert_eq!(left_to_root(&root, &root), None);
    }
}
