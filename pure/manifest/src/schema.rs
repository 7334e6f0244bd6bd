// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The JSON schema of `taut.toml`, for editors; made from the table of keys that drives reading.

use serde_json::{Map, Value, json};
use taut_model::Scalar;

use crate::keys::{ROOT, SEGMENT};
use crate::spec::{By, Choice, Need, Table, Type, Word};

/// The JSON schema (draft 2020-12) of `taut.toml`.
pub fn schema() -> Value {
    let mut schema = table(&ROOT);
    if let Value::Object(object) = &mut schema {
        object.insert("$schema".into(), json!("https://json-schema.org/draft/2020-12/schema"));
        object.insert("title".into(), json!("taut.toml"));
        object.insert("$defs".into(), json!({ SEGMENT.noun: table(&SEGMENT) }));
    }
    schema
}

fn table(table: &Table) -> Value {
    let mut properties = Map::new();
    let mut required = Vec::new();
    for key in table.keys {
        let mut property = value(&key.kind);
        if let Value::Object(property) = &mut property {
            property.insert("description".into(), json!(key.doc));
            if let Need::Default(text) = key.need {
                property.insert("default".into(), default(&key.kind, text));
            }
        }
        properties.insert(key.name.into(), property);
        if matches!(key.need, Need::Required | Need::Ruled) {
            required.push(key.name);
        }
    }
    json!({
        "type": "object",
        "description": table.doc,
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

fn default(kind: &Type, text: &str) -> Value {
    match kind {
        Type::Integer { .. } => text.parse::<i64>().map_or(Value::Null, Value::from),
        Type::Truth => text.parse::<bool>().map_or(Value::Null, Value::from),
        Type::List(_) => json!([]),
        _ => json!(text),
    }
}

fn words(words: &[Word]) -> Value {
    let choices = words.iter().filter(|word| word.now);
    let choices = choices.map(|word| json!({ "const": word.name, "description": word.doc }));
    json!({ "oneOf": choices.collect::<Vec<_>>() })
}

fn value(kind: &Type) -> Value {
    match kind {
        Type::Text => json!({ "type": "string" }),
        Type::Duration => json!({
            "type": "string",
            "pattern": r"^\s*[0-9]+(\.[0-9]+)?\s*(ns|us|ms|s|min|h)\s*$",
            "examples": ["250us", "8ms", "1.5s"],
        }),
        Type::Size { .. } => json!({
            "type": "string",
            "pattern": r"^\s*[0-9]+\s*(B|KiB|MiB|GiB)\s*$",
            "examples": ["512B", "256KiB", "64MiB"],
        }),
        Type::Percent => json!({
            "type": "string",
            "pattern": r"^\s*[0-9]+(\.[0-9])?\s*%\s*$",
            "examples": ["20%", "12.5%"],
        }),
        Type::Element => json!({ "enum": Scalar::ALL.map(|(name, _)| name) }),
        Type::Scalar => {
            let names = Scalar::ALL.map(|(name, _)| name).join("|");
            json!({ "type": "string", "pattern": format!(r"^\s*({names})\s*(\*\s*[0-9]+\s*)?$"), "examples": ["u8*176"] })
        }
        Type::Integer { min, max } | Type::Ruled { min, max } => {
            json!({ "type": "integer", "minimum": min, "maximum": max })
        }
        Type::Truth => json!({ "type": "boolean" }),
        Type::Words(list) => words(list),
        Type::Auto(inner) => json!({ "anyOf": [{ "const": "auto" }, value(inner)] }),
        Type::OneOrMany(inner) => {
            json!({ "anyOf": [value(inner), { "type": "array", "items": value(inner), "minItems": 1 }] })
        }
        Type::List(inner) => json!({ "type": "array", "items": value(inner) }),
        Type::Table(inner) => table(inner),
        Type::Nested(inner) => json!({ "$ref": format!("#/$defs/{}", inner.noun) }),
        Type::Choice(inner) => choice(inner),
        Type::Map(_, inner) => json!({ "type": "object", "additionalProperties": value(inner) }),
    }
}

fn choice(choice: &Choice) -> Value {
    let variants = choice.variants.iter().map(|variant| {
        let mut schema = table(variant.table);
        if let By::Word(key) = choice.by {
            schema["properties"][key] = json!({ "const": variant.selector });
        }
        schema
    });
    json!({ "oneOf": variants.collect::<Vec<_>>() })
}
