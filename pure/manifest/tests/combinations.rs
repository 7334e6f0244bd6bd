// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Mistakes in any combination: each is reported as it is alone, and nothing else is.
//!
//! A rich manifest without a fault, and a list of single mistakes in it with the report about each. For every pair,
//! and for many seeded triples and dozens, the report is the union of the single ones. [`HIDES`] lists the pairs in
//! which one mistake truly removes the evidence for the other.

use std::ops::Range;

use taut_manifest::{SourceText, load, render};
use taut_model::{Code, codes};

const RICH: &str = include_str!("rich.toml");

/// A mistake in the table with this header: `wrong` replaces `right`. The report has this code, and this text at its
/// place.
struct Mistake {
    table: &'static str,
    right: &'static str,
    wrong: &'static str,
    code: Code,
    at: &'static str,
}

const fn slip(
    table: &'static str,
    right: &'static str,
    wrong: &'static str,
    code: Code,
    at: &'static str,
) -> Mistake {
    Mistake { table, right, wrong, code, at }
}

#[rustfmt::skip]
static MISTAKES: &[Mistake] = &[
    // The head and the platform.
    slip("", "manifest = 1", "manifest = 2", codes::FORMAT_VERSION, "2"),
    slip("[app]", "\"cochlear\"", "\"Cochlear\"", codes::BAD_NAME, "\"Cochlear\""),
    slip("[app]", "description", "descripton", codes::UNKNOWN_KEY, "descripton"),
    slip("[app]", "[app]", "[app]\nheap = \"never\"", codes::UNKNOWN_WORD, "\"never\""),
    slip("[platform]", "cores = ", "cors = ", codes::UNKNOWN_KEY, "cors"),
    slip("[platform]", "[0, 2]", "[0, \"2\"]", codes::WRONG_TYPE, "\"2\""),
    slip("[platform]", "[1, 3]", "[1, 1]", codes::CORE_TWICE, "1"),
    slip("[platform]", "\"fp\"", "\"table\"", codes::NOT_IN_THIS_VERSION, "\"table\""),
    slip("[platform]", "\"64MiB\"", "\"64MB\"", codes::BAD_SIZE, "\"64MB\""),
    slip("[platform]", "\"degrade\"", "\"ignore\"", codes::UNKNOWN_WORD, "\"ignore\""),
    slip("[platform.overheads]", "\"60us\"", "60", codes::BAD_DURATION, "60"),
    slip("[platform.overheads]", "context-switch", "contxt-switch", codes::UNKNOWN_KEY, "contxt-switch"),
    // Payloads and services.
    slip("[payloads]", "\"i16\"", "\"int\"", codes::BAD_SCALAR, "\"int\""),
    slip("[payloads]", "len = 128", "len = 0", codes::OUT_OF_RANGE, "0"),
    slip("[payloads]", "frame = \"u64\"", "frame = \"u9\"", codes::BAD_SCALAR, "\"u9\""),
    slip("[payloads]", "\"u8*176\"", "\"u8*177\"", codes::BAD_LAYOUT, "Stimulation"),
    slip("[payloads]", "volume = ", "Volume = ", codes::BAD_NAME, "Volume"),
    slip("[payloads]", "Battery = { fields", "Battery = { feilds", codes::UNKNOWN_KEY, "feilds"),
    slip("[payloads]", "\"u32\"", "\"u8\"", codes::BAD_LAYOUT, "\"f32\""),
    slip("[services.sound]", "persistent", "persistnt", codes::UNKNOWN_KEY, "persistnt"),
    // Resources and critical sections.
    slip("[resources.gains]", "\"srp\"", "\"pip\"", codes::UNKNOWN_WORD, "\"pip\""),
    slip("[tasks.recording]", "\"gains\"", "\"gain\"", codes::DANGLING_NAME, "\"gain\""),
    slip("[tasks.recording]", "\"10us\"", "\"0us\"", codes::BAD_SECTION, "\"0us\""),
    slip("[tasks.processing]", "longest", "longst", codes::UNKNOWN_KEY, "longst"),
    slip("[tasks.processing]", "\"20us\"", "\"600us\"", codes::BAD_SECTION, "\"600us\""),
    slip("[tasks.processing]", "count = 2", "count = 0", codes::OUT_OF_RANGE, "0"),
    // A periodic task with nearly everything wrong.
    slip("[tasks.recording]", "[tasks.recording]", "[tasks.recording]\nclass = \"soft\"", codes::UNKNOWN_WORD, "\"soft\""),
    slip("[tasks.recording]", "\"sound\"", "\"sond\"", codes::DANGLING_NAME, "\"sond\""),
    slip("[tasks.recording]", "\"8ms\"", "\"8 minutes\"", codes::BAD_DURATION, "\"8 minutes\""),
    slip("[tasks.recording]", "deadline = \"2ms\"", "deadline = \"20ms\"", codes::BAD_DEADLINE, "\"20ms\""),
    slip("[tasks.recording]", "\"200us\"", "\"30ms\"", codes::WCET_OVER_DEADLINE, "\"30ms\""),
    slip("[tasks.recording]", "\"measured\"", "\"measurd\"", codes::UNKNOWN_WORD, "\"measurd\""),
    slip("[tasks.recording]", "\"50%\"", "50", codes::BAD_PERCENT, "50"),
    slip("[tasks.recording]", "core = 0", "core = 7", codes::CORE_NOT_OWNED, "7"),
    slip("[tasks.recording]", "priority = 80", "priority = 120", codes::PRIORITY_RANGE, "120"),
    slip("[tasks.recording]", "\"16KiB\"", "16", codes::BAD_SIZE, "16"),
    slip("[tasks.recording]", "\"skip-next\"", "\"skip-next\"\nbudget = \"1ns\"", codes::BAD_BUDGET, "\"1ns\""),
    slip("[tasks.recording]", "memory = {", "heap = \"forbid\"\nmemory = {", codes::UNKNOWN_WORD, "\"forbid\""),
    slip("[tasks.recording]", "\"16KiB\"", "\"16KiB\", set-up = \"64K\"", codes::BAD_SIZE, "\"64K\""),
    slip("[tasks.processing]", "periodic =", "period =", codes::UNKNOWN_KEY, "period"),
    slip("[tasks.processing]", "\"2ms\"", "\"2 ms later\"", codes::BAD_DURATION, "\"2 ms later\""),
    slip("[tasks.processing]", "deadline =", "dedline =", codes::UNKNOWN_KEY, "dedline"),
    slip("[tasks.processing]", "\"1ms\"", "\"0ms\"", codes::BAD_WCET, "\"0ms\""),
    slip("[tasks.processing]", "priority = 70", "priority = 75", codes::PRIORITY_SHARED, "75"),
    slip("[tasks.processing]", "\"100us\"", "\"3ms\"", codes::BAD_NON_PREEMPTIVE, "\"3ms\""),
    slip("[tasks.processing]", "\"50us\"", "\"9ms\"", codes::BAD_JITTER, "\"9ms\""),
    slip("[tasks.output]", "\"4ms\"", "\"40ms\"", codes::RATE_OVERFLOW, "\"40ms\""),
    slip("[tasks.output]", "\"electrodes\"", "\"electrods\"", codes::DANGLING_NAME, "\"electrods\""),
    slip("[tasks.output]", "\"1ms\"", "\"0ms\"", codes::BAD_DEADLINE, "\"0ms\""),
    slip("[tasks.output]", "memory =", "memroy =", codes::UNKNOWN_KEY, "memroy"),
    slip("[tasks.output]", "file = \"night/run.taut\"", "fil = \"night/run.taut\"", codes::UNKNOWN_KEY, "fil"),
    slip("[tasks.output]", "core = 0", "core = \"zero\"", codes::WRONG_TYPE, "\"zero\""),
    slip("[tasks.watch]", "[tasks.watch]", "[tasks.watch]\nmin-gap = \"1ms\"", codes::MISPLACED_KEY, "min-gap"),
    slip("[tasks.watch]", "wcet = {", "wcet = 3 #", codes::WRONG_TYPE, "3"),
    slip("[tasks.watch]", "core = 2", "core = 1", codes::CORE_NOT_OWNED, "1"),
    slip("[tasks.watch]", "arrival = {", "# arrival = {", codes::MISSING_KEY, "[tasks.watch]"),
    slip("[tasks.alarm]", "trigger = \"alerts\"", "trigger = \"orders\"", codes::BAD_TRIGGER, "\"orders\""),
    slip("[tasks.alarm]", "priority = 30", "priority = \"high\"", codes::WRONG_TYPE, "\"high\""),
    slip("[tasks.alarm]", "deadline = \"20ms\"", "deadline = \"20ms\"\nrun-at = \"sender\"", codes::NOT_IN_THIS_VERSION, "\"sender\""),
    slip("[tasks.alarm]", "deadline = \"20ms\"", "deadline = 20ms", codes::SYNTAX, "20ms"),
    slip("[tasks.alarm]", "core = 2", "core = 2\ncore = 2", codes::DUPLICATE_NAME, "core"),
    slip("[tasks.alarm]", ", source = \"static\"", "", codes::MISSING_KEY, "{ value = \"1ms\" }"),
    slip("[tasks.source]", "\"best-effort\"", "\"best-efort\"", codes::UNKNOWN_WORD, "\"best-efort\""),
    slip("[tasks.gauge]", "\"60ms\"", "\"0ms\"", codes::ZERO_PERIOD, "\"0ms\""),
    slip("[tasks.gauge]", "[tasks.gauge]", "[task.gauge]", codes::UNKNOWN_KEY, "task"),
    slip("[clients.ui]", "[clients.ui]", "[clients]\nui = {}\nwatch = {}", codes::DUPLICATE_NAME, "watch"),
    slip("[clients.phone]", "\"200ms\"", "\"200ms\"\nmax-attached = 129", codes::OUT_OF_RANGE, "129"),
    slip("[clients.phone]", "\"process\"", "\"host\"", codes::NOT_IN_THIS_VERSION, "\"host\""),
    slip("[clients.phone]", "\"200ms\"", "\"200m\"", codes::BAD_DURATION, "\"200m\""),
    // Channels.
    slip("[channels.samples]", "from = \"source\"", "from = \"sorce\"", codes::DANGLING_NAME, "\"sorce\""),
    slip("[channels.samples]", "capacity = 64", "capacity = 0", codes::BAD_CAPACITY, "0"),
    slip("[channels.samples]", "\"reject\"", "\"clear\"", codes::BAD_OVERFLOW, "\"clear\""),
    slip("[channels.audio]", "\"queue\"", "\"quue\"", codes::UNKNOWN_WORD, "\"quue\""),
    slip("[channels.audio]", "\"AudioFrame\"", "\"AudoFrame\"", codes::DANGLING_NAME, "\"AudoFrame\""),
    slip("[channels.audio]", "\"qrtr\"", "\"sdrtr\"", codes::MECHANISM_MISFIT, "\"sdrtr\""),
    slip("[channels.audio]", "capacity = 8", "capacty = 8", codes::UNKNOWN_KEY, "capacty"),
    slip("[channels.electrodes]", "payload =", "paylod =", codes::UNKNOWN_KEY, "paylod"),
    slip("[channels.electrodes]", "capacity = 8", "capacity = \"8\"", codes::WRONG_TYPE, "\"8\""),
    slip("[channels.levels]", "\"state\"", "\"state\"\nmechanism = \"fmlp\"", codes::NOT_IN_THIS_VERSION, "\"fmlp\""),
    slip("[channels.levels]", "[\"ui\", \"phone\"]", "[\"ui\", \"phone\", \"ui\"]", codes::PARTY_TWICE, "\"ui\""),
    slip("[channels.settings]", "to = \"processing\"", "to = 7", codes::WRONG_TYPE, "7"),
    slip("[channels.settings]", "\"Settings\"", "\"Settings\"\ncapacity = 3", codes::STATE_CAPACITY, "3"),
    slip("[channels.battery]", "from = \"gauge\"", "from = [\"gauge\", \"source\"]", codes::MANY_WRITERS, "[\"gauge\", \"source\"]"),
    slip("[channels.battery]", "sends-per-release = 1", "sends-per-release = 0", codes::OUT_OF_RANGE, "0"),
    slip("[channels.battery]", "\"auto\"", "\"atuo\"", codes::WRONG_TYPE, "\"atuo\""),
    slip("[channels.battery]", "payload =", "record = \"true\"\npayload =", codes::WRONG_TYPE, "\"true\""),
    slip("[channels.alerts]", "takes-per-release = 1", "takes-per-release = 3", codes::RECEIVER_TAKES, "3"),
    slip("[channels.alerts]", "capacity = 4", "capacity = 70000", codes::BAD_CAPACITY, "70000"),
    slip("[channels.orders]", "from = \"phone\"", "# nobody", codes::NO_WRITER, "orders"),
    slip("[channels.orders]", "to = \"watch\"", "to = \"ui\"", codes::NO_MECHANISM, "\"state\""),
    slip("[channels.images]", "\"recording\"", "\"ui\"", codes::BAD_BULK, "\"ui\""),
    slip("[channels.images]", "\"processing\"", "\"processng\"", codes::DANGLING_NAME, "\"processng\""),
    slip("[channels.images]", "capacity = 6", "capacity = 1", codes::BAD_CAPACITY, "1"),
    slip("[channels.images]", "\"recall\"", "\"clear\"", codes::BAD_OVERFLOW, "\"clear\""),
    slip("[channels.images]", "takes-per-release = 1", "takes-per-release = 0", codes::OUT_OF_RANGE, "0"),
    slip("[payloads]", "u8*8388608", "u8*83886080", codes::BAD_LAYOUT, "Image"),
    // Chains, and tables of their own.
    slip("[[chains]]", "name = \"microphone-to-electrode\"", "name = \"m2\"\nnames = 3", codes::UNKNOWN_KEY, "names"),
    slip("[[chains]]", "\"electrodes\"", "\"electroes\"", codes::DANGLING_NAME, "\"electroes\""),
    slip("[[chains]]", "\"16ms\"", "\"16\"", codes::BAD_DURATION, "\"16\""),
    slip("[[chains]]", "\"battery-to-alarm\"", "\"battery_to_alarm\"", codes::BAD_NAME, "\"battery_to_alarm\""),
    slip("[[chains]]", "\"alerts\", ", "", codes::BROKEN_CHAIN, "\"alarm\""),
    slip("[[chains]]", "\"250ms\"", "\"250ms\"\n[clients.spare]", codes::UNUSED, "spare"),
];

/// The place of a mistake: the range that it replaces.
fn range(mistake: &Mistake) -> Range<usize> {
    let table = RICH.find(mistake.table).expect("a table of the manifest");
    let at = table + RICH[table..].find(mistake.right).expect("a text of the manifest");
    at..at + mistake.right.len()
}

fn text(mistakes: &[usize]) -> String {
    let mut ordered =
        mistakes.iter().map(|at| (range(&MISTAKES[*at]), MISTAKES[*at].wrong)).collect::<Vec<_>>();
    ordered.sort_by_key(|(range, _)| std::cmp::Reverse(range.start));
    let mut text = RICH.to_owned();
    for (range, wrong) in ordered {
        text.replace_range(range, wrong);
    }
    text
}

fn source(text: &str) -> SourceText {
    SourceText { name: "taut.toml".into(), text: text.into() }
}

/// A report: its code, the number of its table, and the text at its place.
type Said = (Code, usize, String);

fn said(text: &str) -> Vec<Said> {
    let loaded = load(&source(text), &[]);
    let mut said = Vec::new();
    for diagnostic in &loaded.diagnostics {
        let range = diagnostic.primary.range.clone();
        let table = text[..range.end].matches("\n[").count();
        said.push((diagnostic.code, table, text[range].to_owned()));
    }
    said.sort();
    said
}

#[test]
fn each_alone() {
    assert_eq!(said(RICH), []);
    assert!(load(&source(RICH), &[]).model.is_some());
    let mut wrong = String::new();
    for (at, mistake) in MISTAKES.iter().enumerate() {
        let text = text(&[at]);
        let found = said(&text);
        if found.len() != 1 || (found[0].0, found[0].2.as_str()) != (mistake.code, mistake.at) {
            let shown = render(&load(&source(&text), &[]).diagnostics, &[&source(&text)], false, 100);
            wrong.push_str(&format!("{} {} -> {}\n{shown}\n", mistake.table, mistake.right, mistake.wrong));
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// Whether two mistakes are in different places.
fn apart(a: usize, b: usize) -> bool {
    let (a, b) = (range(&MISTAKES[a]), range(&MISTAKES[b]));
    a.end <= b.start || b.end <= a.start
}

fn difference(mistakes: &[usize], alone: &[Vec<Said>]) -> Option<String> {
    let text = text(mistakes);
    let mut expected = Vec::new();
    for at in mistakes {
        if !hidden(*at, mistakes) {
            expected.extend(alone[*at].iter().cloned());
        }
    }
    expected.sort();
    let found = said(&text);
    (found != expected).then(|| {
        let made = mistakes.iter().map(|at| &MISTAKES[*at]);
        let made = made.map(|m| format!("{} {} -> {}\n", m.table, m.right, m.wrong)).collect::<String>();
        let missing = expected.iter().filter(|one| !found.contains(one)).collect::<Vec<_>>();
        let more = found.iter().filter(|one| !expected.contains(one)).collect::<Vec<_>>();
        format!("{made}  not said: {missing:?}\n  said beyond: {more:?}\n")
    })
}

fn alone() -> Vec<Vec<Said>> {
    (0..MISTAKES.len()).map(|at| said(&text(&[at]))).collect()
}

/// A mistake by its table and its wrong text.
type Name = (&'static str, &'static str);

/// Mistakes that together remove the evidence for another.
#[rustfmt::skip]
static HIDES: &[(&[Name], Name)] = &[
    // Whether 7 is among the cores, when one of the cores cannot be read.
    (&[("[platform]", "[0, \"2\"]")], ("[tasks.recording]", "core = 7")),
    // Whether a payload is a multiple of its largest field, when that field's size is not known.
    (&[("[payloads]", "frame = \"u9\"")], ("[payloads]", "\"u8*177\"")),
    // The value under a misnamed key is not checked as a value of the key that may be meant.
    (&[("[platform]", "cors = ")], ("[platform]", "[0, \"2\"]")),
    (&[("[platform]", "cors = ")], ("[tasks.recording]", "core = 7")),
    (&[("[payloads]", "Battery = { feilds")], ("[payloads]", "\"u8\"")),
    (&[("[tasks.processing]", "period =")], ("[tasks.output]", "\"40ms\"")),
    (&[("[tasks.gauge]", "[task.gauge]")], ("[tasks.gauge]", "\"0ms\"")),
    // Whether a deadline is longer than a period that cannot be read.
    (&[("[tasks.recording]", "\"8 minutes\"")], ("[tasks.recording]", "deadline = \"20ms\"")),
    // Whether jitter leaves any time, when neither the period nor the deadline is known.
    (&[("[tasks.processing]", "period ="), ("[tasks.processing]", "dedline =")], ("[tasks.processing]", "\"9ms\"")),
    // Whether a stretch is longer than an execution time that is not known.
    (&[("[tasks.processing]", "\"0ms\"")], ("[tasks.processing]", "\"3ms\"")),
    // Whether sections are longer than an execution time, when it, a length or a number of them is not known.
    (&[("[tasks.processing]", "\"0ms\"")], ("[tasks.processing]", "\"600us\"")),
    (&[("[tasks.processing]", "longst")], ("[tasks.processing]", "\"600us\"")),
    (&[("[tasks.processing]", "count = 0")], ("[tasks.processing]", "\"600us\"")),
    // Whether two tasks share a core, when the core of one cannot be read.
    (&[("[tasks.output]", "core = \"zero\"")], ("[tasks.processing]", "priority = 75")),
    // Whether a channel releases its reader, when the trigger names another one.
    (&[("[tasks.alarm]", "trigger = \"orders\"")], ("[channels.alerts]", "takes-per-release = 3")),
    // Which mechanism fits, when the kind, the writer or its class is not known.
    (&[("[tasks.recording]", "[tasks.recording]\nclass = \"soft\"")], ("[channels.audio]", "\"sdrtr\"")),
    (&[("[channels.audio]", "\"quue\"")], ("[channels.audio]", "\"sdrtr\"")),
    (&[("[channels.orders]", "# nobody")], ("[channels.orders]", "to = \"ui\"")),
    // Whether a queue may drop values, when neither its writer nor its reader is known to be on the wrong side.
    (&[("[channels.samples]", "from = \"sorce\""), ("[tasks.recording]", "[tasks.recording]\nclass = \"soft\"")], ("[channels.samples]", "\"clear\"")),
    (&[("[tasks.source]", "\"best-efort\""), ("[tasks.recording]", "[tasks.recording]\nclass = \"soft\"")], ("[channels.samples]", "\"clear\"")),
    // Whether a client is used, when it may be the reader that cannot be read.
    (&[("[channels.settings]", "to = 7")], ("[[chains]]", "\"250ms\"\n[clients.spare]")),
];

fn hidden(at: usize, mistakes: &[usize]) -> bool {
    let is = |at: usize, name: Name| (MISTAKES[at].table, MISTAKES[at].wrong) == name;
    let made = |name: &Name| mistakes.iter().any(|at| is(*at, *name));
    HIDES.iter().any(|(hiders, hidden)| is(at, *hidden) && hiders.iter().all(made))
}

#[test]
fn every_pair() {
    let alone = alone();
    let mut wrong = String::new();
    let mut count = 0;
    for a in 0..MISTAKES.len() {
        for b in (a + 1..MISTAKES.len()).filter(|b| apart(a, *b)) {
            count += 1;
            wrong.extend(difference(&[a, b], &alone));
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
    assert!(count > 2_500, "{count}");
    // Every line of the list is needed.
    for (hiders, hidden) in HIDES {
        let at = |name: &Name| MISTAKES.iter().position(|one| (one.table, one.wrong) == *name).unwrap();
        let mistakes = hiders.iter().chain([hidden]).map(at).collect::<Vec<_>>();
        let union = mistakes.iter().map(|at| alone[*at].len()).sum::<usize>();
        assert!(said(&text(&mistakes)).len() < union, "{hidden:?} is told");
    }
}

/// SplitMix64 (Steele, Lea, Flood 2014): small, and the seed reproduces.
struct Seeded(u64);

impl Seeded {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) % limit as u64) as usize
    }
}

fn sampled(seed: u64, size: usize, count: usize) {
    let alone = alone();
    let mut random = Seeded(seed);
    let mut wrong = String::new();
    for _ in 0..count {
        let mut chosen = Vec::new();
        while chosen.len() < size {
            let next = random.below(MISTAKES.len());
            if !chosen.contains(&next) && chosen.iter().all(|one| apart(*one, next)) {
                chosen.push(next);
            }
        }
        wrong.extend(difference(&chosen, &alone));
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn triples() {
    sampled(3, 3, 1_000);
}

#[test]
fn dozens() {
    sampled(12, 12, 600);
}

#[test]
fn two_dozens() {
    sampled(24, 24, 300);
}

/// All mistakes at once, except those in the same place.
#[test]
fn all_of_them() {
    let mut chosen = Vec::new();
    for at in 0..MISTAKES.len() {
        if chosen.iter().all(|one| apart(*one, at)) {
            chosen.push(at);
        }
    }
    assert!(chosen.len() > 70);
    let wrong = difference(&chosen, &alone()).unwrap_or_default();
    assert!(wrong.is_empty(), "{wrong}");
}

/// Texts and whole numbers of the manifest: every value that is not a table or a list.
fn values() -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(c) = RICH[at..].chars().next() {
        let rest = &RICH[at..];
        let length = match c {
            '"' => 2 + rest[1..].find('"').expect("the end of the text"),
            '0'..='9' => rest.find(|c: char| !c.is_ascii_digit()).expect("the end of the number"),
            // A name, with the digits in it.
            c if c.is_alphabetic() => {
                at += rest.find(|c: char| !c.is_alphanumeric() && c != '-').expect("the end of the name");
                continue;
            }
            _ => {
                at += 1;
                continue;
            }
        };
        found.push(at..at + length);
        at += length;
    }
    found
}

/// Keys at the start of a line; the keys of `[payloads]` are names that the author chooses.
fn keys() -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut at = 0;
    for line in RICH.split_inclusive('\n') {
        if let Some((key, _)) = line.split_once(" =").filter(|_| line.starts_with(char::is_lowercase)) {
            found.push(at..at + key.len());
        }
        at += line.len();
    }
    found
}

/// Makes the edits; each must be reported once, and nothing else.
fn told_once(edits: &[(Range<usize>, String)], codes: &[Code]) -> Option<String> {
    let mut text = RICH.to_owned();
    let mut ordered = edits.to_vec();
    ordered.sort_by_key(|(range, _)| std::cmp::Reverse(range.start));
    for (range, wrong) in ordered {
        text.replace_range(range, &wrong);
    }
    let loaded = load(&source(&text), &[]);
    let sound = loaded.diagnostics.len() == edits.len()
        && loaded.diagnostics.iter().all(|diagnostic| codes.contains(&diagnostic.code))
        && loaded.model.is_none();
    let edited = edits.iter().map(|(range, wrong)| format!("{} -> {wrong}\n", &RICH[range.clone()]));
    (!sound).then(|| {
        format!(
            "{}{}",
            edited.collect::<String>(),
            render(&loaded.diagnostics, &[&source(&text)], false, 100)
        )
    })
}

fn once_and_in_dozens(edits: &[(Range<usize>, String)], codes: &[Code]) {
    let mut wrong = String::new();
    for edit in edits {
        wrong.extend(told_once(std::slice::from_ref(edit), codes));
    }
    assert!(wrong.is_empty(), "{wrong}");
    let mut random = Seeded(edits.len() as u64);
    for _ in 0..200 {
        let mut left = edits.to_vec();
        let chosen = (0..12).map(|_| left.swap_remove(random.below(left.len()))).collect::<Vec<_>>();
        wrong.extend(told_once(&chosen, codes));
    }
    wrong.extend(told_once(edits, codes));
    assert!(wrong.is_empty(), "{wrong}");
}

/// No value of the manifest is `false`.
#[test]
fn any_value_of_a_wrong_type() {
    let edits = values().into_iter().map(|range| (range, "false".to_owned())).collect::<Vec<_>>();
    assert!(edits.len() > 120, "{}", edits.len());
    once_and_in_dozens(&edits, &[codes::WRONG_TYPE, codes::FORMAT_VERSION]);
}

#[test]
fn any_key_misnamed() {
    let edits = keys().into_iter().map(|range| (range.clone(), format!("{}x", &RICH[range])));
    let edits = edits.collect::<Vec<_>>();
    assert!(edits.len() > 80, "{}", edits.len());
    once_and_in_dozens(&edits, &[codes::UNKNOWN_KEY]);
}

/// `[task.watch]` for `[tasks.watch]`: references to it are not reported.
#[test]
fn any_table_misnamed() {
    let headers = RICH.match_indices("\n[").map(|(at, _)| {
        let start = at + 1 + RICH[at + 1..].find(char::is_alphabetic).unwrap();
        let end = start + RICH[start..].find(['.', ']']).unwrap();
        (start..end, RICH[start..end - 1].to_owned())
    });
    let mut wrong = String::new();
    for edit in headers {
        wrong.extend(told_once(&[edit], &[codes::UNKNOWN_KEY]));
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// An unclosed quote or bracket hides nothing else.
#[test]
fn anything_unclosed() {
    let quotes = values().into_iter().filter(|range| RICH[range.clone()].starts_with('"'));
    let quotes = quotes.map(|range| range.end - 1);
    let brackets = RICH.match_indices(['}', ']']).map(|(at, _)| at);
    let in_value = |at: &usize| RICH[..*at].rfind('=') > RICH[..*at].rfind('\n');
    let mut wrong = String::new();
    let mut count = 0;
    for at in quotes.chain(brackets.filter(in_value)) {
        count += 1;
        wrong.extend(told_once(&[(at..at + 1, String::new())], &[codes::SYNTAX]));
    }
    assert!(wrong.is_empty(), "{wrong}");
    assert!(count > 120, "{count}");
}
