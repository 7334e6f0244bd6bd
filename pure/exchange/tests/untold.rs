// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! No part of a file is dropped without a report. If a value is changed to another one, or to one that cannot be
//! read, then the manifest changes, or the report changes, or the import refuses the file. Anything unknown that is
//! added is reported. Content of an element that is reported as left out as a whole is covered by that report.
#![allow(clippy::unwrap_used, reason = "test code")]

use std::ops::Range;

use roxmltree::{Document, Node};
use taut_exchange::{Options, import};

const SAMPLES: [(&str, &str); 10] = [
    ("cell-mast.xml", include_str!("../samples/cell-mast.xml")),
    ("cell.mast", include_str!("../samples/cell.mast")),
    ("drive.amxmi", include_str!("../samples/drive.amxmi")),
    ("figure-manifest.xml", include_str!("../samples/figure-manifest.xml")),
    ("flight.xmlv3", include_str!("../samples/flight.xmlv3")),
    ("lift.xmlv3", include_str!("../samples/lift.xmlv3")),
    ("listen-manifest.xml", include_str!("../samples/listen-manifest.xml")),
    ("robot.mast", include_str!("../samples/robot.mast")),
    ("two-partitions.xml", include_str!("../samples/two-partitions.xml")),
    ("validated-manifest.xml", include_str!("../samples/validated-manifest.xml")),
];

/// What is left out as a whole: where it begins, and the report there.
const WHOLE: [(&str, &str, &str); 14] = [
    (
        "cell-mast.xml",
        "<mast_mdl:Primary_Scheduler Name=\"Bus\"",
        "scheduler `Bus`: it is of no processor, and is left out",
    ),
    (
        "cell.mast",
        "(\n   Type => Primary_Scheduler, Name => Bus",
        "scheduler `Bus`: it is of no processor, and is left out",
    ),
    (
        "cell-mast.xml",
        "<mast_mdl:Packet_Based_Network",
        "a `Packet_Based_Network` is no processor: it is left out",
    ),
    ("cell-mast.xml", "<mast_mdl:Message_Transmission", "is of type `Message_Transmission`: it is left out"),
    (
        "cell-mast.xml",
        "<mast_mdl:Regular_Scheduling_Server Name=\"Sender\"",
        "scheduling_server `Sender`: it is of no processor, and is left out",
    ),
    (
        "cell.mast",
        "(\n   Type => Packet_Based_Network",
        "a `Packet_Based_Network` is no processor: it is left out",
    ),
    ("cell.mast", "(Type => Message_Transmission", "is of type `Message_Transmission`: it is left out"),
    (
        "cell.mast",
        "(Type => Regular, Name => Sender",
        "scheduling_server `Sender`: it is of no processor, and is left out",
    ),
    (
        "drive.amxmi",
        "<modules xsi:type=\"am:ProcessingUnit\" xmi:id=\"Picture?",
        "`Picture` is a GPU: it is left out",
    ),
    (
        "drive.amxmi",
        "<items xsi:type=\"am:WaitEvent\"",
        "its wait for an event is left out: it may complete later than the analysis finds",
    ),
    ("flight.xmlv3", "<aperiodic_task", "is of type APERIODIC_TYPE: it is left out"),
    ("lift.xmlv3", "<aperiodic_task", "is of type APERIODIC_TYPE: it is left out"),
    (
        "lift.xmlv3",
        "<dependency>\n   <type_of_dependency>TIME",
        "a dependency of type TIME_TRIGGERED_COMMUNICATION_DEPENDENCY is left out",
    ),
    (
        "robot.mast",
        "(Type => Packet_Based_Network",
        "a `Packet_Based_Network` is no processor: it is left out",
    ),
];

/// Values of which only the order counts, or which are fallbacks: changing one may change nothing.
const OTHERWISE: [&str; 3] = ["riority", "items/default", "labels/size"];

/// Values that summarise other values in the file.
const SUMS: [&str; 4] = [
    "Model_Date",
    "Model_Date of MAST_MODEL",
    "count of taskset/properties",
    "utilization of taskset/properties",
];

/// The text that the test adds, in each language's syntax.
const ADDED: &str = "Q7Q7";

/// The manifest, and all reports.
fn said(text: &str) -> Vec<String> {
    match import(text, &Options { name: "sample".into(), ..Options::default() }) {
        Ok(imported) => {
            let lost = imported.lost.iter().map(ToString::to_string);
            std::iter::once(imported.manifest.clone()).chain(lost).collect()
        }
        Err(error) => vec![error.to_string()],
    }
}

/// A value changed to another one, and to one that cannot be read, of the same length: everything else keeps its
/// place.
fn changed(text: &str, part: &Range<usize>) -> [String; 2] {
    let other = |c: char| match c {
        '7' => '3',
        '0'..='9' => '7',
        'Z' => 'Y',
        c if c.is_ascii_alphabetic() => 'Z',
        c => c,
    };
    let unreadable = |c: char| if c.is_whitespace() { c } else { '%' };
    let with = |value: String| format!("{}{value}{}", &text[..part.start], &text[part.end..]);
    let value = &text[part.clone()];
    [with(value.chars().map(other).collect()), with(value.chars().map(unreadable).collect())]
}

/// A report without its place.
fn report(said: &str) -> &str {
    let place = said.split_once(": ").filter(|(at, _)| at.bytes().all(|b| b.is_ascii_digit() || b == b':'));
    place.map_or(said, |(_, report)| report)
}

fn with(text: &str, at: usize, added: &str) -> String {
    format!("{}{added}{}", &text[..at], &text[at..])
}

/// Whether a place lies in something that is left out as a whole.
fn is_in_whole(sample: &str, text: &str, whole: &[String], at: usize) -> bool {
    WHOLE.iter().any(|(other, begin, report)| {
        let reported = whole.iter().any(|said| said.ends_with(report));
        let begins = text.match_indices(begin).map(|(at, _)| at);
        let end = |from: usize| from + length(&text[from..]);
        *other == sample && reported && begins.into_iter().any(|from| (from..end(from)).contains(&at))
    })
}

/// The length of the element or list that begins here.
fn length(text: &str) -> usize {
    let Some(name) = text.strip_prefix('<') else {
        let mut open = 0;
        let mut ends = text.char_indices().filter(|(_, c)| {
            open += i32::from(*c == '(') - i32::from(*c == ')');
            *c == ')' && open == 0
        });
        return ends.next().map_or(text.len(), |(at, _)| at + 1);
    };
    let name = name.split(|c: char| c.is_whitespace() || c == '>' || c == '/').next().unwrap_or_default();
    let close = format!("</{name}>");
    match text.find('>') {
        Some(end) if text[..end].ends_with('/') => end + 1,
        _ => text.find(&close).map_or(text.len(), |at| at + close.len()),
    }
}

fn path(node: Node<'_, '_>) -> String {
    let names: Vec<&str> =
        node.ancestors().filter(Node::is_element).map(|node| node.tag_name().name()).collect();
    names.into_iter().rev().collect::<Vec<_>>().join("/")
}

/// Values with their descriptions, and places where something can be added, with what to add.
#[derive(Default)]
struct Parts {
    values: Vec<(String, Range<usize>)>,
    places: Vec<(String, usize, String)>,
}

fn of_xml(text: &str) -> Parts {
    let mut parts = Parts::default();
    let document = Document::parse(text).unwrap();
    for node in document.root_element().descendants().filter(Node::is_element) {
        for one in node.attributes() {
            // An identifier to which nothing refers, and the length of a read that never happens, carry no
            // information.
            let value = one.value();
            let alone = one.name() == "id" && text.matches(&format!("\"{value}\"")).count() == 1;
            let never = one.name() == "max_read_length" && node.attribute("max_reads") == Some("0");
            if !alone && !never {
                parts.values.push((format!("{} of {}", one.name(), path(node)), one.range_value()));
            }
        }
        let texts =
            node.children().filter(|one| one.is_text() && !one.text().unwrap_or_default().trim().is_empty());
        parts.values.extend(texts.map(|one| (format!("text of {}", path(node)), one.range())));
        let range = node.range();
        let tag = text[range.clone()].find(|c: char| c.is_whitespace() || c == '>' || c == '/').unwrap();
        let place = format!("in {}", path(node));
        parts.places.push((place.clone(), range.start + tag, format!(" zz=\"{ADDED}\"")));
        let open = range.start + text[range.clone()].find('>').unwrap();
        if !text[..open].ends_with('/') {
            let close = range.start + text[range].rfind('<').unwrap();
            let leaf = node.text().is_some_and(|text| !text.trim().is_empty());
            for added in [
                format!("<zz>{ADDED}</zz>"),
                format!("<{ADDED}/>"),
                format!("<a:{ADDED} xmlns:a='b'><y/></a:{ADDED}>"),
            ] {
                if !leaf {
                    parts.places.push((place.clone(), open + 1, added.clone()));
                }
                parts.places.push((place.clone(), close, added));
            }
            parts.places.push((place, close, format!(" {ADDED} ")));
        }
    }
    parts
}

fn of_mast(text: &str) -> Parts {
    let mut parts = Parts::default();
    let word = |c: char| c.is_alphanumeric() || "_+-.:/%".contains(c);
    let mut at = 0;
    let mut key = "";
    while let Some(c) = text[at..].chars().next() {
        if text[at..].starts_with("--") {
            at += text[at..].find('\n').unwrap();
        } else if word(c) {
            let end = at + text[at..].find(|c| !word(c)).unwrap();
            let rest = text[end..].trim_start();
            if rest.starts_with("=>") {
                key = &text[at..end];
            } else if rest.starts_with([',', ')']) {
                parts.values.push((key.to_owned(), at..end));
            }
            at = end;
        } else {
            at += c.len_utf8();
            if c == '(' {
                let line = text[..at].lines().count();
                let place = format!("in line {line}");
                let added = if text[at..].trim_start().starts_with('(') {
                    format!("(Zz => {ADDED}), ")
                } else {
                    format!("Zz => {ADDED}, ")
                };
                parts.places.push((place.clone(), at, added));
                parts.places.push((place, at, format!("{ADDED}, ")));
            }
        }
    }
    parts
}

#[test]
fn nothing_is_dropped_without_a_word() {
    let (mut dropped, mut values, mut added) = (Vec::new(), 0, 0);
    for (name, text) in SAMPLES {
        let whole = said(text);
        let parts = if text.starts_with('<') { of_xml(text) } else { of_mast(text) };
        let cut = parts.values.iter().filter(|(of, range)| {
            of.starts_with("text of") && range.len() > 1 && !is_in_whole(name, text, &whole, range.start)
        });
        let cut: Vec<_> = cut.cloned().collect();
        for (of, range) in parts.values {
            values += 1;
            if SUMS.contains(&of.as_str()) || is_in_whole(name, text, &whole, range.start) {
                continue;
            }
            let [other, unreadable] = changed(text, &range);
            let counts = !OTHERWISE.iter().any(|part| of.contains(part));
            for (changed, how) in [(other, "other"), (unreadable, "unreadable")] {
                if said(&changed) == whole && (counts || how != "other") {
                    dropped.push(format!("{name}: {how} {of}, which is {}", &text[range.clone()]));
                }
            }
        }
        // A comment splits a text in two.
        for (of, range) in cut {
            let at = range.start + text[range.clone()].len() / 2;
            if said(&with(text, at, "<!-- c -->")) == whole {
                dropped.push(format!("{name}: half of {of}, which is {}", &text[range]));
            }
        }
        for (place, at, what) in parts.places {
            added += 1;
            let all = said(&with(text, at, &what));
            let is_named =
                all.iter().any(|said| said.to_ascii_lowercase().contains(&ADDED.to_ascii_lowercase()));
            // Or the addition causes something else to be left out, which is reported.
            let known: Vec<&str> = whole.iter().map(|said| report(said)).collect();
            let is_told = is_named || all[1..].iter().any(|said| !known.contains(&report(said)));
            if !is_told && !is_in_whole(name, text, &whole, at) {
                dropped.push(format!("{name}: {what} {place}"));
            }
        }
    }
    dropped.sort();
    dropped.dedup();
    assert!(dropped.is_empty(), "{values} {added} {}: {dropped:#?}", dropped.len());
    assert!(values > 900 && added > 1_000, "{values} {added}");
}
