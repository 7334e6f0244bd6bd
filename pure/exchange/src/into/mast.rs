// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! MAST, as text: a processor, a scheduler, a server and a transaction per task. Times are in microseconds.
//!
//! MAST's parser refuses long lines, so every argument has its own line. The transaction of a task runs one operation
//! that encloses its critical sections, or several in order if the task places its sections.

use taut_model::{ArrivalPattern, Body, SchedulingPolicy, SetTask};
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
    for core in 0..export.set.cores().len() {
        processor(export, core);
    }
    resources(export);
    for (at, task) in export.tasks() {
        let name = export.name(at).to_owned();
        let operation = operations(export, at, &name);
        server(export, task, &name);
        transaction(export, (at, task), &name, &operation);
    }
}

fn is_edf(export: &Export<'_>, core: usize) -> bool {
    export.set.cores().get(core) == Some(&SchedulingPolicy::Edf)
}

/// Writes a core and its scheduler.
fn processor(export: &mut Export<'_>, core: usize) {
    let policy = if is_edf(export, core) { "EDF" } else { "Fixed_Priority" };
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

/// Writes what MAST calls a server: how the operations of a task are scheduled.
fn server(export: &mut Export<'_>, task: &SetTask, name: &str) {
    let parameters = if is_edf(export, task.core) {
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
            ("Name", quoted(name)),
            ("Server_Sched_Parameters", parameters),
            ("Scheduler", format!("scheduler_{}", task.core)),
        ],
    );
}

fn transaction(export: &mut Export<'_>, (at, task): (usize, &SetTask), name: &str, operation: &str) {
    let event = arrival(export, (at, task), name);
    let requirement = format!(
        "( Type => Hard_Global_Deadline,\n              Deadline => {},\n              Referenced_Event => \"{name}_arrives\" )",
        number(task.deadline, US)
    );
    item(
        export,
        "Transaction",
        &[
            ("Type", "Regular".into()),
            ("Name", quoted(name)),
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

/// The external event that releases a task.
fn arrival(export: &mut Export<'_>, (at, task): (usize, &SetTask), name: &str) -> String {
    let (period, jitter) = (number(task.period, US), number(task.jitter, US));
    match task.arrivals {
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
    if export.set.requests(at).is_empty() {
        simple(export, &whole, &cost, &[], &[]);
        return whole;
    }
    let anywhere = matches!(export.set.tasks()[at].body, Body::Anywhere { .. });
    // An enclosing operation does not say where its sections are.
    let steps = export.steps(at, !anywhere);
    let mut stretches = stretches(steps);
    if anywhere {
        // The cost of the whole includes the execution outside of the sections.
        stretches.retain(|stretch| !stretch.locks.is_empty());
    }
    let mut names = Vec::new();
    for (index, Stretch { locks, time, unlocks }) in stretches.iter().enumerate() {
        let name = format!("{task}_part_{}", index + 1);
        let idents = |resources: &[usize]| -> Vec<String> {
            resources.iter().map(|at| ident(&export.set.resources()[*at].name)).collect()
        };
        let (locks, unlocks) = (idents(locks), idents(unlocks));
        simple(export, &name, &number(*time, US), &locks, &unlocks);
        names.push(quoted(&name));
    }
    let kind = if anywhere { "Enclosing" } else { "Composite" };
    let mut arguments = vec![("Type", kind.to_owned()), ("Name", quoted(&whole))];
    if anywhere {
        arguments.push(("Worst_Case_Execution_Time", cost));
    }
    arguments.push(("Composite_Operation_List", format!("\n      ( {} )", names.join(",\n        "))));
    item(export, "Operation", &arguments);
    whole
}

/// A stretch of execution that a simple operation can express: the resources that are locked before it, how long it
/// takes, and those that are unlocked after it.
struct Stretch {
    locks: Vec<usize>,
    time: Duration,
    unlocks: Vec<usize>,
}

fn stretches(steps: Vec<Step>) -> Vec<Stretch> {
    let mut stretches = Vec::new();
    let (mut locks, mut unlocks, mut time) = (Vec::new(), Vec::new(), None);
    for step in steps {
        match step {
            Step::Unlock(at) => unlocks.push(at),
            Step::Lock(_) | Step::Run(_) => {
                if let Some(time) = time.take() {
                    let (locks, unlocks) = (std::mem::take(&mut locks), std::mem::take(&mut unlocks));
                    stretches.push(Stretch { locks, time, unlocks });
                }
                match step {
                    Step::Lock(at) => locks.push(at),
                    Step::Run(run) => time = Some(run),
                    Step::Unlock(_) => {}
                }
            }
        }
    }
    stretches.extend(time.map(|time| Stretch { locks, time, unlocks }));
    stretches
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
