// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Transactions: consecutive activities on one server become a task. Where they continue on another server, a further
//! task begins, which the first one releases. A deadline from the external event becomes the deadline of the chain.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use taut_time::Duration;

use super::events::{Source, requirements};
use super::operations::{Job, Operations};
use super::servers::{Host, Server};
use super::text::{Entry, Item, entry, leave_out, list, word, words};
use super::{Reader, is, key};
use crate::sketch::{Arrival, Carries, Chain, Channel, Named, Task};
use crate::xml::shown;

/// How many tasks a transaction may have.
const TASKS: usize = 100;

/// What releases a task.
#[derive(Clone, Copy)]
enum Start {
    /// Every `divisor`-th external event: `later` after it, with up to `more` additional jitter.
    Outside { divisor: u32, later: Duration, more: Duration },
    /// The completion of a task, given by its position.
    After(usize),
}

/// An event at which the import continues.
struct Open {
    event: String,
    start: Start,
}

/// Consecutive activities of one server.
struct Activity {
    /// The event that starts the first activity.
    begin: String,
    server: Server,
    job: Job,
    activities: usize,
}

/// The state of a transaction while the import reads it.
struct Flow<'i> {
    item: &'i Item,
    source: Source,
    /// Handlers by the event that they wait for.
    handlers: BTreeMap<String, &'i [Entry]>,
    /// Requirements by the event at which they stand.
    requirements: BTreeMap<String, Vec<&'i [Entry]>>,
    todo: VecDeque<Open>,
    /// Its tasks; for each, the channel that releases it and the task before it.
    tasks: BTreeMap<usize, Option<(usize, usize)>>,
    /// Whether a deadline was written.
    bounded: bool,
}

impl Reader {
    pub(super) fn transaction(&mut self, item: &Item, operations: &Operations) {
        let Some(source) = self.source(item) else { return };
        let events = || list(&item.entries, "internal_events").iter().map(Entry::list);
        let handlers = list(&item.entries, "event_handlers").iter().map(Entry::list);
        let begin = Open {
            event: key(&source.name),
            start: Start::Outside { divisor: 1, later: Duration::ZERO, more: Duration::ZERO },
        };
        let mut flow = Flow {
            item,
            source,
            handlers: handlers.map(|handler| (key(word(handler, "input_event")), handler)).collect(),
            requirements: events().map(|event| (key(word(event, "name")), requirements(event))).collect(),
            todo: VecDeque::from([begin]),
            tasks: BTreeMap::new(),
            bounded: false,
        };
        self.unconnected(item);
        let (first, reported) = (self.sketch.tasks.len(), self.sketch.lost.len());
        while let Some(open) = flow.todo.pop_front() {
            self.follow(&mut flow, open, operations);
        }
        if flow.tasks.is_empty() {
            if self.sketch.lost.len() == reported {
                self.lose(item, "nothing happens in it: it is left out");
            }
            return;
        }
        let name = word(&item.entries, "name");
        if flow.tasks.len() == 1 {
            let task = &mut self.sketch.tasks[first];
            task.named = Named::new(name);
            if !flow.bounded && task.arrival != Arrival::Any {
                self.lose(item, "it has no deadline for all of it: its period is written");
            }
        } else {
            self.lose(
                item,
                "its tasks have no deadlines of their own but the reported ones: periods are written",
            );
        }
        let left: Vec<_> = flow.requirements.into_values().flatten().collect();
        for requirement in left {
            let kind = word(requirement, "type");
            if !kind.is_empty() {
                let values = shown(&words(requirement)[1..].join(" "));
                self.lose(item, &format!("a timing requirement `{}` is left out: {values}", shown(kind)));
                leave_out(requirement);
            }
        }
    }

    /// Reports events that handlers name but the transaction does not declare, and declared ones that no handler
    /// names.
    fn unconnected(&mut self, item: &Item) {
        let handlers = list(&item.entries, "event_handlers");
        let named = handlers.iter().flat_map(|handler| {
            let handler = handler.list();
            let lists = ["input_events_list", "output_events_list"].map(|name| words(list(handler, name)));
            let ends = ["input_event", "output_event"]
                .map(|name| words(entry(handler, name).map_or(&[], std::slice::from_ref)));
            lists.into_iter().chain(ends).flatten()
        });
        let named: BTreeMap<String, &str> = named.map(|name| (key(name), name)).collect();
        let events = ["external_events", "internal_events"].map(|name| list(&item.entries, name));
        let known: BTreeSet<String> =
            events.into_iter().flatten().map(|event| key(word(event.list(), "name"))).collect();
        for (_, name) in named.iter().filter(|(key, _)| !known.contains(*key)) {
            self.lose(item, &format!("its event `{}` is not among those that it has", shown(name)));
        }
        for event in list(&item.entries, "internal_events") {
            let name = word(event.list(), "name");
            if !named.contains_key(&key(name)) {
                let transaction = shown(word(&item.entries, "name"));
                let what = format!(
                    "transaction `{transaction}`: its event `{}` is left out: no activity raises it",
                    shown(name)
                );
                self.sketch.lose(event.at, what);
            }
        }
    }

    /// Follows a transaction from an event to its end, and makes a task of each run of activities on one server.
    fn follow(&mut self, flow: &mut Flow<'_>, open: Open, operations: &Operations) {
        let Open { mut event, mut start } = open;
        let mut activity: Option<Activity> = None;
        // The loop takes each handler once, so that a cycle ends.
        while let Some(handler) = flow.handlers.remove(&event) {
            if flow.tasks.len() >= TASKS {
                self.lose(flow.item, &format!("more than {TASKS} tasks: what follows is left out"));
                flow.handlers.clear();
                flow.todo.clear();
            }
            let next = key(word(handler, "output_event"));
            let kind = key(word(handler, "type"));
            if let "activity" | "system_timed_activity" = kind.as_str() {
                let Some((server, job)) = self.activity(flow, handler, operations) else { return };
                match (&mut activity, server.host) {
                    (_, Host::Network) => start = self.close(flow, activity.take(), start, &event),
                    (Some(activity), _) if is(&activity.server.name, &server.name) => {
                        activity.job.then(job);
                        activity.activities += 1;
                    }
                    (activity, _) => {
                        start = self.close(flow, activity.take(), start, &event);
                        *activity = Some(Activity { begin: event, server, job, activities: 1 });
                    }
                }
            } else {
                start = self.close(flow, activity.take(), start, &event);
                let Some(after) = self.pass(flow, handler, start) else { return };
                start = after;
            }
            event = next;
        }
        self.close(flow, activity, start, &event);
    }

    /// The start of the task that follows a handler without execution; `None` if nothing follows here.
    fn pass(&mut self, flow: &mut Flow<'_>, handler: &[Entry], start: Start) -> Option<Start> {
        let kind = key(word(handler, "type"));
        match (kind.as_str(), start) {
            ("multicast", _) => {
                let outputs = list(handler, "output_events_list").iter().map(|entry| key(entry.word()));
                flow.todo.extend(outputs.map(|event| Open { event, start }));
                None
            }
            ("rate_divisor", Start::Outside { divisor, later, more }) => {
                let factor = word(handler, "rate_factor").parse::<u32>().ok().filter(|factor| *factor > 0);
                let Some(divisor) = factor.and_then(|factor| divisor.checked_mul(factor)) else {
                    let what = "the factor of a rate divisor is no number above 0: what follows is left out";
                    self.lose(flow.item, what);
                    return None;
                };
                Some(Start::Outside { divisor, later, more })
            }
            ("offset", _)
                if matches!(flow.source.arrival, Arrival::Periodic(_))
                    && is(word(handler, "referenced_event"), &flow.source.name) =>
            {
                if let Start::After(_) = start {
                    let what = "the activity after an offset begins then, whether or not the activity before it is \
                                complete";
                    self.lose(flow.item, what);
                }
                let later = self.time(handler, "delay_min_interval", false);
                let most = self.time(handler, "delay_max_interval", true);
                Some(Start::Outside { divisor: 1, later, more: most.saturating_sub(later) })
            }
            ("delay" | "offset", _) => {
                self.lose(flow.item, &format!("a {kind} is left out: what follows is released at once"));
                Some(start)
            }
            _ => {
                self.lose(flow.item, &format!("what follows a `{}` is left out", shown(&kind)));
                None
            }
        }
    }

    /// The server that runs an activity, and the job that it runs.
    fn activity(
        &mut self,
        flow: &mut Flow<'_>,
        handler: &[Entry],
        operations: &Operations,
    ) -> Option<(Server, Job)> {
        let name = word(handler, "activity_server");
        let Some(server) = self.servers.get(&key(name)).cloned() else {
            self.lose(flow.item, &format!("there is no server `{}`: its activity is left out", shown(name)));
            return None;
        };
        let name = word(handler, "activity_operation");
        self.used.extend([key(&server.name), key(name)]);
        if server.host == Host::Network {
            let what = format!(
                "what `{}` sends, `{}`, is left out: what follows is released at once",
                shown(&server.name),
                shown(name)
            );
            self.lose(flow.item, &what);
            return Some((server, Job::default()));
        }
        let mut job = match operations.job(name) {
            Ok(job) => job,
            Err(why) => {
                let what = format!("its operation `{}` {why}: what follows is left out", shown(name));
                self.lose(flow.item, &what);
                return None;
            }
        };
        let speed = match server.host {
            Host::Core(core) => self.speeds.get(core).copied().flatten(),
            Host::Network | Host::Unknown => None,
        };
        if let Some(speed) = speed {
            job.at(speed);
        }
        Some((server, job))
    }

    /// Makes a task of a stage that ends with `event`; returns how the next task starts.
    fn close(&mut self, flow: &mut Flow<'_>, activity: Option<Activity>, start: Start, event: &str) -> Start {
        let Some(activity) = activity else { return start };
        let position = self.sketch.tasks.len();
        let transaction = word(&flow.item.entries, "name");
        let mut task = Task::new(flow.item.at, &format!("{transaction}.{}", activity.server.name));
        let released = self.release(flow, start, position, &activity.server, &mut task);
        (task.deadline, task.non_preemptive) = (task.period, activity.server.non_preemptive);
        (task.core, task.priority) = match activity.server.host {
            Host::Core(core) => (Some(core), activity.server.priority),
            Host::Network | Host::Unknown => (None, activity.server.priority),
        };
        activity.job.put(&mut task, flow.source.burst);
        task.server = self.budgeted(&activity.server);
        if task.arrival == Arrival::Any {
            let why = match task.server {
                Some(_) => "its event is unbounded: it has no deadline, but the budget of its server",
                None => "its event is unbounded, and its server has no budget: it has no deadline",
            };
            self.lose(flow.item, why);
        }
        flow.tasks.insert(position, released);
        let later = match start {
            Start::Outside { later, .. } => later,
            Start::After(_) => Duration::ZERO,
        };
        if let Some(deadline) =
            self.deadlines(flow, event, (&activity.begin, activity.activities), (position, later))
        {
            task.deadline = deadline;
            flow.bounded = true;
        }
        self.sketch.tasks.push(task);
        Start::After(position)
    }

    /// Sets how the task at `position` is released. Returns the channel that releases it and the task before it, if
    /// there is one.
    fn release(
        &mut self,
        flow: &Flow<'_>,
        start: Start,
        position: usize,
        server: &Server,
        task: &mut Task,
    ) -> Option<(usize, usize)> {
        match start {
            Start::Outside { divisor, later, more } => {
                let source = &flow.source;
                task.arrival = match source.arrival {
                    Arrival::Periodic(phase) => {
                        Arrival::Periodic(phase.checked_add(later).unwrap_or(Duration::MAX))
                    }
                    ref other => other.clone(),
                };
                task.jitter = source.jitter.checked_add(more).unwrap_or(Duration::MAX);
                task.period = source.period.checked_mul(divisor.into()).unwrap_or(Duration::MAX);
                None
            }
            Start::After(before) => {
                let channel = self.sketch.channels.len();
                let transaction = word(&flow.item.entries, "name");
                let named = Named::new(&format!("{transaction}-{}", server.name));
                let ends = (before, vec![position]);
                self.sketch.channels.push(Channel::of_tasks(flow.item.at, named, Carries::Every, ends, 1));
                task.period = self.sketch.tasks[before].period;
                task.arrival = Arrival::Sporadic(vec![channel]);
                Some((channel, before))
            }
        }
    }

    /// Reads the requirements at the end of a task that is released `later` after the external event. Returns the
    /// task's own deadline; a deadline from the external event over several tasks becomes a chain.
    fn deadlines(
        &mut self,
        flow: &mut Flow<'_>,
        event: &str,
        (begin, activities): (&str, usize),
        (position, later): (usize, Duration),
    ) -> Option<Duration> {
        let mut own = None;
        let mut left = Vec::new();
        for requirement in flow.requirements.remove(event).unwrap_or_default() {
            let of = key(word(requirement, "referenced_event"));
            let whole = of == key(&flow.source.name);
            match key(word(requirement, "type")).as_str() {
                "hard_global_deadline" if whole => {
                    let deadline = self.time(requirement, "deadline", false);
                    let (mut tasks, mut channels, mut at) = (vec![position], Vec::new(), position);
                    while let Some(Some((channel, before))) = flow.tasks.get(&at) {
                        channels.insert(0, *channel);
                        tasks.insert(0, *before);
                        at = *before;
                    }
                    if channels.is_empty() {
                        own = Some(deadline.saturating_sub(later));
                        continue;
                    }
                    let named = Named::new(&format!("{}-{event}", word(&flow.item.entries, "name")));
                    let at = flow.item.at;
                    self.sketch.chains.push(Chain { at, named, tasks, channels, latency: deadline });
                }
                // Relative to the event that starts the task itself.
                "hard_global_deadline" if of == begin => {
                    own = Some(self.time(requirement, "deadline", false));
                }
                "hard_local_deadline" if activities == 1 => {
                    own = Some(self.time(requirement, "deadline", false));
                }
                _ => left.push(requirement),
            }
        }
        flow.requirements.insert(event.to_owned(), left);
        own
    }
}
