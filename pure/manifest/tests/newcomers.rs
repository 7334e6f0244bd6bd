// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! What people write first who come from other tools: the message names the place and the remedy.

use taut_manifest::{Source, load, render};

const HEAD: &str = "manifest = 1\n[app]\nname = \"x\"\n[platform]\ncores = [1]\n";
const TASK: &str = "[tasks.a]\narrival = { periodic = \"10ms\" }\ndeadline = \"10ms\"\n\
                    wcet = { value = \"1ms\", source = \"guess\" }\n";

/// What is wrong, with `TASK` for a whole task; the code, and what the message must say.
const CASES: &[(&str, &str, &str)] = &[
    ("TASKperiod = \"10ms\"", "TAUT0102", "write `arrival = { periodic = \"10ms\" }`"),
    ("TASKrate = 100", "TAUT0102", "`arrival = { periodic = \"10ms\" }` for 100 a second"),
    ("TASKfrequency = 100", "TAUT0102", "`arrival = { periodic = \"10ms\" }` for 100 a second"),
    ("[tasks.a]\ndeadline = \"10ms\"", "TAUT0103", "add `arrival = { periodic = \"8ms\" }`"),
    ("[tasks.a]\ndeadline = \"10ms\"", "TAUT0103", "add `wcet = { value = \"1ms\", source = \"guess\" }`"),
    ("[tasks.a]\narrival = \"periodic\"", "TAUT0104", "as in `arrival = { periodic = \"8ms\" }`"),
    ("[tasks.a]\nwcet = \"1ms\"", "TAUT0104", "as in `wcet = { value = \"1ms\", source = \"guess\" }`"),
    ("[tasks.a]\narrival = { aperiodic = \"1ms\" }", "TAUT0102", "write `{ sporadic = \"10ms\", trigger"),
    ("[tasks.a]\ndeadline = \"-10ms\"", "TAUT0105", "a duration cannot be negative"),
    ("[payloads]\nP = { type = \"u8*16\" }", "TAUT0111", "write `type = \"u8\", len = 16`"),
    ("[channels.c]\ntype = \"P\"", "TAUT0102", "write `payload = \"…\"`: a name of `[payloads]`"),
    ("[tasks.a]\nclass = \"hard\"", "TAUT0108", "did you mean \"real-time\"?"),
    ("TASK[platform2]", "TAUT0102", "did you mean `platform`?"),
    (
        "[services.s]\n[tasks.b]\nclass = \"best-effort\"\nservice = \"s\"",
        "TAUT0113",
        "`service` does not go with `class = \"best-effort\"`",
    ),
];

#[test]
fn messages_name_the_remedy() {
    for (text, code, says) in CASES {
        let text = format!("{HEAD}{}\n", text.replace("TASK", TASK));
        let source = Source { name: "taut.toml".to_owned(), text };
        let loaded = load(&source, &[]);
        let shown = render(&loaded.diagnostics, &[&source], false, 200);
        let of_code = shown.split("\n\n").filter(|message| message.contains(&format!("[{code}]")));
        let found =
            of_code.filter(|message| message.contains(says) && message.contains("taut.toml:")).count();
        assert_eq!(found, 1, "{code} should say {says}:\n{shown}");
        assert!(loaded.model.is_none(), "{text}", text = source.text);
    }
}

/// The words of other tools for the scheduler.
#[test]
fn words_of_other_tools_are_known() {
    for (word, meant) in [("rm", "fp"), ("rate-monotonic", "fp"), ("fixed-priority", "fp")] {
        let text = format!("{HEAD}scheduler = \"{word}\"\n{TASK}");
        let source = Source { name: "taut.toml".to_owned(), text };
        let shown = render(&load(&source, &[]).diagnostics, &[&source], false, 200);
        assert!(shown.contains(&format!("did you mean \"{meant}\"?")), "{shown}");
    }
}

/// The line of what each diagnostic is about, and what is said there.
fn labels(text: &str) -> Vec<(usize, String)> {
    let source = Source { name: "taut.toml".to_owned(), text: text.to_owned() };
    let line = |at: usize| text[..at].matches('\n').count() + 1;
    let of = |d: &taut_manifest::Diagnostic| (line(d.primary.range.start), d.primary.text.clone());
    load(&source, &[]).diagnostics.iter().map(of).collect()
}

/// A key belongs into its table, a table behind the last line: nothing that is missing is in the first line, but for what
/// has to stand there.
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
        (without(" periodic = \"10ms\""), 9, "`periodic` or `sporadic` belongs here"),
        (without("budget = \"1ms\"\n"), 13, "`budget` belongs here"),
    ] {
        let found = labels(&text);
        assert!(found.contains(&(line, says.to_owned())), "{line} {says}: {found:?}\n{text}");
    }
    // Whatever line is gone.
    for (at, gone) in whole.lines().enumerate().skip(1) {
        let rest: Vec<&str> =
            whole.lines().enumerate().filter(|(other, _)| *other != at).map(|(_, line)| line).collect();
        for (line, says) in labels(&rest.join("\n")) {
            assert!(line > 1, "without `{gone}`: {says}");
        }
    }
}
