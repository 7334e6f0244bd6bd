// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Nothing of a file of RTDroid or SchedCAT is dropped without a word: whatever value is another one, the manifest is, or
//! what is told; or it is told that the whole is left out.
#![allow(clippy::unwrap_used, reason = "test code")]

use std::ops::Range;

use roxmltree::{Document, Node};
use taut_exchange::{Options, import};

const SAMPLES: [(&str, &str); 2] = [
    ("listen-manifest.xml", include_str!("../samples/listen-manifest.xml")),
    ("two-partitions.xml", include_str!("../samples/two-partitions.xml")),
];

/// What is left out as a whole, and how that is told; nothing where it only sums up what else is there.
const WHOLE: [(&str, Option<&str>); 8] = [
    ("maxHeap of manifest/gc", Some("the garbage collector's heap and priority are left out")),
    ("name of manifest/application/activity", Some("`activity` is left out")),
    ("priority of manifest/application/service/priority", Some("`priority` of `service` is left out")),
    ("scheduler of manifest/application/service/priority", Some("`priority` of `service` is left out")),
    (
        "text of manifest/application/channel/implementation",
        Some("`implementation` of `channel` is left out"),
    ),
    ("response_time of taskset/task", Some("`response_time` of task `1` is left out")),
    ("count of taskset/properties", None),
    ("utilization of taskset/properties", None),
];

/// What is written, and all that is told.
fn said(text: &str) -> Vec<String> {
    match import(text, &Options { name: "sample".into(), ..Options::default() }) {
        Ok(imported) => {
            let lost = imported.lost.iter().map(ToString::to_string);
            std::iter::once(imported.manifest.clone()).chain(lost).collect()
        }
        Err(error) => vec![error.to_string()],
    }
}

/// The text with a value of it made into another one of the same length, so that all else stands where it stood.
fn changed(text: &str, part: Range<usize>) -> String {
    let other = |c: char| match c {
        '7' => '3',
        '0'..='9' => '7',
        'Z' => 'Y',
        c if c.is_ascii_alphabetic() => 'Z',
        c => c,
    };
    let value: String = text[part.clone()].chars().map(other).collect();
    format!("{}{value}{}", &text[..part.start], &text[part.end..])
}

fn path(node: Node<'_, '_>) -> String {
    let names: Vec<&str> =
        node.ancestors().filter(Node::is_element).map(|node| node.tag_name().name()).collect();
    names.into_iter().rev().collect::<Vec<_>>().join("/")
}

#[test]
fn nothing_is_dropped_without_a_word() {
    let mut dropped = Vec::new();
    let mut parts = 0;
    for (name, text) in SAMPLES {
        let whole = said(text);
        let document = Document::parse(text).unwrap();
        for node in document.root_element().descendants().filter(Node::is_element) {
            let leaf =
                node.children().filter(Node::is_text).filter(|_| !node.children().any(|n| n.is_element()));
            let values = node.attributes().map(|one| (one.name().to_owned(), one.range_value()));
            for (of, range) in values.chain(leaf.map(|text| (String::from("text"), text.range()))) {
                // How long no reading takes says nothing.
                if of == "max_read_length" && node.attribute("max_reads") == Some("0") {
                    continue;
                }
                parts += 1;
                let value = format!("{of} of {}", path(node));
                let left_out = WHOLE.iter().find(|(other, _)| *other == value);
                let is_told = left_out.is_some_and(|(_, how)| {
                    how.is_none_or(|how| whole.iter().any(|told| told.ends_with(how)))
                });
                if !is_told && said(&changed(text, range)) == whole {
                    dropped.push(format!("{name}: {value}"));
                }
            }
        }
    }
    assert!(parts > 80, "{parts}");
    dropped.sort();
    dropped.dedup();
    assert!(dropped.is_empty(), "{parts}: {dropped:#?}");
}
