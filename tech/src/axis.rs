//! The axes of `[sweep]` other than connections and cores.

use crate::axis_kind::{AxisKind, Numbers, Preset};
use key::quantity::show_grouped;
use key::{Key, Value, ValueKind, computed};
use method::Direction;
use plane::map::MOST_RULES;
use std::fmt;

/// An axis.
pub struct Axis {
    /// Key in `[sweep]`, also the axis's name in documents.
    pub key: Key,
    /// Values of the axis.
    pub kind: AxisKind,
    /// Heading of columns and rows.
    pub heading: &'static str,
    /// Devices that have the axis.
    pub devices: &'static str,
    /// Whether the axis sets the number of subscribers.
    pub sets_subscribers: bool,
}

/// Largest number of subscribers (METHODOLOGY.md).
pub const MOST_SUBSCRIBERS: u64 = 1 << 20;

/// Entries of a kernel's connection tracking table.
pub const MOST_ENTRIES: u64 = 1 << 30;
/// Buckets of the hash table.
pub const MOST_BUCKETS: u64 = 1 << 28;

/// Makes axes of rows: name, kind of values, heading, whether it sets the number of subscribers; what it varies; devices.
macro_rules! axes {
    ($($name:expr, $kind:expr, $heading:literal, $sets_subscribers:literal: $help:literal, $devices:literal;)+) => {
        &[$(Axis {
            key: Key { name: $name, help: $help, default: computed("not varied"), shape: || $kind.shape() },
            kind: $kind,
            heading: $heading,
            devices: $devices,
            sets_subscribers: $sets_subscribers,
        }),+]
    };
}

/// All axes, in the order of the matrix.
pub const AXES: &[Axis] = axes! {
    "softwires", counts(10_000_000), "softwires", true:
        "Softwires of the binding table, each with its subscriber.",
        "the lwAFTR (plays = \"pe\" with [technology.lw4o6])";
    "rules", counts(MOST_RULES as u64), "mapping rules", true:
        "Mapping rules, into which the one rule is divided; customers and their addresses stay what they are.",
        "the BRs (plays = \"pe\" with [technology.map-e] or [technology.map-t])";
    "subscribers", counts(MOST_SUBSCRIBERS), "subscribers", true:
        "Subscribers whose customer edges the tester plays.",
        "provider edges alone: PLAT, NAT64, AFTR, lwAFTR, BR of MAP-E and of MAP-T (plays = \"pe\")";
    "inside-addresses", counts(MOST_SUBSCRIBERS), "inside addresses", false:
        "Addresses of the Initiator: the first of `inside`.",
        "NAT44, NAT46, NAT64 and NAT66";
    "outside-addresses", counts(MOST_SUBSCRIBERS), "outside addresses", false:
        "Outside addresses of the NAT: the first of `pool`.",
        "NAT44, NAT46, NAT64, NAT66, PLAT and AFTR";
    TABLE, counts(MOST_ENTRIES), "table entries", false:
        "Entries of the connection tracking table, in place of `table` of the device.",
        "NAT44 of a kernel, and a box that has the key `table`";
    HASH_SIZE, counts(MOST_BUCKETS), "buckets", false:
        "Buckets of its hash table, in place of `hash-size` of the device.",
        "NAT44 of a kernel, and a box that has the key `hash-size`";
    FRAME_SIZE, FRAME_SIZES, "octets per frame", false:
        "IPv4 frame size in octets, with FCS, in place of that of `[traffic]`.",
        "every device but the simulated one";
    FOREGROUND, FOREGROUNDS, "% foreground", false:
        "Share of foreground frames in percent, in place of that of `[traffic]`.",
        "every device that translates, tunnels or forwards IPv4";
    DIRECTION, AxisKind::Directions, "direction", false:
        "Directions of phase 2 and of stateless trials, in place of `direction` of `[traffic]`.",
        "every device but a resolver";
};

/// Keys of `[traffic]`.
pub const OF_TRAFFIC: [&str; 3] = [FRAME_SIZE, FOREGROUND, DIRECTION];

/// The axis of directions.
pub const DIRECTION: &str = "direction";

/// Share of foreground frames.
pub const FOREGROUND: &str = "foreground";

const FOREGROUNDS: AxisKind = AxisKind::Numbers(Numbers { least: 1, most: 100, presets: PRESETS_OF_FOREGROUNDS });

const PRESETS_OF_FOREGROUNDS: &[Preset] =
    &[Preset { name: RFC_8219, values: &[100, 90, 50, 10], help: "RFC 8219, section 5.3: 100, 90, 50, 10" }];

/// Entries of a connection tracking table.
pub const TABLE: &str = "table";
/// Buckets of the hash table.
pub const HASH_SIZE: &str = "hash-size";

/// The axis of frame sizes.
pub const FRAME_SIZE: &str = "frame-size";

/// From room for headers and tag to RFC 8219, section 5.1.1.
const FRAME_SIZES: AxisKind = AxisKind::Numbers(Numbers { least: 64, most: 9216, presets: PRESETS_OF_FRAME_SIZES });

/// The sizes of RFC 8219; without jumbo frames only up to 1518.
pub const RFC_8219: &str = "rfc8219";

const PRESETS_OF_FRAME_SIZES: &[Preset] = &[
    Preset {
        name: "rfc2544",
        values: &[64, 128, 256, 512, 1024, 1280, 1518],
        help: "RFC 2544, section 9.1: 64, 128, 256, 512, 1024, 1280, 1518",
    },
    Preset {
        name: RFC_8219,
        values: &[64, 128, 256, 512, 768, 1024, 1280, 1518, 1522, 2048, 4096, 8192, 9216],
        help: "RFC 8219, section 5.1.1: 64, 128, 256, 512, 768, 1024, 1280, 1518; with a device in this process also 1522, \
               2048, 4096, 8192, 9216",
    },
];

/// Whether a device has an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fit {
    /// Measured without the axis.
    Lacks,
    /// Not with this scenario; with the remedy.
    Refused(&'static str),
    /// Up to this value, with the reason, and what would raise it.
    UpTo(u64, &'static str, &'static str),
    /// Powers of two up to a value.
    Powers(u64, &'static str, &'static str),
}

const fn counts(most: u64) -> AxisKind {
    AxisKind::Numbers(Numbers { least: 1, most, presets: &[] })
}

impl fmt::Debug for Axis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Axis {
    /// Name of the axis.
    pub fn name(&self) -> &'static str {
        self.key.name
    }

    /// The word of a value, if it has one.
    pub fn word(&self, value: u64) -> Option<String> {
        match self.kind {
            AxisKind::Numbers(_) => None,
            AxisKind::Directions => Direction::of_code(value).map(|direction| direction.to_string()),
        }
    }

    /// The value of a word, if it has one.
    pub fn value(&self, word: &str) -> Option<u64> {
        let values = self.kind.parse(&Value::Text(word.to_owned())).ok()?;
        (!self.is_number()).then(|| values.first().copied()).flatten()
    }

    /// Whether the values are numbers.
    pub fn is_number(&self) -> bool {
        matches!(self.kind, AxisKind::Numbers(_))
    }

    /// A value for display: `1,000`, `1:10`.
    pub fn show(&self, value: u64) -> String {
        self.word(value).unwrap_or_else(|| show_grouped(value))
    }

    /// A value for programs: `1000`, `1:10`.
    pub fn plain(&self, value: u64) -> String {
        self.word(value).unwrap_or_else(|| value.to_string())
    }

    /// A value with what it counts: `1,000 softwires`, `direction 1:10`.
    pub fn phrase(&self, value: u64) -> String {
        match self.word(value) {
            Some(word) => format!("{} {word}", self.heading),
            None => format!("{} {}", show_grouped(value), self.heading),
        }
    }

    /// An axis by its name.
    pub fn by_name(name: &str) -> Option<&'static Axis> {
        AXES.iter().find(|axis| axis.name() == name)
    }
}

/// Inside addresses of a NAT whose customers are hosts.
pub(crate) fn inside_addresses(count: u32) -> Fit {
    Fit::UpTo(count.into(), "more than `inside` has", "widen `inside` in [traffic]")
}

pub(crate) const ALL_SUBSCRIBERS: Fit = Fit::UpTo(MOST_SUBSCRIBERS, "the tester plays no more", "play fewer");
