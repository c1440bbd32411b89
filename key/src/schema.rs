//! The JSON Schema of a kind of file, for editors.

use crate::book::{Book, Chapter};
use crate::default::{Absent, as_toml};
use serde_json::{Map, Value as Json, json};

impl Book {
    /// JSON Schema draft 07, which TOML language servers read.
    pub fn json_schema(&self, title: &str) -> Json {
        let mut root = object("");
        for chapter in &self.chapters {
            let at = chapter.path.split('.').filter(|name| !name.is_empty()).fold(&mut root, below);
            fill(at, chapter);
        }
        if let Some(variants) = self.variants {
            let mut any = root.clone();
            require_nothing(&mut any);
            root["properties"][variants.table] =
                json!({ "type": "object", "description": variants.about, "additionalProperties": any });
        }
        root["$schema"] = "http://json-schema.org/draft-07/schema#".into();
        root["title"] = title.into();
        root
    }
}

fn object(about: &str) -> Json {
    json!({ "type": "object", "description": about, "properties": {}, "additionalProperties": false })
}

/// Removes required keys, which the file around a variant has, except in arrays, which a variant replaces.
fn require_nothing(table: &mut Json) {
    let Some(object) = table.as_object_mut() else { return };
    object.remove("required");
    let below = object.get_mut("properties").and_then(Json::as_object_mut);
    below.into_iter().flat_map(Map::values_mut).filter(|below| below["type"] == "object").for_each(require_nothing);
}

fn below<'a>(table: &'a mut Json, name: &str) -> &'a mut Json {
    let properties = table["properties"].as_object_mut().expect("every table is an object");
    let below = properties.entry(name).or_insert_with(|| object(""));
    if below["type"] == "array" { &mut below["items"] } else { below }
}

fn fill(table: &mut Json, chapter: &Chapter) {
    table["description"] = chapter.about.clone().into();
    let mut needed = Vec::new();
    for key in &chapter.keys {
        let mut json = (key.shape)().json;
        json["description"] = key.help().into();
        match key.default.absent {
            Absent::Written(text) => json["default"] = default(text),
            Absent::Needed(example) => {
                json["examples"] = json!([default(example)]);
                needed.push(key.name);
            }
            Absent::Computed(_) => {}
        }
        table["properties"][key.name] = json;
    }
    if !needed.is_empty() && !chapter.is_lenient {
        table["required"] = needed.into();
    }
    if chapter.is_array {
        let items = std::mem::replace(table, Json::Object(Map::new()));
        *table = json!({ "type": "array", "items": items });
    }
}

fn default(text: &str) -> Json {
    let text = as_toml(text);
    match text.trim_matches('"') {
        "true" => true.into(),
        "false" => false.into(),
        words if words.len() < text.len() => words.into(),
        words => words.parse::<u64>().map_or_else(|_| words.into(), Json::from),
    }
}
