// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! TOML for people and for `diff`: one section per named thing, one line per key in it, and one line per item of a
//! list of tables. Keys keep the order of the fields.

use std::fmt::Write;

use toml::{Table, Value};

/// The text of a table. Reading it gives the table again.
pub(crate) fn write(table: &Table) -> String {
    let mut text = String::new();
    for (key, value) in table.iter().filter(|(_, value)| !is_section(value)) {
        line(&mut text, key, value);
    }
    for (key, value) in table {
        match value {
            Value::Table(section) => {
                let _ = write!(text, "\n[{key}]\n");
                lines(&mut text, section);
            }
            Value::Array(sections) if is_section(value) => {
                for section in sections.iter().filter_map(Value::as_table) {
                    let _ = write!(text, "\n[[{key}]]\n");
                    lines(&mut text, section);
                }
            }
            _ => {}
        }
    }
    text
}

fn is_section(value: &Value) -> bool {
    match value {
        Value::Table(_) => true,
        Value::Array(list) => list.first().is_some_and(Value::is_table),
        _ => false,
    }
}

fn lines(text: &mut String, section: &Table) {
    for (key, value) in section {
        line(text, key, value);
    }
}

fn line(text: &mut String, key: &str, value: &Value) {
    match value {
        Value::Array(list) if list.len() > 1 && is_section(value) => {
            let _ = writeln!(text, "{key} = [");
            for part in list {
                let _ = writeln!(text, "    {part},");
            }
            text.push_str("]\n");
        }
        _ => {
            let _ = writeln!(text, "{key} = {value}");
        }
    }
}
