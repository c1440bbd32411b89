//! The limit on the rate of validation (`alpha = "auto"`): 0.9 of the reverse one-way throughput of the point. A
//! validation above the DUT's throughput in reverse fails for that reason, and the result would not be the DUT's
//! establishment rate.

use super::{Phase2, Progress, SearchResult, SearchSettings, ValidationCap, throughput};
use crate::ratio::Ratio;
use crate::trial::{Direction, TrialError, Trials};
use crate::units::{Nanos, Rate};
use crate::{Precision, ResponderTable};

/// The limit, as a share of the reverse one-way throughput.
const SAFE: Ratio = Ratio::from_ppm(900_000);
/// Width of the search for the reverse throughput, relative to the result.
const WIDTH: Ratio = Ratio::from_ppm(20_000);
/// Its trials last this part of those of a throughput, and at least a second.
const DURATION_PART: u64 = 10;

/// Measures the reverse one-way throughput by a short binary search.
///
/// # Errors
/// Those of [`throughput::measure`]; [`TrialError::Refused`] if no rate passes.
pub fn measure(
    trials: &mut dyn Trials,
    settings: &SearchSettings,
    phase2: Phase2,
    watch: &mut dyn FnMut(&Progress),
) -> Result<ValidationCap, TrialError> {
    let least = settings.duration.min(Nanos::SECOND);
    let settings = SearchSettings {
        lo: Rate(0),
        precision: Precision::Relative(WIDTH),
        verify: None,
        goals: Vec::new(),
        warm: None,
        keep_table: false,
        early_end: false,
        duration: Nanos(settings.duration.0 / DURATION_PART).max(least),
        direction: Direction::Reverse,
        responder_table: ResponderTable::Keep,
        alpha: None,
        ..settings.clone()
    };
    let reverse = throughput::measure(trials, &settings, Some(phase2), watch)?;
    if reverse.rate.0 == 0 {
        return Err(TrialError::Refused(
            "no rate passes in reverse, so that alpha = \"auto\" has no limit; write alpha as a share, and validate-at-most"
                .to_owned(),
        ));
    }
    Ok(ValidationCap::of(reverse.rate, reverse.trials))
}

impl ValidationCap {
    fn of(reverse: Rate, trials: u64) -> ValidationCap {
        ValidationCap { reverse, cap: SAFE.of(reverse).max(Rate(1)), limited: false, trials }
    }

    /// The limit that an earlier search of the same point measured.
    #[must_use]
    pub fn again(self) -> ValidationCap {
        ValidationCap::of(self.reverse, 0)
    }

    /// Adds the limit to a result, whose rate was validated at alpha times itself, or at this limit.
    pub fn beside(self, rate: Rate, alpha: Ratio, result: &mut SearchResult) {
        result.evidence.validation_cap = Some(ValidationCap { limited: alpha.of(rate) > self.cap, ..self });
    }
}
