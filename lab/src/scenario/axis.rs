//! The axes of `[sweep]` beside connections and cores, one entry each in [`AXES`]: which quantity of the scenario an axis
//! sets, which devices have it, and how its values are headed. A point of the matrix carries values by the axes' names; the
//! scenario at a point is the scenario with these values set, so that nothing behind it knows what an axis is.

use super::quantity::show_grouped;
use super::technology::{Plays, Softwires, Technology};
use super::{Dut, Scenario, Traffic};
use crate::technology::Customers;
use method::Count;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// A value of each axis that a point has, by the axis' name; none where nothing beside connections and cores is swept.
pub type AxisValues = BTreeMap<String, Count>;

/// An axis with the values that are measured, as a scenario has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Swept {
    /// Name of the axis.
    pub axis: String,
    /// Its values, in the order written.
    pub values: Vec<Count>,
}

/// One axis.
#[derive(Clone, Copy, Debug)]
pub struct Axis {
    /// Its key in `[sweep]`, and its name in keys of measurements and in documents.
    pub name: &'static str,
    /// What is counted, as it heads columns and rows.
    pub heading: &'static str,
    /// The largest value.
    pub most: Count,
    /// Who has it, in words.
    pub who: &'static str,
    /// It says how many subscribers the tester plays.
    pub sets_subscribers: bool,
    /// Whether, and up to which value, a device has it.
    pub fit: fn(&Dut, &Traffic) -> Fit,
    set: fn(&mut Dut, &mut Traffic, Count),
}

/// Whether a device has an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fit {
    /// It has not: it is measured without it, as a device without state is without connections.
    Lacks,
    /// It could, but not as the scenario has it: what to do.
    Refused(&'static str),
    /// Up to this value, which follows from this, and could be larger with this.
    UpTo(Count, &'static str, &'static str),
    /// The same, and powers of two alone: these are the addresses of a prefix.
    Powers(Count, &'static str, &'static str),
}

/// The axes in the order in which the matrix goes through them.
pub const AXES: &[Axis] = &[
    Axis {
        name: "softwires",
        heading: "softwires",
        most: MOST_SOFTWIRES,
        who: "the lwAFTR (plays = \"pe\" with [technology.lw4o6])",
        sets_subscribers: true,
        fit: softwires,
        // Every softwire has its subscriber: a table of which only a part is looked at measures that part.
        set: |dut, traffic, n| {
            if let Some(Technology::Lw4o6(l)) = technology_of(dut)
                && let Softwires::Row { count, .. } = &mut l.softwires
            {
                *count = Some(n);
                traffic.subscribers = n as u32;
            }
        },
    },
    Axis {
        name: "rules",
        heading: "mapping rules",
        most: plane::map::MOST_RULES as u64,
        who: "the BRs (plays = \"pe\" with [technology.map-e] or [technology.map-t])",
        sets_subscribers: true,
        fit: rules,
        set: |dut, traffic, n| {
            if let Some(Technology::MapE { map, .. } | Technology::MapT { map, .. }) = technology_of(dut) {
                map.rules = n;
                traffic.subscribers = Customers::of(map).map_or(0, |all| all.count()) as u32;
            }
        },
    },
    Axis {
        name: "subscribers",
        heading: "subscribers",
        most: MOST_SUBSCRIBERS,
        who: "provider edges alone: PLAT, NAT64, AFTR, lwAFTR, BR of MAP-E and of MAP-T (plays = \"pe\")",
        sets_subscribers: true,
        fit: subscribers,
        set: |_, traffic, n| traffic.subscribers = n as u32,
    },
    Axis {
        name: "inside-addresses",
        heading: "inside addresses",
        most: MOST_SUBSCRIBERS,
        who: "NAT44, NAT46, NAT64 and NAT66",
        sets_subscribers: false,
        fit: inside_addresses,
        set: |_, traffic, n| traffic.inside.count = n as u32,
    },
    Axis {
        name: "outside-addresses",
        heading: "outside addresses",
        most: MOST_SUBSCRIBERS,
        who: "NAT44, NAT46, NAT64, NAT66, PLAT and AFTR",
        sets_subscribers: false,
        fit: outside_addresses,
        set: |dut, _, n| match dut {
            Dut::Embedded(nat) | Dut::Kernel { nat44: Some(nat), .. } => nat.pool.count = n as u32,
            Dut::Technology { technology, .. } => {
                if let Some(nat) = technology.nat_mut() {
                    nat.pool.truncate(1);
                    nat.pool.iter_mut().for_each(|range| range.count = n as u32);
                }
                if let Some(nat) = technology.nat6_mut() {
                    nat.keep_addresses(n);
                }
            }
            Dut::Kernel { .. } | Dut::Simulated { .. } => {}
        },
    },
];

/// Most subscribers, and with softwires: as many as there are (METHODOLOGY.md, set-ups of the technologies).
pub const MOST_SUBSCRIBERS: Count = 1 << 20;
const MOST_SOFTWIRES: Count = 10_000_000;

/// The axis of a name.
pub fn by_name(name: &str) -> Option<&'static Axis> {
    AXES.iter().find(|axis| axis.name == name)
}

/// The axes that a point has, with their values, in the order of [`AXES`].
pub fn in_order(values: &AxisValues) -> impl Iterator<Item = (&'static Axis, Count)> {
    AXES.iter().filter_map(|axis| values.get(axis.name).map(|&value| (axis, value)))
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

impl Scenario {
    /// All combinations of the swept values of the axes that a device has; one without values where it has none.
    pub fn combinations(&self, dut: &Dut) -> Vec<AxisValues> {
        let mut all = vec![AxisValues::new()];
        for axis in AXES {
            let swept = self.sweep.axes.iter().find(|swept| swept.axis == axis.name);
            let Some(swept) = swept.filter(|_| (axis.fit)(dut, &self.traffic) != Fit::Lacks) else { continue };
            let with = |values: AxisValues| {
                swept.values.iter().map(move |&value| {
                    let mut values = values.clone();
                    values.insert(axis.name.to_owned(), value);
                    values
                })
            };
            all = all.into_iter().flat_map(with).collect();
        }
        all
    }

    /// The scenario as it is at a point of the matrix: with these values set for device number `dut`.
    pub fn at(&self, dut: usize, values: &AxisValues) -> Cow<'_, Scenario> {
        if values.is_empty() {
            return Cow::Borrowed(self);
        }
        let mut scenario = self.clone();
        let (duts, traffic) = (&mut scenario.duts, &mut scenario.traffic);
        for (axis, value) in in_order(values) {
            (axis.set)(&mut duts[dut], traffic, value);
        }
        Cow::Owned(scenario)
    }
}

fn technology_of(dut: &mut Dut) -> Option<&mut Technology> {
    match dut {
        Dut::Technology { technology, .. } => Some(technology),
        Dut::Embedded(_) | Dut::Kernel { .. } | Dut::Simulated { .. } => None,
    }
}

fn softwires(dut: &Dut, _: &Traffic) -> Fit {
    let Dut::Technology { plays: Plays::Pe, technology } = dut else { return Fit::Lacks };
    match technology.as_ref() {
        Technology::Lw4o6(l) => match &l.softwires {
            Softwires::Row { .. } => in_a_row(&l.softwires),
            Softwires::File(_) => {
                Fit::Refused("softwires of a file are as many as it has lines; give ipv4, b4 and psid-length instead")
            }
        },
        _ => Fit::Lacks,
    }
}

fn in_a_row(softwires: &Softwires) -> Fit {
    Fit::UpTo(
        softwires.room(),
        "more than the addresses of `ipv4` have port sets",
        "give a shorter `ipv4` prefix or a longer psid-length",
    )
}

fn rules(dut: &Dut, _: &Traffic) -> Fit {
    let Dut::Technology { plays: Plays::Pe, technology } = dut else { return Fit::Lacks };
    match technology.as_ref() {
        Technology::MapE { map, .. } | Technology::MapT { map, .. } if !map.further.is_empty() => {
            Fit::Refused("rules that are written are as many as they are; write one rule, which is then cut")
        }
        Technology::MapE { map, .. } | Technology::MapT { map, .. } if map.rule.ea_bits > 20 => {
            Fit::Refused("the tester plays every customer of the rules, at most 2^20: give ea-bits = 20 or fewer")
        }
        Technology::MapE { map, .. } | Technology::MapT { map, .. } => Fit::UpTo(
            map.rules_room(),
            "no rule is longer than one address, or than its EA bits",
            "give a shorter `ipv4-prefix` and more `ea-bits`",
        ),
        _ => Fit::Lacks,
    }
}

fn subscribers(dut: &Dut, _: &Traffic) -> Fit {
    let Dut::Technology { plays: Plays::Pe, technology } = dut else { return Fit::Lacks };
    match technology.as_ref() {
        Technology::Nat44 { .. } | Technology::Nat46 { .. } | Technology::Siit(_) => Fit::Lacks,
        Technology::Nat64 { .. } | Technology::Nat66 { .. } | Technology::Xlat464 { .. } => {
            Fit::UpTo(MOST_SUBSCRIBERS, "the tester plays no more", "play fewer")
        }
        Technology::DsLite { b4, b4s, .. } => {
            let last = b4s.first() | u128::MAX.checked_shr(b4s.len.into()).unwrap_or(0);
            let room = (last.saturating_sub(b4.to_bits()) >> 64).saturating_add(1);
            Fit::UpTo(room.min(u128::from(MOST_SUBSCRIBERS)) as u64, "each B4 has a /64 of `b4s`", "widen `b4s`")
        }
        Technology::Lw4o6(l) => match &l.softwires {
            Softwires::Row { .. } => in_a_row(&l.softwires),
            Softwires::File(_) => Fit::UpTo(MOST_SUBSCRIBERS, "the tester plays no more", "play fewer"),
        },
        Technology::MapE { map, .. } | Technology::MapT { map, .. } => {
            let room = Customers::of(map).map_or(0, |all| all.count());
            Fit::UpTo(room, "as many as the EA bits tell apart", "give more `ea-bits`")
        }
    }
}

fn inside_addresses(dut: &Dut, traffic: &Traffic) -> Fit {
    let all = Fit::UpTo(traffic.inside.count.into(), "more than `inside` has", "widen `inside` in [traffic]");
    match dut {
        Dut::Embedded(_) | Dut::Kernel { nat44: Some(_), .. } => all,
        Dut::Technology { technology, .. } => match technology.as_ref() {
            Technology::Nat64 { .. } | Technology::Nat66 { .. } if traffic.subscribers > 1 => {
                Fit::Refused("`subscribers` says how many addresses there are; leave it out, or sweep it")
            }
            Technology::Nat44 { .. }
            | Technology::Nat46 { .. }
            | Technology::Nat64 { .. }
            | Technology::Nat66 { .. } => all,
            _ => Fit::Lacks,
        },
        Dut::Kernel { nat44: None, .. } | Dut::Simulated { .. } => Fit::Lacks,
    }
}

fn outside_addresses(dut: &Dut, _: &Traffic) -> Fit {
    let up_to = |count: u32| Fit::UpTo(count.into(), "more than `pool` has", "widen `pool`");
    match dut {
        Dut::Embedded(nat) | Dut::Kernel { nat44: Some(nat), .. } => up_to(nat.pool.count),
        Dut::Technology { technology, .. } if let Some(nat) = technology.nat6() => {
            Fit::Powers(nat.addresses(), "more than `pool` has", "widen `pool`")
        }
        Dut::Technology { plays, technology } => match technology.nat().filter(|_| *plays != Plays::Ce) {
            Some(nat) => nat.pool.first().map_or(Fit::Lacks, |range| up_to(range.count)),
            None => Fit::Lacks,
        },
        Dut::Kernel { nat44: None, .. } | Dut::Simulated { .. } => Fit::Lacks,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::schema;

    #[test]
    fn the_list_is_that_of_the_keys() {
        let names: Vec<&str> = AXES.iter().map(|axis| axis.name).collect();
        assert_eq!(schema::keys("sweep")[2..], names);
        assert!(names.iter().all(|name| schema::LISTS.contains(name)));
    }
}
