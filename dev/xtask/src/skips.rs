// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! A test that returns early must print that it was skipped.
//!
//! Rust's test harness counts a test that returns as passed, whatever the test did. So a test that lacks something must
//! print `skipped: what it lacks` before it returns. [`tally::left_out`](crate::tally::left_out) counts these tests.

use crate::absence::source::{Texts, code};
use crate::tally::{ENTRY, SKIPPED};
use crate::tree::{Finding, Tree, has_extension};

/// The rule over all sources.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let ours = |path: &str| has_extension(path, &["rs"]) && !path.starts_with("dev/xtask/");
    tree.files(ours).iter().flat_map(|path| check_source(path, &tree.read(path))).collect()
}

fn check_source(path: &str, source: &str) -> Vec<Finding> {
    // With one byte per character, a position is the same in `code` and `blank`.
    let source: String = source.chars().map(|c| if c.is_ascii() { c } else { '?' }).collect();
    let (code, blank) = (code(&source, Texts::Keep), code(&source, Texts::Blank));
    let line = |at: usize| code[..at].matches('\n').count() + 1;
    let mut findings = Vec::new();
    for (attribute, words) in blank.match_indices("#[test]") {
        let Some(open) = blank[attribute + words.len()..].find('{') else { continue };
        for at in silent_returns(&code, &blank, attribute + words.len() + open) {
            let message = "a test returns and counts as passed: print `skipped: what it lacks` first";
            findings.push(Finding::at(path, line(at), message));
        }
    }
    // In test code, the word may stand only at the beginning of a printed line.
    let tests = if path.contains("/tests/") || path.contains("src/tests") {
        Some(0)
    } else {
        blank.find("#[cfg(test)]")
    };
    for (at, print) in tests.into_iter().flat_map(|from| prints(&code, from)) {
        let word = SKIPPED.trim_end_matches([' ', ':']);
        if print.contains(word) && !print.starts_with(SKIPPED) {
            let message = format!("`{word}` is counted at the beginning of a line: print `{SKIPPED}...`");
            findings.push(Finding::at(path, line(at), message));
        }
    }
    findings
}

/// The texts that `println!` prints in the code from position `from` on, with the position of each.
fn prints(code: &str, from: usize) -> impl Iterator<Item = (usize, &str)> {
    code[from..].match_indices("println!(\"").map(move |(at, words)| {
        let begin = from + at + words.len();
        (begin, code[begin..].split('"').next().unwrap_or_default())
    })
}

/// The position of each `return` of `()` in the function whose body opens at `open`, if the block around it prints
/// neither [`SKIPPED`] nor [`ENTRY`]. A `return` in a closure or an inner function does not end the test and is left
/// out.
fn silent_returns(code: &str, blank: &str, open: usize) -> Vec<usize> {
    let bytes = blank.as_bytes();
    // Each open block: where it begins, and whether it belongs to a closure or an inner function.
    let mut blocks: Vec<(usize, bool)> = Vec::new();
    let mut found = Vec::new();
    let mut at = open;
    while at < bytes.len() {
        match bytes[at] {
            b'{' => {
                let before = blank[..at].trim_end();
                let head = before.rsplit([';', '{', '}']).next().unwrap_or_default();
                let apart = before.ends_with('|') || head.contains("fn ") && at != open;
                let inherited = blocks.last().is_some_and(|block| block.1);
                blocks.push((at, apart || inherited));
            }
            b'}' => {
                blocks.pop();
                if blocks.is_empty() {
                    break;
                }
            }
            b'r' if is_return(blank, at) && blocks.last().is_some_and(|block| !block.1) => {
                let begin = blocks.last().map_or(open, |block| block.0);
                let rest = &blank[at + "return".len()..];
                let end = at + "return".len() + rest.find([';', '}']).unwrap_or(rest.len());
                let value = blank[at + "return".len()..end].trim();
                let nothing = value.is_empty() || value.starts_with("assert") || value.contains("println!");
                let said = &code[begin..end];
                let in_closure = blank[begin..at].trim_end().ends_with('|');
                let counted = [SKIPPED, ENTRY].iter().any(|word| said.contains(&format!("\"{word}")));
                if nothing && !counted && !in_closure {
                    found.push(at);
                }
            }
            _ => {}
        }
        at += 1;
    }
    found
}

fn is_return(code: &str, at: usize) -> bool {
    let part_of_word = |c: char| c.is_alphanumeric() || c == '_';
    code[at..].starts_with("return")
        && !code[..at].ends_with(part_of_word)
        && !code[at + "return".len()..].starts_with(part_of_word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(source: &str) -> Vec<usize> {
        check_source("live/x/tests/a.rs", source).iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn a_test_that_returns_says_so() {
        let test =
            |body: &str| format!("#[test]\nfn a() {{\n    if lacks() {{\n        {body}\n    }}\n}}\n");
        for silent in ["return;", "return", "return assert!(true);", "println!(\"no root\");\nreturn;"] {
            assert_eq!(lines(&test(silent)).len(), 1, "{silent}");
        }
        for good in [
            "println!(\"skipped: {why}\");\n return;",
            "return println!(\"skipped: no root\");",
            "return println!(\"no test: for others\");",
            "return the_other_half();",
            "thing.map(|x| { if x { return; } });",
            "fn inner() { return; }",
            "// return;",
        ] {
            assert_eq!(lines(&test(good)), [0; 0], "{good}");
        }
        assert_eq!(lines(&test("let Some(x) = y else { return };")), [4]);
        assert_eq!(lines("fn no_test() { return; }"), [0; 0]);
        // A print in the outer block does not count for the inner block.
        let outside = "println!(\"skipped: {why}\");\n if other {\n return;\n }";
        assert_eq!(lines(&test(outside)), [6]);
    }

    #[test]
    fn the_word_stands_at_the_beginning() {
        assert_eq!(lines("fn a() {\n    println!(\"strict runs are skipped: {why}\");\n}"), [2]);
        assert_eq!(lines("fn a() {\n    eprintln!(\"skipped: {why}\");\n}"), [0; 0]);
        assert_eq!(check_source("live/x/src/a.rs", "fn a() { println!(\"was skipped\"); }"), []);
        let within = "fn a() {}\n#[cfg(test)]\nmod tests {\n    fn b() { println!(\"is skipped\"); }\n}";
        assert_eq!(check_source("live/x/src/a.rs", within).len(), 1);
    }
}
