//! Values of keys of `[traffic]` and `[measure]`, with their meanings.

use key::kind::{Choice, Simple, own, word_for};
use key::{Value, Wrong};
use method::simulated::WhenFull;
use method::{Order, Popularity, ResponderTable};
use serde_json::json;

pub(crate) const WHEN_FULL: &[Choice<WhenFull>] = &[
    ("refuse", WhenFull::KeepOld, "new connections are refused"),
    ("drop-oldest", WhenFull::ReplaceOldest, "the oldest is replaced"),
    ("collect", WhenFull::Collect(1), "`collect` of the oldest are removed at once"),
];

pub(crate) fn popularity() -> Simple<Popularity> {
    fn parse(value: &Value) -> Result<Popularity, Wrong> {
        let instead = "write \"uniform\", or Zipf's law with its exponent, such as \"zipf 1.0\"";
        match value {
            Value::Text(text) => text.parse().map_err(|wrong: String| Wrong::new(wrong, instead)),
            _ => Err(Wrong::new("a popularity is text", instead)),
        }
    }
    own(
        parse,
        "`uniform`, or `\"zipf S\"` (the connection of rank k with 1/k^S; 0.001 to 10)",
        || json!({ "type": "string", "pattern": "^ *(uniform|zipf +[0-9]+(\\.[0-9]{1,3})?) *$" }),
    )
}

pub(crate) const ORDERS: &[Choice<Order>] = &[("random", Order::Random, ""), ("round-robin", Order::RoundRobin, "")];

pub(crate) const TABLES: &[Choice<ResponderTable>] = &[
    ("keep", ResponderTable::Keep, "a frame with another outside address or port than in phase 1 is wrong"),
    ("update", ResponderTable::Update, "every right frame overwrites the four-tuple of its connection"),
];

/// Order in which the measurements of a run are made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Sequence {
    /// The points in order; at each point every metric with all repetitions.
    #[default]
    PointByPoint,
    /// Each metric at all points, then its next repetition: 1, 2, 3, 1, 2, 3, …
    Interleaved,
}

impl Sequence {
    pub fn name(self) -> &'static str {
        word_for(SEQUENCES, &self)
    }
}

pub(crate) const SEQUENCES: &[Choice<Sequence>] = &[
    (
        "interleaved",
        Sequence::Interleaved,
        "repetitions alternate between the points, so that host noise spreads over all",
    ),
    ("point-by-point", Sequence::PointByPoint, "all repetitions of a point in a row"),
];

/// What comes before each phase 1 on a box without the hook `clear`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WithoutClear {
    #[default]
    Wait,
    FreshPorts,
}

pub(crate) const WITHOUT_CLEAR: &[Choice<WithoutClear>] = &[
    ("wait", WithoutClear::Wait, "natmeter waits until the connections of all earlier phases 1 have timed out"),
    (
        "fresh-ports",
        WithoutClear::FreshPorts,
        "source ports that no phase 1 used whose connections may still be in the table",
    ),
];
