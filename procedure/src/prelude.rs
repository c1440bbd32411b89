//! Common imports of the files of procedures.

pub(crate) use crate::keys::LENGTHS;
pub(crate) use crate::known::{EXACT, HELD, KnownPoint, of_search};
pub(crate) use crate::metric::{Gives, Metric, Origin, TrialKind, Unit};
pub(crate) use crate::results::{MetricResult, Results, line, names, section_of};
pub(crate) use crate::{Context, KeyTable, KnownValue, MeasureRequest, Procedure, Sends, Watch, single};
pub(crate) use document::{Form, Quantity, Section, Table, row};
pub(crate) use key::kind::{duration, maybe};
pub(crate) use key::quantity::WrittenRate;
pub(crate) use key::{Fault, computed, or};
pub(crate) use method::judged::{Decision, Patience};
pub(crate) use method::ratio::Ratio;
pub(crate) use method::search::{
    Decider, Phase2, Progress, ResultKind, SearchResult, SearchSettings, binary, data_trial,
};
pub(crate) use method::simulated::{ControlTruth, Truth};
pub(crate) use method::trial::{Load, TrialError, TrialOptions, TrialSpec, Trials};
pub(crate) use method::units::{Count, Nanos, Rate};
