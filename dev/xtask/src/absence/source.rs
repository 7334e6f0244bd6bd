// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Removes from Rust source what a rule must ignore: comments, string literals, and code that is compiled only for
//! tests.
//!
//! This is not a parser. Spaces replace what is removed, so lines and columns stay the same.

/// Whether the content of string literals is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Texts {
    /// It is blanked: for a rule about code.
    Blank,
    /// It is kept: for a rule about the texts that a program prints or the paths that it opens.
    Keep,
}

/// The source with comments and character literals blanked, and string literals too unless `texts` keeps them.
pub(crate) fn code(source: &str, texts: Texts) -> String {
    let chars: Vec<char> = source.chars().collect();
    let mut out = chars.clone();
    let mut blank = |from: usize, to: usize| {
        for c in &mut out[from..to] {
            if *c != '\n' {
                *c = ' ';
            }
        }
    };
    let mut at = 0;
    while at < chars.len() {
        let here = &chars[at..];
        let word_before = at > 0 && is_word(chars[at - 1]);
        if here.starts_with(&['/', '/']) {
            let end = at + here.iter().position(|&c| c == '\n').unwrap_or(here.len());
            blank(at, end);
            at = end;
        } else if here.starts_with(&['/', '*']) {
            let end = at + block_comment(here);
            blank(at, end);
            at = end;
        } else if let Some((open, close, length)) = (!word_before).then(|| raw_text(here)).flatten() {
            if texts == Texts::Blank {
                blank(at + open, at + close);
            }
            at += length;
        } else if here[0] == '"' {
            let length = quoted(here, '"');
            if texts == Texts::Blank {
                blank(at + 1, (at + length).saturating_sub(1).max(at + 1));
            }
            at += length;
        } else if here[0] == '\'' && is_char_literal(here) {
            let length = quoted(here, '\'');
            blank(at + 1, (at + length).saturating_sub(1).max(at + 1));
            at += length;
        } else {
            at += 1;
        }
    }
    out.into_iter().collect()
}

/// The shipped source: [`code`] without the items under `#[cfg(test)]` or `#[cfg(all(test, ...))]`.
pub(crate) fn shipped(source: &str, texts: Texts) -> String {
    // Count brackets with blank string literals, so that a brace in a literal does not count.
    let skeleton: Vec<char> = code(source, Texts::Blank).chars().collect();
    let mut out: Vec<char> = code(source, texts).chars().collect();
    let mut at = 0;
    while at < skeleton.len() {
        let Some(length) = test_attribute(&skeleton[at..]) else {
            at += 1;
            continue;
        };
        let end = at + length + item(&skeleton[at + length..]);
        for c in &mut out[at..end] {
            if *c != '\n' {
                *c = ' ';
            }
        }
        at = end;
    }
    out.into_iter().collect()
}

/// The lines, from 1, in which `word` stands by itself: an identifier must not continue at either end of it. A `word`
/// may contain `::`, `!` or spaces.
pub(crate) fn lines_with(code: &str, word: &str) -> Vec<usize> {
    let mut lines = Vec::new();
    for (number, line) in code.lines().enumerate() {
        let hit = line.match_indices(word).any(|(at, _)| {
            let before = line[..at].chars().next_back();
            let after = line[at + word.len()..].chars().next();
            // After a quote, the word is a lifetime.
            let open = word.starts_with(is_word) && before.is_some_and(|c| is_word(c) || c == '\'');
            let goes_on = word.ends_with(is_word) && after.is_some_and(is_word);
            !open && !goes_on
        });
        if hit {
            lines.push(number + 1);
        }
    }
    lines
}

/// The modules that the code names directly below `root`, with their lines: `fs` and `io` in `use std::{fs, io::Read}`,
/// `fs` in `std::fs::read`.
pub(crate) fn modules_of(code: &str, root: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let path = format!("{root}::");
    for (at, _) in code.match_indices(&path) {
        if code[..at].chars().next_back().is_some_and(|c| is_word(c) || c == ':')
            && !code[..at].ends_with("::")
        {
            continue;
        }
        let line = |offset: usize| code[..offset].matches('\n').count() + 1;
        let rest = at + path.len();
        if !code[rest..].starts_with('{') {
            let name: String = code[rest..].chars().take_while(|&c| is_word(c)).collect();
            found.push((line(rest), name));
            continue;
        }
        let (mut depth, mut first) = (0_u32, false);
        for (offset, c) in code[rest..].char_indices() {
            match c {
                '{' => {
                    depth += 1;
                    first = depth == 1;
                }
                '}' => depth -= 1,
                ',' => first = depth == 1,
                c if first && is_word(c) => {
                    let name: String = code[rest + offset..].chars().take_while(|&c| is_word(c)).collect();
                    found.push((line(rest + offset), name));
                    first = false;
                }
                _ => {}
            }
            if depth == 0 {
                break;
            }
        }
    }
    found
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The length of a block comment, which may contain others.
fn block_comment(here: &[char]) -> usize {
    let (mut depth, mut at) = (0_u32, 0);
    while at < here.len() {
        match here[at..] {
            ['/', '*', ..] => (depth, at) = (depth + 1, at + 2),
            ['*', '/', ..] => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            break;
        }
    }
    at
}

/// The begin and end of the content of a raw string literal (`r"`, `br#"`, `cr##"`), and the length of the literal.
fn raw_text(here: &[char]) -> Option<(usize, usize, usize)> {
    let mut at = usize::from(matches!(here.first(), Some('b' | 'c')));
    if here.get(at) != Some(&'r') {
        return None;
    }
    at += 1;
    let hashes = here[at..].iter().take_while(|&&c| c == '#').count();
    at += hashes;
    if here.get(at) != Some(&'"') {
        return None;
    }
    let open = at + 1;
    let ends =
        |rest: &[char]| rest[0] == '"' && rest[1..].iter().take_while(|c| **c == '#').count() >= hashes;
    let close = (open..here.len()).find(|&i| ends(&here[i..])).unwrap_or(here.len());
    Some((open, close, (close + 1 + hashes).min(here.len())))
}

/// The length of a literal from quote to quote, with escapes.
fn quoted(here: &[char], quote: char) -> usize {
    let mut at = 1;
    while at < here.len() {
        match here[at] {
            '\\' => at += 2,
            c if c == quote => return at + 1,
            _ => at += 1,
        }
    }
    here.len()
}

/// Whether a single quote begins a character literal, not a lifetime.
fn is_char_literal(here: &[char]) -> bool {
    matches!(here, ['\'', '\\', ..] | ['\'', _, '\'', ..])
}

/// The length of an attribute that restricts the next item to tests.
fn test_attribute(here: &[char]) -> Option<usize> {
    let head: String = here.iter().take(64).filter(|c| !c.is_whitespace()).take(14).collect();
    let only_tests = head.starts_with("#[cfg(test)]") || head.starts_with("#[cfg(all(test");
    only_tests.then(|| here.iter().position(|&c| c == ']').map_or(here.len(), |at| at + 1))
}

/// The length of the item after an attribute: to its closing brace, or to a semicolon or comma before any brace.
fn item(here: &[char]) -> usize {
    let mut depth = 0_i32;
    for (at, c) in here.iter().enumerate() {
        match c {
            '{' | '(' | '[' => depth += 1,
            ')' | ']' => depth -= 1,
            '}' => {
                depth -= 1;
                if depth <= 0 {
                    return at + 1;
                }
            }
            ';' | ',' if depth == 0 => return at + 1,
            _ => {}
        }
    }
    here.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_go_and_lines_stay() {
        let source = "a // b\nc /* d /* e\n */ f */ g\n";
        let code = code(source, Texts::Blank);
        assert_eq!(code.split_whitespace().collect::<Vec<_>>(), ["a", "c", "g"]);
        assert_eq!(code.lines().count(), source.lines().count());
        assert_eq!(code.len(), source.len());
    }

    #[test]
    fn texts_are_not_code() {
        let source = r####"let a = "x \" // unsafe"; let b = r#"unsafe " y"#; let c = b"unsafe"; done"####;
        let blank = code(source, Texts::Blank);
        assert!(lines_with(&blank, "unsafe").is_empty(), "{blank}");
        assert_eq!(lines_with(&blank, "done"), [1]);
        assert_eq!(lines_with(&code(source, Texts::Keep), "unsafe"), [1]);
    }

    #[test]
    fn a_raw_text_without_hashes_ends_at_its_quote() {
        let blank = code(r#"f(r"unsafe"); unsafe {}"#, Texts::Blank);
        assert_eq!(blank, r#"f(r"      "); unsafe {}"#);
    }

    #[test]
    fn characters_and_lifetimes() {
        let source = "fn f<'a>(x: &'a str) { x.split('\"'); y('\\''); unsafe {} }";
        assert_eq!(lines_with(&code(source, Texts::Blank), "unsafe"), [1]);
    }

    #[test]
    fn tests_are_not_shipped() {
        let source = "\
use std::fs;
#[cfg(test)]
use std::net;
#[cfg(test)]
mod tests {
    use std::env;
    fn f() { let x = \"}\"; std::process::exit(0) }
}
#[cfg(all(test, not(loom)))]
mod more { use std::path; }
#[cfg(not(test))]
use std::thread;
";
        let modules = modules_of(&shipped(source, Texts::Blank), "std");
        assert_eq!(modules, [(1, "fs".to_owned()), (12, "thread".to_owned())]);
    }

    #[test]
    fn modules_of_a_group() {
        let source =
            "use std::{fmt, fs::{self, File}, io::Read};\nlet x = ::std::env::args();\nmystd::net::x();";
        let names = modules_of(source, "std");
        let wanted = [(1, "fmt"), (1, "fs"), (1, "io"), (2, "env")];
        assert_eq!(names, wanted.map(|(line, name)| (line, name.to_owned())));
    }

    #[test]
    fn words_stand_alone() {
        assert_eq!(lines_with("eprintln!()\nprintln!()\nmy_println!()", "println!"), [2]);
        assert_eq!(lines_with("static mut X\nstatic mutable\n&'static mut T", "static mut"), [1]);
    }
}
