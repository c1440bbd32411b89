//! The version of the JSON that natmeter prints, and the JSON Schema of its documents. A field that goes away, or gets another
//! meaning, raises the version.

use schemars::generate::SchemaSettings;
use schemars::transform::{Transform, transform_subschemas};
use schemars::{JsonSchema, Schema};
use serde::Serialize;
use serde_json::Value;

/// Version of reports, events and other JSON documents.
pub const FORMAT_VERSION: u32 = 1;

/// A document with the version of its format.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(transform = only_this_version)]
pub struct VersionedDocument<T> {
    /// Version of the format. New fields may appear under the same version.
    pub format_version: u32,
    /// The document.
    #[serde(flatten)]
    pub document: T,
}

impl<T> VersionedDocument<T> {
    pub fn of(document: T) -> VersionedDocument<T> {
        VersionedDocument { format_version: FORMAT_VERSION, document }
    }
}

fn only_this_version(schema: &mut Schema) {
    if let Some(version) = schema.pointer_mut("/properties/format_version").and_then(Value::as_object_mut) {
        version.clear();
        version.insert("const".to_owned(), FORMAT_VERSION.into());
        version.insert(
            "description".to_owned(),
            "Version of the format. New fields may appear under the same version.".into(),
        );
    }
}

/// Returns the JSON Schema (draft 2020-12) of documents of this type, as they are written.
pub fn schema_of<T: JsonSchema>(title: &str) -> Value {
    let generator = SchemaSettings::draft2020_12().for_serialize().with_transform(WithoutLinks).into_generator();
    let mut schema = generator.into_root_schema_for::<VersionedDocument<T>>();
    schema.insert("title".to_owned(), title.into());
    schema.to_value()
}

/// Removes the links of rustdoc from descriptions.
#[derive(Clone, Copy, Debug)]
struct WithoutLinks;

impl Transform for WithoutLinks {
    fn transform(&mut self, schema: &mut Schema) {
        if let Some(Value::String(text)) = schema.get_mut("description") {
            *text = text.replace("[`", "`").replace("`]", "`");
        }
        transform_subschemas(self, schema);
    }
}
