// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! What happens when a component of a service fails: restarts are counted in a window.

use taut_time::Duration;

use super::faults::Faults;
use crate::{Draft, Fault, KeyPath, OnFailureDraft, RESTARTS_MAX, codes};

pub(super) fn check(draft: &Draft, faults: &mut Faults<'_>) {
    for service in &draft.services {
        if let Some(on_failure) = &service.on_failure {
            window(&service.name, on_failure, faults);
        }
    }
}

fn window(service: &str, on_failure: &OnFailureDraft, faults: &mut Faults<'_>) {
    let path = |key: &str| format!("services.{service}.on-failure.{key}");
    let at = |key: &str| KeyPath::value(path(key));
    let asks_for_window = "state the time in which restarts are counted, as in `within = \"1s\"`";
    let fault = match (on_failure.restart, on_failure.within) {
        (None, None) => return,
        (Some(_), None) => {
            let message = format!("service `{service}` restarts, and no window limits how often");
            Fault::error(codes::MISSING_KEY, message, at("restart"), "within which time?")
                .help(asks_for_window)
        }
        (None, Some(_)) => {
            let message = format!("service `{service}` counts restarts, and does not restart");
            Fault::error(codes::MISPLACED_KEY, message, at("within"), "goes with `restart`")
                .help("add `restart`, or leave `within` out")
        }
        (Some(_), Some(Duration::ZERO)) => {
            let message = format!("service `{service}` counts restarts in a window of zero");
            Fault::error(codes::OUT_OF_RANGE, message, at("within"), "more than zero").help(asks_for_window)
        }
        (Some(restart), Some(_)) if !(1..=RESTARTS_MAX).contains(&restart) => {
            let message = format!("service `{service}` restarts {restart} times within its window");
            let label = format!("1 to {RESTARTS_MAX}");
            Fault::error(codes::OUT_OF_RANGE, message, at("restart"), label)
                .help("leave `restart` out if the service must not restart")
        }
        (Some(_), Some(_)) => return,
    };
    faults.push_resting_on(fault, &[&path("restart"), &path("within")]);
}
