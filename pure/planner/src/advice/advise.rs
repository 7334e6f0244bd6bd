// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Advice about a task: what other tests say, and what would make it fit or how much room it has.

use std::fmt::Write;

use taut_model::{Class, Model, RealTime, TaskId};

use crate::advice::alternatives::{self, Row};
use crate::advice::room::{self, Room, Stretch};
use crate::placement::Who;
use crate::response::proof::{Effort, Proof};

/// Lists the tests for a task and what each says. Then, if the task keeps its deadline, says how much longer it
/// could take and how much shorter its deadline could be; if it does not, what would make it fit. `None` if there
/// is no such task; empty if it has no deadline.
///
/// Every figure was tried: with this change alone, everything else as it is, the plan keeps what it keeps now and
/// this deadline. The call takes some tens of analyses of the whole application.
pub fn advise_task(model: &Model, name: &str) -> Option<String> {
    let task = model.task_ids().find(|&id| model.task(id).name == name)?;
    let Class::RealTime(now) = &model.task(task).class else { return Some(String::new()) };
    let proof = Proof::find(model, Effort::Whole, &mut Vec::new());
    let mut text = String::from("tests\n");
    text += &lines(&tests(model, &proof, task, now));
    if now.arrival.is_aperiodic() {
        // Its deadline, if it states one, is that of values: it follows from what its channels hold.
        return Some(text);
    }
    let placement = proof.placements.placements.iter().position(|placement| placement.who == Who::Task(task));
    let shared = proof.shared.as_ref().zip(placement);
    if let Some(why) =
        shared.and_then(|(shared, placement)| shared.rests_on(model, &proof.placements, placement))
    {
        let _ = writeln!(text, "\n{why}");
        return Some(text);
    }
    let Some(mut room) = Room::of(model, task) else { return Some(text) };
    let (heading, rows) = match (room.is_kept(), room.is_proven()) {
        (true, true) => ("room, each alone, with all deadlines and chains kept", grows(&mut room, now)),
        (true, false) => (
            "room, each alone, with all deadlines and chains kept that are kept \
             now",
            grows(&mut room, now),
        ),
        (false, _) => ("what would make it fit, each alone", fits(&mut room, &proof, model, task, now)),
    };
    let _ = writeln!(text, "\n{heading}");
    text += &lines(&rows);
    if room.is_hasty() {
        text += "  the search did not use offsets, which may allow more\n";
    }
    Some(text)
}

fn lines(rows: &[Row]) -> String {
    let width = rows.iter().map(|row| row.test.chars().count()).max().unwrap_or(0);
    rows.iter().map(|row| format!("  {:width$}  {}\n", row.test, row.says)).collect()
}

fn tests(model: &Model, proof: &Proof<'_>, task: TaskId, now: &RealTime) -> Vec<Row> {
    if let Some(server) = now.server {
        let server = &model.servers()[server].name;
        return vec![
            Row::new("server, a budget per period", "used"),
            Row::fails(
                "all for tasks on a core",
                format!("it runs in `{server}`, alone, and no other task delays it there"),
            ),
        ];
    }
    let Some(placement) =
        proof.placements.placements.iter().position(|placement| placement.who == Who::Task(task))
    else {
        return Vec::new();
    };
    let mut rows = match &proof.shared {
        Some(shared) => shared.alternatives(model, &proof.placements, placement),
        None => alternatives::by_core(model, &proof.placements, placement),
    };
    rows.push(Row::fails("server", "it runs in none"));
    // Tests that were used come first, tests that do not apply come last.
    rows.sort_by_key(|row| match row.says.as_str() {
        says if says.starts_with("used") => 0,
        says if says.starts_with("does not apply") => 2,
        _ => 1,
    });
    rows
}

fn grows(room: &mut Room<'_>, now: &RealTime) -> Vec<Row> {
    let (value, deadline) = (now.wcet.value, now.deadline);
    let more = match room.wcet() {
        Some(most) if most > value => format!("up to {most}, now {value}{}", room::margin(now.wcet)),
        _ => format!("no longer than now, {value}{}", room::margin(now.wcet)),
    };
    let sooner = match room.deadline() {
        Some(least) if least < deadline => format!("down to {least}, now {deadline}"),
        _ => format!("no shorter than now, {deadline}"),
    };
    vec![Row::new("wcet", more), Row::new("deadline", sooner)]
}

fn fits(room: &mut Room<'_>, proof: &Proof<'_>, model: &Model, task: TaskId, now: &RealTime) -> Vec<Row> {
    let (value, deadline) = (now.wcet.value, now.deadline);
    let mut rows = vec![
        Row::new(
            "wcet",
            match room.wcet() {
                Some(most) => format!("at most {most}, now {value}{}", room::margin(now.wcet)),
                None => format!("no shorter one would do, now {value}{}", room::margin(now.wcet)),
            },
        ),
        Row::new(
            "deadline",
            match room.deadline() {
                Some(least) => format!("at least {least}, now {deadline}"),
                None => format!("no longer one would do, now {deadline}, every {}", now.arrival.period()),
            },
        ),
    ];
    for (of, stretch) in room::delays(proof, model, task) {
        rows.extend(other(room, model, of, stretch));
    }
    if model.platform().cores.len() > 1 && now.server.is_none() {
        let (cores, all) = room.cores();
        let says = match (cores.as_slice(), all) {
            ([], true) => "no other takes it as it is".to_owned(),
            ([], false) => "none of those tried takes it as it is".to_owned(),
            ([one], _) => format!("{one} takes it as it is"),
            (several, _) => {
                let several: Vec<String> = several.iter().map(u16::to_string).collect();
                format!("{} each take it as it is", several.join(", "))
            }
        };
        let fixed = match now.core.filter(|_| !cores.is_empty()) {
            Some(core) => format!("; the manifest fixes {}", model.cpu(core)),
            None => String::new(),
        };
        rows.push(Row::new("core", says + &fixed));
    }
    rows
}

fn other(room: &mut Room<'_>, model: &Model, of: TaskId, stretch: Stretch) -> Option<Row> {
    let task = model.task(of);
    let Class::RealTime(other) = &task.class else { return None };
    let length = stretch.length(other)?;
    let (what, whose) = match stretch {
        Stretch::Section(at) => {
            let resource = &model.resource(other.sections[at].resource).name;
            ("section", format!("`{}` in `{resource}`", task.name))
        }
        Stretch::NonPreemptive => ("section", format!("`{}`, non-preemptive", task.name)),
        Stretch::Whole => ("another's wcet", format!("`{}`", task.name)),
    };
    let margin = if stretch == Stretch::Whole { room::margin(other.wcet) } else { String::new() };
    Some(Row::new(
        what,
        match room.other(of, stretch) {
            Some(most) => format!("{whose}: at most {most}, now {length}{margin}"),
            None => format!("{whose}: no shorter one would do, now {length}{margin}"),
        },
    ))
}
