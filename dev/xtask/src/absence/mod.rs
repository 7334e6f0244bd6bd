// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Checks the rules of absence, which say what code must not contain. ARCHITECTURE.md lists them by name.

mod circles;
mod edges;
mod meanings;
pub(crate) mod source;
mod words;

pub(crate) use edges::{Edge, Graph, PEERS};

use crate::step::{Outcome, Step};
use crate::tree::{Finding, Tree};

type EdgeRule = (&'static str, fn(&Graph) -> Vec<Finding>);

const EDGE_RULES: &[EdgeRule] =
    &[("edges", edges::edges), ("sides", edges::sides), ("apps", edges::apps), ("linux", edges::linux)];

/// One step per rule.
pub(crate) fn steps() -> Vec<Step> {
    let edges = EDGE_RULES.iter().map(|(name, rule)| {
        Step::new(format!("absence {name}"), move |tree| match Graph::read(tree) {
            Ok(graph) => Outcome::of_findings(&rule(&graph)),
            Err(why) => Outcome::failed("no dependency graph", why),
        })
    });
    let words = words::WORDS.iter().map(|rule| {
        Step::new(format!("absence {}", rule.name), move |tree| {
            Outcome::of_findings(&words::check(tree, rule))
        })
    });
    let forbid = Step::new("absence forbid-unsafe", |tree| Outcome::of_findings(&forbid_unsafe(tree)));
    let metaphor = Step::new("absence no-metaphor", |tree| Outcome::of_findings(&words::metaphors(tree)));
    let named = Step::new("absence named", |tree| Outcome::of_findings(&named(tree)));
    let circles = Step::new("absence circles", |tree| Outcome::of_findings(&circles::check(tree)));
    let meanings = Step::new("absence one-meaning", |tree| Outcome::of_findings(&meanings::check(tree)));
    edges.chain(words).chain([forbid, metaphor, meanings, circles, named]).collect()
}

/// The names of all rules.
fn names() -> Vec<&'static str> {
    let edges = EDGE_RULES.iter().map(|(name, _)| *name);
    edges
        .chain(words::WORDS.iter().map(|rule| rule.name))
        .chain(["forbid-unsafe", "no-metaphor", "one-meaning", "circles"])
        .collect()
}

/// Rule `forbid-unsafe`: the compiler itself refuses `unsafe` in every crate of `pure/`.
fn forbid_unsafe(tree: &Tree) -> Vec<Finding> {
    let roots = tree.files(|path| path.starts_with("pure/") && path.ends_with("/src/lib.rs"));
    let lax = roots.iter().filter(|path| {
        let code = source::code(&tree.read(path), source::Texts::Blank);
        !code.contains("#![forbid(unsafe_code)]")
    });
    lax.map(|path| Finding::at(path, 0, "lacks `#![forbid(unsafe_code)]`")).collect()
}

/// ARCHITECTURE.md must name every rule, so that a contributor who breaks one finds its reason there.
fn named(tree: &Tree) -> Vec<Finding> {
    let text = tree.read("ARCHITECTURE.md");
    let missing = names().into_iter().filter(|name| !text.contains(&format!("`{name}`")));
    missing
        .map(|name| Finding::at("ARCHITECTURE.md", 0, format!("does not name the rule `{name}`")))
        .collect()
}
