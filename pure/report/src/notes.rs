// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The notable events of a run, each on the track of its subject: attributes that changed while the application ran,
//! exhausted budgets, releases that came too soon, failed jobs, losses, counts, interference from outside, the
//! beginning and the end. A trace shows jobs, decisions, values and stalls in forms of their own.

use std::collections::BTreeMap;

use taut_event::{
    Counter, Ending, Event, Foreign, GridPhase, Interference, ObservedPlacement, Record, SafeStateOutcome,
    Stood,
};
use taut_model::SchedulingPolicy;
use taut_plan::{ClassPlan, Plan};
use taut_time::Duration;

use crate::end;
use crate::observations::{PAUSED, RESTARTED, RUNNING, STOPPED};
use crate::verdict::Ended;
use crate::wording::{ended_text, foreign_thread, not_at_rest, plural, policy_text};

#[cfg(doc)]
use crate::decisions;

/// A text at an instant, and a number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Note {
    pub(crate) at: u64,
    pub(crate) text: String,
    pub(crate) category: &'static str,
    /// The meaning of the number.
    pub(crate) what: &'static str,
    pub(crate) value: u64,
}

/// The category of a requested change.
const CHANGE: &str = "change";
/// The category of an unwanted event.
const TROUBLE: &str = "trouble";
/// The category of interference from outside.
const OUTSIDE: &str = "outside";
/// The category of a count.
const COUNT: &str = "count";
/// The category of the run as a whole.
const RUN: &str = "run";

/// What a note is about: a position in the plan; resources in the order of [`decisions::resources`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Subject {
    Application,
    Service(usize),
    Chain(usize),
    Channel(usize),
    Server(usize),
    Core(usize),
    Task(usize),
    Resource(usize),
}

impl Subject {
    /// The name of its track; `None` if tasks and resources show it, or the plan does not have it.
    fn track(self, plan: &Plan) -> Option<String> {
        Some(match self {
            Self::Application => "application".to_owned(),
            Self::Service(at) => format!("service {}", plan.services.get(at)?.name),
            Self::Chain(at) => format!("chain {}", plan.chains.get(at)?.name),
            Self::Channel(at) => format!("channel {}", plan.channels.get(at)?.name),
            Self::Server(at) => format!("server {}", plan.servers.get(at)?.name),
            Self::Core(at) => format!("dispatcher and probe, cpu {}", plan.cores.get(at)?.cpu),
            Self::Task(_) | Self::Resource(_) => return None,
        })
    }
}

/// The notes of a run, by subject; those of a subject by time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Notes(BTreeMap<Subject, Vec<Note>>);

impl Notes {
    pub(crate) fn new(plan: &Plan, records: &[Record]) -> Self {
        let mut notes: BTreeMap<Subject, Vec<Note>> = BTreeMap::new();
        let events = records.iter().filter_map(|record| Some((record.at.as_ns(), Event::of(record).ok()?)));
        let own = events.filter_map(|(at, event)| Some((of_event(plan, event)?, at)));
        let foreign = Foreign::of(records);
        let foreign = foreign.iter().map(|thread| (of_foreign(thread), thread.until.as_ns()));
        for ((subject, text, category, (what, value)), at) in own.chain(foreign) {
            notes.entry(subject).or_default().push(Note { at, text, category, what, value });
        }
        notes.values_mut().for_each(|of| of.sort_by_key(|note| note.at));
        Self(notes)
    }

    /// The notes of a subject.
    pub(crate) fn of(&self, subject: Subject) -> Vec<Note> {
        self.0.get(&subject).cloned().unwrap_or_default()
    }

    /// The notes of subjects that are neither tasks nor resources, by the names of their tracks.
    pub(crate) fn others(&self, plan: &Plan) -> Vec<(String, Vec<Note>)> {
        self.0.iter().filter_map(|(subject, notes)| Some((subject.track(plan)?, notes.clone()))).collect()
    }
}

/// A note without its instant: subject, text, category, and the number with its meaning.
type Content = (Subject, String, &'static str, (&'static str, u64));

/// The note of an event; `None` if the trace shows the event in another form.
fn of_event(plan: &Plan, event: Event) -> Option<Content> {
    Some(match event {
        // Jobs, with their deadlines.
        Event::Release { .. } | Event::Start { .. } | Event::Complete { .. } | Event::Miss { .. } => {
            return None;
        }
        // Switches, sections and holders.
        Event::Preempt { .. } | Event::Resume { .. } | Event::Granted { .. } => return None,
        Event::Locked { .. } | Event::Unlock { .. } | Event::Spin { .. } | Event::Suspend { .. } => {
            return None;
        }
        // Values, stalls, and what is joined.
        Event::Send { .. } | Event::Receive { .. } | Event::ReceivedBy { .. } => return None,
        Event::Stall { .. } | Event::Foreign { .. } => return None,
        Event::Begin { running } => begun(running),
        Event::End { ending } => ended(plan, ending),
        Event::SafeState { result, took, .. } => at_rest(result, took),
        Event::Stopped { interference } => interfered(interference),
        Event::Overrun { task, job, .. } => trouble(task, "released while its job still ran", ("job", job)),
        Event::Skip { task, job, .. } => trouble(task, "release dropped", ("job", job)),
        Event::Failed { task, code, .. } => trouble(task, "job failed", ("code", code)),
        Event::Panicked { task, job, .. } => trouble(task, "job panicked", ("job", job)),
        Event::HeapUsed { task, uses, .. } => trouble(task, "job failed: it used the heap", ("uses", uses)),
        Event::ScopeExceeded { task, bytes, .. } => {
            trouble(task, "release scope exhausted", ("asked_bytes", bytes))
        }
        Event::Exhausted { task, budget, .. } => {
            trouble(task, &format!("budget of {budget} exhausted"), ("budget_ns", budget.as_ns()))
        }
        Event::Slept { task, times, .. } => trouble(task, "slept while it held a resource", ("times", times)),
        Event::Stood { task, job, place, resource } => {
            let text = end::stood_text(plan, &Stood { task, job, at: place, resource });
            trouble(task, &text, ("job", job))
        }
        Event::Level { task, level } => level_of(plan, task, level),
        Event::Ceiling { resource, ceiling } => ceiling_of(plan, resource, ceiling),
        Event::Looked { task } => looked(plan, task)?,
        Event::Lost { task, records } => lost(Subject::Task(task.into()), "record", records),
        Event::ValuesRecorded { messages, .. } => {
            (Subject::Application, "values are in values.mcap".to_owned(), RUN, ("messages", messages))
        }
        Event::ValuesLost { records } => {
            (Subject::Application, "values not recorded".to_owned(), TROUBLE, ("records", records))
        }
        Event::CoreLost { core, records } => lost(Subject::Core(core.into()), "record", records),
        Event::Drop { channel, values, .. } => lost(Subject::Channel(channel.into()), "value", values),
        Event::LostBy { channel, reader, values } => lost_by(plan, channel, reader, values),
        Event::TooMany { channel, job, values } => {
            let text = format!("job {job} sent more than the manifest allows");
            (Subject::Channel(channel.into()), text, TROUBLE, ("values", values))
        }
        Event::Counted { task, count, times } => counted(Subject::Task(task.into()), count, times),
        Event::CoreCounted { core, count, times } => counted(Subject::Core(core.into()), count, times),
        Event::Service { service, task, state } => follows(plan, service, task, state),
        Event::ModeFollowed { task, to, since, .. } => switched(plan, task, to, since),
        Event::Followed { task, error, phase, has_broken, .. } => followed(task, error, phase, has_broken),
        Event::ChainEnd { chain, age, .. } => aged(chain, age),
        Event::Budget { server, budget } => budgeted(server, budget),
        Event::Beside { server, others, .. } => not_charged(server, others),
        Event::Moved { task, placement } => moved(Subject::Task(task.into()), "its thread", placement),
        Event::ProbeMoved { core, is_main, placement } => {
            let thread = if is_main { "the main thread" } else { "the probe" };
            moved(Subject::Core(core.into()), thread, placement)
        }
        Event::CoreMoved { core, worker, placement } => {
            let thread = if worker == 0 { "the dispatcher".to_owned() } else { format!("thread {worker}") };
            moved(Subject::Core(core.into()), &thread, placement)
        }
    })
}

fn trouble(task: u16, text: &str, number: (&'static str, u64)) -> Content {
    (Subject::Task(task.into()), text.to_owned(), TROUBLE, number)
}

fn lost(subject: Subject, what: &str, count: u64) -> Content {
    (subject, format!("{} lost", plural(count, what, &format!("{what}s"))), TROUBLE, ("lost", count))
}

fn lost_by(plan: &Plan, channel: u16, reader: u16, count: u64) -> Content {
    let reader = plan.tasks.get(usize::from(reader)).map_or("a reader", |task| &task.name);
    let text = format!("{} lost by `{reader}`", plural(count, "value", "values"));
    (Subject::Channel(channel.into()), text, TROUBLE, ("lost", count))
}

fn counted(subject: Subject, count: Counter, times: u64) -> Content {
    (subject, format!("{}: {times}", count.name()), COUNT, ("times", times))
}

fn begun(running: Duration) -> Content {
    (Subject::Application, "release 0".to_owned(), RUN, ("running_ns", running.as_ns()))
}

fn ended(plan: &Plan, ending: Ending) -> Content {
    let text = match (Ended::of(ending, plan), ending) {
        (Some(ended), _) => ended_text(&ended),
        (None, Ending::Signal(signal)) => format!("ended by signal {signal}, orderly"),
        (None, _) => "ended as planned".to_owned(),
    };
    let signal = if let Ending::Signal(signal) | Ending::Killed(signal) = ending { signal.into() } else { 0 };
    (Subject::Application, text, RUN, ("signal", signal))
}

fn at_rest(result: Option<SafeStateOutcome>, took: Duration) -> Content {
    let text = match end::unrest(result) {
        None => "outputs were brought to rest".to_owned(),
        Some(why) => not_at_rest(why, took.as_ns()),
    };
    (Subject::Application, text, RUN, ("took_ns", took.as_ns()))
}

fn interfered(interference: Interference) -> Content {
    match interference {
        Interference::Stopped => {
            let text = "all threads continue after a stop from outside".to_owned();
            (Subject::Application, text, OUTSIDE, ("pid", 0))
        }
        Interference::Traced { pid } => {
            let text = format!("process {pid} traces the application");
            (Subject::Application, text, OUTSIDE, ("pid", pid.into()))
        }
    }
}

fn moved(subject: Subject, thread: &str, placement: ObservedPlacement) -> Content {
    let ObservedPlacement { policy, priority, is_unpinned } = placement;
    let pinned = if is_unpinned { ", not on its CPU alone" } else { "" };
    let policy = policy_text(policy.into(), priority.into());
    let text = format!("{thread} was moved from outside: {policy}{pinned}");
    (subject, text, OUTSIDE, ("priority", priority.into()))
}

fn of_foreign(thread: &Foreign) -> Content {
    let who = foreign_thread(&thread.name(), thread.tid, thread.policy.into(), thread.priority.into());
    let text = format!("{who}, ran for {}", Duration::from_ns(thread.ran_ns));
    (Subject::Core(thread.core.into()), text, OUTSIDE, ("ran_ns", thread.ran_ns))
}

/// The note that a core looked at its calendar; `task` is the core's first task.
fn looked(plan: &Plan, task: u16) -> Option<Content> {
    let cpu = plan.cpu_of(plan.tasks.get(usize::from(task))?)?;
    let core = plan.cores.iter().position(|core| core.cpu == cpu)?;
    Some((Subject::Core(core), "checked its calendar".to_owned(), RUN, ("task", task.into())))
}

fn follows(plan: &Plan, service: u16, task: u16, state: u64) -> Content {
    let task = plan.tasks.get(usize::from(task)).map_or("?", |task| &task.name);
    let state_name = match state {
        RUNNING => "running".to_owned(),
        PAUSED => "paused".to_owned(),
        STOPPED => "stopped".to_owned(),
        RESTARTED => "reset".to_owned(),
        other => format!("in state {other}"),
    };
    (Subject::Service(service.into()), format!("{task} is {state_name}"), CHANGE, ("state", state))
}

fn switched(plan: &Plan, task: u16, to: u16, since: Duration) -> Content {
    let mode = plan.modes.get(usize::from(to)).map_or("?", |mode| &mode.name);
    let text = format!("has followed to mode {mode}");
    (Subject::Task(task.into()), text, CHANGE, ("since_ns", since.as_ns()))
}

fn followed(task: u16, error: Duration, phase: GridPhase, has_broken: bool) -> Content {
    let text = match phase {
        _ if has_broken => "the device broke its word",
        GridPhase::Free => "knows no tick of its device",
        GridPhase::Approaching => "moves to the ticks of its device",
        GridPhase::Locked => "follows its device",
        GridPhase::Unseen => "sees no ticks of its device",
    };
    let kind = if has_broken || phase == GridPhase::Unseen { OUTSIDE } else { RUN };
    (Subject::Task(task.into()), text.to_owned(), kind, ("error_ns", error.as_ns()))
}

fn aged(chain: u16, age: Duration) -> Content {
    (Subject::Chain(chain.into()), format!("age {age}"), RUN, ("age_ns", age.as_ns()))
}

fn budgeted(server: u16, budget: Duration) -> Content {
    (Subject::Server(server.into()), format!("budget {budget}"), RUN, ("budget_ns", budget.as_ns()))
}

fn not_charged(server: u16, others: Duration) -> Content {
    let text = format!("not charged for {others}, during which foreign threads ran");
    (Subject::Server(server.into()), text, OUTSIDE, ("others_ns", others.as_ns()))
}

fn level_of(plan: &Plan, task: u16, level: u64) -> Content {
    let name = plan.tasks.get(usize::from(task)).map(|task| task.name.as_str());
    let (text, what) = attribute(plan, name, level);
    (Subject::Task(task.into()), format!("level {text}"), CHANGE, (what, level))
}

fn ceiling_of(plan: &Plan, resource: u16, ceiling: u64) -> Content {
    let (text, what) = attribute(plan, user(plan, resource.into()), ceiling);
    (Subject::Resource(resource.into()), format!("ceiling {text}"), CHANGE, (what, ceiling))
}

/// A user of a resource; all its users are on one core.
fn user(plan: &Plan, resource: usize) -> Option<&str> {
    if let Some(resource) = plan.resources.get(resource) {
        return resource.users.first().map(String::as_str);
    }
    let mut states = plan.channels.iter().filter(|channel| channel.mechanism.locking().is_some());
    states.nth(resource - plan.resources.len()).map(|channel| channel.writer.name.as_str())
}

/// The value as text, and its meaning on that task's core: a priority, or under EDF a relative deadline.
fn attribute(plan: &Plan, task: Option<&str>, value: u64) -> (String, &'static str) {
    let cpu = task.and_then(|name| plan.task(name)).and_then(|at| match &plan.tasks[at].class {
        ClassPlan::RealTime { cpu, .. } => Some(*cpu),
        ClassPlan::BestEffort {} => None,
    });
    let core = plan.cores.iter().find(|core| Some(core.cpu) == cpu);
    match core.map(|core| core.scheduler) {
        Some(SchedulingPolicy::Edf) => (Duration::from_ns(value).to_string(), "deadline_ns"),
        _ => (value.to_string(), "priority"),
    }
}
