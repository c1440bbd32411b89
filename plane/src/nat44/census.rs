//! Which numbered customers have sessions. A dictionary may give a number to somebody else only when no session is left
//! under it; counting sessions for each number would cost a cache miss at each of their beginnings and ends, but the
//! sweep that looks for old sessions comes by every one of them anyway, and notes here whom it has met.

use super::config::Config;
use super::session::addr;
use super::timers::ticks;
use arena::{ArenaError, Array};
use wire::Prefix4;

/// When each number was last seen to have a session, in rounds of the sweep.
pub(super) struct Census {
    /// The customers' numbers, and those of remote ends, where these are numbers too.
    numbers: Met,
    remotes: Option<Met>,
    /// Bits of a number that say nothing about whose it is.
    aliases: u32,
    epoch: u8,
    since: u32,
    /// Ticks that an epoch has at least: what is remembered for a while without a session (fragments) must be forgotten
    /// before a number is.
    least: u32,
}

/// The numbers of one prefix, and the epoch in which each was last met.
struct Met {
    numbers: Prefix4,
    met: Array<u8>,
}

impl Met {
    fn new(numbers: Prefix4) -> Result<Met, ArenaError> {
        let met = Array::filled("the numbers with sessions", numbers.count() as usize, 0)?;
        Ok(Met { numbers, met })
    }

    #[inline(always)]
    fn meet(&mut self, number: u32, epoch: u8) {
        if self.numbers.contains(number) {
            self.met[(number & !self.numbers.mask()) as usize] = epoch;
        }
    }
}

impl Census {
    /// No number met yet; `None` where customers have no numbers.
    ///
    /// # Errors
    /// When there is not enough memory.
    pub(super) fn new(config: &Config) -> Result<Option<Census>, ArenaError> {
        let Some(numbers) = config.numbered else { return Ok(None) };
        let remotes = config.numbered_remotes.map(Met::new).transpose()?;
        let least = ticks(config.fragments.lifetime);
        let aliases = config.aliases;
        Ok(Some(Census { numbers: Met::new(numbers)?, remotes, aliases, epoch: 0, since: 0, least }))
    }

    pub(super) fn bytes_for(config: &Config) -> u64 {
        [config.numbered, config.numbered_remotes].iter().flatten().map(Prefix4::count).sum()
    }

    /// A session between these end points lives.
    #[inline]
    pub(super) fn meet(&mut self, inside: u64, remote: u64) {
        self.numbers.meet(addr(inside) & !self.aliases, self.epoch);
        if let Some(remotes) = &mut self.remotes {
            remotes.meet(addr(remote), self.epoch);
        }
    }

    /// The sweep begins anew. An epoch has one whole round or more of it.
    #[inline]
    pub(super) fn round(&mut self, tick: u32) {
        if tick.wrapping_sub(self.since).cast_signed() >= self.least.cast_signed() {
            self.since = tick;
            self.epoch = self.epoch.wrapping_add(1);
        }
    }

    /// The number of the epoch, modulo 256.
    pub(super) fn epoch(&self) -> u8 {
        self.epoch
    }

    /// Epochs since a session of this number was last met. With two or more, and as long since it was last given to a
    /// packet, it has none: whatever lived through a whole round was met in it, and what was opened since was met then
    /// (from outside) or needed the number (from inside).
    pub(super) fn age(&self, number: u32) -> u8 {
        let all = [Some(&self.numbers), self.remotes.as_ref()];
        let Some(of) = all.into_iter().flatten().find(|of| of.numbers.contains(number)) else { return u8::MAX };
        self.epoch.wrapping_sub(of.met[(number & !of.numbers.mask()) as usize])
    }
}
