// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Servers: a budget within the period, on a core and at a priority of the application, and the tasks in them.

use super::faults::Faults;
use super::names::{Names, Want, served_by};
use crate::server::as_task;
use crate::{
    ClassDraft, CoreId, Draft, Fault, KeyPath, Overrun, PRIORITY_MAX, RealTimeDraft, Server, ServerDraft,
    codes,
};

pub(super) fn check(draft: &Draft, names: &Names<'_>, faults: &mut Faults<'_>) {
    for task in &draft.tasks {
        if let Some(server) = served_by(task)
            && !draft.servers.iter().any(|other| other.name == server)
        {
            names.dangling(
                Want::Server,
                server,
                KeyPath::value(format!("tasks.{}.server", task.name)),
                faults,
            );
        }
        if let ClassDraft::RealTime(real_time) = &task.class {
            alone(draft, &task.name, real_time, faults);
        }
    }
    for server in &draft.servers {
        figures(server, faults);
        place(draft, server, faults);
    }
}

/// A real-time task in a server is alone in it, and has no parameter that its core would have to handle.
fn alone(draft: &Draft, name: &str, task: &RealTimeDraft, faults: &mut Faults<'_>) {
    let Some(server) = &task.server else { return };
    let at = |key: &str| KeyPath::value(format!("tasks.{name}.{key}"));
    let given = [
        ("core", task.core.is_some()),
        ("priority", task.priority.is_some()),
        ("non-preemptive", !task.non_preemptive.is_zero()),
        ("sections", !task.sections.is_empty()),
        ("segments", !task.segments.is_empty()),
        ("budget", task.budget.is_some()),
        ("on-overrun", task.on_overrun == Overrun::Demote),
    ];
    for (key, _) in given.into_iter().filter(|(_, is)| *is) {
        let message = format!("task `{name}` runs in a server and has `{key}`");
        let help = match key {
            "core" | "priority" => "leave it out: the server has it",
            "budget" => {
                "leave it out: the analysis charges other tasks the server's budget, whatever a job takes"
            }
            "on-overrun" => {
                "use another word: a job whose server has no budget runs behind all others already"
            }
            _ => {
                "let the task run outside of servers: a server may exhaust its budget while other tasks wait for \
                  this one"
            }
        };
        faults.push(
            Fault::error(codes::BAD_SERVER, message, at(key), "not in a server")
                .also(at("server"), "in this one")
                .help(help),
        );
    }
    let other = draft.tasks.iter().find(|other| other.name != name && served_by(other) == Some(server));
    let Some(other) = other else { return };
    let message = format!("task `{name}` is not alone in server `{server}`");
    faults.push(
        Fault::error(codes::BAD_SERVER, message, at("server"), "has a deadline")
            .also(KeyPath::value(format!("tasks.{}.server", other.name)), "runs in the same server")
            .note("the wait of a job has a bound only if no other task uses its server's budget")
            .help("give it a server of its own"),
    );
}

fn figures(server: &ServerDraft, faults: &mut Faults<'_>) {
    let name = &server.name;
    let at = |key: &str| KeyPath::value(format!("servers.{name}.{key}"));
    if server.period.is_zero() {
        let message = format!("server `{name}` has a period of zero");
        faults.push(
            Fault::error(codes::ZERO_PERIOD, message, at("period"), "zero")
                .help("the budget is replenished once per period, which must be longer than zero"),
        );
    } else if server.budget.is_zero() {
        let message = format!("server `{name}` has no budget");
        faults.push(
            Fault::error(codes::BAD_SERVER, message, at("budget"), "zero")
                .help("give it a budget, or remove it"),
        );
    } else if server.budget > server.period {
        let message = format!("server `{name}` has a budget longer than its period");
        faults.push(
            Fault::error(codes::BAD_SERVER, message, at("budget"), format!("budget {}", server.budget))
                .also(at("period"), format!("period {}", server.period))
                .help("a server cannot receive more than all of its core's time: use a shorter budget, or a longer \
                       period"),
        );
    }
}

fn place(draft: &Draft, server: &ServerDraft, faults: &mut Faults<'_>) {
    let name = &server.name;
    let at = |key: &str| KeyPath::value(format!("servers.{name}.{key}"));
    let cores = &draft.platform.cores;
    if cores.is_empty() {
        let message = format!("server `{name}` has no core to run on");
        faults.push(
            Fault::error(codes::NO_CORES, message, KeyPath::value("platform.cores"), "no core is named")
                .also(KeyPath::key(format!("servers.{name}")), "needs a core")
                .help("give the application a core: `cores = [1]` in `[platform]`"),
        );
        return;
    }
    if let Some(core) = server.core.filter(|core| !cores.contains(core)) {
        let message =
            format!("server `{name}` runs on core {core}, which does not belong to the application");
        let fault = Fault::error(codes::CORE_NOT_OWNED, message, at("core"), "not in `platform.cores`")
            .help("use a core of `platform.cores`, or \"auto\"");
        faults.push_resting_on(fault, &["platform.cores"]);
    }
    let Some(priority) = server.priority else { return };
    if !(1..=i64::from(PRIORITY_MAX)).contains(&priority) {
        let message = format!("server `{name}` has priority {priority}");
        faults.push(
            Fault::error(
                codes::PRIORITY_RANGE,
                message,
                at("priority"),
                format!("not in 1 to {PRIORITY_MAX}"),
            )
            .help(format!("use 1 to {PRIORITY_MAX}, larger = more urgent, or \"auto\"")),
        );
        return;
    }
    // Both are on one core: there is only one, or both name the same.
    let core = |core: Option<u16>| if cores.len() == 1 { cores.first().copied() } else { core };
    let same = |other: Option<u16>, theirs: Option<i64>| {
        theirs == Some(priority) && core(other).is_some() && core(other) == core(server.core)
    };
    let servers = draft.servers.iter().take_while(|other| !std::ptr::eq(*other, server));
    let other =
        servers.filter(|other| same(other.core, other.priority)).map(|other| ("servers", &other.name));
    let tasks = draft.tasks.iter().filter(|task| match &task.class {
        ClassDraft::RealTime(real_time) => same(real_time.core, real_time.priority),
        ClassDraft::BestEffort(_) => false,
    });
    if let Some((table, first)) = other.chain(tasks.map(|task| ("tasks", &task.name))).next() {
        let message = format!("`{first}` and `{name}` share priority {priority} on a core");
        faults.push(
            Fault::error(codes::PRIORITY_SHARED, message, at("priority"), format!("`{name}`"))
                .also(KeyPath::value(format!("{table}.{first}.priority")), format!("`{first}`"))
                .help("use another priority for one of them, or \"auto\""),
        );
    }
}

/// The server of a draft without faults; `None` only if a rule missed a fault.
pub(super) fn server(draft: &Draft, server: &ServerDraft) -> Option<Server> {
    let mut as_task = as_task(server.budget, server.period);
    if let Some(cpu) = server.core {
        let at = draft.platform.cores.iter().position(|core| *core == cpu)?;
        as_task.core = Some(CoreId(u16::try_from(at).ok()?));
    }
    if let Some(priority) = server.priority {
        as_task.priority = Some(u8::try_from(priority).ok()?);
    }
    Some(Server { name: server.name.clone(), policy: server.policy, as_task })
}
