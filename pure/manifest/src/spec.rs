// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The specification of the language: tables of keys, each with its type, need, default and a line on its meaning.

use std::borrow::Cow;

/// A table of known keys.
pub(crate) struct Table {
    /// What it describes, in words: `task`.
    pub(crate) noun: &'static str,
    pub(crate) doc: &'static str,
    pub(crate) keys: &'static [Key],
}

/// A key of a table.
pub(crate) struct Key {
    pub(crate) name: &'static str,
    pub(crate) kind: Type,
    pub(crate) need: Need,
    pub(crate) doc: &'static str,
}

/// Whether a key must be present.
#[derive(Clone, Copy)]
pub(crate) enum Need {
    /// It must be present.
    Required,
    /// It must be present; a rule of the model reports its absence.
    Ruled,
    /// It must be present, unless the table under this key of the same table has a key of this name.
    Unless(&'static str, &'static str),
    /// It may be left out.
    Optional,
    /// If it is left out, this text is its value.
    Default(&'static str),
}

/// The possible values of a key.
pub(crate) enum Type {
    /// Any text.
    Text,
    /// A length of time with a unit.
    Duration,
    /// An amount of memory with a unit, in a range of bytes.
    Size { min: u64, max: u64 },
    /// A percentage, to a tenth.
    Percent,
    /// A number type and its count: `u8*176`.
    Scalar,
    /// A plain number type: `i16`.
    Element,
    /// A whole number in a range.
    Integer { min: i64, max: i64 },
    /// A whole number whose range a rule of the model checks, with a better message.
    Ruled { min: i64, max: i64 },
    /// `true` or `false`.
    Truth,
    /// One of some words.
    Words(&'static [Word]),
    /// `"auto"`, or the type.
    Auto(&'static Type),
    /// A value or a list of values.
    OneOrMany(&'static Type),
    /// A list.
    List(&'static Type),
    /// A table of known keys.
    Table(&'static Table),
    /// A table of known keys that may contain tables of the same kind.
    Nested(&'static Table),
    /// One of some tables.
    Choice(&'static Choice),
    /// A table whose keys are names that the author chooses: the noun for an entry, and its type.
    Map(&'static str, &'static Type),
}

/// A word that is allowed as a value.
#[derive(Clone, Copy)]
pub(crate) struct Word {
    pub(crate) name: &'static str,
    pub(crate) doc: &'static str,
    /// Whether this version has it.
    pub(crate) now: bool,
}

/// Tables of which one is chosen.
pub(crate) struct Choice {
    pub(crate) by: By,
    pub(crate) variants: &'static [Variant],
}

impl Choice {
    /// The first variant that has a key of this name.
    pub(crate) fn with_key(&self, name: &str) -> Option<&'static Variant> {
        self.variants.iter().find(|variant| variant.table.keys.iter().any(|key| key.name == name))
    }

    /// Whether a key belongs to this variant, and to no other.
    pub(crate) fn only(&self, variant: &Variant, name: &str) -> bool {
        let has = |table: &Table| table.keys.iter().any(|key| key.name == name);
        has(variant.table) && self.variants.iter().filter(|other| has(other.table)).count() == 1
    }
}

/// A table that can be chosen.
pub(crate) struct Variant {
    /// The key, or the word, that chooses this variant.
    pub(crate) selector: &'static str,
    pub(crate) table: &'static Table,
}

/// What chooses the variant.
pub(crate) enum By {
    /// The presence of the variant's key.
    Presence,
    /// The word at this key; without the key, the first variant is chosen.
    Word(&'static str),
}

impl Type {
    /// The noun for a value of this type, with its article.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Text => "a text",
            Self::Words(_) => "a word",
            Self::Duration => "a duration",
            Self::Size { .. } => "a size",
            Self::Percent => "a percentage",
            Self::Scalar | Self::Element => "a number type",
            Self::Integer { .. } | Self::Ruled { .. } => "a whole number",
            Self::Truth => "true or false",
            Self::Auto(inner) => inner.name(),
            Self::OneOrMany(_) => "a name or a list of names",
            Self::List(_) => "a list",
            Self::Table(_) | Self::Nested(_) | Self::Choice(_) | Self::Map(..) => "a table",
        }
    }

    /// An example value; of a table, its required keys.
    pub(crate) fn example(&self) -> Cow<'static, str> {
        // An execution time is less than a period.
        let of_key = |key: &Key| match (key.name, &key.kind) {
            ("value", Self::Duration) => "\"1ms\"".into(),
            (_, kind) => kind.example(),
        };
        let of_table = |table: &Table| {
            let is_needed = |key: &&Key| matches!(key.need, Need::Required | Need::Unless(..));
            let needed = table.keys.iter().filter(is_needed);
            let needed: Vec<String> = needed.map(|key| format!("{} = {}", key.name, of_key(key))).collect();
            if needed.is_empty() { "{ … }".into() } else { format!("{{ {} }}", needed.join(", ")).into() }
        };
        let text = match self {
            Self::Text => "\"…\"",
            // Of several words, the last one claims least.
            Self::Words(words) => {
                let last = words.iter().rev().find(|word| word.now);
                return last.map_or("\"…\"".into(), |word| format!("\"{}\"", word.name).into());
            }
            Self::Duration => "\"8ms\"",
            Self::Size { .. } => "\"256KiB\"",
            Self::Percent => "\"20%\"",
            Self::Scalar => "\"u8*176\"",
            Self::Element => "\"i16\"",
            Self::Integer { .. } | Self::Ruled { .. } => "1",
            Self::Truth => "true",
            Self::Auto(inner) => return inner.example(),
            Self::OneOrMany(_) => "\"…\" or [\"…\", \"…\"]",
            Self::List(Self::Integer { .. }) => "[0, 1]",
            Self::List(Self::Table(_) | Self::Nested(_)) => "[{ … }]",
            Self::List(_) => "[\"…\", \"…\"]",
            Self::Table(table) => return of_table(table),
            Self::Choice(choice) => {
                return choice.variants.first().map_or("{ … }".into(), |variant| of_table(variant.table));
            }
            Self::Nested(_) | Self::Map(..) => "{ … }",
        };
        text.into()
    }
}
