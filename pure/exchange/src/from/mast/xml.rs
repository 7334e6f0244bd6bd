// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The XML form of MAST, read into the items of its text form: what the text gives as `Type`, XML gives as the
//! element's name.

use taut_time::Duration;

use super::text::{Entry, Item, Value};
use crate::sketch::Sketch;
use crate::unread::Known;
use crate::xml::{Node, Places, elements, parse};
use crate::{TextPosition, Unreadable};

/// All items of a text.
pub(super) fn items(text: &str, sketch: &mut Sketch) -> Result<Vec<Item>, Unreadable> {
    let document = parse(text)?;
    let reader = Reader { places: Places::new(text, Duration::from_ns(1)) };
    let root = document.root_element();
    let at = reader.at(root);
    let model = Item { at, kind: "model".into(), entries: reader.attributes(root) };
    let items = std::iter::once(model).chain(elements(root).map(|node| reader.item(node))).collect();
    // Attributes become entries, and are reported as such. This reports what is neither an attribute nor an entry.
    document.report_unread(&reader.places, &KNOWN, sketch);
    Ok(items)
}

/// What is ignored among the parts that are neither an attribute nor a text that becomes an entry.
const KNOWN: Known = Known { dull: &[("schemaLocation", &[])], why: &[] };

struct Reader<'t> {
    places: Places<'t>,
}

fn name<'a>(node: Node<'a, '_>) -> &'a str {
    node.tag()
}

/// The name of an element without the given ending; the rest says of what kind the thing is.
fn kind<'a>(node: Node<'a, '_>, ends: &[&str]) -> &'a str {
    ends.iter().find_map(|end| name(node).strip_suffix(end)).unwrap_or(name(node))
}

impl Reader<'_> {
    fn at(&self, node: Node<'_, '_>) -> TextPosition {
        self.places.at(node)
    }

    fn word(&self, at: TextPosition, key: &str, text: &str) -> Entry {
        Entry::new(at, &key.to_ascii_lowercase(), Value::Word(text.trim().to_owned()))
    }

    fn list(&self, node: Node<'_, '_>, key: &str, entries: Vec<Entry>) -> Entry {
        Entry::new(self.at(node), key, Value::List(entries))
    }

    /// Names separated by spaces.
    fn names(&self, at: TextPosition, key: &str, text: &str) -> Entry {
        let names = text.split_whitespace().map(|name| self.word(at, "", name)).collect();
        Entry::new(at, &key.to_ascii_lowercase(), Value::List(names))
    }

    fn attributes(&self, node: Node<'_, '_>) -> Vec<Entry> {
        let attributes = node.attributes().filter(|(key, ..)| *key != "schemaLocation");
        let entries = attributes.map(|(key, value, byte)| {
            let at = self.places.at_byte(byte);
            match key.ends_with("_Events_List") {
                true => self.names(at, key, value),
                false => self.word(at, key, value),
            }
        });
        entries.collect()
    }

    /// Type and attributes of an element.
    fn typed(&self, node: Node<'_, '_>, ends: &[&str]) -> Vec<Entry> {
        let mut entries = vec![self.word(self.at(node), "type", kind(node, ends))];
        entries.extend(self.attributes(node));
        entries
    }

    fn item(&self, node: Node<'_, '_>) -> Item {
        let kinds = [
            ("_Processor", "processing_resource", &[][..]),
            ("_Network", "processing_resource", &[]),
            ("_Scheduler", "scheduler", &[]),
            ("_Scheduling_Server", "scheduling_server", &["_Scheduling_Server"]),
            ("_Resource", "shared_resource", &[]),
            ("_Operation", "operation", &["_Operation"]),
            ("Message_Transmission", "operation", &[]),
            ("_Transaction", "transaction", &["_Transaction"]),
        ];
        let at = self.at(node);
        let Some((_, kind, ends)) = kinds.iter().find(|(end, ..)| name(node).ends_with(end)) else {
            return Item { at, kind: name(node).to_ascii_lowercase(), entries: self.attributes(node) };
        };
        let mut entries = self.typed(node, ends);
        match *kind {
            "transaction" => self.transaction(node, &mut entries),
            _ => entries.extend(elements(node).map(|segment| self.segment(segment))),
        }
        Item { at, kind: (*kind).to_owned(), entries }
    }

    /// The entry for an element inside anything but a transaction.
    fn segment(&self, segment: Node<'_, '_>) -> Entry {
        let ends = ["_Scheduler", "_System_Timer"];
        let text = segment.text().unwrap_or_default();
        match name(segment) {
            "Operation_List" => self.names(self.at(segment), "composite_operation_list", text),
            list if list.starts_with("Shared_Resources_") => self.names(self.at(segment), list, text),
            other => {
                let keys = [
                    ("_Scheduler", "policy"),
                    ("_Policy", "server_sched_parameters"),
                    ("_Parameters", "synchronization_parameters"),
                    ("_Priority", "new_sched_parameters"),
                    ("_FP", "new_sched_parameters"),
                    ("_System_Timer", "system_timer"),
                ];
                let key = keys.iter().find(|(end, _)| other.ends_with(end)).map(|(_, key)| *key);
                let key = key.map_or_else(|| other.to_ascii_lowercase(), str::to_owned);
                self.list(segment, &key, self.typed(segment, &ends))
            }
        }
    }

    fn transaction(&self, node: Node<'_, '_>, entries: &mut Vec<Entry>) {
        let (mut external, mut internal, mut handlers) = (Vec::new(), Vec::new(), Vec::new());
        for segment in elements(node) {
            match name(segment) {
                event if event.ends_with("_External_Event") => {
                    external.push(self.list(segment, "", self.typed(segment, &["_External_Event"])));
                }
                "Regular_Event" => {
                    let mut event = self.typed(segment, &["_Event"]);
                    let name = event.iter_mut().find(|entry| entry.key == "event");
                    name.into_iter().for_each(|entry| "name".clone_into(&mut entry.key));
                    event.push(self.requirements(segment));
                    internal.push(self.list(segment, "", event));
                }
                _ => handlers.push(self.list(segment, "", self.typed(segment, &[]))),
            }
        }
        entries.push(self.list(node, "external_events", external));
        entries.push(self.list(node, "internal_events", internal));
        entries.push(self.list(node, "event_handlers", handlers));
    }

    /// All requirements of an event, as one composite requirement.
    fn requirements(&self, event: Node<'_, '_>) -> Entry {
        let inside = |node: &Node<'_, '_>| name(*node) != "Composite_Timing_Requirement";
        let all = event.descendants().skip(1).filter(inside);
        let all = all.map(|node| self.list(node, "", self.typed(node, &[]))).collect();
        let list = self.list(event, "requirements_list", all);
        self.list(event, "timing_requirements", vec![list])
    }
}
