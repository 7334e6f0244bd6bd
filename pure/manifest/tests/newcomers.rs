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
