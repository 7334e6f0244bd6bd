// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Tables and values of a generator file, and the faults of a single key or value.

use std::borrow::Cow;
use std::ops::{Range, RangeInclusive};

use taut_model::{codes, nearest};
use taut_time::Duration;
use toml::de::{DeTable, DeValue};

use crate::fault::Faults;
use crate::quantity;

/// A value with its place.
pub(crate) struct Value<'t> {
    /// Its key, for messages.
    pub(crate) name: String,
    pub(crate) span: Range<usize>,
    pub(crate) value: DeValue<'t>,
}

struct Entry<'t> {
    key: Cow<'t, str>,
    at: Range<usize>,
    value: Option<Value<'t>>,
}

/// A table from which a caller reads keys one by one; [`Table::finish`] reports the keys that no caller asked for.
pub(crate) struct Table<'t> {
    /// As written in the file: `[tasks]`.
    name: String,
    span: Range<usize>,
    entries: Vec<Entry<'t>>,
    asked: Vec<&'static str>,
    missing: Vec<&'static str>,
}

/// Parses the text as a table; `None` if the text is not TOML.
pub(crate) fn document<'t>(text: &'t str, faults: &mut Faults<'t>) -> Option<Table<'t>> {
    let (table, errors) = DeTable::parse_recoverable(text);
    let mut line_before = None;
    for error in &errors {
        let at = error.span().unwrap_or(text.len()..text.len());
        let line = text.get(..at.start).map(|before| before.matches('\n').count());
        // Reports one fault per line: a second one usually follows from the first.
        if line_before != Some(line) {
            faults.add::<()>(codes::SYNTAX, &at, error.message(), "here", None);
        }
        line_before = Some(line);
    }
    errors.is_empty().then(|| Table::new("this file".into(), 0..0, table.into_inner()))
}

impl<'t> Table<'t> {
    fn new(name: String, span: Range<usize>, table: DeTable<'t>) -> Self {
        let entries = table.into_iter().map(|(key, value)| {
            let (at, span) = (key.span(), value.span());
            let key = key.into_inner();
            let value = Value { name: key.to_string(), span, value: value.into_inner() };
            Entry { key, at, value: Some(value) }
        });
        let mut entries: Vec<_> = entries.collect();
        entries.sort_by_key(|entry| entry.at.start);
        Self { name, span, entries, asked: Vec::new(), missing: Vec::new() }
    }

    /// Reads an optional key.
    pub(crate) fn may<T>(
        &mut self,
        key: &'static str,
        faults: &mut Faults<'_>,
        read: impl FnOnce(Value<'t>, &mut Faults<'_>) -> Option<T>,
    ) -> Option<T> {
        self.asked.push(key);
        let value = self.entries.iter_mut().find(|entry| entry.key == key)?.value.take()?;
        read(value, faults)
    }

    /// Reads a required key.
    pub(crate) fn must<T>(
        &mut self,
        key: &'static str,
        faults: &mut Faults<'_>,
        read: impl FnOnce(Value<'t>, &mut Faults<'_>) -> Option<T>,
    ) -> Option<T> {
        if !self.has(key) {
            self.missing.push(key);
        }
        self.may(key, faults, read)
    }

    /// Whether a key exists.
    pub(crate) fn has(&self, key: &str) -> bool {
        self.entries.iter().any(|entry| entry.key == key)
    }

    /// All entries, of any key: for tables whose keys are names.
    pub(crate) fn all(self) -> impl Iterator<Item = (Cow<'t, str>, Range<usize>, Value<'t>)> {
        self.entries.into_iter().filter_map(|entry| Some((entry.key, entry.at, entry.value?)))
    }

    /// Reports unknown keys and missing keys.
    pub(crate) fn finish(self, faults: &mut Faults<'_>) {
        let mut meant = Vec::new();
        for entry in self.entries.iter().filter(|entry| entry.value.is_some()) {
            let nearest = nearest(&entry.key, self.asked.iter().copied().filter(|key| !self.has(key)));
            meant.extend(nearest);
            let help = match nearest {
                Some(key) => format!("did you mean `{key}`?"),
                None => format!("the keys of {} are {}", self.name, self.asked.join(", ")),
            };
            let message = format!("{} has no key `{}`", self.name, entry.key.escape_debug());
            faults.add::<()>(codes::UNKNOWN_KEY, &entry.at, message, "unknown", Some(help));
        }
        for key in self.missing.iter().filter(|key| !meant.contains(key)) {
            let message = format!("{} has no `{key}`", self.name);
            faults.add::<()>(codes::MISSING_KEY, &self.span, message, format!("`{key}` is missing"), None);
        }
    }
}

impl<'t> Value<'t> {
    fn wrong<T>(&self, faults: &mut Faults<'_>, wanted: &str) -> Option<T> {
        let is = match &self.value {
            DeValue::String(_) => "a text",
            DeValue::Integer(_) => "a number",
            DeValue::Float(_) => "a number with a point",
            DeValue::Boolean(_) => "true or false",
            DeValue::Datetime(_) => "a date or time",
            DeValue::Array(_) => "a list",
            DeValue::Table(_) => "a table",
        };
        let message = format!("`{}` must be {wanted}, not {is}", self.name.escape_debug());
        faults.add(codes::WRONG_TYPE, &self.span, message, format!("not {wanted}"), None)
    }

    fn out_of_range<T>(&self, faults: &mut Faults<'_>, least: &str, most: &str) -> Option<T> {
        let message = format!("`{}` is out of range", self.name.escape_debug());
        faults.add(codes::OUT_OF_RANGE, &self.span, message, format!("{least} to {most}"), None)
    }

    pub(crate) fn table(self, faults: &mut Faults<'_>) -> Option<Table<'t>> {
        match self.value {
            DeValue::Table(table) => Some(Table::new(format!("`{}`", self.name), self.span, table)),
            _ => self.wrong(faults, "a table"),
        }
    }

    pub(crate) fn truth(self, faults: &mut Faults<'_>) -> Option<bool> {
        match self.value {
            DeValue::Boolean(truth) => Some(truth),
            _ => self.wrong(faults, "true or false"),
        }
    }

    pub(crate) fn integer(self, within: RangeInclusive<u64>, faults: &mut Faults<'_>) -> Option<u64> {
        let DeValue::Integer(number) = &self.value else { return self.wrong(faults, "a whole number") };
        let number = i128::from_str_radix(number.as_str(), number.radix()).ok();
        match number.and_then(|number| u64::try_from(number).ok()).filter(|number| within.contains(number)) {
            Some(number) => Some(number),
            None => self.out_of_range(faults, &within.start().to_string(), &within.end().to_string()),
        }
    }

    /// One of a few words.
    pub(crate) fn word<T: Copy>(self, words: &[(&str, T)], faults: &mut Faults<'_>) -> Option<T> {
        let DeValue::String(text) = &self.value else { return self.wrong(faults, "a text") };
        if let Some((_, meant)) = words.iter().find(|(word, _)| word == text) {
            return Some(*meant);
        }
        let all: Vec<_> = words.iter().map(|(word, _)| format!("\"{word}\"")).collect();
        let message = format!("`{}` is not \"{}\"", self.name.escape_debug(), text.escape_debug());
        faults.add(codes::UNKNOWN_WORD, &self.span, message, format!("{} fit here", all.join(", ")), None)
    }

    /// A time in ns, within a range.
    pub(crate) fn time(self, within: RangeInclusive<u64>, faults: &mut Faults<'_>) -> Option<u64> {
        let DeValue::String(text) = &self.value else {
            return self.wrong(faults, "a duration in quotes, as in \"5ms\"");
        };
        let time = quantity::time(text, &self.span, faults)?;
        if within.contains(&time) {
            return Some(time);
        }
        let reported = |ns: &u64| Duration::from_ns(*ns).to_string();
        self.out_of_range(faults, &reported(within.start()), &reported(within.end()))
    }

    /// A size in bytes, at most 2³².
    pub(crate) fn size(self, faults: &mut Faults<'_>) -> Option<u64> {
        match &self.value {
            DeValue::String(text) => quantity::size(text, &self.span, faults),
            _ => self.wrong(faults, "a size in quotes, as in \"64B\""),
        }
    }

    /// A percentage in millionths of the whole, at most 100 %.
    pub(crate) fn percent(self, faults: &mut Faults<'_>) -> Option<u64> {
        let DeValue::String(text) = &self.value else {
            return self.wrong(faults, "a percentage in quotes, as in \"40%\"");
        };
        match quantity::percent(text) {
            Ok(millionths) => Some(millionths),
            Err(why) => {
                let message = format!("\"{}\" is not a percentage", text.escape_debug());
                faults.add(codes::BAD_PERCENT, &self.span, message, why, Some("as in \"12.5%\"".into()))
            }
        }
    }

    /// `[low, high]`, or one value for both.
    pub(crate) fn range(
        self,
        faults: &mut Faults<'_>,
        read: impl Fn(Self, &mut Faults<'_>) -> Option<u64>,
    ) -> Option<(u64, u64)> {
        let (span, name) = (self.span.clone(), self.name.clone());
        if !matches!(self.value, DeValue::Array(_)) {
            let both = read(self, faults)?;
            return Some((both, both));
        }
        let items = self.items(faults)?;
        let count = items.len();
        let read: Vec<_> = items.into_iter().map(|item| read(item, faults)).collect();
        match read[..] {
            [Some(low), Some(high)] if low <= high => Some((low, high)),
            [None, _] | [_, None] => None,
            _ => {
                let message = format!("`{}` must be a least and a greatest value", name.escape_debug());
                let label = if count == 2 { "the first is more than the second" } else { "not two values" };
                faults.add(codes::OUT_OF_RANGE, &span, message, label, Some("as in [4, 20]".into()))
            }
        }
    }

    fn items(self, faults: &mut Faults<'_>) -> Option<Vec<Self>> {
        let DeValue::Array(list) = self.value else { return self.wrong(faults, "a list") };
        let item = |item: toml::Spanned<DeValue<'t>>| {
            let span = item.span();
            Self { name: self.name.clone(), span, value: item.into_inner() }
        };
        Some(list.into_iter().map(item).collect())
    }

    /// Values with weights: `{ "1B" = 30, "4B" = 70 }`; a list whose values are equally likely; or one value.
    pub(crate) fn weighted(
        self,
        faults: &mut Faults<'_>,
        read: impl Fn(Self, &mut Faults<'_>) -> Option<u64>,
        name: impl Fn(&str, &Range<usize>, &mut Faults<'_>) -> Option<u64>,
    ) -> Option<Vec<(u64, u64)>> {
        let (span, key) = (self.span.clone(), self.name.clone());
        let values: Vec<Option<(u64, u64)>> = match &self.value {
            DeValue::Table(_) => {
                let mut values = Vec::new();
                for (text, at, weight) in self.table(faults)?.all() {
                    let value = name(&text, &at, faults);
                    let weight = weight.integer(0..=1_000_000, faults);
                    values.push(weight.zip(value));
                }
                values
            }
            DeValue::Array(_) => {
                let items = self.items(faults)?.into_iter();
                items.map(|item| Some((1, read(item, faults)?))).collect()
            }
            _ => vec![Some((1, read(self, faults)?))],
        };
        let values: Vec<(u64, u64)> = values.into_iter().collect::<Option<_>>()?;
        if values.iter().all(|(weight, _)| *weight == 0) {
            let message = format!("`{}` has no value to draw", key.escape_debug());
            return faults.add(codes::OUT_OF_RANGE, &span, message, "nothing to draw from", None);
        }
        Some(values)
    }
}
