//! Several receive rings on one interface (`PACKET_FANOUT`): the kernel puts each frame into exactly one of them.
//!
//! - **By receive queue**, if there are at least as many queues as rings: the kernel's work for a
//!   ring stays on its queue's core.
//! - **By flow hash** otherwise.
//!
//! A full ring loses and counts frames, without `PACKET_FANOUT_FLAG_ROLLOVER`: with a flow's frames
//! in two rings, the tester could not detect reordering.

use crate::sys::{get_option, set_option};
use std::io;
use std::os::fd::OwnedFd;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Spread {
    Queue,
    Hash,
}

impl Spread {
    pub(super) fn over(rings: usize, queues: usize) -> Spread {
        if queues >= rings { Spread::Queue } else { Spread::Hash }
    }

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

pub(super) struct Group {
    spread: Spread,
    /// Chosen by the kernel when the first socket joins.
    id: Option<u32>,
}

impl Group {
    pub(super) fn new(spread: Spread) -> Group {
        Group { spread, id: None }
    }

    pub(super) fn join(&mut self, socket: &OwnedFd) -> io::Result<()> {
        // In a group, the kernel ignores PACKET_IGNORE_OUTGOING of a single socket.
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

/// Lets a socket receive nothing until [`open`]: between binding and joining, it would receive
/// every frame, as would others.
pub(super) fn close(socket: &OwnedFd) -> io::Result<()> {
    // `BPF_RET | BPF_K` with 0: keeps no octet of any frame.
    let mut nothing = libc::sock_filter { code: 6, jt: 0, jf: 0, k: 0 };
    let program = libc::sock_fprog { len: 1, filter: &raw mut nothing };
    set_option(socket, libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, &program)
}

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
