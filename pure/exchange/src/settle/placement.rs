// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Servers, and distinct priorities for the tasks and servers of a core.

use taut_model::PRIORITY_MAX;

use crate::TextPosition;
use crate::sketch::{Arrival, Sketch};
use crate::xml::shown;

/// Keeps a server for a task with a deadline only if the server has no other task. Tasks of a server that is not kept
/// run at its priority, without a budget.
pub(super) fn servers(sketch: &mut Sketch) {
    let mut places = Vec::with_capacity(sketch.servers.len());
    let mut kept = Vec::new();
    let mut lost = Vec::new();
    for (at, server) in std::mem::take(&mut sketch.servers).into_iter().enumerate() {
        let users: Vec<usize> =
            (0..sketch.tasks.len()).filter(|task| sketch.tasks[*task].server == Some(at)).collect();
        let hard = users.iter().filter(|user| sketch.tasks[**user].arrival != Arrival::Any).count();
        let locks = users
            .iter()
            .map(|user| &sketch.tasks[*user])
            .any(|task| !task.sections.is_empty() || !task.segments.is_empty() || task.non_preemptive);
        let why = match () {
            () if server.period.is_zero() || server.budget.is_zero() => Some("has no budget or no period"),
            () if server.budget > server.period => Some("has a budget of more than its period"),
            () if hard > 0 && users.len() > 1 => Some("is of several tasks"),
            () if locks => Some("is of a task that locks"),
            () => None,
        };
        let name = shown(&server.named.name);
        match why {
            Some(why) => {
                lost.push((
                    server.at,
                    format!("server `{name}` {why}: its tasks run at its priority, without a budget"),
                ));
                for user in users {
                    let task = &mut sketch.tasks[user];
                    (task.server, task.core, task.priority) = (None, server.core, server.priority);
                }
                places.push(None);
            }
            None if users.is_empty() => places.push(None),
            None => {
                places.push(Some(kept.len()));
                kept.push(server);
            }
        }
    }
    for task in &mut sketch.tasks {
        task.server = task.server.and_then(|server| *places.get(server)?);
        if task.server.is_some() {
            (task.core, task.priority) = (None, None);
        }
    }
    sketch.servers = kept;
    lost.into_iter().for_each(|(at, what)| sketch.lose(at, what));
}

/// A task or a server, and its core.
struct Placement {
    task: bool,
    index: usize,
    at: TextPosition,
    name: String,
    core: Option<usize>,
    priority: i64,
}

fn placement(sketch: &Sketch) -> Vec<Placement> {
    let tasks = sketch.tasks.iter().enumerate().filter(|(_, task)| task.arrival != Arrival::Any);
    let tasks = tasks.filter_map(|(index, task)| {
        let (at, name) = (task.at, task.named.name.clone());
        Some(Placement { task: true, index, at, name, core: task.core, priority: task.priority? })
    });
    let servers = sketch.servers.iter().enumerate().filter_map(|(index, server)| {
        let (at, name) = (server.at, server.named.name.clone());
        Some(Placement { task: false, index, at, name, core: server.core, priority: server.priority? })
    });
    tasks.chain(servers).collect()
}

fn give(sketch: &mut Sketch, placement: &Placement, priority: Option<i64>) {
    match placement.task {
        true => sketch.tasks[placement.index].priority = priority,
        false => sketch.servers[placement.index].priority = priority,
    }
}

pub(super) fn priorities(sketch: &mut Sketch) {
    let mut placement = placement(sketch);
    if sketch.edf {
        placement.iter().for_each(|placement| give(sketch, placement, None));
        return;
    }
    let one = sketch.cores.len() == 1;
    // The least urgent first; among equals, the earlier in the source is the more urgent.
    placement.reverse();
    placement.sort_by_key(|placement| placement.priority);
    let mut anew = false;
    let meet = |a: &Placement, b: &Placement| one || a.core.is_none() || b.core.is_none() || a.core == b.core;
    let mut ties = Vec::new();
    for run in placement.chunk_by(|a, b| a.priority == b.priority) {
        anew |= run.iter().any(|placement| !(1..=i64::from(PRIORITY_MAX)).contains(&placement.priority));
        for (index, second) in run.iter().enumerate() {
            if let Some(first) = run[index + 1..].iter().find(|first| meet(second, first)) {
                let (a, b) = (shown(&first.name), shown(&second.name));
                let what =
                    format!("`{a}` and `{b}` have the same priority: the first is made the more urgent");
                ties.push((second.at, what));
            }
        }
    }
    if !anew && ties.is_empty() {
        return;
    }
    if placement.len() > usize::from(PRIORITY_MAX) {
        placement.iter().for_each(|placement| give(sketch, placement, None));
        sketch.lose(None, format!("more than {PRIORITY_MAX} priorities: they are left to the plan"));
        return;
    }
    for (level, placement) in (1..).zip(&placement) {
        give(sketch, placement, Some(level));
    }
    let why = if anew { format!("not all in 1 to {PRIORITY_MAX}") } else { "not all different".to_owned() };
    sketch.lose(None, format!("priorities are {why}: they are numbered anew, in the same order"));
    ties.into_iter().for_each(|(at, what)| sketch.lose(at, what));
}
