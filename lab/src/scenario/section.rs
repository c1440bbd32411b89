//! Reading one table of the tree, key by key: wrong values become complaints and reading goes on, so that a
//! person sees all mistakes at once; keys that nobody asked for are refused at the end.

use super::diagnostic::{Diagnostic, Place, nearest};
use super::quantity::{self, QuantityError, WrittenRate};
use super::schema;
use super::tree::{Entry, Node, Table, Value};
use method::{Count, Nanos};
use wire::{AddrRange, PortRange};

/// A value that a person may have given.
#[derive(Clone, Debug)]
pub struct Given<T> {
    /// The value; none when absent or wrong.
    pub value: Option<T>,
    /// Its words; none when absent.
    pub place: Option<Place>,
}

impl<T> Given<T> {
    /// With a default for the absent.
    pub fn or(self, default: T) -> Spot<T> {
        let sound = self.value.is_some() || self.place.is_none();
        Spot { value: self.value.unwrap_or(default), place: self.place, sound }
    }
    /// This one if it was given, else the other.
    pub fn or_else(self, other: Given<T>) -> Given<T> {
        if self.place.is_some() { self } else { other }
    }
}

/// A value and its words; none when it is a default.
#[derive(Clone, Debug)]
pub struct Spot<T> {
    /// The value, or a stand-in when the words are wrong.
    pub value: T,
    /// The words.
    pub place: Option<Place>,
    /// The words are right: rules about the value make sense.
    pub sound: bool,
}

/// What is wrong with a value.
pub struct Wrong {
    what: String,
    instead: String,
}

impl Wrong {
    /// With another way out.
    pub fn or(self, instead: &str) -> Wrong {
        Wrong { instead: instead.to_owned(), ..self }
    }
}

impl From<QuantityError> for Wrong {
    fn from(error: QuantityError) -> Wrong {
        Wrong { what: error.wrong, instead: error.instead }
    }
}

type Parsed<T> = Result<T, Wrong>;

/// One table while it is read.
pub struct Section<'a> {
    path: String,
    table: Option<&'a Table>,
    log: &'a mut Vec<Diagnostic>,
}

impl<'a> Section<'a> {
    /// The table below `parent`; an absent one reads as empty.
    pub fn new(parent: &'a Table, name: &str, path: &str, log: &'a mut Vec<Diagnostic>) -> Section<'a> {
        let table = match parent.get(name) {
            None => None,
            Some(Entry { node: Node { value: Value::Table(table), .. }, .. }) => Some(table),
            Some(Entry { key, node, .. }) => {
                log.push(
                    Diagnostic::new(format!("`{path}` must be a table"))
                        .at(node.place, format!("{} here", node.value.kind()))
                        .at((node.place.source != key.source).then_some(*key), "this key")
                        .instead(format!("write [{path}] on a line of its own and its keys below")),
                );
                None
            }
        };
        Section { path: path.to_owned(), table, log }
    }

    /// The top level.
    pub fn root(table: &'a Table, log: &'a mut Vec<Diagnostic>) -> Section<'a> {
        Section { path: String::new(), table: Some(table), log }
    }

    /// Read a value.
    pub fn get<T>(&mut self, key: &str, parse: impl FnOnce(&Value) -> Parsed<T>) -> Given<T> {
        let Some(entry) = self.table.and_then(|table| table.get(key)) else {
            return Given { value: None, place: None };
        };
        let spot = self.parse(key, &entry.node, parse);
        Given { value: spot.sound.then_some(spot.value).flatten(), place: spot.place }
    }

    /// Read a list of values; a single value is a list of one.
    pub fn list<T>(&mut self, key: &str, parse: impl Fn(&Value) -> Parsed<T>) -> Given<Vec<Spot<T>>> {
        let Some(entry) = self.table.and_then(|table| table.get(key)) else {
            return Given { value: None, place: None };
        };
        let nodes = match &entry.node.value {
            Value::List(nodes) => nodes.as_slice(),
            _ => std::slice::from_ref(&entry.node),
        };
        if nodes.is_empty() {
            let diagnostic = Diagnostic::new(format!("`{}` is empty", schema::path(&self.path, key)));
            self.log.push(
                diagnostic
                    .at(entry.node.place, "no value here")
                    .instead("give one value at least, or leave the key out"),
            );
            return Given { value: None, place: Some(entry.node.place) };
        }
        let read: Vec<_> = nodes.iter().map(|node| self.parse(key, node, &parse)).collect();
        let value = read
            .into_iter()
            .map(|spot| spot.value.map(|value| Spot { value, place: spot.place, sound: true }))
            .collect::<Option<Vec<_>>>();
        Given { value, place: Some(entry.node.place) }
    }

    /// Its dotted path.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Where a key stands, if it is there.
    pub fn key(&self, key: &str) -> Option<Place> {
        self.table?.get(key).map(|entry| entry.key)
    }

    /// The words of a key's value, if it is there.
    pub fn value(&self, key: &str) -> Option<Place> {
        self.table?.get(key).map(|entry| entry.node.place)
    }

    /// An array of tables: where it stands, and each of them with its place; none of them when something else stands there.
    pub fn tables(&mut self, key: &str) -> Option<(Place, Vec<(Place, &'a Table)>)> {
        let entry = self.table?.get(key)?;
        let nodes = if let Value::List(nodes) = &entry.node.value { nodes.as_slice() } else { &[] };
        let table = |node: &'a Node| if let Value::Table(t) = &node.value { Some((node.place, t)) } else { None };
        let tables: Option<Vec<_>> = nodes.iter().map(table).collect();
        let found = tables.filter(|all| !all.is_empty());
        if found.is_none() {
            let path = schema::path(&self.path, key);
            let diagnostic = Diagnostic::new(format!("`{path}` must be tables, one for each")).at(entry.key, "is none");
            self.log.push(diagnostic.instead(format!("write [[{path}]], with two brackets, above each")));
        }
        Some((entry.key, found.unwrap_or_default()))
    }

    /// A table of an array, which has this path; complaints about it go where those about this one go.
    pub fn below<'b>(&'b mut self, table: &'b Table, path: &str) -> Section<'b> {
        Section { path: path.to_owned(), table: Some(table), log: &mut *self.log }
    }

    /// Complain about keys that this table has only in another case.
    pub fn refuse(&mut self, keys: &[&str], why: &str, way_out: &str) {
        for key in keys {
            if let Some(entry) = self.table.and_then(|table| table.get(key)) {
                let title = format!("`{}` does not belong here", schema::path(&self.path, key));
                self.log.push(Diagnostic::new(title).at(entry.key, why).instead(way_out));
            }
        }
    }

    /// Complain about values that do not go together.
    pub fn complain(&mut self, diagnostic: Diagnostic) {
        self.log.push(diagnostic);
    }

    /// Complain about the keys that this table does not have, with what was probably meant.
    pub fn finish(self) {
        self.finish_keys(&[]);
    }

    /// The same for a table with these tables below it.
    pub fn finish_keys(self, tables: &[&str]) {
        let known = schema::keys(&self.path);
        for entry in self.table.iter().flat_map(|table| &table.entries) {
            let name = entry.name.as_str();
            if known.contains(&name) || tables.contains(&name) || (self.path.is_empty() && is_table_name(name)) {
                continue;
            }
            self.log.push(self.unknown(entry, &known));
        }
    }

    fn unknown(&self, entry: &Entry, known: &[&str]) -> Diagnostic {
        let name = entry.name.as_str();
        let table = if self.path.is_empty() { "at the top level".to_owned() } else { format!("in [{}]", self.path) };
        let diagnostic = Diagnostic::new(format!("unknown key `{name}` {table}")).at(entry.key, "no such key here");
        let tables = || schema::TABLES.iter().map(|(path, _)| path.split('.').next().unwrap_or(path));
        if let Some(meant) = nearest(name, known.iter().copied()) {
            return diagnostic.instead(format!("did you mean `{meant}`?"));
        }
        if let Some(meant) = nearest(name, tables().filter(|name| !name.is_empty())).filter(|_| self.path.is_empty()) {
            return diagnostic.instead(format!("did you mean [{meant}]?"));
        }
        if let Some(other) =
            schema::tables_with(name).find(|other| !other.starts_with("dut.") && !other.starts_with("technology."))
        {
            let other =
                if other.is_empty() { "the top level, above all tables".to_owned() } else { format!("[{other}]") };
            return diagnostic.instead(format!("`{name}` belongs to {other}"));
        }
        if self.path.is_empty() {
            let tables = "tables are [dut.…], [link.…], [traffic], [sweep], [measure] and [full]";
            return diagnostic.instead(format!("keys are {}; {tables}", known.join(", ")));
        }
        if known.is_empty() {
            return diagnostic.instead("this table has no keys");
        }
        diagnostic.instead(format!("known keys: {}", known.join(", ")))
    }

    fn parse<T>(&mut self, key: &str, node: &Node, parse: impl FnOnce(&Value) -> Parsed<T>) -> Spot<Option<T>> {
        match parse(&node.value) {
            Ok(value) => Spot { value: Some(value), place: Some(node.place), sound: true },
            Err(wrong) => {
                self.log.push(
                    Diagnostic::new(format!("wrong value of `{}`", schema::path(&self.path, key)))
                        .at(node.place, wrong.what)
                        .instead(wrong.instead),
                );
                Spot { value: None, place: Some(node.place), sound: false }
            }
        }
    }
}

/// Whether a key of the top level is a table of scenarios.
fn is_table_name(name: &str) -> bool {
    schema::TABLES.iter().any(|(path, _)| path.split('.').next() == Some(name))
}

/// A text.
pub fn text(value: &Value) -> Parsed<String> {
    match value {
        Value::Text(text) => Ok(text.clone()),
        other => Err(Wrong { what: format!("{} here", other.kind()), instead: "write a text in quotes".to_owned() }),
    }
}

/// The words of a quantity, which may be a text or a number.
fn words(value: &Value) -> Parsed<&str> {
    match value {
        Value::Integer(text) | Value::Float(text) if text.starts_with('-') => {
            Err(Wrong { what: "below zero".to_owned(), instead: "write a number above zero".to_owned() })
        }
        Value::Text(text) | Value::Integer(text) | Value::Float(text) => Ok(text),
        Value::List(_) => Err(Wrong {
            what: "a list here".to_owned(),
            instead: "write one number; a comma separates the values of a list, never the digits of a number"
                .to_owned(),
        }),
        other => Err(Wrong {
            what: format!("{} here", other.kind()),
            instead: "write a number, or a number with its unit in quotes".to_owned(),
        }),
    }
}

/// The length of a prefix, with or without its slash.
pub fn prefix_length(value: &Value) -> Parsed<u8> {
    let instead = "write a length of 0 to 128 bits: 56";
    let word = words(value)?;
    match word.strip_prefix('/').unwrap_or(word).trim().parse() {
        Ok(length @ 0..=128) => Ok(length),
        _ => Err(Wrong { what: format!("`{word}` is not the length of a prefix"), instead: instead.to_owned() }),
    }
}

/// A count.
pub fn count(value: &Value) -> Parsed<Count> {
    Ok(quantity::count(words(value)?)?)
}

/// A count within limits.
pub fn count_in(limits: std::ops::RangeInclusive<u64>) -> impl Fn(&Value) -> Parsed<Count> {
    move |value| match count(value)? {
        n if limits.contains(&n) => Ok(n),
        n => Err(Wrong {
            what: format!("{n} is out of range"),
            instead: format!(
                "write a number from {} to {}",
                quantity::show_count(*limits.start()),
                quantity::show_count(*limits.end())
            ),
        }),
    }
}

/// One of a few counts.
pub fn one_of(choices: &'static [u64]) -> impl Fn(&Value) -> Parsed<Count> {
    move |value| match count(value)? {
        n if choices.contains(&n) => Ok(n),
        n => {
            let all: Vec<String> = choices.iter().map(u64::to_string).collect();
            Err(Wrong { what: format!("{n} is none of these"), instead: format!("write {}", all.join(", ")) })
        }
    }
}

/// A number up to this, or none where a field is copied.
pub fn copied_or(most: u64) -> impl Fn(&Value) -> Parsed<Option<Count>> {
    move |value| match value {
        Value::Text(word) if word == "copy" => Ok(None),
        _ => match count_in(0..=most)(value) {
            Ok(n) => Ok(Some(n)),
            Err(wrong) => Err(Wrong { instead: format!("write \"copy\", or a number up to {most}"), ..wrong }),
        },
    }
}

/// A duration.
pub fn duration(value: &Value) -> Parsed<Nanos> {
    Ok(quantity::duration(words(value)?)?)
}

/// A duration within limits.
pub fn duration_in(limits: std::ops::RangeInclusive<Nanos>) -> impl Fn(&Value) -> Parsed<Nanos> {
    move |value| match duration(value)? {
        t if limits.contains(&t) => Ok(t),
        t => Err(Wrong {
            what: format!("{} is out of range", quantity::show_duration(t)),
            instead: format!(
                "write {} to {}",
                quantity::show_duration(*limits.start()),
                quantity::show_duration(*limits.end())
            ),
        }),
    }
}

/// A share above zero, in parts per million.
pub fn share(value: &Value) -> Parsed<u32> {
    match quantity::share_ppm(words(value)?)? {
        0 => Err(Wrong {
            what: "zero makes no sense here".to_owned(),
            instead: "write a share above 0 and at most 1".to_owned(),
        }),
        ppm => Ok(ppm),
    }
}

/// A share in parts per million, none at all included.
pub fn share_or_none(value: &Value) -> Parsed<u32> {
    Ok(quantity::share_ppm(words(value)?)?)
}

/// A rate above zero.
pub fn rate(value: &Value) -> Parsed<WrittenRate> {
    match quantity::rate(words(value)?)? {
        WrittenRate::Frames(0) | WrittenRate::Bits(0) => {
            Err(Wrong { what: "nothing moves at this rate".to_owned(), instead: "write a rate above zero".to_owned() })
        }
        rate => Ok(rate),
    }
}

/// A port range.
pub fn ports(value: &Value) -> Parsed<PortRange> {
    Ok(quantity::ports(words(value)?)?)
}

/// An address range.
pub fn addresses(value: &Value) -> Parsed<AddrRange> {
    Ok(quantity::addresses(&text(value)?)?)
}

/// Yes or no.
pub fn yes_or_no(value: &Value) -> Parsed<bool> {
    match value {
        Value::Bool(yes) => Ok(*yes),
        other => {
            Err(Wrong { what: format!("{} here", other.kind()), instead: "write true or false, without quotes".into() })
        }
    }
}

/// An Ethernet address.
pub fn mac(value: &Value) -> Parsed<wire::Mac> {
    let instead = "write six octets: \"02:00:00:00:01:01\"".to_owned();
    text(value)?.parse().map_err(|what| Wrong { what, instead })
}

/// An IP address of either version.
pub fn ip(value: &Value) -> Parsed<std::net::IpAddr> {
    let word = text(value)?;
    let instead = "write an address such as \"198.18.0.1\" or \"2001:2::1\"".to_owned();
    word.parse().map_err(|_| Wrong { what: format!("`{word}` is not an IP address"), instead })
}

/// An IPv4 prefix; an address is one of 32 bits.
pub fn prefix4(value: &Value) -> Parsed<wire::Prefix4> {
    let range = quantity::addresses(&text(value)?)?;
    let first = u32::from(range.first);
    if !range.count.is_power_of_two() || first & (range.count - 1) != 0 {
        let instead = "write a prefix: \"10.0.0.0/8\"".to_owned();
        return Err(Wrong { what: "this is not a prefix".to_owned(), instead });
    }
    Ok(wire::Prefix4 { addr: range.first, len: 32 - range.count.trailing_zeros() as u8 })
}

/// The same, of a mapping rule: that may be all of IPv4 (RFC 7597, section 5), which no range of addresses is.
pub fn prefix4_of_rule(value: &Value) -> Parsed<wire::Prefix4> {
    match text(value)?.split_once('/').map(|(addr, len)| (addr.trim(), len.trim())) {
        Some(("0.0.0.0", "0")) => Ok(wire::Prefix4 { addr: std::net::Ipv4Addr::UNSPECIFIED, len: 0 }),
        _ => prefix4(value),
    }
}

/// An IPv6 address.
pub fn ip6(value: &Value) -> Parsed<std::net::Ipv6Addr> {
    let word = text(value)?;
    let instead = "write an address such as \"2001:2:0:100::1\"".to_owned();
    word.parse().map_err(|_| Wrong { what: format!("`{word}` is not an IPv6 address"), instead })
}

/// An IPv6 prefix.
pub fn prefix6(value: &Value) -> Parsed<wire::Prefix6> {
    let word = text(value)?;
    let instead = || "write a prefix such as \"2001:2:0:1000::/96\"".to_owned();
    let wrong = |what: String| Wrong { what, instead: instead() };
    let (addr, len) = word.split_once('/').ok_or_else(|| wrong(format!("`{word}` has no length")))?;
    let addr: std::net::Ipv6Addr =
        addr.trim().parse().map_err(|_| wrong(format!("`{addr}` is not an IPv6 address")))?;
    let len = len.trim().parse().ok().filter(|len| *len <= 128);
    let len: u8 = len.ok_or_else(|| wrong(format!("`{word}` has a length that is not 0 to 128")))?;
    let prefix = wire::Prefix6 { addr, len };
    if prefix.first() != addr.to_bits() {
        let network = std::net::Ipv6Addr::from_bits(prefix.first());
        let instead = format!("write \"{network}/{len}\"");
        return Err(Wrong { what: format!("`{addr}` has bits set beyond its /{len} prefix"), instead });
    }
    Ok(prefix)
}

/// IPv6 addresses of a pool: a prefix that no pool is too small for, or one address.
pub fn pool6(value: &Value) -> Parsed<wire::Prefix6> {
    let word = text(value)?;
    let prefix = if word.contains('/') { prefix6(value)? } else { wire::Prefix6 { addr: ip6(value)?, len: 128 } };
    match plane::Pool6::new(prefix) {
        Ok(_) => Ok(prefix),
        Err(e) => Err(Wrong { what: e.to_string(), instead: "write such as \"2001:2:0:200::/120\"".to_owned() }),
    }
}

/// An explicit address map: an IPv4 and an IPv6 prefix with as many bits left (RFC 7757, section 3.1).
pub fn eam(value: &Value) -> Parsed<(wire::Prefix4, wire::Prefix6)> {
    let words = text(value)?;
    let instead = || "write both prefixes: \"198.18.0.0/24 2001:2::/120\"".to_owned();
    let (four, six) =
        words.split_once(' ').ok_or_else(|| Wrong { what: format!("`{words}` is one prefix"), instead: instead() })?;
    let four = prefix4(&Value::Text(four.trim().to_owned()))?;
    let six = prefix6(&Value::Text(six.trim().to_owned()))?;
    if 32 - four.len != 128 - six.len {
        let what = format!("/{} leaves {} bits and /{} leaves {}", four.len, 32 - four.len, six.len, 128 - six.len);
        return Err(Wrong { what, instead: instead() });
    }
    Ok((four, six))
}

/// One of a few words.
pub fn choice<T: Copy>(choices: &[(&'static str, T)]) -> impl Fn(&Value) -> Parsed<T> {
    move |value| {
        let word = text(value)?;
        if let Some(&(_, choice)) = choices.iter().find(|(name, _)| *name == word) {
            return Ok(choice);
        }
        let names = || choices.iter().map(|&(name, _)| name);
        let all: Vec<String> = names().map(|name| format!("\"{name}\"")).collect();
        let instead = match nearest(&word, names()) {
            Some(meant) => format!("did you mean \"{meant}\"?"),
            None => format!("write {}", all.join(" or ")),
        };
        Err(Wrong { what: format!("unknown word `{word}`"), instead })
    }
}

/// A short name for folders and rows.
pub fn name(value: &Value) -> Parsed<String> {
    let name = text(value)?;
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if name.is_empty() || name.len() > 64 || !name.chars().all(plain) || name.starts_with('.') {
        let instead = "write 1 to 64 letters, digits, `-`, `_` and `.`, as for a folder".to_owned();
        return Err(Wrong { what: "this cannot be part of a folder's name".to_owned(), instead });
    }
    Ok(name)
}
