//! The queue in front of each core of this machine that forwards packets of boxes in namespaces.
//! Its depth (`net.core.netdev_max_backlog`) bounds the bursts that such a box survives.

use super::RigError;
use dut::bed::{BACKLOG, BACKLOG_DEPTH, backlog};
use dut::changes::Changes;
use dut::host::{Here, Host, Log};
use dut::{DutError, RunDir, Sink, Target};
use std::sync::Arc;

/// Dropping it restores the setting.
pub(super) struct Backlog {
    /// In frames; none if the kernel does not show it here.
    depth: Option<u64>,
    /// Why natmeter did not raise it.
    refused: Option<String>,
    // Restores the setting.
    _raised: Changes,
}

impl Backlog {
    /// Unless it is at least as great. Fails if another run has changed the settings of this machine.
    pub(super) fn raised(sink: &Sink) -> Result<Backlog, RigError> {
        Backlog::raised_on(Here::new(), RunDir::of_this_user(), sink)
    }

    fn raised_on(machine: Here, dir: RunDir, sink: &Sink) -> Result<Backlog, RigError> {
        let logged: Box<dyn Host> = Box::new(Log::over(machine, Arc::clone(sink)));
        let mut changes = Changes::on(logged, dir, Arc::clone(sink));
        let depth = |changes: &mut Changes| changes.read(Target::Machine, BACKLOG).ok()?.trim().parse().ok();
        let mut refused = None;
        if depth(&mut changes).is_some_and(|depth: u64| depth < BACKLOG_DEPTH) {
            match changes.carry_out(&[backlog(BACKLOG_DEPTH)]) {
                Ok(()) => {}
                Err(DutError::Step(failed)) => refused = Some(failed.outcome),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(Backlog { depth: depth(&mut changes), refused, _raised: changes })
    }

    /// Name and words for a report.
    pub(super) fn fact(&self) -> Option<(String, String)> {
        self.depth.map(|depth| ("netdev_max_backlog".to_owned(), depth.to_string()))
    }

    /// If the depth is less than natmeter needs.
    pub(super) fn doubt(&self) -> Option<String> {
        const WHAT: &str = "The queue in front of each core that forwards packets of the box";
        match (self.depth, &self.refused) {
            (Some(depth), _) if depth >= BACKLOG_DEPTH => None,
            (Some(depth), refused) => Some(format!(
                "{WHAT} holds {depth} frames, which bounds a burst; natmeter could not raise it ({}): run `sysctl -w \
                 net.core.netdev_max_backlog={BACKLOG_DEPTH}` as root.",
                refused.as_deref().unwrap_or("another process lowered it")
            )),
            (None, _) => Some(format!(
                "{WHAT} has an unknown depth, which bounds a burst: the kernel shows net.core.netdev_max_backlog only in its first \
                 network namespace. Its default is 1000; run `sysctl -w net.core.netdev_max_backlog={BACKLOG_DEPTH}` there."
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::path::Path;

    /// A machine whose queues have this depth.
    fn machine(depth: Option<&str>) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        if let Some(depth) = depth {
            let file = root.path().join(&BACKLOG[1..]);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, format!("{depth}\n")).unwrap();
        }
        root
    }

    fn raised(root: &Path) -> Backlog {
        Backlog::raised_on(Here::below(root), RunDir::at(root.join("run")), &dut::step::no_sink()).unwrap()
    }

    fn now(root: &Path) -> String {
        fs::read_to_string(root.join(&BACKLOG[1..])).unwrap().trim().to_owned()
    }

    #[test]
    fn the_queue_is_raised_and_restored() {
        let root = machine(Some("1000"));
        let backlog = raised(root.path());
        assert_eq!(now(root.path()), "16384");
        assert_eq!(backlog.fact(), Some(("netdev_max_backlog".to_owned(), "16384".to_owned())));
        assert_eq!(backlog.doubt(), None);
        drop(backlog);
        assert_eq!(now(root.path()), "1000");
    }

    #[test]
    fn a_deeper_queue_stays() {
        let root = machine(Some("250000"));
        let backlog = raised(root.path());
        assert_eq!((now(root.path()), backlog.doubt()), ("250000".to_owned(), None));
    }

    #[test]
    fn a_queue_that_cannot_be_seen_is_a_doubt() {
        let root = machine(None);
        let backlog = raised(root.path());
        assert_eq!(backlog.fact(), None);
        assert!(backlog.doubt().unwrap().contains("has an unknown depth"));
    }

    #[test]
    fn a_queue_that_cannot_be_raised_is_a_doubt() {
        let root = machine(Some("1000"));
        let refused = Some("refused: Read-only file system".to_owned());
        let backlog = Backlog { depth: Some(1000), refused, ..raised(root.path()) };
        let doubt = backlog.doubt().unwrap();
        assert!(doubt.contains("holds 1000 frames") && doubt.contains("(refused: Read-only file system)"), "{doubt}");
    }
}
