//! The axes of a scenario besides connections and cores. A point of the matrix holds their values by name. The scenario
//! at a point is a scenario with these values set, so that later code does not depend on axes.

use crate::quantity::show_grouped;
use crate::{Dut, Following, Scenario, foreground, frame_size};
use method::Count;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::BTreeMap;
use tech::{FOREGROUND, FRAME_SIZE, Flows, HASH_SIZE, MOST_BUCKETS, MOST_ENTRIES, TABLE};

pub use tech::{AXES, Axis, Fit};

/// A value of each axis that a point has, by the axis' name; none where nothing beside connections and cores is swept.
pub type AxisValues = BTreeMap<String, Count>;

/// An axis with the values that are measured, as a scenario has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Swept {
    /// Name of the axis, as in [`AXES`].
    pub axis: String,
    /// Its values, in the order written.
    pub values: Vec<Count>,
}

/// The axes that a point has, with their values, in the order of [`AXES`].
pub fn in_order(values: &AxisValues) -> impl Iterator<Item = (&'static Axis, Count)> {
    AXES.iter().filter_map(|axis| values.get(axis.name()).map(|&value| (axis, value)))
}

/// A point's values in words, for titles: `1,000 softwires`.
pub fn in_words(values: &AxisValues) -> String {
    let each = in_order(values).map(|(axis, n)| format!("{} {}", show_grouped(n), axis.heading));
    each.collect::<Vec<_>>().join(", ")
}

/// The same behind a comma, where there is something before it; nothing without values.
pub fn more_in_words(values: &AxisValues) -> String {
    if values.is_empty() { String::new() } else { format!(", {}", in_words(values)) }
}

impl Dut {
    /// Whether, and up to which value, it has an axis.
    pub fn fit(&self, axis: &str, flows: &Flows) -> Fit {
        match axis {
            FRAME_SIZE => return frame_size::fit(self),
            FOREGROUND if foreground::has_none(self).is_some() => return Fit::Lacks,
            FOREGROUND => return Fit::UpTo(100, "more than all frames", "write 100 at most"),
            _ => {}
        }
        if let Some(size) = self.size_of(axis) {
            return size;
        }
        if let Some((plays, technology)) = self.technology() {
            return technology.fit(axis, plays, flows);
        }
        match (self, axis) {
            (Dut::Kernel { nat44: Some(_), .. }, "inside-addresses") => {
                Fit::UpTo(flows.inside.count.into(), "more than `inside` has", "widen `inside` in [traffic]")
            }
            (Dut::Kernel { nat44: Some(nat44), .. }, "outside-addresses") => {
                Fit::UpTo(nat44.pool.count.into(), "more than `pool` has", "widen `pool`")
            }
            _ => Fit::Lacks,
        }
    }

    /// Whether it has the axis, if that is a size of its connection tracking table.
    fn size_of(&self, axis: &str) -> Option<Fit> {
        let most = match axis {
            TABLE => MOST_ENTRIES,
            HASH_SIZE => MOST_BUCKETS,
            _ => return None,
        };
        let has = matches!(self, Dut::Kernel { nat44: Some(_), .. } | Dut::External { .. }) && self.is_stateful();
        Some(if has { Fit::UpTo(most, "more than a kernel has", "write fewer") } else { Fit::Lacks })
    }

    /// Where it keeps a size of its connection tracking table.
    fn size(&mut self, axis: &str) -> Option<&mut Option<Count>> {
        match (self, axis) {
            (Dut::Kernel { nat44: Some(nat44), .. }, TABLE) => Some(&mut nat44.table),
            (Dut::Kernel { nat44: Some(nat44), .. }, HASH_SIZE) => Some(&mut nat44.hash_size),
            (Dut::External { keys, .. }, TABLE) => Some(&mut keys.table),
            (Dut::External { keys, .. }, HASH_SIZE) => Some(&mut keys.hash_size),
            _ => None,
        }
    }

    fn set(&mut self, axis: &str, value: Count, flows: &mut Flows) {
        // Frame size and foreground are not of the device: `Scenario::at` sets them.
        if [FRAME_SIZE, FOREGROUND].contains(&axis) {
            return;
        }
        if let Some(size) = self.size(axis) {
            *size = Some(value);
            return;
        }
        if let Some((_, technology)) = self.technology_mut() {
            technology.set(axis, value, flows);
            return;
        }
        match (self, axis) {
            (Dut::Kernel { .. }, "inside-addresses") => flows.inside.count = value as u32,
            (Dut::Kernel { nat44: Some(nat44), .. }, "outside-addresses") => nat44.pool.count = value as u32,
            _ => {}
        }
    }
}

fn set_all(dut: &mut Dut, values: &AxisValues, flows: &mut Flows) {
    for (axis, value) in in_order(values) {
        dut.set(axis.name(), value, flows);
    }
}

impl Scenario {
    /// All combinations of the swept values of the axes that a device has; one without values where it has none.
    pub fn combinations(&self, dut: &Dut) -> Vec<AxisValues> {
        let mut all = vec![AxisValues::new()];
        for swept in self.axes.iter().filter(|swept| dut.fit(&swept.axis, &self.traffic.flows) != Fit::Lacks) {
            let with = |values: AxisValues| {
                swept.values.iter().map(move |&value| {
                    let mut values = values.clone();
                    values.insert(swept.axis.clone(), value);
                    values
                })
            };
            all = all.into_iter().flat_map(with).collect();
        }
        all
    }

    /// The scenario as it is at a point of the matrix: with these values set for device number `dut`, and the port ranges
    /// of this number of connections.
    pub fn at(&self, dut: usize, connections: Count, values: &AxisValues) -> Cow<'_, Scenario> {
        if values.is_empty() && !self.following.any() {
            return Cow::Borrowed(self);
        }
        let mut scenario = self.clone();
        set_all(&mut scenario.duts[dut], values, &mut scenario.traffic.flows);
        if let Some(&size) = values.get(FRAME_SIZE) {
            scenario.traffic.frame_size = size as usize;
        }
        if let Some(&percent) = values.get(FOREGROUND) {
            scenario.traffic.foreground_ppm = foreground::ppm(percent);
        }
        self.fill_ranges(connections, &mut scenario.traffic.flows);
        scenario.following = Following::default();
        Cow::Owned(scenario)
    }

    /// The flows of [`Scenario::at`].
    pub(crate) fn flows_at(&self, dut: usize, connections: Count, values: &AxisValues) -> Flows {
        let mut flows = self.traffic.flows.clone();
        if !values.is_empty() {
            set_all(&mut self.duts[dut].clone(), values, &mut flows);
        }
        self.fill_ranges(connections, &mut flows);
        flows
    }

    /// The fewest and the most inside addresses, or subscribers, at any point; none where a value is not possible anyway.
    pub(crate) fn hosts(&self) -> Option<(u64, u64)> {
        let mut all: Option<(u64, u64)> = None;
        for (at, dut) in self.duts.iter().enumerate() {
            for values in self.combinations(dut) {
                let refused = |axis: &str| matches!(dut.fit(axis, &self.traffic.flows), Fit::Refused(_));
                if values.keys().any(|axis| refused(axis)) {
                    return None;
                }
                let n = self.flows_at(at, 0, &values).hosts();
                all = Some(all.map_or((n, n), |(least, most)| (least.min(n), most.max(n))));
            }
        }
        let usual = self.traffic.flows.hosts();
        Some(all.unwrap_or((usual, usual)))
    }

    /// The axis that is the number of inside addresses or subscribers, if one is swept.
    pub(crate) fn host_axis(&self) -> Option<&Swept> {
        let sets = |axis: &Axis| axis.sets_subscribers || axis.name() == "inside-addresses";
        self.axes.iter().find(|swept| Axis::by_name(&swept.axis).is_some_and(sets))
    }
}
