//! What a search may know beside its trials: the settings of the scenario, the point, what earlier
//! measurements of the point found, and the device.

use crate::Capabilities;
use crate::keys::Keys;
use crate::metric::{Gives, Metric};
use key::quantity::WrittenRate;
use method::search::bottleneck::Limit;
use method::search::{Phase2, SearchResult, SearchSettings, ValidationCap, data_trial};
use method::{Count, Load, Nanos, Rate, TrialError, TrialSpec, Trials};

/// The limit on the rate of validation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cap {
    /// The search has no cap.
    Off,
    /// Measured before the search.
    Measured,
    /// Measured by an earlier search of the point.
    Known(ValidationCap),
}

/// The conditions of one measurement.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    /// What is measured.
    pub metric: &'static Metric,
    /// The keys of all procedures.
    pub keys: &'a Keys,
    /// The device.
    pub device: &'a dyn Capabilities,
    /// Settings that all searches share.
    pub settings: &'a SearchSettings,
    /// Connections of the point (N); 0 for a device without any.
    pub connections: Count,
    /// Frames that the path can buffer; 0 if unknown.
    pub buffered: Count,
    /// Octets of a test frame, FCS included, and where it is longest.
    pub frame: [usize; 2],
    /// Rate of phase 1 before phase 2: that of the scenario, or a share of the establishment rate.
    pub phase1_rate: Option<Rate>,
    /// The throughput of the point: that of the scenario, or as measured.
    pub throughput: Option<Rate>,
    /// What limits that throughput.
    pub limit: Limit,
    /// Limit on the rate of validation.
    pub cap: Cap,
    /// Highest validation rate of the scenario.
    pub validate_at_most: Option<Rate>,
}

impl<'a> Context<'a> {
    /// A point without connections, of which nothing is known yet.
    pub fn new(metric: &'static Metric, keys: &'a Keys, settings: &'a SearchSettings) -> Context<'a> {
        Context {
            metric,
            keys,
            device: &UnknownPlace,
            settings,
            connections: 0,
            buffered: 0,
            frame: [0; 2],
            phase1_rate: None,
            throughput: None,
            limit: Limit::Unknown,
            cap: Cap::Off,
            validate_at_most: None,
        }
    }

    /// The context with this phase 2.
    pub fn with(self, Phase2 { connections, phase1_rate }: Phase2) -> Context<'a> {
        Context { connections, phase1_rate: Some(phase1_rate), ..self }
    }

    /// Measures its metric once.
    ///
    /// # Errors
    /// Those of the procedure.
    pub fn measure(&self, trials: &mut dyn Trials) -> Result<SearchResult, TrialError> {
        let procedure = crate::of(crate::ALL, self.metric.key).expect("a metric that is measured");
        (procedure.search)(self, trials, &mut |_| ())
    }
}

/// A device of which nothing is known.
struct UnknownPlace;

impl Capabilities for UnknownPlace {
    fn forgets_after(&self) -> Nanos {
        Nanos(u64::MAX)
    }

    fn boxes(&self) -> u32 {
        1
    }
}

impl Context<'_> {
    /// Frames per second of a rate as it is written.
    pub fn rate(&self, written: WrittenRate) -> Rate {
        Rate(written.frames_per_second(self.frame[1]))
    }

    /// The throughput at which trials run.
    ///
    /// # Errors
    /// [`TrialError::NotMeasurable`] if it has no result.
    pub fn throughput(&self) -> Result<Rate, TrialError> {
        self.throughput.ok_or_else(|| {
            TrialError::NotMeasurable(format!(
                "{} is measured at the throughput, which has no result at this point",
                self.metric.key
            ))
        })
    }

    /// The rate of phase 1 before phase 2.
    ///
    /// # Errors
    /// [`TrialError::Phase1`] if it is not known.
    pub fn phase1_rate(&self) -> Result<Rate, TrialError> {
        self.phase1_rate.ok_or_else(|| {
            let first = self.keys.metrics().find(|metric| metric.gives == Some(Gives::SetUpRate));
            TrialError::Phase1(format!(
                "no rate for phase 1: phase 2 takes it from {}, which has no result at this point",
                first.map_or("an establishment rate", |metric| metric.key)
            ))
        })
    }

    /// Phase 2 of trials; none without connections.
    ///
    /// # Errors
    /// Those of [`Context::phase1_rate`].
    pub fn phase2(&self) -> Result<Option<Phase2>, TrialError> {
        if self.connections == 0 {
            return Ok(None);
        }
        Ok(Some(Phase2 { connections: self.connections, phase1_rate: self.phase1_rate()? }))
    }

    /// Returns a trial with data at this rate and of this duration.
    ///
    /// # Errors
    /// Those of [`Context::phase1_rate`].
    pub(crate) fn data(&self, rate: Rate, duration: Nanos) -> Result<TrialSpec, TrialError> {
        Ok(TrialSpec { rate, load: Load::For(duration), ..data_trial(self.settings, self.phase2()?)? })
    }

    /// Phase 2 of trials that need connections.
    ///
    /// # Errors
    /// [`TrialError::Refused`] with `otherwise` without any; those of [`Context::phase1_rate`].
    pub fn connected(&self, otherwise: &str) -> Result<Phase2, TrialError> {
        self.phase2()?.ok_or_else(|| TrialError::Refused(otherwise.to_owned()))
    }
}
