// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Generator files with faults, and the faults reported.

use proptest::prelude::*;
use taut_model::Mechanism;
use taut_sweep::{Generator, Method};

const GOOD: &str = include_str!("../../../examples/sweep/han14.toml");

/// The file with a piece replaced that occurs in it once.
fn with(from: &str, to: &str) -> String {
    assert_eq!(GOOD.matches(from).count(), 1, "{from}");
    GOOD.replace(from, to)
}

/// Line, column, code, message and help of every fault.
fn reported(text: &str) -> Vec<String> {
    Generator::parse(text).expect_err("this is wrong").iter().map(ToString::to_string).collect()
}

#[test]
fn the_paper_is_read() {
    let generator = Generator::parse(GOOD).expect("good");
    let points: Vec<_> = generator.points().iter().map(|p| (p.scheme.as_str(), p.utilisation)).collect();
    assert_eq!(points.len(), 3 * 12);
    assert_eq!((points[0], points[35]), (("light", 400_000), ("heavy", 950_000)));
    assert_eq!(generator.rows(), 3_600);
    let methods = [
        Method::Only(Mechanism::Msrp),
        Method::Only(Mechanism::Mpcp),
        Method::Only(Mechanism::Dbp),
        Method::Only(Mechanism::Tccp),
        Method::Heuristic(0),
    ];
    assert_eq!(generator.methods(), methods);
}

#[test]
fn each_fault_is_told_at_its_place() {
    let cases = [
        ("seed = 1", "sead = 1", "4:1: TAUT0102: this file has no key `sead` (did you mean `seed`?)"),
        ("cores = 2\n", "", "9:1: TAUT0103: `tasks` has no `cores`"),
        ("cores = 2", "cores = 0", "10:9: TAUT0112: `cores` is out of range"),
        ("cores = 2", "cores = \"2\"", "10:9: TAUT0104: `cores` must be a whole number, not a text"),
        (
            "[4, 20]",
            "[20, 4]",
            "11:12: TAUT0112: `per-core` must be a least and a greatest value (as in [4, 20])",
        ),
        (
            "\"500ms\"",
            "\"500\"",
            "13:61: TAUT0105: \"500\" is not a duration (write \"500ms\" if milliseconds are meant)",
        ),
        (
            "\"500ms\"",
            "500",
            "13:61: TAUT0104: `periods` must be a duration in quotes, as in \"5ms\", not a number",
        ),
        ("step = \"5%\"", "step = \"5\"", "7:50: TAUT0107: \"5\" is not a percentage (as in \"12.5%\")"),
        (
            "step = \"5%\"",
            "step = \"0%\"",
            "7:50: TAUT0107: a load that is not counted in tenths of a percent",
        ),
        ("\"40%\"", "\"96%\"", "7:15: TAUT0112: loads from more to less"),
        ("\"sound\"", "\"fast\"", "6:13: TAUT0108: `equations` is not \"fast\""),
        ("generator = 1", "generator = 2", "3:13: TAUT0112: `generator` is out of range"),
        ("{ 1 = 50, 2 = 40, 3 = 10 }", "{ 0 = 1 }", "16:13: TAUT0112: no number of readers"),
        ("{ 1 = 50, 2 = 40, 3 = 10 }", "{ 1 = 0 }", "16:11: TAUT0112: `readers` has no value to draw"),
        (
            "\"24B\" = 20, \"48B\" = 20 }  ",
            "\"24\" = 20 }  ",
            "17:33: TAUT0106: \"24\" is not a size (as in \"64B\" or \"1KiB\")",
        ),
        (
            "share = [\"1%\", \"10%\"]",
            "",
            "27:1: TAUT0113: the length of sections is not given exactly once (as in share = [\"1%\", \"10%\"])",
        ),
        (
            "mpcp = { time = \"2.5us\", bytes = \"4B\" }\n",
            "",
            "38:8: TAUT0113: `mpcp` without a mechanism of that name",
        ),
        ("heuristic = 0", "heuristic = [2, 2]", "37:1: TAUT0301: the file asks for `heuristic_2` twice"),
        ("heuristic = 0", "heuristic = 17", "42:13: TAUT0112: `heuristic` is out of range"),
        (
            "index = \"1B\" }\ntccp",
            "indx = \"1B\" }\ntccp",
            "34:70: TAUT0102: `dbp` has no key `indx` (did you mean `index`?)",
        ),
    ];
    let reported: Vec<String> =
        cases.iter().map(|(from, to, _)| reported(&with(from, to)).join(" AND ")).collect();
    let expected: Vec<&str> = cases.iter().map(|(.., expected)| *expected).collect();
    assert_eq!(reported, expected);
}

#[test]
fn all_faults_at_once_and_none_of_what_follows() {
    let text =
        with("cores = 2", "cores = 0").replace("seed = 1", "seed = -1").replace("mpcp = {", "mpcq = {");
    let faults = reported(&text);
    let starts: Vec<_> = faults.iter().map(|fault| fault.split(": ").take(2).collect::<Vec<_>>()).collect();
    let expected = [["4:8", "TAUT0112"], ["10:9", "TAUT0112"], ["33:1", "TAUT0102"]];
    assert_eq!(starts, expected, "{faults:#?}");
    assert_eq!(reported("generator = ").len(), 1, "what is not TOML says nothing about its keys");
    assert!(reported("").iter().all(|fault| fault.contains("TAUT0103")), "{:#?}", reported(""));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// A line that is cut or changed: the file is read, or refused with a place in the text.
    #[test]
    fn damaged_files_are_read_or_refused(line in 0usize..50, at in 0usize..100, with in "[ -~]{0,3}") {
        let mut lines: Vec<String> = GOOD.lines().map(str::to_owned).collect();
        let line = line % lines.len();
        let cut = at.min(lines[line].len());
        lines[line].truncate(cut);
        lines[line].push_str(&with);
        let text = lines.join("\n");
        match Generator::parse(&text) {
            // The file may specify a huge sweep, so the test computes no rows.
            Ok(generator) => prop_assert!(generator.rows() > 0),
            Err(faults) => {
                prop_assert!(!faults.is_empty());
                prop_assert!(faults.iter().all(|fault| text.get(fault.range.clone()).is_some()));
            }
        }
    }
}

const PAGE: &str = include_str!("../../../docs/sweep.md");

#[test]
fn the_page_has_a_file_with_every_key() {
    let (_, rest) = PAGE.split_once("```toml\n").expect("there is one");
    let (file, tables) = rest.split_once("```").expect("it ends");
    assert!(Generator::parse(file).is_ok(), "{:#?}", Generator::parse(file));
    // The fault of an unknown key lists the known keys.
    let mut known = Vec::new();
    for (before, after) in [
        ("generator = 1", "generator = 1\nzzz = 1\n"),
        ("[tasks]", "[tasks]\nzzz = 1"),
        ("[schemes.light]", "[schemes.light]\nzzz = 1"),
        ("[objects]", "[objects]\nzzz = 1"),
        ("[sections]", "[sections]\nzzz = 1"),
        ("[mechanisms]", "[mechanisms]\nzzz = 1"),
        ("[methods]", "[methods]\nzzz = 1"),
        ("msrp = {", "msrp = { zzz = 1,"),
        ("dbp = {", "dbp = { zzz = 1,"),
        ("periods = {", "periods = { zzz = 1,"),
        ("utilisation = {", "utilisation = { zzz = 1,"),
    ] {
        let faults = Generator::parse(&file.replacen(before, after, 1)).expect_err("no such key");
        let [fault] = &faults[..] else { panic!("{before}: {faults:#?}") };
        let help = fault.help.as_deref().expect("it tells them");
        let (_, keys) = help.split_once(" are ").expect("it tells them");
        known.extend(keys.split(", ").map(str::to_owned));
    }
    assert!(known.len() > 40, "{known:?}");
    for key in known {
        let in_file = file.contains(&format!("{key} = ")) || file.contains(&format!("[{key}"));
        assert!(in_file || tables.contains(&format!("`{key}`")), "`{key}` is not in docs/sweep.md");
    }
}
