//! Whose turn it is to measure on this machine. Two tests at once, of whatever kind of device and by whichever users,
//! take each other's cores and caches, so each waits for its turn. Its own file because the locks of [`crate::lock`] are
//! files of one user, and this must be seen by everybody: it is a name that the kernel keeps, with no file that somebody
//! else could put in its place or leave behind.

use crate::DutError;
use rustix::net::sockopt::socket_peercred;
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
    let owner = UnixStream::connect_addr(address).ok().and_then(|stream| socket_peercred(&stream).ok());
    let pid = owner.map(|owner| owner.pid.as_raw_nonzero().get());
    let command = pid.and_then(|pid| std::fs::read(format!("/proc/{pid}/cmdline")).ok());
    let words = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).trim_end_matches('\0').replace(char::is_control, " ");
    DutError::Busy {
        what: "this machine, for measuring,".to_owned(),
        pid: pid.map_or_else(|| "of unknown number".to_owned(), |pid| pid.to_string()),
        command: command.map(words).filter(|c| !c.is_empty()).unwrap_or_else(|| "of another user".to_owned()),
    }
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
}
