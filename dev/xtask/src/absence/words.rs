// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Words that the code of a top-level folder must not contain.

use super::source::{Texts, lines_with, modules_of, shipped};
use crate::tree::{Finding, Tree, has_extension};

/// A rule about words in the shipped code below some folders.
pub(super) struct Words {
    /// Its name, as ARCHITECTURE.md gives it.
    pub(super) name: &'static str,
    /// Where the rule holds: all paths that start with one of these.
    inside: &'static [&'static str],
    /// Folders or files that are exempt.
    except: &'static [&'static str],
    /// Forbidden words.
    words: &'static [&'static str],
    /// Forbidden modules of `std` and `core`.
    modules: &'static [&'static str],
    /// Whether the content of string literals counts.
    texts: Texts,
    /// The reason, which a finding shows.
    why: &'static str,
}

const EVERYWHERE: &[&str] = &["pure/", "live/", "edge/", "apps/", "dev/"];

/// The rules.
pub(super) const WORDS: &[Words] = &[
    Words {
        name: "no-clock",
        inside: &["pure/"],
        except: &[],
        words: &["SystemTime", "UNIX_EPOCH"],
        modules: &["time"],
        texts: Texts::Blank,
        why: "pure/ gives the same output for the same input: it reads no clock",
    },
    Words {
        name: "no-io",
        inside: &["pure/"],
        except: &[],
        words: &["include!"],
        modules: &["env", "fs", "net", "os", "process", "thread"],
        texts: Texts::Blank,
        why: "pure/ does no IO: its callers read and write",
    },
    Words {
        name: "no-print",
        inside: &["pure/", "live/", "edge/", "apps/"],
        // Separate programs for the developer of an application.
        except: &["apps/cochlear/examples/"],
        words: &["println!", "eprintln!", "print!", "eprint!", "dbg!"],
        modules: &[],
        texts: Texts::Blank,
        why: "these macros panic at a closed pipe: edge/ and apps/ print with functions that return errors, pure/ and \
              live/ print nothing",
    },
    Words {
        name: "no-static-mut",
        inside: EVERYWHERE,
        except: &[],
        words: &["static mut"],
        modules: &[],
        texts: Texts::Blank,
        why: "shared state goes through an atomic or a handle that one party owns",
    },
    Words {
        name: "no-foreign",
        inside: EVERYWHERE,
        // racy.rs has the copies that must be opaque to the compiler: a few instructions, and no system call.
        except: &["live/sys/", "live/atomic/src/racy.rs", "dev/peers/"],
        // String literals are blank, so `extern "` matches every named ABI.
        words: &["extern \"", "asm!", "global_asm!", "naked_asm!", "libc::"],
        modules: &[],
        texts: Texts::Blank,
        why: "only live/sys calls Linux",
    },
    Words {
        name: "no-shm-path",
        inside: EVERYWHERE,
        except: &["live/segment/", "dev/"],
        words: &["/dev/shm"],
        modules: &[],
        texts: Texts::Keep,
        why: "shared memory is reached through live/segment, never by a path",
    },
    Words {
        name: "no-unsafe",
        inside: &["pure/", "edge/cli/", "apps/", "dev/"],
        // dev/peers measures other libraries, some through foreign functions, on memory that processes share.
        except: &["dev/peers/"],
        words: &["unsafe"],
        modules: &[],
        texts: Texts::Blank,
        why: "unsafe code is allowed only in live/ and edge/taut, beside its proof",
    },
    Words {
        name: "no-heap",
        inside: &["live/atomic/", "live/share/", "live/scope/"],
        // modelled.rs is compiled only for loom and shuttle, whose atomics are not plain bytes. owned.rs makes
        // objects for programs with a heap; only its constructors and destructors use the heap.
        except: &["live/atomic/src/modelled.rs", "live/share/src/owned.rs"],
        words: &["Box", "Vec", "String", "Rc", "Arc", "vec!", "format!", "alloc::vec", "alloc::boxed"],
        modules: &["alloc", "boxed", "collections", "rc", "string", "vec"],
        texts: Texts::Blank,
        why: "a real-time path must not allocate, so these crates use no heap",
    },
];

/// The findings of one rule.
pub(super) fn check(tree: &Tree, rule: &Words) -> Vec<Finding> {
    let mut findings = Vec::new();
    for path in tree.files(|path| {
        let start = |folders: &[&str]| folders.iter().any(|folder| path.starts_with(folder));
        has_extension(path, &["rs"]) && is_shipped(path) && start(rule.inside) && !start(rule.except)
    }) {
        findings.extend(check_source(rule, &path, &tree.read(&path)));
    }
    findings
}

fn check_source(rule: &Words, path: &str, source: &str) -> Vec<Finding> {
    let code = shipped(source, rule.texts);
    let mut hits: Vec<(usize, String)> = Vec::new();
    for word in rule.words {
        hits.extend(lines_with(&code, word).into_iter().map(|line| (line, (*word).to_owned())));
    }
    let paths = ["std", "core"].iter().flat_map(|root| modules_of(&code, root));
    let forbidden = paths.filter(|(_, module)| rule.modules.contains(&module.as_str()));
    hits.extend(forbidden.map(|(line, module)| (line, format!("std::{module}"))));
    hits.sort_unstable();
    hits.into_iter()
        .map(|(line, word)| Finding::at(path, line, format!("`{word}` ({}): {}", rule.name, rule.why)))
        .collect()
}

/// Each word with its replacement: names that have a term in the field.
const METAPHORS: &str = include_str!("../../metaphors.txt");

/// Files with the names of other libraries: serde's trait, and iceoryx2's board.
const FOREIGN_NAMES: &[&str] = &["pure/time/src/duration.rs", "dev/peers/src/peers/iceoryx.rs"];

/// Rule `no-metaphor`: shipped code does not use the words of `metaphors.txt` as names.
pub(super) fn metaphors(tree: &Tree) -> Vec<Finding> {
    let shipped = tree.files(|path| {
        has_extension(path, &["rs"])
            && is_shipped(path)
            && EVERYWHERE.iter().any(|folder| path.starts_with(folder))
            && !FOREIGN_NAMES.contains(&path)
    });
    shipped.iter().flat_map(|path| metaphors_of(path, &tree.read(path))).collect()
}

fn metaphors_of(path: &str, source: &str) -> Vec<Finding> {
    let code = shipped(source, Texts::Blank);
    let pairs = METAPHORS.lines().filter_map(|line| line.split_once(' '));
    pairs
        .flat_map(|(word, instead)| {
            let what = format!("`{word}` (no-metaphor): docs/glossary.md has {}", instead.trim());
            lines_with(&code, word).into_iter().map(move |line| Finding::at(path, line, what.clone()))
        })
        .collect()
}

/// Whether a source file ships: it is not part of tests, benches or examples.
pub(super) fn is_shipped(path: &str) -> bool {
    let mut folders = path.split('/');
    path.contains("/src/")
        && !folders.any(|part| ["tests", "benches", "examples", "tests.rs"].contains(&part))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(name: &str, path: &str, source: &str) -> Vec<usize> {
        let rule = WORDS.iter().find(|rule| rule.name == name).unwrap();
        check_source(rule, path, source).into_iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn each_rule_finds_what_it_is_for() {
        for (rule, source) in [
            ("no-clock", "use std::time::Instant;"),
            ("no-clock", "let t = std::time::SystemTime::now();"),
            ("no-io", "use std::{fmt, fs};"),
            ("no-io", "std::process::exit(1)"),
            ("no-print", "println!(\"x\")"),
            ("no-static-mut", "static mut X: u8 = 0;"),
            ("no-foreign", "extern \"C\" { fn f(); }"),
            ("no-foreign", "libc::getpid()"),
            ("no-shm-path", "open(\"/dev/shm/taut\")"),
            ("no-unsafe", "unsafe { f() }"),
            ("no-heap", "let x: Vec<u8>;"),
            ("no-heap", "use std::collections::VecDeque;"),
        ] {
            assert!(found(rule, "x/src/lib.rs", source).contains(&1), "{rule}: {source}");
        }
    }

    #[test]
    fn allowed_words_pass() {
        for (rule, source) in [
            ("no-clock", "use core::fmt; // std::time::Instant\nlet time = 3;"),
            ("no-io", "env!(\"CARGO_PKG_VERSION\"); use std::io::Write; let fs = 1;"),
            ("no-print", "writeln!(out, \"println!\")"),
            ("no-foreign", "let c = \"an extern block\";"),
            ("no-unsafe", "#![forbid(unsafe_code)]"),
            ("no-heap", "#[cfg(test)]\nmod tests { fn f() { vec![1]; } }"),
        ] {
            assert_eq!(found(rule, "x/src/lib.rs", source), [0; 0], "{rule}: {source}");
        }
    }

    #[test]
    fn a_metaphor_is_found_with_the_term_for_it() {
        let of = |source: &str| -> Vec<String> {
            metaphors_of("x/src/lib.rs", source).iter().map(ToString::to_string).collect()
        };
        assert_eq!(
            of("fn f() {}\nstruct Gate;"),
            ["x/src/lib.rs:2: `Gate` (no-metaphor): docs/glossary.md has `Parker`, `StartBarrier`"]
        );
        assert_eq!(of("let seats = \"tell\"; // a Desk").len(), 0, "texts and comments are no names");
        assert!(
            METAPHORS.lines().all(|line| line.split_once(' ').is_some_and(|(_, term)| term.contains('`')))
        );
    }

    #[test]
    fn tests_are_not_shipped() {
        assert!(is_shipped("live/share/src/state/sdrtr.rs"));
        for path in
            ["live/share/tests/loom.rs", "live/share/src/tests.rs", "a/src/tests/b.rs", "a/benches/src/x.rs"]
        {
            assert!(!is_shipped(path), "{path}");
        }
    }
}
