//! The limit on the rate of validation (`alpha = "auto"`): 0.9 of the reverse one-way throughput. A
//! faster validation fails for that reason, and the result would not be the establishment rate.

use crate::{Cap, Context, Watch, throughput};
use method::ratio::Ratio;
use method::search::{Phase2, Progress, SearchResult, SearchSettings, ValidationCap};
use method::trial::{Direction, TrialError, Trials};
use method::units::{Count, Nanos, Rate};
use method::{Precision, ResponderTable};

/// Width of the search, relative to the result.
const WIDTH: Ratio = Ratio::from_ppm(20_000);
/// Trials last this part of those of a throughput, and at least a second.
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

/// The limits on the rate of validation.
#[derive(Clone, Copy, Debug)]
pub struct Validation {
    /// The lower of the scenario's and the measured one.
    pub at_most: Option<Rate>,
    measured: Option<ValidationCap>,
}

impl Validation {
    /// Limits of a search, measured now with so many connections if no earlier search did.
    ///
    /// # Errors
    /// Those of [`measure`]; [`TrialError::Phase1`] without a rate for phase 1.
    pub fn of(
        context: &Context<'_>,
        connections: Count,
        trials: &mut dyn Trials,
        watch: Watch<'_>,
    ) -> Result<Validation, TrialError> {
        let measured = match context.cap {
            Cap::Off => None,
            Cap::Known(cap) => Some(cap),
            Cap::Measured => {
                let phase2 = Phase2 { connections, phase1_rate: context.phase1_rate()? };
                Some(measure(trials, context.settings, phase2, watch)?)
            }
        };
        let at_most = context.validate_at_most.into_iter().chain(measured.map(|cap| cap.cap)).min();
        Ok(Validation { at_most, measured })
    }

    /// Adds the measured limit to a result validated at alpha times `rate`, or at the limit.
    pub(crate) fn beside(self, context: &Context<'_>, rate: Rate, mut result: SearchResult) -> SearchResult {
        if let (Some(cap), Some(alpha)) = (self.measured, context.settings.alpha) {
            result.evidence.validation_cap = Some(cap.beside(rate, alpha));
        }
        result
    }
}
