//! Whose turn it is to measure on this machine. Two tests at once, of whatever kind of device and by whichever users,
//! take each other's cores and caches, so each waits for its turn. Its own file because the locks of [`crate::lock`] are
//! files of one user, and this must be seen by everybody: it is a name that the kernel keeps, with no file that somebody
//! else could put in its place or leave behind.

use crate::{DutError, Holder};
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};

/// What everybody asks for.
const NAME: &str = "natmeter: measuring";

/// The machine is ours to measure with; given back when dropped, or when the process ends, however that happens.
#[derive(Debug)]
pub struct Turn {
    _listener: UnixListener,
}

impl Turn {
    /// Take it. Containers with a network of their own do not see each other.
    ///
    /// # Errors
    /// [`DutError::Busy`] when another process measures.
    pub fn take() -> Result<Turn, DutError> {
        Turn::named(NAME)
    }

    fn named(name: &str) -> Result<Turn, DutError> {
        let failed = |source| DutError::Turn { source };
        let address = SocketAddr::from_abstract_name(name).map_err(failed)?;
        match UnixListener::bind_addr(&address) {
            // Nobody is ever accepted: whoever connects wants to know whose it is, and the kernel says that.
            Ok(listener) => Ok(Turn { _listener: listener }),
            Err(e) if e.kind() == io::ErrorKind::AddrInUse => Err(busy(&address)),
            Err(e) => Err(failed(e)),
        }
    }
}

/// Who has it, from the kernel: nothing that the other process says is believed.
fn busy(address: &SocketAddr) -> DutError {
    let owner = UnixStream::connect_addr(address).and_then(port::host::peer_process);
    DutError::Busy { what: "this machine, for measuring,".to_owned(), holder: holder(owner.ok()) }
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
    fn one_measures_and_the_next_is_told_who() {
        let name = format!("natmeter test {}", std::process::id());
        let first = Turn::named(&name).unwrap();
        let error = Turn::named(&name).unwrap_err().to_string();
        assert!(error.contains(&format!("in use by process {} (", std::process::id())), "{error}");
        drop(first);
        Turn::named(&name).unwrap();
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
    fn ask_for_a_turn() {
        if let Ok(name) = std::env::var("NATMETER_TEST_TURN") {
            println!("\n{}", Turn::named(&name).unwrap_err());
        }
    }

    #[test]
    #[ignore = "needs root: run by ./check as root"]
    fn a_holder_in_another_pid_namespace_has_no_number() {
        let name = format!("natmeter test elsewhere {}", std::process::id());
        let _turn = Turn::named(&name).unwrap();
        let asked = std::process::Command::new("unshare")
            .args(["--pid", "--fork"])
            .arg(std::env::current_exe().unwrap())
            .args(["--ignored", "--exact", "turn::tests::ask_for_a_turn", "--nocapture"])
            .env("NATMETER_TEST_TURN", &name)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&asked.stdout);
        assert!(said.contains("in use by a process that cannot be seen from here"), "{said}");
        assert!(!said.contains("process 0"), "{said}");
    }
}
