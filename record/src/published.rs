//! The published record: all values of the documents about the scalability of these technologies, as they print them, with their
//! conditions and errata. The values are facts from the documents, cited by table or figure.

pub mod check;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// The files of `published/`, compressed by `build.rs`.
const VALUES_FILE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/all.csv.deflate"));
const DOCUMENTS_FILE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/sources.toml.deflate"));
const ERRATA_FILE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/errata.toml.deflate"));

fn text(packed: &[u8]) -> String {
    let text = miniz_oxide::inflate::decompress_to_vec(packed).expect("build.rs compressed it");
    String::from_utf8(text).expect("the files are UTF-8")
}

/// Where a published value stands, and the conditions under which it was measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Conditions {
    /// Document and table, as in `published/all.csv`.
    pub table: String,
    /// The document.
    pub document: String,
    /// Table or figure.
    pub label: String,
    /// Technology.
    pub technology: String,
    /// Implementation with version.
    pub implementation: String,
    /// Test set-up.
    pub setup: String,
    /// Connections; `None` if not stated.
    pub connections: Option<u64>,
    /// As above.
    pub source_ports: Option<u64>,
    /// As above.
    pub destination_ports: Option<u64>,
    /// Cores of the DUT.
    pub cores: Option<u64>,
    /// Buckets of its hash table.
    pub hash_table: Option<u64>,
    /// Entries of its connection tracking table.
    pub table_size: Option<u64>,
    /// Repetitions.
    pub experiments: Option<u64>,
    /// Loss tolerance as a share of the frames; 0 is RFC 2544.
    pub tolerance: Option<f64>,
    /// IPv4 frame size.
    pub frame_size: Option<u64>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct PublishedFigure {
    pub under: Conditions,
    pub metric: String,
    /// What it is of the repetitions: `median`, `min`, `max`; or how the document computed it from others.
    pub stat: String,
    /// Unit; frames per second are those of both directions.
    pub unit: String,
    pub x_name: String,
    /// Its place in the table: a number, or words.
    pub x: String,
    pub value: f64,
    pub printed: String,
}

#[derive(Clone, Debug, Deserialize)]
pub struct PublishedDocument {
    pub id: String,
    pub cite: String,
    /// Authors, title, date.
    pub full: String,
    pub machine: String,
    pub hardware: String,
    #[serde(default)]
    pub note: Option<String>,
}

#[derive(Clone, Debug, Deserialize)]
pub struct PublishedTable {
    /// Its short number: the document's, and that of the table or figure in it.
    pub number: String,
    /// Document and table, as in [`Conditions::table`].
    pub id: String,
    pub title: String,
}

/// What is wrong with published figures, or must be known about them.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Erratum {
    pub id: String,
    /// Its kind: `figure`, `label`, `text`, `anomaly` and others.
    pub kind: String,
    pub r#where: Vec<String>,
    pub printed: String,
    pub should_be: String,
    #[serde(default)]
    pub evidence: Option<String>,
    pub confidence: String,
    /// Tables beside whose values a report prints the note.
    #[serde(default)]
    pub tables: Vec<String>,
    /// Only these metrics; empty: all.
    #[serde(default)]
    pub metrics: Vec<String>,
    /// Only these numbers of connections; empty: all.
    #[serde(default)]
    pub connections: Vec<u64>,
    /// The note; none if the erratum does not change how a value is read.
    #[serde(default)]
    pub note: Option<String>,
}

pub static VALUES: LazyLock<Vec<PublishedFigure>> = LazyLock::new(|| read(&text(VALUES_FILE)));
pub static DOCUMENTS: LazyLock<Vec<PublishedDocument>> = LazyLock::new(|| list(&text(DOCUMENTS_FILE)));
pub static TABLES: LazyLock<Vec<PublishedTable>> = LazyLock::new(|| list(scenario::PUBLISHED));
pub static ERRATA: LazyLock<Vec<Erratum>> = LazyLock::new(|| list(&text(ERRATA_FILE)));

/// The tables of a file that has one array of them.
fn list<T: DeserializeOwned>(text: &str) -> Vec<T> {
    let arrays: BTreeMap<String, Vec<T>> = toml::from_str(text).expect("the files are tested");
    arrays.into_values().flatten().collect()
}

/// The table with this short number, or with this document and table.
pub fn table(name: &str) -> Option<&'static PublishedTable> {
    TABLES.iter().find(|table| table.number == name || table.id == name)
}

impl PublishedTable {
    pub fn values(&self) -> impl Iterator<Item = &'static PublishedFigure> {
        VALUES.iter().filter(|value| value.under.table == self.id)
    }

    pub fn document(&self) -> &'static PublishedDocument {
        let document = self.id.split('/').next().unwrap_or_default();
        DOCUMENTS.iter().find(|of| of.id == document).expect("every table has its document: tested")
    }

    /// The errata with a note about it.
    pub fn errata(&self) -> impl Iterator<Item = &'static Erratum> {
        ERRATA.iter().filter(|erratum| erratum.note.is_some() && erratum.tables.contains(&self.id))
    }
}

impl PublishedFigure {
    pub fn place(&self) -> Option<f64> {
        self.x.parse().ok()
    }
}

fn read(text: &str) -> Vec<PublishedFigure> {
    let mut lines = text.lines();
    let header = fields(lines.next().unwrap_or_default());
    let at = |name: &str| header.iter().position(|h| h == name).expect("all.csv is tested");
    let value = |row: Vec<String>| {
        let text = |name: &str| row[at(name)].clone();
        let count = |name: &str| row[at(name)].parse::<u64>().ok();
        let under = Conditions {
            table: text("table_id"),
            document: text("document"),
            label: text("label"),
            technology: text("technology"),
            implementation: text("implementation"),
            setup: text("setup"),
            connections: count("connections"),
            source_ports: count("src_ports"),
            destination_ports: count("dst_ports"),
            cores: count("cpu_cores"),
            hash_table: count("hash_table_size"),
            table_size: count("conntrack_table_size"),
            experiments: count("experiments"),
            tolerance: row[at("loss_tolerance")].parse().ok(),
            frame_size: count("frame_size_ipv4"),
        };
        Some(PublishedFigure {
            under,
            metric: text("metric"),
            stat: text("stat"),
            unit: text("unit"),
            x_name: text("x_name"),
            x: text("x_value"),
            value: row[at("value")].parse().ok()?,
            printed: text("printed"),
        })
    };
    lines.map(fields).filter_map(value).collect()
}

/// Returns the fields of a CSV line (RFC 4180; no field of the shipped table spans lines).
fn fields(line: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut quoted = false;
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '"' if quoted && chars.peek() == Some(&'"') => {
                chars.next();
                fields.last_mut().expect("never empty").push('"');
            }
            '"' => quoted = !quoted,
            ',' if !quoted => fields.push(String::new()),
            c => fields.last_mut().expect("never empty").push(c),
        }
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_has_its_table_and_its_document() {
        assert_eq!((VALUES.len(), text(VALUES_FILE).lines().count()), (1_261, 1_262));
        for value in VALUES.iter() {
            let table = table(&value.under.table).unwrap_or_else(|| panic!("{value:?}"));
            assert_eq!(table.document().id, value.under.document);
        }
        assert!(TABLES.iter().all(|table| table.values().next().is_some()));
        for erratum in ERRATA.iter() {
            assert!(erratum.tables.iter().all(|name| table(name).is_some()), "{erratum:?}");
            assert_eq!(erratum.note.is_some(), !erratum.tables.is_empty(), "{erratum:?}");
        }
    }

    #[test]
    fn scenarios_may_name_all_tables() {
        let numbers: Vec<&str> = TABLES.iter().map(|table| table.number.as_str()).collect();
        assert_eq!(numbers, scenario::published_numbers().collect::<Vec<_>>());
    }

    #[test]
    fn a_table_has_two_names() {
        let of = table("002-tab04").unwrap();
        assert_eq!(
            (of.id.as_str(), of.document().cite.as_str()),
            ("464xlat-mapt-2024/table-4", "Lencse and Bazsó 2024")
        );
        assert_eq!(table("464xlat-mapt-2024/table-4").unwrap().number, "002-tab04");
        assert!(table("002-tab99").is_none());
    }

    #[test]
    fn quoted_fields_are_read() {
        assert_eq!(fields(r#"a,"b, c","d ""e""",,f"#), ["a", "b, c", "d \"e\"", "", "f"]);
    }
}
