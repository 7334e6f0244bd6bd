// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Rust's names for what a manifest names.

use std::collections::HashSet;

/// The keywords of Rust, in use and reserved, in any edition.
pub const KEYWORDS: &[&str] = &[
    "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "crate", "do", "dyn",
    "else", "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in", "let", "loop",
    "macro", "match", "mod", "move", "mut", "override", "priv", "pub", "ref", "return", "self", "static",
    "struct", "super", "trait", "true", "try", "type", "typeof", "unsafe", "unsized", "use", "virtual",
    "where", "while", "yield",
];

/// The words that are no names even in their raw form.
pub(crate) const NEVER_NAMES: &[&str] = &["crate", "self", "super", "Self"];

/// The name of a field or a module: `-` becomes `_`, and a keyword is raw, or has a `_` at its end if it cannot be raw.
pub(crate) fn value_name(name: &str) -> String {
    match name {
        _ if NEVER_NAMES.contains(&name) => format!("{name}_"),
        _ if KEYWORDS.contains(&name) => format!("r#{name}"),
        _ => name.replace('-', "_"),
    }
}

/// The name of a type or a trait: each part begins with a capital letter, and there is no `-`.
pub(crate) fn type_name(name: &str) -> String {
    let capital = |part: &str| {
        let mut letters = part.chars();
        letters
            .next()
            .map(|first| first.to_ascii_uppercase().to_string() + letters.as_str())
            .unwrap_or_default()
    };
    let name: String = name.split('-').map(capital).collect();
    if NEVER_NAMES.contains(&name.as_str()) { name + "_" } else { name }
}

/// The names of one namespace, each once.
pub(crate) struct Names(HashSet<String>);

impl Names {
    /// A namespace that has these names already.
    pub(crate) fn with(names: &[&str]) -> Self {
        Self(names.iter().map(|name| (*name).to_owned()).collect())
    }

    /// Adds a name; one that is taken gets a number.
    pub(crate) fn add(&mut self, name: String) -> String {
        let numbered = |number: u32| if number == 1 { name.clone() } else { format!("{name}_{number}") };
        let free = (1..).map(numbered).find(|name| !self.0.contains(name)).unwrap_or(name.clone());
        self.0.insert(free.clone());
        free
    }

    /// Adds the names of a list, in its order.
    pub(crate) fn add_all(&mut self, names: impl Iterator<Item = String>) -> Vec<String> {
        names.map(|name| self.add(name)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_rust() {
        for (name, value, kind) in [
            ("log", "log", "Log"),
            ("key-words", "key_words", "KeyWords"),
            ("x-1", "x_1", "X1"),
            ("match", "r#match", "Match"),
            ("gen", "r#gen", "Gen"),
            ("self", "self_", "Self_"),
            ("crate", "crate_", "Crate"),
            ("Key_Words", "Key_Words", "Key_Words"),
        ] {
            assert_eq!((value_name(name).as_str(), type_name(name).as_str()), (value, kind));
        }
    }

    #[test]
    fn two_names_never_become_one() {
        let mut names = Names::with(&["Io"]);
        let list = ["X1", "X1", "X1_2", "Io", "X1"].map(str::to_owned);
        assert_eq!(names.add_all(list.into_iter()), ["X1", "X1_2", "X1_2_2", "Io_2", "X1_3"]);
    }
}
