//! Checks that hooks had the effect that their exit code claims.

use super::hook::Hook;
use super::hook_host::On;
use super::outcome::last_number;
use super::{External, ExternalConfig};
use crate::DutError;
use crate::cpu::core_times;
use crate::facts::Fact;
use crate::host::runner::Ran;
use std::time::{Duration, Instant};

/// Time that a device may take to remove its entries after its hook has ended.
const REMOVED_WITHIN: Duration = Duration::from_secs(2);
const ROUND: Duration = Duration::from_millis(100);

/// Cores of the point, if the hook `cores` sets them.
pub(super) fn cores_asked(config: &ExternalConfig) -> Option<u64> {
    config.hooks.get(&Hook::Cores).filter(|line| line.contains("{cores}"))?;
    config.values.iter().find(|(name, _)| name == "cores")?.1.parse().ok()
}

pub(super) fn doubt_of_cores(asked: u64, printed: Option<u64>, online: Option<u64>) -> Option<String> {
    match (printed, online) {
        (Some(set), Some(online)) if set != online => Some(format!("it printed {set}, but {online} are online")),
        (Some(set), _) | (None, Some(set)) if set == asked => None,
        (Some(set), _) => Some(format!("it printed {set}")),
        (None, Some(online)) if online < asked => Some(format!("the box has {online} online")),
        _ => Some("nothing shows the number of cores in use; let the hook print it".to_owned()),
    }
}

impl External {
    /// Compares the cores that the hook `cores` was asked for with the number that it printed and with the cores that the host has
    /// online, as far as they are known.
    pub(super) fn read_cores_back(&mut self, ran: &Ran) -> Result<(), DutError> {
        let Some(asked) = self.cores else { return Ok(()) };
        let printed = last_number(&ran.output.stdout);
        // Other programs use the cores of this machine, too.
        let has_own = matches!(self.config.on, On::Ssh(_) | On::Guest(_));
        let stat = if has_own { self.proc_stat()? } else { None };
        let online = stat.map(|stat| core_times(&stat).len() as u64).filter(|online| *online > 0);
        let doubt = doubt_of_cores(asked, printed, online)
            .map(|what| format!("The hook `cores` of {} was asked for {asked} cores: {what}.", self.name()));
        self.facts.push(Fact { doubt, ..Fact::new("cores asked for", asked.to_string()) });
        Ok(())
    }

    /// The hook `count` where nothing depends on it: it may need `prepare`.
    pub(super) fn count_quietly(&mut self) -> Option<u64> {
        let line = self.line(Hook::Count).filter(|_| self.config.hooks.contains_key(&Hook::Restore))?;
        let output = self.place.run(&line).ok()?.output;
        if output.ok() { last_number(&output.stdout) } else { None }
    }

    /// Says how many entries the hook `restore` left, if they are more than before the hook `prepare`.
    pub(super) fn left_by_restore(&mut self) -> Option<String> {
        let [before, most] = self.entries?;
        // A tenth is tolerated: other hosts may open connections meanwhile.
        let at_most = before + (most - before) / 10;
        let end = Instant::now() + REMOVED_WITHIN;
        let mut left = self.count_quietly()?;
        while left > at_most && Instant::now() < end {
            std::thread::sleep(ROUND);
            left = self.count_quietly()?;
        }
        (left > at_most).then(|| {
            format!("{}: after `restore` the table has {left} entries; before `prepare` it had {before}", self.name())
        })
    }
}
