// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Reports the errors of the TOML parser, without those that only follow from others.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::ops::Range;

use taut_model::{Fault, KeyPath, codes};
use toml::de::DeTable;

use crate::Diagnostic;
use crate::tree::{Node, Value};

/// A text as far as it could be parsed.
pub(crate) struct Parsed<'t> {
    pub(crate) root: Node<'t>,
    pub(crate) diagnostics: Vec<Diagnostic>,
    /// Tables of which a part could not be parsed, by the start of their header: a key that seems missing there may be
    /// in that part.
    pub(crate) damaged: BTreeSet<usize>,
    /// Whether so much could not be parsed that the rest is meaningless.
    pub(crate) lost: bool,
}

/// A message of the TOML parser.
#[derive(Clone)]
struct Complaint {
    at: Range<usize>,
    message: String,
}

/// A text in which the lines that stop the parser are blanked, and the parser's messages about them.
pub(crate) struct Blanked {
    text: String,
    complaints: Vec<Complaint>,
}

/// The most lines that are blanked: each costs another parse.
const BLANKED_MAX: usize = 8;

/// Fewer unreadable lines than this are reported one by one in any case. If there are this many or more, and they are
/// most of the text, only the first is reported: the text is not a manifest.
const FEW: usize = 8;

/// Makes a text parsable to its end if only a few lines prevent that.
fn blank(text: &str) -> Blanked {
    let mut blanked = Blanked { text: text.to_owned(), complaints: Vec::new() };
    quote(&mut blanked);
    close(&mut blanked);
    for _ in 0..BLANKED_MAX {
        let (table, complaints) = read(&blanked.text);
        if !stopped(&Node::root(0, table, &[]), &blanked.text, &complaints) {
            break;
        }
        let Some(last) = complaints.into_iter().next_back() else { break };
        let start = blanked.text[..last.at.start].rfind('\n').map_or(0, |newline| newline + 1);
        let end = blanked.text[start..].find('\n').map_or(blanked.text.len(), |length| start + length);
        blanked.complaints.push(last);
        blanked.text.replace_range(start..end, &" ".repeat(end - start));
    }
    blanked
}

/// An unterminated string within `{ … }` or `[ … ]` swallows the closing bracket, and then all that follows. This
/// replaces such a value, up to the end of its line, by a terminated string.
fn quote(blanked: &mut Blanked) {
    for complaint in read(&blanked.text).1 {
        let at = complaint.at.start;
        let start = blanked.text[..at].rfind('\n').map_or(0, |newline| newline + 1);
        let line = line_of(&blanked.text, at).trim_end();
        let value = line.find('=').map(|equals| {
            let rest = &line[equals + 1..];
            line.len() - rest.trim_start().len()
        });
        let Some(value) = value.filter(|value| line[*value..].starts_with(['{', '['])) else { continue };
        let unended = complaint.message.contains("string") && complaint.message.starts_with("invalid");
        let length = line.len() - value;
        if unended && length >= 2 && start + value < at && at <= start + line.len() {
            let quoted = format!("\"{}\"", " ".repeat(length - 2));
            blanked.text.replace_range(start + value..start + value + length, &quoted);
            blanked.complaints.push(complaint);
        }
    }
}

/// A `{ … }` or `[ … ]` was not closed if its line ends as if the value were complete and the following text does not
/// continue it. This replaces such a value in the same way.
fn close(blanked: &mut Blanked) {
    if read(&blanked.text).1.is_empty() {
        return;
    }
    let mut start = 0;
    while start < blanked.text.len() {
        let length = blanked.text[start..].find('\n').unwrap_or(blanked.text.len() - start);
        let next = start + length + 1;
        let line = blanked.text[start..start + length].trim_end();
        let value = line.find('=').map(|equals| line.len() - line[equals + 1..].trim_start().len());
        let value = value.filter(|value| line[*value..].starts_with(['{', '[']) && line.len() - value >= 2);
        if let Some(value) = value {
            let (open, last) = brackets(&line[value..]);
            let after = blanked.text.get(next..).unwrap_or_default().trim_start();
            let goes_on = ",{[".contains(last) || after.starts_with([',', '}', ']']);
            if open > 0 && !goes_on {
                let message = "a bracket is opened here and never closed".to_owned();
                let at = start + value;
                blanked.complaints.push(Complaint { at: at..at + 1, message });
                let quoted = format!("\"{}\"", " ".repeat(line.len() - value - 2));
                let end = start + line.len();
                blanked.text.replace_range(at..end, &quoted);
            }
        }
        start = next;
    }
}

/// The number of brackets that a line leaves open, and its last character; strings and comments do not count.
fn brackets(line: &str) -> (i32, char) {
    let (mut open, mut last, mut quote) = (0, ' ', None);
    for c in line.chars() {
        match (quote, c) {
            (Some(end), _) if c == end => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(c),
            (None, '{' | '[') => open += 1,
            (None, '}' | ']') => open -= 1,
            (None, '#') => break,
            _ => {}
        }
        if !c.is_whitespace() {
            last = c;
        }
    }
    (open, last)
}

fn read(text: &str) -> (DeTable<'_>, Vec<Complaint>) {
    let (table, errors) = DeTable::parse_recoverable(text);
    let mut complaints = errors
        .iter()
        .map(|error| Complaint {
            at: clamp(text, error.span().unwrap_or(text.len()..text.len())),
            message: error.message().to_owned(),
        })
        .collect::<Vec<_>>();
    complaints.sort_by_key(|complaint| complaint.at.start);
    (table.into_inner(), complaints)
}

/// Parses a text as far as possible. If the parser finds an error, `room` then holds the text with blanked lines, of
/// the same length, which can be parsed further.
pub(crate) fn parse<'t>(file: usize, text: &'t str, room: &'t OnceCell<Blanked>) -> Parsed<'t> {
    let (table, complaints) = read_on(text, room);
    let (doubles, mut complaints): (Vec<_>, Vec<_>) =
        complaints.into_iter().partition(|complaint| complaint.message == "duplicate key");

    let offsets = complaints.iter().map(|complaint| complaint.at.start).collect::<Vec<_>>();
    let root = Node::root(file, table, &offsets);
    let mut headers = Vec::new();
    collect_headers(&root, text, &mut headers);
    headers.sort_by_key(|(start, _)| *start);

    let mut lost = within_values(&root, text, &mut complaints);
    let damaged = damaged(&root, text, &headers, &complaints);
    lost |= complaints.iter().any(|complaint| is_at_header(text, complaint));
    lost |= stopped(&root, text, &complaints);
    let mut diagnostics = one_per_line(file, text, &complaints);
    lost |= keep_one_of_many(text, &mut diagnostics);

    // If an unclosed value swallowed a header, the keys after it are not really duplicates.
    let swallowed = complaints.first().filter(|_| lost).map_or(text.len(), |first| first.at.start);
    for (double, in_header, owner) in unrelated(text, &headers, &doubles) {
        if double.at.start < swallowed {
            diagnostics.push(duplicate(file, text, &root, double, in_header, owner));
        }
    }
    Parsed { root, diagnostics, damaged, lost }
}

/// Parses a text; if that fails, as much of it as the parser reads once the lines that stop it are blanked.
fn read_on<'t>(text: &'t str, room: &'t OnceCell<Blanked>) -> (DeTable<'t>, Vec<Complaint>) {
    let (table, complaints) = read(text);
    if complaints.is_empty() {
        return (table, complaints);
    }
    let blanked = room.get_or_init(|| blank(text));
    let (table, mut complaints) = read(&blanked.text);
    complaints.extend(blanked.complaints.iter().cloned());
    // A position in the blanked text may lie within a character of the original one.
    complaints.iter_mut().for_each(|complaint| complaint.at = clamp(text, complaint.at.clone()));
    complaints.sort_by_key(|complaint| complaint.at.start);
    (table, complaints)
}

/// The tables in which something could not be parsed, by the start of their header.
fn damaged(
    root: &Node<'_>,
    text: &str,
    headers: &[(usize, &Node<'_>)],
    complaints: &[Complaint],
) -> BTreeSet<usize> {
    let mut broken = Vec::new();
    collect_broken(root, &mut broken);
    // A broken value that continues over several lines may contain further keys.
    broken.retain(|span| !text[clamp(text, span.clone())].contains('\n'));
    // A key whose value could not be parsed is not missing.
    let hides_keys = |at: &usize| !broken.iter().any(|span| (span.start..=span.end).contains(at));
    let at = complaints.iter().map(|complaint| complaint.at.start).filter(hides_keys);
    at.map(|at| owner(headers, at).map_or(0, |(start, _)| *start)).collect()
}

/// Whether a complaint is about a line that is a header, or was meant as one.
fn is_at_header(text: &str, complaint: &Complaint) -> bool {
    let header = line_of(text, complaint.at.start).split('#').next().unwrap_or_default().trim();
    header.starts_with('[') || (header.ends_with(']') && !header.contains(['=', '[']))
}

/// The first complaint of each line: a second one usually follows from the first.
fn one_per_line(file: usize, text: &str, complaints: &[Complaint]) -> Vec<Diagnostic> {
    let line = |complaint: &Complaint| text[..complaint.at.start].rfind('\n');
    let lines = complaints.chunk_by(|one, next| line(one) == line(next));
    lines.map(|of_line| syntax(file, text, &of_line[0])).collect()
}

/// Keeps only the first of the diagnostics if they are about most lines of the text, which is then no manifest.
/// Returns whether it has done so.
fn keep_one_of_many(text: &str, diagnostics: &mut Vec<Diagnostic>) -> bool {
    let lines = text.lines().filter(|line| !line.trim().is_empty()).count();
    if diagnostics.len() < FEW || 2 * diagnostics.len() <= lines {
        return false;
    }
    let help = format!("{} of its {lines} lines cannot be read: is it a manifest?", diagnostics.len());
    diagnostics.truncate(1);
    diagnostics[0].help = Some(help);
    true
}

/// The duplicates that do not follow from another duplicate; for each, whether it is in a header, and the table that
/// it is in.
fn unrelated<'c, 'n, 't>(
    text: &str,
    headers: &[(usize, &'n Node<'t>)],
    doubles: &'c [Complaint],
) -> Vec<(&'c Complaint, bool, Option<&'n Node<'t>>)> {
    let mut found = Vec::new();
    for double in doubles {
        let in_header = line_of(text, double.at.start).trim_start().starts_with('[');
        let owner = owner(headers, double.at.start);
        // The keys of a table that is defined twice collide only because the table does.
        let is_again = |(start, node): &(usize, &Node<'_>)| {
            doubles.iter().any(|other| (*start..node.span.end).contains(&other.at.start))
        };
        if in_header || !owner.is_some_and(is_again) {
            found.push((double, in_header, owner.map(|(_, node)| *node)));
        }
    }
    found
}

/// A range within the text and on character boundaries.
fn clamp(text: &str, range: Range<usize>) -> Range<usize> {
    let start = text.floor_char_boundary(range.start.min(text.len()));
    let end = text.ceil_char_boundary(range.end.min(text.len()));
    start..end.max(start)
}

fn line_of(text: &str, at: usize) -> &str {
    let start = text[..at].rfind('\n').map_or(0, |newline| newline + 1);
    text[start..].lines().next().unwrap_or_default()
}

/// Every table with a header of its own, by the header's start.
fn collect_headers<'n, 't>(node: &'n Node<'t>, text: &str, headers: &mut Vec<(usize, &'n Node<'t>)>) {
    match &node.value {
        Value::Table(entries) => {
            if text[clamp(text, node.span.clone())].starts_with('[') {
                headers.push((node.span.start, node));
            }
            entries.iter().for_each(|(_, node)| collect_headers(node, text, headers));
        }
        Value::List(items) => items.iter().for_each(|node| collect_headers(node, text, headers)),
        _ => {}
    }
}

/// The ranges of values that could not be parsed.
fn collect_broken(node: &Node<'_>, broken: &mut Vec<Range<usize>>) {
    match &node.value {
        Value::Broken => broken.push(node.span.clone()),
        Value::Table(entries) => entries.iter().for_each(|(_, node)| collect_broken(node, broken)),
        Value::List(items) => items.iter().for_each(|node| collect_broken(node, broken)),
        _ => {}
    }
}

/// The table with a header to which a position belongs.
fn owner<'h, 'n, 't>(headers: &'h [(usize, &'n Node<'t>)], at: usize) -> Option<&'h (usize, &'n Node<'t>)> {
    headers.partition_point(|(start, _)| *start <= at).checked_sub(1).map(|last| &headers[last])
}

/// Keeps only the first of several complaints within one value: the others follow from it. An unclosed bracket
/// swallows the rest of the text; then the opening bracket is reported, unless the first mistake is on the line of
/// that bracket. Returns whether a bracket swallowed text.
fn within_values(root: &Node<'_>, text: &str, complaints: &mut Vec<Complaint>) -> bool {
    let mut kept = Vec::<Complaint>::new();
    let mut lost = false;
    let mut value = None;
    for complaint in complaints.drain(..) {
        let at = complaint.at.start;
        let opening = opening(root, text, at);
        let follows = opening.is_some() && opening == value;
        value = opening;
        let line = line_of(text, at);
        let starts_line = text[..at].ends_with('\n') && (line.starts_with('[') || line.contains('='));
        let unclosed = complaint.message.starts_with("unclosed array")
            || complaint.message.starts_with("unclosed inline table");
        let missing = complaint.message.starts_with("missing ");
        let swallowed = unclosed || (starts_line && (missing || opening.is_some()));
        lost |= swallowed;
        // If no value shows where the bracket was opened, an earlier mistake does.
        let known = swallowed && opening.is_none() && !kept.is_empty();
        if !(follows || known) {
            kept.push(complaint);
        }
        if let (Some(start), true) = (opening, swallowed) {
            let further_down =
                |first: &Complaint| text.get(start..first.at.start).is_some_and(|t| t.contains('\n'));
            if let Some(first) = kept.last_mut().filter(|first| further_down(first)) {
                let message = "a bracket is opened here and never closed".to_owned();
                *first = Complaint { at: start..start + 1, message };
            }
        }
    }
    *complaints = kept;
    lost
}

/// The start of the outermost value that spans `end`.
fn opening(node: &Node<'_>, text: &str, end: usize) -> Option<usize> {
    let children = |entries: &[(Cow<'_, str>, Node<'_>)]| {
        entries.iter().find_map(|(_, node)| {
            let reaches = node.span.end >= end || text[clamp(text, node.span.end..end)].trim().is_empty();
            let opens = node.span.start > node.key.start
                && node.span.start < end
                && text[clamp(text, node.span.start..text.len())].starts_with(['[', '{']);
            if reaches && opens { Some(node.span.start) } else { opening(node, text, end) }
        })
    };
    match &node.value {
        Value::Table(entries) => children(entries),
        Value::List(items) => items.iter().find_map(|item| opening(item, text, end)),
        _ => None,
    }
}

/// Whether the parser gave up: text follows the last complaint, and none of it was parsed.
fn stopped(root: &Node<'_>, text: &str, complaints: &[Complaint]) -> bool {
    let Some(last) = complaints.last() else { return false };
    let rest = text[last.at.start..].split_once('\n').map_or("", |(_, rest)| rest);
    let says_something = |line: &str| !line.trim().is_empty() && !line.trim_start().starts_with('#');
    rest.lines().any(says_something) && furthest(root) < text.len() - rest.len()
}

fn furthest(node: &Node<'_>) -> usize {
    match &node.value {
        Value::Table(entries) => {
            entries.iter().map(|(_, node)| furthest(node)).max().unwrap_or(0).max(node.key.start)
        }
        Value::List(items) => items.iter().map(furthest).max().unwrap_or(0).max(node.key.start),
        _ => node.key.start,
    }
}

fn syntax(file: usize, text: &str, complaint: &Complaint) -> Diagnostic {
    let (what, expected) = match complaint.message.split_once(", expected ") {
        Some((what, expected)) => (what, Some(expected)),
        None => (complaint.message.as_str(), None),
    };
    let rest = text[complaint.at.start..].lines().next().unwrap_or_default();
    let (what, label) = match (what, expected) {
        ("string values must be quoted", _) if rest.trim().is_empty() => {
            ("a key without a value", "expected a value, such as \"8ms\" or 3".to_owned())
        }
        ("string values must be quoted", _) => ("a text without quotes", "put it in quotes".to_owned()),
        (_, Some("nothing")) => (what, "remove this".to_owned()),
        (_, Some(expected)) => (what, format!("expected {expected}")),
        (_, None) => (what, "here".to_owned()),
    };
    let fault = Fault::error(codes::SYNTAX, what, KeyPath::value(""), label);
    Diagnostic::at(file, complaint.at.clone(), fault)
}

fn duplicate(
    file: usize,
    text: &str,
    root: &Node<'_>,
    double: &Complaint,
    in_header: bool,
    owner: Option<&Node<'_>>,
) -> Diagnostic {
    let name = text[double.at.clone()].trim_matches(['"', '\'']);
    let message = format!("`{}` is given twice", name.escape_debug());
    let fault = Fault::error(codes::DUPLICATE_NAME, message, KeyPath::value(""), "again here");
    let help = if in_header { "rename one of them, or make one table of both" } else { "remove one of them" };
    let diagnostic = Diagnostic::at(file, double.at.clone(), fault.help(help));
    let first = if in_header {
        let header = line_of(text, double.at.start).trim();
        let before = text[..double.at.start].rfind('\n').unwrap_or(0);
        let at = text[..before].find(header).filter(|at| text[*at..].lines().next() == Some(header));
        at.map(|at| at..at + header.len())
    } else {
        let entry = owner.unwrap_or(root).get(name);
        entry.map(|node| node.key.clone()).filter(|key| key.start < double.at.start)
    };
    match first {
        Some(first) => diagnostic.also(file, first, "first here"),
        None => diagnostic,
    }
}
