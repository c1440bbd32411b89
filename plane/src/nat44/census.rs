//! Which numbered customers have sessions. A dictionary may give a number to another customer only when no session with
//! it is left. Counting the sessions of each number would cost a cache miss at the begin and end of every session. The
//! sweep that looks for expired sessions visits every one of them anyway, and notes here which numbers it has met.

use super::config::Config;
use super::session::addr;
use super::timers::ticks;
use arena::{ArenaError, Array};
use wire::Prefix4;

/// When each number was last seen to have a session, in rounds of the sweep.
pub(super) struct Census {
    /// The customers' numbers, and those of remote end points where these have numbers too.
    numbers: Met,
    remotes: Option<Met>,
    /// Bits of a number that do not identify the customer.
    aliases: u32,
    epoch: u8,
    since: u32,
    /// Minimum ticks of an epoch: state that outlives its session for a while (fragments) must be gone before the
    /// number is freed.
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

    /// Note a live session between these end points.
    #[inline]
    pub(super) fn meet(&mut self, inside: u64, remote: u64) {
        self.numbers.meet(addr(inside) & !self.aliases, self.epoch);
        if let Some(remotes) = &mut self.remotes {
            remotes.meet(addr(remote), self.epoch);
        }
    }

    /// Note that the sweep begins a new round. An epoch has at least one whole round.
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

    /// Epochs since the sweep last met a session of this number. If it is two or more, and the number was not used for
    /// a packet in that time either, the number has no session: the sweep meets every session that lives through a
    /// whole round, and a session that was opened since then was noted when it was opened (from outside) or used the
    /// number (from inside).
    pub(super) fn age(&self, number: u32) -> u8 {
        let all = [Some(&self.numbers), self.remotes.as_ref()];
        let Some(of) = all.into_iter().flatten().find(|of| of.numbers.contains(number)) else { return u8::MAX };
        self.epoch.wrapping_sub(of.met[(number & !of.numbers.mask()) as usize])
    }
}
