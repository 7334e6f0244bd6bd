// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Modes: they name services, each once, and they alone decide when those start.

use super::faults::Faults;
use super::names::{Names, Want};
use crate::{ClassDraft, Draft, Fault, KeyPath, Mode, ModeDraft, ServiceStart, codes};

pub(super) fn check(draft: &Draft, names: &Names<'_>, faults: &mut Faults<'_>) {
    first(draft, names, faults);
    for mode in &draft.modes {
        services(mode, names, faults);
    }
    if !draft.modes.is_empty() {
        starts(draft, faults);
        best_effort(draft, faults);
        unnamed(draft, faults);
    }
}

/// The mode of a model; `None` only if a rule missed a fault.
pub(super) fn mode(names: &Names<'_>, mode: &ModeDraft) -> Option<Mode> {
    let services = mode.services.iter().map(|service| names.service(service));
    Some(Mode { name: mode.name.clone(), services: services.collect::<Option<_>>()? })
}

/// The mode at release 0.
fn first(draft: &Draft, names: &Names<'_>, faults: &mut Faults<'_>) {
    let Some(first) = &draft.app.mode else { return };
    let place = KeyPath::value("app.mode");
    if draft.modes.is_empty() {
        let message = format!("the application begins in mode `{first}`, and has no modes");
        let fault = Fault::error(codes::MISPLACED_KEY, message, place, "goes with `[modes]`")
            .help("define the modes, as in `[modes]` with `normal = [\"control\"]`, or leave `mode` out");
        faults.push_resting_on(fault, &["modes"]);
    } else if draft.modes.iter().all(|mode| mode.name != *first) {
        names.dangling(Want::Mode, first, place, faults);
    }
}

/// The services of a mode are defined, and each is named once.
fn services(mode: &ModeDraft, names: &Names<'_>, faults: &mut Faults<'_>) {
    for (at, service) in mode.services.iter().enumerate() {
        let place = |at: usize| KeyPath::value(format!("modes.{}.{at}", mode.name));
        if names.service(service).is_none() {
            names.dangling(Want::Service, service, place(at), faults);
        }
        if let Some(first) = mode.services[..at].iter().position(|before| before == service) {
            let message = format!("mode `{}` names service `{service}` twice", mode.name);
            faults.push(
                Fault::error(codes::DUPLICATE_NAME, message, place(at), "again here")
                    .also(place(first), "first here")
                    .help("leave one of them out"),
            );
        }
    }
}

/// Refuses services that start on demand: a mode starts its services itself.
fn starts(draft: &Draft, faults: &mut Faults<'_>) {
    for service in draft.services.iter().filter(|service| service.start == ServiceStart::Demand) {
        let message = format!("service `{}` starts on demand, and modes start services", service.name);
        let place = KeyPath::value(format!("services.{}.start", service.name));
        let fault = Fault::error(codes::MISPLACED_KEY, message, place, "does not go with `[modes]`")
            .also(KeyPath::key("modes"), "the modes")
            .help("leave `start` out, and name the service in the modes in which it runs");
        faults.push(fault);
    }
}

/// The thread of a best-effort task ends once its service has stopped, and does not start again.
fn best_effort(draft: &Draft, faults: &mut Faults<'_>) {
    for task in draft.tasks.iter().filter(|task| matches!(task.class, ClassDraft::BestEffort(_))) {
        let Some(service) = &task.service else { continue };
        let without = draft.modes.iter().find(|mode| !mode.services.contains(service));
        let Some(without) = without.filter(|_| draft.services.iter().any(|of| of.name == *service)) else {
            continue;
        };
        let message = format!("task `{}` would end for good in mode `{}`", task.name, without.name);
        let place = KeyPath::value(format!("tasks.{}.service", task.name));
        let fault = Fault::error(codes::MISPLACED_KEY, message, place, "a best-effort task starts once")
            .also(KeyPath::key(format!("modes.{}", without.name)), format!("without `{service}`"))
            .help("let the task belong to no service, and ask `Control::current_mode` whether it has work");
        faults.push_resting_on(fault, &["modes", "services"]);
    }
}

/// Warns about services that are in no mode.
fn unnamed(draft: &Draft, faults: &mut Faults<'_>) {
    let named = |service: &String| draft.modes.iter().any(|mode| mode.services.contains(service));
    for service in draft.services.iter().map(|service| &service.name).filter(|service| !named(service)) {
        let place = KeyPath::key(format!("services.{service}"));
        let message = format!("service `{service}` is in no mode: its tasks never run");
        let fault = Fault::error(codes::UNUSED, message, place, "in no mode")
            .warning()
            .help("name it in a mode, or remove it");
        faults.push_resting_on(fault, &["modes"]);
    }
}
