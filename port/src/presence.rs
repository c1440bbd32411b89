//! Notices when an interface is deleted or switched off.

use crate::PortError;
use crate::interface::Interfaces;
use rustix::io::Errno;
use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{AddressFamily, RecvFlags, SocketFlags, SocketType};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// Watched interfaces of one namespace.
#[derive(Debug)]
pub struct Presence {
    /// Readable after a change of any interface of the namespace.
    changes: OwnedFd,
    interfaces: Interfaces,
    watched: Vec<(u32, String)>,
}

/// Why an interface can no longer be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Lost {
    /// No interface, or another one, has this name.
    #[error("interface {0} is gone: it was deleted, renamed or moved to another namespace")]
    Gone(String),
    /// `ip link set DEV down` switched the interface off.
    #[error("interface {0} was switched off")]
    SwitchedOff(String),
}

impl Presence {
    /// Watches interfaces of the calling thread's namespace.
    ///
    /// # Errors
    /// No interface has one of these names, or the kernel gives no netlink socket.
    pub fn watch<'a>(names: impl IntoIterator<Item = &'a str>) -> Result<Presence, PortError> {
        let failed = |e: Errno| PortError::system("listening for changes of interfaces", e, "");
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let changes = rustix::net::socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, None).map_err(failed)?;
        let group = SocketAddrNetlink::new(0, libc::RTMGRP_LINK as u32);
        rustix::net::bind(&changes, &group).map_err(failed)?;
        // After the subscription, so that no change is missed.
        let mut interfaces = Interfaces::here()?;
        let watched = names.into_iter().map(|name| Ok((interfaces.get(name)?.index, name.to_owned())));
        let watched = watched.collect::<Result<_, PortError>>()?;
        Ok(Presence { changes, interfaces, watched })
    }

    /// Whether an interface has changed since the last call. Messages may get lost:
    /// [`Presence::lost`] says what changed.
    pub fn has_changed(&self) -> bool {
        let (mut message, mut changed) = ([0u8; 4096], false);
        loop {
            match rustix::net::recv(&self.changes, &mut message[..], RecvFlags::empty()) {
                Ok(_) | Err(Errno::NOBUFS | Errno::INTR) => changed = true,
                Err(_) => return changed,
            }
        }
    }

    /// The first interface that can no longer be used.
    ///
    /// # Errors
    /// The request to the kernel fails.
    pub fn lost(&mut self) -> Result<Option<Lost>, PortError> {
        for (index, name) in &self.watched {
            let lost = match self.interfaces.get(name) {
                Ok(now) if now.index != *index => Lost::Gone(name.clone()),
                Ok(now) if !now.up => Lost::SwitchedOff(name.clone()),
                Ok(_) => continue,
                Err(PortError::System { source, .. }) if source.raw_os_error() == Some(libc::ENODEV) => {
                    Lost::Gone(name.clone())
                }
                Err(error) => return Err(error),
            };
            return Ok(Some(lost));
        }
        Ok(None)
    }
}

impl AsFd for Presence {
    /// Readable when [`Presence::has_changed`] has news.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.changes.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Netns;
    use crate::netns::Sight;
    use rustix::event::{PollFd, PollFlags, Timespec, poll};

    /// Makes a device with these names in a namespace, changes it, and returns the interface that is lost then.
    fn after(changes: &[&str]) -> Option<Lost> {
        let ns = Netns::new().unwrap();
        let ip = |words: &str| {
            let done = ns.command("ip", Sight::Network).args(words.split(' ')).status().unwrap();
            assert!(done.success(), "ip {words}");
        };
        ip("link add w0 type veth peer name w1");
        ip("link set w0 up");
        ip("link set w1 up");
        let mut presence = ns.run_in(|| Presence::watch(["w0"])).unwrap().unwrap();
        // The kernel reports the carrier some time after both ends are up, so a change may be reported here or later.
        let _ = presence.has_changed();
        assert_eq!(presence.lost().unwrap(), None);
        for words in changes {
            ip(words);
            let second = Timespec { tv_sec: 1, tv_nsec: 0 };
            let told = poll(&mut [PollFd::new(&presence, PollFlags::IN)], Some(&second)).unwrap();
            assert_eq!((told, presence.has_changed()), (1, true), "a change is told");
        }
        presence.lost().unwrap()
    }

    #[test]
    #[ignore = "needs root: run by ./check as root"]
    fn an_interface_that_cannot_be_used_any_more_is_named() {
        let name = || "w0".to_owned();
        assert_eq!(after(&["link del w0"]), Some(Lost::Gone(name())));
        assert_eq!(after(&["link del w1"]), Some(Lost::Gone(name())), "its other end");
        assert_eq!(after(&["link del w0", "link add w0 type veth peer name w1"]), Some(Lost::Gone(name())), "another");
        assert_eq!(after(&["link set w0 down"]), Some(Lost::SwitchedOff(name())));
        assert_eq!(after(&["link set w1 down"]), None, "without carrier it is still there");
        assert_eq!(after(&["link set w0 down", "link set w0 up"]), None, "in use again");
    }
}
