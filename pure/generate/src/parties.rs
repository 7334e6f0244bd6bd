// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The modules `task` and `client`: for each party its ends, and for each real-time task the trait of its code.

use std::fmt::Write as _;

use taut_model::{Arrival, ChannelId, Class, Model, PartyId, RealTime, TaskId};

use crate::ends::{Ends, Source};
use crate::lines::literal;
use crate::names::{Names, type_name, value_name};

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

/// The queue that alone releases a task: the runtime takes its values. A task that a message or several channels
/// release takes their values by its ends.
pub(crate) fn sole_trigger(model: &Model, id: TaskId) -> Option<ChannelId> {
    match model.triggers(id) {
        [trigger] if model.channel(*trigger).lane.is_none() => Some(*trigger),
        _ => None,
    }
}

/// The names of types in the module of a real-time task.
const RESERVED: &[&str] = &["Io", "Running"];

fn real_time_task(source: Source<'_>, names: &PartyNames, id: TaskId, task: &RealTime) -> String {
    let (module, code) = (&names.tasks[id.index()], &names.codes[id.index()]);
    let name = &source.model.task(id).name;
    let trigger = sole_trigger(source.model, id);
    let mut ends = Ends::of(source, PartyId::Task(id), trigger, RESERVED);
    let job = match (&task.arrival, trigger) {
        (Arrival::Periodic { period, .. }, _) => format!("One job, every {period}."),
        (Arrival::Sporadic { min_gap, .. }, Some(trigger)) => {
            let channel = &source.model.channel(trigger).name;
            format!("One job, for a value of queue `{channel}`, at least {min_gap} apart.")
        }
        (Arrival::Sporadic { min_gap, device: Some(device), .. }, None) => {
            format!("One job while device `{device}` can be read, at least {min_gap} apart.")
        }
        (Arrival::Sporadic { min_gap, .. }, None) => {
            let triggers = source.model.triggers(id).iter();
            let mut names: Vec<_> =
                triggers.map(|trigger| format!("`{}`", source.model.channel(*trigger).table())).collect();
            names.dedup();
            let names = names.join(", ");
            format!(
                "One job while values wait in {names}, at least {min_gap} apart; it takes them by its ends."
            )
        }
    };
    let value = trigger.map(|trigger| Ends::payload(source, trigger));
    let (kind, function) = if value.is_some() { ("Receiver", "receive") } else { ("Task", "release") };
    let own = value.as_ref().map_or(String::new(), |value| format!(", value: {}", &value["super::".len()..]));
    let argument = value.as_ref().map_or(String::new(), |value| format!(", value: {value}"));
    let of = value.as_ref().map_or(String::new(), |value| format!("<{value}>"));
    let pass = if value.is_some() { ", value" } else { "" };
    let message =
        literal(&format!("`{{Self}}` is not the code of task `{name}`")).replace("{{Self}}", "{Self}");
    let remedy = literal(&format!("write `impl task::{code} for {{Self}}`")).replace("{{Self}}", "{Self}");
    let notes = source.lines.notes(&[format!("tasks.{name}")], "        ");
    let mut text = format!(
        "    /// The code of task `{name}`, on its own thread, at its priority.\n    \
         #[diagnostic::on_unimplemented(\n        \
             message = {message},\n        \
             label = \"not the code of task `{name}`\",\n{notes}        \
             note = {remedy},\n    )]\n    \
         pub trait {code}: ::core::marker::Send {{\n        \
             /// Why a job fails.\n        \
             type Error: ::taut::JobError;\n        \
             /// {job} It must not wait, or allocate from the heap.\n        \
             ///\n        \
             /// # Errors\n        \
             /// An error ends the job. The report counts it, and the next job runs as if nothing had happened.\n        \
             fn {function}(&mut self, io: &mut {module}::Io<'_>, job: &mut ::taut::Job<'_>{own}) \
             -> ::core::result::Result<(), Self::Error>;\n"
    );
    for method in ["start", "pause", "resume", "stop"] {
        let _ = write!(
            text,
            "        /// As `taut::Component::{method}`.\n        fn {method}(&mut self) {{}}\n"
        );
    }
    let _ = write!(
        text,
        "        /// As `taut::Component::reset`.\n        ///\n        /// # Errors\n        /// An error is a further \
         failure.\n        \
         fn reset(&mut self, io: &mut {module}::Io<'_>, job: &mut ::taut::Job<'_>) \
         -> ::core::result::Result<(), Self::Error> {{\n            \
             let _ = (io, job);\n            Ok(())\n        \
         }}\n"
    );
    let _ = write!(
        text,
        "        /// As `taut::Component::finish`.\n        ///\n        /// # Errors\n        /// The application's own.\n        \
         fn finish(&mut self) -> ::core::result::Result<(), ::std::boxed::Box<dyn ::std::error::Error>> {{ Ok(()) }}\n    \
         }}\n"
    );
    let (of_device, made_device) = device(task, &mut ends);
    let (fields, made) = resources(source, names, task, &mut ends);
    let (fields, made) = (of_device + &fields, made_device + &made);
    let _ = write!(
        text,
        "    /// The ends of task `{name}`.\n    \
         pub mod {module} {{\n        \
             /// What task `{name}` reads, writes and locks.\n        \
             pub struct Io<'p> {{\n{}{fields}        \
             }}\n{}        \
             pub(in super::super) struct Running<'p, T> {{ code: T, io: Io<'p> }}\n        \
             impl<'p, T> Running<'p, T> {{\n            \
                 pub(in super::super) fn new(code: T, create: &mut ::taut::Create<'_, 'p>) \
                 -> ::core::result::Result<Self, ::taut::Error> {{\n                \
                     let io = Io {{ {}{made}}};\n                \
                     Ok(Self {{ code, io }})\n            \
                 }}\n        \
             }}\n        \
             impl<T: super::{code}> ::taut::Component for Running<'_, T> {{\n            \
                 fn start(&mut self) {{ self.code.start(); }}\n            \
                 fn pause(&mut self) {{ self.code.pause(); }}\n            \
                 fn resume(&mut self) {{ self.code.resume(); }}\n            \
                 fn stop(&mut self) {{ self.code.stop(); }}\n            \
                 fn reset(&mut self, job: &mut ::taut::Job<'_>) -> ::core::result::Result<(), ::taut::Failure> {{\n                \
                     self.code.reset(&mut self.io, job).map_err(::core::convert::Into::into)\n            \
                 }}\n            \
                 fn finish(&mut self) -> ::core::result::Result<(), ::std::boxed::Box<dyn ::std::error::Error>> {{\n                \
                     self.code.finish()\n            \
                 }}\n        \
             }}\n        \
             impl<T: super::{code}> ::taut::{kind}{of} for Running<'_, T> {{\n            \
                 fn {function}(&mut self, job: &mut ::taut::Job<'_>{argument}) -> ::core::result::Result<(), ::taut::Failure> {{\n                \
                     self.code.{function}(&mut self.io, job{pass}).map_err(::core::convert::Into::into)\n            \
                 }}\n        \
             }}\n    \
         }}\n",
        ends.struct_fields(),
        ends.types(),
        ends.made("create"),
    );
    text
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
    let (module, name) = (&names.tasks[id.index()], &source.model.task(id).name);
    let ends = Ends::of(source, PartyId::Task(id), None, &["Io"]);
    format!(
        "    /// The ends of the best-effort task `{name}`.\n    \
         pub mod {module} {{\n        \
             /// What task `{name}` reads and writes.\n        \
             pub struct Io<'p> {{\n{}        \
             }}\n{}        \
             impl<'p> Io<'p> {{\n            \
                 pub(in super::super) fn new(create: &mut ::taut::Create<'_, 'p>) \
                 -> ::core::result::Result<Self, ::taut::Error> {{\n                \
                     Ok(Self {{ {}}})\n            \
                 }}\n        \
             }}\n    \
         }}\n",
        ends.struct_fields(),
        ends.types(),
        ends.made("create"),
    )
}

/// The items of the module `client`.
pub(crate) fn clients(source: Source<'_>, names: &PartyNames) -> String {
    let mut text = String::new();
    for id in source.model.client_ids() {
        let name = &source.model.client(id).name;
        let ends = Ends::of(source, PartyId::Client(id), None, &["Io"]);
        let _ = write!(
            text,
            "    /// The ends of client `{name}`.\n    \
             pub mod {} {{\n        \
                 /// What client `{name}` reads and writes.\n        \
                 #[derive(Debug)]\n        \
                 pub struct Io {{\n{}        \
                 }}\n{}        \
                 /// Attaches to the running application `app` as client `{name}`; see `taut::Client::attach`.\n        \
                 ///\n        \
                 /// # Errors\n        \
                 /// The application does not run, another process has the client's name, or a permission is missing.\n        \
                 pub fn attach(app: &str) -> ::core::result::Result<(::taut::Client, Io), ::taut::AttachError> {{\n            \
                     let client = ::taut::Client::attach(app, \"{name}\")?;\n            \
                     let io = Io {{ {}}};\n            \
                     Ok((client, io))\n        \
                 }}\n    \
             }}\n",
            names.clients[id.index()],
            ends.struct_fields(),
            ends.types(),
            ends.made("client"),
        );
    }
    text
}
