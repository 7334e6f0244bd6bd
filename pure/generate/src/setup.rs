// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The module `setup`: the builder of an application, which takes the code of everything that the manifest names.

use std::fmt::Write as _;

use taut_model::{Class, Model, TaskId};

use crate::names::{Names, type_name, value_name};
use crate::parties::{PartyNames, sole_trigger};
use crate::template::fill;

/// The items of the module `setup`, and the names of those that the outer module exports.
pub(crate) fn text(model: &Model, names: &PartyNames) -> (String, Vec<&'static str>) {
    let resources: Vec<usize> =
        (0..model.resources().len()).filter(|at| model.guarding(*at).is_none()).collect();
    let devices = devices(model);
    let mut text = tasks(model, names);
    let mut exported = vec!["Ready", "Setup", "Tasks", "app"];
    if !resources.is_empty() {
        text.push_str(&resource_values(model, names, &resources));
        exported.insert(1, "Resources");
    }
    if !model.modes().is_empty() {
        text.push_str(&modes(model));
        exported.insert(0, "Mode");
    }
    if !devices.is_empty() {
        text.push_str(&device_values(&devices));
        exported.insert(0, "Devices");
    }
    let persistent = persistent(model, names);
    text.push_str(&persistent.types);
    let parameter =
        |id: TaskId| format!("            {}: {} + 'p,\n", names.codes[id.index()], bound(model, names, id));
    // Local names that no name of the manifest can be.
    let moved: Vec<String> =
        names.tasks.iter().enumerate().map(|(at, name)| format!("{name}: code_{at}")).collect();
    text.push_str(&fill(
        include_str!("templates/setup.rs.in"),
        &[
            ("fields", &persistent.fields),
            ("made", &persistent.made),
            ("parameters", &model.task_ids().map(parameter).collect::<String>()),
            ("codes", &names.codes.join(", ")),
            ("arguments", &arguments(model, &resources, &devices)),
            ("moved", &moved.join(", ")),
            ("calls", &calls(model, names, &resources, &devices)),
        ],
    ));
    (text, exported)
}

/// The persistent scopes of an application.
#[derive(Default)]
struct Persistent {
    /// The types for those of tasks, and of services.
    types: String,
    /// The fields of `Setup`, and the expressions that make them.
    fields: String,
    made: String,
}

fn persistent(model: &Model, names: &PartyNames) -> Persistent {
    let has_memory = |id: &TaskId| match &model.task(*id).class {
        Class::RealTime(real_time) => real_time.persistent.as_bytes() > 0,
        Class::BestEffort(_) => false,
    };
    let of_tasks =
        model.task_ids().filter(has_memory).map(|id| (&model.task(id).name, &names.tasks[id.index()]));
    let of_services =
        model.services().iter().zip(&names.services).map(|(service, name)| (&service.name, name));
    let mut text = Persistent::default();
    for (kind, noun, list) in [
        ("TaskScopes", "task", of_tasks.collect::<Vec<_>>()),
        ("ServiceScopes", "service", of_services.collect()),
    ] {
        if !list.is_empty() {
            text.types.push_str(&scopes(kind, noun, &list));
            let _ = write!(
                text.fields,
                "        /// The persistent scopes of {noun}s.\n        pub {noun}: {kind}<'p>,\n"
            );
            let _ = write!(text.made, "{noun}: {kind}::new(app)?, ");
        }
    }
    text
}

/// The bound of a task's code.
fn bound(model: &Model, names: &PartyNames, id: TaskId) -> String {
    match &model.task(id).class {
        Class::RealTime(_) => format!("super::task::{}", names.codes[id.index()]),
        Class::BestEffort(_) => format!(
            "::core::ops::FnOnce(&mut super::task::{}::Io<'_>, &mut ::taut::Context<'_>) + ::core::marker::Send",
            names.tasks[id.index()]
        ),
    }
}

fn tasks(model: &Model, names: &PartyNames) -> String {
    let parameter =
        |id: TaskId| format!("        {}: {},\n", names.codes[id.index()], bound(model, names, id));
    let field = |id: TaskId| {
        let (name, at) = (&model.task(id).name, id.index());
        format!("        /// Task `{name}`.\n        pub {}: {},\n", names.tasks[at], names.codes[at])
    };
    let parameters: String = model.task_ids().map(parameter).collect();
    let fields: String = model.task_ids().map(field).collect();
    format!("    /// The code of all tasks.\n    pub struct Tasks<\n{parameters}    > {{\n{fields}    }}\n")
}

fn resource_values(model: &Model, names: &PartyNames, resources: &[usize]) -> String {
    let field = |at: &usize| {
        let name = &model.resources()[*at].name;
        let (field, of_type) = (&names.resources[*at], &names.resource_types[*at]);
        format!("        /// Resource `{name}`.\n        pub {field}: super::super::resource::{of_type},\n")
    };
    let fields: String = resources.iter().map(field).collect();
    format!(
        "    /// The values that resources guard. The application defines their types in a module `resource` beside this \
         one.\n    pub struct Resources {{\n{fields}    }}\n"
    )
}

/// The devices that release tasks, each with the name of its field.
fn devices(model: &Model) -> Vec<(&str, String)> {
    let mut fields = Names::with(&[]);
    let named = model.real_time().filter_map(|(_, _, task)| task.arrival.device());
    named.map(|device| (device, fields.add(value_name(device)))).collect()
}

fn device_values(devices: &[(&str, String)]) -> String {
    let field = |(name, field): &(&str, String)| {
        format!("        /// Device `{name}`.\n        pub {field}: ::std::os::fd::OwnedFd,\n")
    };
    let fields: String = devices.iter().map(field).collect();
    format!(
        "    /// The devices that release tasks.\n    #[derive(Debug)]\n    pub struct Devices {{\n{fields}    }}\n"
    )
}

/// The names of modes.
fn modes(model: &Model) -> String {
    let names: Vec<&str> = model.modes().iter().map(|mode| mode.name.as_str()).collect();
    let variants = Names::with(&["ALL"]).add_all(names.iter().map(|name| type_name(name)));
    let pairs = || names.iter().zip(&variants);
    let declared: String =
        pairs().map(|(name, variant)| format!("        /// Mode `{name}`.\n        {variant},\n")).collect();
    let named: String = pairs().map(|(name, variant)| format!("Self::{variant} => \"{name}\", ")).collect();
    let all = variants.iter().map(|variant| format!("Self::{variant}")).collect::<Vec<_>>().join(", ");
    fill(
        include_str!("templates/modes.rs.in"),
        &[("variants", &declared), ("count", &variants.len().to_string()), ("all", &all), ("named", &named)],
    )
}

/// The scopes of tasks or of services.
fn scopes(kind: &str, noun: &str, list: &[(&String, &String)]) -> String {
    let field = |(name, field): &(&String, &String)| {
        format!("        /// The scope of {noun} `{name}`.\n        pub {field}: &'p ::taut::Scope<'p>,\n")
    };
    let made = |(name, field): &(&String, &String)| format!("{field}: app.{noun}_scope(\"{name}\")?, ");
    let (fields, made): (String, String) =
        (list.iter().map(field).collect(), list.iter().map(made).collect());
    fill(
        include_str!("templates/scopes.rs.in"),
        &[("kind", kind), ("noun", noun), ("fields", &fields), ("made", &made)],
    )
}

/// What the method `application` takes besides the code of tasks.
fn arguments(model: &Model, resources: &[usize], devices: &[(&str, String)]) -> String {
    let mut text = String::new();
    if !resources.is_empty() {
        text.push_str("            resources: Resources,\n");
    }
    if !devices.is_empty() {
        text.push_str("            devices: Devices,\n");
    }
    if model.app().safe_state.is_some() {
        text.push_str("            safe_state: impl ::core::ops::FnMut() + ::core::marker::Send + 'p,\n");
    }
    text
}

/// The calls that pass everything on to the layer below.
fn calls(model: &Model, names: &PartyNames, resources: &[usize], devices: &[(&str, String)]) -> String {
    let mut text = String::new();
    for (id, task, _) in model.real_time() {
        let (name, code) = (&task.name, &names.codes[id.index()]);
        let _ = writeln!(
            text,
            "            self.app.error_names(\"{name}\", <{code}::Error as ::taut::JobError>::NAMES)?;"
        );
    }
    if model.app().safe_state.is_some() {
        text.push_str("            self.app.safe_state(safe_state)?;\n");
    }
    for at in resources {
        let (name, field) = (&model.resources()[*at].name, &names.resources[*at]);
        let _ = writeln!(text, "            self.app.resource(\"{name}\", resources.{field})?;");
    }
    for (name, field) in devices {
        let _ = writeln!(text, "            self.app.device(\"{name}\", devices.{field})?;");
    }
    for id in model.task_ids().filter(|id| model.task(*id).service.is_none()) {
        text.push_str(&task(model, names, id, "self.app", "            "));
    }
    for (at, service) in model.services().iter().enumerate() {
        let _ = writeln!(text, "            self.app.service(\"{}\", |service| {{", service.name);
        let own = |id: &TaskId| model.task(*id).service.is_some_and(|service| service.index() == at);
        for id in model.task_ids().filter(own) {
            text.push_str(&task(model, names, id, "service", "                "));
        }
        text.push_str("                Ok(())\n            })?;\n");
    }
    text
}

/// The call that gives a task of `owner` its code.
fn task(model: &Model, names: &PartyNames, id: TaskId, owner: &str, indent: &str) -> String {
    let (name, at) = (&model.task(id).name, id.index());
    let module = &names.tasks[at];
    match &model.task(id).class {
        Class::RealTime(_) => {
            let call = if sole_trigger(model, id).is_some() { "receiver" } else { "task" };
            format!(
                "{indent}{owner}.{call}(\"{name}\", |create| super::task::{module}::Running::new(code_{at}, create))?;\n"
            )
        }
        Class::BestEffort(_) => format!(
            "{indent}{owner}.best_effort(\"{name}\", |create| {{\n{indent}    \
             let mut io = super::task::{module}::Io::new(create)?;\n{indent}    \
             Ok(move |context: &mut ::taut::Context<'_>| code_{at}(&mut io, context))\n{indent}}})?;\n"
        ),
    }
}
