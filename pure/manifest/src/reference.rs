// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The page of all keys of `taut.toml`, for people; made from the table of keys that drives reading.

use std::fmt::Write;

use taut_model::{Scalar, Size};

use crate::keys::{OVERLAY_CHANNEL_KEYS, OVERLAY_TASK_KEYS, ROOT};
use crate::spec::{By, Choice, Need, Table, Type, Word};

const HEAD: &str = "\
# Every key of `taut.toml`

<!-- Made from the table that drives reading: `SCHEMA_UPDATE=1 cargo test -p taut-manifest` writes it. -->

taut refuses every other key. [taut.schema.json](taut.schema.json) is the same table for editors. A whole manifest:
[apps/cochlear/taut.toml](../apps/cochlear/taut.toml). [The errors](errors) give the rules beyond types and ranges, each
with an example; `taut explain TAUT0212` prints one.

## Values

| value | is written |
|---|---|
| duration | a quoted number and one unit of `ns` `us` `ms` `s` `min` `h`: `\"250us\"`, `\"1.5ms\"`. A whole number of nanoseconds, at most 2⁶⁴ − 1 (584 years) |
| size | a quoted whole number and one unit of `B` `KiB` `MiB` `GiB`: `\"256KiB\"` |
| percentage | quoted, at most one decimal, at most 10000: `\"12.5%\"` |
| number type | SCALARS; of a field also how many, as in `\"u8*176\"` |
| name | lower-case letters, digits and single `-` between them, a letter first, at most 63; of a payload letters, digits, `-` and `_`, a letter first |
| `\"auto\"` | the plan chooses; `taut.lock` has the choice and its reason |
";

/// The page of all keys, as Markdown.
pub fn reference() -> String {
    let mut page = Page { text: String::new(), reported: Vec::new(), left: Vec::new() };
    let scalars = Scalar::ALL.map(|(name, _)| format!("`{name}`")).join(" ");
    page.text.push_str(&HEAD.replace("SCALARS", &scalars));
    page.table(&ROOT, "The whole file.", None);
    while !page.left.is_empty() {
        let (table, path, chosen) = page.left.remove(0);
        page.table(table, &path, chosen);
    }
    page.overlay();
    page.text
}

/// A table, its place, and the key and word that choose it.
type TableSection = (&'static Table, String, Option<(&'static str, &'static str)>);

struct Page {
    text: String,
    /// Nouns of tables that have a section, or will have one.
    reported: Vec<&'static str>,
    /// Tables that still need a section.
    left: Vec<TableSection>,
}

impl Page {
    fn line(&mut self, arguments: std::fmt::Arguments<'_>) {
        let _ = writeln!(self.text, "{arguments}");
    }

    fn table(&mut self, table: &'static Table, path: &str, chosen: Option<(&str, &str)>) {
        self.line(format_args!("\n## {}\n\n{path} {}\n", table.noun, table.doc));
        self.line(format_args!("| key | value | if left out | meaning |\n|---|---|---|---|"));
        let mut words: Vec<(&str, &[Word])> = Vec::new();
        for key in table.keys {
            let choice = chosen.filter(|(name, _)| *name == key.name);
            let kind = match choice {
                Some((_, word)) => format!("`\"{word}\"`"),
                None => self.value(&key.kind, key.name, table),
            };
            if let (Type::Words(list), None) = (&key.kind, choice) {
                words.push((key.name, list));
            }
            let absent = match key.need {
                Need::Required | Need::Ruled => "required".to_owned(),
                Need::Unless(_, other) => format!("required without `{other}`"),
                Need::Optional => "–".to_owned(),
                Need::Default(text) => format!("`{}`", default(&key.kind, text)),
            };
            let doc = key.doc.replace('|', "\\|");
            self.line(format_args!("| `{}` | {kind} | {absent} | {doc} |", key.name));
        }
        for (name, list) in words {
            self.line(format_args!("\n`{name}`:\n"));
            for word in list.iter().filter(|word| word.now) {
                self.line(format_args!("- `\"{}\"`: {}", word.name, word.doc));
            }
        }
    }

    /// The possible values; tables get sections of their own.
    fn value(&mut self, kind: &Type, key: &str, of: &Table) -> String {
        let range = |min: i64, max: i64| {
            if min == max { format!("{min}") } else { format!("whole number, {min} to {max}") }
        };
        match kind {
            Type::Text => "text".into(),
            Type::Duration => "duration".into(),
            Type::Size { min: 0, max: u64::MAX } => "size".into(),
            Type::Size { min, max } => {
                format!("size, {} to {}", Size::from_bytes(*min), Size::from_bytes(*max))
            }
            Type::Percent => "percentage".into(),
            Type::Scalar | Type::Element => "number type".into(),
            Type::Integer { min, max } | Type::Ruled { min, max } => range(*min, *max),
            Type::Truth => "`true` or `false`".into(),
            Type::Words(_) => "word, below".into(),
            Type::Auto(inner) => format!("`\"auto\"`, or {}", self.value(inner, key, of)),
            Type::OneOrMany(_) => "name, or list of names".into(),
            Type::List(inner) => format!("list: {}", self.value(inner, key, of)),
            Type::Table(table) | Type::Nested(table) => self.link(table, place(key, of), None),
            Type::Map(_, inner) => {
                let path = if of.noun == ROOT.noun { format!("`[{key}.NAME]`:") } else { place(key, of) };
                match inner {
                    Type::Table(table) => format!("per name: {}", self.link(table, path, None)),
                    Type::Choice(choice) => format!("per name: {}", self.choice(choice, &path)),
                    inner => format!("per name: {}", self.value(inner, key, of)),
                }
            }
            Type::Choice(choice) => self.choice(choice, &place(key, of)),
        }
    }

    fn choice(&mut self, choice: &Choice, path: &str) -> String {
        let variants = choice.variants.iter().map(|variant| {
            let chosen = match choice.by {
                By::Word(key) => Some((key, variant.selector)),
                By::Presence => None,
            };
            self.link(variant.table, path.to_owned(), chosen)
        });
        variants.collect::<Vec<_>>().join(" or ")
    }

    fn link(
        &mut self,
        table: &'static Table,
        path: String,
        chosen: Option<(&'static str, &'static str)>,
    ) -> String {
        if !self.reported.contains(&table.noun) {
            self.reported.push(table.noun);
            self.left.push((table, path, chosen));
        }
        let anchor: String =
            table.noun.chars().filter(|c| c.is_alphanumeric() || " -".contains(*c)).collect();
        format!("[{}](#{})", table.noun, anchor.replace(' ', "-"))
    }

    fn overlay(&mut self) {
        let shown = |keys: &[&str]| keys.iter().map(|key| format!("`{key}`")).collect::<Vec<_>>().join(", ");
        let (of_tasks, of_channels) = (shown(&OVERLAY_TASK_KEYS), shown(&OVERLAY_CHANNEL_KEYS));
        self.line(format_args!(
            "\n## What an overlay may change\n\n`--overlay board.toml` sets what differs on another machine: \
             `[platform]`, and of `[tasks.NAME]`\n{of_tasks}. Of `[channels.NAME]` it may set {of_channels}. All else stays as \
             the manifest has it."
        ));
    }
}

/// The place of an inner table.
fn place(key: &str, of: &Table) -> String {
    match of.keys.iter().find(|other| other.name == key).map(|key| &key.kind) {
        Some(Type::List(_)) if of.noun == ROOT.noun => format!("`[[{key}]]`:"),
        _ if of.noun == ROOT.noun => format!("`[{key}]`:"),
        _ => format!("`{key}` of the {}:", of.noun),
    }
}

fn default(kind: &Type, text: &str) -> String {
    match kind {
        Type::Integer { .. } | Type::Ruled { .. } | Type::Truth | Type::List(_) => text.to_owned(),
        _ => format!("\"{text}\""),
    }
}
