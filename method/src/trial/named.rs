//! Names in the JSON of a trial; arrays of earlier versions are read too.

use super::{Fault, FaultCounts};
use crate::units::Count;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::collections::BTreeMap;

impl Serialize for FaultCounts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "an object with frames by fault, or an array with the frames of each")]
enum WrittenCounts {
    Named(BTreeMap<Fault, Count>),
    /// Before names, there were these kinds.
    Array([Count; 12]),
}

impl<'de> Deserialize<'de> for FaultCounts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<FaultCounts, D::Error> {
        Ok(match WrittenCounts::deserialize(deserializer)? {
            WrittenCounts::Named(named) => FaultCounts(Fault::ALL.map(|fault| named.get(&fault).copied().unwrap_or(0))),
            WrittenCounts::Array(counts) => {
                let mut faults = FaultCounts::default();
                faults.0[..counts.len()].copy_from_slice(&counts);
                faults
            }
        })
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
    enum TableOrArray {
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
        Ok(match TableOrArray::deserialize(deserializer)? {
            TableOrArray::Named(HopLimits { forward, reverse }) => [forward, reverse],
            TableOrArray::Array(both) => both,
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
    fn arrays_and_names_of_earlier_versions_are_read() {
        let mut written = serde_json::to_value(TrialOutcome::default()).unwrap();
        written["hop_limit"] = json!([null, 8]);
        written["reverse"]["faults"] = json!([0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 1]);
        let outcome: TrialOutcome = serde_json::from_value(written).unwrap();
        assert_eq!(outcome.hop_limit, [None, Some(8)]);
        assert_eq!(outcome.reverse.faults.iter().collect::<Vec<_>>(), [(Fault::WrongPort, 3), (Fault::Duplicate, 1)]);
        let names = json!({ "wrong-traffic-class": 2, "wrong-identification": 5 });
        let faults: FaultCounts = serde_json::from_value(names).unwrap();
        assert_eq!(faults.iter().collect::<Vec<_>>(), [(Fault::WrongFlowLabel, 2), (Fault::WrongDontFragment, 5)]);
    }

    #[test]
    fn wrong_faults_are_refused() {
        for wrong in [json!(vec![0; 11]), json!(vec![0; 13]), json!({ "no-such-fault": 1 }), json!(7)] {
            assert!(serde_json::from_value::<FaultCounts>(wrong.clone()).is_err(), "{wrong}");
        }
    }
}
