// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use std::borrow::Cow;
use std::ops::Range;

use toml::de::{DeTable, DeValue};

/// A value of a TOML text with its place.
#[derive(Clone, Debug)]
pub(crate) struct Node<'t> {
    pub(crate) file: usize,
    /// The place of its key; for items of a list, the place of the value itself.
    pub(crate) key: Range<usize>,
    /// The place of its value; for a table with a header, the place of the header.
    pub(crate) span: Range<usize>,
    pub(crate) value: Value<'t>,
}

/// A table of nodes in the order of the text.
pub(crate) type Entries<'t> = Vec<(Cow<'t, str>, Node<'t>)>;

#[derive(Clone, Debug)]
pub(crate) enum Value<'t> {
    Text(Cow<'t, str>),
    /// `None` if it does not fit into 128 bits.
    Integer(Option<i128>),
    /// The number as written.
    Float(f64),
    Boolean(bool),
    Datetime,
    List(Vec<Node<'t>>),
    Table(Entries<'t>),
    /// A value whose fault is already reported.
    Broken,
}

impl<'t> Node<'t> {
    /// The tree of a parsed text. A value that touches one of the (sorted) `errors` is broken.
    pub(crate) fn root(file: usize, table: DeTable<'t>, errors: &[usize]) -> Self {
        Self { file, key: 0..0, span: 0..0, value: Value::Table(entries(file, table, errors)) }
    }

    fn new(file: usize, key: Range<usize>, span: Range<usize>, value: DeValue<'t>, errors: &[usize]) -> Self {
        let first = errors.partition_point(|error| *error < span.start);
        let touched = errors.get(first).is_some_and(|error| *error <= span.end);
        let value = match value {
            _ if touched => Value::Broken,
            DeValue::Table(table) => Value::Table(entries(file, table, errors)),
            DeValue::String(text) => Value::Text(text),
            DeValue::Integer(number) => {
                Value::Integer(i128::from_str_radix(number.as_str(), number.radix()).ok())
            }
            DeValue::Float(number) => {
                Value::Float(number.as_str().replace('_', "").parse().unwrap_or(f64::NAN))
            }
            DeValue::Boolean(value) => Value::Boolean(value),
            DeValue::Datetime(_) => Value::Datetime,
            DeValue::Array(list) => Value::List(
                list.into_iter()
                    .map(|item| {
                        let span = item.span();
                        Self::new(file, span.clone(), span, item.into_inner(), errors)
                    })
                    .collect(),
            ),
        };
        Self { file, key, span, value }
    }

    /// The entry of a table.
    pub(crate) fn get(&self, name: &str) -> Option<&Self> {
        match &self.value {
            Value::Table(entries) => entries.iter().find(|(key, _)| key == name).map(|(_, node)| node),
            _ => None,
        }
    }

    /// Whether it is a table after its key: `key = { … }`. The place of a table with a header is that header.
    pub(crate) fn is_inline(&self) -> bool {
        self.span.start >= self.key.end
    }

    /// Merges `over` into this value: tables are merged key by key, any other value is replaced.
    pub(crate) fn overlay(&mut self, over: Self) {
        match (&mut self.value, over.value) {
            (Value::Table(entries), Value::Table(others)) => {
                for (name, other) in others {
                    match entries.iter_mut().find(|(key, _)| *key == name) {
                        Some((_, node)) => node.overlay(other),
                        None => entries.push((name, other)),
                    }
                }
            }
            (_, value) => *self = Self { value, ..over },
        }
    }

    /// The kind of the value, with its article.
    pub(crate) fn type_name(&self) -> &'static str {
        match self.value {
            Value::Text(_) => "a text",
            Value::Integer(_) => "a whole number",
            Value::Float(_) => "a number with a point",
            Value::Boolean(_) => "true or false",
            Value::Datetime => "a date or time",
            Value::List(_) => "a list",
            Value::Table(_) => "a table",
            Value::Broken => "nothing readable",
        }
    }
}

fn entries<'t>(file: usize, table: DeTable<'t>, errors: &[usize]) -> Entries<'t> {
    let mut entries = table
        .into_iter()
        // Drops keys that the parser invented where a key was missing.
        .filter(|(key, _)| !key.span().is_empty())
        .map(|(key, value)| {
            let (at, span) = (key.span(), value.span());
            (key.into_inner(), Node::new(file, at, span, value.into_inner(), errors))
        })
        .collect::<Vec<_>>();
    entries.sort_by_key(|(_, node)| node.key.start);
    entries
}
