// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Cores, and priorities on them.

use std::collections::{BTreeMap, HashMap};

use super::faults::Faults;
use crate::{
    ClassDraft, Draft, Executor, Fault, KeyPath, PRIORITY_MAX, RealTimeDraft, SAFE_STATE_MAX,
    SchedulingPolicy, codes,
};

pub(super) fn check(draft: &Draft, faults: &mut Faults<'_>) {
    lists(draft, faults);
    owned(draft, faults);
    priorities(draft, faults);
    executor(draft, faults);
    safe_state(draft, faults);
}

/// The end of an application waits for its safe state, so the safe state's budget has a limit.
fn safe_state(draft: &Draft, faults: &mut Faults<'_>) {
    let Some(budget) = draft.app.safe_state else { return };
    if budget.is_zero() || budget > SAFE_STATE_MAX {
        let message = format!("a safe state has a budget above zero and at most {SAFE_STATE_MAX}");
        let place = KeyPath::value("app.safe-state");
        faults.push(
            Fault::error(codes::OUT_OF_RANGE, message, place, format!("{budget}"))
                .help("state how long it takes to bring the outputs to rest, as in \"2ms\""),
        );
    }
}

/// Linux schedules by fixed priorities, does not know taut's locks, and cannot take a job off its core.
fn executor(draft: &Draft, faults: &mut Faults<'_>) {
    if draft.platform.executor != Executor::Native || faults.wrong("platform.executor") {
        return;
    }
    let misfit = |place: KeyPath, why: &str| {
        let message = "the native executor cannot enforce what the manifest asks of the cores";
        Fault::error(
            codes::EXECUTOR_MISFIT,
            message,
            KeyPath::value("platform.executor"),
            "Linux schedules the jobs",
        )
        .also(place, why)
        .help("use `executor = \"auto\"`, which uses taut's dispatcher where a core needs it")
    };
    if draft.platform.scheduler == SchedulingPolicy::Edf {
        faults.push(misfit(KeyPath::value("platform.scheduler"), "schedules by deadline"));
    }
    for resource in &draft.resources {
        faults.push(misfit(KeyPath::key(format!("resources.{}", resource.name)), "needs a lock"));
    }
    for server in &draft.servers {
        faults.push(misfit(KeyPath::key(format!("servers.{}", server.name)), "has a budget"));
    }
    for channel in &draft.channels {
        if channel.mechanism.is_some_and(|mechanism| mechanism.locking().is_some()) {
            faults
                .push(misfit(KeyPath::value(format!("channels.{}.mechanism", channel.table())), "is a lock"));
        }
    }
    for (name, task) in real_time(draft) {
        if task.budget.is_some() {
            faults.push(misfit(KeyPath::value(format!("tasks.{name}.budget")), "must be enforced"));
        }
        if task.on_overrun.needs_dispatcher() {
            faults
                .push(misfit(KeyPath::value(format!("tasks.{name}.on-overrun")), "takes a job off its core"));
        }
    }
}

fn real_time(draft: &Draft) -> impl Iterator<Item = (&str, &RealTimeDraft)> {
    draft.tasks.iter().filter_map(|task| match &task.class {
        ClassDraft::RealTime(real_time) => Some((task.name.as_str(), real_time)),
        ClassDraft::BestEffort(_) => None,
    })
}

/// No core is listed twice or in both lists, and there is at least one core if a task needs one.
fn lists(draft: &Draft, faults: &mut Faults<'_>) {
    let platform = &draft.platform;
    let mut seen = HashMap::new();
    for (list, cores) in [("cores", &platform.cores), ("housekeeping", &platform.housekeeping)] {
        for (at, core) in cores.iter().enumerate() {
            let place = KeyPath::value(format!("platform.{list}.{at}"));
            if let Some((first_list, first)) = seen.insert(*core, (list, place.clone())) {
                let fault = Fault::error(
                    codes::CORE_TWICE,
                    format!("core {core} is listed twice"),
                    place,
                    format!("again in `{list}`"),
                );
                let fault = fault.also(first, format!("first in `{first_list}`"));
                faults.push(if first_list == list {
                    fault.help("remove one of them")
                } else {
                    fault
                        .note("a real-time core runs nothing else")
                        .help("remove it from one of the two lists")
                });
            }
        }
    }
    let certain = |(name, _): &(&str, _)| !faults.wrong(&format!("tasks.{name}.class"));
    if platform.cores.is_empty()
        && let Some((name, _)) = real_time(draft).find(certain)
    {
        let message = "real-time tasks have no core to run on";
        faults.push(
            Fault::error(codes::NO_CORES, message, KeyPath::value("platform.cores"), "no core is named")
                .also(KeyPath::key(format!("tasks.{name}")), "is real-time")
                .help("give the application a core: `cores = [1]` in `[platform]`"),
        );
    }
}

/// Every core that a task names belongs to the application.
fn owned(draft: &Draft, faults: &mut Faults<'_>) {
    let platform = &draft.platform;
    // An empty list of cores is reported elsewhere.
    if platform.cores.is_empty() && !faults.spoiled("platform.cores") {
        return;
    }
    for (name, task) in real_time(draft) {
        let Some(core) = task.core.filter(|core| !platform.cores.contains(core)) else { continue };
        let message = format!("task `{name}` runs on core {core}, which does not belong to the application");
        let place = KeyPath::value(format!("tasks.{name}.core"));
        let fault = Fault::error(codes::CORE_NOT_OWNED, message, place, "not in `platform.cores`");
        let cores = platform.cores.iter().take(16).map(u16::to_string).collect::<Vec<_>>().join(", ");
        let fault = match faults.spoiled("platform.cores") {
            true => fault.help("use a core of `platform.cores`, or \"auto\""),
            false => {
                let help = format!("the application's cores are {cores}; use one of them, or \"auto\"");
                fault.help(help)
            }
        };
        match platform.housekeeping.iter().position(|c| *c == core) {
            // A housekeeping core is not the application's, even if the list of cores is faulty.
            Some(at) => faults.push(
                fault.also(KeyPath::value(format!("platform.housekeeping.{at}")), "a housekeeping core"),
            ),
            None => {
                let own = KeyPath::value("platform.cores");
                faults.push_resting_on(fault.also(own, "the application's cores"), &["platform.cores"]);
            }
        }
    }
}

/// Priorities are in range, and no two tasks on a core share one: there is no rule for ties.
fn priorities(draft: &Draft, faults: &mut Faults<'_>) {
    if draft.platform.scheduler == SchedulingPolicy::Edf {
        return idle_priorities(draft, faults);
    }
    // If there is only one core, every task runs on it, whatever the manifest says.
    let only = match draft.platform.cores.as_slice() {
        [core] if !faults.spoiled("platform.cores") => Some(*core),
        _ => None,
    };
    let mut taken = HashMap::new();
    let mut tasks_on = BTreeMap::<u16, usize>::new();
    for (name, task) in real_time(draft) {
        let core = only.or(task.core);
        if let Some(core) = core {
            *tasks_on.entry(core).or_default() += 1;
        }
        let Some(priority) = task.priority else { continue };
        let place = KeyPath::value(format!("tasks.{name}.priority"));
        if !(1..=i64::from(PRIORITY_MAX)).contains(&priority) {
            faults.push(out_of_range(name, priority, place));
            continue;
        }
        let Some(core) = core else { continue };
        if let Some(first) = taken.insert((core, priority), name) {
            let message = format!("`{first}` and `{name}` share priority {priority} on core {core}");
            faults.push(
                Fault::error(codes::PRIORITY_SHARED, message, place, format!("`{name}`"))
                    .also(KeyPath::value(format!("tasks.{first}.priority")), format!("`{first}`"))
                    .note("the order of two tasks of equal priority is not defined, so neither response time has a \
                           bound")
                    .help("give the one with the shorter deadline the larger priority, or write \"auto\""),
            );
        }
    }
    for (core, count) in tasks_on {
        if count > usize::from(PRIORITY_MAX) {
            faults.push(full(draft, core, count));
        }
    }
}

/// Warns about priorities of tasks whose cores schedule by deadlines.
fn idle_priorities(draft: &Draft, faults: &mut Faults<'_>) {
    for (name, _) in real_time(draft).filter(|(_, task)| task.priority.is_some()) {
        let message = format!("the priority of task `{name}` has no effect");
        let place = KeyPath::value(format!("tasks.{name}.priority"));
        faults.push(
            Fault::error(codes::IDLE_PRIORITY, message, place, "ignored under EDF")
                .warning()
                .also(KeyPath::value("platform.scheduler"), "jobs are scheduled by deadline")
                .help("leave `priority` out, or use `scheduler = \"fp\"`"),
        );
    }
}

fn out_of_range(name: &str, priority: i64, place: KeyPath) -> Fault {
    let message = format!("task `{name}` has priority {priority}");
    let fault = Fault::error(codes::PRIORITY_RANGE, message, place, format!("not in 1 to {PRIORITY_MAX}"));
    let fault = match priority {
        99 => fault.note("99 belongs to the platform probe, which must preempt every task"),
        _ => fault,
    };
    fault.help(format!("use 1 to {PRIORITY_MAX}, larger = more urgent, or \"auto\""))
}

fn full(draft: &Draft, core: u16, count: usize) -> Fault {
    let at = draft.platform.cores.iter().position(|c| *c == core);
    let path = at.map_or("platform.cores".to_owned(), |at| format!("platform.cores.{at}"));
    let message = format!("core {core} has {count} real-time tasks");
    let text = format!("{PRIORITY_MAX} priorities");
    Fault::error(codes::CORE_FULL, message, KeyPath::value(path), text)
        .note("every real-time task of a core has a priority of its own")
        .help("move some to another core")
}
