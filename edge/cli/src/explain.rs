// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! `taut explain` and `taut schema`.

use std::path::Path;

use crate::arguments::{Explain, Screen};
use crate::input::Files;
use crate::outcome::{Failure, Outcome};
use crate::say::{out, outln};

pub(crate) fn explain(arguments: &Explain, screen: &Screen) -> Result<Outcome, Failure> {
    if let Some(code) = &arguments.code {
        let page = taut_manifest::parse_code(code).and_then(taut_manifest::explain).ok_or_else(|| {
            // Every other command takes a manifest in this position.
            let meant = if Path::new(code).exists() {
                format!("; to name a manifest, use --manifest {code}")
            } else {
                String::new()
            };
            Failure::Usage(format!("there is no code {code}; codes look like TAUT0201{meant}"))
        })?;
        outln!("{}", page.trim_end());
    }
    if arguments.task.is_none()
        && arguments.channel.is_none()
        && arguments.chain.is_none()
        && arguments.mode.is_none()
    {
        return Ok(Outcome::Yes);
    }
    let files = Files::at(&arguments.manifest, &arguments.overlay)?;
    let text = files.load()?;
    let Some(model) = text.model() else {
        text.show(None, screen);
        return Ok(Outcome::Usage);
    };
    let planned = text.plan(model)?;
    let plan = &planned.plan;
    let tasks: Vec<&str> = plan.tasks.iter().map(|task| task.name.as_str()).collect();
    let channels: Vec<&str> = plan.channels.iter().map(|channel| channel.name.as_str()).collect();
    let chains: Vec<&str> = plan.chains.iter().map(|chain| chain.name.as_str()).collect();
    let modes: Vec<&str> = plan.modes.iter().map(|mode| mode.name.as_str()).collect();
    let explain_task = taut_plan::explain_task as fn(&taut_plan::Plan, &str) -> Option<String>;
    let explained = [
        ("task", &arguments.task, tasks, explain_task),
        ("channel", &arguments.channel, channels, taut_plan::explain_channel),
        ("chain", &arguments.chain, chains, taut_plan::explain_chain),
        ("mode", &arguments.mode, modes, taut_plan::explain_mode),
    ];
    for (what, name, there, explain) in explained {
        if let Some(name) = name {
            let missing = || {
                let there = if there.is_empty() { "none".to_owned() } else { there.join(", ") };
                let manifest = files.manifest.display();
                Failure::Usage(format!("{manifest} has no {what} `{name}`; it has: {there}"))
            };
            out!("{}", explain(plan, name).ok_or_else(missing)?);
            let more = taut_planner::advise_task(planned.model_of(name), name)
                .filter(|more| what == "task" && !more.is_empty());
            if let Some(more) = more {
                out!("\n{more}");
            }
        }
    }
    Ok(if plan.proven { Outcome::Yes } else { Outcome::No })
}

pub(crate) fn schema() -> Result<Outcome, Failure> {
    outln!("{:#}", taut_manifest::schema());
    Ok(Outcome::Yes)
}
