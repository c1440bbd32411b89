//! Which numbered customers have sessions. A dictionary may give a number to somebody else only when no session is left
//! under it; counting sessions for each number would cost a cache miss at each of their beginnings and ends, but the
//! sweep that looks for old sessions comes by every one of them anyway, and notes here whom it has met.

use super::config::{Config, Prefix};
use super::session::addr;
use super::timers::ticks;
use arena::{ArenaError, Array};

/// When each number was last seen to have a session, in rounds of the sweep.
pub struct Census {
    numbers: Prefix,
    met: Array<u8>,
    epoch: u8,
    since: u32,
    /// Ticks that an epoch has at least: what is remembered for a while without a session (fragments) must be forgotten
    /// before a number is.
    least: u32,
}

impl Census {
    /// Nobody met yet; `None` where customers have no numbers.
    ///
    /// # Errors
    /// When there is not enough memory.
    pub fn new(config: &Config) -> Result<Option<Census>, ArenaError> {
        let Some(numbers) = config.numbered else { return Ok(None) };
        let met = Array::filled("the customers' numbers", numbers.count() as usize, 0)?;
        Ok(Some(Census { numbers, met, epoch: 0, since: 0, least: ticks(config.fragments.lifetime) }))
    }

    /// Bytes of one worker.
    pub fn bytes_for(config: &Config) -> u64 {
        config.numbered.map_or(0, |n| n.count())
    }

    /// A session of this inside end point lives.
    #[inline]
    pub fn meet(&mut self, inside: u64) {
        if self.numbers.contains(addr(inside)) {
            self.met[(addr(inside) & !self.numbers.mask()) as usize] = self.epoch;
        }
    }

    /// The sweep begins anew. An epoch has one whole round or more of it.
    #[inline]
    pub fn round(&mut self, tick: u32) {
        if tick.wrapping_sub(self.since) >= self.least {
            self.since = tick;
            self.epoch = self.epoch.wrapping_add(1);
        }
    }

    /// The number of the epoch, modulo 256.
    pub fn epoch(&self) -> u8 {
        self.epoch
    }

    /// Epochs since a session of this number was last met. With two or more, and as long since it was last given to a
    /// packet, it has none: whatever lived through a whole round was met in it, and what was opened since was met then
    /// (from outside) or needed the number (from inside).
    pub fn age(&self, number: u32) -> u8 {
        let i = (number & !self.numbers.mask()) as usize;
        self.met.get(i).map_or(u8::MAX, |met| self.epoch.wrapping_sub(*met))
    }
}
