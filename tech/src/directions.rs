//! The words for directions.

use key::kind::{Choice, choice};
use key::{Shape, Value, ValueKind, Wrong};
use method::{Direction, DirectionRatio};
use serde_json::json;

const DIRECTIONS: &[Choice<Direction>] = &[
    ("both", Direction::Both, ""),
    ("forward", Direction::Forward, "Initiator to Responder only"),
    ("reverse", Direction::Reverse, "Responder to Initiator only"),
];

/// Directions by name, or the rates of both directions as a ratio.
#[derive(Clone, Copy, Debug)]
pub struct Directions;

impl ValueKind for Directions {
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

/// `1:1` is both directions at the same rate.
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
