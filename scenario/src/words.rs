//! The words that the keys of `[traffic]` and `[measure]` take.

use crate::tables::Sequence;
use key::kind::{Choice, Kind, Shape, choice};
use key::{Value, Wrong};
use method::simulated::WhenFull;
use method::{Direction, DirectionRatio, Order, Popularity, ResponderTable};
use serde_json::json;

/// Directions of phase 2 without different rates.
const DIRECTIONS: &[Choice<Direction>] = &[
    ("both", Direction::Both, ""),
    ("forward", Direction::Forward, "Initiator to Responder only"),
    ("reverse", Direction::Reverse, "Responder to Initiator only"),
];

/// What a simulated device does when its table is full.
pub(crate) const WHEN_FULL: &[Choice<WhenFull>] = &[
    ("refuse", WhenFull::KeepOld, "new connections are refused"),
    ("drop-oldest", WhenFull::ReplaceOldest, "the oldest is replaced"),
    ("collect", WhenFull::Collect(1), "`collect` of the oldest are removed at once"),
];

/// The kind of `direction`: a word, or the rates of both directions as a ratio.
pub(crate) struct Directions;

impl Kind for Directions {
    type Out = Direction;

    fn parse(&self, value: &Value) -> Result<Direction, Wrong> {
        match value {
            Value::Text(text) if text.contains(':') => ratio(text),
            _ => choice(DIRECTIONS).parse(value),
        }
    }

    fn shape(&self) -> Shape {
        let words = choice(DIRECTIONS).shape();
        let ratio = "rates left to right : right to left as coprime numbers";
        Shape {
            words: format!("{}, or `\"N:M\"` ({ratio}, 1 to {})", words.words, DirectionRatio::MOST),
            json: json!({ "anyOf": [words.json, { "type": "string", "pattern": "^ *[1-9][0-9]{0,3} *: *[1-9][0-9]{0,3} *$" }] }),
            ..words
        }
    }
}

/// Reads `1:10`. `1:1` is both directions at the same rate.
fn ratio(text: &str) -> Result<Direction, Wrong> {
    let number = |part: &str| part.trim().parse::<u32>().ok();
    let numbers = text.split_once(':').and_then(|(forward, reverse)| Some((number(forward)?, number(reverse)?)));
    let instead = format!(
        "write two numbers from 1 to {}, left to right : right to left, such as \"1:10\"",
        DirectionRatio::MOST
    );
    let Some((forward, reverse)) = numbers else {
        return Err(Wrong::new(format!("`{text}` is not a ratio of two rates"), instead));
    };
    let (n, m) = DirectionRatio::reduced(forward, reverse);
    match (forward, reverse) {
        (1, 1) => Ok(Direction::Both),
        (0, 1..) | (1.., 0) => {
            let word = if forward == 0 { "reverse" } else { "forward" };
            Err(Wrong::new("one of the directions has no rate", format!("write \"{word}\" for one direction only")))
        }
        _ if (n, m) != (forward, reverse) && n.max(m) <= DirectionRatio::MOST && n > 0 => {
            let instead = if n == m { "write \"both\"".to_owned() } else { format!("write \"{n}:{m}\"") };
            Err(Wrong::new(format!("{forward} and {reverse} have a common divisor"), instead))
        }
        _ => {
            let too_large = || Wrong::new(format!("`{text}` is out of range"), instead);
            DirectionRatio::new(forward, reverse).map(Direction::Mixed).ok_or_else(too_large)
        }
    }
}

/// The kind of `popularity`.
pub(crate) struct Popularities;

impl Kind for Popularities {
    type Out = Popularity;

    fn parse(&self, value: &Value) -> Result<Popularity, Wrong> {
        let instead = "write \"uniform\", or Zipf's law with its exponent, such as \"zipf 1.0\"";
        match value {
            Value::Text(text) => text.parse().map_err(|wrong: String| Wrong::new(wrong, instead)),
            _ => Err(Wrong::new("a popularity is text", instead)),
        }
    }

    fn shape(&self) -> Shape {
        let json = json!({ "type": "string", "pattern": "^ *(uniform|zipf +[0-9]+(\\.[0-9]{1,3})?) *$" });
        let words = "`uniform`, or `\"zipf S\"` (the connection of rank k with 1/k^S; 0.001 to 10)".to_owned();
        Shape { words, json, ..choice(ORDERS).shape() }
    }
}

/// Orders in which the Responder uses its state table.
pub(crate) const ORDERS: &[Choice<Order>] = &[("random", Order::Random, ""), ("round-robin", Order::RoundRobin, "")];

/// What the Responder does with its state table in phase 2.
pub(crate) const TABLES: &[Choice<ResponderTable>] = &[
    ("keep", ResponderTable::Keep, "a frame with another outside address or port than in phase 1 is wrong"),
    ("update", ResponderTable::Update, "every right frame overwrites the four-tuple of its connection"),
];

/// Orders of the measurements.
pub(crate) const SEQUENCES: &[Choice<Sequence>] = &[
    (
        "interleaved",
        Sequence::Interleaved,
        "repetitions alternate between the points, so that host noise spreads over all",
    ),
    ("point-by-point", Sequence::PointByPoint, "all repetitions of a point in a row"),
];
