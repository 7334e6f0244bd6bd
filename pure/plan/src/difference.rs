// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use toml::{Table, Value};

use crate::Plan;

impl Plan {
    /// The differences from this plan to `newer`, one per line: `tasks.processing.priority: 70 -> 72`. Empty if they
    /// are equal.
    ///
    /// The texts that the plans were made from are left out: see [`Plan::changed_inputs`].
    pub fn differences(&self, newer: &Self) -> Vec<String> {
        let table = |plan: &Self| Table::try_from(plan).unwrap_or_default();
        let (mut old, mut new) = (table(self), table(newer));
        old.remove("inputs");
        new.remove("inputs");
        let mut lines = Vec::new();
        tables("", &old, &new, &mut lines);
        lines
    }
}

fn tables(path: &str, old: &Table, new: &Table, lines: &mut Vec<String>) {
    for (key, value) in old {
        let path = join(path, key);
        match new.get(key) {
            Some(newer) => values(&path, value, newer, lines),
            None => lines.push(format!("{path}: {} -> none", short(value))),
        }
    }
    for (key, value) in new.iter().filter(|(key, _)| !old.contains_key(*key)) {
        lines.push(format!("{}: none -> {}", join(path, key), short(value)));
    }
}

fn values(path: &str, old: &Value, new: &Value, lines: &mut Vec<String>) {
    match (old, new) {
        _ if old == new => {}
        (Value::Table(old), Value::Table(new)) => tables(path, old, new, lines),
        (Value::Array(old), Value::Array(new)) if named(old) && named(new) => {
            named_lists(path, old, new, lines);
        }
        // A list of unnamed tables counts as one value.
        (Value::Array(_), Value::Array(_)) if old.get(0).is_some_and(Value::is_table) => {
            lines.push(format!("{path}: changed"));
        }
        _ => lines.push(format!("{path}: {} -> {}", short(old), short(new))),
    }
}

/// Whether each item of a list has a name of its own.
fn named(list: &[Value]) -> bool {
    let names: Vec<_> = list.iter().map(name).collect();
    names.iter().enumerate().all(|(at, name)| name.is_some() && !names[..at].contains(name))
}

fn name(item: &Value) -> Option<String> {
    let table = item.as_table()?;
    // A step of a chain has a name as well, but its position in the list identifies it.
    if table.contains_key("adds") {
        return None;
    }
    let key = table.get("name").or_else(|| table.get("cpu"))?;
    Some(key.as_str().map_or_else(|| key.to_string(), str::to_owned))
}

fn named_lists(path: &str, old: &[Value], new: &[Value], lines: &mut Vec<String>) {
    for item in old {
        let Some(name) = name(item) else { continue };
        let path = join(path, &name);
        match new.iter().find(|newer| self::name(newer).as_deref() == Some(&name)) {
            Some(newer) => values(&path, item, newer, lines),
            None => lines.push(format!("{path}: removed")),
        }
    }
    for item in new {
        let Some(name) = name(item) else { continue };
        if !old.iter().any(|older| self::name(older).as_deref() == Some(&name)) {
            lines.push(format!("{}: added", join(path, &name)));
        }
    }
    let order = |list: &[Value]| list.iter().filter_map(name).collect::<Vec<_>>();
    let (before, after) = (order(old), order(new));
    let kept = |list: &[String], other: &[String]| {
        list.iter().filter(|name| other.contains(name)).cloned().collect::<Vec<_>>()
    };
    if kept(&before, &after) != kept(&after, &before) {
        lines.push(format!("{path}: in another order"));
    }
}

fn join(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}

fn short(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn differences(old: &str, new: &str) -> Vec<String> {
        let table = |text: &str| text.parse::<Table>().expect("TOML");
        let mut lines = Vec::new();
        tables("", &table(old), &table(new), &mut lines);
        lines
    }

    #[test]
    fn what_has_names_is_told_one_by_one() {
        let old = "x = [{ name = 'a', y = 1 }, { cpu = 3, y = 1 }]";
        assert_eq!(differences(old, &old.replacen("y = 1", "y = 2", 1)), ["x.a.y: 1 -> 2"]);
        assert_eq!(
            differences(old, "x = [{ cpu = 3, y = 2 }, { name = 'b' }]"),
            ["x.a: removed", "x.3.y: 1 -> 2", "x.b: added"]
        );
        assert_eq!(
            differences("x = [{ name = 'a' }, { name = 'b' }]", "x = [{ name = 'b' }, { name = 'a' }]"),
            ["x: in another order"]
        );
    }

    #[test]
    fn what_has_none_is_told_as_a_whole() {
        assert_eq!(differences("x = [1, 2]", "x = [1, 3]"), ["x: [1, 2] -> [1, 3]"]);
        assert_eq!(differences("x = [{ y = 1 }]", "x = [{ y = 2 }]"), ["x: changed"]);
        // A step of a chain has a position, and its name does not say which.
        assert_eq!(
            differences("x = [{ name = 'a', adds = 'b' }]", "x = [{ name = 'a', adds = 'c' }]"),
            ["x: changed"]
        );
        // On either side, a name that occurs twice, or that is missing.
        let (one, twice) = ("x = [{ name = 'a' }]", "x = [{ name = 'a' }, { name = 'a', y = 1 }]");
        assert_eq!(differences(one, twice), ["x: changed"]);
        assert_eq!(differences(twice, one), ["x: changed"]);
        assert_eq!(differences(one, "x = [{ name = 'a' }, { y = 1 }]"), ["x: changed"]);
    }
}
