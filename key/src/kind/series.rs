//! Values of an axis: numbers, and ranges such as `"1M..64M double"`.

use super::{Number, Parsed, Refuse, Shape, ValueKind, items_of};
use crate::quantity;
use crate::tree::{Node, Value};
use crate::wrong::Wrong;
use serde_json::json;

const MOST: usize = 64;

/// Rules look at the port ranges, tables and buffers of each value.
const MOST_OF_LIST: usize = 1_000;

const RULES: [(&str, u64); 3] = [("double", 2), ("fourfold", 4), ("tenfold", 10)];

const HOW: &str = "write \"1M..64M double\" (or fourfold, or tenfold), or \"1..8 step 1\"";

pub struct Series<T>(Number<T>);

/// Numbers and ranges: `"1M..64M double"`, `"1..8 step 1"`.
pub const fn series<T>(of: Number<T>) -> Series<T> {
    Series(of)
}

impl<T> Series<T> {
    fn values(&self, value: &Value) -> Parsed<Vec<T>> {
        let Value::Text(text) = value else { return Ok(vec![self.0.parse(value)?]) };
        let Some((from, rest)) = text.split_once("..") else { return Ok(vec![self.0.parse(value)?]) };
        let (to, rule) = rest.trim().split_once(char::is_whitespace).unwrap_or((rest.trim(), ""));
        let number = |text: &str| -> Parsed<u64> {
            self.0.parse(&Value::Text(text.to_owned()))?;
            quantity::count(text)
        };
        let (from, to) = (number(from.trim())?, number(to.trim())?);
        if from > to {
            return Err(Wrong::new("this range ends before it begins", "write the smaller number first"));
        }
        let next = next(rule)?;
        let values: Vec<u64> = std::iter::successors(Some(from), |&n| next(n).filter(|next| *next > n && *next <= to))
            .take(MOST + 1)
            .collect();
        if values.len() > MOST {
            return Err(Wrong::new(
                format!("more than {MOST} values"),
                "write a larger step, or a rule such as double",
            ));
        }
        values.into_iter().map(|n| self.0.parse(&Value::Integer(n.to_string()))).collect()
    }

    fn too_many(count: usize) -> Option<Wrong> {
        let [values, most] = [count, MOST_OF_LIST].map(|n| quantity::show_grouped(n as u64));
        (count > MOST_OF_LIST).then(|| Wrong::new(format!("{values} values"), format!("write at most {most} values")))
    }
}

/// What follows a value, if possible.
fn next(rule: &str) -> Parsed<impl Fn(u64) -> Option<u64>> {
    let factor = RULES.iter().find(|(word, _)| *word == rule).map(|(_, factor)| *factor);
    let step = rule.strip_prefix("step ").map(|step| quantity::count(step.trim())).transpose()?;
    match (factor, step) {
        (None, None) => Err(Wrong::new("this range has no rule", HOW)),
        (_, Some(0)) => Err(Wrong::new("a step of zero", HOW)),
        (factor, step) => Ok(move |n: u64| match (factor, step) {
            (Some(factor), _) => n.checked_mul(factor),
            (None, step) => n.checked_add(step?),
        }),
    }
}

impl<T> ValueKind for Series<T> {
    type Out = Vec<T>;

    fn shape(&self) -> Shape {
        let Shape { words, json: number, .. } = self.0.shape();
        let range = json!({ "type": "string", "pattern": r"^[^.]+\.\. ?[^ ]+ (double|fourfold|tenfold|step .+)$" });
        let item = json!({ "anyOf": [number, range] });
        let json =
            json!({ "anyOf": [item, { "type": "array", "items": item, "minItems": 1, "maxItems": MOST_OF_LIST }] });
        Shape { is_list: true, ..Shape::one(format!("list of {words}, or of ranges"), json) }
    }

    fn absent(&self) -> Option<Vec<T>> {
        Some(Vec::new())
    }

    fn read(&self, node: &Node, path: &str, refuse: &mut Refuse<'_>) -> Option<Vec<T>> {
        let nodes = items_of(node, path, refuse)?;
        if let Some(wrong) = Self::too_many(nodes.len()) {
            refuse(path, node.place, wrong);
            return None;
        }
        let item = |(at, node): (usize, &Node)| {
            self.values(&node.value).map_err(|wrong| refuse(&format!("{path}[{at}]"), node.place, wrong)).ok()
        };
        let items: Vec<Option<Vec<T>>> = nodes.iter().enumerate().map(item).collect();
        let items: Option<Vec<Vec<T>>> = items.into_iter().collect();
        let values: Vec<T> = items?.into_iter().flatten().collect();
        match Self::too_many(values.len()) {
            Some(wrong) => refuse(path, node.place, wrong),
            None => return Some(values),
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kind::number;

    fn values(text: &str) -> Result<Vec<u64>, String> {
        let read = series(number(1..=1 << 32)).parse(&Value::Text(text.to_owned()));
        read.map_err(|wrong| format!("{}; {}", wrong.what, wrong.instead))
    }

    #[test]
    fn a_range_has_the_values_of_its_rule() {
        assert_eq!(values("1M..8M double").unwrap(), [1_000_000, 2_000_000, 4_000_000, 8_000_000]);
        assert_eq!(values("400k .. 10M fourfold").unwrap(), [400_000, 1_600_000, 6_400_000]);
        assert_eq!(values("100k..100M tenfold").unwrap().len(), 4);
        assert_eq!(values("1..4 step 1").unwrap(), [1, 2, 3, 4]);
        assert_eq!(values("5..5 double").unwrap(), [5]);
        assert_eq!(values("3M").unwrap(), [3_000_000]);
    }

    #[test]
    fn a_wrong_range_says_what_is_wrong() {
        for (text, says) in [
            ("4..1 double", "ends before it begins"),
            ("1..4", "no rule"),
            ("1..4 triple", "no rule"),
            ("1..4 step 0", "step of zero"),
            ("0..4 double", "out of range"),
            ("1..8G double", "out of range"),
            ("1..100 step 1", "more than 64 values"),
            ("x..4 double", "not a number"),
        ] {
            let said = values(text).unwrap_err();
            assert!(said.contains(says), "{text}: {said}");
        }
    }

    #[test]
    fn items_of_a_list_may_be_ranges() {
        let node = |text: &str| crate::override_value(text, 0, 0, false);
        let list = Value::List(vec![node("100"), node("1k..4k double")]);
        assert_eq!(series(number::<u64>(1..=10_000)).parse(&list).unwrap(), [100, 1_000, 2_000, 4_000]);
    }
}
