// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! XML with positions, with messages for what is missing, and with a record of what the import has read.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::ops::Range;

use roxmltree::Document;
use taut_time::Duration;

use crate::number::Decimal;
use crate::place::Lines;
use crate::sketch::Sketch;
use crate::unread::Known;
use crate::{TextPosition, Unreadable};

/// The name of the first element, if a text looks like XML.
pub(crate) fn root(text: &str) -> Option<&str> {
    let mut rest = text.trim_start_matches('\u{feff}').trim_start();
    loop {
        rest = rest.strip_prefix('<')?;
        let closed = if let Some(comment) = rest.strip_prefix("!--") {
            comment.split_once("-->")
        } else if rest.starts_with("!DOCTYPE") && rest.find('[') < rest.find('>') && rest.contains('[') {
            rest.split_once(']').and_then(|(_, rest)| rest.split_once('>'))
        } else if rest.starts_with(['?', '!']) {
            rest.split_once('>')
        } else {
            let end = rest.find(|c: char| c.is_whitespace() || c == '>' || c == '/').unwrap_or(rest.len());
            let name = &rest[..end];
            return Some(name.rsplit(':').next().unwrap_or(name));
        };
        rest = closed?.1.trim_start();
    }
}

/// What was read, by the bytes at which it begins: attributes, texts, and elements that the import looked for.
#[derive(Default)]
struct Read(RefCell<BTreeSet<usize>>);

impl Read {
    fn mark(&self, byte: usize) {
        self.0.borrow_mut().insert(byte);
    }

    fn is_marked(&self, byte: usize) -> bool {
        self.0.borrow().contains(&byte)
    }

    fn any_within(&self, range: Range<usize>) -> bool {
        self.0.borrow().range(range).next().is_some()
    }
}

/// Text as a tree, which records which parts are read.
pub(crate) struct Tree<'i> {
    document: Document<'i>,
    read: Read,
}

/// Parses a text into a tree.
pub(crate) fn parse(text: &str) -> Result<Tree<'_>, Unreadable> {
    let document = Document::parse(text).map_err(|error| {
        let at = error.pos();
        let why = error.to_string();
        // The message has the place at its end; ours has it at the front.
        let why = match error {
            roxmltree::Error::DtdDetected => {
                "a `<!DOCTYPE>`, with what it defines or fetches, is not read; remove it"
            }
            roxmltree::Error::MalformedEntityReference(_) | roxmltree::Error::UnknownEntityReference(..) => {
                "`&` begins a reference, as in `&lt;`: write `&amp;` for the character itself"
            }
            _ => why.strip_suffix(&format!(" at {at}")).unwrap_or(&why),
        };
        Unreadable { at: Some(TextPosition { line: at.row, column: at.col }), why: format!("not XML: {why}") }
    })?;
    Ok(Tree { document, read: Read::default() })
}

impl<'i> Tree<'i> {
    pub(crate) fn root_element(&self) -> Node<'_, 'i> {
        Node { node: self.document.root_element(), read: &self.read }
    }

    /// Reports each value that the import did not read, except those that carry no information. An element of which
    /// the import read nothing gives one report.
    pub(crate) fn report_unread(&self, places: &Places<'_>, known: &Known, sketch: &mut Sketch) {
        let mut reported = 0;
        for node in self.root_element().descendants() {
            let range = node.node.range();
            if range.start < reported {
                continue;
            }
            let tag = node.tag();
            if !self.read.any_within(range.clone()) {
                reported = range.end;
                if !node.says_nothing(known) {
                    let of = node.node.parent_element().map_or("", |parent| parent.tag_name().name());
                    // The content of the element, as much of it as a report shows.
                    let inside = node.descendants().flat_map(|inside| {
                        let tag = Some(inside.tag()).filter(|_| inside.node != node.node);
                        tag.into_iter().chain(inside.values().map(|(_, value, _)| value))
                    });
                    let value = inside.take(8).collect::<Vec<_>>().join(" ");
                    sketch.lose(places.at(node), known.left_out(tag, of, &value));
                }
                continue;
            }
            for (name, value, byte) in node.values() {
                if !self.read.is_marked(byte) && !known.is_dull(name, value) {
                    // The text of an element has the element's name.
                    let of = if name == tag { "text" } else { tag };
                    sketch.lose(places.lines.at(byte), known.left_out(name, of, value));
                }
            }
        }
    }
}

/// An element. It records each value that a caller asks for.
#[derive(Clone, Copy)]
pub(crate) struct Node<'a, 'i> {
    node: roxmltree::Node<'a, 'i>,
    read: &'a Read,
}

impl<'a, 'i> Node<'a, 'i> {
    /// Its name, without the namespace.
    pub(crate) fn tag(self) -> &'a str {
        self.node.tag_name().name()
    }

    /// An attribute without a namespace.
    pub(crate) fn attribute(self, name: &str) -> Option<&'a str> {
        self.node.attribute_node(name).map(|found| self.value(found).0)
    }

    /// An attribute, of any namespace or none.
    pub(crate) fn any_attribute(self, name: &str) -> Option<&'a str> {
        self.node.attributes().find(|one| one.name() == name).map(|found| self.value(found).0)
    }

    /// An attribute without a namespace, if `wanted` accepts its value; an attribute that it does not accept is not
    /// recorded as read.
    pub(crate) fn attribute_is(self, name: &str, wanted: impl Fn(&str) -> bool) -> bool {
        let found = self.node.attribute_node(name).filter(|found| wanted(found.value()));
        found.map(|found| self.value(found)).is_some()
    }

    /// An attribute that has a namespace, not recorded as read.
    pub(crate) fn peek_foreign(self, name: &str) -> Option<&'a str> {
        let mut all = self.node.attributes();
        all.find(|one| one.name() == name && one.namespace().is_some()).map(|found| found.value())
    }

    /// An attribute that has a namespace, recorded as read.
    pub(crate) fn foreign_attribute(self, name: &str) -> Option<&'a str> {
        let mut all = self.node.attributes();
        all.find(|one| one.name() == name && one.namespace().is_some()).map(|found| self.value(found).0)
    }

    /// An attribute, of any namespace or none, and its place.
    fn attribute_at(self, name: &str) -> Option<(&'a str, usize)> {
        self.node.attributes().find(|one| one.name() == name).map(|found| self.value(found))
    }

    /// An attribute, of any namespace or none, and its place, whose name is one of these but for `-`, `_` and letter case.
    pub(crate) fn spelled(self, names: &[&str]) -> Option<(&'a str, usize)> {
        let mut all = self.node.attributes();
        all.find(|one| names.contains(&plain(one.name()).as_str())).map(|found| self.value(found))
    }

    /// As [`Self::spelled`], not recorded as read.
    pub(crate) fn peek(self, names: &[&str]) -> Option<&'a str> {
        let mut all = self.node.attributes();
        all.find(|one| names.contains(&plain(one.name()).as_str())).map(|found| found.value())
    }

    /// An attribute, or the text of a child, not recorded as read.
    pub(crate) fn peek_word(self, names: &[&str]) -> Option<&'a str> {
        let child = || self.elements().find(|child| child.is_called(names));
        self.peek(names).or_else(|| child()?.node.text())
    }

    /// Whether it has an attribute of one of these names.
    pub(crate) fn has_attribute(self, names: &[&str]) -> bool {
        self.peek(names).is_some()
    }

    /// Whether the element around it is called by one of these names.
    pub(crate) fn is_in(self, names: &[&str]) -> bool {
        let parent = self.node.parent_element();
        parent.is_some_and(|parent| names.contains(&plain(parent.tag_name().name()).as_str()))
    }

    /// Whether the element is called by one of these names but for `-`, `_` and letter case.
    pub(crate) fn is_called(self, names: &[&str]) -> bool {
        names.contains(&plain(self.tag()).as_str())
    }

    fn value(self, attribute: roxmltree::Attribute<'a, 'i>) -> (&'a str, usize) {
        let byte = attribute.range().start;
        self.read.mark(byte);
        (attribute.value(), byte)
    }

    /// All attributes, with the bytes at which they begin.
    pub(crate) fn attributes(self) -> impl Iterator<Item = (&'a str, &'a str, usize)> {
        self.node.attributes().map(move |found| {
            let (value, byte) = self.value(found);
            (found.name(), value, byte)
        })
    }

    /// Its text, up to the first element or comment in it.
    pub(crate) fn text(self) -> Option<&'a str> {
        self.enter();
        let first = self.node.first_child().filter(roxmltree::Node::is_text)?;
        self.read.mark(first.range().start);
        first.text()
    }

    /// All of its values, not recorded as read: name, value, and the byte under which it is recorded. Each piece of
    /// text between elements or comments is a value.
    fn values(self) -> impl Iterator<Item = (&'a str, &'a str, usize)> {
        let attributes = self.node.attributes().map(|one| (one.name(), one.value(), one.range().start));
        let texts = self.node.children().filter(roxmltree::Node::is_text);
        let texts =
            texts.map(move |one| (self.tag(), one.text().unwrap_or_default().trim(), one.range().start));
        attributes.chain(texts.filter(|(_, text, _)| !text.is_empty()))
    }

    /// Whether the element, with everything in it, carries no information.
    fn says_nothing(self, known: &Known) -> bool {
        let text = self.node.text().unwrap_or_default().trim();
        known.is_dull(self.tag(), text)
            && self.values().all(|(name, value, _)| known.is_dull(name, value))
            && self.elements().all(|inside| inside.says_nothing(known))
    }

    /// Records that the import looked for this element and found it: values in it that stay unread are then reported
    /// one by one.
    pub(crate) fn enter(self) {
        self.read.mark(self.node.range().start);
    }

    /// The elements in it.
    pub(crate) fn elements(self) -> impl Iterator<Item = Self> {
        let read = self.read;
        self.node.children().filter(roxmltree::Node::is_element).map(move |node| Self { node, read })
    }

    /// This element and all elements in it, at any depth.
    pub(crate) fn descendants(self) -> impl Iterator<Item = Self> {
        let read = self.read;
        self.node.descendants().filter(roxmltree::Node::is_element).map(move |node| Self { node, read })
    }

    /// Records all of it as read, because it is reported as a whole or because each of its values carries no
    /// information.
    pub(crate) fn leave_out(self) {
        for node in self.descendants() {
            node.enter();
            node.values().for_each(|(.., byte)| self.read.mark(byte));
        }
    }
}

/// The text of a tree, which gives nodes their positions.
pub(crate) struct Places<'t> {
    lines: Lines<'t>,
    unit: Duration,
}

impl<'t> Places<'t> {
    pub(crate) fn new(text: &'t str, unit: Duration) -> Self {
        Self { lines: Lines::new(text), unit }
    }

    /// How long a time of 1 is.
    pub(crate) fn unit(&self) -> Duration {
        self.unit
    }

    pub(crate) fn at(&self, node: Node<'_, '_>) -> TextPosition {
        self.lines.at(node.node.range().start)
    }

    pub(crate) fn at_byte(&self, byte: usize) -> TextPosition {
        self.lines.at(byte)
    }

    /// A time in the text of a child; `None` if there is no child, or if the time cannot be read, which is reported.
    pub(crate) fn child_time(
        &self,
        node: Node<'_, '_>,
        name: &str,
        up: bool,
        sketch: &mut Sketch,
    ) -> Option<Duration> {
        let child = child(node, name)?;
        self.time(child.text().unwrap_or_default(), self.at(child), name, up, sketch)
    }

    /// As [`Self::child_time`], for an attribute.
    pub(crate) fn attribute_time(
        &self,
        node: Node<'_, '_>,
        name: &str,
        up: bool,
        sketch: &mut Sketch,
    ) -> Option<Duration> {
        let (value, byte) = node.attribute_at(name)?;
        self.time(value, self.lines.at(byte), name, up, sketch)
    }

    fn time(
        &self,
        text: &str,
        at: TextPosition,
        name: &str,
        up: bool,
        sketch: &mut Sketch,
    ) -> Option<Duration> {
        let time = Decimal::parse(text).and_then(|number| number.of(self.unit, up));
        if time.is_none() {
            sketch.lose(at, format!("`{name}` is `{}`, which is no time from 0 on", shown(text)));
        }
        time
    }
}

/// The number that a text contains; `None` if the text is missing or empty, or if it cannot be read, which is
/// reported.
pub(crate) fn number<N: std::str::FromStr>(
    text: Option<&str>,
    name: &str,
    at: TextPosition,
    sketch: &mut Sketch,
) -> Option<N> {
    let text = text?.trim();
    let number = text.parse().ok();
    if number.is_none() && !text.is_empty() {
        sketch.lose(at, format!("`{name}` is `{}`, which is no number that can be written", shown(text)));
    }
    number
}

/// A text shortened and escaped for a message.
pub(crate) fn shown(text: &str) -> String {
    let text = text.trim();
    let short: String = text.chars().take(40).collect();
    let more = if short.len() < text.len() { "…" } else { "" };
    format!("{}{more}", short.escape_debug())
}

/// A name without `-` and `_`, in lower case.
pub(crate) fn plain(name: &str) -> String {
    name.chars().filter(|c| !matches!(c, '-' | '_')).map(|c| c.to_ascii_lowercase()).collect()
}

/// The first child of this name.
pub(crate) fn child<'a, 'i>(node: Node<'a, 'i>, name: &str) -> Option<Node<'a, 'i>> {
    named(node, name).next()
}

/// The children that are elements.
pub(crate) fn elements<'a, 'i>(node: Node<'a, 'i>) -> impl Iterator<Item = Node<'a, 'i>> {
    node.elements()
}

/// The children of this name.
pub(crate) fn named<'a, 'i>(node: Node<'a, 'i>, name: &str) -> impl Iterator<Item = Node<'a, 'i>> {
    node.elements().filter(move |child| child.tag() == name).inspect(|child| child.enter())
}

/// The children of a child.
pub(crate) fn list<'a, 'i>(node: Node<'a, 'i>, name: &str) -> impl Iterator<Item = Node<'a, 'i>> {
    child(node, name).into_iter().flat_map(elements)
}

/// The text of a child, trimmed; empty if there is none.
pub(crate) fn text<'a>(node: Node<'a, '_>, name: &str) -> &'a str {
    child(node, name).and_then(|child| child.text()).unwrap_or_default().trim()
}
