//! The axes of a scenario besides connections and cores. The scenario at a point of the matrix is one with its values set.

use crate::bed::{Bed, PortIo};
use crate::frame_size::LARGEST;
use crate::{DerivedRanges, Device, Dut, Scenario, foreground};
use method::{Count, Direction};
use std::borrow::Cow;
use tech::{DIRECTION, FOREGROUND, FRAME_SIZE, Flows, HASH_SIZE, MOST_BUCKETS, MOST_ENTRIES, OF_TRAFFIC, TABLE};

pub use crate::axis_values::{AxisValues, SweptAxis};
pub use tech::{AXES, Axis, Fit};

/// The axes that a point has, with their values, in the order of [`AXES`].
pub fn in_order(values: &AxisValues) -> impl Iterator<Item = (&'static Axis, Count)> {
    AXES.iter().filter_map(|axis| values.get(axis.name()).map(|&value| (axis, value)))
}

/// A point's values in words, for titles: `1,000 softwires`.
pub fn in_words(values: &AxisValues) -> String {
    let each = in_order(values).map(|(axis, n)| axis.phrase(n));
    each.collect::<Vec<_>>().join(", ")
}

/// Values in words behind a comma; nothing without values.
pub fn more_in_words(values: &AxisValues) -> String {
    if values.is_empty() { String::new() } else { format!(", {}", in_words(values)) }
}

impl dyn Device + '_ {
    /// How long frames it can have.
    fn fit_frame_size(&self) -> Fit {
        let way_out =
            |most| if most == LARGEST { "use smaller frames" } else { "measure only devices in this process" };
        self.longest_frame().map_or(Fit::Lacks, |most| Fit::UpTo(most, "larger than the link carries", way_out(most)))
    }

    /// Whether, and up to which value, it has an axis.
    pub fn fit(&self, axis: &str, flows: &Flows) -> Fit {
        match axis {
            FRAME_SIZE => self.fit_frame_size(),
            DIRECTION if !self.gets_frames() => Fit::Lacks,
            DIRECTION => Fit::UpTo(Count::MAX, "", ""),
            FOREGROUND if self.no_foreground().is_some() => Fit::Lacks,
            FOREGROUND => Fit::UpTo(100, "more than all frames", "write 100 at most"),
            TABLE => self.fit_size(MOST_ENTRIES),
            HASH_SIZE => self.fit_size(MOST_BUCKETS),
            _ => self.fit_axis(axis, flows),
        }
    }

    /// Whether it has a size of its connection tracking table as axis.
    fn fit_size(&self, most: Count) -> Fit {
        let has = self.table_sizes().is_some() && self.is_stateful();
        if has { Fit::UpTo(most, "more than a kernel has", "write fewer") } else { Fit::Lacks }
    }

    fn set(&mut self, axis: &str, value: Count, flows: &mut Flows) {
        match axis {
            // `Scenario::at` sets these.
            _ if OF_TRAFFIC.contains(&axis) => {}
            TABLE | HASH_SIZE => {
                let mut sizes = self.table_sizes().unwrap_or_default();
                *if axis == TABLE { &mut sizes.entries } else { &mut sizes.buckets } = Some(value);
                self.set_table_sizes(sizes);
            }
            _ => self.set_axis(axis, value, flows),
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
        let bed = self.bed_of(&self.duts[dut]).filter(|bed| matches!(bed, Cow::Owned(_)));
        let unlike = |other: &Dut| other.overhead() != self.duts[dut].overhead();
        let device = (self.bed.is_some() && self.duts.iter().any(unlike)).then_some(dut);
        if values.is_empty() && !self.following.any() && bed.is_none() && device.is_none() {
            return Cow::Borrowed(self);
        }
        let mut scenario = self.clone();
        scenario.device = device;
        scenario.bed = bed.map(Cow::into_owned).or(scenario.bed);
        set_all(&mut scenario.duts[dut], values, &mut scenario.traffic.flows);
        if let Some(&size) = values.get(FRAME_SIZE) {
            scenario.traffic.frame_size = size as usize;
        }
        if let Some(&percent) = values.get(FOREGROUND) {
            scenario.traffic.foreground_ppm = foreground::ppm(percent);
        }
        if let Some(direction) = values.get(DIRECTION).copied().and_then(Direction::of_code) {
            scenario.traffic.direction = direction;
        }
        self.fill_ranges(connections, &mut scenario.traffic.flows);
        scenario.following = DerivedRanges::default();
        Cow::Owned(scenario)
    }

    /// The bed between the tester's ports with a device: that of a bed file, or the device's own.
    pub fn bed_with(&self, dut: &Dut) -> Option<Cow<'_, Bed>> {
        self.bed_of(dut).or_else(|| dut.own_bed(self).map(Cow::Owned))
    }

    /// The own bed of a device whose ports a cable can join: not a TAP, whose other end is the kernel.
    pub fn bed_of_cable(&self, dut: &Dut) -> Option<Bed> {
        dut.own_bed(self).filter(|bed| !self.sends_queries() && bed.left.io != PortIo::Tap)
    }

    /// The bed of a bed file with a device, with its software and addresses.
    pub fn bed_of(&self, dut: &Dut) -> Option<Cow<'_, Bed>> {
        dut.boxes(self)
    }

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

    pub(crate) fn swept(&self, axis: &str) -> Option<&SweptAxis> {
        self.axes.iter().find(|swept| swept.axis == axis)
    }

    pub fn directions(&self) -> Vec<Direction> {
        match self.swept(DIRECTION) {
            Some(swept) => swept.values.iter().copied().filter_map(Direction::of_code).collect(),
            None => vec![self.traffic.direction],
        }
    }

    /// The directions of phase 2 and of stateless trials in words.
    pub fn directions_in_words(&self) -> String {
        match self.directions()[..] {
            [Direction::Both] => "both directions at the same rate".to_owned(),
            [Direction::Forward] => "left to right only".to_owned(),
            [Direction::Reverse] => "right to left only".to_owned(),
            [Direction::Mixed(ratio)] => format!("both directions, rates left to right : right to left = {ratio}"),
            _ => "directions as swept".to_owned(),
        }
    }

    /// The axis that is the number of inside addresses or subscribers, if one is swept.
    pub(crate) fn host_axis(&self) -> Option<&SweptAxis> {
        let sets = |axis: &Axis| axis.sets_subscribers || axis.name() == "inside-addresses";
        self.axes.iter().find(|swept| Axis::by_name(&swept.axis).is_some_and(sets))
    }
}

#[cfg(test)]
mod tests {
    use crate::Scenario;
    use crate::test_scenarios::load;
    use method::Direction;

    fn read(rest: &str) -> Result<Scenario, String> {
        load(&format!("[dut.nftables]\n[sweep]\nconnections = \"1k\"\n{rest}"), &[])
    }

    #[test]
    fn a_swept_direction_is_that_of_its_point() {
        let swept = read("direction = [\"both\", \"reverse\", \"1:10\"]\n").unwrap();
        let directions: Vec<Direction> = swept.points().map(|point| point.of(&swept).traffic.direction).collect();
        assert_eq!(directions, swept.directions());
        assert_eq!(directions.iter().map(Direction::to_string).collect::<Vec<_>>(), ["both", "reverse", "1:10"]);
        let excluded = read("direction = [\"both\", \"1:10\"]\nexclude = { direction = \"1:10\" }\n").unwrap();
        assert_eq!(excluded.points().count(), 1);
    }

    #[test]
    fn a_wrong_direction_is_named_at_its_place() {
        for (rest, what, place) in [
            ("direction = [\"both\", \"up\"]\n", "`up`", "x.toml:5:"),
            ("direction = [\"both\", \"2:4\"]\n", "common divisor", "x.toml:5:"),
            ("direction = [\"1:10\", \"1:10\"]\n", "`1:10` is listed twice", "x.toml:5:"),
            ("direction = \"both\"\n[traffic]\ndirection = \"both\"\n", "both swept and set", "x.toml:7:"),
            (
                "direction = [\"both\"]\n[measure]\nmetrics = \"max_conn_est_rate\"\n",
                "no metric uses `direction`",
                "x.toml:5:",
            ),
            ("direction = [\"both\"]\nexclude = { direction = \"1:2\" }\n", "never 1:2", "x.toml:6:"),
            (
                "direction = [\"both\", \"reverse\"]\n[measure]\nmetrics = \"churn_rate\"\n",
                "the Initiator sends nothing",
                "x.toml:5:",
            ),
        ] {
            let refused = read(rest).unwrap_err();
            assert!(refused.contains(what) && refused.contains(place), "{refused}");
        }
    }
}
