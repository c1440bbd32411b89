//! Whether `clear` empties the table of a device: the device's count must show it once.

use crate::engine::Engine;
use method::TrialError;
use std::time::{Duration, Instant};

/// Time that a device may take to remove its entries after its command has ended.
const REMOVED_WITHIN: Duration = Duration::from_secs(2);
const ROUND: Duration = Duration::from_millis(20);

impl Engine {
    /// Reads the count after a `clear`, until one `clear` is known to have worked.
    pub(crate) fn prove_clear(&mut self) -> Result<(), TrialError> {
        if self.clear_proof.is_shown || !self.device.is_cleared_by_command() {
            return Ok(());
        }
        let Some(mut left) = self.entries()? else { return Ok(()) };
        let Some(all) = self.clear_proof.filled else {
            self.clear_proof.others = Some(left);
            return Ok(());
        };
        let most = self.clear_proof.most_left(all);
        let end = Instant::now() + REMOVED_WITHIN;
        while left > most && Instant::now() < end {
            self.rest(ROUND.into())?;
            let Some(now) = self.entries()? else { return Ok(()) };
            left = now;
        }
        if left > most {
            return Err(TrialError::NotMeasurable(format!(
                "`clear` left {left} of {all} entries in the table of the device: its command does not empty the table"
            )));
        }
        self.clear_proof.is_shown = true;
        Ok(())
    }
}
