// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Faults for deadlines that are not proven.

use taut_analysis::overheads::Charges;
use taut_analysis::uni::fp::largest_cost;
use taut_analysis::{AnalysedCore, Bound, BoundTerm, Verdict, Why};
use taut_model::{Cost, Fault, KeyPath, Model, Severity, TaskId, codes};
use taut_time::Duration;

use crate::advice::room::{self, Room, Stretch};
use crate::overheads::{budget, watched};
use crate::placement::{Placements, Who};
use crate::response::bounds::ResponseBounds;
use crate::response::proof::{JOBS_ASKED_OFTEN, Proof};
use crate::response::waits;
use crate::response::{TEST, serve};

const SOURCE: &str = "(Joseph & Pandya 1986; jitter and blocking: Audsley et al. 1993)";

fn task(name: &str, key: &str) -> KeyPath {
    KeyPath::value(format!("tasks.{name}.{key}"))
}

/// Reports each task and server whose deadline is not proven.
pub(crate) fn report(model: &Model, proof: &Proof<'_>, faults: &mut Vec<Fault>) {
    let Proof { placements, shared, .. } = proof;
    for i in 0..placements.placements.len() {
        match shared {
            Some(shared) => shared.deadline(model, placements, i, faults),
            None => deadline(model, placements, i, faults),
        }
    }
    for (_, task, real_time) in model.real_time() {
        let Some(server) = real_time.server else { continue };
        let found = serve::response(model, placements, shared.as_ref(), server, real_time);
        serve::deadline(model, server, &task.name, real_time, &found, faults);
    }
}

/// Reports a task whose deadline is not proven, on a core that is analysed by itself.
fn deadline(model: &Model, placements: &Placements<'_>, placement: usize, faults: &mut Vec<Fault>) {
    let at = &placements.placements[placement];
    if placements.bound(placement).is_some() {
        return;
    }
    let (bound, exact) = match past(placements, placement) {
        Ok(Some(found)) => found,
        Ok(None) => return,
        Err(fault) => return faults.push(*fault),
    };
    let Ok(analysis) = &placements.cores[at.core].analysis else { return };
    // If this task and the more urgent ones overload the core, a fault says so already, and no deadline could be kept.
    if analysis.utilisation_at(at.at).is_some_and(|u| !u.fits()) {
        return;
    }
    if at.is_server() {
        return faults.push(server_late(model, placements, placement, &bound));
    }
    let fault = missed(model, placements, placement, &bound, exact);
    // If tasks wait for values, the cost of this task decides how long they wait; and its own waiting and waking
    // add to its cost. Then only a plan made anew shows which cost fits.
    let is_apart = model.links().next().is_none() && at.task.waits.switching.is_zero();
    let largest = match at.who {
        Who::Task(id) if !is_apart => may_advise(faults).then(|| Room::of(model, id)?.wcet()).flatten(),
        _ => largest_value(model, placements, placement),
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
            fault.help(other_help(model, placements, placement, &bound, figures))
        }
    });
}

/// The bound of a task if it is past the deadline, and whether some run attains it; `None` if the deadline is shown.
///
/// # Errors
/// The fault to report if there is no bound.
fn past(placements: &Placements<'_>, placement: usize) -> Result<Option<(Bound, bool)>, Box<Fault>> {
    let at = &placements.placements[placement];
    let no_bound = |text: String| {
        let message = format!("the response time of task `{}` is not shown", at.name);
        Fault::error(codes::NOT_SHOWN, message, at.place("deadline"), text)
            .note(format!("test: {TEST} {SOURCE}"))
    };
    Err(Box::new(match placements.verdict(placement) {
        Ok(Verdict::Schedulable(_)) => return Ok(None),
        // A job need not execute for as long as its budget allows, so the miss may not occur.
        Ok(Verdict::Unschedulable(past)) => {
            let budgets = |&i: &usize| budget::enforced(placements.placements[i].task).is_some();
            return Ok(Some((past, !placements.cores[at.core].members.iter().any(budgets))));
        }
        Ok(Verdict::NotShown(Why::Passes(past))) => return Ok(Some((past, false))),
        Ok(Verdict::NotShown(Why::Steps(steps))) => {
            no_bound(format!("given up after {steps} steps of the iteration"))
                .help("use a shorter deadline, or periods that are not so far apart")
        }
        Ok(Verdict::NotShown(Why::Rate)) => no_bound("no bound".into()),
        Ok(Verdict::NotApplicable(assumption)) => no_bound(assumption.to_string()),
        Err(overflow) => no_bound(overflow.to_string()),
    }))
}

fn passed(deadline: Duration, bound: &Bound) -> String {
    format!("{deadline} passed: the bound is at least {}", bound.from_arrival.rounded_above(deadline))
}

fn server_late(model: &Model, placements: &Placements<'_>, placement: usize, bound: &Bound) -> Fault {
    let at = &placements.placements[placement];
    let cpu = model.platform().cores[at.core];
    let message = format!("server `{}` is not shown to get its budget on core {cpu}", at.name);
    let fault =
        Fault::error(codes::SERVER_LATE, message, at.place("deadline"), passed(at.task.deadline, bound));
    terms(model, fault, placements, placement, bound)
        .note(format!("test: {TEST} {SOURCE}"))
        .help("a smaller budget, a longer period, or a higher priority; or another core")
}

/// A bound past the deadline, with its terms. `exact`: some run attains it.
fn missed(model: &Model, placements: &Placements<'_>, placement: usize, bound: &Bound, exact: bool) -> Fault {
    let at = &placements.placements[placement];
    let (name, cpu) = (at.name, model.platform().cores[at.core]);
    let message = if exact {
        format!("task `{name}` can miss its deadline on core {cpu}")
    } else {
        format!("task `{name}` is not shown to keep its deadline on core {cpu}")
    };
    let text = passed(at.task.deadline, bound);
    let fault = Fault::error(codes::DEADLINE_MISSED, message, task(name, "deadline"), text);
    let fault = terms(model, fault, placements, placement, bound).note(format!("test: {TEST} {SOURCE}"));
    match &at.in_phase {
        Some(Verdict::NotShown(Why::Passes(bound))) => {
            let bound = bound.from_arrival.rounded_above(at.task.deadline);
            let text = format!("with offsets the bound is at least {bound}");
            fault.note(format!("{text} (Tindell 1994; Palencia & González Harbour 1998)"))
        }
        _ if exact => fault,
        _ => fault.note(
            "the test takes all tasks to be at their worst together, which offsets and triggers may rule out",
        ),
    }
}

/// Adds an error if a plan is not proven and no error says why: at the first task whose bound is not proven, else at
/// the cores.
pub(crate) fn unsaid(model: &Model, bounds: &ResponseBounds, faults: &mut Vec<Fault>) {
    if faults.iter().any(|fault| fault.severity == Severity::Error) {
        return;
    }
    let open = |id: TaskId| bounds[id.index()].is_some_and(|bound| !bound.proven);
    let (message, place) = match model.real_time().find(|(id, ..)| open(*id)) {
        Some((_, of, _)) => {
            (format!("the response time of task `{}` is not shown", of.name), task(&of.name, "deadline"))
        }
        None => ("the deadlines are not shown to be kept".into(), KeyPath::value("platform.cores")),
    };
    faults.push(
        Fault::error(codes::NOT_SHOWN, message, place, "no test gives a bound")
            .help("shorten executions, or allow longer deadlines"),
    );
}

fn times(count: Option<u64>) -> String {
    count.map_or_else(String::new, |count| format!(" {count}x,"))
}

/// Adds a label at the cause of each term.
fn terms(
    model: &Model,
    mut fault: Fault,
    placements: &Placements<'_>,
    placement: usize,
    bound: &Bound,
) -> Fault {
    let own = &placements.placements[placement];
    let members = &placements.cores[placements.placements[placement].core].members;
    let other = |local: usize| &placements.placements[members[local]];
    let name = |local: usize| other(local).name;
    let overhead = |key: &str| KeyPath::value(format!("platform.overheads.{key}"));
    let devices = watched::of_terms(model, placements, (own.core, bound));
    for term in &bound.terms {
        let (time, times) = (term.time.rounded(), times(term.count));
        let (place, text) = match term.kind {
            BoundTerm::Own if own.is_server() => (own.place("wcet.value"), format!("its budget, {time}")),
            BoundTerm::Own if budget::enforced(own.task).is_some() => {
                (own.place("budget"), format!("own execution, {time} with what it takes to stop it"))
            }
            BoundTerm::Own => {
                let and =
                    if own.task.waits.switching.is_zero() { "" } else { ", waiting and waking included" };
                (own.place("wcet.value"), format!("own execution, {time} with its margin{and}"))
            }
            BoundTerm::Section(j) => {
                (other(j).place("non-preemptive"), format!("`{}` blocks{times} {time}", name(j)))
            }
            BoundTerm::Interference(j) => {
                let key = if budget::enforced(other(j).task).is_some() { "budget" } else { "wcet.value" };
                (other(j).place(key), format!("`{}` preempts{times} {time} in all", name(j)))
            }
            BoundTerm::Kernel => (overhead("kernel-blocking"), format!("the kernel blocks, {time}")),
            BoundTerm::Switches => {
                (overhead("context-switch"), format!("{}, {time} in all", times_of_switches(term.count)))
            }
            BoundTerm::Backlog => {
                let of_own = term.count.unwrap_or(0);
                (own.place("arrival"), format!("jobs that came before, {of_own} of its own, {time} in all"))
            }
            // The plan shows this term only if it belongs to the bound.
            BoundTerm::InPhase => continue,
            BoundTerm::Jitter => match waits::whose(model, own.task).zip(own.task.waits.of) {
                Some((whose, of)) => {
                    let channel = &model.channel(of).name;
                    (KeyPath::value(format!("channels.{channel}.flow")), format!("{whose}, up to {time}"))
                }
                None => (own.place("jitter"), format!("released up to {time} late")),
            },
            BoundTerm::Release => (overhead("release"), format!("timer to first instruction, {time}")),
            BoundTerm::Device(at) => {
                let Some(of) = devices.get(at) else { continue };
                let place = KeyPath::value(format!("tasks.{}.arrival.device", of.task));
                (place, format!("the device thread of the core preempts{times} {time} in all"))
            }
            BoundTerm::Probe => {
                let text = format!("the platform probe preempts{times} {time} in all");
                fault = fault.note(text);
                continue;
            }
        };
        fault = fault.also(place, text);
    }
    fault
}

/// The number of deadline faults after which the planner searches for no more figures: each figure takes tens of
/// analyses.
const ADVISED_MAX: usize = 2;

/// Whether one more fault may get figures from a search.
pub(crate) fn may_advise(faults: &[Fault]) -> bool {
    faults.iter().filter(|fault| fault.code == codes::DEADLINE_MISSED).count() < ADVISED_MAX
}

fn times_of_switches(count: Option<u64>) -> String {
    format!("{} context switches", count.unwrap_or(0))
}

/// R of a task of a core; with offsets if R is not shown without them and the analysis with offsets is fast.
fn shown(core: &AnalysedCore, task: usize) -> Option<Bound> {
    let fast = || core.has_phases() && core.jobs_in_phase().is_some_and(|jobs| jobs <= JOBS_ASKED_OFTEN);
    let without = core.response(task).ok()?;
    match without {
        Verdict::Schedulable(bound) => Some(bound),
        Verdict::NotShown(_) if fast() => core.response_in_phase(task).ok()?.bound().cloned(),
        _ => None,
    }
}

/// The largest execution time, before the margin, that the manifest may state for a task so that the task and all
/// tasks that it delays keep their deadlines; `None` if there is none. A delayed task that misses its deadline even if
/// this task takes no time does not count.
///
/// In whole microseconds if it is at least one microsecond.
pub(crate) fn largest_value(
    model: &Model,
    placements: &Placements<'_>,
    placement: usize,
) -> Option<Duration> {
    let at = &placements.placements[placement];
    let core = placements.cores[at.core].analysis.as_ref().ok()?;
    let cost = |value: u64| Cost { value: Duration::from_ns(value), ..at.task.wcet }.bound();
    let passes = |task: usize, value: u64| {
        let Some(cost) = cost(value) else { return false };
        let mut tasks = core.tasks().to_vec();
        let charges = Charges::of(&model.platform().overheads);
        tasks[at.at].cost = budget::charged(at.task, &charges, cost);
        let changed = AnalysedCore::new(tasks, core.devices().to_vec(), model.platform().overheads);
        changed.is_ok_and(|core| shown(&core, task).is_some())
    };
    let delayed = core.lower(at.at).filter(|&task| passes(task, 0));
    let tests: Vec<usize> = [at.at].into_iter().chain(delayed).collect();
    let largest = largest_cost::largest(at.task.wcet.value.as_ns(), tests.len(), |test, value| {
        passes(tests[test], value)
    })?;
    let largest = if largest >= 1_000 { largest - largest % 1_000 } else { largest };
    // A job is longer than zero, and not shorter than its non-preemptive stretch.
    let fits = largest > 0 && cost(largest)? >= at.task.non_preemptive;
    (fits && holds_when_chosen_anew(model, placements, placement, cost(largest)?))
        .then(|| Duration::from_ns(largest))
}

/// Whether a task keeps its deadline with another cost, and no other task loses its own, after all open choices are
/// made anew: a smaller cost can move tasks between cores.
fn holds_when_chosen_anew(
    model: &Model,
    placements: &Placements<'_>,
    placement: usize,
    cost: Duration,
) -> bool {
    if placements.cores.len() == 1
        || placements.placements.iter().all(|placement| placement.task.core.is_some())
    {
        return true;
    }
    let holds = |placements: &Placements<'_>, i| placements.bound(i).is_some();
    let mut anew = Placements::choose(model, Some((placement, cost)));
    anew.look_at_phases(None);
    (0..placements.placements.len()).all(|i| holds(&anew, i) || (i != placement && !holds(placements, i)))
}

fn other_help(
    model: &Model,
    placements: &Placements<'_>,
    placement: usize,
    bound: &Bound,
    figures: bool,
) -> String {
    let members = &placements.cores[placements.placements[placement].core].members;
    let others = bound.terms.iter().filter_map(|term| match term.kind {
        BoundTerm::Interference(j) => Some((term.time, members[j], Stretch::Whole)),
        BoundTerm::Section(j) => Some((term.time, members[j], Stretch::NonPreemptive)),
        _ => None,
    });
    let Some((time, most, stretch)) = others.rev().max_by_key(|(time, ..)| *time) else {
        return "no wcet would do: the machine's overheads alone are too long for this deadline".into();
    };
    let (name, several) = (placements.placements[most].name, model.platform().cores.len() > 1);
    let takes = format!("no wcet of its own would do: `{name}` takes most, {}", time.rounded());
    let room = match placements.placements[placement].who {
        Who::Task(id) if figures => Room::of(model, id),
        _ => None,
    };
    let mut ways = Vec::new();
    if let Some(mut room) = room {
        if let Who::Task(other) = placements.placements[most].who
            && let Some(fits) = room.other(other, stretch)
        {
            let (key, margin) = match stretch {
                Stretch::Whole => ("wcet.value", room::margin(placements.placements[most].task.wcet)),
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
