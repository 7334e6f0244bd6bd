// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Overlays: what differs from a manifest on another machine.

use taut_model::{Fault, KeyPath, codes, nearest};

use crate::keys::{FORMAT, OVERLAY_TASK_KEYS, ROOT, is_task_key};
use crate::tree::{Node, Value};
use crate::{Diagnostic, diagnostic::Span};

/// Merges an overlay into a manifest, and reports what the overlay may not contain. `tasks_known` says that all tasks
/// of the manifest could be read: a task that is not among them is missing.
pub(crate) fn apply<'t>(base: &mut Node<'t>, over: &Node<'t>, tasks_known: bool) -> Vec<Diagnostic> {
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
            "tasks" => tasks(base, node, tasks_known, &mut diagnostics),
            name if ROOT.keys.iter().any(|key| key.name == name) => {
                diagnostics.push(forbidden(name, node, base.get(name)));
            }
            name => {
                let keys = ["platform", "tasks"];
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

fn tasks<'t>(base: &mut Node<'t>, over: &Node<'t>, known: bool, diagnostics: &mut Vec<Diagnostic>) {
    let Value::Table(others) = &over.value else {
        if !matches!(over.value, Value::Broken) {
            let message = format!("`tasks` must be a table, not {}", over.type_name());
            let fault = Fault::error(codes::WRONG_TYPE, message, KeyPath::value(""), "not a table");
            diagnostics.push(at_value(over, fault.help("as in `[tasks.NAME]`")));
        }
        return;
    };
    let Some(Value::Table(entries)) = table_of(base, "tasks") else {
        if known {
            diagnostics.extend(others.iter().map(|(name, node)| unknown_task(name, node, &[])));
        }
        return;
    };
    let index = entries.iter().enumerate().map(|(at, (name, _))| (name.clone(), at));
    let index = index.collect::<std::collections::HashMap<_, _>>();
    for (name, other) in others {
        let Some(at) = index.get(name) else {
            if known {
                let names = entries.iter().map(|(name, _)| name.as_ref()).collect::<Vec<_>>();
                diagnostics.push(unknown_task(name, other, &names));
            }
            continue;
        };
        task(&mut entries[*at].1, other, diagnostics);
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

/// Merges the keys that an overlay may change. Unknown keys are merged as well, so that the reader reports them.
fn task<'t>(under: &mut Node<'t>, other: &Node<'t>, diagnostics: &mut Vec<Diagnostic>) {
    let Value::Table(entries) = &other.value else {
        under.overlay(other.clone());
        return;
    };
    let mut allowed = Vec::new();
    for (key, node) in entries {
        if is_task_key(key) && !OVERLAY_TASK_KEYS.contains(&key.as_ref()) {
            diagnostics.push(forbidden(key, node, under.get(key)));
        } else {
            allowed.push((key.clone(), node.clone()));
        }
    }
    under.overlay(Node { value: Value::Table(allowed), ..other.clone() });
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
            None => fault.help("an overlay changes `[platform]` and `[tasks.NAME]` of its manifest"),
        },
    )
}

fn unknown_task(name: &str, node: &Node<'_>, known: &[&str]) -> Diagnostic {
    let message =
        format!("the overlay changes task `{}`, which the manifest does not have", name.escape_debug());
    unknown(message, name, node, known)
}

fn forbidden(name: &str, node: &Node<'_>, under: Option<&Node<'_>>) -> Diagnostic {
    let message = format!("an overlay may not change `{name}`");
    let keys = OVERLAY_TASK_KEYS.map(|key| format!("`{key}`")).join(", ");
    let fault =
        Fault::error(codes::OVERLAY_FORBIDDEN, message, KeyPath::value(""), "only the manifest may set this")
            .note(format!(
                "an overlay describes another machine: it may change `platform`, and of tasks {keys}"
            ))
            .help("change it in the manifest");
    let mut diagnostic = at_key(node, fault);
    if let Some(under) = under {
        let text = "the manifest sets it here".to_owned();
        diagnostic.secondary.push(Span { file: under.file, range: under.key.clone(), text });
    }
    diagnostic
}
