//! One measurement at a time on a machine: two at once, of whatever device and by whichever users, take each other's cores and
//! caches. Ordinary users announce themselves by a name that the kernel keeps (an abstract socket), which all users see and
//! which needs no file. Any process can take such a name, so root's runs exclude each other by a file of root's
//! ([`crate::lock`]) and are not stopped by the name.

use crate::lock::{Lock, RunDir, What};
use crate::{DutError, Holder};
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};

/// The name that is taken.
const NAME: &str = "natmeter: measuring";

/// The machine is this process's to measure with; given back when dropped, or when the process ends, however that happens.
#[derive(Debug)]
pub struct MachineLock {
    _file: Option<Lock>,
    announced: Option<UnixListener>,
    name: String,
}

impl MachineLock {
    /// Take it. Containers with a network of their own do not see each other.
    ///
    /// # Errors
    /// [`DutError::Busy`] when another process measures; for root, when another process of root's does.
    pub fn take() -> Result<MachineLock, DutError> {
        let own = RunDir::of_this_user();
        MachineLock::named(NAME, (own == RunDir::of_root()).then_some(&own))
    }

    fn named(name: &str, of_root: Option<&RunDir>) -> Result<MachineLock, DutError> {
        let file = of_root.map(|dir| Lock::take(dir, What::Measuring)).transpose()?;
        let is_root = file.is_some();
        let mut lock = MachineLock { _file: file, announced: None, name: name.to_owned() };
        let announced = lock.announce();
        if !is_root {
            announced?;
        }
        Ok(lock)
    }

    /// The process of an ordinary user that measures although root has the machine; none if it has ended by now.
    pub fn disturbed_by(&mut self) -> Option<Holder> {
        match self.announce() {
            Err(DutError::Busy { holder, .. }) => Some(holder),
            _ => None,
        }
    }

    /// Take the name, if this process has not.
    fn announce(&mut self) -> Result<(), DutError> {
        let failed = |source| DutError::MachineLock { source };
        if self.announced.is_some() {
            return Ok(());
        }
        let address = SocketAddr::from_abstract_name(&self.name).map_err(failed)?;
        match UnixListener::bind_addr(&address) {
            // No connection is accepted: one is made to learn which process listens, and the kernel tells that.
            Ok(listener) => self.announced = Some(listener),
            Err(e) if e.kind() == io::ErrorKind::AddrInUse => return Err(busy(&address)),
            Err(e) => return Err(failed(e)),
        }
        Ok(())
    }
}

/// Which process has the name, from the kernel: nothing that the other process says is believed.
fn busy(address: &SocketAddr) -> DutError {
    let owner = UnixStream::connect_addr(address).and_then(port::host::peer_process);
    DutError::Busy { what: What::Measuring.words().to_owned(), holder: holder(owner.ok()) }
}

fn holder(pid: Option<i32>) -> Holder {
    let Some(pid) = pid else { return Holder::Unknown };
    // The kernel's way to say that it has no number in our pid namespace.
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
    fn one_measures_and_the_next_is_told_which() {
        let name = format!("natmeter test {}", std::process::id());
        let first = MachineLock::named(&name, None).unwrap();
        let error = MachineLock::named(&name, None).unwrap_err().to_string();
        assert!(error.contains(&format!("in use by process {} (", std::process::id())), "{error}");
        drop(first);
        MachineLock::named(&name, None).unwrap();
    }

    /// Any process can take the name; the file is root's.
    #[test]
    fn a_run_of_root_is_stopped_by_roots_alone_and_knows_of_the_others() {
        let name = format!("natmeter test of root {}", std::process::id());
        let folder = tempfile::tempdir().unwrap();
        let dir = RunDir::at(folder.path().join("natmeter"));
        let user = MachineLock::named(&name, None).unwrap();
        let mut root = MachineLock::named(&name, Some(&dir)).unwrap();
        let pid = std::process::id().to_string();
        assert!(matches!(root.disturbed_by(), Some(Holder::Process { pid: found, .. }) if found == pid));
        let error = MachineLock::named(&name, Some(&dir)).unwrap_err().to_string();
        assert!(error.contains(&format!("this machine, for measuring, is in use by process {pid} (")), "{error}");
        drop(user);
        assert_eq!(root.disturbed_by(), None);
        assert!(MachineLock::named(&name, None).is_err(), "root's run is announced from now on");
        drop(root);
        assert!(!dir.path().exists());
        MachineLock::named(&name, None).unwrap();
    }

    #[test]
    fn a_process_without_a_number_here_is_described() {
        let error = DutError::Busy { what: "this machine".to_owned(), holder: holder(Some(0)) }.to_string();
        assert_eq!(
            error,
            "this machine is in use by a process that cannot be seen from here, because it runs outside this container \
             (in another pid namespace): wait for it, or stop it"
        );
    }

    /// Not a test of its own: what the next one runs in another pid namespace.
    #[test]
    #[ignore = "started by a_holder_in_another_pid_namespace_has_no_number"]
    fn ask_for_the_machine() {
        if let Ok(name) = std::env::var("NATMETER_TEST_MACHINE_LOCK") {
            println!("\n{}", MachineLock::named(&name, None).unwrap_err());
        }
    }

    #[test]
    #[ignore = "needs root: run by ./check as root"]
    fn a_holder_in_another_pid_namespace_has_no_number() {
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
        assert!(said.contains("in use by a process that cannot be seen from here"), "{said}");
        assert!(!said.contains("process 0"), "{said}");
    }
}
