// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Pages: templates whose placeholders a run fills in.

use std::collections::BTreeMap;

/// The values of a page's placeholders, by name.
#[derive(Clone, Debug, Default)]
pub(crate) struct Values(BTreeMap<String, String>);

impl Values {
    /// Sets the value of a placeholder.
    pub(crate) fn set(&mut self, name: &str, value: impl ToString) {
        self.0.insert(name.to_owned(), value.to_string());
    }

    /// The page, with `{{name}}` replaced everywhere.
    ///
    /// # Errors
    /// A placeholder has no value, or a value has no placeholder.
    pub(crate) fn fill(&self, page: &str) -> Result<String, String> {
        let (mut filled, mut rest) = (String::new(), page);
        let mut unused: Vec<&str> = self.0.keys().map(String::as_str).collect();
        let mut missing = Vec::new();
        while let Some((before, (name, after))) =
            rest.split_once("{{").and_then(|(before, after)| Some((before, after.split_once("}}")?)))
        {
            filled += before;
            match self.0.get(name) {
                Some(value) => filled += value,
                None => missing.push(name),
            }
            unused.retain(|known| *known != name);
            rest = after;
        }
        if missing.is_empty() && unused.is_empty() {
            return Ok(filled + rest);
        }
        Err(format!("no value for {missing:?}, no place for {unused:?}"))
    }
}

/// A table: the first row heads it; the first column is text, the others are numbers.
pub(crate) fn table(rows: &[Vec<String>]) -> String {
    let mut text = String::new();
    for (at, row) in rows.iter().enumerate() {
        text += &format!("| {} |\n", row.join(" | "));
        if at == 0 {
            text += &format!("|---|{}\n", "---:|".repeat(row.len().saturating_sub(1)));
        }
    }
    text.pop();
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_has_its_value() {
        let mut values = Values::default();
        values.set("a", 1);
        assert_eq!(values.fill("{{a}} and {{a}}"), Ok("1 and 1".into()));
        let said = values.fill("{{b}}").expect_err("b is not known");
        assert!(said.contains("[\"b\"]") && said.contains("[\"a\"]"), "{said}");
    }

    #[test]
    fn tables_have_a_head() {
        let rows = [vec!["x".to_owned(), "y".to_owned()], vec!["1".to_owned(), "2".to_owned()]];
        assert_eq!(table(&rows), "| x | y |\n|---|---:|\n| 1 | 2 |");
    }
}
