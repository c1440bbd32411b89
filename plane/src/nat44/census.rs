//! Which numbered customers have sessions, so that a dictionary can free the other numbers. The
//! sweep for expired sessions notes the numbers that it meets: counting each number's sessions
//! would cost a cache miss a session.

use super::config::Config;
use super::session::addr;
use super::timers::ticks;
use arena::{ArenaError, Array};
use wire::Prefix4;

/// The round of the sweep that last met each number.
pub(super) struct Census {
    /// `remotes` are remote end points, where these have numbers.
    numbers: Met,
    remotes: Option<Met>,
    aliases: u32,
    epoch: u8,
    since: u32,
    /// Least idle time in ticks: state that outlives its session (fragments) must be gone before
    /// the number is freed.
    least: u32,
}

/// The numbers of one prefix, with the epoch in which each was last met.
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
    /// `None` where customers have no numbers.
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

    #[inline]
    pub(super) fn meet(&mut self, inside: u64, remote: u64) {
        self.numbers.meet(addr(inside) & !self.aliases, self.epoch);
        if let Some(remotes) = &mut self.remotes {
            remotes.meet(addr(remote), self.epoch);
        }
    }

    /// An epoch has at least one whole round.
    #[inline]
    pub(super) fn round(&mut self, tick: u32) {
        if tick.wrapping_sub(self.since).cast_signed() >= self.least.cast_signed() {
            self.since = tick;
            self.epoch = self.epoch.wrapping_add(1);
        }
    }

    /// The epoch modulo 256.
    pub(super) fn epoch(&self) -> u8 {
        self.epoch
    }

    /// Time since the sweep met a session, in epochs. After two, if no packet used the number
    /// either, it has no session: the sweep meets every session that lives through a round, and a
    /// new session was noted when opened (from outside) or used the number (from inside).
    pub(super) fn age(&self, number: u32) -> u8 {
        let all = [Some(&self.numbers), self.remotes.as_ref()];
        let Some(of) = all.into_iter().flatten().find(|of| of.numbers.contains(number)) else { return u8::MAX };
        self.epoch.wrapping_sub(of.met[(number & !of.numbers.mask()) as usize])
    }
}
