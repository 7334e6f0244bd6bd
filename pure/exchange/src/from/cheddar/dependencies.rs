// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Dependencies: a task that waits for another task of the same period becomes a task that the other one releases.
//! Buffers, blackboards and messages with one writer become channels.

use std::collections::{BTreeMap, BTreeSet};

use taut_time::Duration;

use super::Reader;
use crate::TextPosition;
use crate::number::Decimal;
use crate::sketch::{Arrival, Carries, Chain, Channel, Named};
use crate::xml::{Node, child, list, shown, text};

/// How many tasks in a row may release each other.
const IN_A_ROW: usize = 100;

/// A buffer, a blackboard or a message.
struct Object {
    at: TextPosition,
    name: String,
    bytes: u32,
}

/// The tasks that write an object, those that read it, and whether every value counts.
#[derive(Default)]
struct Users {
    from: Vec<usize>,
    to: Vec<usize>,
    queue: bool,
}

/// What a child refers to.
fn reference<'a>(node: Node<'a, '_>, key: &str) -> &'a str {
    child(node, key).and_then(|node| node.attribute("ref")).unwrap_or_default()
}

impl Reader<'_> {
    pub(super) fn dependencies(&mut self, root: Node<'_, '_>) {
        let objects = self.objects(root);
        let (mut users, mut before) = (BTreeMap::<String, Users>::new(), Vec::new());
        for node in list(root, "dependencies") {
            let at = self.places.at(node);
            match text(node, "type_of_dependency") {
                "PRECEDENCE_DEPENDENCY" => {
                    let ends = (
                        self.by_id.get(reference(node, "precedence_source")),
                        self.by_id.get(reference(node, "precedence_sink")),
                    );
                    match ends {
                        (Some(source), Some(sink)) => before.push((at, *source, *sink)),
                        _ => self
                            .sketch
                            .lose(at, "a precedence of a task that is not carried over is left out"),
                    }
                }
                "RESOURCE_DEPENDENCY" => self.use_of(
                    at,
                    reference(node, "resource_dependency_task"),
                    reference(node, "resource_dependency_resource"),
                ),
                "QUEUEING_BUFFER_DEPENDENCY" => self.user(node, "buffer", &objects, &mut users),
                "BLACK_BOARD_BUFFER_DEPENDENCY" => self.user(node, "black_board", &objects, &mut users),
                "ASYNCHRONOUS_COMMUNICATION_DEPENDENCY" => {
                    self.user(node, "asynchronous_communication", &objects, &mut users);
                }
                kind => {
                    self.sketch.lose(at, format!("a dependency of type {} is left out", shown(kind)));
                    node.leave_out();
                }
            }
        }
        self.precedences(before);
        for (id, object) in objects {
            self.channel(object, users.remove(&id).unwrap_or_default());
        }
    }

    /// Adds the task of a dependency to the users of its object. The names of the dependency's elements begin with
    /// `keys`.
    fn user(
        &mut self,
        node: Node<'_, '_>,
        keys: &str,
        objects: &BTreeMap<String, Object>,
        users: &mut BTreeMap<String, Users>,
    ) {
        let at = self.places.at(node);
        let task = self.by_id.get(reference(node, &format!("{keys}_dependent_task")));
        let object = reference(node, &format!("{keys}_dependency_object"));
        let (Some(task), true) = (task, objects.contains_key(object)) else {
            return self
                .sketch
                .lose(at, "a dependency of a task or buffer that is not carried over is left out");
        };
        let users = users.entry(object.to_owned()).or_default();
        users.queue = keys != "black_board";
        match text(node, &format!("{keys}_orientation")) {
            "FROM_TASK_TO_OBJECT" => users.from.push(*task),
            "FROM_OBJECT_TO_TASK" => users.to.push(*task),
            other => {
                let what = format!("a dependency of orientation `{}` is left out", shown(other));
                self.sketch.lose(at, what);
            }
        }
    }

    /// Reports a dependency of a task on a resource, unless a critical section carries it over.
    fn use_of(&mut self, at: TextPosition, task: &str, resource: &str) {
        let found = self.by_id.get(task).zip(self.resources.get(resource));
        if !found.is_some_and(|(task, resource)| self.sketch.tasks[*task].uses().contains(resource)) {
            let what = format!(
                "the use by `{}` of the resource `{}` is left out: no critical section of it is carried over",
                shown(task),
                shown(resource)
            );
            self.sketch.lose(at, what);
        }
    }

    fn objects(&mut self, root: Node<'_, '_>) -> BTreeMap<String, Object> {
        let mut objects = BTreeMap::new();
        for node in list(root, "buffers").chain(list(root, "messages")) {
            let size = Decimal::parse(text(node, "size")).and_then(|size| size.scaled(1, Decimal::ONE, true));
            let size = size.and_then(|size| u32::try_from(size).ok()).filter(|size| *size > 0);
            let (at, name) = (self.places.at(node), text(node, "name").to_owned());
            self.in_space(node);
            if size.is_none() {
                let (name, size) = (shown(&name), shown(text(node, "size")));
                let what = match size.as_str() {
                    "" => format!("`{name}` has no size: a byte is written"),
                    size => {
                        format!("the size of `{name}` is `{size}`, which is none above 0: a byte is written")
                    }
                };
                self.sketch.lose(at, what);
            }
            let object = Object { at, name, bytes: size.unwrap_or(1) };
            objects.insert(node.attribute("id").unwrap_or_default().to_owned(), object);
        }
        objects
    }

    fn channel(&mut self, object: Object, mut users: Users) {
        let Object { at, name, bytes } = object;
        users.from.dedup();
        let [writer] = users.from.as_slice() else {
            let count = users.from.len();
            return self.sketch.lose(at, format!("`{}` is left out: {count} tasks write it", shown(&name)));
        };
        // A queue has one reader. A reader at least as frequent as the writer takes every value.
        let period = |task: &usize| self.sketch.tasks[*task].period;
        let queue = users.queue
            && users.to.len() == 1
            && users.to.iter().all(|reader| period(reader) <= period(writer));
        if users.queue && !queue {
            let what = format!(
                "`{}` is written faster than it is read, or has several readers: its newest value is carried",
                shown(&name)
            );
            self.sketch.lose(at, what);
        }
        let carries = if queue { Carries::Every } else { Carries::Latest };
        let ends = (*writer, users.to);
        self.sketch.channels.push(Channel::of_tasks(at, Named::new(&name), carries, ends, bytes));
    }

    /// Lets a task release the task that waits for it alone, if both have the same period and arrivals and the waiting
    /// task has no more jitter.
    fn precedences(&mut self, before: Vec<(TextPosition, usize, usize)>) {
        let mut sources: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
        before.iter().for_each(|(_, source, sink)| {
            sources.entry(*sink).or_default().insert(*source);
        });
        let mut done = BTreeSet::new();
        for (at, source, sink) in before {
            if !done.insert((source, sink)) {
                continue;
            }
            let [a, b] = [source, sink].map(|task| &self.sketch.tasks[task]);
            let (first, second) = (shown(&a.named.name), shown(&b.named.name));
            let alone = sources.get(&sink).is_some_and(|sources| sources.len() == 1);
            let far = Self::too_far(source, sink, &sources);
            let same = a.period == b.period && a.arrival == b.arrival && b.jitter <= a.jitter;
            if !alone || far.is_some() || !same {
                let why = far.unwrap_or(if alone {
                    "they do not start together"
                } else {
                    "it also waits for other tasks"
                });
                self.sketch.lose(at, format!("the wait of `{second}` for `{first}` is left out: {why}"));
                continue;
            }
            let channel = self.sketch.channels.len();
            let named = Named::new(&format!("{}-before-{}", a.named.name, b.named.name));
            let ends = (source, vec![sink]);
            self.sketch.channels.push(Channel::of_tasks(at, named, Carries::Every, ends, 1));
            self.triggers.insert(sink, (source, channel));
            self.sketch.lose(at, format!("`{first}` releases `{second}`: the deadline is one of both"));
        }
        // This comes last, because the loop above compares how tasks arrive.
        for (sink, (source, channel)) in &self.triggers {
            let (mut tasks, mut channels, mut first) = (vec![*source, *sink], vec![*channel], *source);
            while let Some((before, channel)) = self.triggers.get(&first) {
                tasks.insert(0, *before);
                channels.insert(0, *channel);
                first = *before;
            }
            let task = &mut self.sketch.tasks[*sink];
            (task.arrival, task.jitter) = (Arrival::Sporadic(vec![*channel]), Duration::ZERO);
            let (at, named, latency) =
                (task.at, Named::new(&format!("until-{}", task.named.name)), task.deadline);
            self.sketch.chains.push(Chain { at, named, tasks, channels, latency });
        }
    }

    /// Why another task cannot release this one: it waits, through others, for itself, or for too many in a row.
    fn too_far(
        mut task: usize,
        sink: usize,
        sources: &BTreeMap<usize, BTreeSet<usize>>,
    ) -> Option<&'static str> {
        for _ in 0..IN_A_ROW {
            if task == sink {
                return Some("they wait for each other");
            }
            let before = sources.get(&task).filter(|sources| sources.len() == 1);
            // A task with several predecessors is not released by them, so the row ends here.
            task = *before.and_then(BTreeSet::first)?;
        }
        Some("too many wait in a row")
    }
}
