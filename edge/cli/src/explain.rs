// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! `taut explain` and `taut schema`.

use crate::arguments::{Explain, Screen};
use crate::input::Files;
use crate::outcome::{Failure, Outcome};

pub(crate) fn explain(arguments: &Explain, screen: &Screen) -> Result<Outcome, Failure> {
    if let Some(code) = &arguments.code {
        let page = taut_manifest::parse_code(code)
            .and_then(taut_manifest::explain)
            .ok_or_else(|| Failure::Usage(format!("there is no code {code}; codes look like TAUT0201")))?;
        println!("{}", page.trim_end());
    }
    if arguments.task.is_none() && arguments.channel.is_none() && arguments.chain.is_none() {
        return Ok(Outcome::Yes);
    }
    let text = Files::at(&arguments.manifest, &arguments.overlay)?.load()?;
    let Some(model) = text.model() else {
        text.show(None, screen);
        return Ok(Outcome::Usage);
    };
    let planned = text.plan(model)?;
    let plan = &planned.plan;
    let explained = [
        ("task", &arguments.task, taut_plan::explain_task as fn(&taut_plan::Plan, &str) -> Option<String>),
        ("channel", &arguments.channel, taut_plan::explain_channel),
        ("chain", &arguments.chain, taut_plan::explain_chain),
    ];
    for (what, name, explain) in explained {
        if let Some(name) = name {
            let text = explain(plan, name);
            print!("{}", text.ok_or_else(|| Failure::Usage(format!("the manifest has no {what} `{name}`")))?);
            let more = taut_plan::advise_task(&planned.model, name)
                .filter(|more| what == "task" && !more.is_empty());
            if let Some(more) = more {
                print!("\n{more}");
            }
        }
    }
    Ok(if plan.proven { Outcome::Yes } else { Outcome::No })
}

pub(crate) fn schema() -> Result<Outcome, Failure> {
    println!("{:#}", taut_manifest::schema());
    Ok(Outcome::Yes)
}
