// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! `taut check`: is the manifest sound, and does every deadline hold?

use std::fmt;
use std::path::Path;

use taut_plan::{ClassPlan, Plan, Size};
use taut_planner::Planned;
use taut_time::shown;

use crate::arguments::{Check, Denied, Deny, Format, Screen};
use crate::columns::{columns, rounded};
use crate::generate;
use crate::input::{Files, Text};
use crate::outcome::{Failure, Outcome};
use crate::say::{errln, out, outln};

pub(crate) fn check(arguments: &Check, screen: &Screen) -> Result<Outcome, Failure> {
    let files = Files::find(&arguments.manifest)?;
    let text = files.load()?;
    let mut planned = text.planned()?;
    let proven = planned.as_ref().map(|planned| planned.plan.proven);
    let denied = arguments.denied.judge(&text, &mut planned);
    match arguments.format {
        Format::Human => {
            text.show(planned.as_ref(), screen);
            match &planned {
                Some(planned) if planned.plan.proven => {
                    out!("{}", summary(&planned.plan));
                    about_generated(&files.folder);
                    if denied {
                        errln!("denied: {}", arguments.denied);
                    }
                }
                Some(_) => errln!("not proven: no plan is written and nothing is run"),
                None => {}
            }
        }
        Format::Json => {
            let mut answer = text.json(planned.as_ref());
            answer["proven"] = proven.unwrap_or(false).into();
            let basis = planned.as_ref().and_then(|planned| planned.plan.basis());
            answer["rests_on"] = json(serde_json::to_value(basis))?;
            if let Some(planned) = &planned {
                add_channels(&mut answer, &planned.plan)?;
            }
            outln!("{answer:#}");
        }
    }
    Ok(match proven {
        Some(true) if !denied => Outcome::Yes,
        Some(_) => Outcome::No,
        None => Outcome::Usage,
    })
}

/// Adds the modes of a plan, and those of its channels that have a form of their own.
fn add_channels(answer: &mut serde_json::Value, plan: &Plan) -> Result<(), Failure> {
    if !plan.modes.is_empty() {
        (answer["modes"], answer["changes"]) =
            (json(serde_json::to_value(&plan.modes))?, json(serde_json::to_value(&plan.changes))?);
    }
    let parts = [
        ("bulk", json(serde_json::to_value(plan.bulk()))?),
        ("aperiodic", json(serde_json::to_value(plan.aperiodic()))?),
        ("messages", json(serde_json::to_value(plan.messages()))?),
        ("states", json(serde_json::to_value(plan.sourced_states()))?),
        ("broadcasts", json(serde_json::to_value(plan.broadcasts()))?),
    ];
    for (key, part) in
        parts.into_iter().filter(|(_, part)| part.as_array().is_some_and(|all| !all.is_empty()))
    {
        answer[key] = part;
    }
    Ok(())
}

fn json(value: serde_json::Result<serde_json::Value>) -> Result<serde_json::Value, Failure> {
    value.map_err(|error| Failure::Internal(error.to_string()))
}

/// Says if the file that `taut generate` has written does not fit the manifest any more.
fn about_generated(folder: &Path) {
    match generate::outdated(folder) {
        Ok(None) => {}
        Ok(Some((path, _))) => {
            let path = path.display();
            errln!("{path} is of another text of the manifest: `taut run` and `taut generate` renew it");
        }
        Err(error) => errln!("{} cannot be renewed: {error}", folder.join(generate::USUAL).display()),
    }
}

impl Denied {
    /// Adds a fault for each place at which the proof rests on what is denied. Whether there is one.
    pub(crate) fn judge(&self, text: &Text, planned: &mut Option<Planned>) -> bool {
        let Some((model, planned)) = text.model().zip(planned.as_mut()) else { return false };
        let faults = if self.deny.contains(&Deny::Guesses) {
            // Defaults are guesses.
            taut_planner::guesses(model)
        } else if self.deny.contains(&Deny::Defaults) {
            taut_planner::defaults(model)
        } else {
            Vec::new()
        };
        let denied = !faults.is_empty();
        planned.faults.extend(faults);
        denied
    }
}

impl fmt::Display for Denied {
    /// Why the answer is no, if it is.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what =
            if self.deny.contains(&Deny::Guesses) { "guesses" } else { "defaults, which no machine has" };
        write!(f, "the proof rests on {what}")
    }
}

/// A summary of every bound, in a few lines.
pub(crate) fn summary(plan: &Plan) -> String {
    use std::fmt::Write;
    let mut text = String::new();
    let mut line = |arguments: std::fmt::Arguments<'_>| {
        let _ = writeln!(text, "{arguments}");
    };
    if !plan.tasks.iter().any(|task| matches!(task.class, ClassPlan::RealTime { .. })) {
        line(format_args!("{}: no task is real-time, so there is nothing to prove", plan.app));
    } else {
        line(format_args!("{}: every deadline is proven", plan.app));
        tasks(plan, &mut line);
        let lines = plan.basis().map_or(Vec::new(), |basis| basis.lines());
        for (at, of) in lines.iter().enumerate() {
            line(format_args!("  {:<9} {of}", if at == 0 { "rests on" } else { "" }));
        }
    }
    for resource in &plan.resources {
        let (name, users) = (&resource.name, resource.users.join(", "));
        line(format_args!("  resource {name}: {}, used by {users}", resource.protocol.paper_name()));
    }
    for server in &plan.servers {
        let (name, budget, period, tasks) =
            (&server.name, server.budget, server.period, server.tasks.join(", "));
        line(format_args!("  server {name}: {budget} every {period} on core {}, for {tasks}", server.cpu));
    }
    channels(plan, &mut line);
    for core in &plan.cores {
        let used = shown::percent(core.utilisation_ppm);
        let by = core.dispatched.as_ref().map_or(String::new(), |why| format!("; dispatched: {why}"));
        let watched = watched(plan, core.cpu);
        line(format_args!("  core {}: {used} used{by}{watched}", core.cpu));
    }
    line(format_args!("  memory: {} of {}", size(plan.memory.total), size(plan.memory.limit)));
    if let Some(not) = plan.not_executed() {
        line(format_args!("  not run: this version does not execute {}", not.what));
        line(format_args!("    help: {}", not.help));
    }
    text
}

/// The devices that the device thread of a core watches.
fn watched(plan: &Plan, cpu: u16) -> String {
    let here = plan.tasks.iter().filter(|task| plan.cpu_of(task) == Some(cpu) && plan.is_watched(task));
    let devices: Vec<&str> = here
        .filter_map(|task| match &task.class {
            ClassPlan::RealTime { arrival, .. } => arrival.device(),
            ClassPlan::BestEffort {} => None,
        })
        .collect();
    if devices.is_empty() { String::new() } else { format!("; device thread: {}", devices.join(", ")) }
}

/// What is proven of messages, broadcasts and bulk channels, of modes, and of chains; what states with several sources are.
fn channels(plan: &Plan, line: &mut impl FnMut(std::fmt::Arguments<'_>)) {
    for message in plan.messages() {
        message.lines().iter().for_each(|of| line(format_args!("  {of}")));
    }
    for state in plan.sourced_states() {
        state.lines().iter().for_each(|of| line(format_args!("  {of}")));
    }
    for task in plan.aperiodic() {
        task.lines().iter().for_each(|of| line(format_args!("  {of}")));
    }
    for broadcast in plan.broadcasts() {
        broadcast.lines().iter().for_each(|of| line(format_args!("  {of}")));
    }
    for bulk in plan.bulk() {
        line(format_args!("  {}", bulk.line()));
    }
    for of in plan.mode_lines() {
        line(format_args!("  {of}"));
    }
    for chain in &plan.chains {
        let latency = rounded(chain.latency);
        line(format_args!(
            "  chain {}: at most {latency} of {}",
            chain.name,
            rounded(Some(chain.max_latency))
        ));
        if let Some(limit) = chain.max_reaction {
            let reaction = rounded(chain.reaction);
            line(format_args!(
                "  chain {}: reacts within {reaction} of {}",
                chain.name,
                rounded(Some(limit))
            ));
        }
    }
}

/// One line per real-time task.
fn tasks(plan: &Plan, line: &mut impl FnMut(std::fmt::Arguments<'_>)) {
    let mut rows = Vec::new();
    for task in &plan.tasks {
        if let ClassPlan::RealTime { cpu, priority, arrival, wcet, response, deadline, .. } = &task.class {
            let priority = if *priority == 0 { "-".to_owned() } else { priority.to_string() };
            // An aperiodic task that states no deadline has its bound as one.
            let is_stated = !arrival.is_aperiodic() || *response != Some(*deadline);
            let times =
                [rounded(Some(*wcet)), rounded(*response), rounded(Some(*deadline).filter(|_| is_stated))];
            let [wcet, response, deadline] = times;
            rows.push([task.name.clone(), cpu.to_string(), priority, wcet, response, deadline]);
        }
    }
    let head = ["task", "core", "prio", "wcet", "bound", "deadline"];
    line(format_args!("{}", columns(head, &rows).trim_end()));
}

/// A size for display.
pub(crate) fn size(size: Size) -> String {
    shown::size(size.as_bytes())
}
