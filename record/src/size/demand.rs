//! The demand of an operator: subscribers, and the sessions and traffic of each of them at the busy hour.

use scenario::quantity;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The demand on a gateway.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Demand {
    /// Subscribers.
    pub subscribers: f64,
    /// Sessions that each of them holds.
    pub sessions: f64,
    /// New sessions per second of each of them.
    pub new_sessions: f64,
    /// Traffic of each of them in the busier direction, Mbit/s of IPv4 packets.
    pub mbit: f64,
    /// Mean size of an IPv4 packet in octets, without Ethernet.
    pub packet_size: f64,
    /// The share of each limit that must stay free, 0 to below 1.
    pub headroom: f64,
}

/// Parts of a demand, from options of the command line or from a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct DemandValues {
    #[serde(default, deserialize_with = "count")]
    pub subscribers: Option<f64>,
    #[serde(default, deserialize_with = "count")]
    pub sessions: Option<f64>,
    #[serde(default, deserialize_with = "count")]
    pub new_sessions: Option<f64>,
    #[serde(default, deserialize_with = "count")]
    pub mbit: Option<f64>,
    #[serde(default, deserialize_with = "count")]
    pub packet_size: Option<f64>,
    #[serde(default, deserialize_with = "share")]
    pub headroom: Option<f64>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DemandError {
    #[error("{0}")]
    File(String),
    #[error("missing in the demand: {}; write --{} VALUE, or {} = VALUE in the demand file", keys.join(", "), keys[0], keys[0])]
    Missing { keys: Vec<&'static str> },
    #[error("`{key}` is {value}; write {range}")]
    Range { key: &'static str, value: String, range: &'static str },
}

pub const HEADROOM: f64 = 0.3;

impl DemandValues {
    pub fn parse(text: &str) -> Result<DemandValues, DemandError> {
        toml::from_str(text).map_err(|error| DemandError::File(error.to_string().trim_end().to_owned()))
    }

    /// Returns these values, and those of another demand where these have none.
    #[must_use]
    pub fn or(self, other: DemandValues) -> DemandValues {
        DemandValues {
            subscribers: self.subscribers.or(other.subscribers),
            sessions: self.sessions.or(other.sessions),
            new_sessions: self.new_sessions.or(other.new_sessions),
            mbit: self.mbit.or(other.mbit),
            packet_size: self.packet_size.or(other.packet_size),
            headroom: self.headroom.or(other.headroom),
        }
    }

    pub fn whole(self) -> Result<Demand, DemandError> {
        let missing = |(key, value, ..): &DemandRange| value(&self).is_none().then_some(*key);
        let keys: Vec<&str> = BOUNDED.iter().filter_map(missing).collect();
        if !keys.is_empty() {
            return Err(DemandError::Missing { keys });
        }
        let mut values = [0.0; BOUNDED.len()];
        for ((key, value, (least, most), range), found) in BOUNDED.into_iter().zip(&mut values) {
            *found = value(&self).unwrap_or(f64::NAN);
            if !(least..=most).contains(found) {
                return Err(DemandError::Range { key, value: found.to_string(), range });
            }
        }
        let headroom = self.headroom.unwrap_or(HEADROOM);
        if !(0.0..1.0).contains(&headroom) {
            let value = format!("{} %", headroom * 100.0);
            return Err(DemandError::Range { key: "headroom", value, range: "0 % or more, and less than 100 %" });
        }
        let [subscribers, sessions, new_sessions, mbit, packet_size] = values;
        Ok(Demand { subscribers, sessions, new_sessions, mbit, packet_size, headroom })
    }
}

/// A value that a demand must have: its key, the value, its least and its most, and these in words.
type DemandRange = (&'static str, fn(&DemandValues) -> Option<f64>, (f64, f64), &'static str);

/// All of them, in the order of [`Demand`].
const BOUNDED: [DemandRange; 5] = [
    ("subscribers", |d| d.subscribers, (1.0, 1e12), "a number from 1 to 10^12"),
    ("sessions", |d| d.sessions, (0.0, 1e9), "a number from 0 to 10^9 for each subscriber"),
    ("new-sessions", |d| d.new_sessions, (0.0, 1e9), "a number from 0 to 10^9 for each subscriber"),
    ("mbit", |d| d.mbit, (0.0, 1e9), "a number from 0 to 10^9 for each subscriber"),
    ("packet-size", |d| d.packet_size, (28.0, 65_535.0), "28 to 65,535 octets of an IPv4 packet"),
];

impl Demand {
    pub fn all_sessions(&self) -> f64 {
        self.subscribers * self.sessions
    }

    pub fn all_new_sessions(&self) -> f64 {
        self.subscribers * self.new_sessions
    }

    /// Packets per second of all subscribers, in the busier direction.
    pub fn packets(&self) -> f64 {
        self.subscribers * self.mbit * 1e6 / (8.0 * self.packet_size)
    }

    /// Octets of a mean packet as an Ethernet frame, with FCS.
    pub fn frame(&self) -> f64 {
        self.packet_size + 18.0
    }
}

#[derive(Deserialize)]
#[serde(untagged)]
enum NumberOrText {
    Number(f64),
    Text(String),
}

fn count<'de, D: serde::Deserializer<'de>>(value: D) -> Result<Option<f64>, D::Error> {
    number(value, number_of)
}

fn share<'de, D: serde::Deserializer<'de>>(value: D) -> Result<Option<f64>, D::Error> {
    number(value, share_of)
}

fn number<'de, D: serde::Deserializer<'de>>(
    value: D,
    of_text: fn(&str) -> Result<f64, String>,
) -> Result<Option<f64>, D::Error> {
    match NumberOrText::deserialize(value)? {
        NumberOrText::Number(number) => Ok(Some(number)),
        NumberOrText::Text(text) => of_text(&text).map(Some).map_err(serde::de::Error::custom),
    }
}

/// A number: `0.5`, `10k`, `1.5 M`.
pub fn number_of(text: &str) -> Result<f64, String> {
    let written = || quantity::count(text).map(|count| count as f64);
    text.trim().parse().or_else(|_| written().map_err(|error| error.to_string()))
}

/// A share: `30 %`, `0.3`.
pub fn share_of(text: &str) -> Result<f64, String> {
    let written = || quantity::share_ppm(text).map(|ppm| f64::from(ppm) / 1e6);
    text.trim().parse().or_else(|_| written().map_err(|error| error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "subscribers = \"10k\"\nsessions = 100\nnew-sessions = 0.5\nmbit = 2\npacket-size = 700\n";

    #[test]
    fn a_file_and_options_make_a_demand() {
        let options = DemandValues { mbit: Some(4.0), headroom: Some(0.2), ..DemandValues::default() };
        let demand = options.or(DemandValues::parse(FILE).unwrap()).whole().unwrap();
        assert_eq!((demand.subscribers, demand.mbit, demand.headroom), (1e4, 4.0, 0.2));
        assert_eq!((demand.all_sessions(), demand.all_new_sessions()), (1e6, 5e3));
        // 40 Gbit/s in packets of 5,600 bits.
        assert!((demand.packets() - 4e10 / 5_600.0).abs() < 1e-3);
        assert_eq!(DemandValues::parse(FILE).unwrap().whole().unwrap().headroom, HEADROOM);
    }

    #[test]
    fn what_is_wrong_is_named() {
        let error = |text: &str| DemandValues::parse(text).and_then(DemandValues::whole).unwrap_err().to_string();
        assert!(
            error("sessions = 1")
                .contains("missing in the demand: subscribers, new-sessions, mbit, packet-size; write --subscribers")
        );
        assert!(error("subscriber = 1").contains("unknown field `subscriber`"));
        assert!(error("subscribers = \"many\"").contains("many"));
        assert!(error(&FILE.replace("700", "10")).contains("`packet-size` is 10; write 28"));
        assert!(error(&FILE.replace("100", "-1")).contains("`sessions` is -1"));
        assert!(error(&format!("{FILE}headroom = \"100 %\"")).contains("less than 100 %"));
        assert!(error(&FILE.replace("= 2", "= nan")).contains("`mbit` is NaN"));
    }
}
