//! The values of an axis.

use crate::directions::Directions;
use key::kind::{List, Series, list, number, series};
use key::{Node, Refuse, Shape, Value, ValueKind, Wrong, did_you_mean};
use method::Direction;
use serde_json::json;

/// A word for several values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Preset {
    /// The word.
    pub name: &'static str,
    /// The values.
    pub values: &'static [u64],
    /// Source of the values.
    pub help: &'static str,
}

/// Kind of values.
#[derive(Clone, Copy, Debug)]
pub enum AxisKind {
    /// Numbers.
    Numbers(Numbers),
    /// Directions as codes ([`method::Direction::code`]).
    Directions,
}

/// Numbers of an axis.
#[derive(Clone, Copy, Debug)]
pub struct Numbers {
    /// The smallest value.
    pub least: u64,
    /// The largest value.
    pub most: u64,
    /// Presets for several values.
    pub presets: &'static [Preset],
}

impl Numbers {
    fn numbers(self) -> Series<u64> {
        series(number(self.least..=self.most))
    }

    /// The values, if the value is a word.
    fn preset(self, value: &Value) -> Option<Result<Vec<u64>, Wrong>> {
        let Value::Text(word) = value else { return None };
        if let Some(preset) = self.presets.iter().find(|preset| preset.name == word) {
            return Some(Ok(preset.values.to_vec()));
        }
        let is_word = word.starts_with(|c: char| c.is_ascii_alphabetic());
        let names = || self.presets.iter().map(|preset| preset.name);
        (is_word && !self.presets.is_empty()).then(|| {
            let all = || {
                let names: Vec<String> = names().map(|name| format!("\"{name}\"")).collect();
                format!("write a list of numbers, or {}", names.join(" or "))
            };
            let meant = did_you_mean(word, names());
            let instead = meant.map_or_else(all, |meant| format!("did you mean \"{meant}\"?"));
            Err(Wrong::new(format!("unknown word `{word}`"), instead))
        })
    }
}

impl ValueKind for Numbers {
    type Out = Vec<u64>;

    fn shape(&self) -> Shape {
        let shape = self.numbers().shape();
        if self.presets.is_empty() {
            return shape;
        }
        let words: Vec<&str> = self.presets.iter().map(|preset| preset.name).collect();
        let each = self.presets.iter().map(|preset| format!("`\"{}\"` ({})", preset.name, preset.help));
        let each = each.collect::<Vec<_>>().join(", ");
        let json = json!({ "anyOf": [{ "enum": words }, shape.json] });
        Shape { words: format!("{}; or {each}", shape.words), json, ..shape }
    }

    fn absent(&self) -> Option<Vec<u64>> {
        self.numbers().absent()
    }

    fn read(&self, node: &Node, path: &str, refuse: &mut Refuse<'_>) -> Option<Vec<u64>> {
        match self.preset(&node.value) {
            Some(preset) => preset.map_err(|wrong| refuse(path, node.place, wrong)).ok(),
            None => self.numbers().read(node, path, refuse),
        }
    }
}

const DIRECTIONS: List<Directions> = list(Directions);

impl ValueKind for AxisKind {
    type Out = Vec<u64>;

    fn shape(&self) -> Shape {
        match self {
            AxisKind::Numbers(numbers) => numbers.shape(),
            AxisKind::Directions => DIRECTIONS.shape(),
        }
    }

    fn absent(&self) -> Option<Vec<u64>> {
        Some(Vec::new())
    }

    fn read(&self, node: &Node, path: &str, refuse: &mut Refuse<'_>) -> Option<Vec<u64>> {
        match self {
            AxisKind::Numbers(numbers) => numbers.read(node, path, refuse),
            AxisKind::Directions => {
                DIRECTIONS.read(node, path, refuse).map(|found| found.into_iter().map(Direction::code).collect())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Axis;

    /// RFC 2544, section 9.1; RFC 8219, section 5.1.1.
    #[test]
    fn a_word_stands_for_the_frame_sizes_of_an_rfc() {
        let kind = Axis::by_name("frame-size").unwrap().kind;
        let values = |word: &str| kind.parse(&Value::Text(word.to_owned()));
        assert_eq!(values("rfc2544").unwrap(), [64, 128, 256, 512, 1024, 1280, 1518]);
        let jumbo = [64, 128, 256, 512, 768, 1024, 1280, 1518, 1522, 2048, 4096, 8192, 9216];
        assert_eq!(values("rfc8219").unwrap(), jumbo);
        assert_eq!(values("1k").unwrap(), [1_000]);
        assert_eq!(values("rfc2554").unwrap_err().instead, "did you mean \"rfc2544\"?");
        assert!(values("63").is_err() && values("9217").is_err());
        assert!(Axis::by_name("subscribers").unwrap().kind.parse(&Value::Text("rfc2544".to_owned())).is_err());
    }
}
