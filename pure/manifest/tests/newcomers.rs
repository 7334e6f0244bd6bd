// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The first attempts of users of other tools: the message names the place and the remedy.

use taut_manifest::{SourceText, load, render};

const HEAD: &str = "manifest = 1\n[app]\nname = \"x\"\n[platform]\ncores = [1]\n";
const TASK: &str = "[tasks.a]\narrival = { periodic = \"10ms\" }\ndeadline = \"10ms\"\n\
                    wcet = { value = \"1ms\", source = \"guess\" }\n";

/// A wrong text, with `TASK` for a whole task; the code, and a part of the message.
const CASES: &[(&str, &str, &str)] = &[
    ("TASKperiod = \"10ms\"", "TAUT0102", "write `arrival = { periodic = \"10ms\" }`"),
    ("TASKrate = 100", "TAUT0102", "`arrival = { periodic = \"10ms\" }` for 100 a second"),
    ("TASKfrequency = 100", "TAUT0102", "`arrival = { periodic = \"10ms\" }` for 100 a second"),
    ("[tasks.a]\ndeadline = \"10ms\"", "TAUT0103", "add `arrival = { periodic = \"8ms\" }`"),
    ("[tasks.a]\ndeadline = \"10ms\"", "TAUT0103", "add `wcet = { value = \"1ms\", source = \"guess\" }`"),
    ("[tasks.a]\narrival = \"periodic\"", "TAUT0104", "as in `arrival = { periodic = \"8ms\" }`"),
    ("[tasks.a]\nwcet = \"1ms\"", "TAUT0104", "write `wcet = { value = \"1ms\", source = \"guess\" }`"),
    ("[tasks.a]\narrival = { event = \"1ms\" }", "TAUT0102", "write `{ sporadic = \"10ms\", trigger"),
    ("[tasks.a]\ndeadline = \"-10ms\"", "TAUT0105", "a duration cannot be negative"),
    ("[payloads]\nP = { type = \"u8*16\" }", "TAUT0111", "write `type = \"u8\", len = 16`"),
    ("[channels.c]\ntype = \"P\"", "TAUT0102", "write `payload = \"…\"`: a name of `[payloads]`"),
    ("[tasks.a]\nclass = \"hard\"", "TAUT0108", "did you mean \"real-time\"?"),
    ("TASK[platform2]", "TAUT0102", "did you mean `platform`?"),
    ("[services.s]\non-failure = { restart = 2 }", "TAUT0103", "as in `within = \"1s\"`"),
    ("[services.s]\non-failure = { within = \"1s\" }", "TAUT0113", "add `restart`, or leave `within` out"),
    ("[services.s]\non-failure = { restart = 2, within = \"0s\" }", "TAUT0112", "in a window of zero"),
    ("[services.s]\non-failure = { restart = 17, within = \"1s\" }", "TAUT0112", "`restart`"),
    ("[services.s]\non-failure = { then = \"stop\" }", "TAUT0108", "`stop` is not a word for `then`"),
    ("[services.s]\n[modes]\nm = [\"z\"]", "TAUT0302", "there is no service `z`"),
    ("[services.s]\n[modes]\nm = [\"s\", \"s\"]", "TAUT0301", "mode `m` names service `s` twice"),
    ("[services.s]\n[modes]\nm = \"s\"", "TAUT0104", "`mode` must be a list, not a text"),
    (
        "[services.s]\nstart = \"demand\"\n[modes]\nm = [\"s\"]",
        "TAUT0113",
        "leave `start` out, and name the service",
    ),
    (
        "[services.s]\n[modes]\nm = []\n[tasks.b]\nclass = \"best-effort\"\nservice = \"s\"",
        "TAUT0113",
        "let the task belong to no service",
    ),
    (
        "[tasks.b]\nclass = \"best-effort\"\njitter = \"1ms\"",
        "TAUT0113",
        "`jitter` does not go with `class = \"best-effort\"`",
    ),
];

#[test]
fn messages_name_the_remedy() {
    for (text, code, says) in CASES {
        let text = format!("{HEAD}{}\n", text.replace("TASK", TASK));
        let source = SourceText { name: "taut.toml".to_owned(), text };
        let loaded = load(&source, &[]);
        let shown = render(&loaded.diagnostics, &[&source], false, 200);
        let of_code = shown.split("\n\n").filter(|message| message.contains(&format!("[{code}]")));
        let found =
            of_code.filter(|message| message.contains(says) && message.contains("taut.toml:")).count();
        assert_eq!(found, 1, "{code} should say {says}:\n{shown}");
        assert!(loaded.model.is_none(), "{text}", text = source.text);
    }
}

/// One mistake in the README's manifest: the text, its replacement, the place of the report, and the help, which
/// suffices to correct it in one try.
const MISTAKES: &[(&str, &str, &str, &str)] = &[
    // Quantities.
    ("\"1ms\" }", "1 }", "14:24", "write \"1ms\" if milliseconds are meant"),
    ("\"1ms\" }", "0.0015 }", "14:24", "write \"1.5ms\" if seconds are meant"),
    ("\"1ms\" }", "\"1msec\" }", "14:24", "write \"1ms\""),
    ("deadline = \"1ms\"", "deadline = \"1MS\"", "15:12", "write \"1ms\""),
    ("deadline = \"1ms\"", "deadline = \"0,9ms\"", "15:12", "write \"0.9ms\""),
    ("deadline = \"1ms\"", "deadline = 1", "15:12", "write \"1ms\" if milliseconds are meant"),
    ("\"75us\"", "\"75µs\"", "16:18", "write \"75us\""),
    ("\"100%\"", "100", "16:56", "write \"100%\""),
    ("cores = [0]", "cores = [0]\nmemory = 16777216", "8:10", "write \"16MiB\" if bytes are meant"),
    ("cores = [0]", "cores = [0]\nmemory = \"16MB\"", "8:10", "write \"16MiB\""),
    // Numbers and lists.
    ("cores = [0]", "cores = 0", "7:9", "write [0]"),
    ("cores = [0]", "cores = \"0, 2-4\"", "7:9", "write [0, 2, 3, 4]"),
    ("cores = [0]", "cores = [\"0\"]", "7:10", "write 0 without quotes"),
    ("manifest = 1", "manifest = \"1\"", "1:12", "write 1 without quotes"),
    ("deadline =", "core = \"0\"\ndeadline =", "15:8", "write 0 without quotes"),
    (
        "deadline =",
        "priority = \"high\"\ndeadline =",
        "15:12",
        "use 1 to 98, larger = more urgent, or \"auto\"",
    ),
    ("deadline =", "priority = 100\ndeadline =", "15:12", "use 1 to 98, larger = more urgent, or \"auto\""),
    // Tables.
    ("{ periodic = \"1ms\" }", "\"2ms\"", "14:11", "write `arrival = { periodic = \"2ms\" }`"),
    (
        "{ value = \"75us\", source = \"measured\", margin = \"100%\" }",
        "\"75us\"",
        "16:8",
        "write `wcet = { value = \"75us\", source = \"guess\" }`",
    ),
    ("{ type = \"f32\", len = 6 }", "\"f32\"", "11:12", "write `Setpoint = { type = \"f32\" }`"),
    ("{ type = \"f32\", len = 6 }", "{ type = \"[f32; 6]\" }", "11:21", "write `type = \"f32\", len = 6`"),
    ("{ type = \"f32\", len = 6 }", "{ type = \"float[6]\" }", "11:21", "write `type = \"f32\", len = 6`"),
    ("\"f32\"", "\"uint8_t\"", "11:21", "did you mean `u8`?"),
    ("{ type = \"f32\", len = 6 }", "{ size = 24 }", "11:14", "write `{ type = \"u8\", len = 24 }`"),
    ("[tasks.control]", "[[tasks]]\nname = \"control\"", "13:1", "`[tasks.control]`, without `name`"),
    (
        "[channels.setpoint]",
        "[[channels]]\nname = \"setpoint\"",
        "20:1",
        "`[channels.setpoint]`, without `name`",
    ),
    ("[tasks.control]", "[tasks]", "14:1", "write the header `[tasks.…]`, with a name, above this line"),
    ("[tasks.control]\n", "", "13:1", "write the header `[tasks.…]`, with a name, above this line"),
    ("[channels.setpoint]", "[channels]", "21:1", "write the header `[channels.…]`, with a name, above"),
    ("[platform]\n", "", "6:1", "it is a key of `[platform]`: write that header above it"),
    ("[tasks.control]", "[tasks.control]\nname = \"control\"", "14:1", "the header gives the name"),
    ("[clients.ui]", "[clients.ui]\npath = \"/usr/bin/ui\"", "19:1", "taut does not start a client"),
    // Words and names.
    ("\"state\"", "\"fifo\"", "21:8", "did you mean \"queue\"?"),
    ("cores = [0]", "cores = [0]\nscheduler = \"FIFO\"", "8:13", "did you mean \"fp\"?"),
    ("cores = [0]", "cores = [0]\nexecutor = \"linux\"", "8:12", "did you mean \"native\"?"),
    ("to = \"control\"", "to = \"controll\"", "23:6", "did you mean `control`?"),
    ("payload = \"S", "payload = \"s", "24:11", "did you mean `Setpoint`?"),
    ("payload =", "paylod =", "24:1", "did you mean `payload`?"),
    (
        "{ periodic = \"1ms\" }",
        "{ sporadic = \"1ms\", trigger = \"moves\" }",
        "14:41",
        "define it: `[channels.moves]` with `kind = \"queue\"`",
    ),
    // Values that do not fit.
    (
        "deadline = \"1ms\"",
        "deadline = \"2ms\"",
        "15:12",
        "use at most \"1ms\", or `on-overrun = \"run-on\"`",
    ),
    ("\"75us\"", "\"750us\"", "16:18", "at most 500us fits"),
    ("\"100%\"", "\"1500%\"", "16:18", "at most 62us fits"),
    ("deadline = \"1ms\"", "deadline = \"1ms\"\ndeadline = \"2ms\"", "16:1", "remove one of them"),
    ("housekeeping = [1]", "housekeeping = [0]", "8:17", "remove it from one of the two lists"),
];

/// The README's first manifest.
fn of_the_readme() -> String {
    let page = include_str!("../../../README.md");
    let (_, rest) = page.split_once("```toml\n").expect("a manifest");
    rest.split_once("```").expect("its end").0.to_owned()
}

#[test]
fn a_mistake_in_the_readmes_manifest_is_one_message() {
    let whole = of_the_readme();
    for (right, wrong, at, help) in MISTAKES {
        assert!(whole.contains(right), "{right}");
        let source = SourceText { name: "taut.toml".to_owned(), text: whole.replacen(right, wrong, 1) };
        let loaded = load(&source, &[]);
        let shown = render(&loaded.diagnostics, &[&source], false, 200);
        assert!(loaded.model.is_none(), "{wrong}\n{shown}");
        let found: Vec<&str> = shown.split("\n\n").filter(|message| message.contains("error[")).collect();
        let says = |message: &&str| {
            message.contains(&format!("taut.toml:{at}\n"))
                && message.lines().any(|line| line.contains("= help: ") && line.contains(help))
        };
        assert!(found.len() == 1 && found.iter().all(says), "{wrong} should say at {at}: {help}\n{shown}");
    }
}

/// The words of other tools for the scheduler.
#[test]
fn words_of_other_tools_are_known() {
    for (word, meant) in [("rm", "fp"), ("rate-monotonic", "fp"), ("fixed-priority", "fp")] {
        let text = format!("{HEAD}scheduler = \"{word}\"\n{TASK}");
        let source = SourceText { name: "taut.toml".to_owned(), text };
        let shown = render(&load(&source, &[]).diagnostics, &[&source], false, 200);
        assert!(shown.contains(&format!("did you mean \"{meant}\"?")), "{shown}");
    }
}

/// For each diagnostic, the line of its place, and the text there.
fn labels(text: &str) -> Vec<(usize, String)> {
    let source = SourceText { name: "taut.toml".to_owned(), text: text.to_owned() };
    let line = |at: usize| text[..at].matches('\n').count() + 1;
    let of = |d: &taut_manifest::Diagnostic| (line(d.primary.range.start), d.primary.text.clone());
    load(&source, &[]).diagnostics.iter().map(of).collect()
}

/// A missing key belongs into its table, a missing table after the last line: nothing missing is reported in the
/// first line, except what has to be there.
#[test]
fn what_is_missing_belongs_somewhere() {
    let whole = format!(
        "{HEAD}memory = \"64MiB\"\n\n{TASK}\n[servers.s]\npolicy = \"sporadic\"\nbudget = \"1ms\"\nperiod = \"5ms\"\n\n[tasks.b]\nserver = \"s\"\nclass = \"best-effort\"\n\n"
    );
    assert_eq!(labels(&whole), []);
    let behind = whole.trim_end().lines().count() + 1;
    let without = |part: &str| {
        assert!(whole.contains(part), "{part}");
        whole.replace(part, "")
    };
    for (text, line, says) in [
        (without("manifest = 1\n"), 1, "starts without `manifest = 1`"),
        (without("[app]\nname = \"x\"\n"), behind - 2, "`[app]` belongs here"),
        (without("name = \"x\"\n"), 2, "`name` belongs here"),
        (
            without("[platform]\ncores = [1]\nmemory = \"64MiB\"\n"),
            behind - 3,
            "`platform.cores` belongs here: no core is named",
        ),
        (without("cores = [1]\n"), 4, "no core is named"),
        (whole.replace("[1]", "[]"), 5, "no core is named"),
        (without("deadline = \"10ms\"\n"), 8, "`deadline` belongs here"),
        (without(", source = \"guess\""), 11, "`source` belongs here"),
        (without("value = \"1ms\", "), 11, "`value` belongs here"),
        (without(" periodic = \"10ms\""), 9, "`periodic` or `sporadic` or `aperiodic` belongs here"),
        (without("budget = \"1ms\"\n"), 13, "`budget` belongs here"),
    ] {
        let found = labels(&text);
        assert!(found.contains(&(line, says.to_owned())), "{line} {says}: {found:?}\n{text}");
    }
    // The same without any single line.
    for (at, gone) in whole.lines().enumerate().skip(1) {
        let rest: Vec<&str> =
            whole.lines().enumerate().filter(|(other, _)| *other != at).map(|(_, line)| line).collect();
        for (line, says) in labels(&rest.join("\n")) {
            assert!(line > 1, "without `{gone}`: {says}");
        }
    }
}
