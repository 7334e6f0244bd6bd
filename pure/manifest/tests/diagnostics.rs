// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Texts with mistakes, and everything that one load reports about them.

use taut_manifest::{SourceText, load, render, to_json};

fn shown(text: &str) -> String {
    let source = SourceText { name: "taut.toml".into(), text: text.into() };
    let loaded = load(&source, &[]);
    assert!(loaded.model.is_none(), "an error was expected");
    render(&loaded.diagnostics, &[&source], false, 120)
}

/// `code line:column text-at-the-place` of each diagnostic.
fn places(text: &str) -> Vec<String> {
    let source = SourceText { name: "taut.toml".into(), text: text.into() };
    let loaded = load(&source, &[]);
    let json = to_json(&loaded.diagnostics, &[&source]);
    let list = json["diagnostics"].as_array().expect("a list");
    let place = |d: &serde_json::Value| {
        let at = &d["primary"];
        let (start, end) = (
            at["start"].as_u64().expect("a number") as usize,
            at["end"].as_u64().expect("a number") as usize,
        );
        format!(
            "{} {}:{} {}",
            d["code"].as_str().expect("a text"),
            at["line"],
            at["column"],
            &text[start..end]
        )
    };
    list.iter().map(place).collect()
}

const MANY: &str = r#"manifest = 1

[app]
name = "Cochlear"

[platform]
cores = [0]
housekeeping = [0, 1]
memory = "1MiB"
on-missing-privilege = "ignore"

[payloads]
Frame = { fields = { level = "u8", time = "u64" } }
Sample = { type = "f32" }

[services.sound]
persistent = "4MiB"

[tasks.recording]
service = "sond"
arrival = { periodic = "8ms" }
deadline = "20ms"
wcet = { value = "200us", source = "measured", margin = "50%" }
core = 7
priority = 120
dedline = "2ms"

[tasks.processing]
arrival = { periodic = "8ms" }
deadline = 5
wcet = { value = "1ms", source = "measured", margin = "50" }

[tasks.output]
service = "sound"
arrival = { sporadic = "16ms", trigger = "electrodes" }
deadline = "1ms"
wcet = { value = "2ms", source = "measured" }
priority = 70

[tasks.logger]
arrival = { periodic = "8ms" }
deadline = "8ms"
wcet = { value = "1ms", source = "guess" }
priority = 70

[clients.ui]
[clients.ui2]
[channels.audio]
kind = "queue"
from = "recording"
to = "processing"
payload = "Frame"

[channels.electrodes]
kind = "queue"
from = "logger"
to = "output"
payload = "Sample"
capacity = 0

[channels.levels]
kind = "queue"
from = "ui"
to = "ui2"
payload = "Sampel"

[channels.settings]
kind = "state"
mechanism = "fmlp"
from = "ui"
to = "processing"
payload = "Sample"

[channels.nobody]
kind = "queue"
to = "logger"
payload = "Sample"

[[chains]]
name = "through"
path = ["recording", "audio", "output"]
max-latency = "16ms"
"#;

#[test]
fn many_mistakes_in_one_go() {
    assert_eq!(
        places(MANY),
        [
            "TAUT0303 4:8 \"Cochlear\"",
            "TAUT0502 8:17 0",
            "TAUT0108 10:24 \"ignore\"",
            "TAUT0413 13:43 \"u64\"",
            "TAUT0302 20:11 \"sond\"",
            "TAUT0212 22:12 \"20ms\"",
            "TAUT0501 24:8 7",
            "TAUT0505 25:12 120",
            "TAUT0102 26:1 dedline",
            "TAUT0105 30:12 5",
            "TAUT0107 31:55 \"50\"",
            "TAUT0407 35:24 \"16ms\"",
            "TAUT0213 37:18 \"2ms\"",
            "TAUT0506 44:12 70",
            "TAUT0408 59:12 0",
            "TAUT0410 62:8 \"queue\"",
            "TAUT0302 65:11 \"Sampel\"",
            "TAUT0110 69:13 \"fmlp\"",
            "TAUT0401 74:11 nobody",
            "TAUT0304 81:31 \"output\"",
        ]
    );
    insta::assert_snapshot!(shown(MANY));
}

/// A mistake in a table hides no other mistake in it, and references to the table's name still resolve.
#[test]
fn several_in_one_table() {
    let text = format!(
        "{HEAD}[payloads]\nP = {{ type = \"f32\" }}\n[tasks.fast]\narrival = {{ periodic = \"8 minutes\" }}\n\
         deadline = \"5ms\"\nwcet = {{ value = \"6ms\", source = \"measurd\" }}\ncore = 3\npriority = 120\n\
         service = \"none\"\n[tasks.slow]\ndeadline = 5\narrival = {{ periodic = \"9ms\", offset = \"9ms\" }}\n\
         [channels.q]\nkind = \"queue\"\nfrom = \"fast\"\nto = \"slwo\"\npayload = \"P\"\ncapacity = 0\n"
    );
    insta::assert_snapshot!(shown(&text));
}

#[test]
fn names_have_at_most_63_characters() {
    let text = |name: String| format!("manifest = 1\n[app]\nname = \"{name}\"\n");
    for name in ["".to_owned(), "-a".into(), "a_b".into(), "a b".into(), "é".into(), "a".repeat(64)] {
        assert_eq!(places(&text(name.clone())), [format!("TAUT0303 3:8 \"{name}\"")]);
    }
    for name in ["a".to_owned(), "a-1".into(), "a".repeat(63)] {
        assert_eq!(places(&text(name)), Vec::<String>::new());
    }
}

/// Mistakes after an unreadable line are still found.
#[test]
fn mistakes_around_a_line_that_cannot_be_read() {
    let text = format!(
        "{HEAD}[tasks.a]\ndeadline \"1ms\"\npriority = \"high\"\n=\n[services.b]\npersistnt = \"1KiB\"\n"
    );
    assert_eq!(
        places(&text),
        ["TAUT0101 7:10 ", "TAUT0104 8:12 \"high\"", "TAUT0101 9:1 ", "TAUT0102 11:1 persistnt"]
    );
}

/// A text that is not a manifest at all is one mistake, not one per line.
#[test]
fn a_text_of_another_kind() {
    let yaml = "robot:\n".to_owned() + &"  period: 8ms\n".repeat(30);
    let prose = "A robot has joints.\n".repeat(30);
    for text in [yaml, prose] {
        assert_eq!(places(&text).len(), 1, "{:?}", places(&text));
        let source = SourceText { name: "taut.toml".into(), text };
        let reported = to_json(&load(&source, &[]).diagnostics, &[&source]).to_string();
        assert!(reported.contains("lines cannot be read: is it a manifest?"), "{reported}");
    }
    // A manifest with as many mistakes, which are not most of it.
    let text = HEAD.to_owned() + &"[tasks.a]\n=\ndeadline = \"1ms\"\npriority = 1\n".repeat(9);
    assert!(
        places(&text).iter().filter(|place| place.starts_with("TAUT0101")).count() == 9,
        "{:?}",
        places(&text)
    );
}

/// Keys that an unclosed text swallowed are not reported as missing.
#[test]
fn an_unclosed_text() {
    let text = format!(
        "{HEAD}[tasks.a]\nservice = \"\"\"sound\narrival = {{ periodic = \"8ms\" }}\ndeadline = \"5ms\"\n"
    );
    assert_eq!(places(&text).len(), 1, "{:?}", places(&text));
}

/// A missing comma in a list of several lines swallows nothing.
#[test]
fn a_comma_is_missing() {
    let text = format!(
        "{HEAD}housekeeping = [\n  0\n  2,\n]\nmemory = \"1\"\n[tasks.a]\nwcet = {{ value = \"1ms\" source = \"guess\" }}\n"
    );
    let missing = "TAUT0103 11:1 [tasks.a]";
    assert_eq!(
        places(&text),
        ["TAUT0101 8:3 ", "TAUT0106 10:10 \"1\"", missing, missing, "TAUT0101 12:24 "],
        "it has no arrival and no deadline"
    );
}

const HEAD: &str = "manifest = 1\n[app]\nname = \"demo\"\n[platform]\ncores = [1]\n";

#[test]
fn several_syntax_errors() {
    let text = format!(
        "{HEAD}[tasks.a]\ndeadline = \narrival = {{ periodic = \"8ms }}\n[tasks.b]\npriority = 08\n\
         wcet = {{ value = \"1ms\" source = \"guess\" }}\ncor = 3\n"
    );
    insta::assert_snapshot!(shown(&text));
}

#[test]
fn an_unclosed_list_does_not_swallow_the_rest() {
    insta::assert_snapshot!(shown(&format!(
        "{HEAD}[[chains]]\npath = [\"a\", \"b\"\nname = \"c\"\n[tasks.a]\nx = 1\n"
    )));
}

#[test]
fn a_broken_header_says_nothing_about_the_rest() {
    insta::assert_snapshot!(shown(&format!("{HEAD}[tasks.a\ndeadline = \"1ms\"\n[tasks.b]\nx = 1\n")));
}

#[test]
fn a_line_without_an_equals_sign() {
    insta::assert_snapshot!(shown(&format!(
        "{HEAD}[tasks.a]\ndeadline \"1ms\"\n[services.b]\npersistnt = \"1KiB\"\n"
    )));
}

#[test]
fn names_given_twice() {
    let task = "[tasks.a]\narrival = { periodic = \"8ms\" }\ndeadline = \"8ms\"\nwcet = { value = \"1ms\", source = \"guess\" }\n";
    insta::assert_snapshot!(shown(&format!(
        "{HEAD}memory = \"1MiB\"\nmemory = \"2MiB\"\n{task}core = 1\n{task}"
    )));
}

#[test]
fn an_empty_file() {
    insta::assert_snapshot!(shown(""));
}

#[test]
fn things_of_the_wrong_shape() {
    let text = "manifest = \"1\"\ntasks = 3\nchains = { a = 1 }\n[app]\nname = 7\n[platform]\ncores = [\"0\", 1.5]\n\
                housekeeping = \"auto\"\noverheads = \"10us\"\nmemory = 64\n[payloads]\nA = \"u8\"\nB = { type = \"bool\" }\nC = {}\n\
                D = { fields = {} }\nE = { type = \"u8\", len = 0 }\nF = { type = \"u8\", fields = { a = \"u8\" } }\n\
                [clients.c]\nmin-gap = \"5 minutes\"\n[services.s]\npersistent = [\"1KiB\"]\n";
    insta::assert_snapshot!(shown(text));
}

#[test]
fn classes_do_not_mix() {
    let text = format!(
        "{HEAD}[tasks.a]\nclass = \"best-effort\"\ndeadline = \"1ms\"\npriority = 3\n[tasks.b]\nclass = \"soft\"\n[tasks.c]\n\
         min-gap = \"1ms\"\narrival = {{ }}\ndeadline = \"1ms\"\nwcet = {{ value = \"1us\", source = \"static\" }}\n\
         on-overrun = \"kill-job\"\n"
    );
    insta::assert_snapshot!(shown(&format!("{text}[channels.x]\nkind = \"quue\"\npayload = \"P\"\n")));
}

fn channels(text: &str) -> String {
    let task = |name: &str| {
        format!(
            "[tasks.{name}]\narrival = {{ periodic = \"8ms\" }}\ndeadline = \"8ms\"\nwcet = {{ value = \"1ms\", source = \"guess\" }}\n"
        )
    };
    format!(
        "{HEAD}[payloads]\nP = {{ type = \"f32\" }}\n[clients.ui]\n[clients.web]\n[tasks.log]\nclass = \"best-effort\"\n{}{}{}{text}",
        task("fast"),
        task("slow"),
        task("third")
    )
}

#[test]
fn parties_that_no_mechanism_serves() {
    let mut text = String::new();
    for (i, (kind, from, to)) in
        [("state", "\"ui\"", "\"web\""), ("queue", "\"fast\"", "\"log\""), ("queue", "\"log\"", "\"ui\"")]
            .into_iter()
            .enumerate()
    {
        text.push_str(&format!(
            "[channels.c{i}]\nkind = \"{kind}\"\nfrom = {from}\nto = {to}\npayload = \"P\"\n"
        ));
    }
    insta::assert_snapshot!(shown(&channels(&text)));
}

/// A state with a real-time reader and a pinned mechanism: no report means that the mechanism serves the parties.
#[test]
fn pinned_mechanisms_of_states() {
    let mut text = String::new();
    for (i, (from, to, mechanism)) in [
        ("\"fast\"", "\"slow\"", "chen"),
        ("\"fast\"", "[\"slow\", \"log\"]", "presence"),
        ("\"fast\"", "[\"slow\", \"ui\"]", "nbw"),
        ("\"ui\"", "[\"fast\", \"web\"]", "hybrid"),
        ("\"fast\"", "[\"slow\", \"ui\"]", "chen"),
        ("\"ui\"", "[\"fast\", \"slow\"]", "nbw"),
        ("\"fast\"", "\"log\"", "improved-chen"),
        ("\"fast\"", "\"slow\"", "sdrtw"),
    ]
    .into_iter()
    .enumerate()
    {
        text.push_str(&format!(
            "[channels.c{i}]\nkind = \"state\"\nfrom = {from}\nto = {to}\npayload = \"P\"\nmechanism = \"{mechanism}\"\n"
        ));
    }
    insta::assert_snapshot!(shown(&channels(&text)));
}

#[test]
fn parties_that_do_not_fit() {
    let text = "[channels.a]\nkind = \"queue\"\nfrom = [\"fast\", \"fats\"]\nto = [\"slow\", \"slow\"]\npayload = \"P\"\ncapacity = 100000\n\
                mechanism = \"fmlp\"\n[channels.b]\nkind = \"state\"\nfrom = \"fast\"\nto = [\"ui\", \"log\"]\npayload = \"P\"\noverflow = \"clear\"\n\
                mechanism = \"qrtr\"\n[tasks.r]\narrival = { sporadic = \"8ms\", trigger = \"b\" }\ndeadline = \"8ms\"\n\
                wcet = { value = \"1ms\", source = \"guess\" }\n[tasks.s]\narrival = { sporadic = \"8ms\", trigger = \"c\" }\ndeadline = \"8ms\"\n\
                wcet = { value = \"1ms\", source = \"guess\" }\n[channels.c]\nkind = \"queue\"\nfrom = \"web\"\nto = \"third\"\npayload = \"P\"\n";
    insta::assert_snapshot!(shown(&channels(text)));
}

#[test]
fn chains_that_do_not_connect() {
    let chain = |name: &str, path: &str| {
        format!("[[chains]]\nname = \"{name}\"\npath = [{path}]\nmax-latency = \"9ms\"\n")
    };
    let text = [
        "[channels.q]\nkind = \"queue\"\nfrom = \"fast\"\nto = \"slow\"\npayload = \"P\"\n".to_owned(),
        "[channels.l]\nkind = \"state\"\nfrom = \"slow\"\nto = [\"ui\", \"web\", \"log\"]\npayload = \"P\"\n"
            .to_owned(),
        chain("good", "\"fast\", \"q\", \"slow\""),
        chain("empty", ""),
        chain("client", "\"fast\", \"q\", \"slow\", \"l\", \"ui\""),
        chain("best-effort", "\"fast\", \"q\", \"slow\", \"l\", \"log\""),
        chain("ends-early", "\"fast\", \"q\""),
        chain("good", "\"q\", \"fast\", \"slow\""),
        chain("unknown", "\"fast\", \"qq\", \"nobody\""),
        "[[chains]]\nname = \"no-path\"\nmax-latency = \"9\"\n".to_owned(),
    ]
    .concat();
    insta::assert_snapshot!(shown(&channels(&text)));
}

#[test]
fn circles_of_triggers() {
    let mut text = format!("{HEAD}[payloads]\nP = {{ type = \"f32\" }}\n");
    for (task, by) in [("a", "c"), ("b", "a"), ("c", "b"), ("d", "c")] {
        text.push_str(&format!(
            "[tasks.{task}]\narrival = {{ sporadic = \"8ms\", trigger = \"{by}-{task}\" }}\ndeadline = \"8ms\"\n\
             wcet = {{ value = \"1ms\", source = \"guess\" }}\n[channels.{by}-{task}]\nkind = \"queue\"\nfrom = \"{by}\"\nto = \"{task}\"\npayload = \"P\"\n"
        ));
    }
    insta::assert_snapshot!(shown(&text));
}

#[test]
fn triggers_that_release_nothing() {
    let mut text = format!("{HEAD}[payloads]\nP = {{ type = \"f32\" }}\n[clients.ui]\n");
    for (task, arrival) in [
        ("none", ""),
        ("both", ", trigger = \"q-both\", triggers = [\"r-both\"]"),
        ("twice", ", triggers = [\"q-twice\", \"r-twice\", \"q-twice\"]"),
        ("other", ", triggers = [\"q-other\", \"r-both\"]"),
        ("fine", ", triggers = [\"q-fine\", \"r-fine\"]"),
    ] {
        text.push_str(&format!(
            "[tasks.{task}]\narrival = {{ sporadic = \"8ms\"{arrival} }}\ndeadline = \"8ms\"\n\
             wcet = {{ value = \"1ms\", source = \"guess\" }}\n"
        ));
        for queue in ["q", "r"] {
            text.push_str(&format!(
                "[channels.{queue}-{task}]\nkind = \"queue\"\nfrom = \"ui\"\nto = \"{task}\"\npayload = \"P\"\n"
            ));
        }
    }
    insta::assert_snapshot!(shown(&text));
}

#[test]
fn messages_that_cannot_be() {
    let mut text = format!(
        "{HEAD}[payloads]\nP = {{ type = \"f32\" }}\n[clients.ui]\n[clients.screen]\n[tasks.idle]\nclass = \"best-effort\"\n"
    );
    for (task, period) in [("a", 4), ("b", 8), ("c", 2)] {
        text.push_str(&format!(
            "[tasks.{task}]\narrival = {{ periodic = \"{period}ms\" }}\ndeadline = \"2ms\"\n\
             wcet = {{ value = \"100us\", source = \"guess\" }}\n"
        ));
    }
    for (name, keys) in [
        ("no-sender", "from = []\nto = \"c\""),
        ("to-two", "from = [\"a\", \"ui\"]\nto = [\"b\", \"c\"]"),
        ("to-idle", "from = [\"a\", \"ui\"]\nto = \"idle\""),
        ("to-screen", "from = [\"ui\", \"idle\"]\nto = \"screen\""),
        ("itself", "from = [\"a\", \"c\"]\nto = \"c\""),
        ("twice", "from = [\"a\", \"b\", \"a\"]\nto = \"c\""),
        ("unknown", "from = [\"a\", \"bb\", \"ui\"]\nto = \"c\""),
        ("too-much", "from = [\"a\", \"b\", \"ui\"]\nto = \"c\"\nsends-per-release = 2"),
        ("steals", "from = [\"a\", \"ui\"]\nto = \"c\"\noverflow = \"steal-lowest\""),
        ("clears", "from = [\"a\", \"ui\"]\nto = \"c\"\noverflow = \"clear\""),
        ("drops", "from = [\"a\", \"ui\"]\nto = \"c\"\noverflow = \"drop-oldest\""),
        ("sends", "from = [\"a\", \"ui\"]\nto = \"c\"\nsends-by-sender = { ui = 2, b = 1 }"),
        ("order", "from = [\"a\", \"ui\"]\nto = \"c\"\norder = \"specified\""),
        ("flows", "from = [\"a\", \"ui\"]\nto = \"c\"\nflow = \"synchronous\""),
    ] {
        text.push_str(&format!("[channels.{name}]\nkind = \"message\"\n{keys}\npayload = \"P\"\n"));
    }
    text.push_str(
        "[channels.plain]\nkind = \"queue\"\nfrom = \"a\"\nto = \"c\"\npayload = \"P\"\norder = \"fifo\"\n",
    );
    insta::assert_snapshot!(shown(&text));
}

/// Lists of payloads.
#[test]
fn payloads_that_cannot_be() {
    let mut text = format!(
        "{HEAD}[payloads]\nP = {{ fields = {{ at = \"u32\", urgency = \"u16\", low = \"u16\" }} }}\n\
         Q = {{ fields = {{ urgency = \"u16\", low = \"u16\" }} }}\nR = {{ type = \"u8\", len = 1048576 }}\n\
         [clients.ui]\n[tasks.idle]\nclass = \"best-effort\"\n"
    );
    for (task, period) in [("a", 4), ("c", 2)] {
        text.push_str(&format!(
            "[tasks.{task}]\narrival = {{ periodic = \"{period}ms\" }}\ndeadline = \"2ms\"\n\
             wcet = {{ value = \"100us\", source = \"guess\" }}\n"
        ));
    }
    for (name, keys) in [
        ("of-queue", "kind = \"queue\"\nfrom = \"a\"\nto = \"c\"\npayload = [\"P\", \"Q\"]"),
        ("of-state", "kind = \"state\"\nfrom = \"a\"\nto = \"c\"\npayload = [\"P\", \"Q\"]"),
        ("of-alarm", "kind = \"alarm\"\nfrom = \"a\"\nto = \"c\"\ncapacity = 2\npayload = [\"P\", \"Q\"]"),
        ("none", "kind = \"message\"\nfrom = \"a\"\nto = \"c\"\npayload = []"),
        ("one", "kind = \"message\"\nfrom = \"a\"\nto = \"c\"\npayload = [\"P\"]"),
        ("twice", "kind = \"message\"\nfrom = [\"a\", \"ui\"]\nto = \"c\"\npayload = [\"P\", \"Q\", \"P\"]"),
        ("unknown", "kind = \"message\"\nfrom = [\"a\", \"ui\"]\nto = \"c\"\npayload = [\"P\", \"PP\"]"),
        ("number", "kind = \"message\"\nfrom = [\"a\", \"ui\"]\nto = \"c\"\npayload = [\"P\", 3]"),
        ("large", "kind = \"message\"\nfrom = [\"idle\", \"ui\"]\nto = \"c\"\npayload = [\"P\", \"R\"]"),
        (
            "ordered",
            "kind = \"message\"\nfrom = [\"a\", \"ui\"]\nto = \"c\"\npayload = [\"P\", \"Q\"]\n\
             order = \"specified\"\norder-by = \"urgency\"",
        ),
        (
            "not-ordered",
            "kind = \"message\"\nfrom = [\"a\", \"ui\"]\nto = \"c\"\npayload = [\"P\", \"Q\"]\n\
             order = \"specified\"\norder-by = \"at\"",
        ),
    ] {
        text.push_str(&format!("[channels.{name}]\n{keys}\n"));
    }
    insta::assert_snapshot!(shown(&text));
}

/// What alarms refuse that other messages do not, and the other way round.
#[test]
fn alarms_that_cannot_be() {
    let mut text = format!(
        "{HEAD}[payloads]\nP = {{ type = \"f32\" }}\n[clients.ui]\n[tasks.idle]\nclass = \"best-effort\"\n"
    );
    for (task, arrival) in [
        ("a", "periodic = \"4ms\""),
        ("b", "periodic = \"8ms\""),
        ("c", "periodic = \"2ms\""),
        ("d", "sporadic = \"2ms\", trigger = \"good\""),
    ] {
        text.push_str(&format!(
            "[tasks.{task}]\narrival = {{ {arrival} }}\ndeadline = \"2ms\"\n\
             wcet = {{ value = \"100us\", source = \"guess\" }}\n"
        ));
    }
    for (name, keys) in [
        ("good", "from = [\"a\", \"d\", \"idle\"]\nto = \"d\"\ncapacity = 4\nlate = \"refuse\""),
        ("unsized", "from = [\"a\", \"b\"]\nto = \"c\""),
        ("by-client", "from = [\"a\", \"ui\"]\nto = \"c\"\ncapacity = 4"),
        ("to-idle", "from = [\"a\", \"b\"]\nto = \"idle\"\ncapacity = 4"),
        ("to-two", "from = [\"a\"]\nto = [\"b\", \"c\"]\ncapacity = 4"),
        ("unseen", "from = [\"a\", \"d\"]\nto = \"d\"\ncapacity = 4"),
        ("twice", "from = [\"a\", \"b\", \"a\"]\nto = \"c\"\ncapacity = 4"),
        ("ordered", "from = \"a\"\nto = \"c\"\ncapacity = 4\norder = \"fifo\""),
        ("drops", "from = \"a\"\nto = \"c\"\ncapacity = 4\noverflow = \"drop-oldest\""),
        ("flows", "from = \"a\"\nto = \"c\"\ncapacity = 4\nflow = \"synchronous\""),
        ("zero", "from = \"a\"\nto = \"c\"\ncapacity = 0"),
        ("other", "from = \"a\"\nto = \"c\"\ncapacity = 4\nmechanism = \"qrtr\""),
        ("later", "from = \"a\"\nto = \"c\"\ncapacity = 4\nlate = \"drop\""),
    ] {
        text.push_str(&format!("[channels.{name}]\nkind = \"alarm\"\n{keys}\npayload = \"P\"\n"));
    }
    text.push_str(
        "[channels.plain]\nkind = \"queue\"\nfrom = \"a\"\nto = \"c\"\npayload = \"P\"\nlate = \"deliver\"\n\
         [channels.message]\nkind = \"message\"\nfrom = \"a\"\nto = \"c\"\npayload = \"P\"\nlate = \"refuse\"\n\
         [[chains]]\nname = \"through\"\npath = [\"a\", \"good\", \"d\"]\nmax-latency = \"50ms\"\n",
    );
    insta::assert_snapshot!(shown(&text));
}

/// What a client of several processes cannot have: an end that stores, or that is woken.
#[test]
fn several_processes_that_cannot_be() {
    let mut text = format!(
        "{HEAD}[payloads]\nP = {{ type = \"f32\" }}\n[clients.panel]\nmax-attached = 8\n[clients.ui]\n\
         [clients.crowd]\nmax-attached = 129\n[tasks.idle]\nclass = \"best-effort\"\n"
    );
    for task in ["a", "b"] {
        text.push_str(&format!(
            "[tasks.{task}]\narrival = {{ periodic = \"4ms\" }}\ndeadline = \"2ms\"\n\
             wcet = {{ value = \"100us\", source = \"guess\" }}\n"
        ));
    }
    for (name, kind, keys) in [
        ("good", "broadcast", "from = \"a\"\nto = [\"b\", \"ui\", \"panel\"]"),
        ("good-queue", "queue", "from = \"a\"\nto = [\"ui\", \"panel\"]\noverflow = \"clear\""),
        ("good-state", "state", "from = [\"ui\", \"a\"]\nto = [\"b\", \"panel\"]"),
        ("writes", "state", "from = \"panel\"\nto = \"a\""),
        ("sends", "message", "from = [\"ui\", \"panel\"]\nto = \"a\""),
        ("is-a-source", "state", "from = [\"a\", \"panel\"]\nto = \"b\""),
        ("calls", "request", "from = [\"panel\"]\nto = \"a\"\nreply = \"P\"\ncapacity = 1"),
        ("takes", "queue", "from = \"a\"\nto = \"panel\""),
        (
            "wakes",
            "queue",
            "from = \"a\"\nto = [\"idle\", \"panel\"]\noverflow = \"clear\"\nreception = \"wait\"",
        ),
        ("wakes-all", "broadcast", "from = \"a\"\nto = [\"b\", \"panel\"]\nreception = \"wait\""),
        ("reserves", "bulk", "from = \"a\"\nto = \"panel\"\noverflow = \"recall\""),
    ] {
        text.push_str(&format!("[channels.{name}]\nkind = \"{kind}\"\n{keys}\npayload = \"P\"\n"));
    }
    insta::assert_snapshot!(shown(&text));
}

/// What cannot keep earlier values for clients.
#[test]
fn histories_that_cannot_be() {
    let mut text = format!(
        "{HEAD}[payloads]\nP = {{ type = \"f32\" }}\n[clients.ui]\n[tasks.idle]\nclass = \"best-effort\"\n"
    );
    for task in ["a", "b"] {
        text.push_str(&format!(
            "[tasks.{task}]\narrival = {{ periodic = \"4ms\" }}\ndeadline = \"2ms\"\n\
             wcet = {{ value = \"100us\", source = \"guess\" }}\n"
        ));
    }
    for (name, kind, keys) in [
        ("good", "broadcast", "from = \"a\"\nto = [\"b\", \"ui\"]"),
        ("good-queue", "queue", "from = \"a\"\nto = [\"ui\", \"idle\"]\noverflow = \"clear\"\ncapacity = 9"),
        ("of-a-state", "state", "from = \"a\"\nto = \"ui\""),
        ("of-a-message", "message", "from = [\"ui\", \"b\"]\nto = \"a\""),
        ("rejects", "queue", "from = \"a\"\nto = \"ui\""),
        ("for-tasks", "broadcast", "from = \"a\"\nto = [\"b\", \"idle\"]"),
        ("too-small", "broadcast", "from = \"a\"\nto = [\"b\", \"ui\"]\ncapacity = 8"),
    ] {
        text.push_str(&format!(
            "[channels.{name}]\nkind = \"{kind}\"\n{keys}\npayload = \"P\"\nhistory = 9\n"
        ));
    }
    insta::assert_snapshot!(shown(&text));
}

/// What broadcasts refuse: writers and readers without a bound, and keys that are of other kinds.
#[test]
fn broadcasts_that_cannot_be() {
    let mut text = format!(
        "{HEAD}[payloads]\nP = {{ type = \"f32\" }}\n[clients.ui]\n[tasks.idle]\nclass = \"best-effort\"\n\
         [tasks.other]\nclass = \"best-effort\"\n"
    );
    for (task, arrival) in [
        ("a", "periodic = \"4ms\""),
        ("b", "periodic = \"8ms\""),
        ("c", "periodic = \"2ms\""),
        ("d", "sporadic = \"2ms\", trigger = \"good\""),
        ("e", "sporadic = \"2ms\", device = \"serial\""),
    ] {
        text.push_str(&format!(
            "[tasks.{task}]\narrival = {{ {arrival} }}\ndeadline = \"2ms\"\n\
             wcet = {{ value = \"100us\", source = \"guess\" }}\n"
        ));
    }
    for (name, keys) in [
        ("good", "from = \"a\"\nto = [\"b\", \"d\", \"c\", \"idle\", \"ui\"]\ntakes-per-release = 2"),
        ("idle-writes", "from = \"idle\"\nto = [\"c\", \"ui\"]"),
        ("observers", "from = \"a\"\nto = [\"idle\", \"ui\"]\nreception = \"wait\""),
        ("by-client", "from = \"ui\"\nto = [\"c\", \"b\"]"),
        ("by-two", "from = [\"a\", \"b\"]\nto = [\"c\"]"),
        ("to-itself", "from = \"a\"\nto = [\"a\", \"c\"]"),
        ("twice", "from = \"a\"\nto = [\"c\", \"c\"]"),
        ("none-urgent", "from = \"idle\"\nto = [\"other\", \"ui\"]"),
        ("unseen", "from = \"a\"\nto = [\"c\", \"d\"]"),
        ("by-device", "from = \"idle\"\nto = [\"c\", \"e\"]"),
        ("too-slow", "from = \"a\"\nto = [\"b\", \"c\"]"),
        ("drops", "from = \"a\"\nto = [\"c\", \"idle\"]\noverflow = \"drop-oldest\""),
        ("ordered", "from = \"a\"\nto = \"c\"\norder = \"fifo\""),
        ("flows", "from = \"a\"\nto = \"c\"\nflow = \"synchronous\""),
        ("waits", "from = \"a\"\nto = [\"c\", \"d\"]\nreception = \"wait\""),
        ("small", "from = \"a\"\nto = \"c\"\ncapacity = 2\nsends-per-release = 3\ntakes-per-release = 3"),
        ("zero", "from = \"a\"\nto = \"c\"\ncapacity = 0"),
        ("other", "from = \"a\"\nto = \"c\"\nmechanism = \"qrtr\""),
    ] {
        text.push_str(&format!("[channels.{name}]\nkind = \"broadcast\"\n{keys}\npayload = \"P\"\n"));
    }
    text.push_str(
        "[channels.plain]\nkind = \"queue\"\nfrom = \"a\"\nto = [\"c\", \"b\"]\npayload = \"P\"\n\
         [channels.pinned]\nkind = \"queue\"\nfrom = \"a\"\nto = \"c\"\npayload = \"P\"\nmechanism = \"broadcast\"\n",
    );
    insta::assert_snapshot!(shown(&text));
}

/// A task that only its own alarms release never starts.
#[test]
fn an_alarm_of_the_receiver_alone_is_a_circle() {
    let text = |from: &str| {
        format!(
            "{HEAD}[payloads]\nP = {{ type = \"f32\" }}\n[tasks.a]\narrival = {{ periodic = \"4ms\" }}\n\
             deadline = \"2ms\"\nwcet = {{ value = \"100us\", source = \"guess\" }}\n\
             [tasks.d]\narrival = {{ sporadic = \"2ms\", trigger = \"alarms\" }}\ndeadline = \"2ms\"\n\
             wcet = {{ value = \"100us\", source = \"guess\" }}\n\
             [channels.alarms]\nkind = \"alarm\"\nfrom = {from}\nto = \"d\"\npayload = \"P\"\ncapacity = 1\n"
        )
    };
    assert_eq!(places(&text("[\"a\", \"d\"]")), Vec::<String>::new());
    let found = places(&text("\"d\""));
    assert!(found.iter().any(|place| place.starts_with("TAUT0305")), "{found:?}");
}

#[test]
fn json_form() {
    let source =
        SourceText { name: "taut.toml".into(), text: format!("{HEAD}cores2 = [1]\nmemory = \"1µB\"\n") };
    let loaded = load(&source, &[]);
    insta::assert_snapshot!(serde_json::to_string_pretty(&to_json(&loaded.diagnostics, &[&source])).unwrap());
}

#[test]
fn figures_at_their_ends() {
    let task = |name: &str, deadline: &str, value: &str, margin: &str| {
        format!(
            "[tasks.{name}]\narrival = {{ periodic = \"8ms\" }}\ndeadline = \"{deadline}\"\n\
             wcet = {{ value = \"{value}\", source = \"guess\", margin = \"{margin}\" }}\n"
        )
    };
    let text = [
        "[payloads]\nEnd = { fields = { a = \"u32\", b = \"u8\" } }\nLarge = { type = \"u64\", len = 200000 }\n".to_owned(),
        "Names = { fields = { Level = \"u8\" } }\n\"3d\" = { type = \"f32\" }\n".to_owned(),
        task("no-deadline", "0ms", "1ms", "0%"),
        task("too-long", "8ms", "18446744073s", "20%"),
        task("odd-margin", "8ms", "1ms", "1.25%"),
        task("fraction", "1.5ns", "1ms", "0%"),
    ];
    insta::assert_snapshot!(shown(&format!("{HEAD}{}", text.concat())));
}

#[test]
fn a_core_with_too_many_tasks() {
    let mut text = HEAD.to_owned();
    for i in 0..100 {
        text.push_str(&format!(
            "[tasks.t{i}]\narrival = {{ periodic = \"8ms\" }}\ndeadline = \"8ms\"\nwcet = {{ value = \"1us\", source = \"guess\" }}\n"
        ));
    }
    insta::assert_snapshot!(shown(&text));
}

#[test]
fn overlays_of_the_wrong_shape() {
    let source = |name: &str, text: &str| SourceText { name: name.into(), text: text.into() };
    let manifest = source("taut.toml", &format!("{HEAD}[tasks.a]\nclass = \"best-effort\"\n"));
    let first = source("first.toml", "manifest = 2\ntasks = 3\nchannels = 4\nplatform = \"pi\"\n");
    let second = source("second.toml", "[tasks]\na = 1\n[tasks.a]\npriority = 3\n[x\n");
    for (overlays, name) in [(vec![first], "first"), (vec![second], "second")] {
        let loaded = load(&manifest, &overlays);
        assert!(loaded.model.is_none());
        let sources = std::iter::once(&manifest).chain(&overlays).collect::<Vec<_>>();
        insta::assert_snapshot!(format!("overlay_{name}"), render(&loaded.diagnostics, &sources, false, 120));
    }
}

#[test]
fn segments_that_do_not_fit() {
    let text = r#"manifest = 1

[app]
name = "demo"

[platform]
cores = [1]

[resources.bus]
[resources.log]

[tasks.order]
arrival = { periodic = "10ms" }
deadline = "10ms"
wcet = { value = "1ms", source = "guess" }
segments = [
    { run = "100us" },
    { hold = "log", segments = [{ hold = "bus", segments = [{ hold = "log", run = "10us" }] }] },
    { hold = "bus", run = "0us" },
    { hold = "buss", run = "900us" },
    { hold = "bus" },
    { run = "1us", segments = [{ run = "1us" }] },
    { segments = [{ run = "1us" }] },
    { hold = "bus", run = 5 },
]
sections = [{ resource = "bus", longest = "1us" }]
non-preemptive = "5us"

[tasks.long]
arrival = { periodic = "10ms" }
deadline = "10ms"
wcet = { value = "1ms", source = "guess" }
segments = [{ run = "900us" }, { hold = "log", run = "200us" }]
"#;
    insta::assert_snapshot!(shown(text));
}

/// A help also says where the plan may choose, and suggests nothing impossible.
#[test]
fn helps_that_can_be_followed() {
    let task = |more: &str, wcet: &str, deadline: &str| {
        format!(
            "manifest = 1\n[app]\nname = \"a\"\n[platform]\ncores = [0]\n[tasks.t]\narrival = {{ periodic = \"8ms\" }}\n\
             deadline = \"{deadline}\"\nwcet = {{ value = \"{wcet}\", source = \"guess\", margin = \"10%\" }}\n{more}\n"
        )
    };
    for wrong in ["priority = \"high\"", "core = 1.5", "core = [0]"] {
        let reported = shown(&task(wrong, "1ms", "8ms"));
        assert!(
            reported.contains("must be a whole number, not") && reported.contains(", or \"auto\""),
            "{reported}"
        );
    }
    let reported = shown(&task("", "1ns", "1ns"));
    assert!(reported.contains("no execution time fits: is the unit of the deadline right?"), "{reported}");
    for (wrong, help) in [
        ("8m", "write \"8ms\" for milliseconds, \"8min\" for minutes"),
        ("8 hours", "write \"8h\""),
        ("1ms 2us", "one number and one unit"),
        ("18446744074s", "584 years"),
    ] {
        let reported = shown(&task("", "1ms", wrong));
        assert!(reported.contains(help), "{reported}");
    }
}

/// What bulk channels refuse that queues do not, and the other way round.
#[test]
fn blocks_that_cannot_be() {
    let mut text = format!(
        "{HEAD}[payloads]\nP = {{ type = \"f32\" }}\nBlock = {{ type = \"u8\", len = 67108864 }}\n\
         Large = {{ type = \"u8\", len = 67108865 }}\nBoth = {{ type = \"u8\", len = 1048577 }}\n\
         Alone = {{ type = \"u8\", len = 1048577 }}\n\
         [clients.ui]\n[tasks.idle]\nclass = \"best-effort\"\n[tasks.lazy]\nclass = \"best-effort\"\n"
    );
    for (task, arrival) in [
        ("a", "periodic = \"4ms\""),
        ("b", "periodic = \"8ms\""),
        ("c", "periodic = \"2ms\""),
        ("d", "sporadic = \"2ms\", trigger = \"good\""),
        ("e", "sporadic = \"2ms\", device = \"timer\""),
    ] {
        text.push_str(&format!(
            "[tasks.{task}]\narrival = {{ {arrival} }}\ndeadline = \"2ms\"\n\
             wcet = {{ value = \"100us\", source = \"guess\" }}\n"
        ));
    }
    for (name, keys) in [
        ("good", "from = \"a\"\nto = \"d\"\npayload = \"Block\"\ntakes-per-release = 3"),
        ("recalls", "from = \"c\"\nto = \"e\"\npayload = \"P\"\noverflow = \"recall\""),
        ("leaves", "from = \"a\"\nto = \"idle\"\npayload = \"P\"\nreception = \"wait\""),
        ("comes", "from = \"idle\"\nto = \"a\"\npayload = \"P\"\ncapacity = 2"),
        ("slow", "from = \"c\"\nto = \"b\"\npayload = \"P\""),
        ("by-client", "from = \"ui\"\nto = \"a\"\npayload = \"P\""),
        ("to-client", "from = \"a\"\nto = \"ui\"\npayload = \"P\""),
        (
            "to-client-recalls",
            "from = \"a\"\nto = \"ui\"\npayload = \"P\"\noverflow = \"recall\"\nreception = \"wait\"",
        ),
        ("to-client-drops", "from = \"a\"\nto = \"ui\"\npayload = \"P\"\noverflow = \"clear\""),
        ("client-to-client", "from = \"ui\"\nto = \"ui\"\npayload = \"P\"\noverflow = \"recall\""),
        ("to-two", "from = \"a\"\nto = [\"b\", \"c\"]\npayload = \"P\""),
        ("idle", "from = \"idle\"\nto = \"lazy\"\npayload = \"P\""),
        ("one", "from = \"a\"\nto = \"c\"\npayload = \"P\"\ncapacity = 1"),
        ("many", "from = \"a\"\nto = \"c\"\npayload = \"P\"\ncapacity = 65"),
        ("burst", "from = \"b\"\nto = \"c\"\npayload = \"P\"\ncapacity = 3\nsends-per-release = 3"),
        ("drops", "from = \"a\"\nto = \"idle\"\npayload = \"P\"\noverflow = \"drop-oldest\""),
        ("waits", "from = \"a\"\nto = \"c\"\npayload = \"P\"\nreception = \"wait\""),
        ("flows", "from = \"a\"\nto = \"c\"\npayload = \"P\"\nflow = \"synchronous\""),
        ("other", "from = \"a\"\nto = \"c\"\npayload = \"P\"\nmechanism = \"qrtr\""),
        ("unseen", "from = \"a\"\nto = \"e\"\npayload = \"P\""),
        ("large", "from = \"a\"\nto = \"c\"\npayload = \"Large\""),
        ("both", "from = \"a\"\nto = \"c\"\npayload = \"Both\""),
        ("recorded", "from = \"a\"\nto = \"c\"\npayload = \"P\"\nrecord = true"),
    ] {
        text.push_str(&format!("[channels.{name}]\nkind = \"bulk\"\n{keys}\n"));
    }
    text.push_str(
        "[channels.queue]\nkind = \"queue\"\nfrom = \"a\"\nto = \"c\"\npayload = \"Both\"\noverflow = \"recall\"\n\
         [channels.state]\nkind = \"state\"\nfrom = \"a\"\nto = \"c\"\npayload = \"Alone\"\nmechanism = \"bulk\"\n\
         [channels.message]\nkind = \"message\"\nfrom = \"a\"\nto = \"c\"\npayload = \"P\"\noverflow = \"recall\"\n\
         [[chains]]\nname = \"through\"\npath = [\"c\", \"recalls\", \"e\"]\nmax-latency = \"50ms\"\n",
    );
    insta::assert_snapshot!(shown(&text));
}

/// A recorded channel of one release of `a`, and what else that records.
fn recorded_blocks(len: u64, sends: u32, more: &str) -> String {
    format!(
        "{HEAD}[payloads]\nBlock = {{ type = \"u8\", len = {len} }}\nP = {{ type = \"u8\" }}\n\
         [tasks.a]\narrival = {{ periodic = \"100ms\" }}\ndeadline = \"100ms\"\nwcet = {{ value = \"9ms\", source = \"guess\" }}\n\
         [tasks.b]\narrival = {{ periodic = \"100ms\" }}\ndeadline = \"100ms\"\nwcet = {{ value = \"9ms\", source = \"guess\" }}\n\
         [channels.images]\nkind = \"bulk\"\nfrom = \"a\"\nto = \"b\"\npayload = \"Block\"\nsends-per-release = {sends}\n\
         takes-per-release = {sends}\nrecord = true\n\
         [channels.p]\nkind = \"queue\"\nfrom = \"a\"\nto = \"b\"\npayload = \"P\"\n{more}"
    )
}

/// A ring of recorded values has 16 MiB, 2¹⁹ slots of 32 bytes. Of them a release takes 6, and each block 2 besides its own.
#[test]
fn recorded_blocks_fit_into_a_ring_or_are_refused() {
    const SLOTS: u64 = 1 << 19;
    let one = (SLOTS - 6 - 2) * 32;
    let three = ((SLOTS - 6) / 3 - 2) * 32;
    // A value of a byte in a queue takes 2 slots.
    let (beside, alone) = ("record = true\n", "");
    for (len, sends, more) in [(one, 1, alone), (three, 3, alone), (one - 2 * 32, 1, beside)] {
        let text = |len| recorded_blocks(len, sends, more);
        assert_eq!(places(&text(len)), Vec::<String>::new(), "{len}");
        let refused = places(&text(len + 1));
        assert_eq!(refused.len(), 1, "{refused:?}");
        assert!(refused[0].starts_with("TAUT0460") && refused[0].ends_with(" true"), "{refused:?}");
        // What is not recorded needs no ring.
        let unrecorded = text(len + 1).replace("takes-per-release = 1\nrecord = true", "");
        let unrecorded = unrecorded.replace("takes-per-release = 3\nrecord = true", "takes-per-release = 3");
        assert_eq!(places(&unrecorded), Vec::<String>::new());
    }
    insta::assert_snapshot!(shown(&recorded_blocks(three + 1, 3, beside)));
    // Of a payload that is faulty itself, nothing more is said.
    let faulty = places(&recorded_blocks(1 << 40, 1, alone));
    assert!(faulty.iter().all(|place| !place.starts_with("TAUT0460")), "{faulty:?}");
}

/// Aperiodic tasks with what a server cannot bound, and with channels that they cannot have.
#[test]
fn aperiodic_tasks_that_cannot_be() {
    insta::assert_snapshot!(shown(
        r#"manifest = 1

[app]
name = "demo"

[platform]
cores = [1]

[payloads]
Request = { type = "f32" }

[servers.ui]
policy = "deferrable"
budget = "2ms"
period = "20ms"

[servers.other]
policy = "deferrable"
budget = "2ms"
period = "20ms"

[tasks.alone]
arrival = { aperiodic = ["orders"] }
wcet = { value = "1ms", source = "guess" }

[tasks.ends]
arrival = { aperiodic = ["wishes"] }
server = "ui"
deadline = "100ms"
wcet = { value = "1ms", source = "guess" }
on-overrun = "kill-job"
jitter = "2ms"

[tasks.jitters]
arrival = { aperiodic = ["all", "due"] }
server = "other"
jitter = "1ms"
wcet = { value = "1ms", source = "guess" }

[tasks.control]
arrival = { periodic = "10ms" }
wcet = { value = "1ms", source = "guess" }

[channels.orders]
kind = "queue"
from = "control"
to = "alone"
payload = "Request"

[channels.wishes]
kind = "queue"
from = "control"
to = "ends"
payload = "Request"

[channels.all]
kind = "broadcast"
from = "control"
to = "jitters"
payload = "Request"

[channels.due]
kind = "alarm"
from = "control"
to = "jitters"
payload = "Request"
capacity = 2

[channels.back]
kind = "message"
from = ["alone", "ends"]
to = "control"
payload = "Request"

[[chains]]
name = "through"
path = ["control", "orders", "alone"]
max-latency = "1s"
"#
    ));
}
