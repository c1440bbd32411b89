//! Kinds of values: how each is read and described.

mod series;

pub use series::{Series, series};

use crate::did_you_mean::did_you_mean;
use crate::quantity::{self, WrittenRate};
use crate::source::SourceSpan;
use crate::tree::{Node, Value};
use crate::wrong::Wrong;
use method::{Count, Nanos};
use serde_json::{Value as Json, json};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::str::FromStr;
use wire::{AddrRange, Mac, PortRange, Prefix4, Prefix6, VlanId};

type Parsed<T> = Result<T, Wrong>;

pub struct Shape {
    /// For people: `count, 2 to 255`.
    pub words: String,
    /// For editors: a JSON Schema.
    pub json: Json,
    /// Whether commas separate items in an override.
    pub is_list: bool,
    /// Whether the value is a share, with a unit.
    pub is_share: bool,
}

impl Shape {
    pub fn one(words: impl Into<String>, json: Json) -> Shape {
        Shape { words: words.into(), json, is_list: false, is_share: false }
    }
}

/// How a value is read from TOML and described. A kind of single values has `parse`, one of several `read`.
pub trait ValueKind {
    type Out;
    fn parse(&self, value: &Value) -> Parsed<Self::Out> {
        let mut first = None;
        let node = Node { place: SourceSpan::new(0, 0..0), value: value.clone() };
        let read = self.read(&node, "", &mut |_, _, wrong| {
            first.get_or_insert(wrong);
        });
        read.ok_or_else(|| first.unwrap_or_else(|| Wrong::new("not a value here", "correct it")))
    }
    fn shape(&self) -> Shape;
    fn absent(&self) -> Option<Self::Out> {
        None
    }
    fn read(&self, node: &Node, path: &str, refuse: &mut Refuse<'_>) -> Option<Self::Out> {
        self.parse(&node.value).map_err(|wrong| refuse(path, node.place, wrong)).ok()
    }
}

/// Called for each refused part: path, source span, and reason.
pub type Refuse<'a> = dyn FnMut(&str, SourceSpan, Wrong) + 'a;

pub struct Simple<T> {
    parse: fn(&Value) -> Parsed<T>,
    words: &'static str,
    json: fn() -> Json,
}

impl<T> ValueKind for Simple<T> {
    type Out = T;
    fn parse(&self, value: &Value) -> Parsed<T> {
        (self.parse)(value)
    }
    fn shape(&self) -> Shape {
        Shape::one(self.words, (self.json)())
    }
}

/// Creates a kind for one technology.
pub const fn own<T>(parse: fn(&Value) -> Parsed<T>, words: &'static str, json: fn() -> Json) -> Simple<T> {
    Simple { parse, words, json }
}

fn string() -> Json {
    json!({ "type": "string" })
}

fn number_or_string() -> Json {
    json!({ "type": ["integer", "number", "string"] })
}

pub fn text_of(value: &Value) -> Parsed<String> {
    match value {
        Value::Text(text) => Ok(text.clone()),
        other => Err(Wrong::new(format!("{} here", other.type_name()), "write a string in quotes")),
    }
}

/// The words of a quantity, a string or a number.
pub fn words_of(value: &Value) -> Parsed<&str> {
    match value {
        Value::Integer(text) | Value::Float(text) if text.starts_with('-') => {
            Err(Wrong::new("below zero", "write a number above zero"))
        }
        Value::Text(text) | Value::Integer(text) | Value::Float(text) => Ok(text),
        Value::List(_) => Err(Wrong::new(
            "a list here",
            "write one number; a comma separates the values of a list, never the digits of a number",
        )),
        other => Err(Wrong::new(
            format!("{} here", other.type_name()),
            "write a number, or a number with its unit in quotes",
        )),
    }
}

pub const fn text() -> Simple<String> {
    own(text_of, "string", string)
}

pub const fn path() -> Simple<PathBuf> {
    own(|value| text_of(value).map(PathBuf::from), "string, a path", string)
}

/// A name that may be part of a folder's name.
pub const fn name() -> Simple<String> {
    fn parse(value: &Value) -> Parsed<String> {
        let name = text_of(value)?;
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        if name.is_empty() || name.len() > 64 || !name.chars().all(plain) || name.starts_with(['.', '-']) {
            let instead = "write 1 to 64 letters, digits, `-`, `_` and `.`, without `.` or `-` in front";
            return Err(Wrong::new("this is not allowed in the name of a folder", instead));
        }
        Ok(name)
    }
    own(
        parse,
        "string of 1 to 64 letters, digits, `-`, `_`, `.`; not with `.` or `-` in front",
        || json!({ "type": "string", "pattern": "^[A-Za-z0-9_][A-Za-z0-9._-]{0,63}$" }),
    )
}

pub const fn yes_or_no() -> Simple<bool> {
    fn parse(value: &Value) -> Parsed<bool> {
        match value {
            Value::Bool(yes) => Ok(*yes),
            other => Err(Wrong::new(format!("{} here", other.type_name()), "write true or false, without quotes")),
        }
    }
    own(parse, "`true` or `false`", || json!({ "type": "boolean" }))
}

pub struct Number<T>(RangeInclusive<u64>, fn(u64) -> Option<T>);

pub fn number<T: TryFrom<u64>>(limits: RangeInclusive<u64>) -> Number<T> {
    Number(limits, |n| T::try_from(n).ok())
}

impl<T> ValueKind for Number<T> {
    type Out = T;
    fn parse(&self, value: &Value) -> Parsed<T> {
        let n = quantity::count(words_of(value)?)?;
        let limits = [self.0.start(), self.0.end()].map(|&n| quantity::show_count(n));
        let out_of_range = || {
            let [least, most] = limits;
            Wrong::new(format!("{n} is out of range"), format!("write a number from {least} to {most}"))
        };
        Some(n).filter(|n| self.0.contains(n)).and_then(self.1).ok_or_else(out_of_range)
    }
    fn shape(&self) -> Shape {
        let (least, most) = (*self.0.start(), *self.0.end());
        let words = match most {
            u64::MAX => "count".to_owned(),
            _ if most.is_power_of_two() && most > 1 << 16 => format!("count, {least} to 2^{}", most.ilog2()),
            _ => format!("count, {least} to {}", quantity::show_grouped(most)),
        };
        let json = json!({ "anyOf": [{ "type": "integer", "minimum": least, "maximum": most },
            { "type": "string", "pattern": "^[0-9][0-9_.]* ?[kKMG]?$" }] });
        Shape::one(words, json)
    }
}

/// A count from 0 to 2^64 − 1, perhaps with k, M or G.
pub fn any_number() -> Number<Count> {
    number(0..=u64::MAX)
}

pub struct OneOf(&'static [u64]);

pub const fn one_of(choices: &'static [u64]) -> OneOf {
    OneOf(choices)
}

impl ValueKind for OneOf {
    type Out = u16;
    fn parse(&self, value: &Value) -> Parsed<u16> {
        let n = quantity::count(words_of(value)?)?;
        let all = || self.0.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
        let found = self.0.contains(&n).then(|| u16::try_from(n).ok()).flatten();
        found.ok_or_else(|| Wrong::new(format!("{n} is not one of the allowed values"), format!("write {}", all())))
    }
    fn shape(&self) -> Shape {
        let all = self.0.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
        Shape::one(all, json!({ "enum": self.0 }))
    }
}

pub struct Duration(RangeInclusive<Nanos>);

pub const fn duration(limits: RangeInclusive<Nanos>) -> Duration {
    Duration(limits)
}

/// A duration of at least so many seconds, and at most a year.
pub const fn seconds_from(least: u64) -> Duration {
    Duration(Nanos::from_secs(least)..=Nanos::from_secs(365 * 86_400))
}

impl ValueKind for Duration {
    type Out = Nanos;
    fn parse(&self, value: &Value) -> Parsed<Nanos> {
        match quantity::duration(words_of(value)?)? {
            t if self.0.contains(&t) => Ok(t),
            t => {
                let [is, least, most] = [t, *self.0.start(), *self.0.end()].map(quantity::show_duration);
                Err(Wrong::new(format!("{is} is out of range"), format!("write {least} to {most}")))
            }
        }
    }
    fn shape(&self) -> Shape {
        let [least, most] = [*self.0.start(), *self.0.end()].map(quantity::show_long);
        Shape::one(
            format!("duration, {least} to {most}"),
            json!({ "anyOf": [{ "const": 0 }, { "type": "string", "pattern": "^[0-9][0-9_.]* ?(ns|us|µs|ms|s|m|min|h)$" }] }),
        )
    }
}

pub struct Share {
    may_be_zero: bool,
}

/// A share in parts per million, above zero and at most 100 %.
pub const fn share() -> Share {
    Share { may_be_zero: false }
}

/// A share in parts per million, zero included.
pub const fn share_or_none() -> Share {
    Share { may_be_zero: true }
}

impl ValueKind for Share {
    type Out = u32;
    fn parse(&self, value: &Value) -> Parsed<u32> {
        match quantity::share_ppm(words_of(value)?)? {
            0 if !self.may_be_zero => Err(Wrong::new("zero is not allowed", "write a share above 0 and at most 100 %")),
            ppm => Ok(ppm),
        }
    }
    fn shape(&self) -> Shape {
        let in_words = json!({ "type": "string", "pattern": "^ *[0-9][0-9_.]* ?(%|ppm) *$" });
        let shape = if self.may_be_zero {
            Shape::one("share", json!({ "anyOf": [{ "const": 0 }, in_words] }))
        } else {
            Shape::one("share, above 0", in_words)
        };
        Shape { is_share: true, ..shape }
    }
}

pub const fn rate() -> Simple<WrittenRate> {
    fn parse(value: &Value) -> Parsed<WrittenRate> {
        match quantity::rate(words_of(value)?)? {
            WrittenRate::Frames(0) | WrittenRate::Bits(0) => {
                Err(Wrong::new("a rate of zero is not allowed", "write a rate above zero"))
            }
            rate => Ok(rate),
        }
    }
    own(parse, "rate", number_or_string)
}

/// A port or `FIRST-LAST`, from 1 to 65535.
pub const fn ports() -> Simple<PortRange> {
    own(|value| quantity::ports(words_of(value)?), "ports", number_or_string)
}

pub const fn addresses() -> Simple<AddrRange> {
    own(|value| quantity::addresses(&text_of(value)?), "addresses", string)
}

pub const fn mac() -> Simple<Mac> {
    fn parse(value: &Value) -> Parsed<Mac> {
        text_of(value)?.parse().map_err(|what: String| Wrong::new(what, "write six octets: \"02:00:00:00:01:01\""))
    }
    own(parse, "Ethernet address", string)
}

fn parsed<T: FromStr>(value: &Value, what: &str, example: &str) -> Parsed<T> {
    let word = text_of(value)?;
    word.parse()
        .map_err(|_| Wrong::new(format!("`{word}` is not an {what}"), format!("write an address such as {example}")))
}

/// A VLAN, or two: the outer one first.
pub struct Vlan;

impl ValueKind for Vlan {
    type Out = VlanId;
    fn parse(&self, value: &Value) -> Parsed<VlanId> {
        let id = |value: &Value| number(1..=4094).parse(value);
        match value {
            Value::List(nodes) => match nodes.as_slice() {
                [one] => id(&one.value).map(VlanId::from),
                [outer, inner] => Ok(VlanId { outer: Some(id(&outer.value)?), id: id(&inner.value)? }),
                _ => Err(Wrong::new(format!("{} values here", nodes.len()), "write one number, or [outer, inner]")),
            },
            value => id(value).map(VlanId::from),
        }
    }
    fn shape(&self) -> Shape {
        let one = number::<u16>(1..=4094).shape().json;
        let json = json!({ "anyOf": [one, { "type": "array", "items": one, "minItems": 1, "maxItems": 2 }] });
        Shape { is_list: true, ..Shape::one("count, 1 to 4,094, or `[outer, inner]`", json) }
    }
}

pub const fn ip() -> Simple<IpAddr> {
    own(|value| parsed(value, "IP address", "\"198.18.0.1\" or \"2001:2::1\""), "IP address", string)
}

pub const fn ip6() -> Simple<Ipv6Addr> {
    own(|value| parsed(value, "IPv6 address", "\"2001:2:0:100::1\""), "IPv6 address", string)
}

pub const fn prefix4() -> Simple<Prefix4> {
    fn parse(value: &Value) -> Parsed<Prefix4> {
        let range = quantity::addresses(&text_of(value)?)?;
        let first = u32::from(range.first);
        if !range.count.is_power_of_two() || first & (range.count - 1) != 0 {
            return Err(Wrong::new("this is not a prefix", "write a prefix: \"10.0.0.0/8\""));
        }
        Ok(Prefix4 { addr: range.first, len: 32 - range.count.trailing_zeros() as u8 })
    }
    own(parse, "IPv4 prefix", string)
}

/// An IPv4 prefix, perhaps all of IPv4 (RFC 7597, section 5).
pub const fn any_prefix4() -> Simple<Prefix4> {
    fn parse(value: &Value) -> Parsed<Prefix4> {
        match text_of(value)?.split_once('/').map(|(addr, len)| (addr.trim(), len.trim())) {
            Some(("0.0.0.0", "0")) => Ok(Prefix4 { addr: Ipv4Addr::UNSPECIFIED, len: 0 }),
            _ => prefix4().parse(value),
        }
    }
    own(parse, "IPv4 prefix", string)
}

pub const fn prefix6() -> Simple<Prefix6> {
    fn parse(value: &Value) -> Parsed<Prefix6> {
        let word = text_of(value)?;
        let wrong = |what: String| Wrong::new(what, "write a prefix such as \"2001:2:0:1000::/96\"");
        let (addr, len) = word.split_once('/').ok_or_else(|| wrong(format!("`{word}` has no length")))?;
        let addr: Ipv6Addr = addr.trim().parse().map_err(|_| wrong(format!("`{addr}` is not an IPv6 address")))?;
        let len = len.trim().parse().ok().filter(|len| *len <= 128);
        let len: u8 = len.ok_or_else(|| wrong(format!("`{word}` has a length that is not 0 to 128")))?;
        let prefix = Prefix6 { addr, len };
        if prefix.first() != addr.to_bits() {
            let network = Ipv6Addr::from_bits(prefix.first());
            let what = format!("`{addr}` has bits set beyond its /{len} prefix");
            return Err(Wrong::new(what, format!("write \"{network}/{len}\"")));
        }
        Ok(prefix)
    }
    own(parse, "IPv6 prefix", string)
}

/// The length of an IPv6 prefix, perhaps with its slash.
pub const fn prefix_length() -> Simple<u8> {
    fn parse(value: &Value) -> Parsed<u8> {
        let word = words_of(value)?;
        match word.strip_prefix('/').unwrap_or(word).trim().parse() {
            Ok(length @ 0..=128) => Ok(length),
            _ => Err(Wrong::new(
                format!("`{word}` is not the length of a prefix"),
                "write a length of 0 to 128 bits: 56",
            )),
        }
    }
    own(parse, "prefix length, 0 to 128", number_or_string)
}

/// A word, its value, and what it means.
pub type Choice<T> = (&'static str, T, &'static str);

/// Returns the word for a value.
pub fn word_for<T: PartialEq>(choices: &[Choice<T>], value: &T) -> &'static str {
    choices.iter().find(|choice| choice.1 == *value).map_or("", |choice| choice.0)
}

pub struct Choices<T: 'static>(&'static [Choice<T>]);

pub const fn choice<T: Copy>(choices: &'static [Choice<T>]) -> Choices<T> {
    Choices(choices)
}

impl<T: Copy> ValueKind for Choices<T> {
    type Out = T;
    fn parse(&self, value: &Value) -> Parsed<T> {
        let names = || self.0.iter().map(|choice| choice.0);
        let all = || names().map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(" or ");
        let Value::Text(word) = value else {
            return Err(Wrong::new(format!("{} here", value.type_name()), format!("write {}", all())));
        };
        let found = self.0.iter().find(|choice| choice.0 == word).map(|choice| choice.1);
        found.ok_or_else(|| {
            let instead = match did_you_mean(word, names()) {
                Some(meant) => format!("did you mean \"{meant}\"?"),
                None => format!("write {}", all()),
            };
            Wrong::new(format!("unknown word `{word}`"), instead)
        })
    }
    fn shape(&self) -> Shape {
        let each = |&(name, _, help): &Choice<T>| match help {
            "" => format!("`\"{name}\"`"),
            help => format!("`\"{name}\"` ({help})"),
        };
        let words: Vec<&str> = self.0.iter().map(|choice| choice.0).collect();
        Shape::one(self.0.iter().map(each).collect::<Vec<_>>().join(", "), json!({ "enum": words }))
    }
}

pub struct List<K>(K);

/// Returns the items of a list, or a single value as a list of one item.
fn items_of<'a>(node: &'a Node, path: &str, refuse: &mut Refuse<'_>) -> Option<&'a [Node]> {
    let nodes = if let Value::List(nodes) = &node.value { nodes.as_slice() } else { std::slice::from_ref(node) };
    if nodes.is_empty() {
        refuse(path, node.place, Wrong::new("an empty list", "give at least one value, or remove the key"));
        return None;
    }
    Some(nodes)
}

pub const fn list<K: ValueKind>(of: K) -> List<K> {
    List(of)
}

impl<K: ValueKind> ValueKind for List<K> {
    type Out = Vec<K::Out>;
    fn shape(&self) -> Shape {
        let Shape { words, json, .. } = self.0.shape();
        let json = json!({ "anyOf": [json, { "type": "array", "items": json, "minItems": 1 }] });
        Shape { is_list: true, ..Shape::one(format!("list of {words}"), json) }
    }
    fn absent(&self) -> Option<Vec<K::Out>> {
        Some(Vec::new())
    }
    fn read(&self, node: &Node, path: &str, refuse: &mut Refuse<'_>) -> Option<Vec<K::Out>> {
        let nodes = items_of(node, path, refuse)?;
        let item = |(at, node)| self.0.read(node, &format!("{path}[{at}]"), refuse);
        let items: Vec<Option<K::Out>> = nodes.iter().enumerate().map(item).collect();
        items.into_iter().collect()
    }
}

pub struct Maybe<K>(K);

pub const fn maybe<K: ValueKind>(of: K) -> Maybe<K> {
    Maybe(of)
}

impl<K: ValueKind> ValueKind for Maybe<K> {
    type Out = Option<K::Out>;
    fn shape(&self) -> Shape {
        self.0.shape()
    }
    fn absent(&self) -> Option<Option<K::Out>> {
        Some(None)
    }
    fn read(&self, node: &Node, path: &str, refuse: &mut Refuse<'_>) -> Option<Option<K::Out>> {
        self.0.read(node, path, refuse).map(Some)
    }
}

/// A value, computed from others if its key is absent.
pub struct ComputedDefault<K: ValueKind>(K, fn() -> K::Out);

/// A value that is `placeholder` until computed if its key is absent.
pub const fn settled<K: ValueKind>(of: K, placeholder: fn() -> K::Out) -> ComputedDefault<K> {
    ComputedDefault(of, placeholder)
}

impl<K: ValueKind> ValueKind for ComputedDefault<K> {
    type Out = K::Out;
    fn shape(&self) -> Shape {
        self.0.shape()
    }
    fn absent(&self) -> Option<K::Out> {
        Some((self.1)())
    }
    fn read(&self, node: &Node, path: &str, refuse: &mut Refuse<'_>) -> Option<K::Out> {
        self.0.read(node, path, refuse)
    }
}

pub struct Or<K: ValueKind>(&'static str, K);

/// A value, or a word that stands for none.
pub const fn or_word<K: ValueKind>(word: &'static str, kind: K) -> Or<K> {
    Or(word, kind)
}

impl<K: ValueKind> ValueKind for Or<K> {
    type Out = Option<K::Out>;
    fn parse(&self, value: &Value) -> Parsed<Option<K::Out>> {
        match value {
            Value::Text(word) if word == self.0 => Ok(None),
            _ => match self.1.parse(value) {
                Ok(value) => Ok(Some(value)),
                Err(Wrong { what, instead }) => {
                    let instead = instead.strip_prefix("write ").map_or(instead.clone(), str::to_owned);
                    Err(Wrong::new(what, format!("write \"{}\", or {instead}", self.0)))
                }
            },
        }
    }
    fn shape(&self) -> Shape {
        let Shape { words, json, .. } = self.1.shape();
        Shape::one(format!("`\"{}\"`, or {words}", self.0), json!({ "anyOf": [{ "const": self.0 }, json] }))
    }
    fn absent(&self) -> Option<Option<K::Out>> {
        Some(None)
    }
}
