// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Samples of each language, the manifests that they become, and damaged samples.
#![allow(clippy::unwrap_used, reason = "test code")]

mod amalthea;
mod cheddar;
mod mast;
mod rtdroid;

use proptest::prelude::*;
use taut_exchange::{Imported, Options, SourceFormat, import};
use taut_model::{Model, Severity, TaskSet};

const SAMPLES: [(SourceFormat, &str); 10] = [
    (SourceFormat::Cheddar, include_str!("../../samples/flight.xmlv3")),
    (SourceFormat::SchedCat, include_str!("../../samples/two-partitions.xml")),
    (SourceFormat::Amalthea, include_str!("../../samples/drive.amxmi")),
    (SourceFormat::Mast, include_str!("../../samples/robot.mast")),
    (SourceFormat::RtDroid, include_str!("../../samples/listen-manifest.xml")),
    (SourceFormat::Mast, include_str!("../../samples/cell.mast")),
    (SourceFormat::Mast, include_str!("../../samples/cell-mast.xml")),
    (SourceFormat::Cheddar, include_str!("../../samples/lift.xmlv3")),
    (SourceFormat::RtDroid, include_str!("../../samples/figure-manifest.xml")),
    (SourceFormat::RtDroid, include_str!("../../samples/validated-manifest.xml")),
];

const RELEASED: &str = "a task that another task releases is released a period after its previous release, or later: the runtime \
     enforces it";

fn load(manifest: &str) -> Model {
    let source = taut_manifest::SourceText { name: "taut.toml".into(), text: manifest.into() };
    let loaded = taut_manifest::load(&source, &[]);
    let faults = loaded.diagnostics.iter().filter(|fault| fault.severity == Severity::Error);
    let faults: Vec<_> = faults.map(|fault| fault.message.clone()).collect();
    loaded.model.unwrap_or_else(|| panic!("{faults:#?}\n{manifest}"))
}

fn imported(text: &str) -> (Imported, TaskSet) {
    let imported = import(text, &Options { name: "sample".into(), ..Options::default() }).unwrap();
    let set = taut_planner::task_set(&load(&imported.manifest)).unwrap();
    (imported, set)
}

/// One line per task: core, priority, arrivals, T, D, J, C, requests as resource × count × length.
fn lines(set: &TaskSet) -> Vec<String> {
    let line = |(at, task): (usize, &taut_model::SetTask)| {
        let request = |request: &taut_model::Request| {
            format!("{}×{}×{}", set.resources()[request.resource].name, request.count, request.length)
        };
        let requests: Vec<_> = set.requests(at).iter().map(request).collect();
        let (t, d, j, c) = (task.period, task.deadline, task.jitter, set.cost(at));
        let arrivals = format!("{:?}", task.arrivals).replace("Duration { ns: ", "").replace(" }", "");
        format!(
            "{} @{} {} {arrivals} {t} {d} {j} {c} {}",
            task.name,
            task.core,
            task.priority,
            requests.join(" ")
        )
    };
    set.tasks().iter().enumerate().map(line).collect()
}

fn lost(imported: &Imported) -> Vec<String> {
    imported.lost.iter().map(ToString::to_string).collect()
}

#[test]
fn languages_are_guessed() {
    for (source, text) in SAMPLES {
        assert_eq!(SourceFormat::guess(text), Some(source));
    }
    for text in ["", "<", "<!--", "hello", "<html/>", "{\"tasks\":{}}"] {
        assert_eq!(SourceFormat::guess(text), None, "{text}");
        assert!(import(text, &Options::default()).is_err(), "{text}");
    }
}

#[test]
fn schedcat() {
    let (imported, set) = imported(SAMPLES[1].1);
    let lines: Vec<_> = lines(&set).into_iter().map(|line| line.replace("Phased(0) ", "")).collect();
    assert_eq!(lines.len(), 4);
    assert!(
        lines[0].starts_with("task-1 @0") && lines[0].ends_with("10ms 10ms 0ns 1.5ms resource-0×2×100us"),
        "{lines:?}"
    );
    assert!(lines[1].ends_with("20ms 15ms 0ns 4ms resource-1×2×300us"), "{lines:?}");
    assert!(lines[3].ends_with("50ms 50ms 0ns 9ms resource-2×1×500us resource-3×1×100us"), "{lines:?}");
    let lost = lost(&imported);
    assert!(
        lost.iter()
            .any(|what| what
                == "4:57: `response_time` of `task` is left out (1500): the analysis finds its own"),
        "{lost:?}"
    );
    assert!(lost.iter().any(|what| what.starts_with("11:7: reading is written like writing")), "{lost:?}");
}

#[test]
fn errors_have_places() {
    for (text, error) in [
        ("<cheddar>\n <tasks>\n</cheddar>", "3:1: not XML: expected 'tasks' tag, not 'cheddar'"),
        ("<cheddar/>", "no task is left"),
        (
            "<taskset>\n<task id='7' period='x' wcet='1'/></taskset>",
            "2:1: no task is left: task `7` has no period; it is left out",
        ),
    ] {
        assert_eq!(import(text, &Options::default()).unwrap_err().to_string(), error);
    }
}

/// A text with some pieces replaced, inserted or removed.
fn damaged(text: &str, changes: &[(usize, usize, String)]) -> String {
    let mut chars: Vec<char> = text.chars().collect();
    for (at, len, with) in changes {
        let at = at % (chars.len() + 1);
        let end = (at + len).min(chars.len());
        chars.splice(at..end, with.chars());
    }
    chars.into_iter().collect()
}

/// A text with some numbers replaced: it stays well formed, but means something else.
fn renumbered(text: &str, numbers: &[(usize, u64)]) -> String {
    let mut words: Vec<String> = Vec::new();
    for c in text.chars() {
        match words.last_mut() {
            Some(word) if word.ends_with(|last: char| last.is_ascii_digit()) == c.is_ascii_digit() => {
                word.push(c)
            }
            _ => words.push(c.to_string()),
        }
    }
    let digits: Vec<usize> =
        (0..words.len()).filter(|at| words[*at].starts_with(|c: char| c.is_ascii_digit())).collect();
    for (at, number) in numbers {
        if let Some(word) = digits.get(at % digits.len().max(1)).and_then(|at| words.get_mut(*at)) {
            *word = number.to_string();
        }
    }
    words.concat()
}

fn sound(text: &str, source: SourceFormat) {
    let options = Options { source: Some(source), ..Options::default() };
    if let Ok(imported) = import(text, &options) {
        taut_planner::task_set(&load(&imported.manifest)).unwrap();
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// No text makes the import panic, and every manifest that it writes loads.
    #[test]
    fn damaged_samples(
        sample in 0..SAMPLES.len(),
        changes in prop::collection::vec((any::<usize>(), 0usize..8, "[<>/\"=a-z0-9 (),;]{0,4}"), 1..4),
    ) {
        let (source, text) = SAMPLES[sample];
        sound(&damaged(text, &changes), source);
    }

    #[test]
    fn renumbered_samples(
        sample in 0..SAMPLES.len(),
        numbers in prop::collection::vec((any::<usize>(), prop_oneof![0u64..4, 0u64..500, Just(99), any::<u64>()]), 1..6),
    ) {
        let (source, text) = SAMPLES[sample];
        sound(&renumbered(text, &numbers), source);
    }
}
