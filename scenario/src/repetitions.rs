//! How often a search is repeated: a number of times, or until the interval of the median is
//! narrow: `repetitions = { min = 5, max = 30, until-width = "2 %" }`.

use key::kind::{Number, Shape, ValueKind, number, share};
use key::{Node, Refuse, TreeTable, Value, Wrong, did_you_mean};
use serde_json::json;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repetitions {
    pub most: u32,
    /// When fewer suffice; `None`: never.
    pub until: Option<Until>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Until {
    pub least: u32,
    /// Widest interval of their median, in parts per million of it.
    pub width_ppm: u32,
}

impl From<u32> for Repetitions {
    fn from(most: u32) -> Repetitions {
        Repetitions { most, until: None }
    }
}

impl Repetitions {
    pub fn least(self) -> u32 {
        self.until.map_or(self.most, |until| until.least)
    }

    /// Words: `once`, `10 times`, `5 to 30 times`.
    pub fn in_words(self) -> String {
        if self.most == 1 { "once".to_owned() } else { format!("{} times", self.number()) }
    }

    /// A count: `1 repetition`, `5 to 30 repetitions`.
    pub fn counted(self) -> String {
        format!("{} repetition{}", self.number(), if self.most == 1 { "" } else { "s" })
    }

    /// Returns the number of repetitions in words: `10`, `5 to 30`.
    fn number(self) -> String {
        match self.least() {
            least if least == self.most => least.to_string(),
            least => format!("{least} to {}", self.most),
        }
    }
}

const KEYS: [&str; 3] = ["min", "max", "until-width"];
/// Fewer values have no interval that covers their median with 93 %.
const LEAST: u64 = method::stats::Interval::LEAST_VALUES as u64;

fn times() -> Number<u32> {
    number(1..=10_000)
}

pub(crate) struct RepetitionsOf;

impl ValueKind for RepetitionsOf {
    type Out = Repetitions;

    fn shape(&self) -> Shape {
        let Shape { words, json, .. } = times().shape();
        let table = json!({
            "type": "object", "additionalProperties": false, "required": KEYS,
            "properties": { "min": json, "max": json, "until-width": share().shape().json },
        });
        Shape::one(
            format!("{words}; or `{{ min, max, until-width }}`: until the interval of the median is so narrow"),
            json!({ "anyOf": [json, table] }),
        )
    }

    fn read(&self, node: &Node, path: &str, refuse: &mut Refuse<'_>) -> Option<Repetitions> {
        let Value::Table(table) = &node.value else {
            return times().read(node, path, refuse).map(Repetitions::from);
        };
        let known = table.entries().iter().find(|entry| !KEYS.contains(&entry.name.as_str()));
        if let Some(unknown) = known {
            let instead = did_you_mean(&unknown.name, KEYS)
                .map_or_else(|| format!("keys are {}", KEYS.join(", ")), |meant| format!("did you mean `{meant}`?"));
            refuse(path, unknown.key, Wrong::new(format!("unknown key `{}`", unknown.name), instead));
            return None;
        }
        let of_table = of_table(table, path, refuse);
        if of_table.is_none() && KEYS.iter().any(|key| table.get(key).is_none()) {
            refuse(path, node.place, incomplete());
        }
        of_table
    }
}

fn incomplete() -> Wrong {
    Wrong::new("a part is missing", "write { min = 5, max = 30, until-width = \"2 %\" }")
}

fn of_table(table: &TreeTable, path: &str, refuse: &mut Refuse<'_>) -> Option<Repetitions> {
    let [least, most, width] = KEYS.map(|key| table.get(key));
    let (least, most, width) = (least?, most?, width?);
    let min: Option<u32> = number(LEAST..=10_000).read(&least.node, path, refuse);
    let max = times().read(&most.node, path, refuse);
    let width_ppm = share().read(&width.node, path, refuse);
    let (min, max, width_ppm) = (min?, max?, width_ppm?);
    if min > max {
        refuse(path, least.node.place, Wrong::new("more than `max`", "write the smaller number as `min`"));
        return None;
    }
    Some(Repetitions { most: max, until: Some(Until { least: min, width_ppm }) })
}
