//! Several receive rings on one interface (`PACKET_FANOUT`): the kernel puts each frame into exactly one of them.
//!
//! - **By receive queue**, if the interface has at least as many queues as there are rings: the card has already spread
//!   the frames (RSS), and the kernel's work for a ring stays on the core of its queue.
//! - **By flow hash** otherwise: independent of queue and core.
//!
//! A full ring loses frames and counts them. It does not give them to another ring (`PACKET_FANOUT_FLAG_ROLLOVER`),
//! because then the frames of one flow would be in two rings, and the tester could not detect reordering.

use crate::sys::{get_option, set_option};
use std::io;
use std::os::fd::OwnedFd;

/// The rule by which frames are spread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Spread {
    /// By receive queue.
    Queue,
    /// By flow hash.
    Hash,
}

impl Spread {
    /// Returns the rule for an interface with this many receive queues.
    pub(super) fn over(rings: usize, queues: usize) -> Spread {
        if queues >= rings { Spread::Queue } else { Spread::Hash }
    }

    /// Returns the rule in words, for the facts of a port.
    pub(super) fn in_words(self) -> &'static str {
        match self {
            Spread::Queue => "rings by receive queue",
            Spread::Hash => "rings by flow hash",
        }
    }

    fn mode(self) -> u32 {
        match self {
            Spread::Queue => libc::PACKET_FANOUT_QM,
            Spread::Hash => libc::PACKET_FANOUT_HASH,
        }
    }
}

/// The group of rings that share the frames of one interface.
pub(super) struct Group {
    spread: Spread,
    /// Identifier of the group. The kernel chooses a free one when the first socket joins.
    id: Option<u32>,
}

impl Group {
    pub(super) fn new(spread: Spread) -> Group {
        Group { spread, id: None }
    }

    /// Adds a socket, which is bound to the interface.
    pub(super) fn join(&mut self, socket: &OwnedFd) -> io::Result<()> {
        // For a group, the kernel ignores this option of a single socket (PACKET_IGNORE_OUTGOING).
        let mode = self.spread.mode() | libc::PACKET_FANOUT_FLAG_IGNORE_OUTGOING;
        let request = |id: u32, flags: u32| id | (mode | flags) << 16;
        let request = match self.id {
            Some(id) => request(id, 0),
            None => request(0, libc::PACKET_FANOUT_FLAG_UNIQUEID),
        };
        set_option(socket, libc::SOL_PACKET, libc::PACKET_FANOUT, &request)?;
        let joined: u32 = get_option(socket, libc::SOL_PACKET, libc::PACKET_FANOUT)?;
        self.id = Some(joined & 0xffff);
        Ok(())
    }
}

/// Lets a socket receive nothing until [`open`]. Between binding and joining its group, the socket would receive every
/// frame, and other sockets would receive the same frames.
pub(super) fn close(socket: &OwnedFd) -> io::Result<()> {
    // `BPF_RET | BPF_K` with 0: keeps no octet of any frame.
    let mut nothing = libc::sock_filter { code: 6, jt: 0, jf: 0, k: 0 };
    let program = libc::sock_fprog { len: 1, filter: &raw mut nothing };
    set_option(socket, libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, &program)
}

/// Lets a socket receive the frames of its group.
pub(super) fn open(socket: &OwnedFd) -> io::Result<()> {
    set_option(socket, libc::SOL_SOCKET, libc::SO_DETACH_FILTER, &0i32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_queues_decide_if_there_are_enough() {
        assert_eq!([1, 2, 4].map(|queues| Spread::over(2, queues)), [Spread::Hash, Spread::Queue, Spread::Queue]);
    }
}
