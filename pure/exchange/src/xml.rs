// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! XML with places, and with words for what is missing.

use roxmltree::{Document, Node};
use taut_time::Duration;

use crate::number::Decimal;
use crate::place::Lines;
use crate::sketch::Sketch;
use crate::{Position, Unreadable};

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

/// Text as a tree.
pub(crate) fn parse(text: &str) -> Result<Document<'_>, Unreadable> {
    Document::parse(text).map_err(|error| {
        let at = error.pos();
        let why = error.to_string();
        // It says where at its end; we say it at the front.
        let why = match error {
            roxmltree::Error::DtdDetected => {
                "a `<!DOCTYPE>`, with what it defines or fetches, is not read; remove it"
            }
            _ => why.strip_suffix(&format!(" at {at}")).unwrap_or(&why),
        };
        Unreadable { at: Some(Position { line: at.row, column: at.col }), why: format!("not XML: {why}") }
    })
}

/// A tree that knows where its nodes stand.
pub(crate) struct Places<'t> {
    lines: Lines<'t>,
    unit: Duration,
}

impl<'t> Places<'t> {
    pub(crate) fn new(text: &'t str, unit: Duration) -> Self {
        Self { lines: Lines::new(text), unit }
    }

    /// What a time of 1 is.
    pub(crate) fn unit(&self) -> Duration {
        self.unit
    }

    pub(crate) fn at(&self, node: Node<'_, '_>) -> Position {
        self.lines.at(node.range().start)
    }

    /// A time in the text of a child; `None` if there is no child, or none that can be read, which is told.
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

    /// The same of an attribute.
    pub(crate) fn attribute_time(
        &self,
        node: Node<'_, '_>,
        name: &str,
        up: bool,
        sketch: &mut Sketch,
    ) -> Option<Duration> {
        let attribute = node.attributes().find(|attribute| attribute.name() == name)?;
        self.time(attribute.value(), self.lines.at(attribute.range().start), name, up, sketch)
    }

    fn time(&self, text: &str, at: Position, name: &str, up: bool, sketch: &mut Sketch) -> Option<Duration> {
        let time = Decimal::parse(text).and_then(|number| number.of(self.unit, up));
        if time.is_none() {
            sketch.lose(at, format!("`{name}` is `{}`, which is no time from 0 on", shown(text)));
        }
        time
    }
}

/// A text for a message.
pub(crate) fn shown(text: &str) -> String {
    let text = text.trim();
    let short: String = text.chars().take(40).collect();
    let more = if short.len() < text.len() { "…" } else { "" };
    format!("{}{more}", short.escape_debug())
}

/// The first child of this name.
pub(crate) fn child<'a, 'i>(node: Node<'a, 'i>, name: &str) -> Option<Node<'a, 'i>> {
    node.children().find(|child| child.tag_name().name() == name)
}

/// The children that are elements.
pub(crate) fn elements<'a, 'i>(node: Node<'a, 'i>) -> impl Iterator<Item = Node<'a, 'i>> {
    node.children().filter(Node::is_element)
}

/// The children of a child.
pub(crate) fn list<'a, 'i>(node: Node<'a, 'i>, name: &str) -> impl Iterator<Item = Node<'a, 'i>> {
    child(node, name).into_iter().flat_map(elements)
}

/// The text of a child, trimmed; empty if there is none.
pub(crate) fn text<'a>(node: Node<'a, '_>, name: &str) -> &'a str {
    child(node, name).and_then(|child| child.text()).unwrap_or_default().trim()
}
