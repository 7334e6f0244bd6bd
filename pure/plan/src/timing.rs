// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! What is said when a deadline is not proven.

use taut_analysis::uni::fp::largest_cost;
use taut_analysis::uni::utilisation::Utilisation;
use taut_analysis::{Bound, Core, Part, Verdict, Why};
use taut_model::{Cost, Fault, Model, Place, Severity, TaskId, codes};
use taut_time::Duration;

use crate::budget;
use crate::flow::Promises;
use crate::proof::JOBS_ASKED_OFTEN;
use crate::room::{self, Room, Stretch};
use crate::seats::{Seats, Who};
use crate::waits;

/// The test's name, as the plan and the faults say it.
pub(crate) const TEST: &str = "response-time analysis, fixed priority, preemptive";
pub(crate) const TEST_IN_PHASE: &str = "response-time analysis, fixed priority, preemptive, with offsets from a common \
                                        start (Tindell 1994; Palencia & González Harbour 1998)";
const SOURCE: &str = "(Joseph & Pandya 1986; jitter and blocking: Audsley et al. 1993)";

/// The tasks of an overloaded core that are shown, each at its line.
const MOST: usize = 8;

fn task(name: &str, key: &str) -> Place {
    Place::value(format!("tasks.{name}.{key}"))
}

/// Parts per million as a percentage with one decimal, rounded up.
pub(crate) fn percent(ppm: u64) -> String {
    let tenths = ppm.div_ceil(1_000);
    format!("{}.{} %", tenths / 10, tenths % 10)
}

/// Cores that are asked for more than they have, and tasks that nobody has a number for.
pub(crate) fn cores(model: &Model, seats: &Seats<'_>, faults: &mut Vec<Fault>) {
    for (at, core) in seats.cores.iter().enumerate() {
        let cpu = model.platform().cores[at];
        let place = || Place::value(format!("platform.cores.{at}"));
        if !core.numbered {
            let message = format!("core {cpu} has no priority left for all of its tasks");
            faults.push(
                Fault::error(codes::CORE_FULL, message, place(), "too many tasks")
                    .note("priorities are given out from 1 to 98, around those that the manifest fixes")
                    .help("let more of them be \"auto\", or use another core"),
            );
        }
        let utilisation = core.analysis.as_ref().ok().and_then(Core::utilisation);
        let Some(utilisation) = utilisation.filter(|u| !u.fits()) else { continue };
        let ppm = utilisation.ppm();
        let message = format!("core {cpu} is overloaded");
        let mut fault =
            Fault::error(codes::CORE_OVERLOADED, message, place(), format!("needed to {}", percent(ppm)));
        let share = |members: &[usize]| {
            let costs = members.iter().map(|&i| (seats.seats[i].cost, seats.seats[i].task.arrival.period()));
            Utilisation::of(costs).map_or(u64::MAX, |share| share.ppm())
        };
        // Those that take most: what a reader changes is among them, and a hundred places are no help.
        let mut members = core.members.clone();
        members.sort_by_cached_key(|&i| std::cmp::Reverse(share(&[i])));
        let (most, rest) = members.split_at(members.len().min(MOST));
        for &i in most {
            let seat = &seats.seats[i];
            let share = percent(share(&[i]));
            let (cost, period) = (seat.cost.rounded(), seat.task.arrival.period());
            let text = format!("`{}` takes {share}: {cost} per {period}", seat.name);
            fault = fault.also(seat.place("wcet.value"), text);
        }
        if !rest.is_empty() {
            let tasks = if rest.len() == 1 {
                "1 more task takes"
            } else {
                &format!("{} more tasks take", rest.len())
            };
            fault = fault.note(format!("{tasks} {} of it", percent(share(rest))));
        }
        let over = percent(ppm.saturating_sub(1_000_000));
        faults.push(
            fault
                .note("test: utilisation, context switches and the platform probe included (Liu & Layland 1973)")
                .help(format!("take {over} away: shorter execution, longer periods, or another core")),
        );
    }
}

/// A task whose deadline is not proven.
pub(crate) fn deadline(model: &Model, seats: &Seats<'_>, seat: usize, faults: &mut Vec<Fault>) {
    let at = &seats.seats[seat];
    let name = at.name;
    let core = &seats.cores[at.core];
    let other = |text: String| {
        let message = format!("the response time of task `{name}` is not shown");
        Fault::error(codes::NOT_SHOWN, message, at.place("deadline"), text)
            .note(format!("test: {TEST} {SOURCE}"))
    };
    if seats.bound(seat).is_some() {
        return;
    }
    let (bound, exact) = match seats.verdict(seat) {
        Ok(Verdict::Schedulable(_)) => return,
        // What a budget lets through at most need not come to pass.
        Ok(Verdict::Unschedulable(past)) => {
            let budgets = |&i: &usize| budget::enforced(seats.seats[i].task).is_some();
            (past, !core.members.iter().any(budgets))
        }
        Ok(Verdict::NotShown(Why::Passes(past))) => (past, false),
        Ok(Verdict::NotShown(Why::Steps(steps))) => {
            let text = format!("given up after {steps} steps of the iteration");
            faults.push(other(text).help("use a shorter deadline, or periods that are not so far apart"));
            return;
        }
        Ok(Verdict::NotShown(Why::Rate)) => return faults.push(other("no bound".into())),
        Ok(Verdict::NotApplicable(assumption)) => return faults.push(other(assumption.to_string())),
        Err(overflow) => return faults.push(other(overflow.to_string())),
    };
    let Ok(analysis) = &core.analysis else { return };
    // Where the core is overloaded up to this task, that has been said, and no deadline could be kept.
    if analysis.utilisation_at(at.at).is_some_and(|u| !u.fits()) {
        return;
    }
    let passed = |bound: &Bound| {
        let past = bound.from_arrival.rounded_above(at.task.deadline);
        format!("{} passed: the bound is at least {past}", at.task.deadline)
    };
    let cpu = model.platform().cores[at.core];
    if at.is_server() {
        let message = format!("server `{name}` is not shown to get its budget on core {cpu}");
        let text = passed(&bound);
        let fault = Fault::error(codes::SERVER_LATE, message, at.place("deadline"), text);
        let help = "a smaller budget, a longer period, or a higher priority; or another core";
        return faults.push(
            terms(model, fault, seats, seat, &bound).note(format!("test: {TEST} {SOURCE}")).help(help),
        );
    }
    let message = if exact {
        format!("task `{name}` can miss its deadline on core {cpu}")
    } else {
        format!("task `{name}` is not shown to keep its deadline on core {cpu}")
    };
    let text = passed(&bound);
    let mut fault = Fault::error(codes::DEADLINE_MISSED, message, task(name, "deadline"), text);
    fault = terms(model, fault, seats, seat, &bound);
    fault = fault.note(format!("test: {TEST} {SOURCE}"));
    match &at.in_phase {
        Some(Verdict::NotShown(Why::Passes(bound))) => {
            let bound = bound.from_arrival.rounded_above(at.task.deadline);
            let text = format!("with offsets the bound is at least {bound}");
            fault = fault.note(format!("{text} (Tindell 1994; Palencia & González Harbour 1998)"));
        }
        _ if exact => {}
        _ => {
            fault = fault.note(
                "the test takes all tasks to be at their worst together, which offsets and triggers may rule out",
            );
        }
    }
    // What it takes decides how long others wait, and so what they can take: then all is asked anew.
    let largest = match at.who {
        Who::Task(id) if model.links().next().is_some() => {
            may_advise(faults).then(|| Room::of(model, id)?.wcet()).flatten()
        }
        _ => largest_value(model, seats, seat),
    };
    faults.push(match largest {
        Some(value) => {
            let margin = room::margin(at.task.wcet);
            fault.help(format!(
                "it fits, with all that it delays, if its wcet is at most `value = \"{value}\"`{margin}"
            ))
        }
        None => {
            let figures = may_advise(faults);
            fault.help(other_help(model, seats, seat, &bound, figures))
        }
    });
}

/// Where a plan is not proven and nobody said why: at the first task that has no bound, else at the cores.
pub(crate) fn unsaid(model: &Model, promises: &Promises, faults: &mut Vec<Fault>) {
    if faults.iter().any(|fault| fault.severity == Severity::Error) {
        return;
    }
    let open = |id: TaskId| promises[id.index()].is_some_and(|promise| !promise.proven);
    let (message, place) = match model.real_time().find(|(id, ..)| open(*id)) {
        Some((_, of, _)) => {
            (format!("the response time of task `{}` is not shown", of.name), task(&of.name, "deadline"))
        }
        None => ("the deadlines are not shown to be kept".into(), Place::value("platform.cores")),
    };
    faults.push(
        Fault::error(codes::NOT_SHOWN, message, place, "no test gives a bound")
            .help("shorten executions, or give more time"),
    );
}

fn times(count: Option<u64>) -> String {
    count.map_or_else(String::new, |count| format!(" {count}x,"))
}

/// A label at whatever each term comes from.
fn terms(model: &Model, mut fault: Fault, seats: &Seats<'_>, seat: usize, bound: &Bound) -> Fault {
    let own = &seats.seats[seat];
    let members = &seats.cores[seats.seats[seat].core].members;
    let other = |local: usize| &seats.seats[members[local]];
    let name = |local: usize| other(local).name;
    let overhead = |key: &str| Place::value(format!("platform.overheads.{key}"));
    for term in &bound.terms {
        let (time, times) = (term.time.rounded(), times(term.count));
        let (place, text) = match term.part {
            Part::Own if own.is_server() => (own.place("wcet.value"), format!("its budget, {time}")),
            Part::Own if budget::enforced(own.task).is_some() => {
                (own.place("budget"), format!("own execution, {time} with what it takes to stop it"))
            }
            Part::Own => (own.place("wcet.value"), format!("own execution, {time} with its margin")),
            Part::Section(j) => {
                (other(j).place("non-preemptive"), format!("`{}` blocks{times} {time}", name(j)))
            }
            Part::Interference(j) => {
                let key = if budget::enforced(other(j).task).is_some() { "budget" } else { "wcet.value" };
                (other(j).place(key), format!("`{}` preempts{times} {time} in all", name(j)))
            }
            Part::Kernel => (overhead("kernel-blocking"), format!("the kernel blocks, {time}")),
            Part::Switches => {
                (overhead("context-switch"), format!("{}, {time} in all", times_of_switches(term.count)))
            }
            Part::Backlog => {
                let of_own = term.count.unwrap_or(0);
                (own.place("arrival"), format!("jobs that came before, {of_own} of its own, {time} in all"))
            }
            // Told where it is the bound only.
            Part::InPhase => continue,
            Part::Jitter => match waits::whose(model, own.task).zip(own.task.waits.of) {
                Some((whose, of)) => {
                    let channel = &model.channel(of).name;
                    (Place::value(format!("channels.{channel}.flow")), format!("{whose}, up to {time}"))
                }
                None => (own.place("jitter"), format!("released up to {time} late")),
            },
            Part::Release => (overhead("release"), format!("timer to first instruction, {time}")),
            Part::Probe => {
                let text = format!("the platform probe preempts{times} {time} in all");
                fault = fault.note(text);
                continue;
            }
        };
        fault = fault.also(place, text);
    }
    fault
}

/// Faults of deadlines after which no more figures are looked for: each takes tens of analyses.
const ADVISED_MAX: usize = 2;

/// Whether a fault may still have figures that are looked for.
pub(crate) fn may_advise(faults: &[Fault]) -> bool {
    faults.iter().filter(|fault| fault.code == codes::DEADLINE_MISSED).count() < ADVISED_MAX
}

fn times_of_switches(count: Option<u64>) -> String {
    format!("{} context switches", count.unwrap_or(0))
}

/// R of a task of a core, with offsets if need be and if that is fast.
fn shown(core: &Core, task: usize) -> Option<Bound> {
    let fast = || core.has_phases() && core.jobs_in_phase().is_some_and(|jobs| jobs <= JOBS_ASKED_OFTEN);
    let without = core.response(task).ok()?;
    match without {
        Verdict::Schedulable(bound) => Some(bound),
        Verdict::NotShown(_) if fast() => core.response_in_phase(task).ok()?.bound().cloned(),
        _ => None,
    }
}

/// The largest `value` that a task's manifest may state, before the margin, so that it and all that it delays keep
/// their deadlines; none if there is none, and those that miss theirs without it do not count.
///
/// Whole microseconds where it is longer than one.
pub(crate) fn largest_value(model: &Model, seats: &Seats<'_>, seat: usize) -> Option<Duration> {
    let at = &seats.seats[seat];
    let core = seats.cores[at.core].analysis.as_ref().ok()?;
    let cost = |value: u64| Cost { value: Duration::from_ns(value), ..at.task.wcet }.bound();
    let passes = |task: usize, value: u64| {
        let Some(cost) = cost(value) else { return false };
        let mut tasks = core.tasks().to_vec();
        tasks[at.at].cost = budget::charged(at.task, &model.platform().overheads, cost);
        let changed = Core::new(tasks, model.platform().overheads);
        changed.is_ok_and(|core| shown(&core, task).is_some())
    };
    let delayed = core.lower(at.at).filter(|&task| passes(task, 0));
    let tests: Vec<usize> = [at.at].into_iter().chain(delayed).collect();
    let largest = largest_cost::largest(at.task.wcet.value.as_ns(), tests.len(), |test, value| {
        passes(tests[test], value)
    })?;
    let largest = if largest >= 1_000 { largest - largest % 1_000 } else { largest };
    // A job is not shorter than its longest section, and not nothing.
    let fits = largest > 0 && cost(largest)? >= at.task.non_preemptive;
    (fits && holds_when_chosen_anew(model, seats, seat, cost(largest)?)).then(|| Duration::from_ns(largest))
}

/// Whether a task keeps its deadline with another cost, and nobody else loses theirs, after all that is open was
/// chosen again: a smaller cost can move tasks between cores.
fn holds_when_chosen_anew(model: &Model, seats: &Seats<'_>, seat: usize, cost: Duration) -> bool {
    if seats.cores.len() == 1 || seats.seats.iter().all(|seat| seat.task.core.is_some()) {
        return true;
    }
    let holds = |seats: &Seats<'_>, i| seats.bound(i).is_some();
    let mut anew = Seats::choose(model, Some((seat, cost)));
    anew.look_at_phases(None);
    (0..seats.seats.len()).all(|i| holds(&anew, i) || (i != seat && !holds(seats, i)))
}

fn other_help(model: &Model, seats: &Seats<'_>, seat: usize, bound: &Bound, figures: bool) -> String {
    let members = &seats.cores[seats.seats[seat].core].members;
    let others = bound.terms.iter().filter_map(|term| match term.part {
        Part::Interference(j) => Some((term.time, members[j], Stretch::Whole)),
        Part::Section(j) => Some((term.time, members[j], Stretch::NonPreemptive)),
        _ => None,
    });
    let Some((time, most, stretch)) = others.rev().max_by_key(|(time, ..)| *time) else {
        return "no wcet would do: the machine's overheads alone are too long for this deadline".into();
    };
    let (name, several) = (seats.seats[most].name, model.platform().cores.len() > 1);
    let takes = format!("no wcet of its own would do: `{name}` takes most, {}", time.rounded());
    let room = match seats.seats[seat].who {
        Who::Task(id) if figures => Room::of(model, id),
        _ => None,
    };
    let mut ways = Vec::new();
    if let Some(mut room) = room {
        if let Who::Task(other) = seats.seats[most].who
            && let Some(fits) = room.other(other, stretch)
        {
            let (key, margin) = match stretch {
                Stretch::Whole => ("wcet.value", room::margin(seats.seats[most].task.wcet)),
                _ => ("non-preemptive", String::new()),
            };
            ways.push(format!("if `tasks.{name}.{key}` is at most \"{fits}\"{margin}"));
        }
        if several && let Some(core) = room.cores().0.first() {
            ways.push(format!("as it is on core {core}"));
        }
    }
    if !ways.is_empty() {
        return format!("{takes}; it fits {}", ways.join(", or "));
    }
    let elsewhere = if several { ", or move one of them to another core" } else { "" };
    format!("{takes}; shorten that{elsewhere}")
}
