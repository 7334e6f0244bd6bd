// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Overlays: what differs from a manifest on another machine, and which channels are recorded.

use taut_model::{Fault, KeyPath, codes, nearest};

use crate::keys::{FORMAT, OVERLAY_CHANNEL_KEYS, OVERLAY_TASK_KEYS, ROOT, is_channel_key, is_task_key};
use crate::tree::{Node, Value};
use crate::{Diagnostic, diagnostic::Span};

/// Tables by name, of which an overlay may change some keys.
struct Named {
    /// The table of these tables.
    table: &'static str,
    /// One of them.
    noun: &'static str,
    is_key: fn(&str) -> bool,
    /// The keys that an overlay may change.
    keys: &'static [&'static str],
}

const TASKS: Named = Named { table: "tasks", noun: "task", is_key: is_task_key, keys: &OVERLAY_TASK_KEYS };
const CHANNELS: Named =
    Named { table: "channels", noun: "channel", is_key: is_channel_key, keys: &OVERLAY_CHANNEL_KEYS };

/// Merges an overlay into a manifest, and reports what the overlay may not contain. `all_known` says that all tasks and channels
/// of the manifest could be read: one that is not among them is missing.
pub(crate) fn apply<'t>(base: &mut Node<'t>, over: &Node<'t>, all_known: bool) -> Vec<Diagnostic> {
    let mut diagnostics = Vec::new();
    let Value::Table(entries) = &over.value else { return diagnostics };
    for (name, node) in entries {
        match name.as_ref() {
            "manifest" => {
                if !matches!(node.value, Value::Integer(Some(n)) if n == i128::from(FORMAT)) {
                    let message = "the format of the overlay differs from the manifest's";
                    let fault = Fault::error(codes::FORMAT_VERSION, message, KeyPath::value(""), "not 1");
                    diagnostics.push(at_value(node, fault.help("write `manifest = 1`, or leave it out")));
                }
            }
            "platform" => put(base, "platform", node),
            "tasks" => TASKS.merge(base, node, all_known, &mut diagnostics),
            "channels" => CHANNELS.merge(base, node, all_known, &mut diagnostics),
            name if ROOT.keys.iter().any(|key| key.name == name) => {
                diagnostics.push(forbidden(name, node, base.get(name)));
            }
            name => {
                let keys = ["platform", "tasks", "channels"];
                let message = format!("the overlay has an unknown table `{}`", name.escape_debug());
                diagnostics.push(unknown(message, name, node, &keys));
            }
        }
    }
    diagnostics
}

fn put<'t>(base: &mut Node<'t>, name: &'static str, node: &Node<'t>) {
    if let Value::Table(entries) = &mut base.value {
        match entries.iter_mut().find(|(key, _)| key == name) {
            Some((_, under)) => under.overlay(node.clone()),
            None => entries.push((name.into(), node.clone())),
        }
    }
}

impl Named {
    fn merge<'t>(
        &self,
        base: &mut Node<'t>,
        over: &Node<'t>,
        known: bool,
        diagnostics: &mut Vec<Diagnostic>,
    ) {
        let table = self.table;
        let Value::Table(others) = &over.value else {
            if !matches!(over.value, Value::Broken) {
                let message = format!("`{table}` must be a table, not {}", over.type_name());
                let fault = Fault::error(codes::WRONG_TYPE, message, KeyPath::value(""), "not a table");
                diagnostics.push(at_value(over, fault.help(format!("as in `[{table}.NAME]`"))));
            }
            return;
        };
        let Some(Value::Table(entries)) = table_of(base, table) else {
            if known {
                diagnostics.extend(others.iter().map(|(name, node)| self.unknown(name, node, &[])));
            }
            return;
        };
        let index = entries.iter().enumerate().map(|(at, (name, _))| (name.clone(), at));
        let index = index.collect::<std::collections::HashMap<_, _>>();
        for (name, other) in others {
            let Some(at) = index.get(name) else {
                if known {
                    let names = entries.iter().map(|(name, _)| name.as_ref()).collect::<Vec<_>>();
                    diagnostics.push(self.unknown(name, other, &names));
                }
                continue;
            };
            self.merge_one(&mut entries[*at].1, other, diagnostics);
        }
    }

    /// Merges the keys that an overlay may change. Unknown keys are merged as well, so that the reader reports them.
    fn merge_one<'t>(&self, under: &mut Node<'t>, other: &Node<'t>, diagnostics: &mut Vec<Diagnostic>) {
        let Value::Table(entries) = &other.value else {
            under.overlay(other.clone());
            return;
        };
        let mut allowed = Vec::new();
        for (key, node) in entries {
            if (self.is_key)(key) && !self.keys.contains(&key.as_ref()) {
                diagnostics.push(forbidden(key, node, under.get(key)));
            } else {
                allowed.push((key.clone(), node.clone()));
            }
        }
        under.overlay(Node { value: Value::Table(allowed), ..other.clone() });
    }

    fn unknown(&self, name: &str, node: &Node<'_>, known: &[&str]) -> Diagnostic {
        let message = format!(
            "the overlay changes {} `{}`, which the manifest does not have",
            self.noun,
            name.escape_debug()
        );
        unknown(message, name, node, known)
    }
}

fn table_of<'b, 't>(base: &'b mut Node<'t>, name: &str) -> Option<&'b mut Value<'t>> {
    match &mut base.value {
        Value::Table(entries) => {
            entries.iter_mut().find(|(key, _)| key == name).map(|(_, node)| &mut node.value)
        }
        _ => None,
    }
}

fn at_value(node: &Node<'_>, fault: Fault) -> Diagnostic {
    Diagnostic::at(node.file, node.span.clone(), fault)
}

fn at_key(node: &Node<'_>, fault: Fault) -> Diagnostic {
    Diagnostic::at(node.file, node.key.clone(), fault)
}

fn unknown(message: String, name: &str, node: &Node<'_>, known: &[&str]) -> Diagnostic {
    let fault = Fault::error(codes::OVERLAY_UNKNOWN, message, KeyPath::value(""), "not in the manifest");
    at_key(
        node,
        match nearest(name, known.iter().copied()) {
            Some(near) => fault.help(format!("did you mean `{near}`?")),
            None => fault.help(
                "an overlay changes `[platform]`, `[tasks.NAME]` and `[channels.NAME]` of its manifest",
            ),
        },
    )
}

fn forbidden(name: &str, node: &Node<'_>, under: Option<&Node<'_>>) -> Diagnostic {
    let message = format!("an overlay may not change `{name}`");
    let shown = |keys: &[&str]| keys.iter().map(|key| format!("`{key}`")).collect::<Vec<_>>().join(", ");
    let (of_tasks, of_channels) = (shown(&OVERLAY_TASK_KEYS), shown(&OVERLAY_CHANNEL_KEYS));
    let fault =
        Fault::error(codes::OVERLAY_FORBIDDEN, message, KeyPath::value(""), "only the manifest may set this")
            .note(format!(
                "an overlay describes another machine, or what a run records: it may change `platform`, of tasks {of_tasks}, \
                 and of channels {of_channels}"
            ))
            .help("change it in the manifest");
    let mut diagnostic = at_key(node, fault);
    if let Some(under) = under {
        let text = "the manifest sets it here".to_owned();
        diagnostic.secondary.push(Span { file: under.file, range: under.key.clone(), text });
    }
    diagnostic
}
