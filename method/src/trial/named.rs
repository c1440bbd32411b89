//! Names in the JSON of a trial; arrays of earlier versions are read too.

use super::{Fault, FaultCounts};
use crate::units::Count;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::{Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

impl Serialize for FaultCounts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

impl<'de> Deserialize<'de> for FaultCounts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<FaultCounts, D::Error> {
        deserializer.deserialize_any(Faults)
    }
}

impl JsonSchema for FaultCounts {
    fn schema_name() -> Cow<'static, str> {
        "FaultCounts".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        <BTreeMap<Fault, Count>>::json_schema(generator)
    }
}

struct Faults;

impl<'de> Visitor<'de> for Faults {
    type Value = FaultCounts;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an object with frames by fault, or an array of {} numbers", Fault::ALL.len())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<FaultCounts, A::Error> {
        let mut counts = FaultCounts::default();
        while let Some((fault, frames)) = map.next_entry::<Fault, Count>()? {
            counts.0[fault as usize] = frames;
        }
        Ok(counts)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<FaultCounts, A::Error> {
        let mut counts = FaultCounts::default();
        for (i, count) in counts.0.iter_mut().enumerate() {
            *count = seq.next_element()?.ok_or_else(|| A::Error::invalid_length(i, &self))?;
        }
        match seq.next_element::<Count>()? {
            None => Ok(counts),
            Some(_) => Err(A::Error::invalid_length(Fault::ALL.len() + 1, &self)),
        }
    }
}

/// The hop limits that a trial learned, by direction.
#[derive(Clone, Copy, Serialize, Deserialize, JsonSchema)]
pub(super) struct HopLimits {
    /// Left to Right; null if no right frame arrived.
    forward: Option<u8>,
    /// Right to Left; null if no right frame arrived.
    reverse: Option<u8>,
}

pub(super) mod directions {
    use super::HopLimits;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Written {
        Named(HopLimits),
        Array([Option<u8>; 2]),
    }

    #[allow(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
    pub(in crate::trial) fn serialize<S: Serializer>(
        [forward, reverse]: &[Option<u8>; 2],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        HopLimits { forward: *forward, reverse: *reverse }.serialize(serializer)
    }

    pub(in crate::trial) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<[Option<u8>; 2], D::Error> {
        Ok(match Written::deserialize(deserializer)? {
            Written::Named(HopLimits { forward, reverse }) => [forward, reverse],
            Written::Array(both) => both,
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::trial::{Fault, FaultCounts, TrialOutcome};
    use serde_json::json;

    #[test]
    fn faults_and_hop_limits_have_names() {
        let mut outcome = TrialOutcome { hop_limit: [Some(9), None], ..TrialOutcome::default() };
        outcome.forward.faults.add(Fault::WrongPort);
        let written = serde_json::to_value(&outcome).unwrap();
        assert_eq!(written["forward"]["faults"], json!({ "wrong-port": 1 }));
        assert_eq!(written["reverse"]["faults"], json!({}));
        assert_eq!(written["hop_limit"], json!({ "forward": 9, "reverse": null }));
        assert_eq!(serde_json::from_value::<TrialOutcome>(written).unwrap(), outcome);
    }

    #[test]
    fn arrays_of_earlier_versions_are_read() {
        let mut written = serde_json::to_value(TrialOutcome::default()).unwrap();
        written["hop_limit"] = json!([null, 8]);
        written["reverse"]["faults"] = json!([0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 1]);
        let outcome: TrialOutcome = serde_json::from_value(written).unwrap();
        assert_eq!(outcome.hop_limit, [None, Some(8)]);
        assert_eq!(outcome.reverse.faults.iter().collect::<Vec<_>>(), [(Fault::WrongPort, 3), (Fault::Duplicate, 1)]);
    }

    #[test]
    fn wrong_faults_are_refused() {
        for wrong in [json!(vec![0; 11]), json!(vec![0; 13]), json!({ "no-such-fault": 1 }), json!(7)] {
            assert!(serde_json::from_value::<FaultCounts>(wrong.clone()).is_err(), "{wrong}");
        }
    }
}
