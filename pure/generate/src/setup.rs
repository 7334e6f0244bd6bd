// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The module `setup`: the builder of an application, which takes the code of everything that the manifest names.

use std::fmt::Write as _;

use taut_model::{Class, Model, TaskId};

use crate::names::{Names, type_name, value_name};
use crate::parties::{PartyNames, sole_trigger};

/// The items of the module `setup`, and the names among them that the outer module has, too.
pub(crate) fn text(model: &Model, names: &PartyNames) -> (String, Vec<&'static str>) {
    let resources: Vec<usize> =
        (0..model.resources().len()).filter(|at| model.guarding(*at).is_none()).collect();
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
    let devices = devices(model);
    if !devices.is_empty() {
        text.push_str(&device_values(&devices));
        exported.insert(0, "Devices");
    }
    let has_memory = |id: &TaskId| match &model.task(*id).class {
        Class::RealTime(real_time) => real_time.persistent.as_bytes() > 0,
        Class::BestEffort(_) => false,
    };
    let of_tasks =
        model.task_ids().filter(has_memory).map(|id| (&model.task(id).name, &names.tasks[id.index()]));
    let of_services =
        model.services().iter().zip(&names.services).map(|(service, name)| (&service.name, name));
    let (mut fields, mut made) = (String::new(), String::new());
    for (kind, noun, list) in [
        ("TaskScopes", "task", of_tasks.collect::<Vec<_>>()),
        ("ServiceScopes", "service", of_services.collect()),
    ] {
        if !list.is_empty() {
            text.push_str(&scopes(kind, noun, &list));
            let _ = write!(
                fields,
                "        /// The persistent scopes of {noun}s.\n        pub {noun}: {kind}<'p>,\n"
            );
            let _ = write!(made, "{noun}: {kind}::new(app)?, ");
        }
    }
    let _ = write!(
        text,
        "    /// The whole application has its code: `Setup::application` makes this.\n    \
         #[derive(Debug)]\n    \
         pub struct Ready(());\n    \
         /// The application before its release 0.\n    \
         pub struct Setup<'a, 'p> {{\n{fields}        \
             app: &'a mut ::taut::App<'p>,\n    \
         }}\n    \
         impl<'p> Setup<'_, 'p> {{\n        \
             /// Steers the application while it runs; may be passed to any thread.\n        \
             pub fn control(&self) -> &'p ::taut::Control {{ self.app.control() }}\n{}    \
         }}\n    \
         /// The set-up of the application, for `taut::main!` and `taut::start`.\n    \
         pub fn app<F>(setup: F) -> impl for<'p> ::core::ops::FnOnce(&mut ::taut::App<'p>) \
         -> ::core::result::Result<(), ::taut::Error>\n    \
         where\n        \
             F: for<'a, 'p> ::core::ops::FnOnce(Setup<'a, 'p>) -> ::core::result::Result<Ready, ::taut::Error>,\n    \
         {{\n        \
             move |app: &mut ::taut::App<'_>| setup(Setup {{ {made}app }}).map(|Ready(())| ())\n    \
         }}\n",
        application(model, names, &resources, &devices)
    );
    (text, exported)
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
    format!(
        "    /// The modes of the application.\n    \
         #[derive(Clone, Copy, Debug, PartialEq, Eq)]\n    \
         pub enum Mode {{\n{declared}    }}\n    \
         impl Mode {{\n        \
             /// All modes, in the manifest's order.\n        \
             pub const ALL: [Self; {}] = [{all}];\n        \
             /// Its name in the manifest.\n        \
             pub const fn name(self) -> &'static str {{ match self {{ {named}}} }}\n        \
             /// The mode of the application; during a change, the new one.\n        \
             pub fn current(control: &::taut::Control) -> ::core::option::Option<Self> {{\n            \
                 Self::ALL.iter().copied().find(|mode| control.current_mode() == ::core::option::Option::Some(mode.name()))\n        \
             }}\n        \
             /// Asks the application for this mode: `Control::change_mode`.\n        \
             pub fn ask(self, control: &::taut::Control) -> ::core::result::Result<(), ::taut::ModeError> {{\n            \
                 control.change_mode(self.name())\n        \
             }}\n    }}\n",
        variants.len()
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
    format!(
        "    /// The persistent scopes of {noun}s.\n    #[derive(Clone, Copy, Debug)]\n    \
         pub struct {kind}<'p> {{\n{fields}    }}\n    \
         impl<'p> {kind}<'p> {{\n        \
             fn new(app: &::taut::App<'p>) -> ::core::result::Result<Self, ::taut::Error> {{ Ok(Self {{ {made}}}) }}\n    \
         }}\n"
    )
}

/// The method that takes the code of everything.
fn application(model: &Model, names: &PartyNames, resources: &[usize], devices: &[(&str, String)]) -> String {
    let parameter =
        |id: TaskId| format!("            {}: {} + 'p,\n", names.codes[id.index()], bound(model, names, id));
    let parameters: String = model.task_ids().map(parameter).collect();
    let arguments = names.codes.join(", ");
    let mut text = format!(
        "        /// Gives the application its code.\n        ///\n        \
         /// # Errors\n        /// The plan is of another manifest, or the machine lacks what it needs.\n        \
         pub fn application<\n{parameters}        >(\n            self,\n            tasks: Tasks<{arguments}>,\n"
    );
    if !resources.is_empty() {
        text.push_str("            resources: Resources,\n");
    }
    if !devices.is_empty() {
        text.push_str("            devices: Devices,\n");
    }
    if model.app().safe_state.is_some() {
        text.push_str("            safe_state: impl ::core::ops::FnMut() + ::core::marker::Send + 'p,\n");
    }
    text.push_str("        ) -> ::core::result::Result<Ready, ::taut::Error> {\n");
    // Local names that no name of the manifest can be.
    let moved: Vec<String> =
        names.tasks.iter().enumerate().map(|(at, name)| format!("{name}: code_{at}")).collect();
    let _ = writeln!(text, "            let Tasks {{ {} }} = tasks;", moved.join(", "));
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
    text.push_str("            Ok(Ready(()))\n        }\n");
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
