//! Models of the series of a run: its results over cores and over connections, with all other conditions equal.

use super::parts;
use super::result::PointResult;
use document::Bound;
use method::model::cores::CoreModel;
use method::model::sessions::SessionModel;
use method::model::{Refusal, Series};
use method::{Count, ResultKind};
use procedure::metric::Unit;
use scenario::axis::AxisValues;
use schemars::JsonSchema;
use serde::Serialize;

/// A series of results, and its model.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Model {
    /// Position of the DUT in the scenario.
    pub dut: usize,
    /// Its name.
    pub dut_name: String,
    /// Key of the metric.
    pub metric: String,
    /// The quantity that varies along the series.
    pub along: Along,
    /// Cores of all points; none along the cores.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cores: Option<u32>,
    /// Connections of all points, 0 when stateless; none along the connections.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connections: Option<Count>,
    /// Values of further axes.
    #[serde(skip_serializing_if = "AxisValues::is_empty")]
    pub axes: AxisValues,
    /// Positions of the points that are fitted.
    pub points: Vec<Count>,
    /// Points that are not fitted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<LeftOut>,
    /// The fit.
    pub outcome: SeriesModel,
}

method::worded! {
    /// The quantity that varies along a series.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
    #[serde(rename_all = "kebab-case")]
    pub enum Along: name {
        /// Cores of the DUT.
        Cores = "cores",
        /// Connections.
        Connections = "connections",
    }
}

/// The model of a series. Rates are per direction.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SeriesModel {
    /// Laws over cores.
    Cores(CoreModel),
    /// Steps over connections.
    Connections(SessionModel),
    /// No model, and the reason.
    Refused(Refusal),
}

/// A point that is not fitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LeftOut {
    /// Its position.
    pub at: Count,
    /// Why.
    pub why: Unusable,
}

method::worded! {
    /// Why a result is not a point of a fit.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
    #[serde(rename_all = "kebab-case")]
    pub enum Unusable: in_words {
        /// It is a lower or an upper bound.
        Bound = "a bound",
        /// It has no rate.
        NoRate = "no rate",
        /// The rate contains the tester's time.
        ClosedLoop = "closed loop",
        /// Tester and DUT shared a core.
        SharesCore = "shares a core with the tester",
    }
}

impl Along {
    fn position(self, result: &PointResult) -> Count {
        match self {
            Along::Cores => result.cores.into(),
            Along::Connections => result.connections,
        }
    }

    /// Returns the quantity that is constant along a series: connections for cores, cores for connections.
    fn other(self, result: &PointResult) -> Count {
        match self {
            Along::Cores => result.connections,
            Along::Connections => result.cores.into(),
        }
    }

    /// Why a result is not a point of a series, if it is not.
    fn unusable(self, result: &PointResult) -> Option<Unusable> {
        let Some(median) = result.median().filter(|median| *median > 0.0) else { return Some(Unusable::NoRate) };
        if result.in_closed_loop {
            Some(Unusable::ClosedLoop)
        } else if self == Along::Cores && result.shares_core {
            Some(Unusable::SharesCore)
        } else {
            let is_exact = result.bound == ResultKind::Exact && result.bound_of(median) == Bound::Exact;
            (!is_exact).then_some(Unusable::Bound)
        }
    }
}

impl Model {
    /// Returns the models of all series of rates with two positions or more.
    pub(super) fn all(results: &[PointResult]) -> Vec<Model> {
        let rates: Vec<&PointResult> = results.iter().filter(|r| is_rate(r)).collect();
        let along = |along: Along| {
            let of_axis = rates.iter().copied().filter(move |r| along.position(r) > 0);
            let series = document::grouped_by(of_axis, |r| (r.dut, &r.metric, &r.axes, along.other(r)));
            series.into_iter().filter(|(_, s)| s.len() > 1).map(move |(_, s)| Model::of(along, &s)).collect::<Vec<_>>()
        };
        Along::ALL.into_iter().flat_map(along).collect()
    }

    fn of(along: Along, series: &[&PointResult]) -> Model {
        let first = series[0];
        let (mut points, mut left_out, mut samples) = (Vec::new(), Vec::new(), Vec::new());
        for result in series {
            let at = along.position(result);
            if let Some(why) = along.unusable(result) {
                left_out.push(LeftOut { at, why });
                continue;
            }
            let measured = result.repetitions.iter().filter(|repetition| repetition.bound.has_rate());
            points.push(at);
            samples.push((at as f64, measured.map(|repetition| repetition.value as f64).collect()));
        }
        let outcome = match (Series::of(&samples), along) {
            (Err(refusal), _) => SeriesModel::Refused(refusal),
            (Ok(series), Along::Cores) => SeriesModel::Cores(CoreModel::of(&series)),
            (Ok(series), Along::Connections) => {
                SessionModel::of(&series).map_or_else(SeriesModel::Refused, SeriesModel::Connections)
            }
        };
        Model {
            dut: first.dut,
            dut_name: first.dut_name.clone(),
            metric: first.metric.clone(),
            along,
            cores: (along != Along::Cores).then_some(first.cores),
            connections: (along != Along::Connections).then_some(first.connections),
            axes: first.axes.clone(),
            points,
            left_out,
            outcome,
        }
    }

    /// The laws over cores, if these were fitted.
    pub fn over_cores(&self) -> Option<&CoreModel> {
        if let SeriesModel::Cores(fitted) = &self.outcome { Some(fitted) } else { None }
    }

    /// The steps over connections, if these were fitted.
    pub fn over_connections(&self) -> Option<&SessionModel> {
        if let SeriesModel::Connections(fitted) = &self.outcome { Some(fitted) } else { None }
    }

    /// Whether a result is a point of the series.
    pub fn has(&self, result: &PointResult) -> bool {
        (self.dut, &self.metric, &self.axes) == (result.dut, &result.metric, &result.axes)
            && self.cores.is_none_or(|cores| cores == result.cores)
            && self.connections.is_none_or(|connections| connections == result.connections)
    }

    /// Returns the fitted curve as (cores or connections, rate per direction), within the points that were measured.
    /// `None` if nothing is fitted.
    pub fn curve(&self) -> Option<Vec<(f64, f64)>> {
        match &self.outcome {
            SeriesModel::Cores(model) => Some(model.curve(CURVE_POINTS)),
            SeriesModel::Connections(model) => Some(model.curve()),
            SeriesModel::Refused(_) => None,
        }
    }
}

impl super::Report {
    /// Returns the fitted curve of the series to which a result belongs, as [`Model::curve`] does.
    pub fn fitted_curve(&self, of: &PointResult, along: Along) -> Option<Vec<(f64, f64)>> {
        self.models.iter().find(|model| model.along == along && model.has(of))?.curve()
    }
}

/// Points of a curve over cores.
const CURVE_POINTS: usize = 65;

fn is_rate(result: &PointResult) -> bool {
    let of_rates = [Unit::FramesPerSecond, Unit::ConnectionsPerSecond, Unit::QueriesPerSecond];
    let is_part = parts::measured(&result.metric) != result.metric;
    !is_part && result.known.is_some_and(|metric| of_rates.contains(&metric.unit))
}
