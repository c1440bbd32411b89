//! The queue in front of each core of this machine that forwards packets of boxes in namespaces. Its depth is a setting of
//! the whole machine (`net.core.netdev_max_backlog`) and bounds the bursts that such a box survives.

use crate::DutError;
use crate::changes::Changes;
use crate::setting::Setting;
use crate::step::{Step, Target};

const BACKLOG: &str = "/proc/sys/net/core/netdev_max_backlog";
/// Frames; the kernel's 1,000 do not absorb one preemption.
const DEPTH: u64 = 16_384;

/// The queue, with the greatest depth that natmeter may set.
pub struct Backlog {
    /// Depth in frames; none if the kernel does not show it here.
    depth: Option<u64>,
    refused: Option<String>,
}

impl Backlog {
    /// Raises the depth, unless it is at least as great.
    pub fn raise(changes: &mut Changes) -> Result<Backlog, DutError> {
        let depth = |changes: &mut Changes| changes.read(Target::Machine, BACKLOG).ok()?.trim().parse().ok();
        let setting = Setting::at(BACKLOG).expect("a sysctl of the network");
        let raise = Step::machine("queue depth in front of each core of the DUT, in frames", &setting, DEPTH);
        let mut refused = None;
        if changes.is_rehearsal() || depth(changes).is_some_and(|depth: u64| depth < DEPTH) {
            match changes.attempt(&raise) {
                Ok(()) => {}
                Err(DutError::Step(failed)) => refused = Some(failed.outcome),
                Err(error) => return Err(error),
            }
        }
        Ok(Backlog { depth: depth(changes), refused })
    }

    /// What a report says about it: name and words.
    pub fn fact(&self) -> Option<(String, String)> {
        self.depth.map(|depth| ("netdev_max_backlog".to_owned(), depth.to_string()))
    }

    /// Why it may bound a result, if its depth is less than natmeter needs.
    pub fn doubt(&self) -> Option<String> {
        const WHAT: &str = "The queue in front of each core that forwards packets of the box";
        match (self.depth, &self.refused) {
            (Some(depth), _) if depth >= DEPTH => None,
            (Some(depth), refused) => Some(format!(
                "{WHAT} holds {depth} frames, which bounds a burst; natmeter could not raise it ({}): run `sysctl -w \
                 net.core.netdev_max_backlog={DEPTH}` as root.",
                refused.as_deref().unwrap_or("another process lowered it")
            )),
            (None, _) => Some(format!(
                "{WHAT} has an unknown depth, which bounds a burst: the kernel shows net.core.netdev_max_backlog only in its first \
                 network namespace. Its default is 1000; run `sysctl -w net.core.netdev_max_backlog={DEPTH}` there."
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::LocalHost;
    use crate::{RunDir, step::no_sink};
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

    fn raised(root: &Path) -> (Backlog, Changes) {
        let mut changes = Changes::on(Box::new(LocalHost::below(root)), RunDir::at(root.join("run")), no_sink());
        (Backlog::raise(&mut changes).unwrap(), changes)
    }

    fn now(root: &Path) -> String {
        fs::read_to_string(root.join(&BACKLOG[1..])).unwrap().trim().to_owned()
    }

    #[test]
    fn the_queue_is_raised_and_restored() {
        let root = machine(Some("1000"));
        let (backlog, changes) = raised(root.path());
        assert_eq!(now(root.path()), "16384");
        assert_eq!(backlog.fact(), Some(("netdev_max_backlog".to_owned(), "16384".to_owned())));
        assert_eq!(backlog.doubt(), None);
        drop(changes);
        assert_eq!(now(root.path()), "1000");
    }

    #[test]
    fn a_deeper_queue_stays() {
        let root = machine(Some("250000"));
        let (backlog, _changes) = raised(root.path());
        assert_eq!((now(root.path()), backlog.doubt()), ("250000".to_owned(), None));
    }

    #[test]
    fn a_queue_that_cannot_be_seen_is_a_doubt() {
        let root = machine(None);
        let (backlog, _changes) = raised(root.path());
        assert_eq!(backlog.fact(), None);
        assert!(backlog.doubt().unwrap().contains("has an unknown depth"));
    }

    #[test]
    fn a_queue_that_cannot_be_raised_is_a_doubt() {
        let refused = Some("refused: Read-only file system".to_owned());
        let doubt = Backlog { depth: Some(1000), refused }.doubt().unwrap();
        assert!(doubt.contains("holds 1000 frames") && doubt.contains("(refused: Read-only file system)"), "{doubt}");
    }
}
