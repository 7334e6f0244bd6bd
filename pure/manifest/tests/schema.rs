// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The schema in the tree is the one that the table of keys gives. `SCHEMA_UPDATE=1` writes it.

use taut_manifest::schema;

#[test]
fn is_up_to_date() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/taut.schema.json");
    let now = format!("{}\n", serde_json::to_string_pretty(&schema()).unwrap());
    if std::env::var_os("SCHEMA_UPDATE").is_some() {
        std::fs::write(path, &now).unwrap();
    }
    assert!(std::fs::read_to_string(path).unwrap() == now, "run with SCHEMA_UPDATE=1 and commit {path}");
}

#[test]
fn knows_the_keys() {
    let schema = schema();
    let tasks = &schema["properties"]["tasks"]["additionalProperties"]["oneOf"];
    let real_time = &tasks[0]["properties"];
    assert_eq!(real_time["priority"]["anyOf"][1]["maximum"], 98);
    assert_eq!(real_time["class"]["const"], "real-time");
    assert_eq!(tasks[0]["required"], serde_json::json!(["arrival", "deadline", "wcet"]));
    assert_eq!(tasks[1]["properties"]["deadline"], serde_json::Value::Null);
    assert_eq!(schema["properties"]["platform"]["properties"]["memory"]["default"], "64MiB");
}
