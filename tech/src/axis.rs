//! The axes of `[sweep]` beside connections and cores: quantities of a technology, of a NAT and of the flows. Here are their
//! names; which values a technology has room for stands in its own file.

use key::kind::{Kind, List, Number, list, number};
use key::{Key, Shape, computed};
use plane::map::MOST_RULES;
use std::fmt;

/// An axis.
pub struct Axis {
    /// Its key in `[sweep]`: its name in keys of measurements and in documents, too.
    pub key: Key,
    /// The largest value.
    pub most: u64,
    /// What is counted, as it heads columns and rows.
    pub heading: &'static str,
    /// Which devices have it, in words.
    pub devices: &'static str,
    /// It is the number of subscribers that the tester plays.
    pub sets_subscribers: bool,
}

/// Most subscribers, and with softwires: as many as there are (METHODOLOGY.md, set-ups of the technologies).
pub const MOST_SUBSCRIBERS: u64 = 1 << 20;

/// The axes in the order in which the matrix goes through them.
pub const AXES: &[Axis] = &[
    Axis {
        key: swept("softwires", "Softwires of the binding table, each with its subscriber.", || {
            counts(10_000_000).shape()
        }),
        most: 10_000_000,
        heading: "softwires",
        devices: "the lwAFTR (plays = \"pe\" with [technology.lw4o6])",
        sets_subscribers: true,
    },
    Axis {
        key: swept(
            "rules",
            "Mapping rules, into which the one rule is divided; customers and their addresses stay what they are.",
            || counts(MOST_RULES as u64).shape(),
        ),
        most: MOST_RULES as u64,
        heading: "mapping rules",
        devices: "the BRs (plays = \"pe\" with [technology.map-e] or [technology.map-t])",
        sets_subscribers: true,
    },
    Axis {
        key: swept("subscribers", "Subscribers whose customer edges the tester plays.", || {
            counts(MOST_SUBSCRIBERS).shape()
        }),
        most: MOST_SUBSCRIBERS,
        heading: "subscribers",
        devices: "provider edges alone: PLAT, NAT64, AFTR, lwAFTR, BR of MAP-E and of MAP-T (plays = \"pe\")",
        sets_subscribers: true,
    },
    Axis {
        key: swept("inside-addresses", "Addresses of the Initiator: the first of `inside`.", || {
            counts(MOST_SUBSCRIBERS).shape()
        }),
        most: MOST_SUBSCRIBERS,
        heading: "inside addresses",
        devices: "NAT44, NAT46, NAT64 and NAT66",
        sets_subscribers: false,
    },
    Axis {
        key: swept("outside-addresses", "Outside addresses of the NAT: the first of `pool`.", || {
            counts(MOST_SUBSCRIBERS).shape()
        }),
        most: MOST_SUBSCRIBERS,
        heading: "outside addresses",
        devices: "NAT44, NAT46, NAT64, NAT66, PLAT and AFTR",
        sets_subscribers: false,
    },
];

/// Whether a device has an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fit {
    /// It has not: it is measured without it, as a device without state is without connections.
    Lacks,
    /// It could, but not as the scenario has it: what to do.
    Refused(&'static str),
    /// Up to this value, which follows from this, and could be larger with this.
    UpTo(u64, &'static str, &'static str),
    /// The same, and powers of two alone: these are the addresses of a prefix.
    Powers(u64, &'static str, &'static str),
}

fn counts(most: u64) -> List<Number<u64>> {
    list(number(1..=most))
}

impl fmt::Debug for Axis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

const fn swept(name: &'static str, help: &'static str, shape: fn() -> Shape) -> Key {
    Key { name, help, default: computed("not varied"), shape }
}

impl Axis {
    /// Its name.
    pub fn name(&self) -> &'static str {
        self.key.name
    }

    /// The kind of its value.
    pub fn kind(&self) -> List<Number<u64>> {
        counts(self.most)
    }

    /// The axis of a name.
    pub fn by_name(name: &str) -> Option<&'static Axis> {
        AXES.iter().find(|axis| axis.name() == name)
    }
}

/// Inside addresses of a NAT whose customers are hosts of the flow space.
pub(crate) fn inside_addresses(count: u32) -> Fit {
    Fit::UpTo(count.into(), "more than `inside` has", "widen `inside` in [traffic]")
}

/// As many subscribers as the tester plays.
pub(crate) const ALL_SUBSCRIBERS: Fit = Fit::UpTo(MOST_SUBSCRIBERS, "the tester plays no more", "play fewer");
