// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Services, periodic tasks, receivers, and components that are not real-time.

use taut_time::Duration;

use super::values::{TimeAt, Times, size};
use super::{Access, Reader, Sporadic, short};
use crate::sketch::{Arrival, CostSource, Named, Party, Service, Task};
use crate::xml::{Node, elements, number, shown};

/// A guess of an execution time is the period divided by `SHARE`, and at least `LEAST`.
pub(super) const SHARE: u64 = 20;
const LEAST: Duration = Duration::from_us(1);

const FILTERS: &[&str] = &["intentfilter"];
const TASKS: &[&str] = &["periodictask", "task"];
const RECEIVERS: &[&str] = &["receiver", "realtimereceiver"];

impl<'a, 'i> Reader<'a, 'i, '_> {
    /// The name of a component.
    fn name(node: Node<'a, 'i>) -> &'a str {
        node.spelled(&["instanceid", "name", "id"]).map_or("", |(name, _)| short(name))
    }

    pub(super) fn service(&mut self, node: Node<'a, 'i>) {
        if !is_real_time(node) {
            return self.client(node);
        }
        let index = self.sketch.services.len();
        let name = Self::name(node);
        let persistent = self.persistent(node).unwrap_or(0);
        self.sketch.services.push(Service { named: Named::new(name), persistent });
        let times = self.times(node);
        let mut own: Vec<usize> = Vec::new();
        if let Some(period) = time(times.period) {
            let mut task = Task::new(self.places.at(node), name);
            task.named.comment = "the service's own".into();
            (task.period, task.arrival) = (period, Arrival::Periodic(time(times.start).unwrap_or_default()));
            task.priority = self.priority(node);
            task.service = Some(index);
            task.release = self.release(node).unwrap_or(0);
            own.push(self.add(task, time(times.deadline), time(times.cost)));
        } else {
            self.without_period(&times);
        }
        for inside in elements(node) {
            match () {
                () if inside.is_called(TASKS) => own.push(self.periodic(inside, Some(index), Some(node))),
                () if inside.is_called(RECEIVERS) => self.receiver(inside, Some(index)),
                () => {}
            }
        }
        self.filters_of_service(node, index, &own);
        self.total(node);
    }

    /// The times of a service that is no task: its code runs when it starts.
    fn without_period(&mut self, times: &Times) {
        for (name, time) in [("start", times.start), ("deadline", times.deadline), ("cost", times.cost)] {
            if let Some(TimeAt { time, at }) = time {
                let what = format!(
                    "`{name}` of `service` is left out ({time}): it has no period, so its code is no task: write it \
                     as the `start` of its components"
                );
                self.sketch.lose(at, what);
            }
        }
    }

    /// Finds the task of a service for each of its filters.
    fn filters_of_service(&mut self, node: Node<'a, 'i>, service: usize, own: &[usize]) {
        let filters: Vec<_> = Self::all(node, FILTERS).collect();
        let mut code = None;
        let receives = filters
            .iter()
            .any(|filter| filter.peek(&["role"]).is_some_and(|role| sends(role) == Some(false)));
        for filter in filters {
            if filter.peek(&["role"]).and_then(sends).is_none() {
                self.without_role(filter);
                continue;
            }
            let stated = self.filter_priority(filter);
            let task = match own {
                [] => *code.get_or_insert_with(|| self.code_of_service(node, service, receives)),
                [only] => *only,
                [first, ..] => {
                    let equal =
                        |task: &&usize| stated.is_some() && self.sketch.tasks[**task].priority == stated;
                    let mut fitting = own.iter().filter(equal);
                    match (fitting.next(), fitting.next()) {
                        (Some(only), None) => *only,
                        _ => {
                            let name = shown(&self.sketch.tasks[*first].named.name);
                            let what = format!(
                                "the file does not say which task of the service uses it: the first, `{name}`, is \
                                 written; `android:priority` of the filter may name another by its priority"
                            );
                            self.lose(filter, &what);
                            *first
                        }
                    }
                }
            };
            self.ordered_by_task(filter, stated, task);
            self.access(filter, Party::Task(task));
        }
    }

    /// The code of a service that has channels and no periodic task: a handler, or a sender of its own thread.
    fn code_of_service(&mut self, node: Node<'a, 'i>, service: usize, receives: bool) -> usize {
        let name = Self::name(node);
        let mut task = Task::new(self.places.at(node), name);
        task.service = Some(service);
        if receives {
            task.named.comment = "the service's handler".into();
            task.priority = self.priority(node);
            task.release = self.release(node).unwrap_or(0);
            return self.released(task, None, None, None);
        }
        let what = format!(
            "service `{}` sends without a period: it becomes a best-effort task, for which no bound is given",
            shown(name)
        );
        self.lose(node, &what);
        task.arrival = Arrival::Any;
        self.sketch.tasks.push(task);
        self.sketch.tasks.len() - 1
    }

    /// A periodic task, of a service or of none.
    pub(super) fn periodic(
        &mut self,
        node: Node<'a, 'i>,
        service: Option<usize>,
        parent: Option<Node<'a, 'i>>,
    ) -> usize {
        let mut task = Task::new(self.places.at(node), Self::name(node));
        let times = self.times(node);
        task.period = time(times.period).unwrap_or_default();
        if times.period.is_none() {
            let what = format!(
                "task `{}` has no period: give it one, as in `<release periodic=\"8ms\"/>`",
                shown(&task.named.name)
            );
            self.lose(node, &what);
        }
        task.arrival = Arrival::Periodic(time(times.start).unwrap_or_default());
        task.priority = self.priority(node).or_else(|| parent.and_then(|parent| self.priority(parent)));
        task.service = service;
        let sizes = self.sizes(node);
        (task.persistent, task.release) = (sizes.persistent.unwrap_or(0), sizes.release.unwrap_or(0));
        self.total(node);
        self.add(task, time(times.deadline), time(times.cost))
    }

    /// Adds a receiver: a task that the values of its channels release.
    pub(super) fn receiver(&mut self, node: Node<'a, 'i>, service: Option<usize>) {
        if !is_real_time(node) {
            return self.client(node);
        }
        let mut task = Task::new(self.places.at(node), Self::name(node));
        let times = self.times(node);
        task.priority = self.priority(node);
        task.service = service;
        let sizes = self.sizes(node);
        (task.persistent, task.release) = (sizes.persistent.unwrap_or(0), sizes.release.unwrap_or(0));
        self.total(node);
        if let Some(TimeAt { time, at }) = times.start {
            let what = format!("`start` of `receiver` is left out ({time}): it starts when a value comes");
            self.sketch.lose(at, what);
        }
        if let Some(TimeAt { time, at }) = times.cost {
            let what = format!(
                "the cost of a receiver, {time}, is a soft deadline in RTDroid: it is written as its execution time"
            );
            self.sketch.lose(at, what);
        }
        let task = self.released(task, time(times.period), time(times.deadline), time(times.cost));
        for filter in Self::all(node, FILTERS) {
            let stated = self.filter_priority(filter);
            self.ordered_by_task(filter, stated, task);
            if filter.peek(&["role"]).and_then(sends).is_none() {
                self.without_role(filter);
                if filter.peek(&["role"]).is_some() {
                    continue;
                }
            }
            self.access(filter, Party::Task(task));
        }
    }

    /// A component that is not real-time: a process of its own, if it says that it uses a channel.
    pub(super) fn client(&mut self, node: Node<'a, 'i>) {
        let mut client = None;
        for filter in elements(node).filter(|child| child.is_called(FILTERS)) {
            if filter.peek(&["role"]).and_then(sends).is_none() {
                continue;
            }
            filter.enter();
            let party = *client.get_or_insert_with(|| {
                let (tag, name) = (shown(node.tag()), Self::name(node));
                let what = format!(
                    "{tag} `{}` is not real-time: it becomes a client, a process of its own",
                    shown(name)
                );
                self.lose(node, &what);
                self.sketch.clients.push(Named::new(name));
                Party::Client(self.sketch.clients.len() - 1)
            });
            self.access(filter, party);
        }
    }

    /// Adds a task with its deadline and cost, as far as they are known; returns its position.
    fn add(&mut self, task: Task, deadline: Option<Duration>, cost: Option<Duration>) -> usize {
        let at = self.sketch.tasks.len();
        self.sketch.tasks.push(task);
        self.complete(at, deadline, cost);
        at
    }

    /// Gives a task whose period is known its deadline and its cost.
    pub(super) fn complete(&mut self, at: usize, deadline: Option<Duration>, cost: Option<Duration>) {
        let task = &mut self.sketch.tasks[at];
        task.deadline = deadline.unwrap_or(task.period);
        self.guessed_deadlines |= deadline.is_none();
        (task.cost, task.cost_source) = match cost {
            Some(cost) => (cost, CostSource::Stated),
            None => (Duration::from_ns(task.period.as_ns() / SHARE).max(LEAST), CostSource::Guess),
        };
        self.guessed_costs |= cost.is_none();
    }

    /// Adds a task that values release. The senders of its channels give its period if the file does not.
    fn released(
        &mut self,
        mut task: Task,
        gap: Option<Duration>,
        deadline: Option<Duration>,
        cost: Option<Duration>,
    ) -> usize {
        task.arrival = Arrival::Sporadic(Vec::new());
        task.period = gap.unwrap_or_default();
        let at = self.sketch.tasks.len();
        self.sketch.tasks.push(task);
        self.sporadic.push(Sporadic { task: at, deadline, cost });
        at
    }

    /// Notes the channels of a filter.
    fn access(&mut self, filter: Node<'a, 'i>, party: Party) {
        let sends = filter.spelled(&["role"]).and_then(|(role, _)| sends(role)).unwrap_or(false);
        let count = self.count(filter);
        for action in Self::all(filter, &["action"]) {
            let name = action.spelled(&["name"]).map_or("", |(name, _)| name).trim().to_owned();
            self.accesses.push(Access { action, name, party, sends, count });
        }
    }

    fn filter_priority(&mut self, filter: Node<'a, 'i>) -> Option<i64> {
        let (text, byte) = filter.spelled(&["priority"])?;
        number(Some(text), "priority", self.places.at_byte(byte), &mut self.sketch)
    }

    /// Reports the priority of a filter that differs from that of its task.
    fn ordered_by_task(&mut self, filter: Node<'a, 'i>, stated: Option<i64>, task: usize) {
        let Some(stated) = stated.filter(|stated| self.sketch.tasks[task].priority != Some(*stated)) else {
            return;
        };
        let name = shown(&self.sketch.tasks[task].named.name);
        let what = format!(
            "`priority` of `intent-filter` is left out ({stated}): values are ordered by the priority of `{name}`, \
             which sends or receives them"
        );
        self.lose(filter, &what);
    }

    /// A filter that does not say whether its component sends or receives.
    fn without_role(&mut self, filter: Node<'a, 'i>) {
        match filter.peek(&["role"]) {
            Some(role) => {
                let what = format!(
                    "an intent filter of role `{}` is left out: write `publisher` or `subscriber`",
                    shown(role)
                );
                self.lose(filter, &what);
                filter.leave_out();
            }
            None if filter.is_in(RECEIVERS) => {
                self.lose(filter, "the filter has no role: that of a receiver is read as `subscriber`");
            }
            None => {
                self.lose(
                    filter,
                    "an intent filter without a role is left out: write `publisher` or `subscriber`",
                );
                filter.leave_out();
            }
        }
    }

    /// Compares the total of a component's memory with its parts.
    fn total(&mut self, node: Node<'a, 'i>) {
        let Some(sizes) = Self::sizes_of(node) else { return };
        let Some(text) = sizes.peek_word(&["total"]) else { return };
        // Another report says that it is left out, whatever it is.
        let Some((total, _)) = size(text) else { return };
        let inside = elements(node).filter_map(Self::sizes_of_part);
        let parts = inside.map(parts).fold(parts(sizes), u64::saturating_add);
        if total != parts {
            let what = format!("the parts of the memory add up to {parts} bytes, not to the total of {text}");
            self.lose(sizes, &what);
        }
    }

    /// The sizes of a component inside of another one.
    fn sizes_of_part(node: Node<'a, 'i>) -> Option<Node<'a, 'i>> {
        (node.is_called(TASKS) || node.is_called(RECEIVERS)).then(|| Self::sizes_of(node)).flatten()
    }
}

fn time(stated: Option<TimeAt>) -> Option<Duration> {
    stated.map(|stated| stated.time)
}

/// The persistent and the release scope together, in bytes.
fn parts(sizes: Node<'_, '_>) -> u64 {
    let of = |name| sizes.peek_word(&[name]).and_then(size).map_or(0, |(bytes, _)| bytes);
    of("persistent").saturating_add(of("release"))
}

/// Whether a role sends; `None` if it is none.
fn sends(role: &str) -> Option<bool> {
    match role.trim().to_ascii_lowercase().as_str() {
        "observer" | "publisher" | "producer" | "sender" => Some(true),
        "subscriber" | "consumer" | "receiver" => Some(false),
        _ => None,
    }
}

/// Whether a component has anything that RTDroid adds to Android's.
fn is_real_time(node: Node<'_, '_>) -> bool {
    let added = [
        "priority",
        "scopesizes",
        "scopesize",
        "subscopesize",
        "subscopesizes",
        "memsizes",
        "memsize",
        "periodic",
    ];
    let more = ["release", "time", "timing", "periodictask", "task"];
    let is_added = |child: Node<'_, '_>| child.is_called(&added) || child.is_called(&more);
    let is_filter =
        |child: Node<'_, '_>| child.is_called(FILTERS) && child.peek(&["realtime"]) == Some("true");
    node.has_attribute(&["priority", "period", "periodic"])
        || elements(node).any(|child| is_added(child) || is_filter(child))
}
