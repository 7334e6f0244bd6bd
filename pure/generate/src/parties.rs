// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The modules `task` and `client`: for each party its ends, and for each real-time task the trait of its code.

use std::fmt::Write as _;

use taut_model::{Arrival, ChannelId, Class, ClientId, Model, PartyId, RealTime, TaskId};

use crate::ends::{Ends, Source};
use crate::lines::literal;
use crate::names::{Names, type_name, value_name};
use crate::template::fill;

/// Rust's names of a model's tasks, services, clients and resources.
pub(crate) struct PartyNames {
    /// By task: its module, and its field of `Tasks`.
    pub(crate) tasks: Vec<String>,
    /// By task: its trait, and its parameter of `Tasks`.
    pub(crate) codes: Vec<String>,
    pub(crate) services: Vec<String>,
    pub(crate) clients: Vec<String>,
    /// By resource: its field of `Resources`.
    pub(crate) resources: Vec<String>,
    /// By resource: the type that the application defines.
    pub(crate) resource_types: Vec<String>,
}

impl PartyNames {
    pub(crate) fn of(model: &Model) -> Self {
        let tasks = || model.tasks().iter().map(|task| task.name.as_str());
        let values = |names: &mut dyn Iterator<Item = &str>| Names::with(&[]).add_all(names.map(value_name));
        let types = |names: &mut dyn Iterator<Item = &str>| Names::with(&[]).add_all(names.map(type_name));
        let resources = || model.resources().iter().map(|resource| resource.name.as_str());
        Self {
            tasks: values(&mut tasks()),
            codes: types(&mut tasks()),
            services: values(&mut model.services().iter().map(|service| service.name.as_str())),
            clients: values(&mut model.clients().iter().map(|client| client.name.as_str())),
            resources: values(&mut resources()),
            resource_types: types(&mut resources()),
        }
    }
}

/// The items of the module `task`.
pub(crate) fn tasks(source: Source<'_>, names: &PartyNames) -> String {
    source
        .model
        .task_ids()
        .map(|id| match &source.model.task(id).class {
            Class::RealTime(real_time) => real_time_task(source, names, id, real_time),
            Class::BestEffort(_) => best_effort_task(source, names, id),
        })
        .collect()
}

/// The queue that alone releases a task: the runtime takes its values. A task that a message, a bulk channel, a device or
/// several channels release takes their values by its ends.
pub(crate) fn sole_trigger(model: &Model, id: TaskId) -> Option<ChannelId> {
    model.sole_trigger(id).filter(|trigger| model.hands_over(*trigger))
}

/// The names of types in the module of a real-time task.
const RESERVED: &[&str] = &["Io", "Running"];

fn real_time_task(source: Source<'_>, names: &PartyNames, id: TaskId, task: &RealTime) -> String {
    let (module, code) = (&names.tasks[id.index()], &names.codes[id.index()]);
    let name = &source.model.task(id).name;
    let trigger = sole_trigger(source.model, id);
    let mut ends = Ends::of(source, PartyId::Task(id), trigger, RESERVED);
    // The brackets of `Self` stand for the type that the compiler names.
    let of_self = |text: String| literal(&text).replace("{{Self}}", "{Self}");
    let (of_device, made_device) = device(task, &mut ends);
    let (of_clock, made_clock) = clock(task, &mut ends);
    let (of_resources, made_resources) = resources(source, names, task, &mut ends);
    let fields = ends.struct_fields() + &of_device + &of_clock + &of_resources;
    let made = ends.made("create") + &made_device + &made_clock + &made_resources;
    // A receiver's code takes the value that releases it.
    let payload = trigger.map(|trigger| Ends::payload(source, trigger));
    let value = |prefix: &str, suffix: &str| match &payload {
        Some(path) => format!("{prefix}{path}{suffix}"),
        None => String::new(),
    };
    fill(
        include_str!("templates/task.rs.in"),
        &[
            ("name", name),
            ("module", module),
            ("code", code),
            ("job", &job(source.model, id, task)),
            ("message", &of_self(format!("`{{Self}}` is not the code of task `{name}`"))),
            ("remedy", &of_self(format!("write `impl task::{code} for {{Self}}`"))),
            ("notes", &source.lines.notes(&[format!("tasks.{name}")], "        ")),
            ("function", if payload.is_some() { "receive" } else { "release" }),
            ("kind", if payload.is_some() { "Receiver" } else { "Task" }),
            ("of", &value("<", ">")),
            ("value", &value(", value: ", "")),
            // The trait stands in the outer module.
            ("value_of_trait", &value(", value: ", "").replacen("super::", "", 1)),
            ("pass", if payload.is_some() { ", value" } else { "" }),
            ("fields", &fields),
            ("types", &ends.types()),
            ("made", &made),
        ],
    )
}

/// The channels that release a task, in words.
fn names_of_triggers(model: &Model, id: TaskId) -> String {
    let triggers = model.triggers(id).iter();
    let mut names: Vec<_> =
        triggers.map(|trigger| format!("`{}`", model.channel(*trigger).table())).collect();
    names.dedup();
    names.join(", ")
}

/// When jobs come, for the documentation of the task's code.
fn job(model: &Model, id: TaskId, task: &RealTime) -> String {
    match (&task.arrival, sole_trigger(model, id)) {
        (Arrival::Periodic { period, .. }, _) => format!("One job, every {period}."),
        (Arrival::Clocked(clock), _) => format!("One job, every {} of clock `{}`.", clock.period, clock.name),
        (Arrival::Sporadic { min_gap, .. }, Some(trigger)) => {
            let channel = &model.channel(trigger).name;
            format!("One job, for a value of queue `{channel}`, at least {min_gap} apart.")
        }
        (Arrival::Sporadic { min_gap, triggers, device: Some(device) }, None) if triggers.is_empty() => {
            format!("One job while device `{device}` can be read, at least {min_gap} apart.")
        }
        (Arrival::Sporadic { min_gap, device, .. }, None) => {
            let names = names_of_triggers(model, id);
            let or = device.as_ref().map_or_else(String::new, |of| format!(" or device `{of}` can be read"));
            format!(
                "One job while values wait in {names}{or}, at least {min_gap} apart; it takes them by its ends."
            )
        }
        (Arrival::Aperiodic { .. }, Some(trigger)) => {
            let channel = &model.channel(trigger).name;
            format!("One job for each value of queue `{channel}`, with the budget of its server.")
        }
        (Arrival::Aperiodic { .. }, None) => {
            let names = names_of_triggers(model, id);
            format!(
                "One job while values wait in {names}, with the budget of its server; it takes them by its ends."
            )
        }
    }
}

/// The field for the device that releases a task, and the expression that makes it.
fn device(task: &RealTime, ends: &mut Ends<'_>) -> (String, String) {
    let Some(device) = task.arrival.device() else { return (String::new(), String::new()) };
    let field = ends.fields.add(value_name(device));
    (
        format!(
            "            /// Device `{device}`, which releases the task.\n            pub {field}: ::taut::Device,\n"
        ),
        format!("{field}: create.device(\"{device}\")?, "),
    )
}

/// The field for the device's clock that a task follows, and the expression that makes it.
fn clock(task: &RealTime, ends: &mut Ends<'_>) -> (String, String) {
    let Some(clock) = task.arrival.clock() else { return (String::new(), String::new()) };
    let (name, field) = (&clock.name, ends.fields.add(value_name(&clock.name)));
    (
        format!(
            "            /// Reports the ticks of clock `{name}`, which the task follows.\n            pub {field}: \
             ::taut::TickReporter,\n"
        ),
        format!("{field}: create.clock(\"{name}\")?, "),
    )
}

/// The fields for the resources of a task, and the expressions that make them.
fn resources(
    source: Source<'_>,
    names: &PartyNames,
    task: &RealTime,
    ends: &mut Ends<'_>,
) -> (String, String) {
    let (mut fields, mut made) = (String::new(), String::new());
    for (at, resource) in source.model.resources().iter().enumerate() {
        let uses = task.sections.iter().any(|section| section.resource.index() == at);
        // The runtime makes those that guard a state.
        if !uses || source.model.guarding(at).is_some() {
            continue;
        }
        let field = ends.fields.add(names.resources[at].clone());
        let (name, of_type) = (&resource.name, &names.resource_types[at]);
        let _ = write!(
            fields,
            "            /// Resource `{name}`, for `Job::lock`.\n            \
             pub {field}: ::taut::Resource<super::super::super::resource::{of_type}>,\n"
        );
        let _ = write!(made, "{field}: create.resource(\"{name}\")?, ");
    }
    (fields, made)
}

fn best_effort_task(source: Source<'_>, names: &PartyNames, id: TaskId) -> String {
    let ends = Ends::of(source, PartyId::Task(id), None, &["Io"]);
    fill(
        include_str!("templates/best_effort.rs.in"),
        &[
            ("name", &source.model.task(id).name),
            ("module", &names.tasks[id.index()]),
            ("fields", &ends.struct_fields()),
            ("types", &ends.types()),
            ("made", &ends.made("create")),
        ],
    )
}

/// The items of the module `client`.
pub(crate) fn clients(source: Source<'_>, names: &PartyNames) -> String {
    let client = |id: ClientId| {
        let ends = Ends::of(source, PartyId::Client(id), None, &["Io"]);
        let taken = match source.model.client(id).max_attached {
            1 => "another process has the client's name".to_owned(),
            most => format!("{most} processes are attached under the client's name"),
        };
        fill(
            include_str!("templates/client.rs.in"),
            &[
                ("taken", &taken),
                ("name", &source.model.client(id).name),
                ("module", &names.clients[id.index()]),
                ("fields", &ends.struct_fields()),
                ("types", &ends.types()),
                ("made", &ends.made("client")),
            ],
        )
    };
    source.model.client_ids().map(client).collect()
}
