//! Unprivileged requests of ethtool, over ioctl. An unsupported one makes the fact unknown.

use super::ifreq;
use std::io;
use std::os::fd::{AsFd, AsRawFd};

// From the kernel's ethtool.h.
const GET_DRIVER: u32 = 0x03;
const GET_RINGS: u32 = 0x10;
const GET_PAUSE: u32 = 0x12;
const GET_STRINGS: u32 = 0x1b;
const GET_STATISTICS: u32 = 0x1d;
const GET_TSO: u32 = 0x1e;
const GET_FLAGS: u32 = 0x25;
const GET_GRO: u32 = 0x2b;
const GET_HASH_TABLE: u32 = 0x38;
const GET_CHANNELS: u32 = 0x3c;
const GET_LINK: u32 = 0x4c;
/// `ETH_SS_STATS`
const NAMES_OF_STATISTICS: u32 = 1;
/// `ETH_GSTRING_LEN`.
const NAME: usize = 32;
/// More counters than any driver has.
const MOST: usize = 1 << 16;

pub(super) struct Ethtool<'a, S> {
    pub socket: &'a S,
    pub name: &'a str,
}

#[derive(Debug, Default)]
pub(super) struct Driver {
    pub name: String,
    pub firmware: String,
    pub bus: String,
}

/// Speed and duplex, if known.
#[derive(Debug, Default)]
pub(super) struct Link {
    pub speed: Option<u32>,
    pub full_duplex: Option<bool>,
}

impl<S: AsFd> Ethtool<'_, S> {
    /// Sends a request. `words` begin with its command number; the answer replaces them.
    ///
    /// # Safety
    /// The kernel's answer must not be longer than `words`.
    unsafe fn ask(&self, words: &mut [u32]) -> io::Result<()> {
        let mut request = ifreq(self.name)?;
        request.ifr_ifru.ifru_data = words.as_mut_ptr().cast();
        let socket = self.socket.as_fd().as_raw_fd();
        // SAFETY: the request lives through the call and points to the words; the caller promises that there are
        // enough.
        let result = unsafe { libc::ioctl(socket, libc::SIOCETHTOOL as libc::Ioctl, &raw mut request) };
        if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    fn words<const N: usize>(&self, question: &Question<N>) -> io::Result<[u32; N]> {
        let mut words = [0; N];
        words[0] = question.0;
        // SAFETY: `Question` has the length of the kernel's structure.
        unsafe { self.ask(&mut words) }?;
        Ok(words)
    }

    pub(super) fn driver(&self) -> io::Result<Driver> {
        let words = self.words(&DRIVER)?;
        let octets: Vec<u8> = words.iter().flat_map(|w| w.to_ne_bytes()).collect();
        let text = |at: usize| until_zero(&octets[at..at + NAME]);
        // Behind the command number: name, version, firmware, bus.
        Ok(Driver { name: text(4), firmware: text(4 + 2 * NAME), bus: text(4 + 3 * NAME) })
    }

    /// Receive and transmit.
    pub(super) fn rings(&self) -> io::Result<[u32; 2]> {
        self.words(&RINGS).map(|words| [words[5], words[8]])
    }

    /// Pause frames: obeyed, and sent.
    pub(super) fn pause(&self) -> io::Result<[bool; 2]> {
        self.words(&PAUSE).map(|words| [words[2] != 0, words[3] != 0])
    }

    /// Receive and transmit.
    pub(super) fn channels(&self) -> io::Result<[u32; 2]> {
        self.words(&CHANNELS).map(|words| [words[5] + words[8], words[6] + words[8]])
    }

    /// One more than the highest queue in the table of the hash; 0 if the table is empty.
    pub(super) fn hash_queues(&self) -> io::Result<u32> {
        let mut words = [GET_HASH_TABLE, 0];
        // SAFETY: asked for no entry, the kernel writes only the size of the table.
        unsafe { self.ask(&mut words) }?;
        let entries = (words[1] as usize).min(MOST);
        let mut words = vec![0; 2 + entries];
        (words[0], words[1]) = (GET_HASH_TABLE, entries as u32);
        // SAFETY: the kernel writes two words and at most as many entries as the request says.
        unsafe { self.ask(&mut words) }?;
        Ok(words[2..].iter().max().map_or(0, |queue| queue + 1))
    }

    pub(super) fn gro(&self) -> io::Result<bool> {
        self.words(&GRO).map(|words| words[1] != 0)
    }

    pub(super) fn tso(&self) -> io::Result<bool> {
        self.words(&TSO).map(|words| words[1] != 0)
    }

    /// LRO, and removal of VLAN tags on reception.
    pub(super) fn flags(&self) -> io::Result<[bool; 2]> {
        self.words(&FLAGS).map(|words| [words[1] & 1 << 15 != 0, words[1] & 1 << 8 != 0])
    }

    pub(super) fn link(&self) -> io::Result<Link> {
        // Masks of link modes have at most 127 words; the request must have their number.
        const WORDS: usize = 12 + 3 * 127;
        let mut words = [0; WORDS];
        words[0] = GET_LINK;
        // SAFETY: without a number of words in the request, the kernel answers with twelve words alone.
        unsafe { self.ask(&mut words) }?;
        let needed = words[3].to_ne_bytes()[3].cast_signed().unsigned_abs();
        words = [0; WORDS];
        words[0] = GET_LINK;
        words[3] = u32::from_ne_bytes([0, 0, 0, needed.min(127)]);
        // SAFETY: behind the twelve words the kernel writes three masks with the number of words in
        // the request, at most 127.
        unsafe { self.ask(&mut words) }?;
        let speed = Some(words[1]).filter(|&speed| speed != 0 && speed != u32::MAX);
        let full_duplex = match words[2].to_ne_bytes()[0] {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        };
        Ok(Link { speed, full_duplex })
    }

    pub(super) fn statistics(&self) -> io::Result<Vec<(String, u64)>> {
        let mut words = vec![0; 3 + MOST * NAME / 4];
        (words[0], words[1]) = (GET_STRINGS, NAMES_OF_STATISTICS);
        // SAFETY: the kernel writes three words and a name for each counter; `words` has more room
        // than any driver needs.
        unsafe { self.ask(&mut words) }?;
        let count = (words[2] as usize).min(MOST);
        let names: Vec<String> = words[3..3 + count * NAME / 4]
            .chunks_exact(NAME / 4)
            .map(|name| until_zero(&name.iter().flat_map(|w| w.to_ne_bytes()).collect::<Vec<u8>>()))
            .collect();
        let mut words = vec![0; 2 + MOST * 2];
        (words[0], words[1]) = (GET_STATISTICS, count as u32);
        // SAFETY: the kernel writes two words, and two more for each counter; `words` has room for them, as above.
        unsafe { self.ask(&mut words) }?;
        let values = words[2..].chunks_exact(2).map(|pair| {
            let [low, high] = [pair[0].to_ne_bytes(), pair[1].to_ne_bytes()];
            u64::from_ne_bytes([low[0], low[1], low[2], low[3], high[0], high[1], high[2], high[3]])
        });
        Ok(names.into_iter().zip(values.take((words[1] as usize).min(count))).collect())
    }
}

/// A command number, and the words of its structure (`ethtool_drvinfo` and so on).
struct Question<const N: usize>(u32);

const DRIVER: Question<49> = Question(GET_DRIVER);
const RINGS: Question<9> = Question(GET_RINGS);
const PAUSE: Question<4> = Question(GET_PAUSE);
const CHANNELS: Question<9> = Question(GET_CHANNELS);
const GRO: Question<2> = Question(GET_GRO);
const TSO: Question<2> = Question(GET_TSO);
const FLAGS: Question<2> = Question(GET_FLAGS);

fn until_zero(octets: &[u8]) -> String {
    let end = octets.iter().position(|b| *b == 0).unwrap_or(octets.len());
    String::from_utf8_lossy(&octets[..end]).into_owned()
}
