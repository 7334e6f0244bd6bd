// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Rule `one-meaning`: the name of a public type stands for one thing.

use std::collections::BTreeMap;

use super::source::{Texts, shipped};
use super::words::is_shipped;
use crate::tree::{Finding, Tree, has_extension};

/// A name that several definitions may have, since they are one thing to their users.
struct Family {
    name: &'static str,
    /// Where the definitions are: all paths that start with one of these.
    places: &'static [&'static str],
    /// What makes them one thing.
    why: &'static str,
}

const fn family(name: &'static str, places: &'static [&'static str], why: &'static str) -> Family {
    Family { name, places, why }
}

const PROTOCOLS: &[&str] = &["live/share/src/queue/", "live/share/src/state/"];
const STATES: &[&str] = &["live/share/src/state/"];
const LOCKS: &[&str] = &["live/lock/src/queued", "live/lock/src/spin"];

/// One line for each name. An entry that is not needed is a finding, which keeps the list short.
const FAMILIES: &[Family] = &[
    family("Writer", PROTOCOLS, "an end of a protocol, reached through its module: `state::chen::Writer`"),
    family("Reader", PROTOCOLS, "an end of a protocol, reached through its module"),
    family(
        "Follower",
        &["live/share/src/queue/"],
        "an additional reader of a queue, reached through its module",
    ),
    family("Readers", PROTOCOLS, "all readers of a protocol's object, reached through its module"),
    family("SlowReader", STATES, "an end for readers that may be slow, reached through its module"),
    family("SlowReaders", STATES, "all slow readers of such an object, reached through its module"),
    family("FastReader", STATES, "the end for readers of known speed, reached through its module"),
    family("Group", STATES, "all ends of a protocol's object, reached through its module"),
    family("Dispatcher", STATES, "an end of a protocol that preserves flows, reached through its module"),
    family("WriterJob", STATES, "what such a protocol lends to a writing job, reached through its module"),
    family("ReaderJob", STATES, "what such a protocol lends to a reading job, reached through its module"),
    family("Party", LOCKS, "an end of a global lock, reached through its module: `spin::Party`"),
    family("Parties", LOCKS, "all parties of a global lock, reached through its module"),
    family("Error", &["live/run/", "live/segment/", "live/sys/"], "a crate's own error"),
    family("Job", &["live/exec/", "live/run/"], "the running job, to the executor and to an application"),
    family("App", &["live/run/", "pure/model/"], "declared in the model, running in the runtime"),
    family("Service", &["live/run/", "pure/model/"], "declared in the model, running in the runtime"),
    family("Task", &["live/run/", "pure/model/"], "declared in the model, running in the runtime"),
    family("Payload", &["live/run/", "pure/model/"], "declared in the model, a type of Rust in the runtime"),
    family("Resource", &["live/run/", "pure/model/"], "declared in the model, locked in the runtime"),
    family("BlockSender", &["live/run/", "live/share/"], "the end of a pool, and of a channel on one"),
    family("BlockReceiver", &["live/run/", "live/share/"], "the end of a pool, and of a channel on one"),
    family("ReceivedBlock", &["live/run/", "live/share/"], "a block of a pool, and of a channel on one"),
    family("Watcher", &["live/share/"], "an end that looks and takes nothing, reached through its module"),
];

/// Files whose types replace those of another file in some builds.
const REPLACEMENTS: &[&str] = &["live/atomic/src/modelled.rs"];

/// Where a public type is defined.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Definition {
    path: String,
    line: usize,
}

/// The findings in `pure/` and `live/`.
pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let inside = |path: &str| path.starts_with("pure/") || path.starts_with("live/");
    let files = tree.files(|path| {
        has_extension(path, &["rs"]) && inside(path) && is_shipped(path) && !REPLACEMENTS.contains(&path)
    });
    let read = |path: String| {
        let source = tree.read(&path);
        (path, source)
    };
    findings(&files.into_iter().map(read).collect::<Vec<_>>(), FAMILIES)
}

fn findings(files: &[(String, String)], families: &[Family]) -> Vec<Finding> {
    let mut defined: BTreeMap<String, Vec<Definition>> = BTreeMap::new();
    for (path, source) in files {
        for (line, name) in public_types(source) {
            defined.entry(name).or_default().push(Definition { path: path.clone(), line });
        }
    }
    let mut findings = Vec::new();
    for (name, all) in &defined {
        let own = || families.iter().filter(|family| family.name == name);
        let covered = own().filter(|family| all.iter().any(|at| family.covers(at))).count();
        let others: Vec<&Definition> =
            all.iter().filter(|at| !own().any(|family| family.covers(at))).collect();
        if covered + others.len() < 2 {
            continue;
        }
        for at in &others {
            let elsewhere = all.iter().find(|other| other != at);
            let elsewhere = elsewhere.map_or_else(String::new, |at| format!("{}:{}", at.path, at.line));
            let message = format!(
                "`{name}` is another public type in {elsewhere} (one-meaning): name each by what it is"
            );
            findings.push(Finding::at(&at.path, at.line, message));
        }
    }
    findings.extend(families.iter().filter_map(|family| family.idle(&defined)));
    findings
}

impl Family {
    fn covers(&self, at: &Definition) -> bool {
        self.places.iter().any(|place| at.path.starts_with(place))
    }

    /// The finding if the entry is not needed, or a place of it has no definition.
    fn idle(&self, defined: &BTreeMap<String, Vec<Definition>>) -> Option<Finding> {
        let all = defined.get(self.name).map_or(&[][..], Vec::as_slice);
        let empty = self.places.iter().any(|place| !all.iter().any(|at| at.path.starts_with(place)));
        let few = all.iter().filter(|at| self.covers(at)).count() < 2;
        let message = format!("the entry of `{}` ({}) is not needed: remove it", self.name, self.why);
        (few || empty).then(|| Finding::at(HERE, 0, message))
    }
}

const HERE: &str = "dev/xtask/src/absence/meanings.rs";

/// The public types that shipped source defines, with their lines.
fn public_types(source: &str) -> Vec<(usize, String)> {
    let code = shipped(source, Texts::Blank);
    let name = |line: &str| {
        let rest = line.trim_start().strip_prefix("pub ")?;
        let rest = rest.strip_prefix("unsafe ").unwrap_or(rest);
        let (kind, rest) = rest.split_once(' ')?;
        let kinds = ["struct", "enum", "trait", "type", "union"];
        let name: String =
            rest.trim_start().chars().take_while(|&c| c.is_alphanumeric() || c == '_').collect();
        (kinds.contains(&kind) && !name.is_empty()).then_some(name)
    };
    code.lines().enumerate().filter_map(|(at, line)| Some((at + 1, name(line)?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: &[Family] = &[];

    fn found(files: &[(&str, &str)], families: &[Family]) -> Vec<String> {
        let files: Vec<_> =
            files.iter().map(|(path, source)| ((*path).to_owned(), (*source).to_owned())).collect();
        findings(&files, families)
            .iter()
            .map(|finding| format!("{}:{}", finding.path, finding.line))
            .collect()
    }

    #[test]
    fn a_name_twice_is_found_in_both_places() {
        let files = [
            ("pure/a/src/lib.rs", "pub struct Place;\npub enum Kind {}"),
            ("live/b/src/lib.rs", "mod inner {\n    pub type Place<T> = T;\n}\npub unsafe trait Other {}"),
        ];
        assert_eq!(found(&files, NONE), ["pure/a/src/lib.rs:1", "live/b/src/lib.rs:2"]);
        let within = [("pure/a/src/lib.rs", "pub struct Place;\nmod inner { }\npub union Place {}")];
        assert_eq!(found(&within, NONE), ["pure/a/src/lib.rs:1", "pure/a/src/lib.rs:3"]);
    }

    #[test]
    fn what_nobody_else_names_is_not_found() {
        let files = [
            ("pure/a/src/lib.rs", "pub struct Place;"),
            ("pure/b/src/lib.rs", "struct Place;\npub(crate) struct Place;\npub(super) enum Place {}"),
            ("pure/c/src/lib.rs", "// pub struct Place;\nlet x = \"pub struct Place;\";\npub fn Place() {}"),
            ("pure/d/src/lib.rs", "#[cfg(test)]\nmod tests {\n    pub struct Place;\n}"),
            ("pure/e/src/lib.rs", "pub struct Places;\npub use other::Place;"),
        ];
        assert_eq!(found(&files, NONE), [""; 0]);
    }

    #[test]
    fn a_family_counts_as_one() {
        let families = [family("Writer", &["live/share/"], "one for each protocol")];
        let share = [
            ("live/share/src/chen.rs", "pub struct Writer;"),
            ("live/share/src/peterson.rs", "pub struct Writer;"),
        ];
        assert_eq!(found(&share, &families), [""; 0]);
        let another = [share[0], share[1], ("live/trace/src/lib.rs", "\npub struct Writer;")];
        assert_eq!(found(&another, &families), ["live/trace/src/lib.rs:2"]);
    }

    #[test]
    fn an_entry_that_is_not_needed_is_found() {
        let one = [("live/share/src/chen.rs", "pub struct Writer;")];
        let families = [family("Writer", &["live/share/"], "one for each protocol")];
        assert_eq!(found(&one, &families), [format!("{HERE}:0")]);
        assert_eq!(found(&[], &families), [format!("{HERE}:0")]);
        // Two definitions in one place, and none in the other.
        let two = [one[0], ("live/share/src/peterson.rs", "pub struct Writer;")];
        let wide = [family("Writer", &["live/share/", "pure/model/"], "one for each protocol")];
        assert_eq!(found(&two, &wide), [format!("{HERE}:0")]);
    }
}
