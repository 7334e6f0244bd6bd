// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! What tasks do: runnables, their ticks, and the labels that they read and write.

use std::collections::{BTreeMap, BTreeSet};

use roxmltree::Node;

use super::{identity, target};
use crate::number::Decimal;
use crate::xml::{child, elements, shown};

/// What an element is: `xsi:type="am:Ticks"` is `Ticks`.
pub(super) fn kind<'a>(node: Node<'a, '_>) -> &'a str {
    let xsi =
        node.attributes().find(|attribute| attribute.name() == "type" && attribute.namespace().is_some());
    let text = xsi.map_or("", |attribute| attribute.value());
    text.rsplit(':').next().unwrap_or_default()
}

/// Ticks of one execution, by what the core is made as.
#[derive(Clone, Debug, Default)]
pub(super) struct Ticks {
    default: Option<Decimal>,
    by_definition: BTreeMap<String, Decimal>,
}

impl Ticks {
    pub(super) fn on(&self, definition: &str) -> Option<Decimal> {
        self.by_definition.get(definition).copied().or(self.default)
    }

    fn read(node: Node<'_, '_>) -> Self {
        let default = child(node, "default").and_then(most);
        let extended = elements(node).filter(|node| node.tag_name().name() == "extended");
        let entry = |node: Node<'_, '_>| {
            let value = child(node, "value").and_then(most)?;
            Some((target(node.attribute("key")?).to_owned(), value))
        };
        Self { default, by_definition: extended.filter_map(entry).collect() }
    }
}

/// The most that a value can be.
fn most(node: Node<'_, '_>) -> Option<Decimal> {
    Decimal::parse(node.attribute("upperBound").or_else(|| node.attribute("value"))?)
}

/// The most executions of a runnable that a task is looked at with: more, and the rest is told and left out.
const CALLS: usize = 10_000;

/// What a task does in one job.
#[derive(Default)]
pub(super) struct Body<'a, 'i> {
    pub(super) ticks: Vec<Ticks>,
    /// By label: how many times it is read, and written.
    pub(super) labels: BTreeMap<String, (u32, u32)>,
    /// The stimuli that it triggers.
    pub(super) triggers: BTreeSet<String>,
    /// What was left out, and where.
    pub(super) lost: Vec<(Node<'a, 'i>, String)>,
    calls: usize,
}

/// All runnables by their identifiers.
pub(super) struct Runnables<'a, 'i> {
    all: BTreeMap<String, Node<'a, 'i>>,
}

impl<'a, 'i> Runnables<'a, 'i> {
    pub(super) fn read(root: Node<'a, 'i>) -> Self {
        let software = elements(root).filter(|node| node.tag_name().name() == "swModel").flat_map(elements);
        let runnables = software.filter(|node| node.tag_name().name() == "runnables");
        Self { all: runnables.map(|node| (identity(node), node)).collect() }
    }

    /// All that a task does; of branches, all are counted.
    pub(super) fn body(&self, task: Node<'a, 'i>) -> Body<'a, 'i> {
        let mut body = Body::default();
        let mut path = Vec::new();
        self.walk(task, &mut path, &mut body);
        body
    }

    fn walk(&self, of: Node<'a, 'i>, path: &mut Vec<&'a str>, body: &mut Body<'a, 'i>) {
        let Some(graph) = child(of, "activityGraph").or_else(|| child(of, "callGraph")) else { return };
        for item in graph.descendants().filter(|node| node.is_element() && !kind(*node).is_empty()) {
            body.calls += 1;
            if body.calls > CALLS {
                if body.calls == CALLS + 1 {
                    body.lost.push((item, format!("more than {CALLS} steps in a job; the rest is left out")));
                }
                return;
            }
            match kind(item) {
                "Ticks" => body.ticks.push(Ticks::read(item)),
                "LabelAccess" => {
                    let label = target(item.attribute("data").unwrap_or_default()).to_owned();
                    let counts = body.labels.entry(label).or_default();
                    match item.attribute("access") {
                        Some("write") => counts.1 = counts.1.saturating_add(1),
                        _ => counts.0 = counts.0.saturating_add(1),
                    }
                }
                "RunnableCall" => {
                    let name = target(item.attribute("runnable").unwrap_or_default());
                    match self.all.get(name) {
                        Some(_) if path.contains(&name) || path.len() >= 32 => {
                            body.lost
                                .push((item, format!("`{}` calls itself; that is left out", shown(name))));
                        }
                        Some(runnable) => {
                            path.push(name);
                            self.walk(*runnable, path, body);
                            path.pop();
                        }
                        None => body.lost.push((item, format!("there is no runnable `{}`", shown(name)))),
                    }
                }
                "InterProcessTrigger" => {
                    body.triggers.insert(target(item.attribute("stimulus").unwrap_or_default()).to_owned());
                }
                "Group" => {}
                "WaitEvent" => {
                    let what = "that it waits for an event is left out: it may end later than is found";
                    body.lost.push((item, what.into()));
                }
                name if name.starts_with("DiscreteValue") => {}
                name @ ("Switch" | "ProbabilitySwitch" | "ModeSwitch") => {
                    body.lost.push((item, format!("of a {name}, all branches are counted")));
                }
                name if item.tag_name().name() == "items" => {
                    body.lost.push((item, format!("{} is left out", shown(name))));
                }
                _ => {}
            }
        }
    }
}
