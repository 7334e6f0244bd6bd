// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! What tasks execute: runnables, their ticks, and the labels that they read and write.

use std::collections::{BTreeMap, BTreeSet};

use super::{identity, target};
use crate::number::Decimal;
use crate::xml::{Node, child, named, shown};

/// The type of an element: that of `xsi:type="am:Ticks"` is `Ticks`.
pub(super) fn kind<'a>(node: Node<'a, '_>) -> &'a str {
    short(node.foreign_attribute("type"))
}

/// Whether an element is of type `wanted`. Another type stays unread, so that it is reported.
pub(super) fn is_kind(node: Node<'_, '_>, wanted: &str) -> bool {
    short(node.peek_foreign("type")) == wanted && kind(node) == wanted
}

fn short(kind: Option<&str>) -> &str {
    kind.unwrap_or_default().rsplit(':').next().unwrap_or_default()
}

/// Ticks of one execution, by the definition of the core.
#[derive(Clone, Debug, Default)]
pub(super) struct Ticks {
    default: Option<Decimal>,
    by_definition: BTreeMap<String, Decimal>,
}

impl Ticks {
    pub(super) fn on(&self, definition: &str) -> Option<Decimal> {
        self.by_definition.get(definition).copied().or(self.default)
    }

    fn read<'a, 'i>(node: Node<'a, 'i>, body: &mut Body<'a, 'i>) -> Self {
        let default = child(node, "default").and_then(|value| most(value, body));
        let extended = named(node, "extended");
        let entry = |node: Node<'a, 'i>| {
            let value = child(node, "value").and_then(|value| most(value, body))?;
            Some((target(node.attribute("key")?).to_owned(), value))
        };
        let by_definition = extended.filter_map(entry).collect();
        Self { default, by_definition }
    }
}

/// The greatest value that an element allows.
fn most<'a, 'i>(node: Node<'a, 'i>, body: &mut Body<'a, 'i>) -> Option<Decimal> {
    let text = node.attribute("upperBound").or_else(|| node.attribute("value")).unwrap_or_default();
    let found = Decimal::parse(text);
    if found.is_none() {
        body.lost.push((node, format!("`{}` is no most of its ticks that can be read", shown(text))));
    }
    found
}

/// How many steps of a task's job the import follows; it reports the rest and leaves it out.
const CALLS: usize = 10_000;

/// The kinds of steps that count wherever they stand; a step of another kind counts only as an item of a graph.
const KINDS: [&str; 9] = [
    "Ticks",
    "LabelAccess",
    "RunnableCall",
    "InterProcessTrigger",
    "Group",
    "WaitEvent",
    "Switch",
    "ProbabilitySwitch",
    "ModeSwitch",
];

/// What a task does in one job.
#[derive(Default)]
pub(super) struct Body<'a, 'i> {
    pub(super) ticks: Vec<Ticks>,
    /// By label: how often the task reads it, and how often it writes it.
    pub(super) labels: BTreeMap<String, (u32, u32)>,
    /// The stimuli that the task triggers.
    pub(super) triggers: BTreeSet<String>,
    /// What was left out, and where it stands.
    pub(super) lost: Vec<(Node<'a, 'i>, String)>,
    calls: usize,
}

impl<'a, 'i> Body<'a, 'i> {
    /// Counts an access to a label.
    fn access(&mut self, item: Node<'a, 'i>) {
        let label = target(item.attribute("data").unwrap_or_default()).to_owned();
        let counts = self.labels.entry(label).or_default();
        match item.attribute("access") {
            Some("write") => counts.1 = counts.1.saturating_add(1),
            Some("read") => counts.0 = counts.0.saturating_add(1),
            other => {
                counts.0 = counts.0.saturating_add(1);
                let other = shown(other.unwrap_or_default());
                let what = format!("an access that is `{other}` is written as one that reads");
                self.lost.push((item, what));
            }
        }
    }
}

/// All runnables by their identifiers.
pub(super) struct Runnables<'a, 'i> {
    all: BTreeMap<String, Node<'a, 'i>>,
}

impl<'a, 'i> Runnables<'a, 'i> {
    pub(super) fn read(root: Node<'a, 'i>) -> Self {
        let runnables = named(root, "swModel").flat_map(|model| named(model, "runnables"));
        Self { all: runnables.map(|node| (identity(node), node)).collect() }
    }

    /// All that a task executes in one job; of alternative branches, all are counted.
    pub(super) fn body(&self, task: Node<'a, 'i>) -> Body<'a, 'i> {
        let mut body = Body::default();
        let mut path = Vec::new();
        self.walk(task, &mut path, &mut body);
        body
    }

    fn walk(&self, of: Node<'a, 'i>, path: &mut Vec<&'a str>, body: &mut Body<'a, 'i>) {
        let Some(graph) = child(of, "activityGraph").or_else(|| child(of, "callGraph")) else { return };
        for item in graph.descendants() {
            let found = short(item.peek_foreign("type"));
            if found.is_empty() {
                continue;
            }
            body.calls += 1;
            if body.calls > CALLS {
                if body.calls == CALLS + 1 {
                    body.lost.push((item, format!("more than {CALLS} steps in a job; the rest is left out")));
                }
                return;
            }
            if item.tag() == "items" || KINDS.contains(&found) {
                self.step(item, path, body);
            }
        }
    }

    /// Adds a step of a job.
    fn step(&self, item: Node<'a, 'i>, path: &mut Vec<&'a str>, body: &mut Body<'a, 'i>) {
        match kind(item) {
            "Ticks" => {
                let ticks = Ticks::read(item, body);
                body.ticks.push(ticks);
            }
            "LabelAccess" => body.access(item),
            "RunnableCall" => self.call(item, path, body),
            "InterProcessTrigger" => {
                body.triggers.insert(target(item.attribute("stimulus").unwrap_or_default()).to_owned());
            }
            "Group" => {}
            "WaitEvent" => {
                let what = "its wait for an event is left out: it may complete later than the analysis finds";
                body.lost.push((item, what.into()));
                item.leave_out();
            }
            name @ ("Switch" | "ProbabilitySwitch" | "ModeSwitch") => {
                body.lost.push((item, format!("all branches of a {name} are counted")));
            }
            name => body.lost.push((item, format!("{} is left out", shown(name)))),
        }
    }

    /// Adds the steps of a runnable that is called.
    fn call(&self, item: Node<'a, 'i>, path: &mut Vec<&'a str>, body: &mut Body<'a, 'i>) {
        let name = target(item.attribute("runnable").unwrap_or_default());
        match self.all.get(name) {
            Some(_) if path.contains(&name) || path.len() >= 32 => {
                body.lost.push((item, format!("`{}` calls itself; the call is left out", shown(name))));
            }
            Some(runnable) => {
                path.push(name);
                self.walk(*runnable, path, body);
                path.pop();
            }
            None => body.lost.push((item, format!("there is no runnable `{}`", shown(name)))),
        }
    }
}
