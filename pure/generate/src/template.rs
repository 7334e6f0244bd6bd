// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Texts with places to fill: the files in `templates`, which show generated text as it will be.

/// Fills the places of a template, `${name}`, with the values of these names; a value is taken as it is, with whatever it
/// contains. A line that is a place alone, with any indentation, becomes the lines of its value, which bring their own.
///
/// # Panics
///
/// A place has no value: the template and its caller do not fit, whatever the manifest.
pub fn fill(template: &str, values: &[(&str, &str)]) -> String {
    let mut text = String::with_capacity(template.len());
    for line in template.split_inclusive('\n') {
        match sole_place(line) {
            Some(name) => text.push_str(value(values, name)),
            None => fill_line(line, values, &mut text),
        }
    }
    text
}

/// The place of which a line consists.
fn sole_place(line: &str) -> Option<&str> {
    let name = line.trim().strip_prefix("${")?.strip_suffix('}')?;
    (!name.contains('}')).then_some(name)
}

fn fill_line(mut rest: &str, values: &[(&str, &str)], text: &mut String) {
    while let Some((before, after)) = rest.split_once("${") {
        text.push_str(before);
        let Some((name, behind)) = after.split_once('}') else { unreachable!("`${{` without its end") };
        text.push_str(value(values, name));
        rest = behind;
    }
    text.push_str(rest);
}

fn value<'v>(values: &[(&str, &'v str)], name: &str) -> &'v str {
    let found = values.iter().find(|(own, _)| *own == name);
    let Some((_, value)) = found else { unreachable!("the template's place `{name}` has no value") };
    value
}

#[cfg(test)]
mod tests {
    use super::fill;

    #[test]
    fn places_become_values() {
        let values = [("a", "1"), ("b", "2")];
        assert_eq!(fill("x ${a}${b} { ${a} }\n", &values), "x 12 { 1 }\n");
    }

    #[test]
    fn a_place_alone_becomes_lines() {
        assert_eq!(fill("{\n    ${all}\n}\n", &[("all", "  one\n  two\n")]), "{\n  one\n  two\n}\n");
        assert_eq!(fill("{\n    ${all}\n}\n", &[("all", "")]), "{\n}\n");
    }

    #[test]
    fn a_value_is_no_template() {
        assert_eq!(fill("${a} ${b}", &[("a", "${b}"), ("b", "2")]), "${b} 2");
    }

    #[test]
    #[should_panic(expected = "`c` has no value")]
    fn every_place_has_a_value() {
        let _ = fill("${c}", &[("a", "1")]);
    }
}
