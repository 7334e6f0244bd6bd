// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Which flows may be synchronous, and what a model knows about them.
#![allow(clippy::unwrap_used, reason = "test code")]

use taut_manifest::{SourceText, load, render};
use taut_model::{Code, Flow, Model, codes};

const HEAD: &str = "manifest = 1\n[app]\nname = \"demo\"\n[platform]\ncores = [0, 1]\n\
                    [payloads]\nSample = { type = \"u64\" }\n[clients.ui]\n";

fn task(name: &str, more: &str) -> String {
    let arrival = if more.contains("arrival") { "" } else { "arrival = { periodic = \"10ms\" }\n" };
    let deadline = if more.contains("deadline") { "" } else { "deadline = \"10ms\"\n" };
    let wcet = "wcet = { value = \"1ms\", source = \"guess\" }\n";
    format!("[tasks.{name}]\n{arrival}{deadline}{wcet}{more}\n")
}

fn state(name: &str, from: &str, to: &str, more: &str) -> String {
    format!(
        "[channels.{name}]\nkind = \"state\"\nfrom = \"{from}\"\nto = {to}\npayload = \"Sample\"\n{more}\n"
    )
}

const SYNCHRONOUS: &str = "flow = \"synchronous\"";

fn read(text: &str) -> (Option<Model>, Vec<Code>, String) {
    let source = SourceText { name: "taut.toml".into(), text: format!("{HEAD}{text}") };
    let loaded = load(&source, &[]);
    let shown = render(&loaded.diagnostics, &[&source], false, 100);
    let found = loaded.diagnostics.iter().map(|d| d.code).filter(|code| *code != codes::UNUSED).collect();
    (loaded.model, found, shown)
}

fn found(text: &str) -> Vec<Code> {
    read(text).1
}

/// Tasks `a`, `b` and `c`, each with these lines.
fn three(a: &str, b: &str, c: &str) -> String {
    [task("a", a), task("b", b), task("c", c)].concat()
}

#[test]
fn links_are_those_without_a_delay() {
    let x = state("x", "a", "[\"b\", \"c\"]", &format!("{SYNCHRONOUS}\ndelayed = \"c\""));
    let y = state("y", "b", "\"c\"", SYNCHRONOUS);
    let z = state("z", "c", "\"a\"", "");
    let (model, codes, shown) = read(&[three("", "", ""), x, y, z].concat());
    assert_eq!(codes, [], "{shown}");
    let model = model.unwrap();
    let flows: Vec<Flow> = model.channels().iter().map(|channel| channel.flow).collect();
    assert_eq!(flows, [Flow::Synchronous, Flow::Synchronous, Flow::Newest]);
    assert_eq!(model.channels()[0].delayed, [false, true]);
    let name = |id| model.task(id).name.as_str();
    let links: Vec<_> =
        model.links().map(|link| (link.channel.index(), name(link.writer), name(link.reader))).collect();
    assert_eq!(links, [(0, "a", "b"), (1, "b", "c")]);
}

#[test]
fn parties_are_periodic_and_real_time() {
    let one = |b: &str| [three("", b, ""), state("x", "a", "\"b\"", SYNCHRONOUS)].concat();
    assert_eq!(found(&one("")), []);
    assert_eq!(found(&one("deadline = \"20ms\"\non-overrun = \"run-on\"")), [codes::BAD_FLOW]);
    assert_eq!(
        found(&one(
            "server = \"s\"\n[servers.s]\npolicy = \"polling\"\nbudget = \"2ms\"\nperiod = \"10ms\"\ncore = 0\n"
        )),
        [codes::BAD_FLOW]
    );
    let receiver = "arrival = { sporadic = \"10ms\", trigger = \"q\" }";
    let queue = "[channels.q]\nkind = \"queue\"\nfrom = \"a\"\nto = \"b\"\npayload = \"Sample\"\n";
    assert_eq!(found(&[&one(receiver), queue].concat()), [codes::BAD_FLOW]);
    let best_effort = "[tasks.log]\nclass = \"best-effort\"\n";
    let two = state("x", "a", "[\"b\", \"log\", \"ui\"]", SYNCHRONOUS);
    assert_eq!(found(&[&three("", "", ""), best_effort, &two].concat()), [codes::BAD_FLOW; 2]);
    let queue = queue.to_owned() + SYNCHRONOUS;
    assert_eq!(found(&[three("", "", ""), queue].concat()), [codes::BAD_FLOW]);
}

#[test]
fn readers_are_62_at_most() {
    let many = |count: usize| {
        let names: Vec<String> = (0..count).map(|at| format!("\"r{at}\"")).collect();
        let tasks: String = (0..count).map(|at| task(&format!("r{at}"), "")).collect();
        [task("a", ""), tasks, state("x", "a", &format!("[{}]", names.join(", ")), SYNCHRONOUS)].concat()
    };
    assert_eq!(found(&many(62)), []);
    assert_eq!(found(&many(63)), [codes::BAD_FLOW]);
}

#[test]
fn delays_are_of_readers() {
    let with = |more: &str| [three("", "", ""), state("x", "a", "\"b\"", more)].concat();
    assert_eq!(found(&with("delayed = \"b\"")), [codes::BAD_FLOW]);
    let delayed = |list: &str| with(&format!("{SYNCHRONOUS}\ndelayed = {list}"));
    assert_eq!(found(&delayed("\"b\"")), []);
    assert_eq!(found(&delayed("\"c\"")), [codes::BAD_FLOW]);
    assert_eq!(found(&delayed("[\"b\", \"b\"]")), [codes::PARTY_TWICE]);
}

#[test]
fn a_circle_needs_a_delay() {
    let x = |more: &str| state("x", "a", "\"b\"", &format!("{SYNCHRONOUS}\n{more}"));
    let y = |more: &str| state("y", "b", "\"c\"", &format!("{SYNCHRONOUS}\n{more}"));
    let z = |more: &str| state("z", "c", "[\"a\", \"b\"]", &format!("{SYNCHRONOUS}\n{more}"));
    let all = |p: &str, q: &str, r: &str| found(&[three("", "", ""), x(p), y(q), z(r)].concat());
    assert_eq!(all("", "", "delayed = [\"a\", \"b\"]"), []);
    assert_eq!(all("", "delayed = \"c\"", ""), []);
    assert_eq!(all("", "", "delayed = \"a\""), [codes::FLOW_CYCLE]);
    assert_eq!(all("delayed = \"b\"", "", ""), [codes::FLOW_CYCLE]);
    assert_eq!(all("", "", ""), [codes::FLOW_CYCLE; 2]);
    let self_made = [three("", "", ""), x(""), state("z", "b", "\"a\"", "")].concat();
    assert_eq!(found(&self_made), [], "the newest value orders nothing");
}

#[test]
fn who_waits_on_one_core_is_less_urgent() {
    let place = |core: u32, priority: u32| format!("core = {core}\npriority = {priority}");
    let pinned = |a: &str, b: &str, more: &str| {
        found(&[three(a, b, ""), state("x", "a", "\"b\"", &format!("{SYNCHRONOUS}\n{more}"))].concat())
    };
    assert_eq!(pinned(&place(0, 20), &place(0, 10), ""), []);
    assert_eq!(pinned(&place(0, 10), &place(0, 20), ""), [codes::FLOW_ORDER]);
    assert_eq!(pinned(&place(0, 10), &place(0, 20), "delayed = \"b\""), []);
    assert_eq!(pinned(&place(0, 10), &place(1, 20), ""), [], "across cores it waits");
    assert_eq!(pinned("priority = 10", "priority = 20", ""), [], "nothing says that they share a core");
}

#[test]
fn mechanisms_of_flows_are_two() {
    let with = |flow: &str, mechanism: &str| {
        let more = format!("{flow}\nmechanism = \"{mechanism}\"");
        found(&[three("", "", ""), state("x", "a", "\"b\"", &more)].concat())
    };
    for mechanism in ["dbp", "tccp"] {
        assert_eq!(with(SYNCHRONOUS, mechanism), []);
        assert_eq!(with("", mechanism), [codes::MECHANISM_MISFIT]);
    }
    for mechanism in ["chen", "nbw", "msrp"] {
        assert_eq!(with(SYNCHRONOUS, mechanism), [codes::MECHANISM_MISFIT]);
        assert_eq!(with("", mechanism), []);
    }
}

#[test]
fn what_is_said_of_a_flow() {
    let x = state("x", "a", "[\"b\", \"ui\"]", "flow = \"synchronous\"\ndelayed = [\"c\", \"d\"]");
    let y = state("y", "b", "\"a\"", "flow = \"newest\"\ndelayed = \"a\"");
    let z = state("z", "b", "\"c\"", "flow = \"latest\"\nmechanism = \"dbp\"");
    let w = state("w", "b", "\"a\"", "mechanism = \"tccp\"");
    let shown = read(&[three("", "deadline = \"15ms\"\non-overrun = \"run-on\"", ""), x, y, z, w].concat()).2;
    insta::assert_snapshot!(shown);
}
