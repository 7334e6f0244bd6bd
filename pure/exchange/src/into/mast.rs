// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! MAST, as text: a processor, a scheduler, a server and a transaction per task. Times are in microseconds.
//!
//! MAST's parser refuses long lines, so every argument has its own line. The transaction of a task runs one operation
//! that encloses its critical sections, or several in order if the task places its sections.

use taut_model::{ArrivalPattern, Body, SchedulingPolicy};
use taut_time::Duration;

use super::{Export, Step, number, offset};
use crate::place::note;

const US: u32 = 3;

/// The ceiling that MAST requires for a resource of several processors: nothing preempts its holder.
const ABOVE_ALL: &str = "32767";

/// A name as MAST's parser takes it; in quotes, because many words are keywords.
fn ident(name: &str) -> String {
    quoted(&name.replace('-', "_"))
}

fn quoted(name: &str) -> String {
    format!("\"{name}\"")
}

/// Writes the whole file.
pub(crate) fn write(export: &mut Export<'_>) {
    export.line(format!("-- {}", note(Duration::from_us(1))));
    let app = ident(&export.model.app().name);
    item(export, "Model", &[("Model_Name", app), ("Model_Date", "2000-01-01".into())]);
    let edf = |core: usize, export: &Export<'_>| export.set.cores().get(core) == Some(&SchedulingPolicy::Edf);
    for core in 0..export.set.cores().len() {
        let policy = if edf(core, export) { "EDF" } else { "Fixed_Priority" };
        item(
            export,
            "Processing_Resource",
            &[("Type", "Regular_Processor".into()), ("Name", format!("core_{core}"))],
        );
        item(
            export,
            "Scheduler",
            &[
                ("Type", "Primary_Scheduler".into()),
                ("Name", format!("scheduler_{core}")),
                ("Host", format!("core_{core}")),
                ("Policy", format!("\n      ( Type => {policy} )")),
            ],
        );
    }
    resources(export);
    for (at, task) in export.tasks() {
        let (name, core) = (export.name(at).to_owned(), task.core);
        let operation = operations(export, at, &name);
        let parameters = if edf(core, export) {
            format!(
                "\n      ( Type => EDF_Policy,\n        Deadline => {},\n        Preassigned => NO )",
                number(task.deadline, US)
            )
        } else {
            format!(
                "\n      ( Type => Fixed_Priority_Policy,\n        The_Priority => {},\n        Preassigned => YES )",
                task.priority
            )
        };
        item(
            export,
            "Scheduling_Server",
            &[
                ("Type", "Regular".into()),
                ("Name", quoted(&name)),
                ("Server_Sched_Parameters", parameters),
                ("Scheduler", format!("scheduler_{core}")),
            ],
        );
        let (period, jitter) = (number(task.period, US), number(task.jitter, US));
        let event = match task.arrivals {
            ArrivalPattern::Sporadic | ArrivalPattern::Driven if task.jitter.is_zero() => {
                format!(
                    "( Type => Sporadic,\n          Name => \"{name}_arrives\",\n          Min_Interarrival => {period} )"
                )
            }
            other => {
                if other.is_sporadic() {
                    export.lose_of(at, "arrival", "sporadic with jitter, written as periodic");
                }
                format!(
                    "( Type => Periodic,\n          Name => \"{name}_arrives\",\n          Period => {period},\n          \
                     Max_Jitter => {jitter},\n          Phase => {} )",
                    number(offset(task), US)
                )
            }
        };
        let requirement = format!(
            "( Type => Hard_Global_Deadline,\n              Deadline => {},\n              Referenced_Event => \"{name}_arrives\" )",
            number(task.deadline, US)
        );
        item(
            export,
            "Transaction",
            &[
                ("Type", "Regular".into()),
                ("Name", quoted(&name)),
                ("External_Events", format!("\n      ( {event} )")),
                (
                    "Internal_Events",
                    format!(
                        "\n      ( ( Type => Regular,\n          Name => \"{name}_is_done\",\n          Timing_Requirements =>\n            {requirement} ) )"
                    ),
                ),
                (
                    "Event_Handlers",
                    format!(
                        "\n      ( ( Type => Activity,\n          Input_Event => \"{name}_arrives\",\n          Output_Event => \
                 \"{name}_is_done\",\n          Activity_Operation => \"{operation}\",\n          Activity_Server => \"{name}\" ) )"
                    ),
                ),
            ],
        );
    }
}

fn item(export: &mut Export<'_>, kind: &str, arguments: &[(&str, String)]) {
    let arguments: Vec<_> = arguments
        .iter()
        .map(|(key, value)| format!("   {key} => {value}").replace("=> \n", "=>\n"))
        .collect();
    export.line(format!("\n{kind} (\n{} );", arguments.join(",\n")));
}

fn resources(export: &mut Export<'_>) {
    for (at, name) in export.resources() {
        let users: Vec<_> = export.set.users(at).map(|task| &export.set.tasks()[task]).collect();
        if !export.set.is_local(at) {
            let what = "of several cores: nothing preempts its holder there, and users of other cores do not delay it";
            export.lose(format!("resources.{name}"), what);
        }
        let edf = users.iter().any(|task| export.set.cores().get(task.core) == Some(&SchedulingPolicy::Edf));
        let mut arguments = vec![("Name", ident(name))];
        if edf {
            arguments.insert(0, ("Type", "SRP_Resource".into()));
        } else {
            arguments.insert(0, ("Type", "Immediate_Ceiling_Resource".into()));
            let ceiling = users.iter().map(|task| task.priority).max().unwrap_or(0).to_string();
            let local = export.set.is_local(at);
            arguments.push(("Ceiling", if local { ceiling } else { ABOVE_ALL.to_owned() }));
            arguments.push(("Preassigned", "YES".into()));
        }
        item(export, "Shared_Resource", &arguments);
    }
}

/// Writes the operation of a task, and the operations that it consists of.
fn operations(export: &mut Export<'_>, at: usize, task: &str) -> String {
    let whole = format!("{task}_job");
    let cost = number(export.set.cost(at), US);
    let body = &export.set.tasks()[at].body;
    let plain = export.set.requests(at).is_empty();
    if plain {
        simple(export, &whole, &cost, &[], &[]);
        return whole;
    }
    let anywhere = matches!(body, Body::Anywhere { .. });
    // An enclosing operation does not say where its sections are.
    let steps = export.steps(at, !anywhere);
    let mut names = Vec::new();
    let (mut locks, mut unlocks, mut time) = (Vec::new(), Vec::new(), None);
    let resource = |at: usize| ident(&export.set.resources()[at].name);
    let mut segments: Vec<(Vec<String>, Duration, Vec<String>)> = Vec::new();
    for step in steps {
        match step {
            Step::Unlock(at) => unlocks.push(resource(at)),
            Step::Lock(_) | Step::Run(_) => {
                if let Some(time) = time.take() {
                    segments.push((std::mem::take(&mut locks), time, std::mem::take(&mut unlocks)));
                }
                match step {
                    Step::Lock(at) => locks.push(resource(at)),
                    Step::Run(run) => time = Some(run),
                    Step::Unlock(_) => {}
                }
            }
        }
    }
    if let Some(time) = time {
        segments.push((locks, time, unlocks));
    }
    if anywhere {
        // The cost of the whole includes the execution outside of the sections.
        segments.retain(|(locks, ..)| !locks.is_empty());
    }
    for (index, (locks, time, unlocks)) in segments.iter().enumerate() {
        let name = format!("{task}_part_{}", index + 1);
        simple(export, &name, &number(*time, US), locks, unlocks);
        names.push(quoted(&name));
    }
    let list = format!("\n      ( {} )", names.join(",\n        "));
    if anywhere {
        item(
            export,
            "Operation",
            &[
                ("Type", "Enclosing".into()),
                ("Name", quoted(&whole)),
                ("Worst_Case_Execution_Time", cost),
                ("Composite_Operation_List", list),
            ],
        );
    } else {
        item(
            export,
            "Operation",
            &[("Type", "Composite".into()), ("Name", quoted(&whole)), ("Composite_Operation_List", list)],
        );
    }
    whole
}

fn simple(export: &mut Export<'_>, name: &str, time: &str, locks: &[String], unlocks: &[String]) {
    let mut arguments = vec![
        ("Type", "Simple".to_owned()),
        ("Name", quoted(name)),
        ("Worst_Case_Execution_Time", time.to_owned()),
    ];
    let list = |names: &[String]| format!("\n      ( {} )", names.join(",\n        "));
    if locks == unlocks && !locks.is_empty() {
        arguments.push(("Shared_Resources_List", list(locks)));
    } else {
        if !locks.is_empty() {
            arguments.push(("Shared_Resources_To_Lock", list(locks)));
        }
        if !unlocks.is_empty() {
            arguments.push(("Shared_Resources_To_Unlock", list(unlocks)));
        }
    }
    item(export, "Operation", &arguments);
}
