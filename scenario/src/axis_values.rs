//! Values of axes: those that a scenario sweeps, and those of a point. In a file a value is a number, or a word if the
//! axis has words.

use method::Count;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error;
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::{Deref, DerefMut};
use tech::Axis;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SweptAxis {
    /// Name of the axis, as in [`AXES`](tech::AXES).
    pub axis: String,
    pub values: Vec<Count>,
}

/// The values of a point's axes, by the name of the axis; empty if only connections and cores are swept.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AxisValues(BTreeMap<String, Count>);

impl AxisValues {
    pub const fn new() -> AxisValues {
        AxisValues(BTreeMap::new())
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Deref for AxisValues {
    type Target = BTreeMap<String, Count>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl DerefMut for AxisValues {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.0
    }
}

impl FromIterator<(String, Count)> for AxisValues {
    fn from_iter<I: IntoIterator<Item = (String, Count)>>(values: I) -> AxisValues {
        AxisValues(values.into_iter().collect())
    }
}

/// A value as files write it.
#[derive(Deserialize)]
#[serde(untagged, expecting = "a number or a word")]
enum NumberOrWord {
    Number(Count),
    Word(String),
}

impl NumberOrWord {
    /// Reads a value of the axis with this name; an error if the axis has no such word.
    fn read(self, axis: &str) -> Result<Count, String> {
        match self {
            NumberOrWord::Number(value) => Ok(value),
            NumberOrWord::Word(word) => {
                let value = Axis::by_name(axis).and_then(|axis| axis.value(&word));
                value.ok_or_else(|| format!("`{word}` is no value of the axis `{axis}`"))
            }
        }
    }
}

impl Serialize for AxisValues {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (axis, value) in &self.0 {
            match Axis::by_name(axis).and_then(|axis| axis.word(*value)) {
                Some(word) => map.serialize_entry(axis, &word)?,
                None => map.serialize_entry(axis, value)?,
            }
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for AxisValues {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<AxisValues, D::Error> {
        let written = BTreeMap::<String, NumberOrWord>::deserialize(deserializer)?;
        let read = |(axis, written): (String, NumberOrWord)| written.read(&axis).map(|value| (axis, value));
        written.into_iter().map(read).collect::<Result<AxisValues, String>>().map_err(D::Error::custom)
    }
}

impl JsonSchema for AxisValues {
    fn schema_name() -> Cow<'static, str> {
        "AxisValues".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "object",
            "additionalProperties": {
                "anyOf": [{ "type": "integer", "format": "uint64", "minimum": 0 }, { "type": "string" }],
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use method::Direction;

    #[test]
    fn files_have_words_where_an_axis_has_words() {
        let ratio = Direction::of_code(10_010).unwrap();
        let values: AxisValues =
            [("direction".to_owned(), ratio.code()), ("softwires".to_owned(), 1_000)].into_iter().collect();
        let text = serde_json::to_string(&values).unwrap();
        assert_eq!(text, r#"{"direction":"1:10","softwires":1000}"#);
        assert_eq!(serde_json::from_str::<AxisValues>(&text).unwrap(), values);
        let wrong = serde_json::from_str::<AxisValues>(r#"{"direction":"up"}"#).unwrap_err().to_string();
        assert!(wrong.contains("`up` is no value of the axis `direction`"), "{wrong}");
    }
}
