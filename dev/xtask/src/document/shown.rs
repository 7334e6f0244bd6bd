// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! `docs/rtdroid.md` names a test for each row that says that something is there, and each test exists.

use crate::tree::Tree;

const PAGE: &str = "docs/rtdroid.md";
const ABSENT: &str = "not yet";

/// The rows of tables, without their heads: the cells of each, and its line.
fn rows(text: &str) -> Vec<(usize, Vec<&str>)> {
    let lines: Vec<&str> = text.lines().collect();
    let is_head = |at: usize| lines.get(at + 1).is_some_and(|next| next.starts_with("|---"));
    let is_row = |at: usize| lines[at].starts_with("| ") && !is_head(at);
    let split = |at: usize| {
        let line = lines[at].trim_end().trim_start_matches('|').trim_end_matches('|');
        (at + 1, line.split(" | ").map(str::trim).collect())
    };
    (0..lines.len()).filter(|at| is_row(*at)).map(split).collect()
}

/// What is wrong with a row. `has` says whether a file has a test.
fn fault(cells: &[&str], has: impl Fn(&str, &str) -> bool) -> Option<String> {
    let [.., says, shown] = cells else { return Some("it has no column of tests".into()) };
    let tests: Vec<&str> = shown.split('`').skip(1).step_by(2).collect();
    if tests.is_empty() {
        return (*shown != "-" || !says.contains(ABSENT))
            .then(|| format!("it names no test, and does not say `{ABSENT}`"));
    }
    let missing =
        tests.into_iter().find(|test| !test.split_once(": ").is_some_and(|(file, name)| has(file, name)));
    missing.map(|test| format!("there is no test `{test}`"))
}

/// Whether a text of Rust has a test function, or an example that must not compile.
fn has_test(text: &str, name: &str) -> bool {
    match name {
        "compile_fail" => text.contains("```compile_fail"),
        name => text.split("#[test]").skip(1).any(|rest| {
            let head = rest.split('{').next().unwrap_or_default();
            head.contains(&format!("fn {name}("))
        }),
    }
}

#[test]
fn each_row_names_tests_that_exist() {
    let tree = Tree::here().unwrap();
    let page = tree.read(PAGE);
    let rows = rows(&page);
    assert!(rows.len() > 40, "{}", rows.len());
    let has = |file: &str, name: &str| has_test(&tree.read(file), name);
    let faults =
        rows.iter().filter_map(|(line, cells)| Some(format!("{PAGE}:{line}: {}", fault(cells, has)?)));
    let faults: Vec<String> = faults.collect();
    assert!(faults.is_empty(), "{faults:#?}");
}

#[test]
fn rows_that_show_nothing_are_found() {
    let text = "| a | b | shown by |\n|---|---|---|\n| x | it is there | `a.rs: works` |\n| y | absent: not yet | - |\n";
    let rows = rows(text);
    assert_eq!(rows.iter().map(|(line, cells)| (*line, cells.len())).collect::<Vec<_>>(), [(3, 3), (4, 3)]);
    let code = "#[test]\n#[ignore]\nfn works() {}\nfn helps() {}\n/// ```compile_fail\n";
    let has = |file: &str, name: &str| file == "a.rs" && has_test(code, name);
    let of = |says: &str, shown: &str| fault(&["x", says, shown], has);
    assert_eq!(of("there", "`a.rs: works`, `a.rs: compile_fail`"), None);
    assert_eq!(of("not yet", "-"), None);
    for (says, shown) in [
        ("there", "-"),
        ("there", ""),
        ("not yet", ""),
        ("there", "`a.rs: helps`"),
        ("there", "`b.rs: works`"),
        ("there", "`works`"),
    ] {
        assert!(of(says, shown).is_some(), "{says} {shown}");
    }
    assert!(fault(&["x"], has).is_some());
}
