// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Protocol files: their heads have the headings of the template and stay short, the rest of the template stands beside
//! the code, and labels mark both ends of each memory ordering.
//!
//! A head is the contract: who may call what, what it costs, what a death leaves behind. State and invariants stand
//! above the layout, the proof at the accesses, and what was checked at the end of the file: each in a comment that
//! begins with its heading, `// Proof: ...`. A file that needs a few lines for all of this may keep them in its head.
//!
//! A protocol file declares each pair in its head, `//! ... O1 publish: Release in write ↔ Acquire in read`, and
//! carries the label `// O1 publish` beside both accesses in the code. Grep then shows both ends of every pair. The
//! code may continue in the files of the folder of the same name, which have no such head.

use crate::absence::source::{Texts, lines_with, shipped};
use crate::tree::{Finding, Tree};

/// Path prefixes of protocol files. At least one protocol must stand below each.
const PROTOCOL_FOLDERS: &[&str] = &[
    "live/share/src/",
    "live/lock/src/event_count.rs",
    "live/lock/src/request_slot.rs",
    "live/lock/src/parker.rs",
    "live/lock/src/futex_mutex.rs",
    "live/lock/src/life.rs",
    "live/lock/src/preemption_control.rs",
    "live/lock/src/queued",
    "live/lock/src/spin",
];

/// The headings of a protocol file's head, in order.
const HEAD: &[&str] = &["Use", "Callers", "Progress", "Orderings", "Crash", "Source"];

/// The headings of comments beside the code, or of the head.
const BODY: &[&str] = &["State", "Invariants", "Proof", "Checked"];

/// The most lines of a head.
const HEAD_LINES: usize = 60;

/// Orderings that are stronger than `Relaxed`.
const STRONG: &[&str] = &["Acquire", "Release", "AcqRel", "SeqCst"];

/// The access must stand within this many lines from its label, the line of the label included.
const REACH: usize = 4;

/// A pair that a head declares.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Pair {
    label: String,
    line: usize,
    text: String,
}

/// Applies the rule to all protocol files.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    PROTOCOL_FOLDERS.iter().flat_map(|folder| check_folder(tree, folder)).collect()
}

fn check_folder(tree: &Tree, folder: &str) -> Vec<Finding> {
    let paths = tree.files(|path| path.starts_with(folder) && path.ends_with(".rs"));
    check_files(folder, paths.into_iter().map(|path| (tree.read(&path), path)).collect())
}

fn check_files(area: &str, sources: Vec<(String, String)>) -> Vec<Finding> {
    // Each file with a head is a protocol; files in the folder of its name are parts of it.
    let (wholes, rest): (Vec<_>, Vec<_>) =
        sources.into_iter().partition(|(source, _)| !pairs(source).is_empty());
    let mut protocols: Vec<_> = wholes.into_iter().map(|whole| vec![whole]).collect();
    for (source, path) in rest {
        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        let whole = protocols.iter_mut().find(|files| files[0].1.strip_suffix(".rs") == Some(folder));
        match whole {
            Some(files) => files.push((source, path)),
            None if is_protocol(&source) => protocols.push(vec![(source, path)]),
            None => {}
        }
    }
    protocols.retain(|files| files.iter().any(|(source, _)| is_protocol(source)));
    if protocols.is_empty() {
        return vec![Finding::at(area, 0, "has no protocol, so this rule looks in the wrong place")];
    }
    protocols.iter().flat_map(|files| check_whole(files)).collect()
}

/// Checks a protocol as one text. Each finding names the file and line in which it stands.
fn check_whole(files: &[(String, String)]) -> Vec<Finding> {
    let ends = |text: &str| if text.ends_with('\n') { "" } else { "\n" };
    let text: String = files.iter().flat_map(|(source, _)| [source.as_str(), ends(source)]).collect();
    let mut findings = check_protocol(&files[0].1, &text);
    for finding in &mut findings {
        let mut before = 0;
        for (source, path) in files {
            let lines = source.lines().count();
            if (before + 1..=before + lines).contains(&finding.line) {
                (finding.path, finding.line) = (path.clone(), finding.line - before);
                break;
            }
            before += lines;
        }
    }
    findings
}

/// Whether a file orders memory: then it is a protocol file, whatever its head says.
fn is_protocol(source: &str) -> bool {
    let code = shipped(source, Texts::Blank);
    STRONG.iter().any(|word| !lines_with(&code, word).is_empty())
}

fn check_protocol(path: &str, source: &str) -> Vec<Finding> {
    let mut findings = check_headings(path, source);
    let pairs = pairs(source);
    if pairs.is_empty() {
        findings.push(Finding::at(path, 0, "the head declares no ordering (`O1 name: ...`)"));
    }
    for pair in &pairs {
        findings.extend(check_pair(path, source, pair));
    }
    findings.extend(
        unlabelled(source)
            .into_iter()
            .map(|line| Finding::at(path, line, "orders memory, but carries no label (`// O1 name`)")),
    );
    for (line, label) in sites(source) {
        if pairs.iter().all(|pair| pair.label != label) {
            findings.push(Finding::at(path, line, format!("`{label}` is not declared in the head")));
        }
    }
    findings
}

/// Checks that the head is short and has its headings in order, and that comments have the other headings.
fn check_headings(path: &str, source: &str) -> Vec<Finding> {
    let mut messages = Vec::new();
    let mut after = 0;
    for heading in HEAD {
        let starts = |line: &str| line.starts_with("//! ") && begins_with(line, heading);
        match source.lines().skip(after).position(starts) {
            Some(at) => after += at + 1,
            None => messages.push(format!("the head lacks `{heading}`, or has it out of order")),
        }
    }
    for heading in BODY {
        if !source.lines().any(|line| begins_with(line, heading)) {
            messages.push(format!("no comment begins with `{heading}`"));
        }
    }
    let in_head = |line: &&str| line.starts_with("//!");
    let lines = source.lines().skip_while(|line| !in_head(line)).take_while(in_head).count();
    if lines > HEAD_LINES {
        messages
            .push(format!("the head has {lines} lines: at most {HEAD_LINES}, and the rest beside the code"));
    }
    messages.into_iter().map(|message| Finding::at(path, 0, message)).collect()
}

/// Whether a line is a comment whose text begins with a heading.
fn begins_with(line: &str, heading: &str) -> bool {
    let text = line.trim_start().strip_prefix("//").map(|text| text.trim_start_matches(['/', '!', ' ', '#']));
    let rest = text.and_then(|text| text.strip_prefix(heading));
    rest.is_some_and(|rest| !rest.starts_with(char::is_alphanumeric))
}

/// Lines that order memory with no label within [`REACH`]. An import orders nothing.
fn unlabelled(source: &str) -> Vec<usize> {
    let code = shipped(source, Texts::Blank);
    let lines: Vec<_> = code.lines().collect();
    let labelled = |line: usize| sites(source).iter().any(|(at, _)| (*at..at + REACH).contains(&line));
    let ordering = STRONG.iter().flat_map(|word| lines_with(&code, word));
    ordering.filter(|line| !lines[line - 1].trim_start().starts_with("use ") && !labelled(*line)).collect()
}

fn check_pair(path: &str, source: &str, pair: &Pair) -> Vec<Finding> {
    let lines: Vec<_> = source.lines().collect();
    let sites: Vec<_> = sites(source).into_iter().filter(|(_, label)| *label == pair.label).collect();
    if sites.len() < 2 {
        let message = format!("`{}` labels {} place in the code, not both ends", pair.label, sites.len());
        return vec![Finding::at(path, pair.line, message)];
    }
    let near = |word: &str| {
        sites.iter().any(|(line, _)| {
            let from = line - 1;
            lines[from..(from + REACH).min(lines.len())].iter().any(|text| !lines_with(text, word).is_empty())
        })
    };
    let promised = STRONG.iter().filter(|word| !lines_with(&pair.text, word).is_empty());
    promised
        .filter(|word| !near(word))
        .map(|word| {
            let message =
                format!("`{}` declares {word}, but no place that carries the label uses it", pair.label);
            Finding::at(path, pair.line, message)
        })
        .collect()
}

/// The pairs of the head. A declaration continues to the next label, the next heading or the end of the head.
fn pairs(source: &str) -> Vec<Pair> {
    let mut pairs: Vec<Pair> = Vec::new();
    let mut open = false;
    for (number, line) in source.lines().enumerate() {
        let Some(text) = line.strip_prefix("//!") else { continue };
        if HEAD.iter().chain(BODY).any(|word| text.trim_start_matches([' ', '#']).starts_with(word)) {
            open = text.trim_start_matches([' ', '#']).starts_with("Orderings");
        }
        if !open {
            continue;
        }
        let text = text.trim_start_matches([' ', '#', '-', '*']).trim_start_matches("Orderings").trim_start();
        match label(text) {
            Some(label) if text[label.len()..].starts_with(':') => {
                pairs.push(Pair { label, line: number + 1, text: text.to_owned() });
            }
            _ => {
                if let Some(pair) = pairs.last_mut() {
                    pair.text = format!("{} {text}", pair.text);
                }
            }
        }
    }
    pairs
}

/// The labels in the code, with their lines. Documentation and comments that begin with a heading refer to labels, and
/// mark no access.
fn sites(source: &str) -> Vec<(usize, String)> {
    let mut sites = Vec::new();
    let (mut in_comment, mut in_text) = (false, false);
    for (number, line) in source.lines().enumerate() {
        let begins = !std::mem::replace(&mut in_comment, line.trim_start().starts_with("//"));
        if begins || !in_comment {
            in_text = in_comment && BODY.iter().any(|heading| begins_with(line, heading));
        }
        if in_text || line.trim_start().starts_with("//!") || line.trim_start().starts_with("///") {
            continue;
        }
        let Some((_, comment)) = line.split_once("//") else { continue };
        let starts =
            comment.match_indices('O').filter(|(at, _)| !comment[..*at].ends_with(char::is_alphanumeric));
        sites.extend(starts.filter_map(|(at, _)| label(&comment[at..])).map(|label| (number + 1, label)));
    }
    sites
}

/// `O1 name` at the start of a text: a capital O, digits, one space, one lower-case word.
fn label(text: &str) -> Option<String> {
    let digits = text.strip_prefix('O')?.chars().take_while(char::is_ascii_digit).count();
    let word = text[1 + digits..].strip_prefix(' ')?;
    let letters = word.chars().take_while(|c| c.is_ascii_lowercase() || matches!(c, '-' | '_')).count();
    (digits > 0 && letters > 0).then(|| text[..1 + digits + 1 + letters].to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
//! Latest value: one writer, one reader.
//!
//! Use        newest matters
//! Callers    one each
//! Progress   wait-free
//! State      one word
//! Invariants I1 one owner
//! Orderings  O1 publish: Release in write ↔
//!                        Acquire in read
//!            O2 leave: Release in read ↔ Acquire in write
//! Proof      by I1
//! Crash      nothing
//! Source     [Key]
//! Checked    loom
";

    const CODE: &str = "\
fn write() {
    w.store(1, Release); // O1 publish
    w.load(Acquire); // O2 leave
}
fn read() {
    // O1 publish: the slot is ours from here
    w.load(
        Acquire,
    );
    w.fetch_sub(1, Release); // O2 leave
}
";

    fn findings(head: &str, code: &str) -> Vec<String> {
        check_protocol("p.rs", &format!("{head}{code}")).into_iter().map(|f| f.to_string()).collect()
    }

    #[test]
    fn a_complete_file_passes() {
        assert!(is_protocol(CODE));
        assert_eq!(findings(TEXT, CODE), [""; 0]);
    }

    #[test]
    fn one_end_is_not_enough() {
        let code = CODE.replace("w.load(Acquire); // O2 leave", "w.load(Acquire);");
        assert_eq!(findings(TEXT, &code), ["p.rs:10: `O2 leave` labels 1 place in the code, not both ends"]);
    }

    #[test]
    fn a_weakened_end_is_found() {
        let code = CODE.replace("w.store(1, Release)", "w.store(1, Relaxed)");
        let found = findings(TEXT, &code);
        assert_eq!(
            found,
            ["p.rs:8: `O1 publish` declares Release, but no place that carries the label uses it"]
        );
    }

    #[test]
    fn each_ordering_carries_a_label() {
        let far = "fn f() {\n    // O1 publish\n\n\n\n    w.load(Acquire);\n}\n";
        let found = findings(TEXT, &format!("use core::sync::atomic::Ordering::Acquire;\n{CODE}{far}"));
        assert_eq!(found, ["p.rs:32: orders memory, but carries no label (`// O1 name`)"]);
    }

    #[test]
    fn a_label_must_be_declared() {
        let found = findings(TEXT, &format!("{CODE}\nfence(SeqCst); // O3 order\n"));
        assert_eq!(found.len(), 1);
        assert!(found[0].contains("`O3 order` is not declared"), "{found:?}");
    }

    #[test]
    fn each_heading_is_wanted() {
        for heading in HEAD.iter().chain(BODY) {
            let head = TEXT.replace(&format!("//! {heading} "), "//! Xx ");
            let found = findings(&head, CODE);
            assert!(found.iter().any(|f| f.contains(&format!("`{heading}`"))), "{heading}: {found:?}");
        }
    }

    #[test]
    fn a_proof_stands_at_its_access() {
        let head = TEXT.replace("//! Proof      by I1\n", "");
        let proof =
            "{\n    // Proof: what O2 the reader left is over, by O9 nothing\n    // at all.\n    w.store";
        assert_eq!(findings(&head, &CODE.replacen("{\n    w.store", proof, 1)), [""; 0]);
        let found = findings(&head, &CODE.replacen("{\n    w.store", &proof.replace("Proof: ", ""), 1));
        assert!(found.iter().any(|f| f.contains("`O9 nothing` is not declared")), "{found:?}");
        assert!(found.iter().any(|f| f.contains("no comment begins with `Proof`")), "{found:?}");
    }

    #[test]
    fn a_long_head_is_found() {
        let long = |more: usize| findings(&format!("{TEXT}{}", "//! and\n".repeat(more)), CODE);
        let most = HEAD_LINES - TEXT.lines().count();
        assert_eq!(long(most), [""; 0]);
        assert_eq!(long(most + 1), ["p.rs: the head has 61 lines: at most 60, and the rest beside the code"]);
    }

    #[test]
    fn a_folder_belongs_to_its_file() {
        let file = |source: String, path: &str| (source, path.to_owned());
        let (first, second) = CODE.split_at(CODE.find("fn read").unwrap());
        let check = |second: &str, path: &str| -> Vec<String> {
            let files = vec![file(format!("{TEXT}{first}"), "r/p.rs"), file(second.to_owned(), path)];
            check_files("r", files).into_iter().map(|finding| finding.to_string()).collect()
        };
        let second = format!("//! The other end.\n\n{second}");
        assert_eq!(check(&second, "r/p/end.rs"), [""; 0]);
        let far = format!("{second}fn f() {{\n\n    w.load(Acquire);\n}}\n");
        assert_eq!(
            check(&far, "r/p/end.rs"),
            ["r/p/end.rs:12: orders memory, but carries no label (`// O1 name`)"]
        );
        let alone = check(&second, "r/q/end.rs");
        assert!(alone.iter().any(|found| found.starts_with("r/q/end.rs: the head lacks")), "{alone:?}");
        assert!(alone.iter().any(|found| found.starts_with("r/p.rs:8: `O1 publish` labels 1")), "{alone:?}");
    }

    #[test]
    fn relaxed_counters_are_no_protocol() {
        assert!(!is_protocol(
            "x.load(Relaxed); // Acquire is not needed\n#[cfg(test)]\nmod t { fn f() { x.load(Acquire); } }"
        ));
    }
}
