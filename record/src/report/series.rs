//! The axes of a run's results, and series of results that differ along one axis only.

use super::number::grouped;
use super::result::PointResult;
use scenario::axis::{self, AxisValues};

#[derive(Clone, Copy, Debug)]
pub(super) enum Axis {
    Connections,
    Cores,
    Swept(&'static axis::Axis),
    Device,
}

/// Device, cores, further axes and connections of a result, without the position on the axis of its series.
type Line = (usize, u32, AxisValues, u64);

impl Axis {
    pub(super) fn heading(self) -> &'static str {
        match self {
            Axis::Connections => "connections",
            Axis::Cores => "cores of the device",
            Axis::Swept(axis) => axis.heading,
            Axis::Device => "device",
        }
    }

    /// Returns the position of a result; `None` if it has none, such as a stateless result on the axis of connections.
    pub(super) fn position(self, result: &PointResult) -> Option<u64> {
        match self {
            Axis::Connections => Some(result.connections).filter(|&n| n > 0),
            Axis::Cores => Some(result.cores.into()),
            Axis::Swept(axis) => result.axes.get(axis.name()).copied(),
            Axis::Device => Some(result.dut as u64),
        }
    }

    pub(super) fn positions(self, results: &[&PointResult]) -> usize {
        document::distinct(results.iter().filter_map(|c| self.position(c))).len()
    }

    pub(super) fn column(self, result: &PointResult) -> String {
        match self {
            Axis::Connections if result.connections == 0 => "stateless".to_owned(),
            Axis::Connections => grouped(result.connections),
            Axis::Cores => result.cores.to_string(),
            Axis::Swept(axis) => result.axes.get(axis.name()).map_or_else(|| "–".to_owned(), |&n| axis.show(n)),
            Axis::Device => result.dut_name.clone(),
        }
    }

    /// Groups results that differ in position only, whatever their metric.
    pub(super) fn series<'c>(self, results: &[&'c PointResult]) -> Vec<Vec<&'c PointResult>> {
        // A stateless device stands beside the others once.
        let fewest = results.iter().map(|c| c.connections).filter(|&n| n > 0).min().unwrap_or(0);
        let groups = document::grouped_by(results.iter().copied(), |c| self.line(c, fewest));
        groups.into_iter().map(|(_, series)| series).collect()
    }

    fn line(self, result: &PointResult, fewest: u64) -> Line {
        let (dut, cores, connections) = (result.dut, result.cores, result.connections);
        match self {
            Axis::Connections => (dut, cores, result.axes.clone(), 0),
            Axis::Cores => (dut, 0, result.axes.clone(), connections),
            Axis::Swept(_) => (dut, cores, self.others(result), connections),
            Axis::Device => (0, cores, result.axes.clone(), if connections == 0 { fewest } else { connections }),
        }
    }

    /// Returns the further axes of a result without this one.
    pub(super) fn others(self, result: &PointResult) -> AxisValues {
        let mut axes = result.axes.clone();
        if let Axis::Swept(axis) = self {
            axes.remove(axis.name());
        }
        axes
    }
}
