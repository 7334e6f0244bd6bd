// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The schema and the page of keys in the tree match the table of keys. `SCHEMA_UPDATE=1` writes them.

use taut_manifest::{reference, schema};

fn up_to_date(path: &str, now: &str) {
    if std::env::var_os("SCHEMA_UPDATE").is_some() {
        std::fs::write(path, now).expect("docs/ can be written");
    }
    let kept = std::fs::read_to_string(path).expect("docs/ can be read");
    assert!(kept == now, "run with SCHEMA_UPDATE=1 and commit {path}");
}

#[test]
fn is_up_to_date() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/taut.schema.json");
    up_to_date(path, &format!("{}\n", serde_json::to_string_pretty(&schema()).unwrap()));
}

#[test]
fn page_is_up_to_date() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/manifest.md");
    up_to_date(path, &reference());
}

/// Every key of the schema has its row, at any depth.
#[test]
fn page_has_every_key() {
    fn keys(schema: &serde_json::Value, found: &mut Vec<String>) {
        if let Some(properties) = schema["properties"].as_object() {
            found.extend(properties.keys().cloned());
        }
        match schema {
            serde_json::Value::Object(inner) => inner.values().for_each(|value| keys(value, found)),
            serde_json::Value::Array(inner) => inner.iter().for_each(|value| keys(value, found)),
            _ => {}
        }
    }
    let (page, mut found) = (reference(), Vec::new());
    keys(&schema(), &mut found);
    assert!(found.len() > 80);
    for key in found {
        assert!(page.contains(&format!("| `{key}` | ")), "{key}");
    }
}

#[test]
fn knows_the_keys() {
    let schema = schema();
    let tasks = &schema["properties"]["tasks"]["additionalProperties"]["oneOf"];
    let real_time = &tasks[0]["properties"];
    assert_eq!(real_time["priority"]["anyOf"][1]["maximum"], 98);
    assert_eq!(real_time["class"]["const"], "real-time");
    assert_eq!(tasks[0]["required"], serde_json::json!(["arrival", "wcet"]));
    assert_eq!(tasks[1]["properties"]["deadline"], serde_json::Value::Null);
    assert_eq!(schema["properties"]["platform"]["properties"]["memory"]["default"], "64MiB");
}
