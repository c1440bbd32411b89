//! The limit on the rate of validation (`alpha = "auto"`): 0.9 of the reverse one-way throughput of the point. A
//! validation above the DUT's throughput in reverse fails for that reason, and the result would not be the DUT's
//! establishment rate.

use crate::throughput;
use method::ratio::Ratio;
use method::search::{Phase2, Progress, SearchSettings, ValidationCap};
use method::trial::{Direction, TrialError, Trials};
use method::units::{Nanos, Rate};
use method::{Precision, ResponderTable};

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
