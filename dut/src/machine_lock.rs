//! One measurement at a time per machine, of any device and user. Ordinary users lock an abstract
//! socket, whose name all users see. Any process can bind it, so root's runs exclude each other
//! with a file ([`crate::lock`]).

use crate::lock::{self, Lock, RunDir};
use crate::{DutError, Holder};
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};

const NAME: &str = "natmeter: measuring";

/// Released on drop or when the process ends, even after a kill.
#[derive(Debug)]
pub struct MachineLock {
    _file: Option<Lock>,
    announced: Option<UnixListener>,
    name: String,
}

impl MachineLock {
    /// Containers in other network namespaces do not see the lock. Fails if another process measures; for root, another
    /// process of root.
    pub fn take() -> Result<MachineLock, DutError> {
        let own = RunDir::of_this_user();
        MachineLock::named(NAME, (own == RunDir::of_root()).then_some(&own))
    }

    fn named(name: &str, of_root: Option<&RunDir>) -> Result<MachineLock, DutError> {
        let file = of_root.map(|dir| Lock::take(dir, lock::MACHINE)).transpose()?;
        let is_root = file.is_some();
        let mut lock = MachineLock { _file: file, announced: None, name: name.to_owned() };
        let announced = lock.announce();
        if !is_root {
            announced?;
        }
        Ok(lock)
    }

    /// A process of an ordinary user that measures although root has the lock, if any.
    pub fn disturbed_by(&mut self) -> Option<Holder> {
        match self.announce() {
            Err(DutError::Busy { holder, .. }) => Some(holder),
            _ => None,
        }
    }

    fn announce(&mut self) -> Result<(), DutError> {
        let failed = |source| DutError::MachineLock { source };
        if self.announced.is_some() {
            return Ok(());
        }
        let address = SocketAddr::from_abstract_name(&self.name).map_err(failed)?;
        match UnixListener::bind_addr(&address) {
            // A connection, never accepted, tells which process listens.
            Ok(listener) => self.announced = Some(listener),
            Err(e) if e.kind() == io::ErrorKind::AddrInUse => return Err(busy(&address)),
            Err(e) => return Err(failed(e)),
        }
        Ok(())
    }
}

fn busy(address: &SocketAddr) -> DutError {
    let owner = UnixStream::connect_addr(address).and_then(port::host::peer_process);
    DutError::Busy { what: lock::MACHINE.words.to_owned(), holder: holder(owner.ok()) }
}

fn holder(pid: Option<i32>) -> Holder {
    let Some(pid) = pid else { return Holder::Unknown };
    // A process outside this pid namespace.
    if pid == 0 {
        return Holder::Elsewhere;
    }
    let words = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).trim_end_matches('\0').replace(char::is_control, " ");
    let command = std::fs::read(format!("/proc/{pid}/cmdline")).ok().map(words).filter(|c| !c.is_empty());
    Holder::Process { pid: pid.to_string(), command: command.unwrap_or_else(|| "of another user".to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_names_the_process_that_measures() {
        let name = format!("natmeter test {}", std::process::id());
        let first = MachineLock::named(&name, None).unwrap();
        let error = MachineLock::named(&name, None).unwrap_err().to_string();
        assert!(error.contains(&format!("in use by process {} (", std::process::id())), "{error}");
        drop(first);
        MachineLock::named(&name, None).unwrap();
    }

    #[test]
    fn only_roots_run_stops_root_and_other_runs_are_reported() {
        let name = format!("natmeter test of root {}", std::process::id());
        let folder = tempfile::tempdir().unwrap();
        let dir = RunDir::at(folder.path().join("natmeter"));
        let user = MachineLock::named(&name, None).unwrap();
        let mut root = MachineLock::named(&name, Some(&dir)).unwrap();
        let pid = std::process::id().to_string();
        assert!(matches!(root.disturbed_by(), Some(Holder::Process { pid: found, .. }) if found == pid));
        let error = MachineLock::named(&name, Some(&dir)).unwrap_err().to_string();
        assert!(error.contains(&format!("this machine is in use by process {pid} (")), "{error}");
        drop(user);
        assert_eq!(root.disturbed_by(), None);
        assert!(MachineLock::named(&name, None).is_err(), "root's run is announced from now on");
        drop(root);
        assert!(dir.is_empty());
        MachineLock::named(&name, None).unwrap();
    }

    #[test]
    fn a_process_without_a_pid_here_is_described() {
        let error = DutError::Busy { what: "this machine".to_owned(), holder: holder(Some(0)) }.to_string();
        assert_eq!(
            error,
            "this machine is in use by a process outside this container \
             (in another pid namespace): wait until it ends, or stop it"
        );
    }

    /// The next test runs it in another pid namespace.
    #[test]
    #[ignore = "started by a_holder_in_another_pid_namespace_has_no_pid"]
    fn ask_for_the_machine() {
        if let Ok(name) = std::env::var("NATMETER_TEST_MACHINE_LOCK") {
            println!("\n{}", MachineLock::named(&name, None).unwrap_err());
        }
    }

    #[test]
    #[ignore = "needs root: run by ./check as root"]
    fn a_holder_in_another_pid_namespace_has_no_pid() {
        let name = format!("natmeter test elsewhere {}", std::process::id());
        let _lock = MachineLock::named(&name, None).unwrap();
        let asked = std::process::Command::new("unshare")
            .args(["--pid", "--fork"])
            .arg(std::env::current_exe().unwrap())
            .args(["--ignored", "--exact", "machine_lock::tests::ask_for_the_machine", "--nocapture"])
            .env("NATMETER_TEST_MACHINE_LOCK", &name)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&asked.stdout);
        assert!(said.contains("in use by a process outside this container"), "{said}");
        assert!(!said.contains("process 0"), "{said}");
    }
}
