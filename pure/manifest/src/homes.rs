// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Finds the table of a key that appears in another table: most often, a header is missing.

use crate::keys::ROOT;
use crate::spec::{Table, Type};

/// The tables of a type; all variants of a choice.
fn tables(kind: &'static Type) -> Vec<&'static Table> {
    match kind {
        Type::Table(table) | Type::Nested(table) => vec![table],
        Type::Choice(choice) => choice.variants.iter().map(|variant| variant.table).collect(),
        _ => Vec::new(),
    }
}

/// Whether a table of this type has such a key.
pub(crate) fn has_key(kind: &'static Type, name: &str) -> bool {
    tables(kind).iter().any(|table| table.keys.iter().any(|key| key.name == name))
}

/// The header of the only table of a manifest that has such a key; `None` if there is no such table, or several.
pub(crate) fn header_of(name: &str) -> Option<String> {
    let mut headers = ROOT.keys.iter().filter_map(|key| {
        let (inner, header): (&'static Type, _) = match &key.kind {
            Type::Map(_, inner) => (inner, format!("[{}.…]", key.name)),
            Type::List(inner) => (inner, format!("[[{}]]", key.name)),
            kind => (kind, format!("[{}]", key.name)),
        };
        has_key(inner, name).then_some(header)
    });
    let only = headers.next()?;
    headers.next().is_none().then_some(only)
}

/// The manifest's key with which a header begins.
pub(crate) fn table_of(header: &str) -> Option<String> {
    let name = header.trim_matches(['[', ']']).split('.').next()?;
    (!name.is_empty()).then(|| name.to_owned())
}
