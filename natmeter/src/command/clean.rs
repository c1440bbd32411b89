//! `natmeter clean`: restores the settings and devices that a killed run, or one that lost its
//! connection, left changed.

use super::failed;
use crate::exit::Exit;
use crate::priority;
use crate::term::out;
use dut::host::LocalHost;
use dut::{DutError, RunDir};

pub(super) fn clean() -> Result<Exit, Exit> {
    let dir = RunDir::of_this_user();
    let restored = dut::journal::clean(&dir, &mut LocalHost::new());
    if let Err(error @ DutError::Busy { .. }) = restored {
        // A live run still needs the settings that it changed.
        return Err(failed(error));
    }
    let devices = dut::external::clean(&dir, &dut::step::no_sink());
    if let Err(error @ DutError::Busy { .. }) = devices {
        return Err(failed(error));
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
    if settings.into_iter().chain(devices).map(failed).count() > 0 {
        return Err(Exit::Failed);
    }
    if let Some(text) = left_to_root(&dir, &RunDir::of_root()) {
        return Err(failed(text));
    }
    if done.is_empty() {
        out("nothing to clean: no killed run left changes behind\n");
    }
    Ok(Exit::Done)
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
